"""A structured answer bounded by its grammar: with texts and lists that are short enough, it is
whole before its tokens are used up, whatever the model says."""

from collections.abc import Mapping
from typing import Any, cast

from moot.core.wording import ended
from moot.core.writing import whole_words

_LONGEST = 600  # characters of one text; a grammar for longer ones is slow
_SHORTEST = 40
_LETTERS = 3  # of a token, rather too few than too many
_NESTED = 12
_DAY = "^20[0-9][0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"  # one that every month has
_ENDS = ".!?…。！？।؟\"'”’»)]）」』"  # a text that filled its room exactly may be whole
_SHARES = [tenth / 10 for tenth in range(11)]

Schema = Mapping[str, Any]


def bounded(schema: Schema, tokens: int) -> Schema:
    """The schema with texts and lists so short that an answer fits into that many tokens."""
    for shortest in (140, 100, 70, _SHORTEST):  # rather fewer entries than chopped ones
        for items in (4, 3, 2, 1):
            length = _LONGEST
            while length >= shortest:
                short = _short(schema, items, length)
                if _worst(short, short, 0) <= tokens * _LETTERS:
                    return short
                length = length * 3 // 4
    return _short(schema, 1, _SHORTEST)


def _short(schema: Any, items: int, length: int) -> Any:
    """A copy whose every text and list is bounded."""
    if isinstance(schema, list):
        return [_short(part, items, length) for part in cast(list[Any], schema)]
    if not isinstance(schema, Mapping):
        return schema
    given = cast(Schema, schema)
    short = {key: _short(value, items, length) for key, value in given.items()}
    match given:
        case {"type": "string", "format": "date"}:  # a grammar does not know how long a month is
            return {"type": "string", "pattern": _DAY}
        case {"type": "string"} if not {"enum", "const", "format", "pattern"} & set(given):
            short["maxLength"] = min(given.get("maxLength", length), length)
        case {"type": "number", "minimum": 0, "maximum": 1}:
            return {"enum": _SHARES}  # a grammar knows no bounds of fractions
        case {"type": "array"}:
            most = min(given.get("maxItems", items), items)
            short["maxItems"] = max(most, given.get("minItems", 0))
        case _:
            pass
    return short


def unbroken(value: Any, schema: Schema, root: Schema, *, quoted: bool = False) -> Any:
    """An answer without parts of words: a text that filled its room was cut by the grammar. A quote
    that was is shorter, and has no ellipsis that nobody said."""
    if "$ref" in schema:
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {})
    if isinstance(value, dict):
        fields: Mapping[str, Schema] = schema.get("properties", {})
        given = cast(dict[str, Any], value)
        return {
            key: unbroken(one, fields.get(key, {}), root, quoted=key == "quotes")
            for key, one in given.items()
        }
    if isinstance(value, list):
        items = schema.get("items", {})
        return [unbroken(one, items, root, quoted=quoted) for one in cast(list[Any], value)]
    if not isinstance(value, str):
        return value
    rooms = [
        part["maxLength"] for part in (schema, *schema.get("anyOf", ())) if "maxLength" in part
    ]
    if rooms and len(value) >= max(rooms) and value[-1] not in _ENDS:
        return whole_words(value) if quoted else ended(value)
    return value


def _worst(schema: Schema, root: Schema, depth: int) -> int:
    """The characters of the longest answer, roughly."""
    if depth > _NESTED:
        return 0  # it holds itself: no bound is found this way
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _worst(root.get("$defs", {}).get(name, {}), root, depth + 1)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return max(_worst(part, root, depth + 1) for part in schema[choice])
    if "enum" in schema:
        return 2 + max(len(str(one)) for one in schema["enum"])
    match schema.get("type"):
        case "object":
            fields: Mapping[str, Schema] = schema.get("properties", {})
            return 4 + sum(
                len(name) + 6 + _worst(field, root, depth + 1) for name, field in fields.items()
            )
        case "array":
            return 4 + schema["maxItems"] * (2 + _worst(schema.get("items", {}), root, depth + 1))
        case "string":
            return 2 + schema.get("maxLength", 24)
        case _:
            return 12  # a number, true, false, one of a few words
