"""Keys live in the environment alone (§12): driven through every fault of every vendor, a service
shows its keys and its token nowhere: not in its database, its files, its log or its answers."""

import asyncio
import base64
import json
import secrets
import sqlite3
import string
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from moot.settings import Settings
from moot.testing.provider_calls import ENDLESS, FAULTS, service_account
from moot.testing.wires import dialects
from moot.testing.wires import wire_server as wire
from moot.testing.wires.wire_server import Wire
from tests.patience import Patience, seconds
from tests.served import Served, started
from tests.services import ask
from tests.stress import STRESS

VENDORS = ("openai", "claude", "gemini", "local", "bedrock", "vertex")
LONG = {*ENDLESS, "429-after"}
"""Faults whose retries take longer than this test does; one attempt of each is enough."""
LETTERS = string.ascii_letters + string.digits
ROUTES = (
    "", "/turns", "/report", "/replay", "/packet", "/export?as=md", "/export?as=html",
    "/export?as=json",
)  # fmt: skip
SHARED = (
    "/debates?limit=200", "/formats", "/providers", "/records", "/healthz", "/readyz", "/metrics",
    "/openapi.json", "/docs", "/docs/begin.js", "/nothing",
)  # fmt: skip


def canary() -> str:
    return "CANARY-" + "".join(secrets.choice(LETTERS) for _ in range(40))


def forms(secret: str) -> list[bytes]:
    """A secret as it could be written: whole, either half of it, or in base 64."""
    bare = secret.removeprefix("CANARY-")
    half = len(bare) // 2
    packed = [
        base64.b64encode(b"x" * shift + secret.encode())[4:-4] for shift in range(3)
    ]  # by where it begins among three bytes
    return [secret.encode(), bare[:half].encode(), bare[half:].encode(), *packed]


def found(secret: str, data: bytes) -> bool:
    return any(form in data for form in forms(secret))


