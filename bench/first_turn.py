"""What the first turn after `moot serve` starts costs over later ones, with three vendors.

`python -m bench.first_turn` starts a service whose vendors are the local server of the contract
suite, waits until it says that they can speak, and debates with each. Seconds are those of the
turns' own record: from when a turn was begun to when it was committed.

`python -m bench.first_turn run` measures the CPU of `moot run` until its first request, in a home
that is used already, beside that of a process that only imports moot's module for the vendor.
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from moot.testing.wires.wire_server import Wire

VENDORS = {"openai": "OPENAI", "claude": "ANTHROPIC", "gemini": "GEMINI"}
URLS = {
    "openai": "OPENAI_BASE_URL",
    "claude": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}
APIS = {"openai": "openai_responses", "claude": "anthropic_messages", "gemini": "google_gemini"}
RUNS = 5  # of `moot run`, and of the import
LATER = 5  # debates with each vendor, after the first
PATIENCE = 120.0
PORT = 8497


def ask(path: str, body: dict[str, Any] | None = None) -> Any:
    data = json.dumps(body).encode() if body else None
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, headers)
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:  # noqa: S310
        return json.load(answer)


def first_turn(vendor: str) -> float:
    """The seconds of the first turn of a debate."""
    seats = [{"name": name, "model": vendor} for name in ("Ada", "Ben")]
    asked = {"motion": "Should we ship on Fridays?", "format": "duel", "participants": seats}
    debate = ask("/debates", asked | {"limits": {"max_turns": 2}})["id"]
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        turns = ask(f"/debates/{debate}/turns")["items"]
        if len(turns) == 2:
            first = turns[0]
            began = datetime.fromisoformat(first["started_at"])
            return (datetime.fromisoformat(first["committed_at"]) - began).total_seconds()
        time.sleep(0.02)
    raise TimeoutError(f"{vendor} did not speak")


def measure(server: Wire, home: Path) -> None:
    keys = {f"{name}_API_KEY": "bench" for name in VENDORS.values()}
    urls = {variable: server.url(vendor) for vendor, variable in URLS.items()}
    told = {"MOOT_HOME": str(home), "MOOT_PORT": str(PORT), "MOOT_REPORT_MODEL": "none"}
    log = home.parent / "serve.log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "moot", "serve"]
        child = subprocess.Popen(command, env=os.environ | keys | urls | told, stderr=out)
        try:
            began = time.monotonic()
            while "can speak at once" not in log.read_text():
                assert child.poll() is None, log.read_text()
                assert time.monotonic() - began < PATIENCE, log.read_text()
                time.sleep(0.05)
            print(f"ready after {time.monotonic() - began:.1f} s")
            firsts = {vendor: first_turn(vendor) for vendor in VENDORS}
            for vendor, first in firsts.items():
                later = statistics.median(first_turn(vendor) for _ in range(LATER))
                kept = "kept" if first - later <= 0.3 else "MISSED"
                print(
                    f"{vendor:8} first turn {first:.3f} s, later ones {later:.3f} s: "
                    f"{first - later:+.3f} s (at most +0.3) {kept}"
                )
        finally:
            child.terminate()
            child.wait(PATIENCE)


def run_cpu(vendor: str) -> float:
    """Seconds of `moot run` until it connects to its vendor."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        server.settimeout(PATIENCE)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        told = {f"{VENDORS[vendor]}_API_KEY": "bench", URLS[vendor]: url, "MOOT_HOME": folder}
        env = os.environ | told | {"MOOT_REPORT_MODEL": "none"}
        moot = [sys.executable, "-m", "moot"]
        subprocess.run([*moot, "list"], env=env, check=True, stdout=subprocess.DEVNULL)
        words = [*moot, "run", "Should we ship on Fridays?", "--format", "duel", "--model", vendor]
        nowhere = subprocess.DEVNULL
        with subprocess.Popen(words, env=env, stdout=nowhere, stderr=nowhere) as child:
            try:
                server.accept()[0].close()
                times = psutil.Process(child.pid).cpu_times()
                return times.user + times.system
            finally:
                child.kill()


def import_cpu(vendor: str) -> float:
    """Seconds of a process that imports what speaks to that vendor."""
    code = f"import time, moot.models.vendors.{APIS[vendor]}; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    return float(done.stdout)


def runs() -> None:
    for vendor in VENDORS:
        measured = [(run_cpu(vendor), import_cpu(vendor)) for _ in range(RUNS)]
        whole, alone = map(statistics.median, zip(*measured, strict=True))
        kept = "kept" if whole - alone <= 0.5 else "MISSED"
        print(
            f"{vendor:8} moot run {whole:.2f} s of CPU, import {alone:.2f} s: "
            f"{whole - alone:+.2f} s (at most +0.5) {kept}"
        )


def main() -> None:
    if sys.argv[1:] == ["run"]:
        runs()
        return
    up, over = threading.Event(), threading.Event()
    server = Wire()

    async def serve() -> None:
        async with server:
            up.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    up.wait(PATIENCE)
    try:
        with tempfile.TemporaryDirectory() as folder:
            measure(server, Path(folder) / "home")
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    main()
