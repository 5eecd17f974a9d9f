"""What a debate's id looks like, checked before it becomes a path or a query."""

from moot.errors import InputError

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


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
