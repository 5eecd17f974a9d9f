"""A real server for tests: in a thread of this process, with a speaker of the test's own, or as
the command line starts it."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from moot.api.app import serve
from moot.api.server import Server, listen
from moot.ports.model_call import Speaker
from moot.settings import Settings
from tests.patience import Patience, seconds

NO_LIMIT: dict[str, Any] = {"rate_per_second": 0, "streams_per_client": 100_000, "pace": 0}


@dataclass
class Served:
    """Where it is, and a client for it."""

    url: str
    home: Path
    http: httpx2.Client

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def create(self, motion: str = "Should we ship on Fridays?", **asked: Any) -> dict[str, Any]:
        answer = self.http.post("/debates", json={"motion": motion, **asked})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def post(self, path: str, **asked: Any) -> httpx2.Response:
        return self.http.post(path, json=asked)

    def wait(self, debate_id: str, *statuses: str) -> dict[str, Any]:
        """Until the debate has one of the statuses; by default, until it is over."""
        wanted = statuses or ("completed", "stopped", "failed")
        patience = Patience()
        while True:
            debate = self.http.get(f"/debates/{debate_id}").json()
            if debate["status"] in wanted:
                return debate
            assert not patience.over, f"still {debate['status']}, not {wanted}"
            time.sleep(0.02)


@contextmanager
def served(
    home: Path,
    speaker: Speaker | None = None,
    token: str | None = None,
    doors: Any = None,
    **settings: Any,
) -> Generator[Served]:
    """In a thread of this process. `settings` are those of moot.settings.Settings."""
    chosen = Settings(home=home, token=token, **{**NO_LIMIT, **settings})  # pyright: ignore[reportArgumentType]
    sock = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    up = threading.Event()
    servers: list[Server] = []
    errors: list[BaseException] = []

    def ready(server: Server) -> None:
        servers.append(server)
        up.set()

    def run() -> None:
        try:
            asyncio.run(serve(chosen, sock, ready=ready, speaker=speaker, doors=doors))
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            up.set()

    thread = threading.Thread(target=run, name="served")
    thread.start()
    assert up.wait(seconds())
    assert not errors, errors
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx2.Client(base_url=url, headers=headers, timeout=seconds()) as http:
            yield Served(url, home, http)
    finally:
        servers[0].should_exit = True
        thread.join(seconds())
        assert not thread.is_alive(), "the server did not stop"


@contextmanager
def started(
    home: Path, *arguments: str, environment: dict[str, str] | None = None
) -> Generator[tuple[Served, subprocess.Popen[str]]]:
    """As a process of its own: `moot serve`. Its log is in <home>/../serve.log."""
    log = home.parent / "serve.log"
    limits = {
        "MOOT_RATE_PER_SECOND": "0",
        "MOOT_STREAMS_PER_CLIENT": "100000",
        "MOOT_PACE": "0",
    }
    with log.open("a") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "moot", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            env={**os.environ, "MOOT_HOME": str(home), **limits, **(environment or {})},
        )
    try:
        assert process.stdout
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", line)
        assert found, line + log.read_text()
        with httpx2.Client(base_url=found[0], timeout=seconds()) as http:
            yield Served(found[0], home, http), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(seconds())
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout:
            process.stdout.close()
