"""Where the motion of a debate comes from: an argument, standard input, a file, or a question."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from moot.errors import InputError

STDIN = "-"
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Read it from a file; - is standard input."),
]


def motion_of(command: str, noun: str, given: str | None, file: Path | None) -> str:
    """The text that was given, or that the file or standard input holds. If nothing was given and
    somebody sits at the terminal, they are asked."""
    if given is not None and file is not None:
        raise InputError(f"Give the {noun} as an argument or with --file, not both.", noun)
    if given == STDIN or (file is not None and str(file) == STDIN):
        return _text(sys.stdin.buffer.read(), "Standard input", noun)
    if file is not None:
        return _text(_content(file, noun), str(file), noun)
    if given is not None:
        return given
    if sys.stdin is not None and sys.stdin.isatty():
        return _asked(noun)
    raise InputError(
        f'Give the {noun}: moot {command} "Should we …?"; or - to read it from standard input, or '
        "--file FILE.",
        noun,
    )


def _content(file: Path, noun: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.", noun) from None


def _text(content: bytes, where: str, noun: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where} is not text in UTF-8.", noun) from None


def _asked(noun: str) -> str:
    """What a person types, asked for on standard error: standard output may be a document."""
    try:
        return typer.prompt(noun.capitalize(), err=True)
    except typer.Abort:
        raise typer.Exit(130) from None
