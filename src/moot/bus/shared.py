"""What all buses between processes have in common, whichever way they send.

Nothing durable goes over them: a commit is only a hint to look into the log, and deltas go as they
are spoken. A message that is lost costs a delta at most.
"""

import asyncio
import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from moot.bus import datagrams
from moot.bus.datagrams import NAME, Item, Outbox, key_of, read_delta, read_hints, read_ids
from moot.bus.foreign import Foreign
from moot.bus.memory import MemoryBus
from moot.core.events import Delta, Event, Speech, StatusChanged, TurnCommitted
from moot.core.times import iso

log = logging.getLogger(__name__)

DELTA_SECONDS = 0.04  # pieces are collected for that long
HINT_SECONDS = 0.02  # and commits and nudges
HELLO_SECONDS = 1.0  # between two requests for what was missed

NEVER = float("inf")
_AT_REST = ("paused", "completed", "stopped", "failed")
T = TypeVar("T")


class SharedBus(MemoryBus, ABC):
    """The bus of one process among others: what it says to them, and makes of what they say."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name: str = name
        self._outbox = Outbox()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the timer goes off
        self._hinted = 0.0
        self._foreign = Foreign()
        self._asked: dict[str, float] = {}
        self._owed: dict[str, set[str]] = {}  # who is to be told what is being said, where
        self._telling: dict[str, set[str]] = {}
        self._answers: dict[str, asyncio.Task[None]] = {}

    # --- the way it goes ---

    @abstractmethod
    def _others(self) -> bool:
        """Whether anybody else may hear."""

    def _wanted(self, debate_id: str) -> bool:
        """Whether anybody else wants to hear what is being said there."""
        return self._others()

    @abstractmethod
    def _broadcast(self, items: Iterable[Item]) -> None: ...

    @abstractmethod
    def _reaches(self, name: str) -> bool: ...

    @abstractmethod
    async def _deliver(self, name: str, datagram: bytes) -> bool:
        """Send to one, at the pace at which it reads; False: it does not."""

    @abstractmethod
    def _ask(self, sender: str, debate_id: str) -> None:
        """Something was missed: have the speaker say it again from the beginning."""

    # --- said here ---

    def publish(self, event: Event | Delta) -> None:
        super().publish(event)
        if isinstance(event, Delta):
            if self._wanted(event.debate_id):
                self._outbox.say(event)
                self._flush_in(DELTA_SECONDS)
        elif self._others():
            self._outbox.hint(event.debate_id, event.seq)
            self._flush_in(self._hinted + HINT_SECONDS - time.monotonic())

    def nudge(self, debate_id: str) -> None:
        if self._others():
            self._outbox.nudge(debate_id)
            self._flush_in(self._hinted + HINT_SECONDS - time.monotonic())

    def begin(self, speech: Speech) -> None:
        self._foreign.drop(key_of(speech))  # it was somebody else's, who lost it
        super().begin(speech)

    def cease(self, speech: Speech) -> None:
        super().cease(speech)
        if self._wanted(speech.debate_id):
            self._outbox.cease(speech)
            self._flush_in(DELTA_SECONDS)

    def listened(self, debate_id: str, *, here: bool = False) -> bool:
        return super().listened(debate_id) or (not here and self._wanted(debate_id))

    def _flush_in(self, seconds: float) -> None:
        due = time.monotonic() + seconds
        if self._timer and self._due <= due:
            return
        if seconds > 0:
            with suppress(RuntimeError):  # no loop is running: it is sent at once
                timer = asyncio.get_running_loop().call_later(seconds, self._flush)
                if self._timer:
                    self._timer.cancel()
                self._due, self._timer = due, timer
                return
        self._flush()

    def _flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        items = self._outbox.take()
        if items and items[-1]["kind"] in ("commit", "nudge"):
            self._hinted = time.monotonic()
        self._broadcast(items)

    # --- told to one who came late ---

    def _owe(self, name: str, debates: Collection[str]) -> None:
        """Tell it what is being said there, if it is not being told just now."""
        if not self._reaches(name):
            return
        if owed := (self._speeches.keys() & set(debates)) - self._telling.get(name, set()):
            self._owed.setdefault(name, set()).update(owed)
            task = self._answers.get(name)
            if task is None or task.done():
                self._answers[name] = asyncio.create_task(self._pay(name), name="moot-answer")

    async def _pay(self, name: str) -> None:
        try:
            while debates := self._owed.pop(name, None):
                self._telling[name] = debates
                await self._answer(name, debates)
        finally:
            self._telling.pop(name, None)

    async def _answer(self, name: str, debates: Collection[str] | None = None) -> None:
        told = [id_ for id_ in self._speeches if debates is None or id_ in debates]
        own = [speech for id_ in told for speech in self._speeches[id_]]
        for datagram in datagrams.packed(self._name, self._so_far(own)):
            if not await self._deliver(name, datagram):
                return

    def _so_far(self, own: Sequence[Speech]) -> Iterator[Item]:
        """All that was said. It is asked for bit by bit, and meanwhile the speeches go on."""
        for speech in own:
            told, asked, lost = 0, speech.instruction, speech.cut_off
            while self._spoken(speech):
                self._flush()  # or what is collected would overlap with this
                delta = speech.so_far(iso(time.time()))
                if len(delta.text) == told and asked is None and lost is None:
                    break
                text = delta.text[told:]
                rest = replace(delta, text=text, offset=told, instruction=asked, cut_off=lost)
                yield from datagrams.delta_items(rest)
                told, asked, lost = len(delta.text), None, None
        yield from (datagrams.cease_item(speech) for speech in own if not self._spoken(speech))

    def _spoken(self, speech: Speech) -> bool:
        return any(speech is other for other in self._speeches.get(speech.debate_id, ()))

    async def _end_answers(self) -> None:
        answers = list(self._answers.values())
        for task in answers:
            task.cancel()
        await asyncio.gather(*answers, return_exceptions=True)

    # --- said elsewhere ---

    def relay(self, event: Event | Delta) -> None:
        if isinstance(event, TurnCommitted):
            turn = event.turn
            self._foreign.drop((event.debate_id, turn.round, turn.actor, turn.target))
        elif isinstance(event, StatusChanged) and event.status in _AT_REST:
            self._foreign.drop_debate(event.debate_id)
        super().relay(event)

    def speeches(self, debate_id: str) -> list[Speech]:
        self._others()  # one that is gone speaks no more
        return super().speeches(debate_id) + self._foreign.of(debate_id)

    def _take(self, datagram: bytes) -> None:
        try:
            packet: Any = json.loads(datagram)
        except (ValueError, RecursionError) as error:
            log.debug("a datagram is not JSON: %s", error)
            return
        match packet:
            case {"from": str(sender), "said": [*items]} if NAME.fullmatch(sender):
                if sender == self._name:
                    return
                self._foreign.heard[sender] = time.monotonic()
                self._others()
                for item in items:
                    self._hear(sender, item)
            case _:
                log.debug("a datagram that says nothing, of %d bytes", len(datagram))

    def _hear(self, sender: str, item: Any) -> None:
        match item:
            case {"kind": "commit", **more}:
                _call(self._hint, read_hints(more.get("of")), "hints")
            case {"kind": "nudge", "debate_id": debate_id}:
                for known in read_ids([debate_id]):
                    _call(self._nudged, known, "nudges")
            case {"kind": "hello"}:
                self._owe(sender, self._speeches.keys())
            case {"kind": "delta"} if delta := read_delta(item):
                taken = self._foreign.take(sender, delta)
                if taken == "new":
                    self.relay(delta)
                elif taken == "missed":
                    self._ask(sender, delta.debate_id)
            case {
                "kind": "cease",
                "debate_id": str(debate_id),
                "round": int(number),
                "actor": str(actor),
                "target": str() | None as target,
            }:
                self._foreign.cease(sender, (debate_id, number, actor, target))
            case _:
                log.debug("%s said something unknown", sender)

    def _may_ask(self, what: str) -> bool:
        now = time.monotonic()
        if now - self._asked.get(what, -NEVER) < HELLO_SECONDS:
            return False
        self._asked[what] = now
        return True

    def _drop_gone(self, there: Sequence[str], silent_seconds: float) -> None:
        """Forget those who are gone, and what is long dealt with."""
        now = time.monotonic()
        self._foreign.drop_gone(there, now - silent_seconds)
        self._asked = {what: at for what, at in self._asked.items() if now - at < HELLO_SECONDS}
        self._answers = {name: task for name, task in self._answers.items() if not task.done()}


def _call(told: Callable[[T], None] | None, what: T, name: str) -> None:
    try:
        if told:
            told(what)
    except Exception:
        log.exception("whoever waits for %s failed", name)
