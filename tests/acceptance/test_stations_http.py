"""Agents, stations, the webhook and what is on air, against a running server."""

import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import threading
import time
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from moot.api import stream
from moot.api.app import describe
from moot.errors import ProviderAuthError
from moot.ports.model_call import Call
from moot.stations.station import Brought
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.wire import shapes
from moot.wire.outcome_shapes import ConversationOnAir
from tests.acceptance.test_http import Contract
from tests.patience import seconds
from tests.served import Served, served
from tests.sse import Client, Heard, seqs

TOKEN = "correct-horse-battery-staple-42"  # noqa: S105  of this test alone
SECRET = "the-secret-of-the-webhook"  # noqa: S105  of this test alone
MOTION = "Should we ship on Fridays?"
LATER = "2099-01-01T18:00"
INTERNAL = "http://10.0.0.7:8080 said: bad key sk-leak"
OURS = ("/agents", "/stations", "/examples/stations", "/hooks/c", "/on-air/s")
CHECKS: list[Callable[[httpx2.Response], None]] = []
ANYONE = httpx2.Client(timeout=seconds())
"""Somebody without a token."""
_count = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def contract() -> Generator[Contract]:
    """What every answer to ANYONE, and of `server`, is held against."""
    held = Contract(describe())

    def check(response: httpx2.Response) -> None:
        if response.url.path.startswith(OURS) and response.status_code not in (401, 405):
            response.read()
            held.check(response)

    CHECKS.append(check)
    ANYONE.event_hooks = {"request": [], "response": [check]}
    yield held
    ANYONE.close()


def flaky(call: Call) -> str | ProviderAuthError:
    """Says where a model lies, and why it does not answer, to whoever may read failures."""
    if call.debate.motion.startswith("Fail") and call.step.round == 2:
        return ProviderAuthError(INTERNAL)
    return plain(call)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    home = tmp_path_factory.mktemp("stations") / "home"
    with served(home, speaker=ScriptedSpeaker(flaky)) as running:
        running.http.event_hooks = {"request": [], "response": CHECKS}
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """With a token, and a webhook that is signed."""
    home = tmp_path_factory.mktemp("guarded") / "home"
    speaker = ScriptedSpeaker(flaky)
    with served(home, speaker=speaker, token=TOKEN, hook_secret=SECRET) as running:
        running.http.event_hooks = {"request": [], "response": CHECKS}
        yield running


def told(answer: httpx2.Response, status: int, shape: Any = None) -> Any:
    assert answer.status_code == status, answer.text
    if status == 204:
        assert answer.content == b""
        return None
    said = answer.json()
    if shape:
        TypeAdapter(shape).validate_python(said)
    if status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert said["status"] == status
    return said


def agent(server: Served, name: str = "", **asked: Any) -> str:
    name = name or f"Agent {next(_count)}"
    made = told(server.post("/agents", name=name, **asked), 201, shapes.Agent)
    return made["id"]


def station(server: Served, **asked: Any) -> str:
    given = {"name": f"Station {next(_count)}", "motions": [MOTION], **asked}
    if "agents" not in given:
        given["agents"] = [agent(server), agent(server)]
    return told(server.post("/stations", **given), 201, shapes.Station)["id"]


def schedule(server: Served, station_id: str, **asked: Any) -> dict[str, Any]:
    answer = server.post(f"/stations/{station_id}/conversations", **asked)
    made = told(answer, 201, shapes.Conversation)
    where = f"/stations/{station_id}/conversations/{made['id']}"
    assert answer.headers["location"] == where
    assert server.http.get(where).json() == made or asked.get("at") is None
    return made


def programme(server: Served, station_id: str) -> Any:
    got = server.http.get(f"/stations/{station_id}/conversations")
    return told(got, 200, shapes.Programme)


def aired(server: Served, station_id: str, **asked: Any) -> str:
    """A conversation that was held from beginning to end."""
    if asked:
        schedule(server, station_id, **asked, at=LATER)
    one = told(server.post(f"/stations/{station_id}/air"), 202, shapes.Conversation)
    server.wait(one["id"])
    return one["id"]


def state(server: Served) -> Any:
    """All that a refused call must not have changed."""
    get = server.http.get
    debates = get("/debates", params={"limit": 200}).json()["items"]
    moving = ("on_air", "next_slot", "skipped", "trouble")  # by themselves
    stations = get("/stations").json()["items"]
    return (
        get("/agents").json(),
        [{name: one[name] for name in one if name not in moving} for one in stations],
        [(one["id"], one["status"]) for one in debates],
    )


def anybody(server: Served, path: str, **headers: str) -> httpx2.Response:
    """Without a token."""
    return ANYONE.get(server.url + path, headers=headers)


# --- agents ---


