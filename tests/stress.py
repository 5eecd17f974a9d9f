"""Whether the long proofs run, as `make stress` does: with full counts, waiting for the disk, and
with the tests that are marked `stress`, of which `make test` keeps one of each kind."""

import os

STRESS = bool(os.environ.get("MOOT_STRESS"))


def examples(full: int) -> int:
    """Of a property: so many in `make stress`, and a third of them in `make test`."""
    return full if STRESS else full // 3
