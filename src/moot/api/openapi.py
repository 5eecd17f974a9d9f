"""The OpenAPI document, with the errors as they are and the token that calls may need.

What the routes answer is described by the shapes that it is written from.
"""

from typing import Annotated, Any, NotRequired

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import TypedDict

from moot.api.asked import CouncilAsked, HookAsked
from moot.core.events import Delta
from moot.wire.shapes import StatusEvent

REF = "#/components/schemas/"
FRAMEWORKS = ("HTTPValidationError", "ValidationError")
"""Shapes that FastAPI describes and moot never sends."""


class FieldProblem(TypedDict):
    """A field that is wrong."""

    field: str
    message: str


class Problem(TypedDict):
    """What went wrong (RFC 9457)."""

    type: Annotated[str, Field(description="A name for what went wrong.")]
    title: str
    status: int
    detail: Annotated[str, Field(description="A sentence that says how to mend it.")]
    code: str
    field: NotRequired[str]
    errors: NotRequired[list[FieldProblem]]


_described: dict[str, Any] = {shape.__name__: shape for shape in (Problem, StatusEvent, Delta)}


def described(shape: Any) -> dict[str, Any]:
    """What an answer looks like, by the shape that it is written from; `[shape]`: a list of it."""
    if isinstance(shape, list):
        inner = described(shape[0])
        items = {"type": "array", "items": inner}
        return {"type": "object", "properties": {"items": items}, "required": ["items"]}
    _described[shape.__name__] = shape
    return {"$ref": REF + shape.__name__}


class _Answers(GenerateJsonSchema):
    """An answer has no defaults: a field is there, unless it may be left out."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        if field["type"] == "typed-dict-field":
            return field.get("required", total)
        return "serialization_exclude_if" not in field

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Without the pattern of its keys, of which generators of types make nothing."""
        values = schema.get("values_schema")
        inner = self.generate_inner(values) if values else True
        return {"type": "object", "additionalProperties": inner}


def install(app: FastAPI) -> None:
    app.openapi = lambda: _document(app)


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema:
        return app.openapi_schema
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    made["components"]["schemas"] = _schemas(made["components"]["schemas"])
    for path in made["paths"].values():
        for operation in path.values():
            _without_frameworks(operation["responses"])
            if body := operation.get("requestBody"):
                # a POST is JSON, also one that asks for nothing more: send at least `{}`
                body["required"] = True
    _link(made["paths"])
    made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{}, {"token": []}]  # a token, where one is set
    app.openapi_schema = made
    return made


def _schemas(asked: dict[str, Any]) -> dict[str, Any]:
    """What FastAPI describes of the requests, and what the answers are written from."""
    every: Any = tuple[*_described.values()]
    whole = TypeAdapter(every, config=ConfigDict(extra="forbid")).json_schema(
        mode="serialization", ref_template=REF + "{model}", schema_generator=_Answers
    )
    mine = {name: one for name, one in asked.items() if name not in FRAMEWORKS}
    for body in (CouncilAsked, HookAsked):  # which their routes read by themselves
        mine[body.__name__] = body.model_json_schema(ref_template=REF + "{model}")
        mine |= mine[body.__name__].pop("$defs", {})
    for name in ("AgentChanged", "StationChanged"):  # what is not given stays as it is
        for field in mine[name]["properties"].values():
            field.pop("default", None)
    return dict(sorted({**whole["$defs"], **mine}.items()))


def _link(paths: dict[str, Any]) -> None:
    """Say what can be done with what was made."""
    made = "$response.body#/id"
    links = _links(paths, "/debates/{debate_id}", {"debate_id": made})
    _set(paths, "/debates/council", links)
    _set(paths, "/debates", {name: link for name, link in links.items() if name != "get_packet"})
    _set(paths, "/agents", _links(paths, "/agents/{agent_id}", {"agent_id": made}))
    _set(paths, "/stations", _links(paths, "/stations/{station_id}", {"station_id": made}))
    planned = "/stations/{station_id}/conversations"
    both = {"station_id": "$request.path.station_id", "conversation_id": made}
    _set(paths, planned, _links(paths, f"{planned}/{{conversation_id}}", both))


def _links(paths: dict[str, Any], under: str, parameters: dict[str, str]) -> dict[str, Any]:
    """Every call under that address that needs no more than these parameters; no streams."""
    return {
        operation["operationId"]: {
            "operationId": operation["operationId"],
            "parameters": parameters,
        }
        for path, operations in paths.items()
        if path.startswith(under)
        and path.count("{") == len(parameters)
        and not path.endswith("/events")
        for operation in operations.values()
    }


def _set(paths: dict[str, Any], path: str, links: dict[str, Any]) -> None:
    paths[path]["post"]["responses"]["201"]["links"] = links


def _without_frameworks(responses: dict[str, Any]) -> None:
    said = responses.get("422", {}).get("content", {}).get("application/json", {})
    if str(said.get("schema", {}).get("$ref", "")).endswith(FRAMEWORKS):
        del responses["422"]
