"""What an attacker may try against a running server, each as a test (§12)."""

import asyncio
import http.client
import json
import os
import re
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from moot.api import security
from moot.api import server as api_server
from moot.core.clean import clean, visible
from moot.engine.service import Service
from moot.ports.model_call import Call, Reply, Say
from moot.testing.speaker import ScriptedSpeaker
from tests import patience
from tests.served import Served, served, started

TOKEN = "correct-horse-battery-staple-42"  # noqa: S105  of this test alone
JSON = ("Content-Type", "application/json")
SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
BODIES = {
    "/debates": {"motion": "An attack", "start": False},
    "/debates/council": {"problem": "An attack", "output_type": "decision"},
    "/agents": {"name": "An attack"},
    "/agents/import": {"toml": '[[agents]]\nname = "An attack"\n'},
    "/stations": {"name": "An attack"},
    "/stations/import": {"toml": '[[stations]]\nname = "An attack"\n'},
}
SENDS = ("POST", "PUT", "PATCH")
LEAST_CONNECTIONS, CONNECTIONS = 2_000, 5_000
HEAD_SECONDS, BODY_SECONDS = 10.0, 20.0  # as long as a client may take

Headers = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True)
class Answer:
    """What came back; of a stream, its head."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def problem(self, *statuses: int) -> dict[str, Any]:
        assert self.status in statuses, (self.status, self.body[:300])
        assert self.headers["content-type"] == "application/problem+json", self.body[:300]
        said = json.loads(self.body)
        assert said["status"] == self.status
        return said


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=patience.seconds())


def answer(sock: socket.socket, method: str = "GET") -> Answer:
    """The next answer on a connection."""
    response = http.client.HTTPResponse(sock, method=method)
    response.begin()
    stream = "event-stream" in (response.headers["content-type"] or "")
    body = b"" if stream else response.read()
    return Answer(response.status, response.headers, body)


def head(method: str, path: str, headers: Headers) -> bytes:
    lines = [f"{method} {path} HTTP/1.1".encode()]
    for name, value in headers:
        text = value if isinstance(value, bytes) else value.encode("latin-1")
        lines.append(name.encode() + b": " + text)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def ask(port: int, method: str, path: str, headers: Headers = (), body: bytes = b"") -> Answer:
    """One request, byte by byte as given: nobody normalises its path or its headers."""
    given = list(headers)
    if body:
        given.append(("Content-Length", str(len(body))))
    with closing(connect(port)) as sock:
        sock.sendall(head(method, path, given) + body)
        return answer(sock, method)


def host(port: int) -> tuple[str, str]:
    return ("Host", f"127.0.0.1:{port}")


@dataclass
class Scene:
    """A server with one debate that waits, and its routes."""

    server: Served
    debate_id: str
    routes: list[tuple[str, str]]

    @property
    def port(self) -> int:
        return self.server.port

    def ask(self, method: str, path: str, *headers: tuple[str, str], body: bytes = b"") -> Answer:
        return ask(self.port, method, path, [host(self.port), *headers], body)

    def state(self) -> Any:
        get = self.server.http.get
        one = get(f"/debates/{self.debate_id}").json()
        lists = [get(f"/{kind}").json()["items"] for kind in ("debates", "agents", "stations")]
        return one, [[item["id"] for item in items] for items in lists]

    def body(self, path: str) -> bytes:
        return json.dumps(BODIES.get(path, {})).encode()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    with served(tmp_path_factory.mktemp("attacks") / "home", speaker=ScriptedSpeaker()) as server:
        yield scene_of(server)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    home = tmp_path_factory.mktemp("guarded") / "home"
    with served(home, speaker=ScriptedSpeaker(), token=TOKEN) as server:
        yield scene_of(server)


def scene_of(server: Served) -> Scene:
    """With every route of the document, and those that are not in it; a station's debate waits."""
    for name in ("ada", "ben"):
        server.post("/agents", name=name)
    server.post("/stations", name="air", agents=["ada", "ben"], motions=["An old motion"])
    made = server.post("/stations/air/conversations", at="2099-01-01T00:00").json()["id"]
    document = server.http.get("/openapi.json").json()
    known = {"debate_id": made, "conversation_id": made, "station_id": "air", "agent_id": "ada"}
    known |= {"source_id": "S1", "link_id": "a" * 12, "template_id": "mine"}
    routes = [
        (method.upper(), path.format(**known))
        for path, operations in document["paths"].items()
        for method in operations
    ]
    more = ("/", "/openapi.json", "/docs", "/docs/begin.js", "/docs/swagger-ui.css", "/nothing")
    return Scene(server, made, [*routes, *(("GET", path) for path in more)])


# --- whose page it is ---


def hosts(port: int) -> list[list[tuple[str, str | bytes]]]:
    wrong = [
        "evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}",
        f"127.0.0.1:{port}.evil.example", f"evil.example@127.0.0.1:{port}", f"127.0.0.1 :{port}",
        f"127.0.0.1:{port} evil.example", f"127.0.0.1,evil.example:{port}", f"127.0.0.1:{port}/",
        "127.0.0.1:999999", "127.0.0.1:", "", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433",  # noqa: S104
        "localhost.", "127.1", "127.0.0.1\t",
    ]  # fmt: skip
    one: list[list[tuple[str, str | bytes]]] = [[("Host", name)] for name in wrong[:-1]]
    return [
        *one,
        [],
        [host(port), host(port)],
        [host(port), ("Host", "evil.example")],
        [("Host", f"127.0.0.1:{port}\r\n evil.example")],
        [("Host", f"127.0.0.1\r{port}")],
        [("Host", b"127.0.0.1\x00")],
        [("Host", b"\xff\xfe")],
    ]


