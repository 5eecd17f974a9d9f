"""JSON on lines of its own, as in the files of a debate: what `json.dumps(indent=1)` writes, which
runs in Python for every value where this asks its C parts for each leaf."""

from collections.abc import Mapping, Sequence
from json import JSONEncoder
from json.encoder import encode_basestring as _quoted
from typing import Any, cast

_leaf = JSONEncoder(ensure_ascii=False).encode
_CONSTANTS = {True: "true", False: "false", None: "null"}


def indented(value: Any, gap: str = "\n") -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if type(value) is int:
        return repr(value)
    inner = gap + " "
    if isinstance(value, dict) and value:
        fields = cast("Mapping[str, Any]", value).items()
        text = f",{inner}".join([f"{_quoted(k)}: {indented(v, inner)}" for k, v in fields])
        return f"{{{inner}{text}{gap}}}"
    if isinstance(value, list | tuple) and value:
        items = [indented(item, inner) for item in cast("Sequence[Any]", value)]
        return f"[{inner}{f',{inner}'.join(items)}{gap}]"
    return _leaf(value)
