"""A long text on a terminal, through the pager that the user has set."""

import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.pager import Pager

LESS = "-FRX"  # what fits is just printed, colours are shown, and it stays on the screen afterwards


@contextmanager
def paged(console: Console, command: str) -> Generator[None]:
    """What is printed meanwhile is shown by the command, if that is a pager and there is a person
    to page for: not in a pipe, not into a file."""
    people = console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()
    words = _words(command) if people else []
    if not words:
        yield
        return
    with console.pager(_Command(words), styles=True, links=True):
        yield


def _words(command: str) -> list[str]:
    """The pager and its options; none if it is not there."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if not words or words[0] == "cat" or not shutil.which(words[0]):
        return []
    return [*words, LESS] if Path(words[0]).name == "less" else words


class _Command(Pager):
    """A pager in a process of its own."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def show(self, content: str) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
        try:
            with (
                subprocess.Popen(self._words, stdin=subprocess.PIPE) as pager,  # noqa: S603
                suppress(BrokenPipeError),  # somebody has read enough
            ):
                pager.communicate(content.encode("utf-8", "replace"))
        finally:
            signal.signal(signal.SIGINT, before)