def test_a_foreign_host_is_refused_everywhere(scene: Scene) -> None:
    before = scene.state()
    for headers in hosts(scene.port):
        routes = scene.routes if headers in hosts(scene.port)[:3] else scene.routes[:3]
        for method, path in routes:
            body = scene.body(path) if method in SENDS else b""
            got = ask(scene.port, method, path, [*headers, JSON], body)
            said = got.problem(400, 421)
            assert said["code"] in ("HTTP_ERR_HOST", "HTTP_ERR_REQUEST"), (headers, path)
    assert scene.state() == before
    for name in ("127.0.0.1", "localhost", "LOCALHOST:1", f"[::1]:{scene.port}"):
        assert ask(scene.port, "GET", "/healthz", [("Host", name)]).status == 200, name


def test_http_1_0_without_a_host_is_refused(scene: Scene) -> None:
    with closing(connect(scene.port)) as sock:
        sock.sendall(b"GET /debates HTTP/1.0\r\n\r\n")
        answer(sock).problem(400)


def test_a_foreign_origin_is_refused_everywhere(scene: Scene) -> None:
    before = scene.state()
    own = f"http://127.0.0.1:{scene.port}"
    wrong = [
        "http://evil.example", "null", f"https://127.0.0.1.evil.example:{scene.port}",
        f"http://127.0.0.1:{scene.port + 1}", "http://127.0.0.1", f"http://localhost:{scene.port}",
        f"ftp://127.0.0.1:{scene.port}", f"http://evil.example@127.0.0.1:{scene.port}", "", "x",
        f"chrome-extension://127.0.0.1:{scene.port}", "http://[", f"{own}, http://evil.example",
    ]  # fmt: skip
    for place, origin in enumerate(wrong):
        for method, path in scene.routes if place < 4 else scene.routes[:3]:
            body = scene.body(path) if method in SENDS else b""
            got = scene.ask(method, path, JSON, ("Origin", origin), body=body)
            assert got.problem(403)["code"] == "HTTP_ERR_ORIGIN", (origin, path)
            assert "access-control-allow-origin" not in got.headers
    for pair in (("http://evil.example", own), (own, "http://evil.example")):
        both = [("Origin", origin) for origin in pair]
        scene.ask("GET", "/debates", *both).problem(400, 403)
    assert scene.state() == before
    assert scene.ask("GET", "/debates", ("Origin", own)).status == 200


def test_what_a_form_of_another_site_can_send_is_refused(scene: Scene) -> None:
    before = scene.state()
    kinds: list[list[tuple[str, str]]] = [
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "multipart/form-data; boundary=x")],
        [("Content-Type", "text/plain; application/json")],
        [("Content-Type", "text/json")],
        [("Content-Type", "application/jsonp")],
        [("Content-Type", "")],
        [],
    ]
    posts = [route for route in scene.routes if route[0] in SENDS]
    for path in ("/sources", "/debates/import"):  # take a form, and only from a page of their own
        posts.remove(("POST", path))
    assert len(posts) == 33
    for method, path in posts:
        for kind in kinds:
            for body in (scene.body(path), b""):
                got = scene.ask(method, path, *kind, body=body)
                assert got.problem(415)["code"] == "HTTP_ERR_TYPE", (path, kind, body)
    assert scene.state() == before
    fine = scene.ask(
        "POST",
        f"/debates/{scene.debate_id}/pause",
        ("Content-Type", "Application/JSON ; charset=utf-8"),
    )
    assert fine.status == 409


# --- who may ask ---


PUBLIC = ("/", "/openapi.json", "/docs", "/docs/begin.js", "/docs/swagger-ui.css")
SNEAKY = (
    "/docs/../debates", "/docs/%2e%2e/debates", "/docs%2f..%2fdebates", "/docs/..%2fmetrics",
    "/d/../debates", "/d/%2e%2e/metrics", "/assets/../debates", "/assets/%2e%2e%2fdebates",
    "//debates", "/debates/", "/./debates", "/docs;/../debates", "/openapi.json/../debates",
    "/debates%3f", "/Debates", "/%64ebates?x=/docs",
)  # fmt: skip


def test_without_the_token_nothing_is_told(guarded: Scene) -> None:
    before = guarded.state()
    private = [
        (method, path)
        for method, path in guarded.routes
        if path not in PUBLIC and not path.startswith("/on-air/")
    ]
    assert len(private) == 83
    wrong: list[list[tuple[str, str]]] = [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", "Bearer wrong")],
        [("Authorization", f"Bearer {TOKEN[:-1]}")],
        [("Authorization", f"Bearer {TOKEN}x")],
        [("Authorization", f"Bearer {TOKEN.upper()}")],
        [("Authorization", f"Basic {TOKEN}")],
        [("Authorization", TOKEN)],
        [("Authorization", "Bearer \xff\xfe")],
        [("Cookie", f"token={TOKEN}")],
        [("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1")],
    ]
    for place, headers in enumerate(wrong):
        for method, path in private if place in (0, 4, 5) else private[:3]:
            body = guarded.body(path) if method in SENDS else b""
            got = guarded.ask(method, path, JSON, *headers, body=body)
            said = got.problem(401)
            assert got.headers["www-authenticate"].startswith("Bearer"), path
            assert TOKEN[:8] not in json.dumps(said)
            assert guarded.debate_id not in json.dumps(said)
    for path in (*PUBLIC, *SNEAKY):  # a page that holds no debate, or nothing at all
        got = guarded.ask("GET", path)
        assert got.status in (200, 400, 401, 404), path
        assert guarded.debate_id.encode() not in got.body, path
        assert b"moot_debates" not in got.body, path
        assert TOKEN.encode() not in got.body, path
        assert guarded.ask("POST", path, JSON, body=b"{}").status in (400, 401), path
    for name in ("token", "access_token", "MOOT_TOKEN", "authorization"):
        guarded.ask("GET", f"/debates?{name}={TOKEN}").problem(401)
    for method in ("OPTIONS", "HEAD", "PUT", "TRACE"):
        assert guarded.ask(method, "/debates").status in (400, 401), method
    assert guarded.state() == before


