"""A call cut to the time there is: asked for shorter, so that its answer is not cut.

A structured answer is bounded by its grammar: with texts and lists that are short enough, it is
whole before its tokens are used up, whatever the model says.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from os.path import commonprefix
from typing import Any, cast

from moot.core.prompts import Message
from moot.models.local.speed import Speed
from moot.ports import Call

LEAST = 48  # tokens in which something can be said
_SHARE = 0.85  # of the time: the rest is for what nobody foresaw
_LONGEST = 600  # characters of one text; a grammar for longer ones is slow
_SENTENCE = 140
_SHORTEST = 40
_LETTERS = 3  # of a token that is written, rather too few than too many
_READ = 4  # of one that is read; most are words
_NESTED = 12
_DAY = "^20[0-9][0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"  # one that every month has
SENTENCE = "sentence"
"""The format of a text that is one sentence."""
LABEL = "label"
"""The format of a few words that name something."""
_PLAIN = "[A-Za-z0-9,;:'()%/&+-]"  # what a grammar lets its words be made of
_WORD = 7  # characters of one
_ONE_SENTENCE = 180
_SHARES = [tenth / 10 for tenth in range(11)]

Schema = Mapping[str, Any]


class Memory:
    """The prompts that llama.cpp has read: what a new one shares with them, its cache holds."""

    def __init__(self) -> None:
        self._whose: object = None
        self._read: deque[str] = deque(maxlen=16)

    def unread(self, call: Call, whose: object) -> int:
        """The tokens that are to be read for a call, by the one whose memory it is; read then."""
        if whose != self._whose:
            self._whose = whose
            self._read.clear()
        text = "\n".join(f"{message.role}: {message.text}" for message in call.messages)
        shared = max((len(commonprefix((text, known))) for known in self._read), default=0)  # noqa: RUF071
        self._read.append(text)
        return len(text[shared:].encode()) // _READ + 4


def brief(call: Call, speed: Speed, unread: int) -> Call:
    """The call as it can be answered in its time at that speed, with so many tokens to read."""
    tokens = min(call.max_tokens, room(call, speed, unread))
    messages = call.messages
    if tokens < call.max_tokens:
        last = messages[-1]
        ask = f"Be brief: at most {_round(tokens * 6 // 10)} words."
        messages = (*messages[:-1], Message(last.role, f"{last.text} {ask}"))
    if call.schema is None:
        return replace(call, messages=messages, max_tokens=tokens)
    # The grammar keeps it short; cut by its tokens it would be of no use.
    return replace(call, messages=messages, schema=bounded(call.schema, tokens))


def room(call: Call, speed: Speed, unread: int) -> int:
    """The tokens that can be written in the time that reading leaves."""
    seconds = call.seconds * _SHARE - unread / speed.read
    return max(LEAST, int(seconds * speed.write))


def bounded(schema: Schema, tokens: int) -> Schema:
    """The schema with texts and lists so short that an answer fits into that many tokens."""
    letters = tokens * _LETTERS
    for shortest in (_SENTENCE, 100, 70, _SHORTEST):  # rather fewer entries than chopped ones
        for items in (4, 3, 2, 1):
            length = _LONGEST
            while length >= shortest:
                short = _short(schema, items, length)
                if _worst(short, short, 0) <= letters:
                    return short
                length = length * 3 // 4
    return _short(schema, 1, _SHORTEST)


def _round(words: int) -> int:
    return max(words // 5 * 5, 20)


def _short(schema: Any, items: int, length: int) -> Any:
    """A copy whose every text and list is bounded."""
    if isinstance(schema, list):
        return [_short(part, items, length) for part in cast(list[Any], schema)]
    if not isinstance(schema, Mapping):
        return schema
    given = cast(Schema, schema)
    short = {key: _short(value, items, length) for key, value in given.items()}
    if given.get("format") == SENTENCE:
        most = min(length, _ONE_SENTENCE)
        word = f"{_PLAIN}{{1,20}}"
        pattern = f"^[A-Z]{word}( {word}){{2,{most // _WORD}}}[.?!]$"  # no word is cut
        return {"type": "string", "pattern": pattern, "maxLength": most}
    if given.get("format") == LABEL:
        word = "[A-Za-z0-9'-]{1,16}"
        return {"type": "string", "pattern": f"^[A-Z]{word}( {word}){{1,15}}$", "maxLength": 110}
    if given.get("type") == "string" and not {"enum", "const", "format", "pattern"} & set(given):
        short["maxLength"] = min(given.get("maxLength", length), length)
    if given.get("format") == "date":  # a grammar does not know how long a month is
        return {"type": "string", "pattern": _DAY}
    if given.get("type") == "number" and given.get("minimum") == 0 and given.get("maximum") == 1:
        return {"enum": _SHARES}  # a grammar knows no bounds of fractions
    if given.get("type") == "array":
        most = min(given.get("maxItems", items), items)
        short["maxItems"] = max(most, given.get("minItems", 0))
    return short


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
