"""A folder in memory for what tests write, where there is one with room.

Every commit waits until the disk has it, and so does every test that makes one. What is tried here
is the death of processes, which what they wrote outlives in memory too; no test cuts the power.
"""

import os
from pathlib import Path
from shutil import disk_usage

from tests.stress import STRESS

MEMORY = Path("/dev/shm")  # noqa: S108  folders of the tests' own are made in it
ROOM = 2 << 30  # bytes


def memory() -> Path | None:
    """None where the disk has to do."""
    there = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    return MEMORY if there and disk_usage(MEMORY).free > ROOM else None


def memory_but_for_stress() -> Path | None:
    """The long proofs wait for the disk, as whoever runs moot does."""
    return None if STRESS else memory()
