"""How long a test waits before it gives up: by the speed that this machine has right now.

A limit only ends a test that would never end; it proves nothing. So limits are generous, and they
grow with the time that a fixed piece of work takes beside whatever else runs here. The work is done
again when a limit is reached, so that load that came later counts too.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
SECONDS = 60.0  # on a quiet machine; most conditions come true within one
REFERENCE = 0.04  # seconds that `_work` takes on a quiet core
FRESH = 10.0  # seconds for which a measurement holds
_measured: list[float] = [0.0, 1.0]  # when, and how many times as slow as a quiet core it was


def _work() -> None:
    """Start a process that does nothing, and count: what tests mostly wait for."""
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    number = 0
    while number < 500_000:
        number += 1


def slowness() -> float:
    """How many times as long as on a quiet core things take now; at least 1."""
    began = time.monotonic()
    if not _measured[0] or began - _measured[0] > FRESH:
        _work()
        ended = time.monotonic()
        _measured[:] = [ended, max(1.0, (ended - began) / REFERENCE)]
    return _measured[1]


def seconds(quiet: float = SECONDS) -> float:
    """A limit, for whatever takes a number: so many seconds on a quiet machine."""
    return quiet * slowness()


def milliseconds(quiet: float = SECONDS) -> float:
    return 1000 * seconds(quiet)


class Patience:
    """Time that runs out; asked whether it has, it looks at the machine's speed again first."""

    def __init__(self, quiet: float = SECONDS) -> None:
        self._quiet = quiet
        self._began = time.monotonic()

    @property
    def over(self) -> bool:
        passed = time.monotonic() - self._began
        return passed > self._quiet and passed > seconds(self._quiet)


def until(
    condition: Callable[[], T], what: str = "it never came to that", pause: float = 0.01
) -> T:
    """Wait until the condition is true, and return what it gave."""
    patience = Patience()
    while not (found := condition()):
        assert not patience.over, what
        time.sleep(pause)
    return found


async def soon(
    condition: Callable[[], T], what: str = "it never came to that", pause: float = 0.01
) -> T:
    """The same, where others have to go on meanwhile."""
    patience = Patience()
    while not (found := condition()):
        assert not patience.over, what
        await asyncio.sleep(pause)
    return found


def run(command: list[Any], **options: Any) -> "subprocess.CompletedProcess[str]":
    """A command to its end, with what it printed."""
    told: dict[str, Any] = {"capture_output": True, "text": True, "check": False, **options}
    return subprocess.run(command, timeout=seconds(), **told)
