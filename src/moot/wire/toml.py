"""Files of agents and of stations: written as TOML, and read back the same."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import tomli_w

from moot.errors import InputError

MAX_BYTES = 256 * 1024
MAX_ITEMS = 500
MAX_PARTS = 64  # of a key, a.b.c

_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(  # strings and comments; one that is never closed goes on to the end
    r'"""(?:[^"\\]++|\\.?|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\.?)*+"?|' + r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_BETWEEN_KEYS = re.compile(r"[=,{}\[\]\n]")


def dumps(table: str, items: Sequence[Mapping[str, Any]]) -> str:
    """`[[table]]` once for each item; its fields in the order given, tables last. None is left
    out."""
    for name, value in (field for item in items for field in item.items()):
        try:
            f"{name}{json.dumps(value, ensure_ascii=False)}".encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} holds half a character, which no file can.", name) from None
    # tomli-w writes a text of several lines as one reads it, but would lose the \r of its \r\n.
    lines = "\\r" not in json.dumps(items)
    return tomli_w.dumps({table: [_given(item) for item in items]}, multiline_strings=lines)


def _given(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item without what is None, in it and in its tables."""
    return {
        name: _given(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
        for name, value in item.items()
        if value is not None
    }


def loads(text: str, table: str) -> list[dict[str, Any]]:
    """The items of a file that holds `[[table]]` and nothing else."""
    if _SURROGATE.search(text):
        raise InputError("The TOML holds half a character; save the file as UTF-8.", "toml")
    if (size := len(text.encode())) > MAX_BYTES:
        raise InputError(f"The TOML has {size:,} bytes; {MAX_BYTES:,} is the most.", "toml")
    read = _read(text.removeprefix("\ufeff"))
    if others := [key for key in read if key != table]:
        raise InputError(
            f"The TOML has {others[0][:60]!r} at its top, where only [[{table}]] may stand.", "toml"
        )
    items = read.get(table)
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):  # pyright: ignore[reportUnknownVariableType]
        raise InputError(f"Begin each of the {table} with a line [[{table}]] of its own.", "toml")
    found = cast("list[dict[str, Any]]", items)
    if len(found) > MAX_ITEMS:
        raise InputError(
            f"The TOML holds {len(found):,} {table}; {MAX_ITEMS} at once is the most.", "toml"
        )
    return found


def _read(text: str) -> dict[str, Any]:
    _check_keys(text)
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also a number of too many digits
        raise InputError(f"This is not valid TOML: {error}.", "toml") from None
    except RecursionError:
        raise InputError("This TOML is nested too deeply.", "toml") from None


def _check_keys(text: str) -> None:
    """Refuse a key of very many parts: the parser's time grows with their square."""
    for key in _BETWEEN_KEYS.split(_QUOTED.sub("_", text)):
        if (dots := key.count(".")) >= MAX_PARTS:
            raise InputError(
                f"The TOML has a key of {dots + 1:,} parts, {key.strip()[:20]!r}…; "
                f"{MAX_PARTS} is the most.",
                "toml",
            )
