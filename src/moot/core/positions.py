"""Positions: which one an answer takes, and when two are the same."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from moot.core.answers import OTHER, UNDECIDED, Answer

_STOPS = re.compile(r"[.,;:!?…]+(?=\s|$)")
_QUOTES = re.compile(r"(?<!\w)[\"'“”„‘’«»]+|[\"'“”„‘’«»]+(?!\w)")
_SIGNS = re.compile(r"[\W_]+")
_DASHES = re.compile(r"\s[—–-]+\s")


@lru_cache(maxsize=4096)  # the same few options are compared over and over
def key(option: str) -> str:
    """Options that differ only in case, spacing or the punctuation of sentences are the same.

    Signs that mean something stay: C++ is not C#, and -10% is not +10%.
    """
    plain = _QUOTES.sub("", _DASHES.sub(" ", _STOPS.sub("", option.casefold())))
    return " ".join(plain.split()) or option


def names_none(option: str) -> bool:
    """Whether somebody who was asked for an option only says that it is undecided, or for another
    one. If that were an option, nobody could be undecided any more."""
    return _SIGNS.sub(" ", option.casefold()).strip() in (UNDECIDED, OTHER)


def taken(shape: Answer, data: Mapping[str, Any] | None, edition: int) -> str | None:
    """The option that an answer stands for; None if it does not, or is undecided."""
    if not data or not shape.stand:
        return None
    option = selected(data) if shape.stand == "choice" else data.get(shape.stand)
    # before edition 2, undecided was a word like any other in a position
    return None if edition > 1 and option is not None and names_none(option) else option


def selected(data: Mapping[str, Any]) -> str | None:
    """The option that a verdict or a ballot selects; None if it is undecided. Verdicts from before
    there were choices name it in `selectedOption`."""
    option = data.get("choice") or data.get("selectedOption")
    if option == OTHER and data.get("otherOption"):
        return data["otherOption"]
    return None if option == UNDECIDED and "choice" in data else option