def test_an_agent_is_made_read_changed_and_forgotten(server: Served) -> None:
    answer = server.post("/agents", name="Ada Lovelace", bio="Counts.", voice={"lang": "en-GB"})
    made = told(answer, 201, shapes.Agent)
    assert answer.headers["location"] == "/agents/ada-lovelace"
    assert made["voice"] == {"lang": "en-GB", "name": "", "rate": 1.0, "pitch": 1.0}
    assert (made["model"], made["stance"]) == ("", "neutral")
    path = "/agents/ada-lovelace"
    assert told(server.http.get(path), 200, shapes.Agent) == made
    again = told(server.post("/agents", name="Ada Lovelace"), 201)
    assert again["id"] == "ada-lovelace-2"
    changed = told(
        server.http.patch(path, json={"stance": "pro", "voice": {"rate": 2}}), 200, shapes.Agent
    )
    assert changed["voice"] == {"lang": "en-GB", "name": "", "rate": 2.0, "pitch": 1.0}
    assert (changed["bio"], changed["stance"]) == ("Counts.", "pro")
    assert changed["created_at"] == made["created_at"]
    assert told(server.http.patch(path, json={"name": "Countess"}), 200)["id"] == "ada-lovelace"
    listed = told(server.http.get("/agents"), 200)["items"]
    assert {one["id"] for one in listed} >= {"ada-lovelace", "ada-lovelace-2"}
    told(server.http.delete(path), 204)
    for gone in (server.http.get(path), server.http.delete(path), server.http.patch(path, json={})):
        assert told(gone, 404)["field"] == "id"
    told(server.http.get("/agents/ada-lovelace-2"), 200)


@pytest.mark.parametrize("kind", ["agents", "stations"])
@pytest.mark.parametrize("name", ["Export", "Import", "export"])
def test_no_name_hides_behind_a_route(server: Served, kind: str, name: str) -> None:
    made = told(server.post(f"/{kind}", name=name), 201)
    assert made["id"] not in ("export", "import")
    assert told(server.http.get(f"/{kind}/{made['id']}"), 200) == made
    for id_ in ("export", "import"):
        text = f'[[{kind}]]\nid = "{id_}"\nname = "Ada"\n'
        assert told(server.post(f"/{kind}/import", toml=text), 422)["field"] == f"{kind}[0].id"


WRONG_AGENTS: list[tuple[dict[str, Any], str]] = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": " \n "}, "name"),
    ({"name": "x" * 61}, "name"),
    ({"name": 5}, "name"),
    ({"name": None}, "name"),
    ({"name": "A", "id": "mine"}, "id"),
    ({"name": "A", "base_url": "http://evil.example"}, "base_url"),
    ({"name": "A", "api_key": "x"}, "api_key"),
    ({"name": "A", "bio": "x" * 2001}, "bio"),
    ({"name": "A", "stance": "maybe"}, "stance"),
    ({"name": "A", "model": {"name": "x"}}, "model"),
    ({"name": "A", "voice": "loud"}, "voice"),
    ({"name": "A", "voice": {"rate": 0.4}}, "voice.rate"),
    ({"name": "A", "voice": {"pitch": 2.1}}, "voice.pitch"),
    ({"name": "A", "voice": {"rate": True}}, "voice.rate"),
    ({"name": "A", "voice": {"lang": "not a language"}}, "voice.lang"),
    ({"name": "A", "voice": {"volume": 1}}, "voice.volume"),
]


def test_an_agents_provider_stands_beside_its_model(server: Served) -> None:
    answer = server.post("/agents", name="Provided", provider="openai", model="gpt-5")
    made = told(answer, 201, shapes.Agent)
    assert (made["provider"], made["model"]) == ("openai", "openai:gpt-5")
    path = f"/agents/{made['id']}"
    for asked in ({"provider": "openai", "model": "claude:x"}, {"provider": "a:b"}):
        assert told(server.http.patch(path, json=asked), 422)["field"] == "provider"
    changed = told(server.http.patch(path, json={"provider": "claude"}), 200, shapes.Agent)
    assert (changed["provider"], changed["model"]) == ("claude", "claude")
    assert {**made, **changed} in server.http.get("/agents").json()["items"]
    text = server.http.get("/agents/export", params={"id": made["id"]}).text
    filed = tomllib.loads(text)["agents"][0]
    assert (filed["provider"], filed["model"]) == ("claude", "claude")
    server.post("/agents/import", toml=text.replace('model = "claude"', 'model = "opus"'))
    assert server.http.get(path).json()["model"] == "claude:opus"
    plain = agent(server)
    assert server.http.get(f"/agents/{plain}").json()["provider"] == ""
    text = server.http.get("/agents/export", params={"id": plain}).text
    assert "provider" not in tomllib.loads(text)["agents"][0]


def test_an_agent_that_cannot_be(server: Served) -> None:
    known = agent(server)
    before = state(server)
    for asked, field in WRONG_AGENTS:
        said = told(server.http.post("/agents", json=asked), 422)
        assert said["field"] == field, (asked, said)
        if asked:
            said = told(server.http.patch(f"/agents/{known}", json=asked), 422)
            assert said["field"] == field, (asked, said)
    for body in ("[]", '"x"', "{", "null", '{"name": "A", "voice": {"rate": 1e999}}'):
        answer = server.http.post(
            "/agents", content=body, headers={"Content-Type": "application/json"}
        )
        assert told(answer, 422)["field"], body
    for method in ("POST", "PATCH"):
        path = "/agents" if method == "POST" else f"/agents/{known}"
        answer = server.http.request(method, path, content='{"name": "A"}')
        assert told(answer, 415)["code"] == "HTTP_ERR_TYPE"
    assert state(server) == before


