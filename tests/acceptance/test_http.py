"""Every call of §7 over HTTP, and each answer held against the OpenAPI document."""

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from moot.errors import ProviderAuthError, ProviderError
from moot.outcome import packet
from moot.ports.model_call import Call, Reply, Say
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration import councils
from tests.patience import until
from tests.served import Served, served

UNKNOWN = "debate_20200101_000000_aaaaaa"
VERBS = ("start", "stop", "pause", "resume", "end", "retry", "skip")
WHOLE = {
    "id", "motion", "format", "status", "degraded", "warnings", "stop_reason", "stop_requested_at",
    "failure", "cursor", "stage", "round", "progress", "participants", "host", "options", "limits",
    "usage", "last_seq", "created_at", "started_at", "ended_at", "updated_at", "schedule",
}  # fmt: skip
LISTED = {
    "id", "motion", "format", "status", "stage", "round", "progress", "degraded", "created_at",
    "updated_at", "title", "tags", "archived",
}  # fmt: skip
TURN = {
    "seq", "round", "stage", "actor", "name", "kind", "target", "instruction", "text", "data",
    "status", "error_code", "model", "usage", "started_at", "committed_at", "number",
}  # fmt: skip
COUNCIL = {"problem": "Should we move?", "output_type": "decision"}


