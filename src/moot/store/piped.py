"""Statements in a pipeline: they wait for no answer, and writes go together."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import psycopg

from moot.store.query import Cursor, Write

Driver = psycopg.Connection[tuple[Any, ...]]


class Piped:
    """A connection whose statements wait for no answer until one is fetched.

    Writes to different tables that follow each other are sent as one statement: that is less work
    here and on the server.
    """

    def __init__(self, driver: Driver, pipeline: psycopg.Pipeline) -> None:
        self.driver = driver
        self._pipeline = pipeline
        self._held: list[tuple[Write, Mapping[str, Any]]] = []
        self.sent = 0  # statements that are not held back any more

    def execute(self, sql: Any, params: Any = None, /, **how: Any) -> Cursor:
        if not isinstance(sql, Write):
            self.flush()
            return self.ask(sql, params, **how)
        if any(sql.table == held.table for held, _ in self._held):
            self.flush()
        self._held.append((sql, cast("Mapping[str, Any]", params)))
        return NOTHING

    def flush(self) -> None:
        """Send the writes that were held back."""
        if not self._held:
            return
        sql, places = joined(tuple(sql for sql, _ in self._held))
        values = [self._held[place][1][name] for place, name in places]
        self._held.clear()
        self.sent += 1
        psycopg.RawCursor(self.driver).execute(sql, values)

    def forget(self) -> None:
        """Whoever asked for what is held back has thought better of it."""
        self._held.clear()

    def ask(self, sql: Any, params: Any = None, **how: Any) -> "Answer":
        self.sent += 1
        return Answer(self.driver.execute(sql, params, **how), self._pipeline)


class _Numbers(dict[str, str]):
    """The number of each name in a statement, given when it is first asked for."""

    def __init__(self, place: int, places: list[tuple[int, str]]) -> None:
        super().__init__()
        self._place, self._places = place, places

    def __missing__(self, name: str) -> str:
        self._places.append((self._place, name))
        self[name] = f"${len(self._places)}"
        return self[name]


@lru_cache(maxsize=1024)
def joined(statements: tuple[str, ...]) -> tuple[bytes, list[tuple[int, str]]]:
    """Several writes as one statement, and which value of which write each of its numbers stands
    for: psycopg reads names anew each time if there are many. Each write sees what was there
    before all of them.

    SQLAlchemy writes parameters for Python's own `%`, which is what DB-API calls pyformat.
    """
    places: list[tuple[int, str]] = []
    *first, last = [sql % _Numbers(place, places) for place, sql in enumerate(statements)]
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