def test_a_person_who_opens_a_call_gets_its_screen_and_nothing_of_the_call(guarded: Scene) -> None:
    """Also without the token, because a browser sends none: the screen asks for it."""
    navigation = (("Accept", "text/html,*/*;q=0.8"), ("Sec-Fetch-Mode", "navigate"))
    screens = {
        "/debates": "/",
        f"/debates/{guarded.debate_id}": f"/d/{guarded.debate_id}",
        f"/debates/{guarded.debate_id}/replay": f"/d/{guarded.debate_id}/replay",
        "/records": "/",
        "/formats": "/new",
        "/providers": "/studio/settings",
        "/settings": "/studio/settings",
        "/agents": "/studio/agents",
        "/stations": "/studio/stations",
        "/stations/air": "/studio/stations/air",
    }
    for path, screen in screens.items():
        got = guarded.ask("GET", path, *navigation)
        assert (got.status, got.headers["location"], got.body) == (302, screen, b""), path
        assert got.headers["cache-control"] == "no-store"
        assert guarded.ask("GET", screen, *navigation).status == 200
        for lacking in (navigation[:1], navigation[1:]):  # a program
            guarded.ask("GET", path, *lacking).problem(401)
        guarded.ask("POST", path, JSON, *navigation).problem(401)
    for _, path in (one for one in guarded.routes if one[0] == "GET"):  # the others are no screen
        if path not in screens and path not in PUBLIC and not path.startswith("/on-air/"):
            guarded.ask("GET", path, *navigation).problem(401)


def test_with_the_token_everything_is_told(guarded: Scene) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        right = ("Authorization", f"{scheme} {TOKEN}")
        for method, path in guarded.routes:
            if method == "GET":
                got = guarded.ask(method, path, right)
                assert got.status != 401, path
    fine = guarded.ask("POST", f"/debates/{guarded.debate_id}/pause", right, JSON)
    assert fine.status == 409


def test_an_open_address_needs_a_token(tmp_path: Path) -> None:
    """It does not start, says so in a sentence, and makes no home."""

    def begin(place: int, address: str, token: str | None) -> tuple[int, str, str]:
        home = tmp_path / str(place)
        env = {**os.environ, "MOOT_HOME": str(home)}
        env.pop("MOOT_TOKEN", None)
        if token is not None:
            env["MOOT_TOKEN"] = token
        done = subprocess.run(
            [sys.executable, "-m", "moot", "serve", "--host", address, "--port", "0"],
            env=env, capture_output=True, text=True, timeout=patience.seconds(), check=False,
        )  # fmt: skip
        assert not home.exists()
        return done.returncode, done.stdout, done.stderr

    cases = [("0.0.0.0", None), ("0.0.0.0", "short"), ("::", "")]  # noqa: S104
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(begin, n, *case) for n, case in enumerate(cases)]
        for job, (_, token) in zip(jobs, cases, strict=True):
            code, out, said = job.result()
            assert (code, out) == (2, ""), said
            assert "MOOT_TOKEN" in said
            assert "Traceback" not in said
            assert ("too short" in said) == (token == "short")  # noqa: S105


# --- ids and paths ---


def ids(right: str) -> list[str]:
    arabic = "debate_" + "٢٠٢٦١١١٥_١٢٠٠٠٠_abc234"
    return [
        "../../../secret.txt", "..%2f..%2f..%2fsecret.txt", "%2e%2e%2f%2e%2e%2fsecret.txt",
        "%2e%2e", "..", ".", "%2e", "%252e%252e%252f", "..%5c..%5c", "....//", "%2fetc%2fpasswd",
        "%00", f"{right}%00", f"{right}%00.json", f"{right}%0a", f"%0a{right}", f"{right}%20",
        f"{right}%0d%0aSet-Cookie:%20a=b", f"{right}%2f..", f"{right};x", f"{right}.", "debate_..",
        "debate_../..", "debate_..%2f..%2f..%2f_aaaaaa", "debate_%2e%2e_%2e%2e_aaaaaa",
        right.upper(), right.replace("debate", "Debate"), right + "a", right[:-1], "x" * 10_000,
        "%41" * 3_000, quote(arabic), quote(right.replace("d", "ԁ", 1)), "%ff%fe", "%", "%zz",
        "%c0%ae%c0%ae%c0%af", "'%20OR%201=1--", "*", "debate_20261115_120000_......", "~root",
        "debate_20261115_120000_%2e%2e%2f%2e%2e%2f",
    ]  # fmt: skip


def tree(top: Path) -> dict[str, tuple[int, int]]:
    """Every file below, but for the database's own."""
    found: dict[str, tuple[int, int]] = {}
    for place, folders, names in os.walk(top):
        for name in [*folders, *names]:
            path = Path(place, name)
            if ".agentic" not in path.parts and path.name != "serve.log":
                seen = path.lstat()
                found[str(path)] = (seen.st_size, seen.st_mtime_ns)
    return found


