"""What debates that wait for slow models weigh: each measurement in a process of its own.

`python -m bench.memory DEBATES [PORT]` is that process; with a port, the waiting is done by the
real SDK on a server there, without, by a speaker that sleeps.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.slow_server import allow_connections
from bench.stage import MOTION, home, settings
from moot.bootstrap import open_service
from moot.testing.speaker import ScriptedSpeaker

_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Weight:
    """Of one process, in megabytes."""

    before: float  # with everything loaded and nobody waiting
    waiting: float  # with all calls in flight
    peak: float


def scripted(debates: int = 1000) -> Weight:
    """All waiting in our own code."""
    return _child(str(debates))


def on_the_wire(debates: int = 1000) -> Weight:
    """All waiting in the vendors' SDK, on a socket each."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.slow_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        try:
            return _child(str(debates), server.stdout.readline().strip())
        finally:
            server.stdin.close()


def _child(*arguments: str) -> Weight:
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=4 * _PATIENCE,
    )
    return Weight(**json.loads(done.stdout))


def _megabytes(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


async def _sleepers(path: Path, debates: int) -> Weight:
    speaker = ScriptedSpeaker(seconds=1000)

    async def in_flight() -> int:
        return speaker.in_flight

    async with open_service(settings(path), speaker=speaker) as service:
        before = _megabytes("VmRSS")
        for _ in range(debates):
            await service.create(MOTION, format="duel", limits={"max_turn_seconds": 120})
        return await _weigh(before, debates, in_flight)


async def _callers(path: Path, debates: int, port: int) -> Weight:
    async def in_flight() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /count HTTP/1.1\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return int(answer.rpartition(b"\r\n")[2])

    seats = ({"name": "Ada", "model": "local:slow"}, {"name": "Ben", "model": "local:slow"})
    async with open_service(settings(path, f"http://127.0.0.1:{port}/v1")) as service:
        before = 0.0
        for number in range(debates):
            await service.create(
                MOTION, format="duel", participants=seats, limits={"max_turn_seconds": 120}
            )
            if number == 0:  # the first call loads the SDK
                await _until(1, in_flight)
                before = _megabytes("VmRSS")
        return await _weigh(before, debates, in_flight)


async def _until(debates: int, in_flight: Callable[[], Awaitable[int]]) -> None:
    async with asyncio.timeout(_PATIENCE):
        while await in_flight() < debates:  # noqa: ASYNC110  the count is another process's
            await asyncio.sleep(0.1)


async def _weigh(before: float, debates: int, in_flight: Callable[[], Awaitable[int]]) -> Weight:
    await _until(debates, in_flight)
    await asyncio.sleep(debates / 500)  # leases are watched meanwhile
    if (waiting := await in_flight()) < debates:
        raise RuntimeError(f"only {waiting} of {debates} calls are in flight")
    return Weight(before, _megabytes("VmRSS"), _megabytes("VmHWM"))


def main() -> None:
    allow_connections()
    debates = int(sys.argv[1])
    with home() as path:
        if len(sys.argv) > 2:
            weight = asyncio.run(_callers(path, debates, int(sys.argv[2])))
        else:
            weight = asyncio.run(_sleepers(path, debates))
    print(json.dumps(asdict(weight)))


if __name__ == "__main__":
    main()
