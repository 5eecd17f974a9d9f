"""Whether it lives, whether it can work, and what it does."""

import asyncio
from typing import Literal

from fastapi import Response
from typing_extensions import TypedDict

from moot.api.common import Moot, Routes, as_json
from moot.errors import MootError

PATIENCE_SECONDS = 3.0
routes = Routes("health")


class Health(TypedDict):
    """It lives."""

    status: Literal["ok"]


class Ready(TypedDict):
    """Whether it can work."""

    status: Literal["ready", "not ready"]
    checks: dict[str, str]


@routes("GET /healthz", Health)
async def healthz() -> Response:
    """It lives"""
    return as_json({"status": "ok"})


@routes("GET /readyz", Ready, unready=Ready)
async def readyz(moot: Moot) -> Response:
    """It can work: the database answers, and it is not going down"""
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


@routes("GET /metrics", "text/plain")
async def metrics(moot: Moot) -> Response:
    """Figures for Prometheus"""
    return Response(await moot.measured(), media_type=moot.metrics.content_type)