def test_agents_travel_as_a_file(server: Served) -> None:
    hostile = 'Quote """ \\ and\nlines\t\u2028 <b>&amp;</b> 🦆'
    first = agent(server, "Traveller", bio=hostile, voice={"rate": 0.5, "lang": "de"}, stance="con")
    second = agent(server, "Fellow Traveller")
    got = server.http.get("/agents/export", params={"id": [first, second]})
    assert got.headers["content-type"].startswith("application/toml")
    assert got.headers["content-disposition"] == 'attachment; filename="agents.toml"'
    assert [one["id"] for one in tomllib.loads(got.text)["agents"]] == [first, second]
    before = [told(server.http.get(f"/agents/{one}"), 200) for one in (first, second)]
    told(server.http.delete(f"/agents/{first}"), 204)
    told(server.http.patch(f"/agents/{second}", json={"bio": "changed"}), 200)
    said = told(server.post("/agents/import", toml=got.text), 200, Brought)
    assert said == {"made": [first], "changed": [second]}
    for one, was in zip((first, second), before, strict=True):
        now = told(server.http.get(f"/agents/{one}"), 200)
        times = ("created_at", "updated_at")
        assert {n: v for n, v in now.items() if n not in times} == {
            n: v for n, v in was.items() if n not in times
        }
    everything = server.http.get("/agents/export").text
    assert len(tomllib.loads(everything)["agents"]) == len(
        server.http.get("/agents").json()["items"]
    )
    told(server.http.get("/agents/export", params={"id": "nobody-there"}), 404)
    assert told(server.http.get("/agents/export", params={"id": "../x"}), 422)["field"] == "id[0]"


def test_a_file_is_taken_whole_or_not_at_all(server: Served) -> None:
    before = state(server)
    good = '[[agents]]\nname = "Fine"\n'
    for text, field in (
        ("not toml", "toml"),
        ("", "toml"),
        (good + "[[stations]]\n", "toml"),
        (good + '[[agents]]\nname = ""\n', "agents[1].name"),
        (good + '[[agents]]\nname = "B"\nstance = "loud"\n', "agents[1].stance"),
        (good + '[[agents]]\nid = "../../etc"\nname = "B"\n', "agents[1].id"),
        (good + '[[agents]]\nname = "B"\napi_key = "x"\n', "agents[1].api_key"),
        (good + good, "agents[1].id"),
        ("x" * 262_145, "toml"),
    ):
        answer = server.post("/agents/import", toml=text)
        if len(text) > 200_000:
            told(answer, 413)
            continue
        assert told(answer, 422)["field"] == field, text
    assert told(server.http.post("/agents/import", json={}), 422)["field"] == "toml"
    assert told(server.http.post("/agents/import", json={"toml": 5}), 422)["field"] == "toml"
    bad = '[[stations]]\nname = "Fine"\n\n[[stations]]\nname = "B"\nzone = "Mars/Base"\n'
    assert told(server.post("/stations/import", toml=bad), 422)["field"] == "stations[1].zone"
    assert state(server) == before


def test_agents_take_seats(server: Served) -> None:
    one, two = agent(server, bio="Slow and sure.", stance="con"), agent(server)
    made = server.create(
        format="duel",
        participants=[{"agent": one}, {"agent": two, "name": "Somebody Else"}],
        start=False,
    )
    first, second = made["participants"]
    assert (first["bio"], first["stance"]) == ("Slow and sure.", "con")
    assert second["name"] == "Somebody Else"
    hosted = server.create(host={"agent": one}, start=False)
    assert hosted["host"]["bio"] == "Slow and sure."
    for seats, field in (
        ([{"agent": "nobody-there"}, {"agent": two}], "participants[0].agent"),
        ([{"agent": one}, {"agent": "../x"}], "participants[1].agent"),
        ([{"agent": one}, {"bio": "nameless"}], "participants[1].name"),
    ):
        answer = server.post("/debates", motion=MOTION, format="duel", participants=seats)
        assert told(answer, 422)["field"] == field
    told(server.http.delete(f"/agents/{one}"), 204)
    kept = told(server.http.get(f"/debates/{made['id']}"), 200)
    assert kept["participants"] == made["participants"]


# --- stations ---


def test_a_station_is_made_read_changed_and_closed(server: Served) -> None:
    ids = [agent(server), agent(server)]
    answer = server.post(
        "/stations",
        name="Evening Duel", about="At six.", zone="Europe/Berlin", cron="0 18 * * MON-FRI",
        motions=[MOTION], agents=ids, limits={"max_turn_tokens": 300},
    )  # fmt: skip
    made = told(answer, 201, shapes.Station)
    assert answer.headers["location"] == "/stations/evening-duel"
    assert made["limits"] == {"max_turn_tokens": 300}
    assert (made["format"], made["missed"], made["public"], made["seats"]) == (
        "duel", "air", True, 2,
    )  # fmt: skip
    assert made["next_slot"]
    path = "/stations/evening-duel"
    assert told(server.http.get(path), 200, shapes.Station) == made
    plan = programme(server, "evening-duel")
    assert (plan["now"], plan["waiting"], plan["past"]) == (None, [], [])
    assert [sorted(slot["agents"]) for slot in plan["slots"]] == [sorted(ids)] * 5
    assert plan["slots"][0]["due"] == made["next_slot"]
    changed = told(server.http.patch(path, json={"cron": None, "public": False}), 200)
    assert (changed["cron"], changed["next_slot"], changed["public"]) == (None, None, False)
    assert changed["motions"] == [MOTION]
    assert programme(server, "evening-duel")["slots"] == []
    listed = told(server.http.get("/stations"), 200)["items"]
    assert "evening-duel" in [one["id"] for one in listed]
    told(server.http.delete(f"/agents/{ids[0]}"), 204)
    assert told(server.http.get(path), 200)["agents"] == ids[1:], "out of its pool"
    told(server.http.delete(path), 204)
    for gone in (
        server.http.get(path), server.http.delete(path), server.http.patch(path, json={}),
        server.http.get(f"{path}/conversations"), server.post(f"{path}/conversations"),
        server.post(f"{path}/air"), server.http.put(f"{path}/order", json={"conversations": []}),
    ):  # fmt: skip
        assert told(gone, 404)["field"] == "id"


