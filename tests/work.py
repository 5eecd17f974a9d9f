"""How work grows with its size, in processor time, which other work here does not change."""

import time
from collections.abc import Callable

LITTLE = 0.005  # seconds: below it, nothing is told apart from noise


def growth(work: Callable[[int], object], size: int, times: int = 10) -> float:
    """How many times as long the work takes when it is so many times as large; 0 if that is little.

    About `times` if it grows with its size, and the square of it if each part looks at all others.
    """
    large = _seconds(work, size)
    return 0.0 if large < LITTLE else large / max(_seconds(work, size // times), LITTLE / times)


def _seconds(work: Callable[[int], object], size: int) -> float:
    """The best of a few: the first may have to load something."""
    return min(_once(work, size) for _ in range(2))


def _once(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began