def test_an_id_is_no_path(scene: Scene) -> None:
    top = scene.server.home.parent
    (top / "secret.txt").write_text("S3CRET")
    scene.server.home.mkdir(exist_ok=True)  # where the database is elsewhere, nothing was filed yet
    (scene.server.home / "secret.txt").write_text("S3CRET")
    before, state = tree(top), scene.state()
    on_id = [(method, path) for method, path in scene.routes if scene.debate_id in path]
    assert len(on_id) == 39

    def attack(wrong: str) -> None:
        for method, path in on_id:
            at = path.replace(scene.debate_id, wrong)
            got = scene.ask(method, at, JSON, body=b"{}" if method in SENDS else b"")
            assert got.status in (400, 404, 405, 421), (wrong, path, got.status, got.body[:200])
            assert b"S3CRET" not in got.body
            assert b"root:" not in got.body
            assert "set-cookie" not in got.headers
            assert len(got.body) < 1_000, "what was sent does not come back at length"
            got.problem(got.status)
            if got.status != 404:
                assert wrong in (
                    "%",
                    "%zz",
                    "..",
                    ".",
                    "....//",
                    "debate_../..",
                    "../../../secret.txt",
                ), (wrong, path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attack, ids(scene.debate_id)))
    assert tree(top) == before
    assert scene.state() == state


def test_the_docs_give_no_other_file(scene: Scene) -> None:
    top = Path(__file__).parents[2]
    assert (top / "pyproject.toml").is_file()
    ups = ("..", "%2e%2e", "..%2f..", "%2e%2e%2f%2e%2e", "....", "..%5c..", "%00..")
    for up in ups:
        for deep in (1, 3, 8):
            for name in ("pyproject.toml", "etc/passwd", "__init__.py"):
                path = "/docs/" + "/".join([up] * deep) + "/" + name
                got = scene.ask("GET", path)
                assert got.status in (400, 404), path
    for path in ("//evil.example/%2e%2e", "/\\evil.example", "*"):
        got = scene.ask("GET", path)
        assert got.status in (400, 404), (path, got.status)
        assert "location" not in got.headers


# --- what is said ---

HOSTILE = [
    "One.\r\nid: 99\r\nevent: end\r\ndata: {}\r\n\r\nTwo.",
    "One.\n\nid: 99\nevent: end\ndata: {}\n\nTwo.",
    "One.\rid: 99\revent: end\r\rTwo.",
    "Lone \ud800 and \udfff halves.",
    "Separated\u2028here\u2029and there\u0085too.",
    "A \x00 NUL, \x1b[31m red, \x07 bell, \ufeff mark.",
    "data: {}\nretry: 1\n: comment",
    '</script><script>alert(1)</script> "quoted" \\ back',
]


class Hostile(ScriptedSpeaker):
    """Says what an attacker would, piece by piece."""

    async def speak(self, call: Call, say: Say) -> Reply:
        text = HOSTILE[call.debate.turn_count % len(HOSTILE)]
        for at in range(0, len(text), 3):
            say(text[at : at + 3])
            await asyncio.sleep(0)
        await asyncio.sleep(
            0 if call.debate.turn_count else 0.1
        )  # long enough to be heard speaking
        return Reply(text, call.model, self._usage)


def frames(raw: bytes) -> list[dict[str, str]]:
    """A stream by the letter of its specification: a line ends with CR LF, LF or CR."""
    text = raw.decode("utf-8")
    found: list[dict[str, str]] = []
    for block in re.split(r"(?:\r\n|\n|\r){2}", text):
        fields: dict[str, str] = {}
        for line in re.split(r"\r\n|\n|\r", block):
            if line and not line.startswith(":"):
                name, _, value = line.partition(":")
                assert name in ("id", "event", "data", "retry"), line
                assert name not in fields, block
                fields[name] = value.removeprefix(" ")
        if "data" in fields:
            found.append(fields)
    return found


def test_no_text_breaks_the_stream(tmp_path: Path) -> None:
    names = [f"Ada{HOSTILE[0]}", "Ben\ud800\u2028\x00"]
    with served(tmp_path / "home", speaker=Hostile()) as server:
        for motion in HOSTILE:
            asked = {
                "motion": motion,
                "format": "duel",
                "participants": [{"name": name} for name in names],
                "limits": {"max_turns": len(HOSTILE)},
                "start": False,
            }
            body = json.dumps(asked).encode()  # escapes, so that lone halves travel too
            made = ask(server.port, "POST", "/debates", [host(server.port), JSON], body)
            lone = "\ud800" in motion
            assert made.status in (201, 422), made.body
            if made.status == 422:
                assert lone or "\ud800" in names[1]
                asked["participants"] = [{"name": names[0]}, {"name": "Ben"}]
                asked["motion"] = motion.encode("utf-8", "replace").decode()
                body = json.dumps(asked).encode()
                made = ask(server.port, "POST", "/debates", [host(server.port), JSON], body)
            assert made.status == 201, made.body
            debate = json.loads(made.body)
            assert debate["motion"] == visible(asked["motion"])
            assert not re.search(r"[\x00-\x1f\u2028]", debate["participants"][0]["name"])
            path = f"/debates/{debate['id']}"
            with server.http.stream("GET", f"{path}/events") as stream:
                server.post(f"{path}/start")
                raw = b"".join(stream.iter_raw())
            assert b"\r" not in raw
            heard = frames(raw)
            assert heard[-1] == {"event": "end", "data": "{}"}
            assert sum(event["event"] == "end" for event in heard) == 1
            numbers = [int(event["id"]) for event in heard if "id" in event]
            assert numbers == list(range(1, len(numbers) + 1))
            said = server.http.get(f"{path}/turns").json()["items"]
            turns = [json.loads(event["data"]) for event in heard if event["event"] == "turn"]
            assert turns == said
            wanted = [clean(text, "Ada", ["Ben"]) for text in HOSTILE]
            assert [turn["text"] for turn in turns] == wanted
            assert any(event["event"] == "delta" for event in heard)
            for kind in ("md", "html", "json"):
                page = server.http.get(f"{path}/export", params={"as": kind})
                assert page.status_code == 200
                assert (kind == "json") or ("<script>alert" not in page.text)
            listed = server.http.get("/debates").json()["items"][0]
            assert listed["motion"] == debate["motion"]


