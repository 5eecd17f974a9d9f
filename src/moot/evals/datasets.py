"""Datasets: questions whose answers are known, one JSON object a line."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moot.errors import InputError

Check = Literal["number", "text"]
LETTERS = "ABCDEFGHIJ"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Record):
    """A document that a question is about."""

    title: str = "Source"
    text: str = Field(min_length=1)


class Made(_Record):
    """By which generator a question was made; its verifier marks the answers."""

    generator: str
    version: str  # of the generator's package
    seed: int
    index: int


class Item(_Record):
    """One question, and its answer. With options, the answer is one of them, or its letter."""

    id: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=3500)
    options: tuple[str, ...] = Field(default=(), max_length=len(LETTERS))
    answer: Annotated[str, Field(min_length=1, coerce_numbers_to_str=True)]
    sources: tuple[Source, ...] = ()
    check: Check | None = None  # of an answer without options; None: by what the answer is
    made: Made | None = None

    @property
    def right(self) -> int | None:
        """The place of the right option; None if there are no options."""
        if not self.options:
            return None
        if self.answer in self.options:
            return self.options.index(self.answer)
        return LETTERS.index(self.answer)

    @property
    def text(self) -> str:
        """The question as it is asked, with its options by letter."""
        listed = [f"{LETTERS[n]}. {option}" for n, option in enumerate(self.options)]
        return "\n".join([self.question, *(["", *listed] if listed else [])])


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions, in their order."""

    name: str
    items: tuple[Item, ...]


def load(path: Path) -> Dataset:
    """Read a dataset of the user's own. Raises InputError, which names the line and the field."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "dataset") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8.", "dataset") from None
    return Dataset(path.stem, parse(lines, str(path)))


def parse(lines: Iterable[str], where: str) -> tuple[Item, ...]:
    """The items of a dataset, each with an id of its own."""
    found: dict[str, Item] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item = _item(line, f"{where}, line {number}")
        if item.id in found:
            raise InputError(f"{where}, line {number}: the id {item.id!r} is taken.", "id")
        found[item.id] = item
    if not found:
        raise InputError(f"{where} holds no items.", "dataset")
    return tuple(found.values())


def _item(line: str, where: str) -> Item:
    try:
        item = Item.model_validate(json.loads(line), strict=False)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON: {error.msg}.", "dataset") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise InputError(f"{where}, {field}: {first['msg']}.", field) from None
    if item.options and len(item.options) < 2:
        raise InputError(f"{where}, options: give two or more, or none.", "options")
    if len({option.casefold() for option in item.options}) != len(item.options):
        raise InputError(f"{where}, options: two of them are the same.", "options")
    if item.made and (item.options or item.check):
        raise InputError(
            f"{where}, made: the generator marks the answers; give neither options nor check.",
            "made",
        )
    letters = LETTERS[: len(item.options)]
    if item.options and item.answer not in item.options and item.answer not in tuple(letters):
        raise InputError(
            f"{where}, answer: {item.answer!r} is not an option; write one of them, or its letter.",
            "answer",
        )
    return item
