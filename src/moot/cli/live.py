"""Debates carried on in this terminal: shown as they go, paused by Ctrl-C, told of at the end."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import typer

from moot.errors import MootError, StateError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from moot.cli.screen import View
    from moot.cli.target import Notices
    from moot.core.debate import Debate
    from moot.ports import Moot

LIVE_PACE = 0.03
"""Seconds between the understudy's words on a terminal, so that a person can follow."""
WORKER_SECONDS = 3.0  # then it is said that no worker has come


class Begun(Protocol):
    """Takes which debates Ctrl-C pauses, and whether it also leaves some as they are."""

    def __call__(self, debates: Sequence[str], *, leave: bool = False) -> None: ...


def here(
    json: bool,
    mine: list[str],
    notices: "Notices",
    pace: float = LIVE_PACE,
    *,
    recover: bool = True,
) -> "AbstractAsyncContextManager[Moot]":
    """The engine that carries debates on: at a person's pace where one looks on."""
    from moot.bootstrap import load_settings
    from moot.cli.target import where

    live = bool(sys.stdout) and sys.stdout.isatty() and not json
    return where(
        pace=pace if live else 0.0,
        recover=recover,
        live=load_settings().broker_url is not None,  # others speak then
        found=lambda id_: _left_behind(id_, mine),
        notices=notices,
    )


async def carry_on(
    begin: Callable[["Moot"], Awaitable["Debate"]],
    json: bool,
    mine: list[str],
    *,
    introduce: bool = False,
) -> int:
    """Begin, show it live, and say how it ended. Ctrl-C pauses it: here at once, on a server after
    the step in flight. `introduce` says first who will speak."""
    from moot.cli.screen import Quiet, Screen
    from moot.cli.speakers import who_speaks
    from moot.cli.target import Notices, filed

    notices = Notices()
    async with here(json, mine, notices, recover=False) as service:
        interrupted, begun = on_interrupt(service)
        found = await service.providers() if introduce and not json else None
        debate = await begin(service)
        # Not before: the sweep could find that very debate, and whoever resumes it be refused.
        service.recover(lambda id_: _left_behind(id_, mine))
        if found is not None:
            typer.echo(who_speaks(debate, found))  # before this waits for anything
        mine.append(debate.id)
        begun([debate.id])
        screen = Quiet() if json else Screen(debate)
        notices.view = screen
        with screen:
            debate = await shown(service, debate, screen)
        if json:
            await _print_json(service, debate)
        else:
            screen.outcome(debate, filed(service, debate.id))
    return exit_code(debate, interrupted.is_set())


async def shown(
    service: "Moot", debate: "Debate", view: "View", seen: int | None = None
) -> "Debate":
    """Show what it says from now on, until it has ended, is paused, or the service is closed.

    `seen` is the last seq that a person has seen; else it is all that was said before.
    """
    from moot.core.status import FINAL

    if seen is None:
        seen = debate.last_seq if debate.turn_count else 0
    showing = asyncio.create_task(_show(service, debate.id, seen, view))
    waiting = asyncio.create_task(_nobody_came(service, debate.id))
    try:
        debate = await service.wait(debate.id)
        if debate.status in FINAL or debate.status == "paused":
            await showing
    finally:
        showing.cancel()
        waiting.cancel()
        await asyncio.gather(showing, waiting, return_exceptions=True)
    return debate


def _left_behind(debate_id: str, told: list[str]) -> None:
    """Say once that a debate which another process left is carried on beside this one."""
    from moot.cli.target import say

    if debate_id not in told:
        told.append(debate_id)
        say(f"Going on with {debate_id} too: nobody carried it on.")


async def _nobody_came(service: "Moot", debate_id: str) -> None:
    """Say why nothing happens, where it is workers who speak and none has come."""
    from moot.cli.target import say

    await asyncio.sleep(WORKER_SECONDS)
    if (await service.get(debate_id)).status == "queued":
        say("No worker has taken it yet: start one with `moot worker`. `moot doctor` says more.")


async def _show(service: "Moot", debate_id: str, seen: int, view: "View") -> None:
    async for event in service.follow(debate_id, seen):
        view.show(event)


def on_interrupt(service: "Moot") -> tuple[asyncio.Event, Begun]:
    """The first Ctrl-C pauses the debates; a second one, should that hang, ends the process.

    It may come before there is a debate: whoever begins them says which they are.
    """
    loop, interrupted = asyncio.get_running_loop(), asyncio.Event()
    begun_ones: list[tuple[list[str], bool]] = []
    pausing: list[asyncio.Task[None]] = []

    async def pause(debates: list[str], leave: bool) -> None:
        paused = await asyncio.gather(*(_pause(service, id_) for id_ in debates))
        if leave or not all(paused):
            await service.close()  # over, ending, or another's: let it go to where a start finds it

    def begin_pause() -> None:
        if interrupted.is_set() and begun_ones and not pausing:
            pausing.append(asyncio.create_task(pause(*begun_ones[0])))

    def interrupt() -> None:
        if interrupted.is_set():
            sys.exit(130)
        interrupted.set()
        begin_pause()

    def begun(debates: Sequence[str], *, leave: bool = False) -> None:
        begun_ones.append((list(debates), leave))
        begin_pause()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
    return interrupted, begun


async def _pause(service: "Moot", debate_id: str) -> bool:
    """Whether it is paused or will be, or is over anyway."""
    from moot.cli.target import say
    from moot.core.status import FINAL

    try:
        if await _paused(service, debate_id):
            return True
    except MootError as error:
        say(f"moot: {error.message}")
    status = (await service.get(debate_id)).status
    if status == "queued":
        say(f"It waits for a worker and will be spoken by one. `moot stop {debate_id}` ends it.")
    return status in FINAL


async def _paused(service: "Moot", debate_id: str) -> bool:
    """Pause it, if that is still possible."""
    from moot.cli.target import say, url

    for _ in range(50):  # one that is queued runs in a moment, and then it can be paused
        try:
            debate = await service.pause(debate_id, at_once=not url())
        except StateError:
            if (await service.get(debate_id)).status != "queued":
                return False
            await asyncio.sleep(0.02)
        else:
            if debate.wanted:
                say("It pauses after the step in flight; Ctrl-C again leaves at once.")
            return True
    return False


def exit_code(debate: "Debate", interrupted: bool) -> int:
    if interrupted and debate.status not in ("completed", "failed"):
        return 130
    if debate.status == "paused":
        return 3 if debate.failure else 0
    return 1 if debate.status == "failed" else 0


async def _print_json(service: "Moot", debate: "Debate") -> None:
    import json

    from moot.wire import codec

    whole = {
        **codec.debate(debate),
        "turns": [codec.turn(turn) for turn in await service.turns(debate.id)],
        "packet": await service.packet(debate.id) if debate.outcome else None,
        "folder": service.folder(debate.id),
    }
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=1))
