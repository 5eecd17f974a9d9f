"""Saved personas."""

import json
from typing import Any

from moot.stations.station import Agent
from moot.store.rows import Named
from moot.store.tables import agents as table
from moot.wire import codec, codec_station


def _row(agent: Agent) -> dict[str, Any]:
    row = codec_station.agent(agent)
    return {**row, "voice": codec.dumps(row["voice"])}


def _agent(row: dict[str, Any]) -> Agent:
    return codec_station.read_agent({**row, "voice": json.loads(row["voice"])})


agents = Named(table, _row, _agent)
