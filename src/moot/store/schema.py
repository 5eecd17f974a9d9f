"""Brings a database to this version's schema, or says plainly why it cannot."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from moot.errors import StorageError
from moot.store.database import engine, storage_error

HEAD = "0016"
UPGRADING = 0x6D6F6F74  # the lock that one upgrade of a Postgres takes from another
_SCRIPTS = Path(__file__).parent / "migrations"


def prepare(place: Path | str) -> None:
    """See to it that the schema is this version's: a file is brought there, a Postgres is not."""
    if isinstance(place, Path):
        _prepare_file(place)
    else:
        _check(place)


def _prepare_file(path: Path) -> None:
    """Make the embedded database if it is not there, and bring it up to date."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path.parent} cannot be made: {error.strerror}. Set MOOT_HOME to a folder of yours."
        ) from None
    database = engine(path)
    try:
        with database.connect() as conn:
            if version(conn) == HEAD:
                return
            if not inspect(conn).get_table_names():
                conn.exec_driver_sql(
                    "PRAGMA journal_mode=WAL"
                )  # a file of ours; others keep theirs
            conn.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                upgrade(conn, str(path))
            except BaseException:
                conn.exec_driver_sql("ROLLBACK")
                raise
            conn.exec_driver_sql("COMMIT")
    except (DBAPIError, sqlite3.Error) as error:
        raise storage_error(error, path) from None
    finally:
        database.dispose()


def _check(url: str) -> None:
    """Others may be at work on it: it is upgraded when somebody says so."""
    from moot.store import postgres  # here: its driver is an extra

    name = postgres.Place.at(url).name
    with postgres.reading(url, postgres.STARTING_SECONDS) as conn:
        made = conn.driver.execute("SELECT to_regclass('debate_schema') IS NOT NULL").fetchall()
        rows = made[0][0] and conn.driver.execute("SELECT version_num FROM debate_schema")
        there = next((row[0] for row in rows.fetchall()), None) if rows else None
    if there is None:
        raise StorageError(f"{name} has no tables of moot yet. Run `moot db upgrade`.")
    _not_newer(there, name, "MOOT_DATABASE_URL to another database")
    if there != HEAD:
        raise StorageError(
            f"{name} was made by an older moot (schema {there}, this one needs {HEAD}). "
            "Run `moot db upgrade`."
        )


def upgrade_at(url: str) -> tuple[str | None, str]:
    """Bring a Postgres to this version's schema: the one before, and the one after."""
    from moot.store.postgres import Place

    place = Place.at(url)
    database = create_engine(
        "postgresql+psycopg://",
        creator=lambda: place.connect(autocommit=False),
        poolclass=NullPool,
    )
    try:
        with database.begin() as conn:
            # building an index takes longer than anything else may
            for setting in ("statement_timeout = 0", "lock_timeout = '60s'"):
                conn.exec_driver_sql(f"SET LOCAL {setting}")
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADING})")
            before = version(conn)
            if before != HEAD:
                upgrade(conn, place.name, "MOOT_DATABASE_URL to another database")
        return before, HEAD
    except DBAPIError as error:
        raise place.trouble(error.orig or error) from None
    finally:
        database.dispose()


def version(conn: Connection) -> str | None:
    if not inspect(conn).has_table("debate_schema"):
        return None
    row = conn.exec_driver_sql("SELECT version_num FROM debate_schema").first()
    return row[0] if row else None


def upgrade(conn: Connection, name: str, elsewhere: str = "MOOT_HOME to another folder") -> None:
    """Apply what is missing, in the caller's transaction."""
    from alembic import command  # here: it costs 0.3 s, and is needed once per version
    from alembic.config import Config

    _not_newer(version(conn), name, elsewhere)
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = conn
    command.upgrade(config, "head")


def _not_newer(there: str | None, name: str, elsewhere: str) -> None:
    known = {script.stem.split("_")[0] for script in (_SCRIPTS / "versions").glob("[0-9]*.py")}
    if there is not None and there not in known:
        raise StorageError(
            f"{name} was made by a newer moot (schema {there}, this one knows {HEAD}). "
            f"Upgrade moot, or set {elsewhere}. Nothing was changed."
        )
