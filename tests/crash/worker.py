"""Processes of a cluster under test, forked from one that has imported everything.

The first process has opened nothing and has a single thread, so a fork of it is as good as a new
start, and a hundred times cheaper. It reads a line of JSON for each process that is wanted, and
ends with all of them when its standard input does: when the test is gone, however it went.
"""

import asyncio
import gc
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery.apps import worker as _worker
from celery.worker import consumer as _consumer
from celery.worker import worker as _controller
from kombu.transport import redis as _transport

from moot import logs
from moot.bootstrap import load_settings
from moot.bus import redis as _bus
from moot.cli import home_commands
from moot.core import moves
from moot.core.change import Change, NotClaimedError
from moot.core.debate import Debate
from moot.dispatch.celery import CeleryDispatcher
from moot.engine import advance, lease
from moot.engine.advance import Advancer
from moot.engine.lease import Hand, Keeper
from moot.errors import ProviderError
from moot.ports.model_call import Call
from moot.store.postgres import PostgresDatabase
from moot.testing.speaker import plain
from moot.worker import celery_app
from tests.crash.harness import Books, Noted
from tests.integration.councils import answer

IMPORTED = (_worker, _consumer, _controller, _transport, _bus)  # once, before any fork


# --- guards that can be taken out ---


def no_claim() -> None:
    """Whoever has a message speaks, whatever the lease and the cursor say."""
    claim = moves.claim

    def take(debate: Debate, **asked: Any) -> Change:
        asked["place"] = None
        return claim(debate.but(lease_owner=None, lease_until=0.0), **asked)

    moves.claim = take


def no_fence() -> None:
    moves.check_fence = lambda _debate, _fence: None


def own_clock() -> None:
    """The time of this machine, in place of the database's, which all of them share."""
    PostgresDatabase.now = lambda self: time.time()


def no_news_of_death() -> None:
    """Nobody is known to be dead, as if on another machine: the lease has to run out."""
    lease.is_dead = lambda _: False


GUARDS: dict[str, Callable[[], None]] = {
    "claim": no_claim,
    "fence": no_fence,
    "clock": own_clock,
    "news": no_news_of_death,
}


# --- what is noted ---


def note_claims(books: Books) -> None:
    """Note each claim, and each message that found nothing to claim, with how long that took;
    and apart from the others, those for a step that is being spoken at the time."""
    carry_on, hold, claim = Advancer.advance, Keeper.hold, moves.claim

    async def noted_advance(
        self: Advancer, debate_id: str, place: str | None = None
    ) -> Debate | None:
        began = time.monotonic()
        debate = await carry_on(self, debate_id, place)
        if debate is None:
            books.note("refused", f"{debate_id} {place} {time.monotonic() - began}")
        return debate

    def noted_hold(self: Keeper, debate_id: str, fence: int) -> Hand:
        books.note("claimed", f"{debate_id} {fence} {os.getpid()} {time.monotonic()}")
        return hold(self, debate_id, fence)

    def noted_claim(debate: Debate, **asked: Any) -> Change:
        try:
            return claim(debate, **asked)
        except NotClaimedError:
            if debate.lease_owner and debate.cursor.name == asked["place"]:
                books.note("held", f"{debate.id} {asked['place']} {debate.lease_owner}")
            raise

    Advancer.advance = noted_advance
    moves.claim = noted_claim
    Keeper.hold = noted_hold


def repeat(copies: int) -> None:
    """Every message is sent so many times."""
    send = CeleryDispatcher._send

    def send_all(self: CeleryDispatcher, debate_id: str, place: str) -> None:
        for _ in range(copies):
            send(self, debate_id, place)

    CeleryDispatcher._send = send_all


# --- what a process is told to be ---


def script(poison: list[str], books: Books) -> Callable[[Call], str | ProviderError]:
    """What each says; "motion round actor" in `poison` is the end of whoever speaks it."""

    def say(call: Call) -> str:
        here = f"{call.debate.motion} {call.step.round} {call.step.actor}"
        if here in poison:
            books.note("poisoned", f"{here} {os.getpid()}")
            os.kill(os.getpid(), signal.SIGKILL)
        said = answer(call)
        return plain(call) if said is None else json.dumps(said)

    return say


def be(told: dict[str, Any]) -> None:
    """One process, from its settings to its end."""
    books = Books(Path(told["root"]))
    os.environ.update(told["env"])
    settings = load_settings()
    logs.begin(settings)
    for name in told.get("without", ()):
        GUARDS[name]()
    if told["role"] == "supervisor":
        books.note("ready", str(os.getpid()))
        asyncio.run(home_commands._supervise(load_settings()))
        return
    books.keep()
    note_claims(books)
    repeat(told.get("copies", 1))
    advance.KEEP_SECONDS = told.get("keep", advance.KEEP_SECONDS)
    if told.get("place"):
        books.die_at(told["place"])
    speaker = Noted(books, told["seconds"], script(told.get("poison", []), books))
    celery_app.run(settings, speaker=speaker, ready=lambda: books.note("ready", str(os.getpid())))


def born(told: dict[str, Any]) -> None:
    """In the new process: nothing of the first one's but its memory."""
    code = 1
    root = Path(told["root"])
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        log = os.open(root / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for here, there in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(here, there)
        sys.stdin = None
        be(told)
        code = 0
    except BaseException:  # a worker's mistake must be seen, not lost in a child
        Books(root).note("errors", traceback.format_exc())
    finally:
        os._exit(code)


def main() -> None:
    children: set[int] = set()
    gc.freeze()
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208  one line, not a list of paths
        raise RuntimeError("a thread was started by an import: a fork is not safe")
    print(os.getpid(), flush=True)
    try:
        for line in sys.stdin:
            told = json.loads(line)
            if told["role"] == "ended":  # how; nothing while it lives
                pid, status = os.waitpid(told["pid"], os.WNOHANG)
                children.discard(pid)
                print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
                continue
            pid = os.fork()
            if pid == 0:
                born(told)
            children.add(pid)
            print(pid, flush=True)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
