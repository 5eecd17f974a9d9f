"""Debates carried on in this terminal: shown as they go, paused by Ctrl-C, told of at the end."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

import typer

from moot.bootstrap import load_settings
from moot.cli.ask import print_json
from moot.cli.hints import typed
from moot.cli.person import carried
from moot.cli.screen import Screen, View
from moot.cli.takeaways_view import ended
from moot.cli.target import Notices, filed, say, where
from moot.core.course import Plan
from moot.core.debate import HUMAN, Debate
from moot.core.rejudge import only_votes
from moot.core.status import FINAL
from moot.core.voices import UNDERSTUDY
from moot.errors import InputError, MootError, StateError
from moot.models.providers import VENDORS
from moot.ports.available_models import ProviderStatus
from moot.ports.entry_point import Moot
from moot.render import cost
from moot.wire import codec

LIVE_PACE = 0.03
"""Seconds between the understudy's words on a terminal, so that a person can follow."""
WORKER_SECONDS = 3.0  # then it is said that no worker has come
NOBODY = "the understudy, which is not a model"
_KEYS = [str(one.key) for one in VENDORS if 0 < one.preference <= 3]  # those that most have
HINT = f'Set {", ".join(_KEYS[:-1])} or {_KEYS[-1]}, or run "moot model fetch".'


def here(
    json: bool, mine: list[str], notices: Notices, pace: float = LIVE_PACE, *, recover: bool = True
) -> AbstractAsyncContextManager[Moot]:
    """The engine that runs debates, at a person's pace if one looks on."""
    live = bool(sys.stdout) and sys.stdout.isatty() and not json
    return where(
        pace=pace if live else 0.0,
        recover=recover,
        live=load_settings().broker_url is not None,  # others speak then
        found=lambda id_: _left_behind(id_, mine),
        notices=notices,
    )


async def carry_on(
    begin: Callable[[Moot], Awaitable[Debate]],
    json: bool,
    mine: list[str],
    *,
    introduce: bool = False,
    plan: Callable[[Moot], Awaitable[Plan]] | None = None,
) -> int:
    """Begin, show it live, and say how it ended. Ctrl-C pauses it: here at once, on a server after
    the step in flight. `introduce` says first who will speak and, from its `plan`, what that is
    likely to cost."""
    notices = Notices()
    async with here(json, mine, notices, recover=False) as moot:
        interrupts = Interrupts(moot)
        found = await moot.providers() if introduce and not json else None
        planned = await _planned(moot, plan) if found is not None and plan else None
        debate = await begin(moot)
        # Not before: the sweep could find that very debate, and whoever resumes it be refused.
        moot.recover(lambda id_: _left_behind(id_, mine))
        if found is not None:
            typer.echo(who_speaks(debate, found, planned))  # before this waits for anything
        mine.append(debate.id)
        interrupts.begun([debate.id])
        heard = await moot.turns(debate.id) if debate.turn_count and not json else []
        likely = planned.estimate.cost_usd if planned else None
        notices.view = View() if json else Screen(debate, heard=heard, expected=likely)
        with notices.view as view:
            debate = await shown(moot, debate, view)
        said = await moot.turns(debate.id) if json or debate.outcome else []
        debate, report = await ended(moot, debate, tell=say)
        view.outcome(debate, filed(moot, debate.id), said, report)
        if json:
            turns = [codec.turn(turn) for turn in said]
            made = debate.rules.result if debate.outcome else None
            packet = await moot.packet(debate.id) if made and made.packet else None
            verdict = await moot.verdict(debate.id) if made and debate.rules.edition > 1 else None
            print_json(
                {
                    **codec.debate(debate),
                    "turns": turns,
                    "packet": packet,
                    "verdict": verdict,
                    "folder": moot.folder(debate.id),
                }
            )
    return exit_code(debate, interrupts.came)


async def _planned(moot: Moot, plan: Callable[[Moot], Awaitable[Plan]]) -> Plan | None:
    """The plan, unless it is refused: whoever begins the debate says why, in words of its own."""
    try:
        return await plan(moot)
    except InputError:
        return None


async def follow(id_: str, after: int) -> int:
    """Show a debate that somebody else runs, from a seq on."""
    notices = Notices()
    async with where(live=True, notices=notices) as moot:
        debate = await moot.get(id_)
        if debate.status == "scheduled":
            say(f"It has not been started yet; that does:  moot start {id_}")
        elif moot.left_behind(debate):
            say(f"Nobody carries it on; that does:  moot resume {id_}")
        heard = await moot.turns(id_) if after else []
        with Screen(debate.but(turn_count=0) if after == 0 else debate, heard=heard) as screen:
            notices.view = screen
            await _show(moot, id_, min(after, debate.last_seq), screen)
        debate, report = await ended(moot, await moot.get(id_), tell=say)
        said = await moot.turns(id_) if debate.outcome else []
        screen.outcome(debate, filed(moot, id_), said, report)
    return exit_code(debate, interrupted=False)


async def shown(moot: Moot, debate: Debate, view: View, seen: int | None = None) -> Debate:
    """Show what it says from now on, until it has ended, is paused, or the moot is closed.

    `seen` is the last seq that a person has seen; by default, it is all that was said before.
    """
    if seen is None:
        seen = debate.last_seq if debate.turn_count else 0
    showing = asyncio.create_task(_show(moot, debate.id, seen, view))
    waiting = asyncio.create_task(_nobody_came(moot, debate.id))
    try:
        debate = await carried(moot, debate.id, view)
        if debate.status in FINAL or debate.status == "paused":
            await showing
        elif debate.waiting_for:
            await view.shown(debate.last_seq)
    finally:
        showing.cancel()
        waiting.cancel()
        await asyncio.gather(showing, waiting, return_exceptions=True)
    return debate


