"""A moot elsewhere, over HTTP: the verbs of `engine.service.Service`, with the same types."""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any, Self

from moot.client.remote_stations import RemoteAgents, RemoteStations
from moot.client.requests import WRONG, BrokenError, UnreachableError, Wire
from moot.core.clean import visible
from moot.core.debate import Debate, Turn, Wanted
from moot.core.events import Delta, Event, StatusChanged
from moot.core.format import Format
from moot.core.ids import check_id
from moot.core.status import FINAL
from moot.errors import InputError, StorageError
from moot.ports import FormatProblem, Found, ProviderStatus, Search
from moot.render import report_text
from moot.render.export import Kind
from moot.wire import codec, sse

FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
TRIES = 5
"""How often a debate that may have been made already is asked for again."""
PAGE = 200
REPORT_SECONDS = 900.0
"""As long as a model may take for a report, with all its tries."""

Tell = Callable[[str], None]
"""Takes a sentence for the person who waits: once for each time without a server."""
Lost = Callable[[bool], None]
"""Takes whether the connection is lost, whenever that changes."""


class Remote:
    """The moot at an address. Use it as an async context manager."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        tell: Tell = lambda _: None,
        lost: Lost = lambda _: None,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._tell, self._lost = tell, lost
        self._first_wait = first_wait
        self._closed = asyncio.Event()
        self._wire = Wire(url, token)
        self.url = self._wire.url
        self.agents = RemoteAgents(self._wire)
        self.stations = RemoteStations(self._wire)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
        await self._wire.close()

    async def close(self) -> None:
        """Wait for nothing more; the server carries the debates on."""
        self._closed.set()

    # --- begin ---

    async def create(
        self,
        motion: str,
        *,
        format: str = "standard",  # noqa: A002  the word of the contract
        participants: Sequence[Mapping[str, Any]] = (),
        host: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        on_failure: str | None = None,
        brief: Mapping[str, Any] | None = None,
        allow_unpriced: bool = False,
        start: bool = True,
    ) -> Debate:
        asked = {
            "motion": motion,
            "format": format,
            "participants": [dict(seat) for seat in participants],
            "host": dict(host) if host else None,
            "options": dict(options or {}),
            "limits": dict(limits) if limits else None,
            "on_failure": on_failure,
            "start": start,
            **({"brief": dict(brief)} if brief else {}),
            **({"allow_unpriced": True} if allow_unpriced else {}),
        }
        return await self._make("/debates", asked)

    async def council(self, asked: Mapping[str, Any]) -> Debate:
        return await self._make("/debates/council", dict(asked))

    async def start(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "start")

    # --- what a person can do to it ---

    async def stop(self, debate_id: str) -> Debate:
        return _wanting("stop", await self._verb(debate_id, "stop"))

    async def pause(self, debate_id: str, *, at_once: bool = False) -> Debate:
        """Halt after the step in flight, which the server keeps: nothing is called off from here,
        `at_once` or not."""
        return _wanting("pause", await self._verb(debate_id, "pause"))

    async def resume(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "resume")

    async def end(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "end")

    async def retry(self, debate_id: str, model: str | None = None) -> Debate:
        return await self._verb(debate_id, "retry", {"model": model} if model else None)

    async def skip(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "skip")

    # --- read ---

    async def get(self, debate_id: str) -> Debate:
        said = await self._wire.json("GET", f"/debates/{check_id(debate_id)}")
        return self._wire.read(_debate, said)

    async def find(self, search: Search | None = None) -> Found:
        """A page of debates as lists show them: their rules and seats are not in it."""
        search = search or Search()
        params: dict[str, Any] = {
            "status": [*search.statuses, *(["broadcasting"] if search.broadcasting else [])],
            "format": search.format,
            "q": search.words or None,
            "limit": min(search.limit, PAGE),
            "cursor": search.before,
        }
        said = await self._wire.json("GET", "/debates", params=params)
        return self._wire.read(_found, said)

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]:
        path = f"/debates/{check_id(debate_id)}/turns"
        said = await self._wire.json("GET", path, params={"after": after})
        return self._wire.read(lambda: [codec.read_turn(visible(turn)) for turn in said["items"]])

    async def formats(self) -> list[Format]:
        return (await self.formats_and_problems())[0]

    async def formats_and_problems(self) -> tuple[list[Format], list[FormatProblem]]:
        """The server's formats, and what is wrong with the files that are none."""
        said = await self._wire.json("GET", "/formats")
        return self._wire.read(
            lambda: (
                [codec.read_rules(rules) for rules in said["items"]],
                [
                    FormatProblem(str(item["file"]), str(item["detail"]))
                    for item in visible(said.get("problems", []))
                ],
            )
        )

    async def providers(self) -> list[ProviderStatus]:
        return (await self.voices())[0]

    async def voices(self) -> tuple[list[ProviderStatus], tuple[str, ...]]:
        """The server's providers, and the models of seats that name none."""
        said = visible(await self._wire.json("GET", "/providers"))
        return self._wire.read(lambda: ([_status(item) for item in said["items"]], _ring(said)))

    async def records(self, words: str = "", limit: int = 50) -> list[dict[str, Any]]:
        if limit > PAGE:
            raise InputError(f"A server gives at most {PAGE} records, not {limit:,}.", "limit")
        params = {"q": words, "limit": limit}
        said = await self._wire.json("GET", "/records", params=params)
        return self._wire.read(lambda: [dict(item) for item in said["items"]])

    async def packet(self, debate_id: str) -> dict[str, Any]:
        return await self._wire.object(f"/debates/{check_id(debate_id)}/packet")

    async def replay(self, debate_id: str) -> dict[str, Any]:
        whole = await self._wire.object(f"/debates/{check_id(debate_id)}/replay")
        self._wire.read(lambda: [*whole["consistency"]["issues"], whole["consistency"]["indexed"]])
        return whole

    async def report(self, debate_id: str) -> dict[str, Any]:
        return self._report(await self._wire.json("GET", f"/debates/{check_id(debate_id)}/report"))

    async def remake_report(self, debate_id: str, model: str | None = None) -> dict[str, Any]:
        """Made anew by the server, which takes as long as its model does."""
        path, asked = f"/debates/{check_id(debate_id)}/report", {"model": model} if model else {}
        said = await self._wire.json("POST", path, asked, seconds=REPORT_SECONDS)
        return self._report(said)

    def _report(self, said: Any) -> dict[str, Any]:
        self._wire.read(report_text.markdown, said)  # whether it is one
        return dict(said)

    async def export(self, debate_id: str, kind: Kind) -> str:
        path = f"/debates/{check_id(debate_id)}/export"
        content = await self._wire.ask("GET", path, params={"as": kind})
        return content.decode("utf-8", "replace")

    async def checks(self) -> dict[str, str]:
        """What the server says of itself; raises where it is not ready."""
        said = visible(await self._wire.json("GET", "/readyz"))
        return self._wire.read(
            lambda: {str(name): str(how) for name, how in said["checks"].items()}
        )

    def folder(self, debate_id: str) -> str:
        """Where it lies: its files are the server's."""
        return f"{self.url}/debates/{check_id(debate_id)}"

    def left_behind(self, debate: Debate) -> bool:
        """The server carries on what it has."""
        return False

    # --- follow ---

    async def follow(self, debate_id: str, after: int = 0) -> AsyncGenerator[Event | Delta]:
        """Every event with seq > after, in order, none missed or doubled; deltas in between.

        However often the connection breaks, it goes on from the last seq. It ends with the last
        event of a debate that is over or paused. If the log was replaced by a shorter one, it
        comes from the start.
        """
        place, outage = Place(after), self._outage()
        known = await self._get_surely(debate_id, outage)
        while not place.is_end_of(known):
            try:
                async with aclosing(self._connection(debate_id, place, outage)) as events:
                    async for event in events:
                        outage.over()
                        yield event
                        if _is_pause(event) and place.after >= known.last_seq:
                            known = await self.get(debate_id)
                            if place.is_end_of(known):
                                return
                if place.ended:
                    return
                outage.begins(f"The stream of {self.url} ended early.")
            except (UnreachableError, StorageError) as error:
                outage.begins(error.message)
            known = await self._get_surely(debate_id, outage)

    async def _connection(
        self, debate_id: str, place: "Place", outage: "Outage"
    ) -> AsyncGenerator[Event | Delta]:
        """What one connection gives that was not heard yet."""
        path = f"/debates/{check_id(debate_id)}/events"
        async with aclosing(self._wire.listen(path, place.after, outage.connected)) as messages:
            async for message in messages:
                if message.event == "end":
                    place.ended = True
                    return
                if message.event == "reset":
                    place.after = 0
                elif event := self._next(debate_id, message, place):
                    yield event

    def _next(self, debate_id: str, message: sse.Message, place: "Place") -> Event | Delta | None:
        """The event that a message is, if it is the one that comes next, or a delta."""
        if message.id is None:
            return _delta(debate_id, message)
        seq = self._wire.read(int, message.id)
        if seq <= place.after:
            return None  # heard already
        if seq > place.after + 1:
            raise UnreachableError(f"The stream of {self.url} left something out.")
        event = self._event(debate_id, message, seq)
        place.after = seq
        return event

    async def wait(self, debate_id: str) -> Debate:
        """Wait until the debate has ended or is paused.

        If this is closed meanwhile, it comes back as it stood.
        """
        known = await self._get_surely(debate_id, self._outage())
        closed = asyncio.create_task(self._closed.wait())
        try:
            while not _at_rest(known) and not self._closed.is_set():
                waiting = asyncio.create_task(self._next_rest(known))
                try:
                    await asyncio.wait((waiting, closed), return_when=asyncio.FIRST_COMPLETED)
                    if waiting.done():
                        known = waiting.result()
                finally:
                    waiting.cancel()
                    await asyncio.gather(waiting, return_exceptions=True)
        finally:
            closed.cancel()
        return known

    async def _next_rest(self, known: Debate) -> Debate:
        async with aclosing(self.follow(known.id, known.last_seq)) as events:
            async for _ in events:
                pass
        return await self._get_surely(known.id, self._outage())

    async def _get_surely(self, debate_id: str, outage: "Outage") -> Debate:
        """The debate, however long the server is away; unless it was never there."""
        while True:
            await outage.rest()
            try:
                debate = await self.get(debate_id)
            except (UnreachableError, StorageError) as error:
                if not self._wire.answered:
                    raise
                outage.begins(error.message)
            else:
                outage.connected()
                return debate

    def _outage(self) -> "Outage":
        return Outage(self._tell, self._first_wait, self._lost)

    def _event(self, debate_id: str, message: sse.Message, seq: int) -> Event | None:
        if message.event not in ("turn", "status"):
            return None  # of a newer moot
        data = self._wire.read(lambda: visible(json.loads(message.data)))
        return self._wire.read(codec.read_event, message.event, debate_id, seq, data)

    # --- ask ---

    async def _make(self, path: str, asked: dict[str, Any]) -> Debate:
        """Make a debate, once: if the connection breaks, the same key asks for the same one."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        broke, wait = False, self._first_wait
        for left in reversed(range(TRIES)):
            try:
                return self._wire.read(
                    _debate, await self._wire.json("POST", path, asked, headers=headers)
                )
            except UnreachableError as error:
                broke = broke or isinstance(error, BrokenError)
                if not broke or not left:
                    raise
                await asyncio.sleep(wait)
                wait *= 2
        raise AssertionError

    async def _verb(self, debate_id: str, verb: str, asked: dict[str, Any] | None = None) -> Debate:
        path = f"/debates/{check_id(debate_id)}/{verb}"
        return self._wire.read(_debate, await self._wire.json("POST", path, asked))


@dataclass(slots=True)
class Place:
    """How far a debate was heard."""

    after: int
    ended: bool = False

    def is_end_of(self, debate: Debate) -> bool:
        return _at_rest(debate) and debate.last_seq == self.after


class Outage:
    """The time without a server: told of once, waited out in growing steps."""

    def __init__(self, tell: Tell, first_wait: float, lost: Lost = lambda _: None) -> None:
        self._tell, self._lost = tell, lost
        self._first = self._wait = first_wait
        self._told = self._on = self._is_lost = False

    def begins(self, what: str) -> None:
        if not self._told:
            self._tell(f"{what} Trying again …")
        if not self._is_lost:
            self._lost(True)
        self._told = self._on = self._is_lost = True

    def connected(self) -> None:
        """There is a connection; whether it is good for anything is seen by what comes."""
        if self._is_lost:
            self._lost(False)
        self._is_lost = False

    def over(self) -> None:
        self.connected()
        self._wait, self._told, self._on = self._first, False, False

    async def rest(self) -> None:
        """Wait, if there is something to wait for."""
        if self._on:
            await asyncio.sleep(self._wait)
            self._wait = min(self._wait * 2, LONGEST_WAIT)


def _debate(said: Any) -> Debate:
    rules = said["rules"]  # its texts are no one's to clean: they are compared
    return codec.read_debate(visible({**said, "rules": None}), rules)


def _status(said: Any) -> ProviderStatus:
    known = {field.name for field in fields(ProviderStatus)}  # a newer server may say more
    return ProviderStatus(**{name: value for name, value in said.items() if name in known})


def _ring(said: Any) -> tuple[str, ...]:
    default = said["default"]
    return (
        (default,) if isinstance(default, str) else tuple(map(str, default))
    )  # str: an older moot


def _found(said: Any) -> Found:
    after = said["next"]
    return Found(
        [codec.read_listed(visible(item)) for item in said["items"]],
        None if after is None else int(after),
    )


def _wanting(wish: Wanted, debate: Debate) -> Debate:
    """The wish is not on the wire; whoever uttered it knows it."""
    return debate if _at_rest(debate) else debate.but(wanted=wish)


def _at_rest(debate: Debate) -> bool:
    return debate.status in FINAL or debate.status == "paused"


def _delta(debate_id: str, message: sse.Message) -> Delta | None:
    try:
        return codec.read_delta(debate_id, json.loads(message.data))
    except WRONG:
        return None  # it is not needed, whatever it was


def _is_pause(event: Event | Delta) -> bool:
    return isinstance(event, StatusChanged) and event.status == "paused"