def leaks(secret: str, home: Path, **others: bytes) -> list[str]:
    """Where a secret can be read: in a file of the home, whatever kind it is, in a database that is
    no file, or in the rest."""
    places = {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    if isinstance(database := Settings(home=home).database, str):
        for (name,) in ask(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
            rows = ask(database, f'SELECT t::text FROM "{name}" t')
            places[name] = "".join(row for (row,) in rows).encode()
    places |= others
    return [place for place, data in places.items() if found(secret, data)]


class Vendors:
    """The vendors' server, in a thread of its own."""

    def __init__(self) -> None:
        self.wire = Wire(pause=0.2)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vendors")

    def _run(self) -> None:
        async def main() -> None:
            async with self.wire:
                self._up.set()
                await self._stop.wait()

        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(main())

    def __enter__(self) -> Wire:
        self._thread.start()
        assert self._up.wait(seconds())
        return self.wire

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(seconds())


@dataclass
class Seen:
    """All that one service let out."""

    home: Path
    style: str
    vendors: tuple[str, ...]
    answers: bytearray = field(default_factory=bytearray)
    streams: bytearray = field(default_factory=bytearray)
    debates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    live: list[str] = field(default_factory=list[str])  # leaks while the write-ahead log was there

    def note(self, response: httpx2.Response) -> None:
        if "event-stream" not in response.headers.get("content-type", ""):
            response.read()
            self.answers += response.content
        self.answers += str(response.headers.multi_items()).encode()

    @property
    def log(self) -> bytes:
        return (self.home.parent / "serve.log").read_bytes()


@dataclass
class Run:
    key: str
    token: str
    seen: list[Seen]
    wire: Wire


@contextmanager
def heard(seen: Seen, url: str, headers: dict[str, str]) -> Generator[None]:
    """The stream of all debates, from now on."""
    client = httpx2.Client(base_url=url, headers=headers, timeout=None)

    def listen() -> None:
        with suppress(httpx2.HTTPError), client.stream("GET", "/events") as stream:
            for part in stream.iter_raw():
                seen.streams += part

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        thread.join(seconds())
        client.close()
        assert not thread.is_alive()


def drive(seen: Seen, on_failure: str, key: str, token: str, server: Wire) -> None:
    """Every fault of every vendor, all at once; then everything that can be read."""
    account = service_account(seen.home.parent, f"{server.url('vertex')}/token")
    environment = {
        "MOOT_TOKEN": token,
        "MOOT_LOG": seen.style,
        "MOOT_LOG_LEVEL": "debug",
        "OPENAI_API_KEY": key,
        "ANTHROPIC_API_KEY": key,
        "GEMINI_API_KEY": key,
        "OPENAI_BASE_URL": server.url("openai"),
        "ANTHROPIC_BASE_URL": server.url("claude"),
        "GOOGLE_GEMINI_BASE_URL": server.url("gemini"),
        "MOOT_LOCAL_BASE_URL": server.url("local"),
        "AWS_BEARER_TOKEN_BEDROCK": key,
        "AWS_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url("bedrock"),
        "GOOGLE_CLOUD_PROJECT": "project-1",
        "GOOGLE_APPLICATION_CREDENTIALS": str(account),
        "GOOGLE_VERTEX_BASE_URL": server.url("vertex"),
    }
    headers = {"Authorization": f"Bearer {token}"}
    with started(seen.home, environment=environment) as (service, process):
        http = service.http
        http.headers.update(headers)
        http.event_hooks = {"request": [], "response": [seen.note]}
        with heard(seen, service.url, headers):
            try:
                made = {
                    _begin(service, vendor, fault, on_failure): fault
                    for fault in sorted(FAULTS, key=lambda fault: fault not in LONG)
                    for vendor in seen.vendors
                }
                _read_all(seen, http, made)
                _knock(http, token)
                seen.live = [*leaks(key, seen.home), *leaks(token, seen.home)]
            finally:
                process.terminate()
                process.wait(seconds())


def _begin(service: Served, vendor: str, fault: str, on_failure: str) -> str:
    asked = {
        "motion": f"{vendor}, {fault}",
        "format": "duel",
        "participants": [
            {"name": "Ada", "model": f"{vendor}:wire-{fault}"},
            {"name": "Ben", "model": f"{vendor}:wire-{fault}"},
        ],
        "limits": {"max_turns": 1, "max_turn_seconds": 5 if fault in ENDLESS else 30},
        "on_failure": on_failure,
    }
    answer = service.http.post("/debates", json=asked)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def _read_all(seen: Seen, http: httpx2.Client, made: dict[str, str]) -> None:
    """Each as soon as it is over or paused; those that take long, as they stand at the end, when
    each of their faults was met once."""
    wanted = {debate_id for debate_id, fault in made.items() if fault not in LONG}
    faults = {
        (f"{vendor}:wire-{fault}", f"DEBATE_ERR_PROVIDER_{FAULTS[fault]}")
        for vendor in seen.vendors
        for fault in LONG
    }
    patience = Patience(120)
    while wanted or not faults <= attempts(seen.home):
        assert not patience.over, f"{len(wanted)} debates are still under way"
        items = http.get("/debates?limit=200").json()["items"]
        under_way = {item["id"] for item in items if item["status"] in ("queued", "running")}
        for debate_id in wanted - under_way:
            _read(seen, http, debate_id)
        wanted &= under_way
        time.sleep(0.2)
    for debate_id, fault in made.items():
        if fault in LONG:
            _read(seen, http, debate_id)
    for path in SHARED:
        http.get(path)
    for verb in ("pause", "resume", "retry", "skip"):
        http.post(f"/debates/{next(iter(made))}/{verb}", json={})
    http.post("/debates", json={"motion": 5})


def _read(seen: Seen, http: httpx2.Client, debate_id: str) -> None:
    for route in ROUTES:
        assert http.get(f"/debates/{debate_id}{route}").status_code in (200, 404)
    whole = http.get(f"/debates/{debate_id}").json()
    seen.debates.append(whole)
    last = f"id: {whole['last_seq']}\n".encode()
    text = b""
    with http.stream("GET", f"/debates/{debate_id}/events") as stream:
        for part in stream.iter_raw():
            text += part
            if last in text and b"data:" in text.rpartition(last)[2]:
                break
    seen.streams += text


def _knock(http: httpx2.Client, token: str) -> None:
    """Requests that hold the token where it should not be: the log must not keep it."""
    wrong = {"Authorization": f"Bearer {token[:-1]}"}
    http.get("/debates", headers=wrong)
    http.get("/debates", headers={"Authorization": "Basic x"})
    hooks, http.event_hooks = http.event_hooks, {"request": [], "response": []}
    http.get(f"/debates/{token}")  # comes back to who sent it, and to nobody else
    http.get(f"/{token}?token={token}", headers={"Authorization": ""})
    http.event_hooks = hooks


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Generator[Run]:
    """Two services at once, one with each style of log and each rule for failures; each with half
    of the vendors, or with all of them in `make stress`."""
    key, token = canary(), canary()
    with pytest.MonkeyPatch.context() as patch:
        echo = f"the key {key} was seen\nTraceback (most recent …):"
        patch.setattr(dialects.canary, "echo", echo)
        patch.setattr(wire, "ACCESS", key)
        with Vendors() as server, ThreadPoolExecutor(2) as pool:
            styles = (("json", "degrade"), ("text", "pause"))
            homes = [tmp_path_factory.mktemp(style) / "home" for style, _ in styles]
            seen = [
                Seen(homes[n], style, VENDORS if STRESS else VENDORS[n::2])
                for n, (style, _) in enumerate(styles)
            ]
            jobs = [
                pool.submit(drive, one, rule, key, token, server)
                for one, (_, rule) in zip(seen, styles, strict=True)
            ]
            for job in jobs:
                job.result()
            yield Run(key, token, seen, server)


def attempts(home: Path) -> set[tuple[str, str]]:
    rows = ask(Settings(home=home).database, "SELECT model, error_code FROM debate_attempts")
    return {(model, code) for model, code in rows if code}


def test_every_fault_was_met(run: Run) -> None:
    """Without this, the rest would show nothing."""
    for seen in run.seen:
        met = attempts(seen.home)
        for fault, code in FAULTS.items():
            for vendor in seen.vendors:
                assert (f"{vendor}:wire-{fault}", f"DEBATE_ERR_PROVIDER_{code}") in met
        assert len(seen.debates) == len(FAULTS) * len(seen.vendors)
        over = [debate for debate in seen.debates if debate["status"] in ("paused", "completed")]
        assert len(over) >= (len(FAULTS) - len(LONG)) * len(seen.vendors)
        for debate in over:
            assert debate["failure"] or debate["degraded"]
    told = [request for request in run.wire.requests if run.key in str(request.headers)]
    assert {request.vendor for request in told} == set(VENDORS) - {"local"}
    assert all(
        run.key not in str(request.headers)
        for request in run.wire.requests
        if request.vendor == "local"
    )


@pytest.mark.parametrize("which", ["key", "token"])
def test_no_secret_is_shown(run: Run, which: str) -> None:
    secret = getattr(run, which)
    for seen in run.seen:
        assert len(seen.answers) > 50_000
        assert len(seen.streams) > 10_000
        assert b"event: turn" in seen.streams or b'"failure":{' in seen.streams
        assert len(seen.log) > 10_000
        others = {"answers": bytes(seen.answers), "streams": bytes(seen.streams), "log": seen.log}
        assert leaks(secret, seen.home, **others) == []
        assert seen.live == []


def test_the_log_is_of_both_styles_and_masks(run: Run) -> None:
    for seen in run.seen:
        lines = seen.log.decode().splitlines()
        if seen.style == "json":
            assert all(isinstance(json.loads(line), dict) for line in lines)
        assert "***" in seen.log.decode(), "the path with the token was masked"
        assert "Traceback (most recent" not in seen.log.decode()


_open: list[sqlite3.Connection] = []


def _row(home: Path, secret: str) -> dict[str, bytes]:
    if isinstance(url := Settings(home=home).database, str):
        ask(url, f"CREATE TABLE t AS SELECT 'the key {secret} was seen' AS x")
        return {}
    database = sqlite3.connect(home / "x.sqlite")
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE t (x)")
    database.execute("INSERT INTO t VALUES (?)", (f"the key {secret} was seen",))
    database.commit()
    _open.append(database)  # a close would move it into the database file
    return {}


def _file(home: Path, secret: str) -> dict[str, bytes]:
    (home / "records").mkdir()
    (home / "records" / "x.json").write_text(json.dumps({"x": [secret]}))
    return {}


def _half(home: Path, secret: str) -> dict[str, bytes]:
    (home / "x.md").write_text(f"Incorrect API key provided: {secret[:30]}…")
    return {}


def _answer(_: Path, secret: str) -> dict[str, bytes]:
    return {"answers": b"xx" + secret.encode() + b"xx"}


def _packed(_: Path, secret: str) -> dict[str, bytes]:
    return {"log": base64.b64encode(b"user:" + secret.encode())}


@pytest.mark.parametrize("plant", [_row, _file, _half, _answer, _packed])
def test_a_planted_secret_is_found(
    tmp_path: Path, plant: Callable[[Path, str], dict[str, bytes]]
) -> None:
    """Or the search above would prove nothing."""
    secret = canary()
    assert leaks(secret, tmp_path, log=b"nothing") == []
    try:
        assert len(leaks(secret, tmp_path, **plant(tmp_path, secret))) == 1
    finally:
        while _open:
            _open.pop().close()
