"""Official command-line programs as speakers: a process for each call, killed with all it started.

The prompt goes in on standard input, where no other user can read it. Events come out, a JSON
document on each line. The program runs without tools, in an empty folder, and with an environment
that holds no key: it uses the login that its user gave it.
"""

import asyncio
import json
import logging
import math
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from moot.core.debate import Usage
from moot.core.limits import thinking
from moot.core.prompts import Message, estimate, size
from moot.errors import ProviderError
from moot.models import failures, program_child
from moot.models.failures import Failures, Said
from moot.models.payload import in_words
from moot.models.providers import Vendor
from moot.ports.model_call import Call, ModelCard, Reply, Say

MAX_LINE = 4 << 20  # bytes of one event
MAX_OUTPUT = 64 << 20  # bytes of all of them
_AFTER_EXIT = 0.5  # seconds in which what was written before the end is read
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Heard:
    """What a program has told so far."""

    pieces: list[str] = field(default_factory=list[str])  # as it was spoken
    answer: str | None = None  # the whole answer, once it is there
    model: str = ""  # the name of who speaks, if the program tells
    asked: int = 0  # tokens
    told: int = 0
    thought: int = 0
    cost: float | None = None
    over: bool = False  # the program said that it is done
    wrong: Said | None = None

    @property
    def text(self) -> str:
        return self.answer if self.answer is not None else "".join(self.pieces)


class Program(Protocol):
    """What a module in `vendors/` knows of a program."""

    STREAMS: bool
    """Whether words come as they are spoken."""
    SETS: Mapping[str, str]
    """What is in its environment besides what every program gets to see."""

    def arguments(self, name: str, effort: str | None) -> list[str]:
        """How it is called for one answer, the name of a model given or not."""
        ...

    def read(self, event: Mapping[str, Any], heard: Heard) -> tuple[str, bool]:
        """The text in an event, and whether it is a sign of life; `heard` takes the rest."""
        ...


def find(vendor: Vendor, environment: Mapping[str, str]) -> str | None:
    """Where the program is, if it is installed: from here, since it runs in another folder."""
    found = shutil.which(vendor.command, path=environment.get("PATH", ""))
    return str(Path(found).absolute()) if found else None


async def speak(
    vendor: Vendor,
    name: str,
    card: ModelCard,
    call: Call,
    say: Say,
    environment: Mapping[str, str],
    then: str,
) -> Reply:
    """Speak one call. Raises ProviderError only; cancelling it kills the program."""
    program = cast(Program, await asyncio.to_thread(_module, vendor))
    heard = Heard()
    budget = thinking(call.effort, card.least, card.window)
    whole = call.whole + budget.seconds
    silence = call.seconds + budget.seconds if program.STREAMS else whole

    def failed(said: Said, seconds: float = 0.0) -> ProviderError:
        usage = _usage(call, heard, failed=True)
        return Failures(vendor, name, usage, then).error(said, seconds=seconds)

    path = find(vendor, environment)
    if path is None:
        raise Failures(vendor, name, Usage(), then).error(failures.NOT_INSTALLED)
    call.allow(math.inf)
    call.allow(silence)
    clock = asyncio.get_running_loop().time
    deadline = clock() + whole
    limit, length = call.max_tokens * 12 + 20_000, 0
    try:
        arguments, seen = program.arguments(name, call.effort), {**environment, **program.SETS}
        async with _running(path, arguments, call, seen) as lines:
            async with asyncio.timeout_at(min(clock() + silence, deadline)) as timer:
                async for line in lines:
                    if (event := _event(line)) is None:
                        continue
                    piece, alive = program.read(event, heard)
                    if piece:
                        heard.pieces.append(piece)
                        length += len(piece)
                        silence = call.seconds
                        if call.schema is None:  # pieces of JSON are not for people
                            say(piece)
                    if alive:
                        call.allow(silence)
                        timer.reschedule(min(clock() + silence, deadline))
                    if heard.over or length > limit:
                        break
    except TimeoutError:
        late = failures.ENDLESS if heard.pieces and clock() >= deadline else failures.SILENT
        raise failed(late, whole if late is failures.ENDLESS else silence) from None
    except _TooMuchError:
        raise failed(failures.TOO_MUCH_SAID) from None
    except OSError:
        raise failed(failures.NOT_STARTED) from None
    cut = not heard.over and length > limit
    if wrong := _wrong(heard, cut):
        raise failed(wrong)
    spoke = heard.model or name
    model = f"{vendor.name}:{spoke}" if spoke else vendor.name
    return Reply(heard.text[:limit], model, _usage(call, heard, failed=cut), cut=cut)


