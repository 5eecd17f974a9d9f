"""Whether the long proofs run, as `make stress` does: with full counts, waiting for the disk, and
with the tests that are marked `stress`, of which `make test` keeps one of each kind."""

import os

STRESS = bool(os.environ.get("MOOT_STRESS"))