# --- what is asked ---


@pytest.mark.parametrize(
    "name", ["base_url", "api_key", "openai_base_url", "baseUrl", "OPENAI_API_KEY", "__class__"]
)
def test_a_request_cannot_set_an_address_or_a_key(scene: Scene, name: str) -> None:
    before = scene.state()
    evil = {name: "http://evil.example"}
    seats = [{"name": "Ada"}, {"name": "Ben"}]
    snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    cases: list[tuple[str, Any, set[str]]] = [
        ("/debates", {"motion": "x", **evil}, {name}),
        ("/debates", {"motion": "x", "participants": [{**seats[0], **evil}, seats[1]]},
         {f"participants[0].{name}"}),
        ("/debates", {"motion": "x", "host": {"name": "H", **evil}}, {f"host.{name}"}),
        ("/debates", {"motion": "x", "limits": evil}, {f"limits.{name}"}),
        ("/debates", {"motion": "x", "options": evil}, {f"options.{name}"}),
        ("/debates", {"motion": "x", "participants": [{"name": "Ada", "model": evil}]},
         {"participants[0].model"}),
        ("/debates/council", {"problem": "x", "output_type": "decision", **evil}, {name, snake}),
        ("/debates/council", {"problem": "x", "output_type": "decision",
                              "participants": [{"role": "Critic", **evil}]},
         {f"participants[0].{name}", f"participants[0].{snake}"}),
        (f"/debates/{scene.debate_id}/retry", evil, {name}),
        (f"/debates/{scene.debate_id}/retry", {"model": evil}, {"model"}),
    ]  # fmt: skip
    for path, asked, fields in cases:
        got = scene.ask("POST", path, JSON, body=json.dumps(asked).encode())
        said = got.problem(422)
        assert said["code"] == "DEBATE_ERR_INPUT"
        assert said["field"] in fields, (path, asked, said)
    assert scene.state() == before


def _chunked(data: bytes, size: int = 64 * 1024) -> bytes:
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def send(port: int, data: bytes) -> bytes:
    """Send all of it, or as much as is taken; all that comes back until the end."""
    with closing(connect(port)) as sock:

        def push() -> None:
            with suppress(OSError):
                sock.sendall(data)

        pusher = threading.Thread(target=push)
        pusher.start()
        got = b""
        with suppress(OSError):
            while part := sock.recv(65536):
                got += part
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        pusher.join()
        return got


def test_a_large_body_is_refused(scene: Scene) -> None:
    before = scene.state()
    large = json.dumps({"motion": "x" * (10 << 20)}).encode()
    base: list[tuple[str, str]] = [host(scene.port), JSON, ("Connection", "close")]
    for path in ("/debates", "/debates/council", f"/debates/{scene.debate_id}/retry"):
        known = head("POST", path, [*base, ("Content-Length", str(len(large)))])
        chunked = head("POST", path, [*base, ("Transfer-Encoding", "chunked")])
        for data in (known + large, known, chunked + _chunked(large)):
            got = send(scene.port, data)
            assert got.startswith(b"HTTP/1.1 413 "), (path, got[:200])
            assert b"HTTP_ERR_SIZE" in got
        # says 10 and sends 10 MB: what follows is no request
        lying = head("POST", path, [host(scene.port), JSON, ("Content-Length", "10")]) + large
        got = send(scene.port, lying)
        assert set(re.findall(rb"HTTP/1.1 (\d+)", got)) <= {b"422", b"400", b"431"}, got[:300]
    # says more than it sends, and leaves
    with closing(connect(scene.port)) as sock:
        sock.sendall(
            head("POST", "/debates", [host(scene.port), JSON, ("Content-Length", "1000")])
            + b'{"motion": "cut off"}'
        )
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(5)
        with suppress(OSError):
            assert b" 201 " not in sock.recv(4096)
    for wrong in ("-1", "+5", "5, 5", "5 5", "0x5", "1e2", "9" * 30, "", "five", "5\t6"):
        data = head(
            "POST",
            "/debates",
            [host(scene.port), JSON, ("Content-Length", wrong), ("Connection", "close")],
        )
        got = send(scene.port, data + b"{}{}{")
        assert got[9:12] in (b"400", b"413", b"422"), (wrong, got[:100])
    assert scene.state() == before


def test_a_body_of_256_kib_passes(scene: Scene) -> None:
    body = json.dumps({"motion": "x", "start": False}).encode()
    most = body + b" " * (256 * 1024 - len(body))
    assert scene.ask("POST", "/debates", JSON, body=most).status == 201
    scene.ask("POST", "/debates", JSON, body=most + b" ").problem(413)


DEEP, LONG_NUMBER = 100_000, "9" * 5000
_COUNCIL = '{"problem": "x", "output_type": "decision", '
HURTFUL = [
    "[" * DEEP,
    "[" * DEEP + "]" * DEEP,
    '{"a":' * 40_000,
    '{"motion":' + "[" * DEEP + "]" * DEEP + "}",
    '{"options":' + '{"a":' * 20_000 + "1" + "}" * 20_000 + "}",
    "1e999999",
    "9" * 200_000,
    "-" * 1000,
    '{"motion": "x", "options": {"rounds": 1e400}}',
    '{"motion": "x", "options": {"rounds": ' + LONG_NUMBER + "}}",
    '{"motion": "x", "limits": {"max_cost_usd": 1e400}}',
    '{"motion": "x", "limits": {"max_cost_usd": Infinity}}',
    _COUNCIL + '"max_turn_seconds": 1e400}',
    _COUNCIL + '"max_turn_seconds": NaN}',
    _COUNCIL + '"max_turn_tokens": ' + LONG_NUMBER + "}",
    _COUNCIL + '"participants": [' + "[" * 50_000 + "]" * 50_000 + "]}",
    '"' + "\\u0000" * 1000,
    *("\\", "\x00", '{"\\ud800": 1}', "\xff", "null", "true", "[]", '"x"'),
]