def test_a_station_that_cannot_be(server: Served) -> None:
    known = station(server)
    ids = told(server.http.get(f"/stations/{known}"), 200)["agents"]
    pool = {"name": "S", "motions": [MOTION], "agents": ids}
    before = state(server)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"name": ""}, "name"),
        ({"name": "S", "id": "mine"}, "id"),
        ({"name": "S", "on_air": "x"}, "on_air"),
        ({"name": "S", "base_url": "http://evil.example"}, "base_url"),
        ({"name": "S", "about": "x" * 2001}, "about"),
        ({"name": "S", "public": "yes"}, "public"),
        ({"name": "S", "format": "council"}, "format"),
        ({"name": "S", "format": "nothing"}, "format"),
        ({"name": "S", "options": {"moons": 3}}, "options.moons"),
        ({"name": "S", "options": {"rounds": "many"}}, "options.rounds"),
        ({"name": "S", "limits": {"max_turn_seconds": 1}}, "limits.max_turn_seconds"),
        ({"name": "S", "limits": {"moons": 1}}, "limits.moons"),
        ({"name": "S", "on_failure": "cry"}, "on_failure"),
        ({"name": "S", "zone": "Mars/Base"}, "zone"),
        ({"name": "S", "zone": "../../etc/passwd"}, "zone"),
        ({**pool, "cron": "often"}, "cron"),
        ({**pool, "cron": "61 * * * *"}, "cron"),
        ({**pool, "cron": "0 0 31 2 *"}, "cron"),
        ({"name": "S", "missed": "never"}, "missed"),
        ({"name": "S", "motions": [MOTION, " "]}, "motions[1]"),
        ({"name": "S", "motions": [MOTION, "x" * 4001]}, "motions[1]"),
        ({"name": "S", "motions": "x"}, "motions"),
        ({"name": "S", "agents": ["nobody-there"]}, "agents"),
        ({"name": "S", "agents": ["../x"]}, "agents[0]"),
        ({"name": "S", "seats": 13}, "seats"),
        ({"name": "S", "seats": 0}, "seats"),
        ({"name": "S", "seats": 5}, "seats"),
    ]
    for asked, field in cases:
        said = told(server.http.post("/stations", json=asked), 422)
        assert said["field"] == field, (asked, said)
        said = told(server.http.patch(f"/stations/{known}", json=asked), 422)
        assert said["field"] == field, (asked, said)
    alone = {"name": "S", "cron": "0 18 * * *"}
    assert told(server.http.post("/stations", json=alone), 422)["field"] == "motions"
    assert state(server) == before


def test_stations_travel_as_a_file(server: Served) -> None:
    made = station(server, cron="*/5 * * * *", about='"""\n\\ <x>', limits={"max_cost_usd": 0.5})
    was = told(server.http.get(f"/stations/{made}"), 200)
    got = server.http.get("/stations/export", params={"id": made})
    assert got.headers["content-disposition"] == 'attachment; filename="stations.toml"'
    told(server.http.delete(f"/stations/{made}"), 204)
    said = told(server.post("/stations/import", toml=got.text), 200, Brought)
    assert said == {"made": [made], "changed": []}
    now = told(server.http.get(f"/stations/{made}"), 200)
    for name in ("created_at", "updated_at", "next_slot"):
        del now[name], was[name]
    assert now == was
    assert told(server.post("/stations/import", toml=got.text), 200)["changed"] == [made]


def test_schedule_cancel_reorder_and_air(server: Served) -> None:
    made = station(server)
    path = f"/stations/{made}"
    plans = [
        schedule(server, made, motion=f"Motion {n}", at=f"2099-01-0{n}T18:00") for n in (1, 2, 3)
    ]
    ids = [one["id"] for one in plans]
    assert [one["status"] for one in plans] == ["scheduled"] * 3
    assert plans[0]["due"] == "2099-01-01T18:00:00.000Z"
    assert [one["id"] for one in programme(server, made)["waiting"]] == ids
    turned = told(server.http.put(f"{path}/order", json={"conversations": ids[::-1]}), 200)
    assert [one["id"] for one in turned["items"]] == ids[::-1]
    assert [one["due"][:19] for one in turned["items"]] == [one["due"][:19] for one in plans]
    for wrong in (ids[:2], [*ids, ids[0]], [ids[0]] * 3, []):
        answer = server.http.put(f"{path}/order", json={"conversations": wrong})
        assert told(answer, 422)["field"] == "conversations"
    answer = server.http.put(f"{path}/order", json={"conversations": [*ids[:2], "../x"]})
    assert told(answer, 422)["field"] == "conversations[2]"
    one = f"{path}/conversations/{ids[0]}"
    cancelled = told(server.http.delete(one), 200, shapes.Conversation)
    assert cancelled["status"] == "stopped"
    assert told(server.http.delete(one), 200) == cancelled
    assert "cannot be aired" in told(server.post(f"{one}/air"), 409)["detail"]
    assert told(server.http.get(f"/debates/{ids[0]}"), 200)["status"] == "stopped"
    assert [o["id"] for o in programme(server, made)["waiting"]] == [ids[2], ids[1]]
    chosen = told(server.post(f"{path}/conversations/{ids[1]}/air"), 202, shapes.Conversation)
    assert chosen["status"] in ("queued", "broadcasting", "completed")
    server.wait(ids[1])
    following = told(server.post(f"{path}/air"), 202, shapes.Conversation)
    assert following["id"] == ids[2]
    server.wait(ids[2])
    again = told(server.post(f"{path}/conversations/{ids[1]}/air"), 202)
    assert again["status"] == "completed", "said again, it gives it as it stands"
    pooled = told(server.post(f"{path}/air"), 202)
    assert pooled["motion"] == MOTION
    server.wait(pooled["id"])
    plan = programme(server, made)
    assert [o["id"] for o in plan["past"]] == [pooled["id"], ids[2], ids[1]]
    assert told(server.http.delete(f"{path}/conversations/{ids[1]}"), 409)


