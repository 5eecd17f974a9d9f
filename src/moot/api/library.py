"""What can be chosen and found: formats, providers, records."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from moot.api import schemas
from moot.api.common import Moot, as_json, refusals
from moot.core.format import shown

router = APIRouter(tags=["library"])


@router.get(
    "/formats", summary="Kinds of debate", response_model=schemas.Formats, responses=refusals()
)
async def list_formats(moot: Moot) -> Response:
    return as_json(
        {
            "items": [shown(rules) for rules in await moot.service.formats()],
            "problems": [asdict(problem) for problem in await moot.service.format_problems()],
        }
    )


@router.get(
    "/providers",
    summary="Which providers have a key or a server here, and what to set for those that have not",
    response_model=schemas.Providers,
    responses=refusals(),
)
async def list_providers(moot: Moot) -> Response:
    found = await moot.service.providers()
    items = [asdict(status) for status in found]
    return as_json({"items": items, "default": list(await moot.service.default_models())})


@router.get(
    "/records",
    summary="What councils wrote back, newest first",
    response_model=schemas.Records,
    responses=refusals(422),
)
async def list_records(
    moot: Moot,
    q: Annotated[str, Query(max_length=500, description="Each of these words.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    return as_json({"items": await moot.service.records(q, limit)})
