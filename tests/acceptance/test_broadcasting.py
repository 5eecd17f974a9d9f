"""What stations air now, as a filter of every list, and what `broadcasting` means."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moot.core.status import STATUSES
from moot.stations.station import Agent, Conversation
from moot.testing.store_contract import a_debate
from moot.wire.codec_station import conversation, read_conversation
from tests.acceptance.test_http import Scene, motion, scene_at


@pytest.mark.parametrize("status", STATUSES)
def test_a_conversation_broadcasts_once_it_runs(status: Any) -> None:
    debate = a_debate().but(status=status, started_at="2026-01-01T08:00:00.000Z")
    seats = tuple(Agent(seat.id, seat.name) for seat in debate.participants)
    one = conversation(Conversation(debate, "late", 0.0, seats, waiting=status == "scheduled"))
    expected = "broadcasting" if status in ("running", "ending") else status
    assert one["status"] == expected
    again = read_conversation(one)
    assert conversation(again)["status"] == expected
    assert again.waiting == (status == "scheduled")


def found(scene: Scene, *statuses: str, **more: Any) -> list[str]:
    """By the list of the service, in pages of one."""
    ids: list[str] = []
    query: dict[str, Any] = {"status": list(statuses), "limit": 1, **more}
    while True:
        page = scene.get("/debates", **query)
        ids += [item["id"] for item in page["items"]]
        if page["next"] is None:
            return ids
        query["cursor"] = page["next"]


def listed(scene: Scene, *statuses: str) -> list[str]:
    """By the command, at that server."""
    asked = [word for status in statuses for word in ("--status", status)]
    done = subprocess.run(
        [sys.executable, "-m", "moot", "list", "--json", *asked],
        env={"PATH": "", "MOOT_URL": str(scene.http.base_url), "MOOT_HOME": "/nowhere"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [item["id"] for item in json.loads(done.stdout)]


def test_what_stations_air_now_can_be_asked_for(tmp_path: Path) -> None:
    with scene_at(tmp_path / "home") as scene:
        for name in ("Ada", "Ben"):
            scene.http.post("/agents", json={"name": name})
        scene.post("/stations", {"name": "Late", "agents": ["ada", "ben"]}, 201)
        plain = scene.create(motion("Hold"), format="duel")["id"]
        said = motion("Hold")
        path = "/stations/late/conversations"
        first = scene.post(path, {"motion": said, "agents": ["ada", "ben"]}, 201)["id"]
        later = scene.post(
            path, {"motion": motion(), "agents": ["ada", "ben"], "at": "2040-01-01T00:00"}, 201
        )["id"]
        scene.wait(plain, "running")
        scene.wait(first, "running")

        assert found(scene, "broadcasting") == [first] == listed(scene, "broadcasting")
        assert set(found(scene, "running")) == {plain, first}
        assert set(found(scene, "running", "broadcasting")) == {plain, first}
        assert len(found(scene, "running", "broadcasting")) == 2
        assert set(found(scene, "broadcasting", "scheduled")) == {first, later}
        assert set(listed(scene, "broadcasting", "scheduled")) == {first, later}
        assert found(scene, "broadcasting", q="Fridays") == [first]
        assert found(scene, "broadcasting", q="nothing") == []
        assert found(scene, "broadcasting", format="duel") == [first]
        assert found(scene, "broadcasting", format="classic") == []
        assert scene.get(f"/debates/{first}")["status"] == "running"
        assert scene.get(path)["now"]["status"] == "broadcasting"

        scene.speaker.let_go(said)
        scene.wait(first)
        assert found(scene, "broadcasting") == []
        scene.post(f"/debates/{plain}/stop")
        scene.problem(scene.http.get("/debates", params={"status": "air"}), 422, "status[0]")