async def _show(moot: Moot, debate_id: str, seen: int, view: View) -> None:
    async for event in moot.follow(debate_id, seen):
        view.show(event)


def _left_behind(debate_id: str, told: list[str]) -> None:
    """Say once that a debate which another process left is carried on beside this one."""
    if debate_id not in told:
        told.append(debate_id)
        say(f"Going on with {debate_id} too: nobody carried it on.")


async def _nobody_came(moot: Moot, debate_id: str) -> None:
    """Say why nothing happens, if workers are to speak and none has come."""
    await asyncio.sleep(WORKER_SECONDS)
    if (await moot.get(debate_id)).status == "queued":
        say("No worker has taken it yet: start one with `moot worker`. `moot doctor` says more.")


class Interrupts:
    """The first Ctrl-C pauses the debates; a second one, should that hang, ends the process.

    It may come before there is a debate: whoever begins them says which they are.
    """

    def __init__(self, moot: Moot) -> None:
        self.came = False
        self._moot = moot
        self._begun: tuple[Sequence[str], bool] | None = None
        self._pausing: asyncio.Task[None] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._interrupt)

    def begun(self, debates: Sequence[str], *, leave: bool = False) -> None:
        """Ctrl-C pauses these debates, and leaves others as they are if `leave` says so."""
        self._begun = (debates, leave)
        self._pause()

    def _interrupt(self) -> None:
        if self.came:
            sys.exit(130)
        self.came = True
        self._pause()

    def _pause(self) -> None:
        if self.came and self._begun and not self._pausing:
            self._pausing = asyncio.create_task(self._pause_all(*self._begun))

    async def _pause_all(self, debates: Sequence[str], leave: bool) -> None:
        paused = await asyncio.gather(*(_pause(self._moot, id_) for id_ in debates))
        if leave or not all(paused):  # over, ending, or another's
            await self._moot.close()  # the next start finds it


async def _pause(moot: Moot, debate_id: str) -> bool:
    """Whether it is paused or will be, or is over anyway."""
    try:
        if await _paused(moot, debate_id):
            return True
    except MootError as error:
        say(f"moot: {error.message}")
    status = (await moot.get(debate_id)).status
    if status == "queued":
        say(f"It waits for a worker and will be spoken by one. `moot stop {debate_id}` ends it.")
    elif status in FINAL and (await moot.report(debate_id)).get("pending"):
        say(
            "The debate is over, and a model is writing its report, which Ctrl-C does not stop. "
            "Ctrl-C again leaves at once; then it is written later, and paid for again."
        )
    return status in FINAL


async def _paused(moot: Moot, debate_id: str) -> bool:
    """Pause it, if that is still possible."""
    at_once = load_settings().url is None
    for _ in range(50):  # one that is queued runs in a moment, and then it can be paused
        try:
            debate = await moot.pause(debate_id, at_once=at_once)
        except StateError:
            if (await moot.get(debate_id)).status != "queued":
                return False
            await asyncio.sleep(0.02)
        else:
            if debate.wanted:
                say("It pauses after the step in flight; Ctrl-C again leaves at once.")
            return True
    return False


def exit_code(debate: Debate, interrupted: bool) -> int:
    if interrupted and debate.status not in ("completed", "failed"):
        return 130
    if debate.status == "paused":
        return 3 if debate.failure else 0
    return 1 if debate.status == "failed" else 0


def who_speaks(debate: Debate, found: Sequence[ProviderStatus], plan: Plan | None = None) -> str:
    """The seats with their models, in one line: what `local` means is among what was found. Then
    what the debate is likely to cost, if its plan is known."""
    local = next((one.model for one in found if one.provider == "local"), "local")
    seats: dict[str, list[str]] = {}
    debaters = (*debate.participants, *filter(None, [debate.host]))
    jury = debate.jury.seats if debate.jury else ()
    speaking = jury if only_votes(debate.rules) else (*debaters, *jury)
    for seat in speaking:
        voice = _voice(local if seat.model == "local" else seat.model)
        if seat.effort and voice != NOBODY:
            voice = f"{voice}, effort {seat.effort}"
        if seat.instead:
            voice = f"{voice}, else {', else '.join(map(_voice, seat.choices[1:]))}"
        name = "host" if seat is debate.host else seat.name
        seats.setdefault(voice, []).append(name)
    line = " · ".join(f"{', '.join(names)}: {voice}" for voice, names in seats.items())
    if plan:
        line = f"{line} · {cost.outlook(plan.estimate)}"
    canned = any(seat.model == "local" for seat in speaking) and local == UNDERSTUDY
    keyed = any(one.works for one in found if one.provider != "local")
    return f"{line}. {typed(HINT)}" if canned and not keyed else line


def _voice(model: str) -> str:
    if model == UNDERSTUDY:
        return NOBODY
    if model == HUMAN:
        return "a person"
    provider, _, name = model.partition(":")
    vendor = VENDORS.find(provider)
    if vendor is None or not name:
        return model
    return f"{vendor.label if vendor.keys or vendor.command else vendor.name} ({name})"
