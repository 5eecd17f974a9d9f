"""What `moot --help` costs."""

import os
import subprocess
import sys


def help_seconds(times: int = 5) -> float:
    """CPU seconds, user and system, the best of some runs."""
    return min(_once() for _ in range(times))


def _once() -> float:
    code = "from moot.cli.main import main; main()"
    child = subprocess.Popen([sys.executable, "-c", code, "--help"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"moot --help ended with {child.returncode}")
    return used.ru_utime + used.ru_stime