class Contract:
    """Holds every answer against the document that describes it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.seen: set[tuple[str, str, int]] = set()
        self._components = document["components"]
        self._paths = {
            re.compile(re.sub(r"\{\w+\}", "[^/]+", path)): (path, operations)
            for path, operations in sorted(
                document["paths"].items(), key=lambda item: "{" in item[0]
            )
        }
        self._validators: dict[str, Any] = {}

    def check(self, response: httpx2.Response) -> None:
        method, path = response.request.method.lower(), response.url.path
        if path == "/openapi.json" or path.startswith("/docs"):
            return
        fits = [said for at, said in self._paths.items() if at.fullmatch(path)]
        found = next((said for said in fits if method in said[1]), fits[0] if fits else None)
        kind = response.headers.get("content-type", "").partition(";")[0]
        if found is None or method not in found[1]:
            assert response.status_code == (405 if found else 404), (method, path)
            assert kind == "application/problem+json", (method, path)
            self._validate({"$ref": "#/components/schemas/Problem"}, response.json())
            return
        template, operations = found
        place = (method, template, response.status_code)
        described = operations[method]["responses"].get(str(response.status_code))
        assert described, f"undescribed: {place} {response.text[:300]}"
        self.seen.add(place)
        for name in described.get("headers", ()):
            assert name in response.headers, place
        if "content" not in described:
            assert not kind, place
            return
        assert kind in described["content"], (place, kind)
        if kind.endswith("json"):
            self._validate(described["content"][kind].get("schema", {}), response.json())

    def _validate(self, schema: dict[str, Any], value: Any) -> None:
        name = json.dumps(schema)
        if name not in self._validators:
            whole = {**schema, "components": self._components}
            self._validators[name] = jsonschema_rs.Draft202012Validator(whole)
        self._validators[name].validate(value)


class Cast(ScriptedSpeaker):
    """Speaks in every format. A motion that begins with "Hold" is held until it is let go; one
    that begins with "Fail" has a Ben whose key is refused, unless he has another model; of one that
    begins with "Mute" nobody can speak."""

    def __init__(self) -> None:
        super().__init__(self._say)
        self.closing: set[str] = set()  # motions whose summary was asked for
        self._open: set[str] = set()
        self._all = False

    def let_go(self, motion: str) -> None:
        self._open.add(motion)

    def count(self, motion: str) -> int:
        return sum(call.debate.motion == motion for call in self.calls)

    def _say(self, call: Call) -> str | ProviderError:
        if call.debate.motion.startswith("Mute"):
            return ProviderAuthError("The key was refused.")
        if call.debate.motion.startswith("Fail") and call.step.actor == "ben":
            if call.model == "local":
                return ProviderAuthError("The key for Ben was refused. Set BEN_KEY.")
            return f"Ben, by {call.model}."
        said = councils.answer(call)
        return plain(call) if said is None else json.dumps(said)

    async def speak(self, call: Call, say: Say) -> Reply:
        motion = call.debate.motion
        if call.step.kind == "summary":
            self.closing.add(motion)
        while motion.startswith("Hold") and motion not in self._open:
            await asyncio.sleep(0.005)
        return await super().speak(call, say)


class Scene:
    """A server, its speaker, and the contract that all its answers are held against."""

    def __init__(self, server: Served, speaker: Cast) -> None:
        self.server, self.speaker, self.http = server, speaker, server.http
        self.contract = Contract(server.http.get("/openapi.json").json())
        self.create, self.wait = server.create, server.wait

        def check(response: httpx2.Response) -> None:
            if "event-stream" not in response.headers.get("content-type", ""):
                response.read()
            self.contract.check(response)

        server.http.event_hooks = {"request": [], "response": [check]}

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, status: int = 202, **headers: str) -> Any:
        answer = self.http.post(path, json={} if body is None else body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def do(self, method: str, path: str) -> httpx2.Response:
        """With the least that a method brings."""
        if method == "get":
            return self.http.get(path)
        bodies = {"outcome": {"outcome": "right"}, "fork": {"after": 1}, "say": {"text": "x"},
                  "ask": {"question": "Why?"}}  # fmt: skip
        least: dict[str, Any] = bodies.get(path.rpartition("/")[2], {})
        return self.http.request(method, path, json=least)

    def problem(self, answer: httpx2.Response, status: int, field: str | None = None) -> Any:
        """It is a problem document, says so in a sentence, and names the field."""
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        said = answer.json()
        assert said["status"] == status
        assert said["title"]
        assert said["type"].endswith(said["code"])
        assert re.fullmatch(r"[\w'“/:].*[.…]", said["detail"], re.DOTALL), said
        assert said.get("field") == field
        return said

    def state(self, debate_id: str) -> tuple[Any, Any]:
        """As it stands; what a call that was called off had cost is counted a little later."""
        debate = self.get(f"/debates/{debate_id}")
        return {**debate, "usage": None}, self.get(f"/debates/{debate_id}/turns")


_count = iter(range(10**6))


def motion(word: str = "Ask") -> str:
    return f"{word} item{next(_count)}: should we ship on Fridays?"


@contextmanager
def scene_at(home: Path, **settings: Any) -> Generator[Scene]:
    speaker = Cast()
    with served(home, speaker=speaker, **settings) as server:
        yield Scene(server, speaker)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    with scene_at(tmp_path_factory.mktemp("http") / "home") as scene:
        yield scene


def events(lines: Iterator[str]) -> Generator[dict[str, str]]:
    """A stream as its events; comments are left out."""
    event: dict[str, str] = {}
    for line in lines:
        if not line:
            if event.keys() - {"retry"}:
                yield event
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            assert name not in event, "two lines of one field"
            event[name] = value


# --- begin ---


def test_create(scene: Scene) -> None:
    asked: dict[str, Any] = {
        "motion": motion(),
        "format": "classic",
        "participants": [
            {
                "name": "Ada",
                "stance": "pro",
                "bio": "Builds.",
                "role": "builder",
                "model": "claude",
            },
            {"name": "Ben", "stance": "con"},
        ],
        "host": {"name": "Hana", "bio": "Fair.", "model": "openai:gpt-5-mini"},
        "options": {"free_rounds": 1},
        "limits": {"max_turn_seconds": 20, "max_turn_tokens": 300, "max_cost_usd": 2.5},
        "on_failure": "degrade",
        "start": False,
    }
    answer = scene.http.post("/debates", json=asked)
    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/debates/{made['id']}"
    assert made.keys() > WHOLE
    assert re.fullmatch(r"debate_\d{8}_\d{6}_[a-z2-7]{6}", made["id"])
    assert (made["motion"], made["format"], made["status"]) == (
        asked["motion"],
        "classic",
        "scheduled",
    )
    assert [seat["stance"] for seat in made["participants"]] == ["pro", "con"]
    assert made["participants"][0].keys() == {"id", "name", "role", "stance", "bio", "model"}
    assert made["participants"][0]["model"].startswith("claude")
    assert (made["host"]["name"], made["host"]["model"]) == ("Hana", "openai:gpt-5-mini")
    assert made["options"] == {"free_rounds": 1}
    limits = made["limits"]
    assert (limits["max_turn_seconds"], limits["max_turn_tokens"], limits["max_cost_usd"]) == (
        20,
        300,
        2.5,
    )
    assert made["on_failure"] == "degrade"
    assert made["cursor"] == {
        "next_round": 0, "next_stage": "introduction", "next_actor": "host", "next_target": None,
    }  # fmt: skip
    assert made["usage"].keys() >= {"input_tokens", "output_tokens", "cost_usd", "calls"}
    assert made["progress"]["done"] == 0 < made["progress"]["total"]
    assert scene.get(answer.headers["location"]) == made
    assert scene.speaker.count(asked["motion"]) == 0
    scene.post(f"/debates/{made['id']}/start")
    done = scene.wait(made["id"])
    assert (done["status"], done["stop_reason"]) == ("completed", "finished")
    assert done["progress"]["done"] == done["progress"]["total"] == limits["max_turns"]


FORMATS = ["standard", "classic", "custom", "duel", "council", "jury", "redteam"]


@pytest.mark.parametrize("format_", FORMATS)
def test_each_format_to_its_end(scene: Scene, format_: str) -> None:
    made = scene.create(motion(), format=format_)
    assert scene.wait(made["id"])["status"] == "completed"
    said = scene.get(f"/debates/{made['id']}/turns")["items"]
    assert all(turn.keys() == TURN for turn in said)
    whole = scene.get(f"/debates/{made['id']}")
    assert whole["progress"]["done"] == len(said)


def test_any_format_that_decides_takes_a_brief(scene: Scene) -> None:
    brief = {"output_type": "planning", "constraints": ["no downtime"]}
    made = scene.create(motion(), format="redteam", brief=brief)
    assert made["brief"] == brief
    assert scene.wait(made["id"])["status"] == "completed"
    packet = scene.get(f"/debates/{made['id']}/packet")
    assert (packet["outputType"], packet["constraints"]) == ("planning", ["no downtime"])
    assert [seat["role"] for seat in packet["participants"]] == [
        "Author", "Saboteur", "Auditor", "Referee",
    ]  # fmt: skip
    refused = scene.http.post("/debates", json={"motion": "So?", "format": "duel", "brief": brief})
    assert refused.status_code == 422
    assert refused.json()["field"] == "brief"
    assert "comes to no decision" in refused.text


def test_the_councils_own_request(scene: Scene) -> None:
    for asked in (
        {**COUNCIL, "constraints": ["no downtime"], "max_turn_seconds": 10,
         "participants": [{"role": "Critic", "model_provider": "claude", "model_name": "x"},
                          {"role": "Jester", "model_provider": "claude"}]},
        {"problem": "Should we move?", "outputType": "decision", "constraints": ["no downtime"],
         "maxTurnSeconds": 10,
         "participants": [{"role": "Critic", "modelProvider": "claude", "modelName": "x"},
                          {"role": "Jester", "modelProvider": "claude"}]},
    ):  # fmt: skip
        answer = scene.http.post("/debates/council", json=asked)
        made = answer.json()
        assert answer.status_code == 201, answer.text
        assert answer.headers["location"] == f"/debates/{made['id']}"
        assert (made["format"], made["motion"]) == ("council", "Should we move?")
        assert made["brief"]["constraints"] == ["no downtime"]
        assert made["limits"]["max_turn_seconds"] == 10
        assert made["participants"][1]["model"] == "claude:x"
        assert any("DEBATE_WARN_ROLE_IGNORED" in warning for warning in made["warnings"])
        assert scene.wait(made["id"])["status"] == "completed"


# --- once ---


def test_the_same_key_and_body_give_the_same_debate(scene: Scene) -> None:
    asked = {"motion": motion(), "format": "duel"}
    key = {"Idempotency-Key": "once-1"}
    first = scene.post("/debates", asked, 201, **key)
    scene.wait(first["id"])
    backwards = dict(reversed(asked.items())) | {"start": True}
    for body in (asked, backwards):
        again = scene.http.post("/debates", json=body, headers=key)
        assert again.status_code == 201
        assert again.json()["id"] == first["id"]
        assert again.headers["location"] == f"/debates/{first['id']}"
    other = scene.http.post("/debates", json=asked | {"motion": "Another"}, headers=key)
    assert "key" in scene.problem(other, 409)["detail"].lower()
    council = scene.http.post("/debates/council", json=COUNCIL, headers=key)
    scene.problem(council, 409)
    assert scene.speaker.count(asked["motion"]) == 6
    assert len(scene.get("/debates", q=asked["motion"])["items"]) == 1


def test_the_same_key_twenty_times_at_once(scene: Scene) -> None:
    for path, asked, more in (
        ("/debates", {"motion": motion(), "format": "duel"}, {"on_failure": "degrade"}),
        ("/debates/council", {**COUNCIL, "problem": motion()}, {"constraints": ["cheap"]}),
    ):
        key = {"Idempotency-Key": f"twenty-{path}"}

        def post(_: int, path: str = path, asked: Any = asked, key: Any = key) -> Any:
            return scene.post(path, asked, 201, **key)["id"]

        with ThreadPoolExecutor(20) as pool:
            made = set(pool.map(post, range(20)))
        assert len(made) == 1
        words = asked.get("motion") or asked["problem"]
        done = scene.wait(*made)
        said = scene.get(f"/debates/{done['id']}/turns")["items"]
        slots = Counter(
            (turn["round"], turn["actor"], turn["kind"], turn["target"]) for turn in said
        )
        assert set(slots.values()) == {1}
        assert scene.speaker.count(words) == len(said) == done["progress"]["total"]
        assert len(scene.get("/debates", q=words)["items"]) == 1
        scene.problem(scene.http.post(path, json=asked | more, headers=key), 409)


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "\u00fc"])
def test_a_key_that_is_none(scene: Scene, key: str) -> None:
    words = motion()
    answer = scene.http.post(
        "/debates", json={"motion": words}, headers={b"Idempotency-Key": key.encode()}
    )
    scene.problem(answer, 422, "Idempotency-Key")
    assert not scene.get("/debates", q=words)["items"]


# --- find ---


def test_list(scene: Scene) -> None:
    word = f"zebra{next(_count)}"
    made = [
        scene.create(f"{word} one", format="duel"),
        scene.create(f"{word} two", format="duel", start=False),
        scene.create(f"{word} three", participants=[{"name": "Zelda"}, {"name": "Ben"}]),
    ]
    for debate in (made[0], made[2]):
        scene.wait(debate["id"])
    ids = [debate["id"] for debate in made]

    def found(**query: Any) -> list[str]:
        return [item["id"] for item in scene.get("/debates", **{"q": word, **query})["items"]]

    assert found() == ids[::-1]
    assert found(status="scheduled") == [ids[1]]
    assert found(status=["scheduled", "completed"]) == ids[::-1]
    assert found(status="failed") == []
    assert found(format="duel") == [ids[1], ids[0]]
    assert found(format="duel", status="completed") == [ids[0]]
    assert found(q=f"{word} thr") == [ids[2]]
    assert found(q="zelda") == [ids[2]]
    assert found(q=f"{word} nothing of the kind") == []
    page = scene.get("/debates", q=word, limit=2)
    assert page.keys() == {"items", "next"}
    assert page["next"]
    rest = scene.get("/debates", q=word, limit=2, cursor=page["next"])
    assert [item["id"] for item in rest["items"]] == [ids[0]]
    assert rest["next"] is None
    for item in page["items"]:
        beside = {"result": item.pop("result"), "models": item.pop("models")}
        assert item.keys() == LISTED | {
            "stop_reason", "failure", "usage", "place", "outcome", "unpriced", "local",
            "waiting_for", "writing", "spent",
        }  # fmt: skip
        whole = scene.get(f"/debates/{item['id']}")
        assert item == {name: whole[name] for name in item}
        assert item["progress"].keys() == {"done", "total"}
        assert beside["models"] == list({seat["model"]: 0 for seat in whole["participants"]})
        assert bool(beside["result"]) == (item["status"] == "completed")


def test_list_by_outcome_model_and_what_was_said(scene: Scene) -> None:
    word = f"okapi{next(_count)}"
    made = scene.http.post("/debates/council", json={"problem": word, "output_type": "decision"})
    council = scene.wait(made.json()["id"])
    kind, model = council["outcome"]["outcome"], council["participants"][0]["model"]

    def found(**query: Any) -> list[dict[str, Any]]:
        return scene.get("/debates", **{"q": word, **query})["items"]

    assert found(outcome=kind)
    assert not found(outcome="no_verdict")
    until(lambda: bool(found(model=model)))  # it is added in the background
    (item,) = found(model=model, outcome=[kind, "no_verdict"])
    name = {"decided": "Decided", "contested": "Contested"}.get(kind, "")
    assert item["result"].startswith(name)
    assert not found(model="nobody")
    said = scene.get(f"/debates/{council['id']}/turns")["items"][0]["text"]
    rare = max(said.split(), key=len)
    assert [each["id"] for each in found(q=f"{word} {rare}")] == [council["id"]]
    assert model in scene.get("/debates/models")["items"]


def test_pages_while_others_are_made(scene: Scene) -> None:
    word = f"page{next(_count)}"
    with ThreadPoolExecutor(8) as pool:
        first = pool.map(lambda n: scene.create(f"{word} {n}", start=False)["id"], range(120))
        wanted = set(first)
    stop = threading.Event()

    def make() -> None:
        with httpx2.Client(base_url=scene.server.url) as http:
            while not stop.is_set():
                http.post("/debates", json={"motion": f"{word} later", "start": False})

    makers = [threading.Thread(target=make) for _ in range(3)]
    for maker in makers:
        maker.start()
    try:
        seen: list[str] = []
        times: list[str] = []
        pages, cursor = 0, None
        while True:
            query = {"cursor": cursor} if cursor else {}
            page = scene.get("/debates", q=word, limit=7, **query)
            seen += [item["id"] for item in page["items"]]
            times += [item["created_at"] for item in page["items"]]
            assert len(page["items"]) <= 7
            pages += 1
            cursor = page["next"]
            if cursor is None:
                break
            time.sleep(0.01)
    finally:
        stop.set()
        for maker in makers:
            maker.join()
    assert len(seen) == len(set(seen)), "one twice"
    assert wanted <= set(seen), "one left out"
    assert times == sorted(times, reverse=True), "newest first"
    assert pages >= 120 // 7
    assert len(scene.get("/debates", q=f"{word} later", limit=200)["items"]) > 5, (
        "nobody was making any"
    )


# --- read ---


def test_turns_after(scene: Scene) -> None:
    made = scene.create(motion(), format="duel")
    scene.wait(made["id"])
    path = f"/debates/{made['id']}/turns"
    said = scene.get(path)["items"]
    assert [turn["actor"] for turn in said] == ["ada", "ben"] * 3
    for place, turn in enumerate(said):
        assert scene.get(path, after=turn["seq"])["items"] == said[place + 1 :]
        assert scene.get(path, after=turn["seq"] - 1)["items"] == said[place:]
    assert scene.get(path, after=2**31 - 1)["items"] == []
    assert scene.get(path, after=2**31)["items"] == []
    for wrong in ("-1", "x", "1.5", ""):
        scene.problem(scene.http.get(path, params={"after": wrong}), 422, "after")


def test_packet(scene: Scene) -> None:
    made = scene.post("/debates/council", {**COUNCIL, "problem": motion()}, 201)
    done = scene.wait(made["id"])
    path = f"/debates/{made['id']}/packet"
    found = scene.get(path)
    packet.validate(found)
    assert found["runId"] == made["id"]
    verdict = scene.get(f"/debates/{made['id']}/verdict")
    assert verdict["outcome"] == found["outcome"] == done["outcome"]["outcome"]
    noted = scene.http.put(f"/debates/{made['id']}/outcome", json={"outcome": "right"})
    assert noted.json() == scene.get(f"/debates/{made['id']}/outcome") == {"outcome": "right"}
    assert scene.get("/calibration")["noted"] >= 1
    again = scene.post(f"/debates/{made['id']}/rejudge", {"jury": {"size": 1}}, 201)
    assert again["forked_from"]["id"] == made["id"]
    assert found["decision"]["selectedOption"] == done["outcome"]["selected_option"]
    file = scene.server.home / "records" / "debates" / made["id"] / "final-packet.json"
    assert json.loads(file.read_text()) == found

    duel = scene.create(motion(), format="duel", start=False)
    scene.problem(scene.http.get(f"/debates/{duel['id']}/packet"), 404, "id")
    scene.problem(scene.http.get(f"/debates/{UNKNOWN}/packet"), 404, "id")

    words = motion("Hold")
    held = scene.post("/debates/council", {**COUNCIL, "problem": words}, 201)
    scene.wait(held["id"], "running")
    assert (
        "running" in scene.problem(scene.http.get(f"/debates/{held['id']}/packet"), 409)["detail"]
    )
    scene.post(f"/debates/{held['id']}/stop")
    scene.speaker.let_go(words)
    scene.wait(held["id"], "stopped")
    assert (
        "stopped" in scene.problem(scene.http.get(f"/debates/{held['id']}/packet"), 409)["detail"]
    )


def test_report(scene: Scene) -> None:
    made = scene.create(motion(), format="duel")
    scene.wait(made["id"])
    found = scene.get(f"/debates/{made['id']}/report")
    assert scene.post(f"/debates/{made['id']}/report", status=200) == found
    said = scene.get(f"/debates/{made['id']}/turns")["items"]
    text = json.dumps(found)
    assert "Ada" in text
    assert "Ben" in text
    assert str(len(said)) in text
    file = scene.server.home / "records" / "debates" / made["id"] / "report.json"
    until(file.exists)  # it is written after the last turn
    assert json.loads(file.read_text()) == found


def test_replay(scene: Scene) -> None:
    made = scene.post("/debates/council", {**COUNCIL, "problem": motion()}, 201)
    scene.wait(made["id"])
    path = f"/debates/{made['id']}/replay"
    folder = scene.server.home / "records" / "debates" / made["id"]
    until((folder / "manifest.json").exists)
    whole = scene.get(path)
    assert whole["consistency"] == {"filesComplete": True, "indexed": True, "issues": []}
    assert whole["request"]["id"] == made["id"]
    assert whole["finalPacket"] == scene.get(f"/debates/{made['id']}/packet")
    assert len(whole["rounds"]) >= 3
    assert whole["writebackRecord"]
    assert whole["transcript"]
    rounds = folder / "rounds" / "round-1.json"
    rounds.write_text(rounds.read_text().replace("Ship it", "Sink it", 1))
    (folder / "consensus.json").write_text("{")
    damaged = scene.get(path)["consistency"]
    assert not damaged["filesComplete"]
    assert any("round-1.json" in issue for issue in damaged["issues"])
    assert any("consensus.json" in issue for issue in damaged["issues"])
    waiting = scene.create(motion(), start=False)
    assert scene.get(f"/debates/{waiting['id']}/replay")["consistency"]["issues"]


def test_export(scene: Scene) -> None:
    made = scene.create("Is <script>alert(1)</script> *bold*?", format="duel")
    scene.wait(made["id"])
    path = f"/debates/{made['id']}/export"
    kinds = {"md": "text/markdown", "html": "text/html", "json": "application/json"}
    said = scene.get(f"/debates/{made['id']}/turns")["items"]
    for kind, media in kinds.items():
        answer = scene.http.get(path, params={"as": kind})
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] == media
        wanted = f'attachment; filename="{made["id"]}.{kind}"'
        assert answer.headers["content-disposition"] == wanted
        policy = answer.headers.get_list("content-security-policy")
        assert len(policy) == 1
        assert policy[0].startswith("sandbox; default-src 'none'")
        if kind == "json":
            assert made["id"] in answer.text
            assert all(turn["text"] in answer.text for turn in said)
        else:
            assert "<script" not in answer.text
            assert all("ada in round" in answer.text for _ in said)
    assert scene.http.get(path).headers["content-type"].startswith("text/markdown")
    scene.problem(scene.http.get(path, params={"as": "pdf"}), 422, "as")
    html = scene.http.get(path, params={"as": "html"}).text
    assert "Content-Security-Policy" in html
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", html)


def test_library(scene: Scene) -> None:
    names = [rules["name"] for rules in scene.get("/formats")["items"]]
    assert sorted(names) == sorted([*FORMATS, "poll"])
    offered = scene.get("/models")
    assert "local" in {one["provider"] for one in offered["items"]}
    found = scene.get("/providers")
    assert {"openai", "claude", "gemini", "local"} == {item["provider"] for item in found["items"]}
    assert found["default"] == ["local"]
    (local,) = [item for item in found["items"] if item["provider"] == "local"]
    assert (local["works"], local["model"], local["small"]) == (True, "local:understudy", True)
    word = f"quagga{next(_count)}"
    made = scene.post("/debates/council", {**COUNCIL, "problem": f"Keep the {word}?"}, 201)
    scene.wait(made["id"])
    records = until(lambda: scene.get("/records", q=word)["items"])
    assert [record["debate_id"] for record in records] == [made["id"]]
    assert records[0]["type"] == "decision"
    assert records[0]["path"].startswith("records/decisions/")
    assert (scene.server.home / records[0]["path"]).is_file()
    assert scene.get("/records", q=f"{word} nothing")["items"] == []
    assert len(scene.get("/records", limit=1)["items"]) == 1
    scene.problem(scene.http.get("/records", params={"limit": 0}), 422, "limit")
    scene.problem(scene.http.get("/records", params={"q": "x" * 501}), 422, "q")


def test_ratings(scene: Scene) -> None:
    made = scene.get("/ratings")
    assert made["debates"] >= 0
    assert not made["older"]


def test_settings(scene: Scene) -> None:
    unset = {"models": [], "limits": {}, "overridden": []}
    assert scene.get("/settings") == unset
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"models": ["cluade"]}, "models[0]"),
        ({"limits": {"max_turns": 3}}, "limits.max_turns"),
        ({"limits": {"max_turn_seconds": 1}}, "limits.max_turn_seconds"),
        ({"base_url": "http://elsewhere"}, "base_url"),
    ]
    for asked, field in wrong:
        scene.problem(scene.http.put("/settings", json=asked), 422, field)
    assert not (scene.server.home / "settings.toml").exists()
    limits = {"max_turn_tokens": 700}
    said = scene.http.put("/settings", json={"limits": limits}).json()
    assert said == scene.get("/settings") == {**unset, "limits": limits}
    try:
        assert scene.create(start=False)["limits"]["max_turn_tokens"] == 700
    finally:
        assert scene.http.put("/settings", json={}).json() == unset


def test_the_example_debate_is_like_any_and_not_among_them(scene: Scene) -> None:
    example = scene.get("/examples/debate")
    assert example["debate"]["status"] == "completed"
    scene.problem(scene.http.get(f"/debates/{example['debate']['id']}"), 404, "id")


def test_providers_show_no_key(tmp_path: Path) -> None:
    key = "CANARY-not-to-be-shown"
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), key)
    with scene_at(tmp_path / "home", **keys) as scene:
        answer = scene.http.get("/providers")
        assert {item["provider"] for item in answer.json()["items"] if item["works"]} >= {
            "openai", "claude", "gemini",
        }  # fmt: skip
        assert key not in answer.text


def test_health(scene: Scene) -> None:
    assert scene.get("/healthz") == {"status": "ok"}
    assert scene.get("/readyz") == {
        "status": "ready", "checks": {"database": "ok", "streams": "ok"},
    }  # fmt: skip
    answer = scene.http.get("/metrics")
    assert answer.status_code == 200
    for name in ("moot_turns_total", "moot_debates{", "moot_stream_readers",
                 'http_route="/debates/{debate_id}"'):  # fmt: skip
        assert name in answer.text
    assert "debate_2" not in answer.text, "an id as a label"


# --- what a person can do ---


def _scheduled(scene: Scene) -> dict[str, Any]:
    return scene.create(motion(), start=False)


def _running(scene: Scene) -> dict[str, Any]:
    made = scene.create(motion("Hold"), host={"name": "Hana"})
    return scene.wait(made["id"], "running")


def _paused(scene: Scene) -> dict[str, Any]:
    made = _running(scene)
    asked = scene.post(f"/debates/{made['id']}/pause")
    assert asked["status"] == "running", "the step in flight is kept"
    scene.speaker.let_go(made["motion"])
    return scene.wait(made["id"], "paused")


def _failing(scene: Scene) -> dict[str, Any]:
    made = scene.create(motion("Fail"), format="duel")
    return scene.wait(made["id"], "paused")


def _ending(scene: Scene) -> dict[str, Any]:
    """With the closing summary in flight: told to stop before, it would be stopped at once."""
    made = _running(scene)
    ending = scene.post(f"/debates/{made['id']}/end")
    until(lambda: made["motion"] in scene.speaker.closing)
    return ending


def _completed(scene: Scene) -> dict[str, Any]:
    return scene.wait(scene.create(motion(), format="duel")["id"])


def _stopped(scene: Scene) -> dict[str, Any]:
    made = _scheduled(scene)
    return scene.post(f"/debates/{made['id']}/stop")


STATES: dict[str, tuple[Callable[[Scene], dict[str, Any]], str, dict[str, str]]] = {
    # how to get there, the status, and where each verb that is allowed leads to
    "scheduled": (_scheduled, "scheduled", {"start": "completed", "stop": "stopped"}),
    "running": (
        _running, "running", {"stop": "stopped", "pause": "paused", "end": "completed"},
    ),
    "paused": (
        _paused, "paused", {"resume": "completed", "end": "completed", "stop": "stopped"},
    ),
    "failing": (
        _failing, "paused",
        {"resume": "paused", "retry": "paused", "skip": "paused", "end": "completed",
         "stop": "stopped"},
    ),
    # its step in flight is its last: a stop that was accepted is obeyed all the same
    "ending": (_ending, "ending", {"end": "completed", "stop": "stopped"}),
    "completed": (_completed, "completed", {}),
    "stopped": (_stopped, "stopped", {}),
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_verbs(scene: Scene, state: str) -> None:
    make, status, allowed = STATES[state]
    still = make(scene)
    assert still["status"] == status
    before = scene.state(still["id"])
    for verb in VERBS:
        path = "/debates/{}/" + verb
        if verb not in allowed:
            refused = scene.http.post(path.format(still["id"]), json={})
            said = scene.problem(refused, 409)
            assert said["code"] == "DEBATE_ERR_STATE"
            assert scene.state(still["id"]) == before, "a refused verb changes nothing"
            continue
        made = make(scene)
        asked = scene.post(path.format(made["id"]))
        assert asked.keys() == made.keys()
        scene.speaker.let_go(made["motion"])
        then = scene.wait(made["id"], allowed[verb])
        if then["status"] == "stopped":
            assert (then["stop_reason"], bool(then["stop_requested_at"])) == (
                "stopped_by_user",
                True,
            )
        if verb == "end":
            assert then["stop_reason"] == "ended_by_user"
            last = scene.get(f"/debates/{made['id']}/turns")["items"][-1]
            assert last["kind"] == "summary"
    scene.speaker.let_go(still["motion"])


def test_a_verb_without_a_body(scene: Scene) -> None:
    made = _scheduled(scene)
    path = f"/debates/{made['id']}"
    json_type = {"Content-Type": "application/json"}
    assert scene.http.post(f"{path}/start", headers=json_type).status_code == 202
    scene.problem(scene.http.post(f"{path}/start"), 415)
    failed = _failing(scene)
    assert scene.http.post(f"/debates/{failed['id']}/retry", headers=json_type).status_code == 202


def test_stop_keeps_the_step_in_flight(scene: Scene) -> None:
    made = _running(scene)
    scene.post(f"/debates/{made['id']}/stop")
    assert scene.get(f"/debates/{made['id']}")["status"] == "running"
    scene.speaker.let_go(made["motion"])
    scene.wait(made["id"], "stopped")
    assert len(scene.get(f"/debates/{made['id']}/turns")["items"]) == 1
    time.sleep(0.3)
    assert scene.speaker.count(made["motion"]) == 1, "a stopped debate makes no further call"


def test_a_pause_is_taken_back(scene: Scene) -> None:
    made = _running(scene)
    scene.post(f"/debates/{made['id']}/pause")
    scene.post(f"/debates/{made['id']}/resume")
    scene.speaker.let_go(made["motion"])
    assert scene.wait(made["id"], "completed", "paused")["status"] == "completed"


def test_end_calls_off_what_is_being_said(scene: Scene) -> None:
    made = _running(scene)
    cancelled = scene.speaker.cancelled
    assert scene.post(f"/debates/{made['id']}/end")["status"] == "ending"
    again = scene.post(f"/debates/{made['id']}/end")
    assert again["status"] == "ending"
    assert scene.get(f"/debates/{made['id']}/turns")["items"] == []
    scene.speaker.let_go(made["motion"])
    scene.wait(made["id"], "completed")
    (summary,) = scene.get(f"/debates/{made['id']}/turns")["items"]
    assert (summary["kind"], summary["actor"]) == ("summary", "host")
    assert scene.speaker.cancelled >= cancelled
    last = scene.state(made["id"])
    scene.post(f"/debates/{made['id']}/end")
    assert scene.state(made["id"]) == last


def test_retry_with_another_model(scene: Scene) -> None:
    made = _failing(scene)
    failure = made["failure"]
    assert failure.keys() == {"code", "message", "actor", "model", "attempts", "at"}
    assert (failure["code"], failure["actor"]) == ("DEBATE_ERR_PROVIDER_AUTH", "ben")
    assert failure["message"] == "The key for Ben was refused. Set BEN_KEY."
    path = f"/debates/{made['id']}/retry"
    before = scene.state(made["id"])
    for body, field in (
        ({"modell": "x"}, "modell"),
        ({"model": 5}, "model"),
        ({"model": "x" * 201}, "model"),
    ):
        scene.problem(scene.http.post(path, json=body), 422, field)
    assert scene.state(made["id"]) == before
    asked = scene.post(path, {"model": "openai:gpt-5-mini"})
    assert asked["failure"] is None
    assert asked["participants"][1]["model"] == "openai:gpt-5-mini"
    done = scene.wait(made["id"])
    assert (done["status"], done["degraded"]) == ("completed", False)
    said = scene.get(f"/debates/{made['id']}/turns")["items"]
    assert [turn["text"] for turn in said if turn["actor"] == "ben"] == [
        "Ben, by openai:gpt-5-mini."
    ] * 3


def test_skip_goes_on_without(scene: Scene) -> None:
    made = _failing(scene)
    scene.post(f"/debates/{made['id']}/skip")
    again = scene.wait(made["id"], "paused")
    said = scene.get(f"/debates/{made['id']}/turns")["items"]
    assert [(turn["actor"], turn["status"]) for turn in said] == [
        ("ada", "ok"), ("ben", "failed"), ("ada", "ok"),
    ]  # fmt: skip
    assert said[1]["error_code"] == "DEBATE_ERR_PROVIDER_AUTH"
    assert again["degraded"]


def test_a_debate_that_failed_is_final(tmp_path: Path) -> None:
    with scene_at(tmp_path / "home") as scene:
        made = scene.post("/debates/council", {**COUNCIL, "problem": "Mute?"}, 201)
        done = scene.wait(made["id"])
        assert done["status"] == "failed"
        before = scene.state(made["id"])
        for verb in VERBS:
            scene.problem(scene.http.post(f"/debates/{made['id']}/{verb}", json={}), 409)
        assert scene.state(made["id"]) == before


# --- refusals ---


def test_a_plan_is_told_and_nothing_is_made(scene: Scene) -> None:
    before = scene.http.get("/debates").json()["items"]
    draft = {"motion": "Should we ship on Fridays?", "format": "classic"}
    planned = scene.http.post("/plan", json=draft).json()
    assert planned["total"] == len(planned["steps"]) == 22
    assert scene.http.get("/debates").json()["items"] == before
    assert scene.http.post("/plan", json={**draft, "format": "x"}).json()["field"] == "format"
    made = scene.http.post("/debates", json={**draft, "start": False}).json()["id"]
    assert scene.http.get(f"/debates/{made}/plan").json() == planned


def test_an_unknown_id_is_404_everywhere(scene: Scene) -> None:
    document = scene.http.get("/openapi.json").json()
    tried = 0
    for path, operations in document["paths"].items():
        if "{" not in path or path.endswith(("/order", "/{template_id}")):
            continue  # that needs a body first, and this may be made under any name
        for method in operations:
            for wrong in (UNKNOWN, "debate_1", "x", UNKNOWN.upper()):
                every = ("debate_id", "conversation_id", "station_id", "agent_id")
                known = {**dict.fromkeys(every, wrong), "source_id": "S1", "link_id": "a" * 12}
                answer = scene.do(method, path.format(**known))
                assert wrong in scene.problem(answer, 404, "id")["detail"]
                tried += 1
    assert tried == 4 * 50


def test_documents_are_sent_read_and_refused(scene: Scene) -> None:
    sent = scene.http.post("/sources", files={"file": ("rfc.md", b"# RFC\n\nWe move in winter.")})
    assert sent.status_code == 200
    upload = sent.json()
    assert (upload["title"], upload["kind"], upload["passages"]) == ("rfc.md", "markdown", 1)
    made = scene.create(format="duel", sources=[{"upload": upload["upload"], "title": "RFC"}])
    path = f"/debates/{made['id']}/sources"
    assert [one["title"] for one in scene.get(path)["items"]] == ["RFC"]
    assert scene.get(f"{path}/S1")["text"][0]["text"].endswith("We move in winter.")
    scene.problem(scene.http.get(f"{path}/S2"), 404, "source_id")
    for given, field in (
        ([{"url": "http://example.com/"}], "sources[0].url"),
        ([{"upload": "upload_x"}], "sources[0].upload"),
    ):
        asked = {"motion": "So?", "sources": given}
        scene.problem(scene.http.post("/debates", json=asked), 422, field)
    council = {"problem": "So?", "output_type": "decision", "sources": [{"path": "/etc/passwd"}]}
    scene.problem(scene.http.post("/debates/council", json=council), 422, "sources[0].path")
    key = b"AWS = 'AKIAABCDEFGHIJKLMNOP'"
    refused = scene.http.post("/sources", files={"file": ("keys.txt", key)})
    assert "keys.txt:1" in scene.problem(refused, 422, "file")["detail"]
    allowed = scene.http.post(
        "/sources", files={"file": ("keys.txt", key)}, data={"allow_secrets": "true"}
    )
    assert allowed.status_code == 200
    scene.problem(scene.http.post("/sources", files={"other": ("a.txt", b"x")}), 422, "file")
    scene.problem(scene.http.post("/sources", files={"file": ("a.bin", b"\0\1")}), 422, "file")


def test_people_speak_and_debates_are_forked_run_again_and_deleted(scene: Scene) -> None:
    seats = [{"name": "Me", "model": "human"}, {"name": "Ben"}]
    made = scene.create(format="duel", participants=seats, limits={"max_turns": 2})
    path = f"/debates/{made['id']}"
    until(lambda: scene.get(path)["waiting_for"] == "me")
    scene.problem(scene.http.delete(path), 409)
    assert scene.get(f"{path}/asked")["asked"]["seat"] == "me"
    said = scene.post(f"{path}/say", {"text": "I say so.", "seat": "me"}, 202)
    assert said["progress"]["done"] == 1
    scene.wait(made["id"])
    scene.problem(scene.http.post(f"{path}/say", json={"text": "x"}), 409)
    seq = scene.get(f"{path}/turns")["items"][0]["seq"]
    fork = scene.post(f"{path}/fork", {"after": seq}, 201)
    assert fork["forked_from"] == {"id": made["id"], "seq": seq}
    scene.wait(fork["id"])
    again = scene.post(f"{path}/rerun", {}, 201)
    until(lambda: scene.get(f"/debates/{again['id']}")["waiting_for"] == "me")
    assert [scene.http.delete(path).status_code for _ in range(2)] == [204, 204]
    scene.problem(scene.http.get(path), 404, "id")


def test_debates_are_kept_in_order(scene: Scene, tmp_path: Path) -> None:
    """Labels, templates, links, questions, and a debate as a zip."""
    made = scene.create("Should we move the ledger?", format="duel", limits={"max_turns": 2})
    path = f"/debates/{made['id']}"
    scene.wait(made["id"])
    labels = {"title": "Ledger", "tags": ["billing"], "archived": True}
    named = scene.http.patch(path, json=labels).json()
    assert {name: named[name] for name in labels} == labels
    assert "billing" in scene.get("/debates/tags")["items"]
    assert scene.get("/debates", tag="billing")["items"] == []
    (shown,) = scene.get("/debates", tag="billing", archived="yes")["items"]
    assert shown["id"] == made["id"]
    asked = scene.post(f"{path}/ask", {"question": "Why?"}, 201)
    assert asked["question"] == "Why?"
    assert [one["question"] for one in scene.get(f"{path}/followups")["items"]] == ["Why?"]
    link = scene.post(f"{path}/links", {}, 201)
    assert [one["id"] for one in scene.get(f"{path}/links")["items"]] == [link["id"]]
    guest = scene.http.get("/guest", headers={"Authorization": f"Bearer {link['token']}"})
    assert guest.json()["debate_id"] == made["id"]
    assert scene.http.delete(f"{path}/links/{link['id']}").status_code == 204
    scene.problem(scene.http.delete(f"{path}/links/{link['id']}"), 404, "link")
    whole = scene.http.get(f"{path}/export", params={"as": "zip"})
    assert whole.headers["content-type"] == "application/zip"
    assert scene.http.delete(path).status_code == 204
    sent = scene.http.post("/debates/import", files={"file": ("debate.zip", whole.content)})
    scene.problem(sent, 409)  # its files may still be written by whoever was at it
    with scene_at(tmp_path / "other") as other:
        there = other.create(format="duel", limits={"max_turns": 2})
        other.wait(there["id"])
        whole = other.http.get(f"/debates/{there['id']}/export", params={"as": "zip"})
    zipped = {"file": ("debate.zip", whole.content)}
    assert scene.http.post("/debates/import", files=zipped).status_code == 201
    assert scene.get(f"/debates/{there['id']}")["motion"] == there["motion"]
    scene.problem(scene.http.post("/debates/import", files=zipped), 409)


def test_set_ups_are_saved(scene: Scene) -> None:
    kept = {"format": "duel", "participants": [{"name": "Ada"}, {"name": "Ben"}]}
    saved = scene.http.put("/templates/quick", json=kept)
    assert saved.status_code == 200, saved.text
    assert scene.get("/templates/quick")["asked"] == saved.json()["asked"]
    assert [one["id"] for one in scene.get("/templates")["items"]] == ["quick"]
    scene.problem(scene.http.put("/templates/quick", json={"format": 5}), 422, "format")
    assert scene.http.delete("/templates/quick").status_code == 204
    scene.problem(scene.http.get("/templates/quick"), 404, "id")


def test_other_methods_and_other_paths(scene: Scene) -> None:
    document = scene.http.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        at = path.format(
            debate_id=UNKNOWN,
            conversation_id=UNKNOWN,
            station_id="x",
            agent_id="x",
            source_id="S1",
            link_id="x",
            template_id="x",
        )
        for method in {"get", "put", "patch", "delete", "post"} - set(operations):
            ours = {*operations}
            if path in ("/debates/council", "/debates/import", "/debates/models", "/debates/tags"):
                ours |= {"get", "patch", "delete"}
            if path.endswith(("/import", "/export")) and path.startswith(("/agents", "/stations")):
                ours |= {"get", "patch", "delete"}
            if method in ours:
                continue  # a GET there reads as a debate's id, or an agent's
            answer = scene.do(method, at)
            said = scene.problem(answer, 405)
            assert {verb.lower() for verb in answer.headers["allow"].split(", ")} == ours
            assert method.upper() in said["detail"]
    for path in (
        "/nothing",
        "/debates/",
        f"/debates/{UNKNOWN}/",
        f"/debates/{UNKNOWN}/x",
        "/healthz/",
    ):
        scene.problem(scene.http.get(path), 404)
    scene.problem(scene.http.get("/debates/council"), 404, "id")


WRONG: list[tuple[Any, str]] = [
    ({}, "motion"),
    ({"motion": ""}, "motion"),
    ({"motion": " \n\u200b "}, "motion"),
    ({"motion": 5}, "motion"),
    ({"motion": "x" * 4001}, "motion"),
    ({"motion": "x", "format": 5}, "format"),
    ({"motion": "x", "colour": "red"}, "colour"),
    ({"motion": "x", "participants": {}}, "participants"),
    ({"motion": "x", "participants": [{"name": str(n)} for n in range(13)]}, "participants"),
    ({"motion": "x", "participants": [{"name": ""}]}, "participants[0].name"),
    ({"motion": "x", "participants": [{"name": "A"}, {"name": "a"}]}, "participants[1].name"),
    ({"motion": "x", "participants": [{"name": "A", "stance": "up"}]}, "participants[0].stance"),
    ({"motion": "x", "participants": [{"name": "A", "bio": "x" * 2001}]}, "participants[0].bio"),
    ({"motion": "x", "host": "Hana"}, "host"),
    ({"motion": "x", "options": {"rounds": "3"}}, "options.rounds"),
    ({"motion": "x", "options": {"rounds": 10**30}}, "options.rounds"),
    ({"motion": "x", "options": {"colour": 3}}, "options.colour"),
    ({"motion": "x", "limits": {"max_turns": 0}}, "limits.max_turns"),
    ({"motion": "x", "limits": {"max_turns": 2001}}, "limits.max_turns"),
    ({"motion": "x", "limits": {"max_turns": True}}, "limits.max_turns"),
    ({"motion": "x", "limits": {"max_turn_seconds": 4.9}}, "limits.max_turn_seconds"),
    ({"motion": "x", "limits": {"max_turn_seconds": "nan"}}, "limits.max_turn_seconds"),
    ({"motion": "x", "limits": {"max_turn_tokens": 127}}, "limits.max_turn_tokens"),
    ({"motion": "x", "limits": {"max_cost_usd": -1}}, "limits.max_cost_usd"),
    ({"motion": "x", "on_failure": "explode"}, "on_failure"),
    ({"motion": "x", "start": "yes"}, "start"),
    ([], "body"),
    ("text", "body"),
]  # fmt: skip


def test_wrong_input_names_its_field(scene: Scene) -> None:
    before = scene.get("/debates", limit=1)["items"]
    for asked, field in WRONG:
        answer = scene.http.post("/debates", json=asked)
        assert scene.problem(answer, 422, field)["code"] == "DEBATE_ERR_INPUT", asked
    for text in ("", "{", "nul", '{"motion": NaN}', "\ufeff{}"):
        answer = scene.http.post(
            "/debates", content=text.encode(), headers={"Content-Type": "application/json"}
        )
        assert answer.json()["field"] in ("body", "motion"), answer.text
        scene.problem(answer, 422, answer.json()["field"])
    scene.problem(
        scene.http.post("/debates", json={"motion": "x", "format": "cage"}), 422, "format"
    )
    assert scene.get("/debates", limit=1)["items"] == before


COUNCIL_WRONG: list[tuple[Any, str]] = [
    ({}, "problem"),
    ({"problem": " ", "output_type": "decision"}, "problem"),
    ({"problem": 5, "output_type": "decision"}, "problem"),
    ({"problem": "x" * 4001, "output_type": "decision"}, "problem"),
    ({"problem": "x"}, "output_type"),
    ({"problem": "x", "outputType": "poem"}, "output_type"),
    ({"problem": "x", "output_type": ["decision"]}, "output_type"),
    ({**COUNCIL, "max_turn_seconds": 121}, "max_turn_seconds"),
    ({**COUNCIL, "maxTurnSeconds": "x"}, "max_turn_seconds"),
    ({**COUNCIL, "max_turn_tokens": 4097}, "max_turn_tokens"),
    ({**COUNCIL, "constraints": "x"}, "constraints"),
    ({**COUNCIL, "constraints": ["x"] * 21}, "constraints"),
    ({**COUNCIL, "constraints": [" "]}, "constraints"),
    ({**COUNCIL, "participants": "x"}, "participants"),
    ({**COUNCIL, "participants": [5]}, "participants[0]"),
    ({**COUNCIL, "writeback_record_type": "poem"}, "writeback_record_type"),
    ({**COUNCIL, "colour": "red"}, "colour"),
    ([], "body"),
]  # fmt: skip


def test_a_wrong_council_names_its_field(scene: Scene) -> None:
    before = scene.get("/debates", limit=1)["items"]
    for asked, field in COUNCIL_WRONG:
        answer = scene.http.post("/debates/council", json=asked)
        assert answer.status_code == 422, (asked, answer.text)
        assert answer.json().get("field") == field, (asked, answer.text)
        scene.problem(answer, 422, field)
    for text in ("", "{", '{"problem": NaN}', "\ufeff{}"):
        answer = scene.http.post(
            "/debates/council", content=text.encode(), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422, (text, answer.text)
        scene.problem(answer, 422, answer.json()["field"])
    assert scene.get("/debates", limit=1)["items"] == before


def test_wrong_queries_name_their_field(scene: Scene) -> None:
    for query, field in (
        ({"status": "sleeping"}, "status[0]"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "-1"}, "cursor"),
        ({"cursor": str(2**63)}, "cursor"),
        ({"cursor": "\u0661"}, "cursor"),
        ({"q": "x" * 501}, "q"),
        ({"format": "x" * 101}, "format"),
    ):
        answer = scene.http.get("/debates", params=query)
        assert answer.json().get("field") == field, answer.text
        scene.problem(answer, 422, field)
    assert scene.get("/debates", format="cage")["items"] == []
    for wrong in ("x", "-1", "1.5", "\u0661", "+1", "1 0"):
        path = f"/debates/{scene.create(motion(), start=False)['id']}/events"
        scene.problem(scene.http.get(path, params={"last_event_id": wrong}), 400)
        header = {b"Last-Event-ID": wrong.encode()}
        scene.problem(scene.http.get(path, headers=header), 400)


# --- switched off ---


def test_a_format_that_is_switched_off_is_nowhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with scene_at(home) as scene:
        made = scene.post("/debates/council", COUNCIL, 201)
        scene.wait(made["id"])
        duel = scene.create("Should we ship?", format="duel")
        scene.wait(duel["id"])
        until(lambda: scene.get("/records")["items"])
        whole = scene.get(f"/debates/{made['id']}")
    with scene_at(home, disabled_formats=("council",)) as scene:
        assert "council" not in [rules["name"] for rules in scene.get("/formats")["items"]]
        assert [item["id"] for item in scene.get("/debates")["items"]] == [duel["id"]]
        assert scene.get("/debates", format="council")["items"] == []
        assert scene.get("/debates", q="Should we move")["items"] == []
        assert scene.get("/records")["items"] == []
        document = scene.http.get("/openapi.json").json()
        refused: list[httpx2.Response] = []
        for path, operations in document["paths"].items():
            if path.startswith("/debates/{debate_id}"):
                at = path.format(debate_id=made["id"], source_id="S1", link_id="a" * 12)
                refused += [scene.do(method, at) for method in operations]
        refused.append(scene.http.post("/debates/council", json=COUNCIL))
        other = scene.http.post("/debates", json={"motion": "x", "format": "council"})
        scene.problem(other, 422, "format")
        for answer in refused:
            assert answer.status_code == 404, (answer.request.url, answer.text)
            assert "Should we move" not in answer.text
            assert answer.headers["content-type"] == "application/problem+json"
        with scene.http.stream("GET", "/events") as feed:
            assert feed.status_code == 200
    with scene_at(home) as scene:
        assert scene.get(f"/debates/{made['id']}") == whole, "its data stays where it is"
        assert scene.get(f"/debates/{made['id']}/replay")["consistency"]["issues"] == []
        assert scene.get("/records")["items"]


# --- the acceptance list of the first seed ---


def test_the_first_seed(scene: Scene) -> None:
    """No duplicate turns under retries; stop; reconnect by Last-Event-ID; the list; all of it."""
    words = motion("Hold")
    asked = {
        "motion": words,
        "options": {"rounds": 2},
        "participants": [{"name": "Ada"}, {"name": "Ben"}],
    }
    key = {"Idempotency-Key": f"seed-{words[:8].replace(' ', '-')}"}
    with ThreadPoolExecutor(10) as pool:
        made = {
            one["id"]
            for one in pool.map(lambda _: scene.post("/debates", asked, 201, **key), range(10))
        }
    (debate_id,) = made
    path = f"/debates/{debate_id}"

    # a reader hears the beginning, and is cut off
    with scene.http.stream("GET", f"{path}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        heard: list[dict[str, str]] = []
        for event in events(stream.iter_lines()):
            heard.append(event)
            if json.loads(event["data"]).get("status") == "running":
                break
    assert [event["id"] for event in heard] == ["1", "2"]
    scene.speaker.let_go(words)
    done = scene.wait(debate_id)
    assert done["status"] == "completed"

    # it comes back: all that it missed, in order, once, and the end
    with scene.http.stream("GET", f"{path}/events", headers={"Last-Event-ID": "2"}) as stream:
        missed = list(events(stream.iter_lines()))
    assert missed[-1] == {"event": "end", "data": "{}"}
    durable = [event for event in missed if "id" in event]
    assert [int(event["id"]) for event in durable] == list(range(3, done["last_seq"] + 1))
    said = scene.get(f"{path}/turns")["items"]
    assert [json.loads(event["data"]) for event in durable if event["event"] == "turn"] == said

    # however often it was asked for, each spoke once in each round
    slots = [(turn["round"], turn["actor"]) for turn in said]
    assert slots == [(1, "ada"), (1, "ben"), (2, "ada"), (2, "ben")]
    assert scene.speaker.count(words) == 4
    over = scene.http.get(f"{path}/events", headers={"Last-Event-ID": str(done["last_seq"])})
    assert over.status_code == 204

    # another is stopped: the step in flight is kept, and nothing is queued after it
    other = _running(scene)
    seen: list[dict[str, str]] = []

    def listen() -> None:
        with scene.http.stream("GET", f"/debates/{other['id']}/events") as stream:
            seen.extend(events(stream.iter_lines()))

    listener = threading.Thread(target=listen)
    listener.start()
    scene.post(f"/debates/{other['id']}/stop")
    scene.speaker.let_go(other["motion"])
    stopped = scene.wait(other["id"], "stopped")
    listener.join(10)
    assert not listener.is_alive(), "the stream of a stopped debate ends"
    assert seen[-1]["event"] == "end"
    turns = [json.loads(event["data"]) for event in seen if event["event"] == "turn"]
    assert turns == scene.get(f"/debates/{other['id']}/turns")["items"]
    assert len(turns) == scene.speaker.count(other["motion"]) == 1
    assert stopped["stop_reason"] == "stopped_by_user"

    # the list shows both with status and progress, and opens into a complete transcript
    items = {item["id"]: item for item in scene.get("/debates", limit=200)["items"]}
    assert (items[debate_id]["status"], items[debate_id]["progress"]) == (
        "completed",
        {"done": 4, "total": 4},
    )
    assert (items[other["id"]]["status"], items[other["id"]]["progress"]["done"]) == ("stopped", 1)
    whole = scene.http.get(f"{path}/export", params={"as": "md"}).text
    assert all(turn["text"] in whole for turn in said)


def test_every_route_was_asked(scene: Scene) -> None:
    """Last in this file: no route of the document went without an answer of each kind it gives."""
    document = scene.http.get("/openapi.json").json()
    asked = {(method, path) for path, known in document["paths"].items() for method in known}
    asked -= {("get", "/events")}  # has no end; tests of the stream read it
    elsewhere = (
        "/agents",
        "/stations",
        "/examples/stations",
        "/hooks",
        "/on-air",
    )  # test_stations_http.py asks those
    asked = {(method, path) for method, path in asked if not path.startswith(elsewhere)}
    good = {(method, path) for method, path, status in scene.contract.seen if status < 300}
    assert asked - good == set()
