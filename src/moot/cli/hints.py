"""Commands that people are told to type: as this program was called, since `moot` may not be on
their PATH."""

import os
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

import typer

_COMMAND = re.compile(r"(?:^|(?<=[`\"])|(?<=  )|(?<=: ))moot (?=[a-z])")
"""Sentences name a command in quotes, or after a colon or two spaces."""


def hint(said: str, *, err: bool = False) -> None:
    """Print a line that names commands."""
    typer.echo(typed(said), err=err)


def typed(said: str) -> str:
    """The same, with each command as it can be typed here."""
    name = called(sys.argv[0], os.environ.get("PATH", ""), _here(), sys.executable)
    return said if name == "moot" else _COMMAND.sub(lambda _: f"{name} ", said)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # somebody has deleted it
        return Path(os.devnull)  # nothing lies below that


@cache
def called(program: str, path: str, here: Path, python: str) -> str:
    """What starts this program again: `moot` if that is it, else its place, or Python's."""
    name = Path(program).name
    if name == "__main__.py":
        return f"{_place(python, path, here)} -m moot"
    return _place(program, path, here) if name == "moot" and "/" in program else "moot"


def _place(program: str, path: str, here: Path) -> str:
    """The name of a program that is on the PATH; else the shortest way to it."""
    whole = here / program
    found = shutil.which(whole.name, path=path)
    if found and here / found == whole:
        return whole.name
    if whole.parent == here:
        return f"./{whole.name}"
    return shlex.quote(str(whole.relative_to(here) if whole.is_relative_to(here) else whole))
