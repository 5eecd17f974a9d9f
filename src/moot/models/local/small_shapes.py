"""The shape of a structured answer with less in it that a small model can get wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from moot.core.answers import tables
from moot.models.local.brief import LABEL, SENTENCE
from moot.ports import Call

_ITEMS = 2  # of a list in a structured answer
_LINE = 240  # characters; what may be longer is a sentence
_OPTIONAL = ("agreements", "disagreements", "same")  # there may be none


def choices(call: Call) -> dict[str, list[Any]]:
    """What a field can only be one of: a role that is there, a position that is held. A field that
    nothing can be said in is left out: nobody asked, or there is nothing to reject."""
    debate, step = call.debate, call.step
    own = debate.seat(step.actor).name
    said = [(turn, turn.data) for turn in call.heard if turn.data]
    held = {turn.actor: data["position"] for turn, data in said if data.get("position")}
    asking = [
        turn.name
        for turn, data in said
        for challenge in tables(data, "challenges")
        if challenge.get("targetRole") == own
    ]
    known: dict[str, list[Any]] = {"turns": [turn.seq for turn in call.heard]}
    if step.target:
        known["targetRole"] = [debate.seat(step.target).name]
    known["sourceRole" if asking else "responses"] = list(dict.fromkeys(asking))
    options = list(dict.fromkeys(held.values()))
    if options:
        known |= dict.fromkeys(("position", "option", "selectedOption", "wordings"), options)
    if len(options) < 2:
        known["rejectedOptions"] = []
    return known


def narrowed(schema: Any, choices: Mapping[str, Sequence[Any]], name: str = "") -> Any:
    """The schema of an answer with every field asked for, and less to go wrong in each."""
    if not isinstance(schema, Mapping):
        return schema
    given = cast(Mapping[str, Any], schema)
    if name in choices and given.get("type") != "array":
        return {"enum": list(choices[name])}
    made = {
        key: {
            part: narrowed(value, choices, part)
            for part, value in fields.items()
            if part not in choices or choices[part]
        }
        if key in ("properties", "$defs")
        else narrowed(fields, choices, name if key == "items" else "")
        for key, fields in given.items()
    }
    if given.get("type") == "object":
        made["required"] = list(made["properties"])
    elif given.get("type") == "array":
        made["maxItems"] = min(given.get("maxItems", _ITEMS), _ITEMS)
        made["minItems"] = 0 if name in _OPTIONAL else 1
    elif given.get("type") == "string" and name == "position":
        made["format"] = LABEL
    elif given.get("type") == "string" and given.get("maxLength", 0) > _LINE:
        made["format"] = SENTENCE
    return made
