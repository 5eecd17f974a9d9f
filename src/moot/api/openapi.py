"""The OpenAPI document, with the errors as they are and the token that calls may need."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from moot.api.schemas import CouncilAsked, Problem

FRAMEWORKS = ("HTTPValidationError", "ValidationError")
"""Shapes that FastAPI describes and moot never sends."""


def install(app: FastAPI) -> None:
    app.openapi = lambda: _document(app)


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema:
        return app.openapi_schema
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas: dict[str, Any] = made["components"]["schemas"]
    for name in FRAMEWORKS:
        schemas.pop(name, None)
    for shape in (Problem, CouncilAsked):
        whole = shape.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= whole.pop("$defs")
        schemas[shape.__name__] = whole
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


def _link(paths: dict[str, Any]) -> None:
    """Say what can be done with a debate that was made."""
    links = {
        operation["operationId"]: {
            "operationId": operation["operationId"],
            "parameters": {"debate_id": "$response.body#/id"},
        }
        for path, operations in paths.items()
        if "{debate_id}" in path and not path.endswith("/events")
        for operation in operations.values()
    }
    paths["/debates/council"]["post"]["responses"]["201"]["links"] = links
    others = {name: link for name, link in links.items() if name != "get_packet"}
    paths["/debates"]["post"]["responses"]["201"]["links"] = others


def _without_frameworks(responses: dict[str, Any]) -> None:
    said = responses.get("422", {}).get("content", {}).get("application/json", {})
    if str(said.get("schema", {}).get("$ref", "")).endswith(FRAMEWORKS):
        del responses["422"]