def test_a_conversation_that_cannot_be(server: Served) -> None:
    made, other = station(server), station(server)
    bare = station(server, motions=[], agents=[])
    waits, unplanned = schedule(server, other, at=LATER)["id"], server.create(start=False)["id"]
    before = state(server)
    path = f"/stations/{made}/conversations"
    two = told(server.http.get(f"/stations/{made}"), 200)["agents"]
    for asked, field in (
        ({"motion": ""}, "motion"),
        ({"motion": "x" * 4001}, "motion"),
        ({"agents": ["nobody-there", two[0]]}, "agents"),
        ({"agents": [two[0], two[0]]}, "agents"),
        ({"agents": "all"}, "agents"),
        ({"at": "tomorrow"}, "at"),
        ({"at": "1999-01-01T00:00"}, "at"),
        ({"at": 5}, "at"),
        ({"when": LATER}, "when"),
        ({"base_url": "http://evil.example"}, "base_url"),
    ):
        said = told(server.http.post(path, json=asked), 422)
        assert said["field"] == field, (asked, said)
    answer = server.http.post(f"/stations/{bare}/conversations", json={})
    assert told(answer, 422)["field"] in ("motions", "agents")
    assert "pool" in told(server.post(f"/stations/{bare}/air"), 409)["detail"]
    for past in ("-1", "201", "x"):
        got = server.http.get(path, params={"past": past})
        assert told(got, 422)["field"] == "past"
    for method, where in (("GET", ""), ("DELETE", ""), ("POST", "/air")):
        sent = {} if method == "POST" else None
        for one in (waits, unplanned):  # another's, and nobody's
            told(server.http.request(method, f"{path}/{one}{where}", json=sent), 404)
    assert state(server) == before


def test_debates_stay_when_their_station_and_agents_go(server: Served) -> None:
    made = station(server)
    done = aired(server, made)
    waits = schedule(server, made, at=LATER)["id"]
    said = server.http.get(f"/debates/{done}/turns").json()
    for one in told(server.http.get(f"/stations/{made}"), 200)["agents"]:
        told(server.http.delete(f"/agents/{one}"), 204)
    told(server.http.get(f"/on-air/{made}/{done}"), 200, ConversationOnAir)
    told(server.http.delete(f"/stations/{made}"), 204)
    assert server.http.get(f"/debates/{done}/turns").json() == said
    assert told(server.http.get(f"/debates/{done}"), 200)["status"] == "completed"
    assert told(server.http.get(f"/debates/{waits}"), 200)["status"] == "stopped"
    assert server.http.get(f"/debates/{done}/export").status_code == 200
    told(server.http.get(f"/on-air/{made}/{done}"), 404)


# --- the webhook ---


def signature(
    conversation: str, *, at: float | None = None, key: bytes = SECRET.encode(), named: str = ""
) -> tuple[bytes, dict[str, str]]:
    """A call by the letter of Standard Webhooks."""
    body = json.dumps({"conversation": named or conversation}).encode()
    id_, when = f"msg_{next(_count)}", str(int(at or time.time()))
    mac = hmac.new(key, b"%s.%s.%s" % (id_.encode(), when.encode(), body), hashlib.sha256)
    return body, {
        "Content-Type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": when,
        "webhook-signature": f"v1,{base64.b64encode(mac.digest()).decode()}",
    }


def call(
    server: Served, conversation: str, body: bytes, headers: dict[str, str]
) -> httpx2.Response:
    """The webhook, without a token."""
    url = f"{server.url}/hooks/conversations/{conversation}/run"
    return ANYONE.post(url, content=body, headers=headers)


