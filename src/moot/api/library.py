"""What can be chosen and found: formats, providers, records."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field
from typing_extensions import TypedDict

from moot.api.common import Moot, Routes, as_json
from moot.core.format import Format, shown
from moot.ports import FormatProblem, ProviderStatus
from moot.wire.codec import plain
from moot.wire.outcome_shapes import Record

DEFAULT = (
    "What seats without a model take, spread so that families differ: MOOT_MODEL, else the vendors "
    "that have a key, else `local`."
)
routes = Routes("library")


class Formats(TypedDict):
    """Kinds of debate."""

    items: Annotated[list[Format], Field(description="Here each stage has its title.")]
    problems: Annotated[
        list[FormatProblem], Field(description="Files that cannot be used; the others can.")
    ]


class Providers(TypedDict):
    """Whether each provider can be used here; never its key."""

    items: list[ProviderStatus]
    default: Annotated[list[str], Field(min_length=1, description=DEFAULT)]


@routes("GET /formats", Formats)
async def list_formats(moot: Moot) -> Response:
    """Kinds of debate"""
    items = [shown(rules) for rules in await moot.service.formats()]
    problems = [plain(problem) for problem in await moot.service.format_problems()]
    return as_json({"items": items, "problems": problems})


@routes("GET /providers", Providers)
async def list_providers(moot: Moot) -> Response:
    """Which providers have a key or a server here, and what to set for those that have not"""
    items = [plain(status) for status in await moot.service.providers()]
    return as_json({"items": items, "default": list(await moot.service.default_models())})


@routes("GET /records", [Record], 422)
async def list_records(
    moot: Moot,
    q: Annotated[str, Query(max_length=500, description="Each of these words.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """What councils wrote back, newest first"""
    return as_json({"items": await moot.service.records(q, limit)})
