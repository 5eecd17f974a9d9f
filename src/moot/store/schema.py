"""Brings a database to this version's schema, or says plainly why it cannot."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError

from moot.errors import StorageError
from moot.store.database import engine, storage_error

HEAD = "0003"
_SCRIPTS = Path(__file__).parent / "migrations"


def prepare(path: Path) -> None:
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


def version(conn: Connection) -> str | None:
    if not inspect(conn).has_table("debate_schema"):
        return None
    row = conn.exec_driver_sql("SELECT version_num FROM debate_schema").first()
    return row[0] if row else None


def upgrade(conn: Connection, name: str) -> None:
    """Apply what is missing, in the caller's transaction."""
    from alembic import command  # here: it costs 0.3 s, and is needed once per version
    from alembic.config import Config

    there = version(conn)
    known = {script.stem.split("_")[0] for script in (_SCRIPTS / "versions").glob("[0-9]*.py")}
    if there is not None and there not in known:
        raise StorageError(
            f"{name} was made by a newer moot (schema {there}, this one knows {HEAD}). "
            "Upgrade moot, or set MOOT_HOME to another folder. Nothing was changed."
        )
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
