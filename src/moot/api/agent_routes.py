"""Agents: saved personas that can take a seat in many debates."""

from typing import Annotated

from fastapi import Query, Response

from moot.api.asked import AgentAsked, AgentChanged, AgentsImported
from moot.api.common import SAVED, AgentId, Moot, Routes, as_file, as_json
from moot.stations.station import Brought
from moot.wire.codec import plain
from moot.wire.codec_station import shown_agent
from moot.wire.shapes import Agent, Slug

TOML = "application/toml"
Ids = Annotated[
    list[Slug], Query(alias="id", max_length=500, description="Of these; not given, all of them.")
]
routes = Routes("agents")


@routes("GET /agents", [Agent])
async def list_agents(moot: Moot) -> Response:
    """Agents"""
    found = await moot.service.agents.all()
    return as_json({"items": [shown_agent(one) for one in found]})


@routes("POST /agents", Agent, status=201)
async def create_agent(moot: Moot, asked: AgentAsked) -> Response:
    """Keep an agent"""
    made = await moot.service.agents.create(asked.model_dump(exclude_unset=True))
    return as_json(shown_agent(made), 201, {"Location": f"/agents/{made.id}"})


@routes("GET /agents/export", TOML, 404, 422, headers=SAVED)
async def export_agents(moot: Moot, ids: Ids = []) -> Response:  # noqa: B006
    """Agents as a file"""
    return as_file("agents.toml", await moot.service.agents.take(ids), TOML)


@routes("POST /agents/import", Brought)
async def import_agents(moot: Moot, asked: AgentsImported) -> Response:
    """Bring a file of agents"""
    return as_json(plain(await moot.service.agents.bring(asked.toml)))


@routes("GET /agents/{agent_id}", Agent)
async def get_agent(moot: Moot, agent_id: AgentId) -> Response:
    """An agent"""
    return as_json(shown_agent(await moot.service.agents.get(agent_id)))


@routes("PATCH /agents/{agent_id}", Agent)
async def change_agent(moot: Moot, agent_id: AgentId, asked: AgentChanged) -> Response:
    """Change an agent: debates that have begun keep it as it was"""
    given = asked.model_dump(exclude_unset=True)
    return as_json(shown_agent(await moot.service.agents.change(agent_id, given)))


@routes("DELETE /agents/{agent_id}", None, status=204)
async def delete_agent(moot: Moot, agent_id: AgentId) -> Response:
    """Forget an agent: what it said stays"""
    await moot.service.agents.delete(agent_id)
    return Response(status_code=204)
