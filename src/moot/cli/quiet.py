"""Ctrl-C while modules are loaded: Python shows a traceback of it, and some modules wrap it."""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def loading() -> Generator[None]:
    """Until it is left, Ctrl-C ends the process at once and without a word."""
    try:
        before = signal.signal(signal.SIGINT, _leave)
    except ValueError:  # not the main thread: it hears no Ctrl-C
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(*_: object) -> NoReturn:
    os._exit(130)