@pytest.mark.parametrize("path", ["/debates", "/debates/council", "/debates/{}/retry"])
def test_json_that_is_meant_to_hurt(scene: Scene, path: str) -> None:
    at = path.format(scene.debate_id)
    before = scene.state()
    for text in HURTFUL:
        got = scene.ask("POST", at, JSON, body=text.encode("latin-1"))
        if text == "null" and path.endswith("retry"):
            assert got.status == 409  # no body is a body there
            continue
        said = got.problem(422, 400)
        assert len(got.body) < 5_000, text[:50]
        assert said["detail"]
    assert scene.state() == before


def test_keys_that_come_twice(scene: Scene) -> None:
    """Of two, one is read by every part of the service: the other has no effect."""
    body = b'{"motion": "first", "motion": "second", "start": true, "start": false}'
    got = scene.ask("POST", "/debates", JSON, body=body)
    assert got.status in (201, 422)
    if got.status == 201:
        made = json.loads(got.body)
        assert (made["motion"], made["status"]) == ("second", "scheduled")


# --- how it is asked ---


def test_a_head_without_end_is_refused(scene: Scene) -> None:
    line = b"X-Filler: " + b"x" * 1000 + b"\r\n"
    start = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    for data in (
        start + line * 1000 + b"\r\n",
        start + b"X-Filler: " + b"x" * (1 << 20) + b"\r\n\r\n",
        b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"x" * (1 << 20),
    ):
        got = send(scene.port, data)
        assert got.startswith(b"HTTP/1.1 431 ") or data[:1] == b"x", got[:100]
        assert re.match(rb"HTTP/1.1 (431|400) ", got), got[:100]
        assert got.count(b"HTTP/1.1") == 1


def test_requests_in_a_row_are_answered_in_a_row(scene: Scene) -> None:
    paths = ["/healthz", "/nothing", "/formats", f"/debates/{scene.debate_id}", "/readyz"] * 20
    data = b"".join(head("GET", path, [host(scene.port)]) for path in paths)
    post = json.dumps({"motion": "in a row", "start": False}).encode()
    data += (
        head("POST", "/debates", [host(scene.port), JSON, ("Content-Length", str(len(post)))])
        + post
    )
    data += head("GET", "/healthz", [host(scene.port), ("Connection", "close")])
    got = send(scene.port, data)
    statuses = re.findall(rb"HTTP/1.1 (\d+) ", got)
    assert statuses == [b"200", b"404", b"200", b"200", b"200"] * 20 + [b"201", b"200"]


def test_no_request_hides_in_another(scene: Scene) -> None:
    before = scene.state()
    body = json.dumps({"motion": "smuggled", "start": False}).encode()
    hidden = (
        head("POST", "/debates", [host(scene.port), JSON, ("Content-Length", str(len(body)))])
        + body
    )
    size = ("Content-Length", str(len(hidden) + 5))
    chunked = ("Transfer-Encoding", "chunked")
    for headers, inner in (
        ([size, chunked], b"0\r\n\r\n" + hidden),
        ([chunked, size], b"0\r\n\r\n" + hidden),
        ([size, ("Transfer-Encoding", "xchunked")], b"0\r\n\r\n" + hidden),
        ([size, ("Transfer-Encoding", "identity")], b"0\r\n\r\n" + hidden),
        ([size, ("Transfer-Encoding ", "chunked")], b"0\r\n\r\n" + hidden),
        ([size, ("X", "y\nTransfer-Encoding: chunked")], b"0\r\n\r\n" + hidden),
        ([("Content-Length", "0"), size], hidden),
        ([("Content-Length", "0"), ("Content-Length", "5")], hidden),
        ([chunked], b"0x0\r\n\r\n" + hidden),
        ([chunked], b"-0\r\n\r\n" + hidden),
        ([chunked], b"fffffffffffffffff\r\n\r\n" + hidden),
    ):
        start = [host(scene.port), JSON, *headers]
        got = send(scene.port, head("POST", f"/debates/{scene.debate_id}/pause", start) + inner)
        assert b"smuggled" not in got, headers
        assert b" 201 " not in got, headers
        assert b"HTTP/1.1 400" in got or got.count(b"HTTP/1.1") <= 1, (headers, got[:300])
    assert scene.state() == before


