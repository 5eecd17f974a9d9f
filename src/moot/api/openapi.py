"""The OpenAPI document, with the errors as they are and the token that calls may need."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from moot.api.schemas import CouncilAsked, Problem
from moot.api.schemas_station import HookAsked

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
    for shape in (Problem, CouncilAsked, HookAsked):
        whole = shape.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= whole.pop("$defs", {})
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