def _wrong(heard: Heard, cut: bool) -> Said | None:
    """What is wrong with an answer, once the program has ended or was cut off."""
    if heard.wrong:
        return heard.wrong
    if not heard.over and not cut:
        return failures.CUT if heard.pieces else failures.NO_ANSWER
    return None if heard.text.strip() else failures.EMPTY


def flat(messages: Iterable[Message], schema: Mapping[str, Any] | None) -> str:
    """A prompt as one text, for a program that takes no other."""
    told: list[str] = []
    for message in messages:
        head = "[You answered before:]\n" if message.role == "assistant" else ""
        told.append(f"{head}{message.text}")
    if schema is not None:
        told.append(in_words(schema))
    return "\n\n".join(told)


class _TooMuchError(Exception):
    """It wrote more than an answer can hold."""


@asynccontextmanager
async def _running(
    path: str, arguments: list[str], call: Call, environment: Mapping[str, str]
) -> AsyncGenerator[AsyncGenerator[bytes]]:
    """The program's lines, while it runs. At the end, nothing of its process group is left."""
    with tempfile.TemporaryDirectory(prefix="moot-", ignore_cleanup_errors=True) as empty:
        theirs, ours = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", str(Path(program_child.__file__)), str(theirs),
                path, *arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, cwd=empty, env=dict(environment),
                pass_fds=(theirs,), start_new_session=True, limit=MAX_LINE,
            )  # fmt: skip
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        tasks = [
            asyncio.create_task(_tell(process, flat(call.messages, call.schema))),
            asyncio.create_task(_drain(process)),
        ]
        try:
            yield _lines(process)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            os.close(ours)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(_AFTER_EXIT):
                    await process.wait()
            cast(Any, process)._transport.close()


async def _tell(process: asyncio.subprocess.Process, text: str) -> None:
    if stdin := process.stdin:
        with suppress(ConnectionError, BrokenPipeError):
            stdin.write(text.encode("utf-8", "replace"))
            await stdin.drain()
        stdin.close()


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Its log is thrown away as it comes: it may hold anything, and must not stop the program."""
    while process.stderr and await process.stderr.read(1 << 16):
        pass


async def _lines(process: asyncio.subprocess.Process) -> AsyncGenerator[bytes]:
    """What it writes, until it has ended: others that it started may keep its output open."""
    seen = 0
    while stdout := process.stdout:
        line = asyncio.create_task(stdout.readline())
        try:
            ended = False
            while not (line.done() or ended):
                ended = process.returncode is not None
                await asyncio.wait((line,), timeout=_AFTER_EXIT)
            if not line.done():
                return
            read = line.result()
        except ValueError:  # longer than MAX_LINE
            raise _TooMuchError from None
        finally:
            line.cancel()
        seen += len(read)
        if seen > MAX_OUTPUT:
            raise _TooMuchError
        if not read:
            return
        yield read


def _event(line: bytes) -> Mapping[str, Any] | None:
    """The event on a line; None if there is none: programs also write what is no JSON."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else None


def _usage(call: Call, heard: Heard, *, failed: bool) -> Usage:
    """What the call used, as the program tells; otherwise by the length of what was said."""
    metered = bool(heard.asked or heard.told)
    asked, told = heard.asked, heard.told
    if not metered and (heard.pieces or not failed):
        asked, told = size(call.messages), estimate(heard.text) if heard.text else 0
    return Usage(asked, told, heard.cost or 0.0, 1, not metered, min(heard.thought, told))


def count(value: object) -> int:
    """A number of tokens, whatever the program claims."""
    return min(max(value, 0), 10**9) if isinstance(value, int) else 0


def _module(vendor: Vendor) -> object:
    return import_module(f"moot.models.vendors.{vendor.api}")