def at_once(count: int, ask: Callable[[int], httpx2.Response]) -> list[httpx2.Response]:
    gate = threading.Barrier(count)

    def one(number: int) -> httpx2.Response:
        gate.wait(20)
        return ask(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def begun_once(server: Served, station_id: str, conversation: str) -> None:
    """One debate was held, every turn of it once."""
    whole = server.wait(conversation)
    assert whole["status"] == "completed"
    turns = server.http.get(f"/debates/{conversation}/turns").json()["items"]
    slots = Counter((turn["round"], turn["actor"], turn["target"]) for turn in turns)
    assert set(slots.values()) == {1}
    assert len(turns) == whole["progress"]["total"] == whole["usage"]["calls"]
    with Client(server.port, f"/on-air/{station_id}/{conversation}/events") as client:
        queued = [one for one in client.rest() if one.event == "status"]
    assert [one.data["status"] for one in queued].count("queued") == 1
    plan = programme(server, station_id)
    assert [one["id"] for one in plan["past"]] == [conversation]
    assert (plan["now"], plan["waiting"]) == (None, [])


@pytest.mark.parametrize("fresh", [True, False])
def test_twenty_calls_at_once_begin_one_debate(guarded: Served, fresh: bool) -> None:
    made = station(guarded)
    waits = schedule(guarded, made, at=LATER)["id"]
    one = signature(waits)
    calls = [signature(waits) if fresh else one for _ in range(20)]
    answers = at_once(20, lambda number: call(guarded, waits, *calls[number]))
    codes = Counter(answer.status_code for answer in answers)
    assert codes == ({202: 20} if fresh else {202: 1, 401: 19})
    for answer in answers:
        if answer.status_code == 202:
            assert told(answer, 202, shapes.Conversation)["id"] == waits
        else:
            assert "used before" in told(answer, 401)["detail"]
    begun_once(guarded, made, waits)
    told(call(guarded, waits, *signature(waits)), 202, shapes.Conversation)
    begun_once(guarded, made, waits)


def test_calls_that_are_not_right_start_nothing(guarded: Served) -> None:
    made = station(guarded)
    waits, other = (schedule(guarded, made, at=LATER)["id"] for _ in range(2))
    now = time.time()
    body, right = signature(waits)
    wrong: list[tuple[bytes, dict[str, str]]] = [
        signature(waits, key=b"another secret, as long"),
        signature(waits, key=TOKEN.encode()),
        signature(waits, at=now - 400),
        signature(waits, at=now + 400),
        signature(waits, named=other),
        signature(other),
        (body + b" ", right),
        (b"", right),
        (body, {**right, "webhook-id": "msg_another"}),
        (body, {**right, "webhook-timestamp": str(int(now) - 1)}),
        (body, {**right, "webhook-signature": right["webhook-signature"][:-2]}),
        (body, {**right, "webhook-signature": ""}),
        *((body, {k: v for k, v in right.items() if k != left}) for left in
          ("webhook-id", "webhook-timestamp", "webhook-signature")),
        (body, {"Content-Type": "application/json"}),
        (body, {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}),
    ]  # fmt: skip
    for sent, headers in wrong:
        said = told(call(guarded, waits, sent, headers), 401)
        assert said["code"] == "HTTP_ERR_SIGNATURE", (sent, headers)
        assert SECRET not in json.dumps(said)
    url = f"{guarded.url}/hooks/conversations/{waits}/run"
    twice = [*right.items(), ("webhook-id", "msg_2")]
    told(ANYONE.post(url, content=body, headers=twice), 401)
    told(ANYONE.post(url, content=body, headers={**right, "Content-Type": "text/plain"}), 415)
    unsigned = json.dumps({"nothing": "named"}).encode()
    mac = hmac.new(
        SECRET.encode(),
        f"{right['webhook-id']}.{right['webhook-timestamp']}.".encode() + unsigned,
        hashlib.sha256,
    )
    nameless = {**right, "webhook-signature": f"v1,{base64.b64encode(mac.digest()).decode()}"}
    told(call(guarded, waits, unsigned, nameless), 401)
    plan = programme(guarded, made)
    assert plan["now"] is None
    assert [one["status"] for one in plan["waiting"]] == ["scheduled"] * 2
    for one in (waits, other):
        assert guarded.http.get(f"/debates/{one}").json()["last_seq"] == 1

    lost = "debate_20200101_000000_aaaaaa"
    told(call(guarded, lost, *signature(lost)), 404)
    told(call(guarded, waits, body, right), 202)  # none of that has used it up
    assert "used before" in told(call(guarded, waits, body, right), 401)["detail"]
    guarded.wait(waits)
    assert [one["id"] for one in programme(guarded, made)["waiting"]] == [other]


def test_without_a_secret_the_token_rules(server: Served, tmp_path: Path) -> None:
    made = station(server)
    first, second = (schedule(server, made, at=LATER)["id"] for _ in range(2))
    path = "/hooks/conversations/{}/run"
    answer = server.post(path.format(first), conversation=second)
    assert told(answer, 422)["field"] == "conversation"
    assert told(server.post(path.format(first), conversation=5), 422)["field"] == "conversation"
    assert told(server.http.post(path.format(first), json=[]), 422)["field"] == "body"
    told(server.http.post(path.format(first), content="{}"), 415)
    told(server.post(path.format(server.create(start=False)["id"])), 404)
    answers = at_once(20, lambda _: ANYONE.post(server.url + path.format(first), json={}))
    assert {answer.status_code for answer in answers} == {202}
    server.wait(first)
    told(server.http.delete(f"/stations/{made}/conversations/{second}"), 200)
    told(server.post(path.format(second), conversation=second), 409)
    begun_once(server, made, first)
    with served(tmp_path / "home", ScriptedSpeaker(), token=TOKEN) as locked:
        other = station(locked)
        waits = schedule(locked, other, at=LATER)["id"]
        said = told(ANYONE.post(locked.url + path.format(waits), json={}), 401)
        assert said["code"] == "HTTP_ERR_TOKEN"
        told(call(locked, waits, *signature(waits)), 401)
        told(locked.post(path.format(waits)), 202)


# --- on air ---

ANYBODY = ("/on-air/{}", "/on-air/{}/feed.xml", "/on-air/{}/{}", "/on-air/{}/{}/events")


def heard(server: Served, path: str, last: int | None = None) -> list[Heard]:
    with Client(server.port, path, last) as client:
        assert client.wire.status == 200, client.wire.body
        return client.rest()


def test_what_is_on_air_is_for_everybody(guarded: Served) -> None:
    made = station(guarded, about="For all.", cron="0 18 * * *")
    done = aired(guarded, made, motion="One motion")
    waits = schedule(guarded, made, at=LATER)["id"]
    answer = anybody(guarded, f"/on-air/{made}")
    seen = told(answer, 200, shapes.OnAir)
    assert answer.headers["cache-control"] == "no-cache"
    assert seen["station"].keys() == {"id", "name", "about", "zone"}
    assert [one["id"] for one in seen["past"]] == [done]
    assert [one["id"] for one in seen["waiting"]] == [waits]
    names = {one["name"] for one in guarded.http.get("/agents").json()["items"]}
    assert set(seen["slots"][0]["agents"]) <= names
    whole = told(anybody(guarded, f"/on-air/{made}/{done}"), 200, ConversationOnAir)
    assert whole["turns"] == guarded.http.get(f"/debates/{done}/turns").json()["items"]
    assert whole["debate"]["status"] == whole["conversation"]["status"] == "completed"
    assert whole["report"]["summary"]["text"]
    events = heard(guarded, f"/on-air/{made}/{done}/events")
    assert [one.data for one in events if one.event == "turn"] == whole["turns"]
    assert seqs(events) == list(range(1, whole["debate"]["last_seq"] + 1))
    assert events[-1].event == "end"
    later = heard(guarded, f"/on-air/{made}/{done}/events", 2)
    assert seqs(later) == seqs(events)[2:]
    over = f"/on-air/{made}/{done}/events"
    assert anybody(guarded, over, **{"Last-Event-ID": str(seqs(events)[-1])}).status_code == 204
    told(anybody(guarded, over, **{"Last-Event-ID": "x"}), 400)
    told(anybody(guarded, over, Origin="http://evil.example"), 403)
    told(anybody(guarded, over, Host="evil.example"), 421)


def test_only_what_was_aired_there_is_shown(guarded: Served) -> None:
    """Another station's, one that waits, one that was taken off, a plain debate: none of them."""
    made, other = station(guarded), station(guarded)
    waits, off = (schedule(guarded, made, at=LATER)["id"] for _ in range(2))
    told(guarded.http.delete(f"/stations/{made}/conversations/{off}"), 200)
    plain_one = guarded.create(format="duel")["id"]
    guarded.wait(plain_one)
    elsewhere = aired(guarded, other)
    nowhere = "debate_20200101_000000_aaaaaa"
    for one in (waits, off, plain_one, elsewhere, nowhere):
        for path in ANYBODY[2:]:
            said = told(anybody(guarded, path.format(made, one)), 404)
            assert said["detail"] == f"{made} has aired no conversation {one}."
    seen = told(anybody(guarded, f"/on-air/{made}"), 200)
    assert seen["past"] == []
    assert off not in json.dumps(seen)


def test_a_private_station_is_none(guarded: Served) -> None:
    made = station(guarded, public=False)
    done = aired(guarded, made)
    for path in ANYBODY:
        said = anybody(guarded, path.format(made, done))
        none = anybody(guarded, path.format("no-such-thing", done))
        assert told(said, 404)["detail"].replace(made, "no-such-thing") == told(none, 404)["detail"]
        assert said.headers.keys() == none.headers.keys()
        told(guarded.http.get(path.format(made, done)), 404)  # the token does not change it
    told(guarded.http.patch(f"/stations/{made}", json={"public": True}), 200)
    told(anybody(guarded, f"/on-air/{made}/{done}"), 200)
    told(guarded.http.patch(f"/stations/{made}", json={"public": False}), 200)
    told(anybody(guarded, f"/on-air/{made}/{done}"), 404)


@pytest.mark.parametrize("how", ["private", "deleted"])
def test_who_listens_is_cut_off_when_the_station_is_none_of_theirs(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "GATE_SECONDS", 0.1)
    with served(tmp_path / "home", ScriptedSpeaker(seconds=3600)) as slow:
        made = station(slow)
        one = told(slow.post(f"/stations/{made}/air"), 202)["id"]
        with httpx2.stream(
            "GET", f"{slow.url}/on-air/{made}/{one}/events", timeout=seconds()
        ) as heard:
            parts = heard.iter_raw()
            next(parts)
            if how == "private":
                slow.http.patch(f"/stations/{made}", json={"public": False})
            else:
                slow.http.delete(f"/stations/{made}")
            with contextlib.suppress(httpx2.HTTPError):
                for _ in parts:
                    pass
        assert slow.http.get(f"/debates/{one}").json()["status"] == "running"


def test_an_audience_is_not_told_how_it_is_run(guarded: Served) -> None:
    """What a provider said when it failed, limits, costs and troubles stay inside."""
    made = station(guarded, limits={"max_cost_usd": 1234.5}, cron="0 18 * * *")
    done = aired(guarded, made, motion="Fail in the second round")
    inside = guarded.http.get(f"/debates/{done}/turns").text
    assert INTERNAL in inside, "there is something to hide"
    stopped = station(guarded, on_failure="pause")
    schedule(guarded, stopped, motion="Fail and wait", at=LATER)
    paused = guarded.post(f"/stations/{stopped}/air").json()["id"]
    guarded.wait(paused, "paused")
    guarded.post(f"/debates/{paused}/stop")
    guarded.wait(paused)
    assert INTERNAL in guarded.http.get(f"/debates/{paused}/events").text
    for where, debate in ((made, done), (stopped, paused)):
        for path in ANYBODY:
            text = anybody(guarded, path.format(where, debate)).text
            assert debate in text or path.endswith(("events", "feed.xml")), text
            for word in ("10.0.0.7", "sk-leak", "errorMessage", "1234.5", "max_cost", "trouble"):
                assert word not in text, (path, word)
    seen = told(anybody(guarded, f"/on-air/{made}/{done}"), 200, ConversationOnAir)
    failed = [turn for turn in seen["turns"] if turn["status"] == "failed"]
    assert failed
    assert all(turn["error_code"] and turn["data"] is None for turn in failed)
    assert "costUsd" not in json.dumps(seen["report"])
    live = heard(guarded, f"/on-air/{stopped}/{paused}/events")
    assert seqs(live) == seqs(heard_inside(guarded, paused))
    assert all(not one.data.get("failure") for one in live if one.event == "status")


def heard_inside(server: Served, debate: str) -> list[Heard]:
    """The stream for whoever has the token."""
    text = server.http.get(f"/debates/{debate}/events").text
    found: list[Heard] = []
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line)
        if "id" in fields:
            found.append(Heard(fields["event"], json.loads(fields["data"]), int(fields["id"])))
    return found


