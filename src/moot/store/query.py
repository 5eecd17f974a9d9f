"""Named statements: written once with SQLAlchemy, compiled once per database, run by the driver.

Columns hold plain values only, so there is nothing to convert, and a statement costs what the
driver costs: a sixth of running it through SQLAlchemy's connection.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from operator import itemgetter
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    SelectBase,
    Table,
    UpdateBase,
    bindparam,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

_DIALECTS: dict[str, Dialect] = {
    "sqlite": sqlite.dialect(paramstyle="qmark"),
    "postgresql": postgresql.psycopg.dialect(),  # type: ignore[attr-defined]
}
EMPTY: Mapping[str, Any] = {}
AT_ONCE = 50  # values that one statement compares a column with
P = ParamSpec("P")
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
    how: dict[str, Any] = field(default_factory=dict[str, Any])  # told to the driver every time


class SqlDatabase(Protocol):
    """Runs functions on a connection. They may run twice: they only read and write."""

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        """In a transaction; it is safe when this returns.

        `row` is the debate whose row it locks, if it locks only that one and waits for nothing
        else: then it may share a transaction with others.
        """
        ...

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """On what is committed."""
        ...

    async def ping(self) -> None:
        """Raises StorageError if a write would fail."""
        ...

    def now(self) -> float:
        """The time as all who share the database see it, in seconds since the epoch."""
        ...

    def close(self) -> None: ...


class OnDatabase:
    """Has methods that are each one transaction: see `reads` and `writes`."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database


def reads(
    fn: Callable[Concatenate[Connection, P], T],
) -> "Callable[Concatenate[Any, P], CoroutineType[Any, Any, T]]":
    """The method of an `OnDatabase` that runs `fn` on what is committed."""

    @wraps(fn)
    async def method(self: OnDatabase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(lambda conn: fn(conn, *args, **kwargs))

    return method


def writes(
    fn: Callable[Concatenate[Connection, P], T],
) -> "Callable[Concatenate[Any, P], CoroutineType[Any, Any, T]]":
    """The method of an `OnDatabase` that runs `fn` in a transaction."""

    @wraps(fn)
    async def method(self: OnDatabase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.write(lambda conn: fn(conn, *args, **kwargs))

    return method


def planned_anew(conn: Connection) -> Connection:
    """For statements whose best plan depends on their values.

    Postgres may plan a prepared statement once for all values: it would look for a rare word as if
    it was a common one.
    """
    return replace(conn, how={"prepare": False}) if conn.dialect == "postgresql" else conn


_UNKEPT = re.compile("[\\x00\ud800-\udfff]")


def can_hold(text: str) -> bool:
    """Whether every database can: Postgres takes no NUL, and none takes half a character."""
    return _UNKEPT.search(text) is None


Values = Callable[[Mapping[str, Any]], Sequence[Any]]
"""Puts named values in the order of a statement's question marks: sqlite3 binds those faster."""


def _in_order(names: Sequence[str]) -> Values:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda params: [params[name] for name in names]


class Write(str):
    """The SQL of a write for Postgres, which knows the one table that it touches."""

    table: str


class Query:
    """One named statement, or one for each dialect."""

    def __init__(self, statement: ClauseElement | Mapping[str, ClauseElement]) -> None:
        self._statements = (
            statement if isinstance(statement, Mapping) else dict.fromkeys(_DIALECTS, statement)
        )
        self._compiled: dict[str, tuple[str, dict[str, Any], Values | None]] = {}
        one = next(iter(self._statements.values()))
        selected = one.selected_columns if isinstance(one, SelectBase) else ()
        self._names = [str(column.key) for column in selected]

    def run(self, conn: Connection, params: Mapping[str, Any] = EMPTY) -> Cursor:
        compiled = self._compiled.get(conn.dialect) or self._compile(conn.dialect)
        sql, constants, values = compiled
        if constants:
            params = {**constants, **params}
        return conn.driver.execute(sql, values(params) if values else params, **conn.how)

    def rows(self, conn: Connection, params: Mapping[str, Any] = EMPTY) -> list[dict[str, Any]]:
        names = self._names
        return [dict(zip(names, row, strict=True)) for row in self.run(conn, params).fetchall()]

    def _compile(self, dialect: str) -> tuple[str, dict[str, Any], Values | None]:
        statement = self._statements[dialect]
        compiled = statement.compile(dialect=_DIALECTS[dialect])
        constants = {
            key: value for key, value in (compiled.params or {}).items() if value is not None
        }
        names = getattr(compiled, "positiontup", None)  # None if the driver takes names
        values = None if names is None else _in_order(names)
        sql = str(compiled)
        if isinstance(statement, UpdateBase) and dialect == "postgresql":
            sql = Write(sql)
            sql.table = statement.entity_description["name"]
        self._compiled[dialect] = sql, constants, values
        return self._compiled[dialect]


# --- statements that many tables have ---


def by(column: Column[Any]) -> Select[Any]:
    """The rows with a value in that column, which is given by its name."""
    return select(column.table).where(column == bindparam(column.name))


def any_of(column: Column[Any]) -> ColumnElement[bool]:
    """Whether a column has one of `AT_ONCE` values, which `parts` names."""
    return column.in_([bindparam(f"{column.name}_{place}") for place in range(AT_ONCE)])


def parts(column: Column[Any], values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """All values in turn, as parameters for `any_of`."""
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE]
        last = len(some) - 1
        yield {f"{column.name}_{place}": some[min(place, last)] for place in range(AT_ONCE)}


def adding(table: Table) -> Query:
    """Add a row; the database gives it its number if the table has such a key."""
    given = [column for column in table.c if column is not table.autoincrement_column]
    return Query(insert(table).values({c.name: bindparam(c.name) for c in given}).inline())


def keeping(
    table: Table, change: Sequence[str] = (), where: ColumnElement[bool] | None = None
) -> Query:
    """Add a row or, if its key is there already, change those columns of the row that is there."""
    key = list(table.primary_key)
    statements: dict[str, ClauseElement] = {}
    for dialect, add in (
        ("sqlite", sqlite.insert(table).inline()),
        ("postgresql", postgresql.insert(table).inline()),
    ):
        statements[dialect] = (
            add.on_conflict_do_update(
                index_elements=key, set_={n: add.excluded[n] for n in change}, where=where
            )
            if change
            else add.on_conflict_do_nothing()
        )
    return Query(statements)


def changing(table: Table, names: Sequence[str]) -> Query:
    """Change those columns of the row whose id is `b_id`."""
    return Query(
        update(table)
        .where(table.c.id == bindparam("b_id"))
        .values({name: bindparam(name) for name in names})
    )
