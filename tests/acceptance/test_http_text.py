"""Texts that no database can keep, everywhere that a client can put one; and files that are none
of ours: never an error of the server's."""

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.acceptance.test_http import Scene, motion, scene_at

NUL, HALF = "a\x00b", "a\ud800b"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    with scene_at(tmp_path_factory.mktemp("text") / "home") as scene:
        yield scene


def send(scene: Scene, method: str, path: str, body: Any) -> httpx2.Response:
    """As JSON with escapes: so half a character can be sent."""
    kind = {"Content-Type": "application/json"}
    return scene.http.request(method, path, content=json.dumps(body).encode(), headers=kind)


def places(value: Any) -> Iterator[tuple[str, Any]]:
    """Each place of a text or a name in a body, and the body with that text damaged."""
    if isinstance(value, str):
        for bad in (NUL, HALF, value + "\x00", "\ud800" + value):
            yield "", bad
    elif isinstance(value, dict):
        for name, part in value.items():
            for where, bad in places(part):
                yield f".{name}{where}", {**value, name: bad}
        for bad in (NUL, HALF):
            yield ".+", {**value, bad: 1}
    elif isinstance(value, list):
        for at, part in enumerate(value):
            for where, bad in places(part):
                yield f"[{at}]{where}", [*value[:at], bad, *value[at + 1 :]]


def bodies(station: str, debate: str) -> dict[tuple[str, str], Any]:
    """Every call that takes texts, with all of them given."""
    return {
        ("POST", "/debates"): {
            "motion": "Should we?", "format": "custom", "on_failure": "degrade", "start": False,
            "participants": [
                {"name": "Ada", "role": "speaker", "bio": "An engineer.", "stance": "pro",
                 "model": "local:x"},
                {"agent": "text-ada"},
            ],
            "host": {"name": "Host", "bio": "Calm.", "model": "local"}, "options": {"rounds": 1},
        },
        ("POST", "/debates/council"): {
            "problem": "Should we?", "output_type": "decision", "constraints": ["no downtime"],
            "participants": [{"role": "Critic", "model_provider": "local", "model_name": "x"}],
            "writeback_record_type": "worklog",
        },
        ("POST", f"/debates/{debate}/retry"): {"model": "local:x"},
        ("POST", f"/debates/{debate}/report"): {"model": "local:x"},
        ("POST", "/agents"): {
            "name": "Cleo", "bio": "A judge.", "model": "local:x", "stance": "con",
            "voice": {"lang": "en-GB", "name": "Daniel"},
        },
        ("PATCH", "/agents/text-ada"): {
            "name": "Text Ada", "bio": "Bold.", "model": "local", "voice": {"lang": "de"},
        },
        ("POST", "/agents/import"): {"toml": '[[agents]]\nid = "dov"\nname = "D\\u0000ov"\n'},
        ("POST", "/stations"): {
            "name": "Late", "about": "At night.", "format": "duel", "zone": "Europe/Berlin",
            "missed": "skip", "motions": ["Why?"], "agents": ["text-ada"], "cron": "0 18 * * *",
            "options": {}, "on_failure": "degrade",
        },
        ("PATCH", f"/stations/{station}"): {
            "name": "Text Late", "about": "x", "zone": "UTC", "motions": ["Why?"],
            "agents": ["text-ada"],
        },
        ("POST", "/stations/import"): {"toml": '[[stations]]\nid = "s"\nname = "S\\u0000"\n'},
        ("POST", f"/stations/{station}/conversations"): {
            "motion": "Why?", "agents": ["text-ada", "text-ben"], "at": "2030-12-24T18:00",
        },
        ("PUT", f"/stations/{station}/order"): {"conversations": [debate]},
        ("POST", f"/hooks/conversations/{debate}/run"): {"conversation": debate, "more": "x"},
    }  # fmt: skip


def test_no_text_in_a_body_is_an_error_of_the_servers(scene: Scene) -> None:
    for name in ("Text Ada", "Text Ben"):
        scene.post("/agents", {"name": name}, 201)
    scene.post("/stations", {"name": "Text Station"}, 201)
    debate = scene.create(motion(), start=False)["id"]
    for (method, path), whole in bodies("text-station", debate).items():
        for where, body in places(whole):
            answer = send(scene, method, path, body)
            assert answer.status_code < 500, (method, path, where, answer.text)
    shown = scene.get("/debates", limit=200)
    assert "\x00" not in json.dumps(shown, ensure_ascii=False)
    for path in ("/agents", "/stations", "/agents/export", "/stations/export"):
        assert scene.http.get(path).status_code == 200


