"""A generator in a process of its own, without the modules of moot and the user's environment.

A model's answer may hang a verifier or end its process, so each line that is asked has a bound, and
a process that is lost is replaced by another when the next line is asked.
"""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from moot.errors import InputError

MAX_WORK = 10  # seconds of the processor's time, for one line
MAX_SECONDS = 120.0  # for one line, however busy the machine is
_CHILD = Path(__file__).with_name("generator_child.py")
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # so that what is made from a set has the same order


class LostError(Exception):
    """The process ended, or was ended, before it answered."""


class GeneratorProcess:
    """Answers lines, one after the other."""

    def __init__(
        self, wheel: Path, module: str, seed: int, size: int, work: int = MAX_WORK
    ) -> None:
        self._command = [sys.executable, "-P", "-S", str(_CHILD), str(wheel.absolute())]
        self._command += [module, *map(str, (seed, size, work))]
        self._module = module
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def ask(self, *line: Any) -> Any:
        """What the generator answers. Raises LostError, and InputError if it does not start."""
        with self._lock:
            if self._process is None:
                self._process = self._started()
            answered = _exchanged(self._process, json.dumps(line) + "\n")
            if not answered:
                self._end()
                raise LostError
            return json.loads(answered)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _started(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603  our own program, on a wheel that was checked
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, env=_ENVIRONMENT, cwd="/", start_new_session=True,
        )  # fmt: skip
        if not _exchanged(process, ""):
            self._process = process
            self._end()
            raise InputError(f"The generator {self._module} does not start here.", "dataset")
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _exchanged(process: "subprocess.Popen[str]", line: str) -> str:
    """The line that comes back; empty if the process is lost."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("both are pipes")
    bound = threading.Timer(MAX_SECONDS, process.kill)
    bound.start()
    try:
        process.stdin.write(line)
        process.stdin.flush()
        answered = process.stdout.readline()
    except (BrokenPipeError, ValueError):
        return ""
    finally:
        bound.cancel()
    return answered if answered.endswith("\n") else ""
