"""What people call a debate and find it by: a title, tags, and whether it is put away.

None of it is part of the debate: no prompt and no file of it changes with them.
"""

from collections.abc import Iterable

from moot.core.clean import one_line
from moot.core.debate import Debate
from moot.errors import InputError

MAX_TITLE = 200
MAX_TAG = 40
MAX_TAGS = 20


def title(given: str) -> str:
    """A title on one line; "" takes it away."""
    made = one_line(given, len(given) + 1).strip()
    if len(made) > MAX_TITLE:
        raise InputError(f"A title has at most {MAX_TITLE} characters, not {len(made)}.", "title")
    return made


def tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are kept: in small letters, each once, in alphabetical order."""
    made = sorted({tag(one) for one in given})
    if len(made) > MAX_TAGS:
        raise InputError(f"A debate has at most {MAX_TAGS} tags, not {len(made)}.", "tags")
    return tuple(made)


def tag(given: str) -> str:
    made = one_line(given, len(given) + 1).strip().casefold()
    if not made or "," in made:
        raise InputError(f"{given[:60]!r} is not a tag: it is a word or a few, no comma.", "tags")
    if len(made) > MAX_TAG:
        raise InputError(f"A tag has at most {MAX_TAG} characters, not {len(made)}.", "tags")
    return made


def labelled(
    debate: Debate,
    new_title: str | None = None,
    new_tags: Iterable[str] | None = None,
    archived: bool | None = None,
) -> Debate:
    """The debate with what is given changed, and the rest as it was."""
    return debate.but(
        title=debate.title if new_title is None else title(new_title),
        tags=debate.tags if new_tags is None else tags(new_tags),
        archived=debate.archived if archived is None else bool(archived),
    )
