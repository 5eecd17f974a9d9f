"""llama.cpp as a child process: one for all seats, started on first use, stopped when idle.

Each moot process has a child of its own; the weights are mapped from the file.
Seats wait here for a slot, so that nobody's time runs before the model listens to them.
"""

import asyncio
import json
import logging
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, cast

from moot.errors import ProviderAbsentError, ProviderUnavailableError
from moot.models.local.catalog import machine
from moot.models.local.weights import Model

WINDOW = 8_192  # tokens of prompt and answer for a seat: more would be slow to read on a CPU
IDLE_SECONDS = 300.0
START_SECONDS = 300.0  # a large file on a slow disk, or a busy machine
_SLOTS = 5  # at most: a council's seats
_STOP_SECONDS = 3.0
_log = logging.getLogger(__name__)


def installed() -> bool:
    """Whether llama.cpp is here: the extra `llama`."""
    return find_spec("xllamacpp") is not None


@dataclass(frozen=True, slots=True)
class Size:
    """How much the child takes on at once."""

    slots: int  # seats that are answered at the same time
    threads: int
    cache_mib: int  # for the prompts of seats that have no slot now

    @classmethod
    def here(cls) -> "Size":
        """What suits this machine. With few cores, two answers at once take twice as long each, so
        one follows the other; the cache keeps what all seats have read."""
        memory, cores = machine()
        return cls(
            slots=max(1, min(_SLOTS, cores // 2)),
            threads=cores,
            cache_mib=max(128, min(2048, (memory >> 20) // 16)),
        )


def window(model: Model) -> int:
    """The tokens of prompt and answer that a seat has."""
    return min(model.context, WINDOW)


@dataclass(slots=True)
class Child:
    """A llama.cpp that answers."""

    model: Model
    base_url: str
    key: str = field(repr=False)
    process: "subprocess.Popen[bytes]"
    words: deque[str]  # the last lines of its log

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def gone(self) -> str:
        """What to tell a person when it has died."""
        return (
            f"llama.cpp, which runs {self.model.name}, ended before its answer did"
            f"{_because(self.words)}. It is started anew when the speaker is restarted."
        )


class Llama:
    """The child, and the queue for its slots."""

    def __init__(
        self,
        *,
        size: Size | None = None,
        idle_seconds: float = IDLE_SECONDS,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.size = size or Size.here()
        self.child: Child | None = None
        self.seated = 0  # seats that have a slot now
        self._idle_seconds = idle_seconds
        self._start_seconds = start_seconds
        self._slots = asyncio.Semaphore(self.size.slots)
        self._starting = asyncio.Lock()
        self._coming: asyncio.Task[Child] | None = None
        self._idle: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self, model: Model) -> AsyncGenerator[Child]:
        """Wait for a slot, and have the child run that model."""
        async with self._slots:
            self.seated += 1
            if self._idle:
                self._idle.cancel()
            try:
                yield await self._running(model)
            finally:
                self.seated -= 1
                if not self.seated:
                    loop = asyncio.get_running_loop()
                    self._idle = loop.call_later(self._idle_seconds, self._rest)

    async def aclose(self) -> None:
        """Stop the child."""
        if self._idle:
            self._idle.cancel()
        async with self._starting:
            if self._coming:
                (came,) = await asyncio.gather(self._coming, return_exceptions=True)
                self._coming, self.child = None, came if isinstance(came, Child) else None
            child, self.child = self.child, None
            if child:
                await asyncio.to_thread(_stop, child.process)

    def _rest(self) -> None:
        """Nobody asked for long: give the memory back."""
        if self.child and not self.seated:
            child, self.child = self.child, None
            threading.Thread(target=_stop, args=(child.process,), daemon=True).start()

    async def _running(self, model: Model) -> Child:
        """The child that runs the model: started if it is not there, was lost, or runs another."""
        async with self._starting:
            child = self.child
            if child and child.alive and (child.model == model or self.seated > 1):
                return child  # another model has to wait until nobody needs this one
            if child:
                self.child = None
                await asyncio.to_thread(_stop, child.process)
            self._coming = self._coming or asyncio.create_task(
                asyncio.to_thread(self._start, model)
            )
            try:
                # Whoever asks may leave: the next one finds it on its way.
                started = await asyncio.shield(self._coming)
            finally:
                if self._coming.done():
                    self._coming = None
            self.child = started
            return started

    def _start(self, model: Model) -> Child:
        """Start it, and wait until it listens."""
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "moot.models.local.llama_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # what is typed at the terminal is not for it
        )
        words: deque[str] = deque(maxlen=40)
        listening = threading.Thread(target=_listen, args=(process, words), daemon=True)
        listening.start()
        key = secrets.token_urlsafe(24)
        file = {"name": model.name, "path": str(model.path), "context": window(model)}
        told = {**file, "key": key, **asdict(self.size)}
        late = threading.Timer(self._start_seconds, process.kill)
        late.daemon = True
        late.start()
        try:
            url = _address(process, told)
        finally:
            late.cancel()
        seconds = time.monotonic() - began
        if url is None:
            code = _stop(process)
            listening.join(1.0)
            raise _unstarted(model, code, words, seconds >= self._start_seconds, seconds)
        _log.info("llama.cpp runs %s after %.1f s", model.name, seconds)
        return Child(model, f"{url}/v1", key, process, words)


def _address(process: "subprocess.Popen[bytes]", told: Mapping[str, object]) -> str | None:
    """Where it listens, told by itself; None if it died before."""
    stdin, stdout = cast("tuple[BinaryIO, BinaryIO]", (process.stdin, process.stdout))
    try:
        stdin.write(json.dumps(told).encode() + b"\n")
        stdin.flush()
        return json.loads(stdout.readline())["url"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _listen(process: "subprocess.Popen[bytes]", words: deque[str]) -> None:
    """Keep the last lines of its log, and never let it wait for a reader."""
    if process.stderr:
        with process.stderr:
            for line in process.stderr:
                words.append(line.decode(errors="replace").rstrip()[:400])


def _stop(process: "subprocess.Popen[bytes]") -> int:
    """End it: kindly, by closing its input; then not. Its exit code."""
    with suppress(OSError):  # it was gone
        if process.stdin:
            process.stdin.close()
    try:
        code = process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if process.stdout:
        process.stdout.close()
    return code


def _unstarted(
    model: Model, code: int, words: deque[str], late: bool, seconds: float
) -> ProviderUnavailableError:
    """Why it does not run. What was killed may be tried again; what it refused, it will refuse."""
    if late:
        return ProviderAbsentError(
            f"llama.cpp did not have {model.name} ready within {seconds:.0f} seconds. "
            "Choose a smaller model with `moot model use`."
        )
    if code < 0:
        return ProviderUnavailableError(
            f"llama.cpp was killed (signal {-code}) while it loaded {model.name}. "
            "If memory is short, choose a smaller model with `moot model use`."
        )
    if not Path(model.path).is_file():
        return ProviderAbsentError(
            f"The file of {model.name} is gone: {model.path}. "
            "Choose another with `moot model use`, or fetch it again with `moot model fetch`."
        )
    return ProviderAbsentError(
        f"llama.cpp cannot run {model.name}{_because(words)}. "
        "Its file may be damaged: get it again (`moot model fetch`, if moot fetched it), or choose "
        "another with `moot model use`."
    )


def _because(words: deque[str]) -> str:
    """The first error in its log, as it stands in brackets."""
    for line in words:
        _, mark, said = line.partition(" E ")  # time, level, where: what
        if mark and (text := said.partition(": ")[2].strip().rstrip(".")):
            return f" ({text})"
    return ""
