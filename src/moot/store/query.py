"""Named statements: written once with SQLAlchemy, compiled once per database, run by the driver.

Columns hold plain values only, so there is nothing to convert, and a statement costs what the
driver costs: a sixth of running it through SQLAlchemy's connection.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from sqlalchemy import Executable, SelectBase
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

_DIALECTS: dict[str, Dialect] = {
    "sqlite": sqlite.dialect(paramstyle="qmark"),
    "postgresql": postgresql.psycopg.dialect(),  # type: ignore[attr-defined]
}
EMPTY: Mapping[str, Any] = {}
T = TypeVar("T")


class Cursor(Protocol):
    """What sqlite3 and psycopg both give for a statement."""

    def fetchall(self) -> Sequence[Sequence[Any]]: ...


class Driver(Protocol):
    """What sqlite3's and psycopg's connections have in common."""

    def execute(self, sql: Any, params: Any = ..., /) -> Cursor: ...


@dataclass(slots=True)
class Connection:
    """A driver's connection, and which dialect it speaks."""

    dialect: str
    driver: Driver
    seen: dict[str, Any] | None = None  # rows as this writer wrote them; None: ask the file
    version: int = -1  # of the file, as others change it


class SqlDatabase(Protocol):
    """Runs functions on a connection. They may run twice: they only read and write."""

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        """In a transaction; it is safe when this returns.

        `row` is the debate whose row it locks, where it locks that one and waits for nothing else:
        then it may share a transaction with others.
        """
        ...

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """On what is committed."""
        ...

    async def ping(self) -> None:
        """Raises StorageError where a write would fail."""
        ...

    def now(self) -> float:
        """The time as all who share the database see it, in seconds since the epoch."""
        ...

    def close(self) -> None: ...


class _Unprepared:
    """psycopg's connection, where no statement is prepared."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def execute(self, sql: Any, params: Any = None, /) -> Cursor:
        return self._driver.execute(sql, params, prepare=False)


def planned_anew(conn: Connection) -> Connection:
    """For statements whose best plan depends on their values.

    A statement that Postgres has prepared may get one plan for all values: a rare word would be
    looked for as if it was a common one.
    """
    if conn.dialect != "postgresql":
        return conn
    return Connection(conn.dialect, _Unprepared(conn.driver))


Values = Callable[[Mapping[str, Any]], Sequence[Any]]
"""Puts named values in the order of a statement's question marks: sqlite3 binds those faster."""


def _in_order(names: Sequence[str]) -> Values:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda params: [params[name] for name in names]


_UNKEPT = re.compile("[\\x00\ud800-\udfff]")


def can_hold(text: str) -> bool:
    """Whether every database can: Postgres takes no NUL, and none takes half a character."""
    return _UNKEPT.search(text) is None


class Query:
    """One named statement."""

    def __init__(self, statement: Executable) -> None:
        if not isinstance(statement, ClauseElement):
            raise TypeError(statement)
        self._statement = statement
        self._compiled: dict[str, tuple[str, dict[str, Any], Values | None]] = {}
        self._names = (
            [str(column.key) for column in statement.selected_columns]
            if isinstance(statement, SelectBase)
            else []
        )

    def run(self, conn: Connection, params: Mapping[str, Any] = EMPTY) -> Cursor:
        compiled = self._compiled.get(conn.dialect) or self._compile(conn.dialect)
        sql, constants, values = compiled
        if constants:
            params = {**constants, **params}
        return conn.driver.execute(sql, values(params) if values else params)

    def rows(self, conn: Connection, params: Mapping[str, Any] = EMPTY) -> list[dict[str, Any]]:
        names = self._names
        return [dict(zip(names, row, strict=True)) for row in self.run(conn, params).fetchall()]

    def _compile(self, dialect: str) -> tuple[str, dict[str, Any], Values | None]:
        compiled = self._statement.compile(dialect=_DIALECTS[dialect])
        constants = {
            key: value for key, value in (compiled.params or {}).items() if value is not None
        }
        names = getattr(compiled, "positiontup", None)  # None where the driver takes names
        values = None if names is None else _in_order(names)
        self._compiled[dialect] = str(compiled), constants, values
        return self._compiled[dialect]
