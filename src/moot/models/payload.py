"""What is sent: the prompt, the settings and the shape of the answer, in the library's words."""

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Literal, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from moot.core.limits import Thinking
from moot.core.prompts import Message
from moot.models.providers import Part, Vendor
from moot.ports.model_call import Call

ANSWER = "answer"  # the name of a structured answer
UNCOUNTED = "moot_uncounted"  # a setting of ours: the stream's tokens are not asked for

_FROM_MOOT = "[From moot, which runs the debate, to its host. None of the speakers wrote this.]"


def prompt(messages: Iterable[Message], *, inline: bool) -> list[ModelMessage]:
    """The messages in their order. The first system message is what caches keep longest; a later
    one is sent as such if it can stand `inline`, else as the end of a user message, marked."""
    sent: list[ModelMessage] = []
    instructions: str | None = None
    parts: list[ModelRequestPart] = []
    for message in messages:
        if message.role == "assistant":
            if parts:
                sent.append(ModelRequest(parts, instructions=instructions))
                parts = []
            sent.append(ModelResponse([TextPart(message.text)]))
        elif message.role == "user":
            parts.append(UserPromptPart(message.text))
        elif instructions is None and not sent and not parts:
            instructions = message.text
        elif inline:
            parts.append(SystemPromptPart(message.text))
        else:
            said = parts.pop() if parts else None  # many chat templates take one, not two in a row
            before = f"{said.content}\n\n" if isinstance(said, UserPromptPart) else ""
            parts.append(UserPromptPart(f"{before}{_FROM_MOOT}\n{message.text}"))
    return [*sent, ModelRequest(parts, instructions=instructions)]


def takes_system(model: Model[Any], vendor: Vendor) -> bool:
    """Whether a system message may stand in the middle. Elsewhere it would be moved to the top,
    where it would spoil the cache; and the templates of many local models refuse it."""
    return vendor.inline_system and bool(model.profile.get("supports_inline_system_prompts"))


def settings(
    vendor: Vendor, call: Call, budget: Thinking, without: AbstractSet[Part] = frozenset()
) -> ModelSettings:
    """What the vendor's row asks for, and tokens for thinking beside those of the answer. Without
    an effort the model thinks as little as it can: the turn has few tokens and seconds. `without`
    are the parts of a request that the service does not take."""
    tokens = call.max_tokens + budget.tokens
    chosen: dict[str, Any] = {**vendor.settings, "max_tokens": tokens}
    if "max_tokens" in without:  # OpenAI's name for models that think, which others do not know
        del chosen["max_tokens"]
        chosen["extra_body"] = {"max_completion_tokens": tokens}
    if "stream_options" in without:
        chosen[UNCOUNTED] = True
    effort = call.effort if budget.tokens and call.effort != "none" else None
    if vendor.thinks:
        chosen["thinking"] = effort or False
    elif vendor.effort and effort and "effort" not in without:
        chosen["openai_reasoning_effort"] = vendor.efforts.get(effort, effort)
    if vendor.cache_key:
        chosen[vendor.cache_key] = f"{call.debate.id}:{call.step.actor}"[:64]
    return cast(ModelSettings, chosen)


def way(
    model: Model[Any], vendor: Vendor, call: Call, without: AbstractSet[Part] = frozenset()
) -> Literal["plain", "schema", "tool", "words"]:
    """How an answer is asked for: as plain text; or as JSON, by a schema or as a tool's input if
    the service takes that, else in words."""
    if call.schema is None:
        return "plain"
    if not vendor.structured or without & {"schema", "tool"}:
        return "words"
    return "schema" if model.profile.get("supports_json_schema_output") else "tool"


def in_words(schema: Mapping[str, Any]) -> str:
    """Asks for JSON by a schema, of a model that can only be asked in words."""
    return (
        "Answer with one JSON document and nothing else: no fence, no word before or after it. "
        f"It must match this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def shape(
    model: Model[Any], vendor: Vendor, call: Call, without: AbstractSet[Part] = frozenset()
) -> ModelRequestParameters:
    """Plain text, or JSON by the schema."""
    asked = way(model, vendor, call, without)
    if call.schema is None or asked in ("plain", "words"):
        return ModelRequestParameters()
    schema = strict(call.schema) if vendor.strict else dict(call.schema)
    if asked == "schema":
        answer = OutputObjectDefinition(
            json_schema=schema, name=ANSWER, strict=vendor.strict or None
        )
        return ModelRequestParameters(
            output_mode="native", output_object=answer, allow_text_output=True
        )
    tool = ToolDefinition(
        name=ANSWER, parameters_json_schema=schema, kind="output", strict=vendor.strict or None
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


_UNKNOWN = frozenset({"title", "default", "minLength", "maxLength"})  # to a strict schema


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as OpenAI takes it to the letter: each table has all of its fields and no other,
    and one that may be left out may be null. Whoever reads the answer drops what is null."""
    return cast(dict[str, Any], _strict(schema))


def _strict(part: Any) -> Any:
    if isinstance(part, list):
        return [_strict(one) for one in cast(list[Any], part)]
    if not isinstance(part, Mapping):
        return part
    given = cast(Mapping[str, Any], part)
    made: dict[str, Any] = {
        # what stands there is named by a format, and may be called like a keyword
        key: {name: _strict(field) for name, field in value.items()}
        if key in ("properties", "$defs")
        else _strict(value)
        for key, value in given.items()
        if key not in _UNKNOWN
    }
    if given.get("type") == "object":
        needed = set(given.get("required", ()))
        fields: dict[str, Any] = made.setdefault("properties", {})
        for name in fields.keys() - needed:
            fields[name] = _nullable(fields[name])
        made |= {"required": list(fields), "additionalProperties": False}
    return made


def _nullable(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list that may be left out may be empty; anything else may be null."""
    if field.get("type") == "array" and not field.get("minItems"):
        return field
    kinds: list[Any] = field.get("anyOf", [])
    if {"type": "null"} in kinds:
        return field
    help_ = {"description": field["description"]} if "description" in field else {}
    plain = {key: value for key, value in field.items() if key != "description"}
    return {"anyOf": [*(kinds or [plain]), {"type": "null"}], **help_}
