"""Which debates a list is to show, and what it shows of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from moot.core.debate import Debate, OutcomeKind
from moot.core.prices import NOT_KNOWN, Known
from moot.core.status import Status


@dataclass(frozen=True, slots=True)
class Search:
    """Which debates a list is to show."""

    statuses: tuple[Status, ...] = ()  # any of these; none given: all
    format: str | None = None
    words: str = ""
    """Each of them, or the beginning of one, in the motion, the names of seats, models and the
    format or, once the debate has ended or paused, in what was said."""
    hidden: tuple[str, ...] = ()  # formats that are switched off
    limit: int = 50
    before: int | None = None  # a page's `next`
    broadcasting: bool = False  # beside `statuses`: what stations air now
    id: str = ""  # the beginning of an id, or its last six characters
    outcomes: tuple[OutcomeKind, ...] = ()  # any of these
    model: str | None = None  # the beginning of a model that sits or spoke there, or of its name
    tags: tuple[str, ...] = ()  # all of these
    archived: bool | None = False  # None: those too
    min_cost: float | None = None  # USD that the debate cost at least, and at most
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """What lists show of a debate beside it."""

    result: str = ""  # what came of it, in one line
    models: tuple[str, ...] = ()  # of all seats
    prices: Known = NOT_KNOWN


@dataclass(frozen=True, slots=True)
class Found:
    """A page of debates. It may hold fewer than asked for, even none, and still have a next."""

    debates: list[Debate]
    next: int | None
    lines: Mapping[str, Line] = field(default_factory=dict[str, Line], compare=False)  # by id
