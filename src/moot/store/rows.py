"""Nouns as rows and back: most fields are columns of the same name and value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Table, bindparam, delete, select

from moot.core.debate import Usage
from moot.store.query import Connection, Query, adding, by, changing


class Noun(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=Noun)


def same(noun: type[Any], table: Table, *but: str) -> tuple[str, ...]:
    """The fields of a noun that its row holds as they are."""
    return tuple(f.name for f in fields(noun) if f.name in table.c and f.name not in but)


@cache
def _getter(names: tuple[str, ...]) -> "attrgetter[tuple[Any, ...]]":
    return attrgetter(*names)  # twice as fast as asking one by one


def picked(noun: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return dict(zip(names, _getter(names)(noun), strict=True))


def usage_row(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "calls": usage.calls,
        "estimated": int(usage.estimated),
        "thinking_tokens": usage.thinking_tokens,
    }


def usage_of(row: Mapping[str, Any]) -> Usage:
    """Some tables count neither calls nor thinking, and do not say what is estimated."""
    more: tuple[Any, ...] = ()
    if "calls" in row:
        more = row["calls"], bool(row["estimated"]), row["thinking_tokens"]
    return Usage(row["input_tokens"], row["output_tokens"], row["cost_usd"], *more)


class Named(Generic[T]):
    """A table of nouns that have an id and a name, each whole in its row."""

    def __init__(
        self, table: Table, row: Callable[[T], dict[str, Any]], noun: Callable[[dict[str, Any]], T]
    ) -> None:
        self._row, self._noun = row, noun
        self._all = Query(select(table).order_by(table.c.name, table.c.id))
        self._by_id = Query(by(table.c.id))
        self._locked = Query(by(table.c.id).with_for_update())
        self._add = adding(table)
        self._change = changing(table, [c.name for c in table.c if c.name != "id"])
        self._remove = Query(delete(table).where(table.c.id == bindparam("id")))

    def find(
        self, conn: Connection, ids: Sequence[str] | None = None, *, lock: bool = False
    ) -> list[T]:
        """Those that are there, or all; by name."""
        if ids is None:
            return [self._noun(row) for row in self._all.rows(conn)]
        query = self._locked if lock else self._by_id
        rows = [row for one in sorted(set(ids)) for row in query.rows(conn, {"id": one})]
        return [self._noun(row) for row in sorted(rows, key=itemgetter("name", "id"))]

    def add(self, conn: Connection, one: T) -> None:
        """Raises DuplicateError if its id is taken."""
        self._add.run(conn, self._row(one))

    def change(self, conn: Connection, one: T) -> None:
        row = self._row(one)
        self._change.run(conn, {**row, "b_id": row["id"]})

    def keep(
        self, conn: Connection, ids: Sequence[str], change: Callable[[Mapping[str, T]], Sequence[T]]
    ) -> list[T]:
        """Give those of the ids to `change`, under their locks, and keep what it makes of them."""
        known = {one.id: one for one in self.find(conn, ids, lock=True)}
        made = list(change(known))
        for one in made:
            (self.change if one.id in known else self.add)(conn, one)
        return made

    def remove(self, conn: Connection, id_: str) -> None:
        self._remove.run(conn, {"id": id_})
