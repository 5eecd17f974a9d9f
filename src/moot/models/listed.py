"""What a motion lists to choose from: "use Go, Zig or Rust for it" has three things in it."""

import re
from dataclasses import dataclass

from moot.models.understudy_lines import lines

_COMMA = re.compile(r",\s*")
_TAIL = re.compile(  # what is said of all of them, behind the last
    r" (?:for|in|on|at|as|by|with|when|while|until|before|after|from|this|next|now)\b"
)
_OWN = re.compile(r" (?:to|into|out|up|back|away|off)\b")  # belongs to the verb before it
_MOST_ITEMS = 6
_MOST_WORDS = 5  # of an item
_VERBS = frozenset(lines().english.verbs.split())
_DETERMINERS = frozenset(lines().english.determiners.split())


@dataclass(frozen=True, slots=True)
class Listed:
    """Things to choose from, with the words before and behind that are common to them."""

    lead: str
    items: tuple[str, ...]
    tail: str = ""
    deeds: bool = False  # each item has a verb of its own

    @property
    def bare(self) -> bool:
        """Nothing but the things: no verb before them, none in them."""
        return not (self.lead or self.deeds)

    def one(self, item: str) -> str:
        return " ".join(filter(None, (self.lead, item, self.tail)))

    def first(self, over: str) -> str:
        """The first rather than all others."""
        return self.one(f"{self.items[0]} {over} {' or '.join(self.items[1:])}")


def listed(text: str) -> Listed | None:
    """The things in "… A, B or C …"; None where there is no such list, or none that is plain."""
    before, _, last = text.rpartition(" or ")
    parts = [*filter(None, _COMMA.split(before)), last]
    begun = [part.split() for part in parts]
    if len(parts) < 2 or not last or any({"or", "and", "not"} & set(part) for part in begun):
        return None
    if all(part[0] in _VERBS for part in begun):
        return _plain(_deeds(parts))
    end = None if _TAIL.search(parts[0]) else _TAIL.search(last)
    last, tail = (last[: end.start()], last[end.start() + 1 :]) if end else (last, "")
    count = len((parts[1] if len(parts) > 2 else last).split())
    head = begun[0]
    place = len(head) - count
    if place > 0 and head[place - 1] in _DETERMINERS:
        place -= 1  # "hire a senior engineer or two juniors"
    if place < 0:
        return None
    items = (" ".join(head[place:]), *parts[1:-1], last)
    if any(item.partition(" ")[0] in _VERBS for item in items):
        return None  # things and deeds in one list
    return _plain(Listed(" ".join(head[:place]), items, tail))


def _deeds(parts: list[str]) -> Listed:
    """ "buy a house or rent": each is whole; but "build or buy a CRM" is of one thing."""
    verb, _, rest = parts[-1].partition(" ")
    of_one = rest and not any(" " in part for part in parts[:-1])
    if of_one and not _TAIL.match(f" {rest}") and not _OWN.match(f" {rest}"):
        return Listed("", (*parts[:-1], verb), rest, deeds=True)
    return Listed("", tuple(parts), deeds=True)


def _plain(found: Listed) -> Listed | None:
    short = all(0 < len(item.split()) <= _MOST_WORDS for item in found.items)
    return found if short and len(set(found.items)) == len(found.items) <= _MOST_ITEMS else None