def test_other_methods(scene: Scene) -> None:
    before = scene.state()
    for path in ("/debates", "/healthz", f"/debates/{scene.debate_id}/stop", "/docs", "/metrics"):
        for method in ("HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "DELETE", "get", "X"):
            secret = ("X-Secret", "do-not-echo")
            sent = head(method, path, [host(scene.port), secret, JSON])
            with closing(connect(scene.port)) as sock:
                sock.sendall(sent)
                got = answer(sock, method)
                assert got.status in (400, 405) or (method == "HEAD" and got.status == 200), (
                    method,
                    path,
                )
                assert b"do-not-echo" not in got.body
                assert not any(name.startswith("access-control") for name in got.headers)
                if method == "HEAD":
                    assert got.body == b""
                    sock.sendall(head("GET", "/healthz", [host(scene.port)]))
                    assert answer(sock).body == b'{"status":"ok"}', "the connection is out of step"
    preflight = scene.ask(
        "OPTIONS", "/debates", ("Origin", "http://evil.example"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
    )  # fmt: skip
    preflight.problem(403)
    assert not any(name.startswith("access-control") for name in preflight.headers)
    for upgrade in ("websocket", "h2c"):
        up = [
            ("Upgrade", upgrade), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("HTTP2-Settings", ""),
        ]  # fmt: skip
        assert scene.ask("GET", "/events", *up).status in (200, 400, 404, 426)
        assert scene.ask("GET", "/healthz", *up).status in (200, 400, 426)
    with closing(connect(scene.port)) as sock:
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert answer(sock).status >= 400
    assert scene.state() == before


def test_every_kind_of_answer_has_safe_headers(
    scene: Scene, guarded: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_: Service) -> None:
        raise RuntimeError("CANARY-inside")

    done = scene.server.create(format="duel")
    last = scene.server.wait(done["id"])["last_seq"]
    monkeypatch.setattr(Service, "formats", breaks)
    cases = [
        (200, scene.ask("GET", "/healthz")),
        (200, scene.ask("GET", "/docs")),
        (200, scene.ask("GET", "/docs/swagger-ui.css")),
        (200, scene.ask("GET", "/metrics")),
        (200, scene.ask("GET", "/events")),
        (200, scene.ask("GET", f"/debates/{scene.debate_id}/events")),
        (200, scene.ask("GET", f"/debates/{scene.debate_id}/export?as=html")),
        (204, scene.ask("GET", f"/debates/{done['id']}/events?last_event_id={last}")),
        (201, scene.ask("POST", "/debates", JSON, body=scene.body("/debates"))),
        (400, scene.ask("GET", f"/debates/{scene.debate_id}/events?last_event_id=x")),
        (401, guarded.ask("GET", "/healthz")),
        (403, scene.ask("GET", "/healthz", ("Origin", "null"))),
        (404, scene.ask("GET", "/nothing")),
        (404, scene.ask("GET", "/docs/nothing")),
        (405, scene.ask("PUT", "/healthz", JSON)),
        (409, scene.ask("POST", f"/debates/{scene.debate_id}/pause", JSON)),
        (413, scene.ask("POST", "/debates", JSON, ("Content-Length", "1000000"))),
        (415, scene.ask("POST", "/debates")),
        (421, ask(scene.port, "GET", "/healthz", [("Host", "evil.example")])),
        (422, scene.ask("POST", "/debates", JSON, body=b"{}")),
        (500, scene.ask("GET", "/formats")),
    ]
    for status, got in cases:
        assert got.status == status, got.body
        for name, value in SAFE_HEADERS.items():
            assert got.headers.get_all(name) == [value], (status, name)
        policy = got.headers.get_all("content-security-policy")
        assert policy
        assert len(policy) == 1
        assert "default-src 'none'" in policy[0]
        assert "frame-ancestors 'none'" in policy[0]
        assert "server" not in got.headers
        assert "set-cookie" not in got.headers
        assert b"CANARY-inside" not in got.body
        assert b"Traceback" not in got.body
        if status >= 400:
            got.problem(status)


def test_refusals_of_the_connection_itself_are_not_sniffed(scene: Scene) -> None:
    """What is no request at all never reaches the gate; its answer is plain all the same."""
    with closing(connect(scene.port)) as sock:
        sock.sendall(b"<script>alert(1)</script>\r\n\r\n")
        got = answer(sock)
    got.problem(400)
    assert b"<script" not in got.body
    assert got.headers["x-content-type-options"] == "nosniff"


# --- how much and how slowly ---


def test_too_many_requests(tmp_path: Path) -> None:
    with served(tmp_path / "home", rate_per_second=5) as server:
        answers = [server.http.get("/healthz") for _ in range(60)]
        statuses = [got.status_code for got in answers]
        assert 20 <= statuses.count(200) <= 45
        refused = next(got for got in answers if got.status_code == 429)
        assert refused.json()["code"] == "HTTP_ERR_RATE"
        for claimed in ("1.2.3.4", "10.0.0.1, 1.2.3.4"):  # who says so is not believed
            header = {"X-Forwarded-For": claimed, "Forwarded": f"for={claimed}"}
            with suppress(StopIteration):
                next(
                    got
                    for got in iter(lambda: server.http.get("/healthz"), None)
                    if got.status_code == 429
                )
            assert server.http.get("/healthz", headers=header).status_code == 429
        ask(server.port, "GET", "/healthz", [host(server.port)]).problem(429)  # another connection
        time.sleep(int(refused.headers["retry-after"]))
        assert server.http.get("/healthz").status_code == 200


def test_too_many_streams(tmp_path: Path) -> None:
    with served(tmp_path / "home", streams_per_client=3) as server, ExitStack() as open_:
        made = server.create(start=False)["id"]
        paths = ["/events", f"/debates/{made}/events", "/events"]
        streams = [open_.enter_context(server.http.stream("GET", path)) for path in paths]
        assert [stream.status_code for stream in streams] == [200] * 3
        for path in paths:
            refused = ask(server.port, "GET", path, [host(server.port)])
            assert "MOOT_STREAMS_PER_CLIENT" in refused.problem(429)["detail"]
            assert int(refused.headers["retry-after"]) >= 1
        assert server.http.get("/healthz").status_code == 200
        streams[0].close()

        def listens() -> bool:
            with server.http.stream("GET", "/events") as again:
                return again.status_code == 200

        patience.until(listens, "a stream that was closed still counts", 0.1)


def _closed_after(port: int, first: bytes, drip: Callable[[int], bytes], every: float) -> float:
    """Seconds until the server hangs up on one who sends a little now and then."""
    began, limit = time.monotonic(), patience.Patience()
    with closing(connect(port)) as sock:
        sock.sendall(first)
        sock.settimeout(0.05)
        for tick in count():
            if limit.over:
                break
            while time.monotonic() < began + every * (tick + 1):
                try:
                    if not sock.recv(65536):
                        return time.monotonic() - began
                except TimeoutError:
                    pass
                except OSError:
                    return time.monotonic() - began
            with suppress(OSError):
                sock.sendall(drip(tick))
    return float("inf")


def test_those_who_dawdle_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before one who sends a byte now and then is done, the server has hung up; but not at once."""
    monkeypatch.setattr(api_server, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(api_server, "BODY_SECONDS", 2.0)
    monkeypatch.setattr(security, "BODY_SECONDS", 1.5)
    with served(tmp_path / "home") as server, ThreadPoolExecutor(12) as pool:
        heads, bodies = _dawdle(server, pool, 0.1)
        assert min(heads.values()) >= 0.9, heads
        assert float("inf") not in {*heads.values(), *bodies.values()}
        assert server.http.get("/readyz").status_code == 200


@pytest.mark.stress("test_those_who_dawdle_are_let_go, with shorter limits and fewer of them")
def test_five_thousand_who_say_nothing_are_let_go(tmp_path: Path) -> None:
    """5,000 connections that say nothing and a few that say little: others are served meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = CONNECTIONS if hard >= 2 * CONNECTIONS + 2_000 else max(LEAST_CONNECTIONS, hard // 3)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    home = tmp_path / "home"
    try:
        with started(home, environment={"MOOT_LOG_LEVEL": "warning"}) as (server, process):
            with ThreadPoolExecutor(12) as pool:
                dawdling = pool.submit(_dawdle, server, pool, 1.0)
                _idle(server, count)
                heads, bodies = dawdling.result()
            slack = patience.seconds(4)
            assert max(heads.values()) < HEAD_SECONDS + slack, heads
            assert max(bodies.values()) < BODY_SECONDS + slack, bodies
            assert min(heads.values()) >= HEAD_SECONDS - 2, heads
            assert process.poll() is None
            assert server.http.get("/readyz").status_code == 200
        assert "Traceback" not in (tmp_path / "serve.log").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _dawdle(
    server: Served, pool: ThreadPoolExecutor, every: float
) -> tuple[dict[str, float], dict[str, float]]:
    """After how many seconds each of those is let go who are slow with a head, or with a body."""
    port = server.port
    made = server.create(start=False)["id"]
    base = [host(port), JSON]
    letters = b"X-Slow: " + b"x" * 1000
    second = b"GET / HTTP/1.1\r\n" + letters
    post = head("POST", "/debates", [*base, ("Content-Length", "1000")])
    chunked = ("Transfer-Encoding", "chunked")
    slow_head = {
        "nothing but a line": (b"GET / HTTP/1.1\r\n", lambda n: letters[n : n + 1]),
        "a first byte": (b"G", lambda n: b"ET /healthz HTTP/1.1\r\n"[n : n + 1]),
        "empty lines": (b"", lambda n: b"\r\n"),
        "a second request": (head("GET", "/healthz", base), lambda n: second[n : n + 1]),
    }
    trickle = ("POST", "/debates"), ("POST", "/debates/council"), ("GET", "/healthz")
    unread = ("POST", f"/debates/{made}/pause")
    slow_body = {"a body": (post, lambda n: b" ")} | {
        f"a body in chunks, {method} {path}": (
            head(method, path, [*base, chunked]),
            lambda n: b"1\r\n \r\n",
        )
        for method, path in (*trickle, unread)
    }
    jobs = {
        name: pool.submit(_closed_after, port, *how, every)
        for name, how in {**slow_head, **slow_body}.items()
    }
    took = {name: job.result() for name, job in jobs.items()}
    print({name: round(seconds, 1) for name, seconds in took.items()})
    return {name: took[name] for name in slow_head}, {name: took[name] for name in slow_body}


def _idle(server: Served, count: int) -> None:
    with ExitStack() as open_:
        began = time.monotonic()
        idle = [open_.enter_context(closing(connect(server.port))) for _ in range(count)]
        assert len(idle) >= LEAST_CONNECTIONS
        assert time.monotonic() - began < HEAD_SECONDS - 1, "too slow to have them all open at once"
        slowest = 0.0
        while time.monotonic() - began < HEAD_SECONDS - 1.5:
            asked = time.monotonic()
            assert ask(server.port, "GET", "/debates", [host(server.port)]).status == 200
            slowest = max(slowest, time.monotonic() - asked)
        assert slowest < patience.seconds(2), slowest
        poll = select.poll()
        for sock in idle:
            poll.register(sock, select.POLLIN | select.POLLHUP)
        assert len(poll.poll(0)) < count / 2, "they were let go too early"
        waiting = {sock.fileno(): sock for sock in idle}
        limit = patience.Patience(HEAD_SECONDS)
        while waiting and not limit.over:
            for number, _ in poll.poll(200):
                with suppress(ConnectionError):
                    if waiting[number].recv(4096):
                        continue  # the sentence that says why
                poll.unregister(number)
                del waiting[number]
        seconds = time.monotonic() - began
        print(
            f"{count} idle connections gone after {seconds:.1f} s; slowest answer {slowest:.2f} s"
        )
        assert not waiting, f"{len(waiting)} idle connections are still open"


def test_a_plain_speaker_is_still_heard(scene: Scene) -> None:
    """After all of the above, the same server carries a debate to its end."""
    made = scene.server.create(format="duel")
    assert scene.server.wait(made["id"])["status"] == "completed"
    said = scene.server.http.get(f"/debates/{made['id']}/turns").json()["items"]
    assert len(said) == 6
    assert said[0]["text"].startswith("ada in round 1")
