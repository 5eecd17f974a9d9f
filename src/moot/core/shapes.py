"""The shapes that a structured answer can have, how they are checked, and how they read."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel


def _at_most(length: int) -> BeforeValidator:
    """Models overrun: a text or a list that is too long is cut, not refused."""

    def cut(value: object) -> object:
        if isinstance(value, str) and len(value) > length:
            return value[: length - 1].rstrip() + "…"
        if isinstance(value, list | tuple):
            return value[:length]  # pyright: ignore[reportUnknownVariableType]
        return value

    return BeforeValidator(cut)


def _share(value: object) -> object:
    """Models write confidence as 0.8, 80 or "80%"."""
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("% "))
    except ValueError:
        return value
    return number / 100 if percent or 1 < number <= 100 else number


Line = Annotated[str, Field(min_length=1, max_length=240), _at_most(240)]
Passage = Annotated[str, Field(min_length=1, max_length=1500), _at_most(1500)]
Cited = Annotated[tuple[int, ...], Field(max_length=20), _at_most(20)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share)]


class _Answer(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


class Position(_Answer):
    """Where a role stands, before it has heard the others."""

    position: Line = Field(description="The option you stand for, in a few words.")
    claim: Passage = Field(description="Your claim, in one or two sentences.")
    rationale: Passage = Field(description="Why.")
    risks: Annotated[tuple[Line, ...], _at_most(6)] = Field(default=(), max_length=6)
    confidence: Share = Field(description="How sure you are, from 0 to 1.")


class Challenge(_Answer):
    target_role: Line = Field(description="Whom you challenge.")
    question: Passage = Field(description="What the target must answer.")
    claim: Passage = Field(description="The claim of theirs that it is aimed at.")


class Challenges(_Answer):
    """What a role asks of the one it is set against."""

    challenges: Annotated[tuple[Challenge, ...], _at_most(4)] = Field(min_length=1, max_length=4)


class Response(_Answer):
    source_role: Line = Field(description="Who challenged you.")
    response: Passage = Field(description="Your answer.")


class Revision(_Answer):
    change: Passage = Field(description="What changed in your position, or that nothing did.")
    reason: Passage = Field(description="Why.")


class Revised(_Answer):
    """Where a role stands once it was challenged."""

    responses: Annotated[tuple[Response, ...], _at_most(8)] = Field(default=(), max_length=8)
    revisions: Annotated[tuple[Revision, ...], _at_most(6)] = Field(min_length=1, max_length=6)
    position: Line = Field(description="The option you stand for now, in a few words.")
    claim: Passage = Field(description="Your claim now, in one or two sentences.")
    confidence: Share = Field(description="How sure you are now, from 0 to 1.")


class Point(_Answer):
    text: Passage
    turns: Cited = Field(default=(), description="The numbers of the turns that it rests on.")


class Same(_Answer):
    option: Line = Field(description="One name for the option.")
    wordings: Annotated[tuple[Line, ...], _at_most(10)] = Field(
        max_length=10, description="The positions, word for word, that mean this same option."
    )


class Reading(_Answer):
    """Where they agree, where they do not, and which positions differ only in wording."""

    agreements: Annotated[tuple[Point, ...], _at_most(8)] = Field(default=(), max_length=8)
    disagreements: Annotated[tuple[Point, ...], _at_most(8)] = Field(default=(), max_length=8)
    same: Annotated[tuple[Same, ...], _at_most(10)] = Field(default=(), max_length=10)


class Rejected(_Answer):
    option: Line
    reason: Passage
    turns: Cited = ()


class Risk(_Answer):
    risk: Passage
    severity: Literal["high", "medium", "low"]
    mitigation: Passage
    turns: Cited = ()


class Action(_Answer):
    action: Passage
    owner: Line
    due: date = Field(description="YYYY-MM-DD")
    turns: Cited = ()


class Verdict(_Answer):
    """What is decided, why, against what, and what follows."""

    selected_option: Line
    why_selected: Annotated[tuple[Point, ...], _at_most(8)] = Field(min_length=1, max_length=8)
    rejected_options: Annotated[tuple[Rejected, ...], _at_most(8)] = Field(default=(), max_length=8)
    risks: Annotated[tuple[Risk, ...], _at_most(10)] = Field(default=(), max_length=10)
    next_actions: Annotated[tuple[Action, ...], _at_most(10)] = Field(min_length=1, max_length=10)


_CITATION = re.compile(r"\s*\[\s*turn:?[^\]]{0,80}\]")

SHAPES: Mapping[str, type[_Answer]] = {
    "position": Position,
    "challenge": Challenges,
    "revision": Revised,
    "reading": Reading,
    "verdict": Verdict,
}


def schema(name: str, target: str | None = None, sources: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON Schema that a model is held to. A challenge can only name its `target`, a response
    only one of its `sources`, where they are known."""
    made = SHAPES[name].model_json_schema(by_alias=True)
    known = {"targetRole": [target] if target else [], "sourceRole": list(sources)}
    for part in made.get("$defs", {}).values():
        fields = part.get("properties", {})
        for field, names in known.items():
            if names and field in fields:
                told = fields[field].get("description", "")
                fields[field] = {"type": "string", "enum": names, "description": told}
    return made


