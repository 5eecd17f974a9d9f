"""Makes `0005.json`: the statements of the store at schema 0005, as that version compiled them.

Run it with the code of that version (commit c5d8982), from the root of the repository:

    python -m tests.contract.old.make_statements tests/contract/old/0005.json
"""

import json
import sys
from pathlib import Path
from typing import Any

from moot.store import attempts, log, runs, schema
from moot.store.query import _DIALECTS, Query
from moot.store.tables import runs as runs_table

SCHEMA = "0005"
STATEMENTS: dict[Any, tuple[str, ...]] = {
    runs: (
        "INSERT", "LOCKED", "LOCK", "CHANGE", "TAKE", "ADVANCE", "UNFINISHED", "UNFILED", "RENEW",
        "HELD", "FILED", "OUTDATED",
    ),
    log: ("ADD_TURN", "ADD_EVENT", "TURNS_AFTER"),
    attempts: ("START", "END", "END_OPEN"),
}  # fmt: skip


def compiled(query: Query, dialect: str) -> dict[str, Any]:
    """Its text, the order of its question marks, and the values that are part of it."""
    made = query._statement.compile(dialect=_DIALECTS[dialect])  # type: ignore[attr-defined]  of that version
    order = getattr(made, "positiontup", None)
    constants = {key: value for key, value in (made.params or {}).items() if value is not None}
    sql = " ".join(str(made).split("\n"))
    return {"sql": sql, "order": order, "constants": constants}


def main() -> None:
    assert schema.HEAD == SCHEMA, f"run it with the version of schema {SCHEMA}"
    statements = {
        dialect: {
            f"{module.__name__.rpartition('.')[2]}.{name}": compiled(getattr(module, name), dialect)
            for module, names in STATEMENTS.items()
            for name in names
        }
        for dialect in _DIALECTS
    }
    kept = {
        "schema": SCHEMA,
        "columns": [column.name for column in runs_table.c],  # as rows of debate_runs are read
        "progress": runs.PROGRESS,  # what ADVANCE writes; with what a claim changes, TAKE
        "lease": runs.LEASE,
        "statements": statements,
    }
    Path(sys.argv[1]).write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
