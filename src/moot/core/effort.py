"""How hard a seat thinks: `MODEL@EFFORT`, taken apart and put together again."""

from typing import get_args

from moot.core.format import Effort
from moot.errors import InputError

EFFORTS: tuple[Effort, ...] = get_args(Effort)
_NAMED: dict[str, Effort] = {effort: effort for effort in EFFORTS}
BETWEEN = "|"
"""Stands between a seat's choices: "first|second"."""
_VERSIONS = ("default", "latest")  # words that some names end in, as in Vertex's "…@default"


def parted(model: str) -> tuple[str, Effort | None]:
    """The model and the effort in "provider:name@effort". Raises InputError for an effort that
    there is not. What follows an @ and is not a word belongs to the name: "…@20260929"."""
    bare, at, last = model.strip().rpartition("@")
    word = last.strip().lower()
    if not at or (":" in bare and (not word.isalpha() or word in _VERSIONS)):
        return model.strip(), None
    found = _NAMED.get(word)
    if found is None or not bare.strip():
        raise InputError(
            f'"{last.strip()}" is not an effort. Write MODEL@EFFORT, for example claude@high; '
            f"the efforts are {', '.join(EFFORTS)}.",
            field="model",
        )
    return bare.strip(), found


def known(model: str) -> tuple[str, Effort | None]:
    """Like `parted`, of a model that was checked when it was written: it never raises."""
    name, _, last = model.rpartition("@")
    effort = _NAMED.get(last)
    return (name, effort) if effort else (model, None)


def bare(model: str) -> str:
    """The model alone, of one that was checked when it was written."""
    return known(model)[0]


def joined(model: str, effort: Effort | None) -> str:
    """What `parted` takes apart."""
    return f"{model}@{effort}" if effort else model
