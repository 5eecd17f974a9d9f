"""Structured answers of the understudy: data that satisfies a simple JSON Schema."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from moot.core.debate import Debate
from moot.models import understudy_ear as ear
from moot.models.understudy_ruling import began
from moot.models.understudy_speech import compose, number
from moot.ports import Call

_DEPTH = 12
_AGREE = ("support", "pro", "for", "yes", "accept", "agree", "approve", "adopt")
_DISAGREE = ("oppose", "con", "against", "no", "reject", "disagree", "decline")
_CITES = ("turn", "seq", "cite", "ref")

Schema = Mapping[str, Any]


def satisfy(call: Call) -> dict[str, Any]:
    """Data for the call's schema, its strings taken from what the understudy would say."""
    data = _Filler(call).value(call.schema or {}, "", 0)
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {"value": data}


class _Filler:
    def __init__(self, call: Call) -> None:
        self._call = call
        self._root: Schema = call.schema or {}
        self._sentences = ear.sentences(compose(call.debate, call.step, call.heard))
        self._said = 0

    def value(self, schema: Schema, name: str, depth: int) -> Any:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            return self._option(list(options), name)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((k for k in cast("list[str]", kind) if k != "null"), "null")
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "integer":
                return self._integer(schema, name)
            case "number":
                return self._number(schema, name)
            case "boolean":
                return number(self._seed(), name) % 2 == 0
            case "null":
                return None
            case _:
                return self._string(schema)

    def _resolved(self, schema: Schema) -> Schema:
        """Follow references, and take the first branch that is not null."""
        for _ in range(_DEPTH):
            if ref := schema.get("$ref"):
                target: Any = self._root
                for part in str(ref).removeprefix("#/").split("/"):
                    target = target.get(part.replace("~1", "/").replace("~0", "~"), {})
                schema = {
                    **cast("Schema", target),
                    **{k: v for k, v in schema.items() if k != "$ref"},
                }
            elif branches := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
                first = next((b for b in branches if b.get("type") != "null"), branches[0])
                rest = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "allOf")}
                schema = {**rest, **first}
            else:
                break
        return schema

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        wanted: set[str] = set(schema.get("required", ()))
        parts = cast("Mapping[str, Schema]", schema.get("properties", {}))
        return {
            name: self.value(part, name, depth + 1)
            for name, part in parts.items()
            if name in wanted or depth < _DEPTH // 3
        } | {name: self._string({}) for name in sorted(wanted - parts.keys())}

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        least, most = int(schema.get("minItems", 0)), int(schema.get("maxItems", 1 << 30))
        count = least if depth >= _DEPTH // 2 else min(max(least, 1), most)
        items = cast("Schema", schema.get("items", {}))
        found = [self.value(items, name, depth + 1) for _ in range(count)]
        options = self._resolved(items).get("enum")
        return list(options)[:count] if options and count > 1 else found

    def _integer(self, schema: Schema, name: str) -> int:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 11) - 1)
        cited = [turn.seq for turn in self._call.heard if low <= turn.seq <= high]
        if cited and name.lower().startswith(_CITES):
            return cited[number(self._seed(), name, self._said) % len(cited)]
        step = int(schema.get("multipleOf", 1))
        least = -(-int(low) // step) * step
        return least + number(self._seed(), name) % (max(int(high) - least, 0) // step + 1) * step

    def _number(self, schema: Schema, name: str) -> float:
        low = float(schema.get("minimum", schema.get("exclusiveMinimum", 0.0)))
        high = float(schema.get("maximum", schema.get("exclusiveMaximum", low + 1.0)))
        part = 0.55 + number(self._seed(), name) % 31 / 100  # rather sure, never quite
        return round(low + (high - low) * part, 6)

    def _option(self, options: list[Any], name: str) -> Any:
        stance = self._call.debate.seat(self._call.step.actor).stance
        liked = {"pro": _AGREE, "con": _DISAGREE}.get(stance, ("neutral", "undecided", "unsure"))
        for option in options:
            if isinstance(option, str) and option.lower().startswith(liked):
                return option
        return options[number(self._seed(), name) % len(options)]

    def _string(self, schema: Schema) -> str:
        if schema.get("format") == "date":
            return _due(self._call.debate)
        if schema.get("format") == "date-time":
            return f"{_due(self._call.debate)}T00:00:00Z"
        self._said += 1
        text = self._sentences[(self._said - 1) % len(self._sentences)]
        if pattern := schema.get("pattern"):
            guesses = (text, _due(self._call.debate), f"A{self._said}", str(self._said), "a", "")
            return next((g for g in guesses if re.search(str(pattern), g)), text)
        while len(text) < int(schema.get("minLength", 0)):
            text += " " + self._sentences[self._said % len(self._sentences)]
        return text[: int(schema.get("maxLength", len(text)))]

    def _seed(self) -> tuple[str, str, int, str]:
        step = self._call.step
        return (self._call.debate.motion, step.actor, step.round, step.stage)


def _due(debate: Debate) -> str:
    """Two weeks after the debate began."""
    return (began(debate.created_at) + timedelta(days=14)).isoformat()
