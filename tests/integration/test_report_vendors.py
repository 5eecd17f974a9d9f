"""Reports over real parts: the vendors' own libraries, the command and the server. They need
sockets and processes, so they run in real time."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.render.reading import Reading, of_report
from moot.settings import Settings
from moot.testing.wires import wire_server as wire
from tests import forked
from tests.integration.councils import Voices
from tests.integration.reporting import (
    DEAD,
    a_home,
    issues,
)
from tests.served import served


class Writing(wire.Wire):
    """OpenAI, as far as a report goes."""

    async def _ok(self, dialect: Any, request: wire.Request, writer: Any) -> None:
        said = {
            "points": [
                {"speaker": "ada", "text": "Ada says yes.", "turns": [3]},
                {"speaker": "ben", "text": "Ben says no.", "turns": [3]},
            ],
            "conceded": [],
            "open": [],
            "at_issue": {"text": "Whether to ship.", "turns": [3, 4]},
            "summary": "One yes, one no.",
        }
        text = json.dumps(said)
        await wire._stream(writer, dialect, wire._events(dialect, (text[:20], text[20:]), "stop"))


@pytest.mark.parametrize("vendor", ["openai", "claude"])
def test_the_vendors_own_sdk_writes_a_report(tmp_path: Path, vendor: str) -> None:
    async def go() -> tuple[dict[str, Any], list[wire.Request], str]:
        async with Writing() as there:
            keys: dict[str, Any] = {
                "OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": there.url("openai"),
                "ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": there.url("claude"),
            }  # fmt: skip
            settings = a_home(tmp_path, f"{vendor}:tiny", model="local", **keys)
            async with open_service(settings, recover=False) as service:
                seats = [{"name": "Ada"}, {"name": "Ben"}]
                made = await service.create("Ship?", format="duel", participants=seats)
                await service.wait(made.id)
                return await service.report(made.id), there.requests, made.id

    told, requests, debate_id = asyncio.run(go())
    assert (told["method"], told["summary"]["text"]) == ("model", "One yes, one no.")
    assert told["writer"]["model"] == f"{vendor}:tiny"
    assert (told["writer"]["inputTokens"], told["writer"]["outputTokens"]) == (123, 45)
    assert [who["mainPoints"][0]["turn"] for who in told["speakers"]] == [3, None], "not Ben's turn"
    assert len(requests) == 1
    assert "sk-x" not in json.dumps(told)
    assert isinstance(of_report(told), Reading)
    assert issues(a_home(tmp_path), debate_id) == ()


def test_moot_report_here_and_there(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def moot(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return forked.moot({**os.environ, "MOOT_HOME": str(home), **environment}, *arguments)

    with served(home, Voices()) as server:
        made = server.create("Ship <it>?", format="duel")["id"]
        waits = server.create("Ship <it>?", format="duel", start=False)["id"]
        server.wait(made)
        there = moot("report", made, "--model", "openai:x", "--json", MOOT_URL=server.url)
        told = json.loads(there.stdout)
        assert (told["method"], told["writer"]["model"]) == ("model", "openai:x")
        assert there.stderr == f"Made at {server.url}/debates/{made}/report.\n"
        assert server.http.get(f"/debates/{made}/report").json() == told
        exported = server.http.get(f"/debates/{made}/export?as=html").text
        assert "written by a model, openai:x" in exported
        assert server.post(f"/debates/{waits}/report").status_code == 409
        assert server.post(f"/debates/{made}/report", model="gtp:5").status_code == 422
        assert server.post(f"/debates/{made}/report", other=1).status_code == 422
        assert server.http.post(f"/debates/{made}/report", data={"a": "b"}).status_code == 415
    here = moot("report", made)
    assert here.returncode == 0
    assert "written by a model, openai:x" in here.stdout
    assert "report.html" in here.stderr
    refused = moot("report", made, "--model", "claude", ANTHROPIC_API_KEY="")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "ANTHROPIC_API_KEY, then make the report again." in refused.stderr
    so_far = moot("report", waits)
    assert so_far.returncode == 0
    assert "this is its report so far" in so_far.stderr
    assert issues(Settings(home=home), made) == ()


@pytest.mark.usefixtures("quick_waits")
def test_a_dead_model_is_a_502_with_its_sentence(tmp_path: Path) -> None:
    with served(tmp_path / "home", Voices(lambda _: DEAD)) as server:
        made = server.create("Ship <it>?", format="duel")["id"]
        server.wait(made)
        answer = server.post(f"/debates/{made}/report", model="openai:x")
        assert (answer.status_code, answer.json()["code"]) == (502, DEAD.code)
        assert "make the report again" in answer.json()["detail"]
        assert server.http.get(f"/debates/{made}/report").json()["method"] == "extraction"
