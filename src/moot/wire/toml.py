"""Files of agents and of stations: TOML out, and in again the very same."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from moot.errors import InputError

MAX_BYTES = 256 * 1024
MAX_ITEMS = 500
MAX_PARTS = 64  # of a key, a.b.c
WIDTH = 100

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile(r'[\x00-\x1f"\\\x7f]')
_UNSAFE_IN_LINES = re.compile(r'[\x00-\x08\x0b-\x1f\\\x7f]|"(?=""|\Z)')  # a newline and a tab stay
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(  # strings and comments; one that is never closed goes on to the end
    r'"""(?:[^"\\]++|\\.?|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\.?)*+"?|' + r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_BETWEEN_KEYS = re.compile(r"[=,{}\[\]\n]")


def dumps(table: str, items: Sequence[Mapping[str, Any]]) -> str:
    """`[[table]]` once for each item, its fields in the order given; None is left out."""
    if not items:
        return f"{_key(table)} = []\n"
    return "\n".join(f"[[{_key(table)}]]\n{_fields(item)}" for item in items)


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


def _fields(item: Mapping[str, Any]) -> str:
    given = ((_key(name), name, value) for name, value in item.items() if value is not None)
    return "".join(f"{key} = {_value(value, name)}\n" for key, name, value in given)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name, name)


def _value(value: Any, field: str) -> str:
    match value:
        case str():
            return _lines(value, field) if "\n" in value else _string(value, field)
        case Mapping():
            return _table(cast("Mapping[str, Any]", value), field)
        case list() | tuple():
            return _list(cast("Sequence[Any]", value), field)
        case _:
            return _number(value, field)


def _table(value: Mapping[str, Any], field: str) -> str:
    """On one line, as TOML wants it."""
    parts: list[str] = []
    for name, part in value.items():
        if part is not None:
            inner = f"{field}.{name}"
            text = _string(part, inner) if isinstance(part, str) else _number(part, inner)
            parts.append(f"{_key(name)} = {text}")
    return f"{{ {', '.join(parts)} }}" if parts else "{}"


def _list(value: Sequence[Any], field: str) -> str:
    parts = [
        _string(part, field) if isinstance(part, str) else _number(part, field) for part in value
    ]
    line = f"[{', '.join(parts)}]"
    if len(line) + len(field) < WIDTH:
        return line
    return "[\n" + "".join(f"    {part},\n" for part in parts) + "]"


def _number(value: Any, field: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case _:
            raise TypeError(f"{field}: {type(value).__name__} has no place in such a file")


def _string(text: str, field: str) -> str:
    return f'"{_UNSAFE.sub(_escape, _whole(text, field))}"'


def _lines(text: str, field: str) -> str:
    """A text of several lines, as one reads it; the newline after the quotes does not count."""
    return f'"""\n{_UNSAFE_IN_LINES.sub(_escape, _whole(text, field))}"""'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _whole(text: str, field: str) -> str:
    if _SURROGATE.search(text):
        raise InputError(f"{field} holds half a character, which no file can.", field)
    return text
