"""What a debate's id looks like, checked before it becomes a path or a query."""

from collections.abc import Mapping

from moot.core import times
from moot.core.clean import one_line
from moot.errors import InputError, NotFoundError

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
SHAPE = "debate_00000000_000000_aaaaaa"
ENDING = 6  # characters at the end of an id that stand for it
LAST = "last"
"""Stands for the newest debate."""
CANDIDATES = 10  # of those that a part can mean, told with the error
SPREAD = 21  # bits that tell debates of one millisecond apart; 42 for the time last until 2109


def check_id(debate_id: str) -> str:
    """Before an id becomes a path or a query: it has the shape that ids have."""
    if not is_id(debate_id):
        raise InputError(
            f"{str(debate_id)[:60]!a} is not a debate's id; "
            "they read debate_YYYYMMDD_HHMMSS_xxxxxx.",
            "id",
        )
    return debate_id


def is_id(text: str) -> bool:
    """Whether it has the shape of a debate's id."""
    parts = str(text).split("_")
    return (
        len(parts) == 4
        and parts[0] == "debate"
        and len(parts[1]) == 8
        and len(parts[2]) == 6
        and (parts[1] + parts[2]).isascii()
        and (parts[1] + parts[2]).isdigit()
        and len(parts[3]) == 6
        and all(letter in ALPHABET for letter in parts[3])
    )


def check_part(given: str) -> str:
    """The same for a part that stands for an id: its beginning, or its last six characters."""
    begins = bool(given) and is_id(given + SHAPE[len(given) :])
    ends = len(given) == ENDING and all(letter in ALPHABET for letter in given)
    return given if begins or ends else check_id(given)


def stands_for(given: str, debate_id: str) -> bool:
    """Whether that part is one of this id."""
    return debate_id.startswith(given) or debate_id[-ENDING:] == given


def meant(given: str, found: Mapping[str, str]) -> str:
    """The id that `given` means among those that were found, which are told with their motions.

    Raises NotFoundError if there is none, and InputError with the candidates if there are several.
    """
    ids = [id_ for id_ in found if given == LAST or stands_for(given, id_)]
    if not ids:
        if given == LAST:
            raise NotFoundError("There are no debates yet.", "id")
        raise NotFoundError(f"There is no debate {given}. `moot list` shows what there is.", "id")
    if len(ids) == 1 or given == LAST:
        return ids[0]
    shown = [f"  {id_}  {one_line(found[id_], 60)}".rstrip() for id_ in ids[:CANDIDATES]]
    more = ["  …"] if len(ids) > CANDIDATES else []
    several = f"{given} can mean several debates. Give more of the id:"
    raise InputError("\n".join([several, *shown, *more]), "id")


def number(debate_id: str, created_at: str) -> int:
    """A debate's place in lists: by the millisecond it was made in, then by its id's letters."""
    letters = 0
    for letter in debate_id[-6:]:
        letters = letters * len(ALPHABET) + ALPHABET.index(letter)
    milliseconds = round(times.seconds(created_at) * 1000)
    return milliseconds << SPREAD | letters % (1 << SPREAD)
