"""Points in time: floats inside, ISO 8601 in UTC wherever people and programs read them."""

from datetime import UTC, datetime


def iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def stamp(moment: float) -> str:
    """The part of a debate's id that says when it was made."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y%m%d_%H%M%S")
