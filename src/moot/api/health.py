"""Whether it lives, whether it can work, and what it does."""

import asyncio

from fastapi import APIRouter, Response

from moot.api import schemas
from moot.api.common import Moot, as_json, refusals
from moot.errors import MootError

router = APIRouter(tags=["health"])
PATIENCE_SECONDS = 3.0


@router.get("/healthz", summary="It lives", response_model=schemas.Health, responses=refusals())
async def healthz() -> Response:
    return as_json({"status": "ok"})


@router.get(
    "/readyz",
    summary="It can work: the database answers, and it is not going down",
    response_model=schemas.Ready,
    responses={503: {"description": "Not now", "model": schemas.Ready}}
    | {status: said for status, said in refusals().items() if status != 503},
)
async def readyz(moot: Moot) -> Response:
    checks = {"database": "ok", "streams": "going down" if moot.streams.closed else "ok"}
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await moot.service.ping()
    except TimeoutError:
        checks["database"] = f"no answer within {PATIENCE_SECONDS:g} s"
    except MootError as error:
        checks["database"] = error.message
    ready = all(said == "ok" for said in checks.values())
    status = "ready" if ready else "not ready"
    return as_json({"status": status, "checks": checks}, 200 if ready else 503)


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        200: {
            "description": "The text format",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **refusals(),
    },
)
async def metrics(moot: Moot) -> Response:
    return Response(await moot.measured(), media_type=moot.metrics.content_type)
