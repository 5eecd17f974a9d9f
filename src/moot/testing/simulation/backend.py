"""The database that a schedule runs on: a file, or a real Postgres that nobody else uses."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from moot.store.database import Writer, connect
from moot.store.jobs import Job
from moot.store.query import Connection
from moot.store.tables import metadata
from moot.testing.inline_database import make_database

if TYPE_CHECKING:
    from moot.store.postgres import PostgresDatabase

T = TypeVar("T")


class FileBackend:
    """SQLite, as on one home."""

    def __init__(self, path: Path) -> None:
        make_database(path)
        self._path = path
        self._open()

    def _open(self) -> None:
        """One connection reads for all: what each does is done between two steps."""
        self._driver = connect(self._path, durable=False)
        self._reader = Connection("sqlite", self._driver)

    def writer(self) -> Writer:
        """Each process has its own, which must notice what the others wrote."""
        return Writer(self._path, durable=False)

    def read(self, fn: Callable[[Connection], T]) -> T:
        return fn(self._reader)

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._driver.execute(sql, values).fetchall()

    def copy(self) -> bytes:
        return self._driver.serialize()

    def restore(self, copy: bytes) -> None:
        """While nobody is connected."""
        self.close()
        self._path.write_bytes(copy)
        self._open()

    def close(self) -> None:
        self._driver.close()


class PostgresBackend:
    """A Postgres. All processes share one connection: only one of them does a step at a time."""

    def __init__(self, url: str) -> None:
        from moot.store.postgres import PostgresDatabase  # here: its driver is an extra

        self._database = PostgresDatabase(url, 0)
        self._tables = [table.name for table in metadata.sorted_tables] + ["debate_search"]
        self._empty()

    def writer(self) -> "_PostgresWriter":
        return _PostgresWriter(self._database)

    def read(self, fn: Callable[[Connection], T]) -> T:
        return self._database.read_now(fn)

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        sql = sql.replace("%", "%%").replace("IS ?", "IS NOT DISTINCT FROM ?").replace("?", "%s")

        def work(conn: Connection) -> list[tuple[Any, ...]]:
            found = conn.driver.execute(sql, values)
            is_read = sql.lstrip().startswith("SELECT")
            return [tuple(row) for row in found.fetchall()] if is_read else []

        return self.read(work)

    def copy(self) -> Mapping[str, list[tuple[Any, ...]]]:
        return {name: self.ask(f"SELECT * FROM {name}") for name in self._tables}  # noqa: S608

    def restore(self, copy: Mapping[str, list[tuple[Any, ...]]]) -> None:
        self._empty()
        for name, rows in copy.items():
            for row in rows:
                places = ", ".join("?" for _ in row)
                self.ask(f"INSERT INTO {name} VALUES ({places})", *row)  # noqa: S608
        for name in self._tables:
            self._count_on(name)

    def _count_on(self, table: str) -> None:
        """Numbers that the server hands out go on after those that were put back."""
        for (column,) in self.ask(
            "SELECT column_name FROM information_schema.columns WHERE table_name = ?"
            " AND (column_default LIKE 'nextval%' OR is_identity = 'YES')",
            table,
        ):
            self.ask(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'),"  # noqa: S608
                f" (SELECT coalesce(max({column}), 0) + 1 FROM {table}))"
            )

    def _empty(self) -> None:
        self.ask(f"TRUNCATE {', '.join(self._tables)} RESTART IDENTITY")

    def close(self) -> None:
        self._database.close()


class _PostgresWriter:
    def __init__(self, database: "PostgresDatabase") -> None:
        self._database = database

    def run(self, jobs: Sequence[Job]) -> None:
        self._database.write_now(jobs)

    def close(self) -> None:
        """The connection is everybody's."""


Backend = FileBackend | PostgresBackend
