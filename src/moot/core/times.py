"""Points in time: floats inside, ISO 8601 in UTC wherever people and programs read them."""

from datetime import UTC, datetime
from functools import lru_cache


def iso(moment: float) -> str:
    whole = int(moment)
    return f"{_second(whole)}.{int((moment - whole) * 1000):03d}Z"


@lru_cache(maxsize=8)
def _second(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def stamp(moment: float) -> str:
    """The part of a debate's id that says when it was made."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y%m%d_%H%M%S")
