"""Positions: which one an answer takes, and when two are the same."""

import re
from collections.abc import Mapping
from typing import Any

from moot.core.answers import UNDECIDED, Answer

_STOPS = re.compile(r"[.,;:!?…]+(?=\s|$)")
_QUOTES = re.compile(r"(?<!\w)[\"'“”„‘’«»]+|[\"'“”„‘’«»]+(?!\w)")
_DASHES = re.compile(r"\s[—–-]+\s")


def key(option: str) -> str:
    """Options that differ only in case, spacing or the punctuation of sentences are the same.

    Signs that mean something stay: C++ is not C#, and -10% is not +10%.
    """
    plain = _QUOTES.sub("", _DASHES.sub(" ", _STOPS.sub("", option.casefold())))
    return " ".join(plain.split()) or option


def taken(shape: Answer, data: Mapping[str, Any] | None) -> str | None:
    """The option that an answer stands for; None if it does not, or is undecided."""
    option = data.get(shape.stand) if data and shape.stand else None
    # in a position, undecided is a word like any other
    return None if shape.stand == "choice" and option == UNDECIDED else option