PATHS = (
    "/debates/{}", "/debates/{}/turns", "/debates/{}/events", "/debates/{}/packet",
    "/debates/{}/report", "/debates/{}/replay", "/debates/{}/export", "/agents/{}", "/stations/{}",
    "/stations/{}/conversations", "/stations/text-station/conversations/{}", "/on-air/{}",
    "/on-air/{}/feed.xml", "/on-air/text-station/{}", "/on-air/text-station/{}/events", "/{}",
    "/assets/{}", "/docs/{}", "/d/{}", "/new/{}", "/favicon{}",
)  # fmt: skip
QUERIES = (
    "/debates?format={}", "/debates?q={}", "/debates?cursor={}", "/debates?status={}",
    "/debates?limit={}", "/debates?{}=1", "/records?q={}", "/records?q=two+{}", "/records?q={}+two",
    "/records?limit={}", "/agents/export?id={}", "/stations/export?id={}",
    "/stations/text-station/conversations?past={}", "/debates/ID/turns?after={}",
    "/debates/ID/export?as={}", "/debates/ID/events?last_event_id={}", "/formats?x={}",
    "/providers?x={}", "/healthz?x={}",
)  # fmt: skip


def test_no_text_in_an_address_is_an_error_of_the_servers(scene: Scene) -> None:
    known = scene.create(motion(), start=False)["id"]
    scene.http.event_hooks["response"].clear()  # some of these are no calls of the document's
    for template in (*PATHS, *QUERIES):
        for bad in ("%00", "a%00b", "%ED%A0%80", "%FF", quote("é\u2028"), "a" * 3000):
            path = template.replace("ID", known).format(bad)
            with scene.http.stream("GET", path) as answer:
                assert answer.status_code < 500, (path[:80], answer.status_code)
    assert scene.http.get("/debates?format=%00").json() == {"items": [], "next": None}
    assert scene.http.get("/records?q=%00").json() == {"items": []}
    assert scene.http.get("/debates/%00").status_code == 404
    for key in ("é", "a b"):
        answer = scene.http.post("/debates", json={"motion": "x"}, headers=[
            (b"Idempotency-Key", key.encode())])  # fmt: skip
        assert answer.status_code in (400, 422)


# --- formats of the user's own ---


def test_a_file_that_is_no_format_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "formats"
    folder.mkdir(parents=True)
    good = 'name = "mine"\ntitle = "Mine"\ndescription = "Mine."\nrules = "Speak."\n'
    good += '[[stages]]\nname = "open-floor"\nask = "Speak."\n'
    (folder / "mine.toml").write_text(good)
    (folder / "bad.toml").write_text(good.replace("Speak.", "Speak, {nme}."))
    (folder / "worse.toml").write_bytes(b"\xff\x00")
    (folder / "My own.toml").write_text(good)
    (folder / "._mine.toml").write_bytes(b"\x00\x05\x16")  # as some file systems leave them
    with scene_at(tmp_path) as scene:
        listed = scene.get("/formats")
        names = [rules["name"] for rules in listed["items"]]
        assert names == [
            "standard",
            "classic",
            "custom",
            "duel",
            "council",
            "jury",
            "poll",
            "redteam",
            "mine",
        ]
        assert listed["items"][-1]["stages"][0]["title"] == "Open floor"
        problems = {problem["file"]: problem["detail"] for problem in listed["problems"]}
        assert list(problems) == ["My own.toml", "bad.toml", "worse.toml"]
        assert problems["bad.toml"].startswith("bad.toml: stage 'open-floor', field ask: {nme} is")
        assert str(tmp_path) not in json.dumps(problems)
        made = scene.create(motion(), format="mine")
        assert scene.wait(made["id"])["status"] == "completed"
        station = scene.post("/stations", {"name": "Mine", "format": "mine"}, 201)
        assert station["format"] == "mine"
        answer = scene.http.post("/debates", json={"motion": "x", "format": "bad"})
        assert (answer.status_code, answer.json()["field"]) == (422, "format")
        assert "{nme} is not a placeholder" in answer.json()["detail"]
