"""What a debate's id looks like, checked before it becomes a path or a query."""

from moot.core import times
from moot.errors import InputError

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
SPREAD = 21  # bits that tell debates of one millisecond apart; 42 for the time last until 2109


def check_id(debate_id: str) -> str:
    """Before an id becomes a path or a query: it has the shape that ids have."""
    parts = str(debate_id).split("_")
    shape = (
        len(parts) == 4
        and parts[0] == "debate"
        and len(parts[1]) == 8
        and len(parts[2]) == 6
        and (parts[1] + parts[2]).isascii()
        and (parts[1] + parts[2]).isdigit()
        and len(parts[3]) == 6
        and all(letter in ALPHABET for letter in parts[3])
    )
    if not shape:
        raise InputError(
            f"{str(debate_id)[:60]!a} is not a debate's id; "
            "they read debate_YYYYMMDD_HHMMSS_xxxxxx.",
            "id",
        )
    return debate_id


def number(debate_id: str, created_at: str) -> int:
    """A debate's place in lists: by the millisecond it was made in, then by its id's letters."""
    letters = 0
    for letter in debate_id[-6:]:
        letters = letters * len(ALPHABET) + ALPHABET.index(letter)
    milliseconds = round(times.seconds(created_at) * 1000)
    return milliseconds << SPREAD | letters % (1 << SPREAD)
