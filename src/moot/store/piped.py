"""Statements in a pipeline: they wait for no answer, and writes go together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import psycopg

from moot.store.query import Cursor

Driver = psycopg.Connection[tuple[Any, ...]]


class Piped:
    """A connection whose statements wait for no answer until one is fetched.

    Writes to different tables that follow each other are sent as one statement: that is less work
    here and on the server.
    """

    def __init__(self, driver: Driver, pipeline: psycopg.Pipeline) -> None:
        self.driver = driver
        self._pipeline = pipeline
        self._held: list[tuple[str, Mapping[str, Any]]] = []
        self._tables: set[str] = set()
        self.sent = 0  # writes that are not held back any more

    def execute(self, sql: Any, params: Any = None, /, prepare: bool | None = None) -> Cursor:
        table = _written(sql) if isinstance(params, Mapping) else None
        if table is None or table in self._tables:
            self.flush()
        if table is None:
            return self.ask(sql, params, prepare)
        self._tables.add(table)
        self._held.append((sql, cast("Mapping[str, Any]", params)))
        return NOTHING

    def flush(self) -> None:
        """Send the writes that were held back."""
        if not self._held:
            return
        sql, places = _joined(tuple(sql for sql, _ in self._held))
        values = [self._held[place][1][name] for place, name in places]
        self.forget()
        self.sent += 1
        psycopg.RawCursor(self.driver).execute(sql, values)

    def forget(self) -> None:
        """Whoever asked for what is held back has thought better of it."""
        self._held.clear()
        self._tables.clear()

    def ask(self, sql: Any, params: Any = None, prepare: bool | None = None) -> "Answer":
        return Answer(self.driver.execute(sql, params, prepare=prepare), self._pipeline)


@lru_cache(maxsize=1024)
def _written(sql: str) -> str | None:
    """The one table that a statement writes to; None where it reads another, or writes none."""
    found = re.match(r"(?:INSERT INTO|UPDATE|DELETE FROM) (debate_\w+)", sql)
    return found[1] if found and "SELECT" not in sql else None


@lru_cache(maxsize=1024)
def _joined(statements: tuple[str, ...]) -> tuple[bytes, list[tuple[int, str]]]:
    """Several writes as one statement, and which value of which write each of its numbers stands
    for: psycopg reads names anew each time where there are many. Each write sees what was there
    before all of them."""
    places: list[tuple[int, str]] = []

    def numbered(place: int, sql: str) -> str:
        def number(name: re.Match[str]) -> str:
            places.append((place, name[1]))
            return f"${len(places)}"

        return re.sub(r"%\((\w+)\)s", number, sql)

    *first, last = [numbered(place, sql).replace("%%", "%") for place, sql in enumerate(statements)]
    before = ", ".join(f"w{place} AS ({sql})" for place, sql in enumerate(first))
    return (f"WITH {before} {last}" if before else last).encode(), places


class Nothing:
    """What a write gives that is held back."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        raise TypeError("a write gives no rows")


NOTHING = Nothing()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement in a pipeline gives, once all before it is done."""

    cursor: psycopg.Cursor[tuple[Any, ...]]
    pipeline: psycopg.Pipeline

    @property
    def there(self) -> bool:
        return self.cursor.pgresult is not None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """A fetch of psycopg's own would leave the server waiting inside a command, where it gives
        no idle transaction up."""
        if not self.there:
            self.pipeline.sync()
        return self.cursor.fetchall()