def fields(name: str) -> str:
    """The names of an answer's fields, for a model that is shown no schema."""
    return ", ".join(field.alias or key for key, field in SHAPES[name].model_fields.items())


def read(name: str, data: Mapping[str, Any], target: str | None = None) -> dict[str, Any]:
    """The answer in its canonical form; `target` is the role that a challenge must be aimed at.
    ValueError says what is wrong, in words for the model."""
    try:
        answer = SHAPES[name].model_validate(data)
    except ValidationError as error:
        raise ValueError(_first(error)) from None
    if isinstance(answer, Challenges) and target is not None:
        aimed = tuple(
            item.model_copy(update={"target_role": target})
            for item in answer.challenges
            if target.casefold() in item.target_role.casefold()
        )
        if not aimed:
            raise ValueError(f"challenges: none of them is aimed at {target}")
        answer = answer.model_copy(update={"challenges": aimed})
    return answer.model_dump(mode="json", by_alias=True)


def _first(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}"
        for problem in problems[:4]
    )


def find(text: str) -> dict[str, Any]:
    """The JSON object in a reply that may wrap it in prose or a fence: the longest, if there are
    several. ValueError if none is."""
    decoder = json.JSONDecoder()
    best: dict[str, Any] | None = None
    place, tries, longest = text.find("{"), 0, 0
    while place >= 0 and tries < 50:
        tries += 1
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            if text[place + 1 : place + 50].lstrip()[:1] == '"':
                break  # an object that is broken or cut: what stands inside it is no answer
            place = text.find("{", place + 1)
            continue
        if isinstance(found, dict) and end - place > longest:
            best, longest = found, end - place  # pyright: ignore[reportUnknownVariableType]
        place = text.find("{", end)
    if best is None:
        raise ValueError("the answer holds no complete JSON object")
    return best  # pyright: ignore[reportUnknownVariableType]


def spoken(name: str, data: Mapping[str, Any]) -> str:
    """An answer as it reads in a transcript, and as the others are told of it."""
    return "\n\n".join(_SPOKEN[name](data))


def _position(data: Mapping[str, Any]) -> Sequence[str]:
    risks = [f"Risk: {risk}" for risk in data["risks"]]
    return [
        f"Position: {data['position']} (confidence {data['confidence']:.2f})",
        data["claim"],
        data["rationale"],
        *(["\n".join(risks)] if risks else []),
    ]


def _challenges(data: Mapping[str, Any]) -> Sequence[str]:
    return [
        f"To {item['targetRole']}, on “{item['claim']}”: {item['question']}"
        for item in data["challenges"]
    ]


def _revised(data: Mapping[str, Any]) -> Sequence[str]:
    return [
        *(f"To {item['sourceRole']}: {item['response']}" for item in data["responses"]),
        *(f"{item['change']} Because: {item['reason']}" for item in data["revisions"]),
        f"Position now: {data['position']} (confidence {data['confidence']:.2f})",
        data["claim"],
    ]


def cited(text: str, turns: Sequence[int]) -> str:
    """A claim with the turns it rests on; what a model wrote in that manner itself is no proof."""
    bare = " ".join(_CITATION.sub("", text).split(" ")).strip() or text
    refs = ", ".join(f"turn:{turn}" for turn in dict.fromkeys(turns))
    return f"{bare} [{refs or 'no turn cited'}]"


def _reading(data: Mapping[str, Any]) -> Sequence[str]:
    return [
        *(f"Agreed: {cited(item['text'], item['turns'])}" for item in data["agreements"]),
        *(f"Open: {cited(item['text'], item['turns'])}" for item in data["disagreements"]),
        *(
            f"The same option, “{item['option']}”: {'; '.join(item['wordings'])}"
            for item in data["same"]
        ),
    ] or ["Nothing was agreed, and nothing disputed."]


def _verdict(data: Mapping[str, Any]) -> Sequence[str]:
    return [
        f"Decision: {data['selectedOption']}",
        *(cited(item["text"], item["turns"]) for item in data["whySelected"]),
        *(
            f"Rejected, {item['option']}: {cited(item['reason'], item['turns'])}"
            for item in data["rejectedOptions"]
        ),
        *(
            f"Risk ({item['severity']}): {cited(item['risk'], item['turns'])} "
            f"Mitigation: {item['mitigation']}"
            for item in data["risks"]
        ),
        *(
            f"Next: {item['action']} ({item['owner']}, by {item['due']})"
            for item in data["nextActions"]
        ),
    ]


_SPOKEN = {
    "position": _position,
    "challenge": _challenges,
    "revision": _revised,
    "reading": _reading,
    "verdict": _verdict,
}
