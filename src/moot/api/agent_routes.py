"""Agents: saved personas that can take a seat in many debates."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from moot.api import schemas_station as schemas
from moot.api.common import AgentId, JsonRoute, Moot, as_json, attached, location, refusals
from moot.stations.station import Agent, Brought
from moot.wire import codec_station

router = APIRouter(tags=["agents"], route_class=JsonRoute)
Ids = Annotated[
    list[schemas.Slug],
    Query(alias="id", max_length=500, description="Of these; not given, all of them."),
]


@router.get("/agents", summary="Agents", response_model=schemas.Agents, responses=refusals())
async def list_agents(moot: Moot) -> Response:
    found = await moot.service.agents.all()
    return as_json({"items": [codec_station.shown_agent(one) for one in found]})


@router.post(
    "/agents",
    status_code=201,
    summary="Keep an agent",
    response_model=schemas.Agent,
    responses={201: location("The agent"), **refusals(sends=True)},
)
async def create_agent(moot: Moot, asked: schemas.AgentAsked) -> Response:
    made = await moot.service.agents.create(asked.model_dump(exclude_unset=True))
    return as_json(codec_station.shown_agent(made), 201, {"Location": f"/agents/{made.id}"})


@router.get(
    "/agents/export",
    summary="Agents as a file",
    response_class=Response,
    responses={200: attached(), **refusals(404, 422)},
)
async def export_agents(moot: Moot, ids: Ids = []) -> Response:  # noqa: B006
    return as_toml("agents", await moot.service.agents.take(ids))


@router.post(
    "/agents/import",
    summary="Bring a file of agents",
    response_model=schemas.Brought,
    responses=refusals(sends=True),
)
async def import_agents(moot: Moot, asked: schemas.AgentsImported) -> Response:
    return as_json(brought(await moot.service.agents.bring(asked.toml)))


@router.get(
    "/agents/{agent_id}",
    summary="An agent",
    response_model=schemas.Agent,
    responses=refusals(404),
)
async def get_agent(moot: Moot, agent_id: AgentId) -> Response:
    return _shown(await moot.service.agents.get(agent_id))


@router.patch(
    "/agents/{agent_id}",
    summary="Change an agent: debates that have begun keep it as it was",
    response_model=schemas.Agent,
    responses=refusals(404, sends=True),
)
async def change_agent(moot: Moot, agent_id: AgentId, asked: schemas.AgentChanged) -> Response:
    given = asked.model_dump(exclude_unset=True)
    return _shown(await moot.service.agents.change(agent_id, given))


@router.delete(
    "/agents/{agent_id}",
    status_code=204,
    summary="Forget an agent: what it said stays",
    responses=refusals(404),
)
async def delete_agent(moot: Moot, agent_id: AgentId) -> Response:
    await moot.service.agents.delete(agent_id)
    return Response(status_code=204)


def as_toml(name: str, text: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}.toml"'}
    return Response(text.encode("utf-8", "replace"), 200, headers, "application/toml")


def brought(value: Brought) -> dict[str, Any]:
    return {"made": list(value.made), "changed": list(value.changed)}


def _shown(agent: Agent) -> Response:
    return as_json(codec_station.shown_agent(agent))