def test_nothing_else_is_read_without_the_token(guarded: Served) -> None:
    made = station(guarded)
    done = aired(guarded, made)
    known = guarded.http.get("/agents").json()["items"][0]["id"]
    paths = guarded.http.get("/openapi.json").json()["paths"]
    before, seen = state(guarded), 0
    for path, operations in paths.items():
        path = path.format(
            debate_id=done,
            conversation_id=done,
            station_id=made,
            agent_id=known,
            source_id="S1",
            link_id="a" * 12,
            template_id="mine",
        )
        for method in operations:
            answer = ANYONE.request(method, guarded.url + path, json={})
            if path.startswith("/on-air/"):
                assert answer.status_code in (200, 204), path
                for verb in ("POST", "PUT", "PATCH", "DELETE"):
                    told(ANYONE.request(verb, guarded.url + path, json={}), 401)
                continue
            seen += 1
            said = told(answer, 401)
            assert done not in json.dumps(said)
    assert seen > 40
    for path in ("/on-air", "/on-air/", "/on-air/../stations", "/on-air/%2e%2e/stations",
                 "/on-air//stations", "/hooks/../stations", "/hooks/"):  # fmt: skip
        assert ANYONE.get(guarded.url + path).status_code in (401, 404), path
        assert ANYONE.post(guarded.url + path, json={}).status_code in (401, 404), path
    for path in ("/studio/agents", "/studio/stations", f"/studio/stations/{made}", f"/air/{made}",
                 f"/air/{made}/{done}"):  # fmt: skip
        page = anybody(guarded, path)
        assert (page.status_code, page.text) == (200, anybody(guarded, "/").text)
    assert state(guarded) == before


HOSTILE = 'Is ]]> <script>alert(1)</script> & "this" \u2028 \ufffe \x0b fine? &amp; <!-- 🦆'


def test_the_feed_is_xml_whatever_is_said(guarded: Served) -> None:
    made = station(guarded, name=f"S {HOSTILE}"[:60], about=HOSTILE)
    done = [aired(guarded, made, motion=f"{HOSTILE} {n}") for n in (1, 2)]
    stopped = schedule(guarded, made, at=LATER)["id"]
    told(guarded.http.delete(f"/stations/{made}/conversations/{stopped}"), 200)
    answer = anybody(guarded, f"/on-air/{made}/feed.xml")
    assert answer.headers["content-type"].startswith("application/rss+xml")
    assert answer.headers["cache-control"] == "public, max-age=60"
    root = ET.fromstring(answer.content)  # noqa: S314  our own
    assert (root.tag, root.get("version")) == ("rss", "2.0")
    items = root.findall("./channel/item")
    links = [item.findtext("link") or "" for item in items]
    assert links == [f"{guarded.url}/air/{made}/{one}" for one in reversed(done)]
    assert all("<script>" in (item.findtext("title") or "") for item in items)
    assert b"<script>" not in answer.content
    named = anybody(guarded, f"/on-air/{made}/feed.xml", Host=f"localhost:{guarded.port}")
    assert f"http://localhost:{guarded.port}/air/{made}" in named.text
    told(anybody(guarded, f"/on-air/{made}/feed.xml", Host="evil.example"), 421)


def test_the_examples_are_brought_once(server: Served) -> None:
    said = told(server.post("/examples/stations"), 200)
    assert said["made"] == said["stations"]
    assert told(server.post("/examples/stations"), 200)["made"] == []
    for one in said["made"]:
        told(server.http.delete(f"/stations/{one}"), 204)


def test_every_route_was_asked(contract: Contract) -> None:
    """Last in this file: each of these routes has answered, as the document says."""
    paths = describe()["paths"]
    ours = ("/agents", "/stations", "/examples/stations", "/hooks", "/on-air")
    asked = {(verb, path) for path in paths if path.startswith(ours) for verb in paths[path]}
    assert len(asked) == 27
    good = {(method, path) for method, path, status in contract.seen if status < 300}
    assert asked - good == set()
