"""The engine behind `Moot`: what a person can ask, and what servers and workers need beside."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from moot.core import (
    course,
    fitness,
    followups,
    labels,
    moves,
    templates,
    verbs,
    voices,
)
from moot.core.change import Change
from moot.core.debate import Debate, Turn
from moot.core.effort import BETWEEN, bare
from moot.core.events import Delta, Event, TurnCommitted
from moot.core.followups import Followup
from moot.core.form import Asked
from moot.core.format import Format
from moot.core.ids import check_id
from moot.core.link import check_seat
from moot.core.preferences import Preferences
from moot.core.sources import Source
from moot.core.status import FINAL, POSSIBLE
from moot.core.templates import Template
from moot.core.times import iso
from moot.engine import decided, publish
from moot.engine.advance import Advancer
from moot.engine.asking import Asker
from moot.engine.broadcast import Stations
from moot.engine.documents import Sources
from moot.engine.filling import asked_of, spoken, turn_of
from moot.engine.finish import Filer, at_rest
from moot.engine.inbox import Subscription
from moot.engine.indexer import Indexer
from moot.engine.lease import Keeper
from moot.engine.making import Maker
from moot.engine.model_choice import chosen, doubtful
from moot.engine.offspring import Offspring
from moot.engine.outdated import behind
from moot.engine.reporting import Reporter, billed
from moot.engine.saved_agents import Agents
from moot.engine.sharing import Sharing
from moot.engine.supervise import Supervisor
from moot.engine.tail import Tail
from moot.errors import (
    WARN_FILES_AHEAD,
    InputError,
    StateError,
    StorageError,
)
from moot.outcome.calibration import (
    HINDSIGHTS,
    Calibration,
    Hindsight,
    Noted,
    calibration,
    forecasts,
)
from moot.ports.available_models import Offers, ProviderStatus, Voices
from moot.ports.debate_files import Bundles, Records
from moot.ports.debate_store import Once, ReportRow, Store
from moot.ports.dispatcher import Dispatcher
from moot.ports.entry_point import Moot
from moot.ports.event_bus import Bus, Forget, Listener
from moot.ports.finding import Found, Line, Search
from moot.ports.inputs import FormatProblem, Formats, PreferencesStore, TemplateStore
from moot.ports.instruments import Clock
from moot.ports.model_call import Say
from moot.render.export import Kind, export

POLL_SECONDS = 0.5
"""How often a follower looks into the log for what other processes committed."""


class Wish(Protocol):
    """A move that depends on whether a step is in flight."""

    def __call__(self, debate: Debate, *, in_flight: bool, at: str) -> Change: ...


class Service(Moot):
    """The whole engine. Use it as an async context manager: `async with moot.open() as service`."""

    def __init__(
        self,
        *,
        store: Store,
        records: Records,
        bus: Bus,
        dispatcher: Dispatcher,
        clock: Clock,
        formats: Formats,
        voices: Voices,
        preferences: PreferencesStore,
        advancer: Advancer,
        keeper: Keeper,
        supervisor: Supervisor,
        agents: Agents,
        stations: Stations,
        tail: Tail,
        filer: Filer,
        reporter: Reporter,
        documents: Sources,
        asker: Asker,
        bundles: Bundles,
        templates: TemplateStore,
        indexer: Indexer | None,
        new_id: Callable[[float], str],
        replay: Callable[[str], dict[str, Any]],
    ) -> None:
        self.supervisor = supervisor
        self.tail = tail
        self._agents = agents
        self._stations = stations
        self._store = store
        self._records = records
        self._bus = bus
        self._dispatcher = dispatcher
        self._clock = clock
        self._formats = formats
        self._voices = voices
        self._preferences = preferences
        self._advancer = advancer
        self._keeper = keeper
        self._filer = filer
        self._reporter = reporter
        self._asker = asker
        self._bundles = bundles
        self._templates = templates
        self._documents = documents
        self._indexer = indexer
        self._replay = replay
        self._maker = Maker(
            store, records, bus, dispatcher, clock, formats, voices, preferences, agents, documents,
            new_id,
        )  # fmt: skip
        self._offspring = Offspring(self._maker)
        self._links = Sharing(store, clock, self.get)
        self._closed = False
        dispatcher.start(self._advance)

    @property
    def agents(self) -> Agents:
        return self._agents

    @property
    def stations(self) -> Stations:
        return self._stations

    @property
    def links(self) -> Sharing:
        return self._links

    async def close(self) -> None:
        self._closed = True
        await self.tail.close()
        await self.supervisor.close()
        if self._indexer:
            await self._indexer.close()
        await self._reporter.close()
        await self._asker.close()
        await self._keeper.close()
        await self._dispatcher.close()
        await self._filer.close()

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
        jury: Mapping[str, Any] | None = None,
        sources: Sequence[Mapping[str, Any]] = (),
        hide_sources_from: Sequence[str] = (),
        depth: str | None = None,
        audit: float | None = None,
        allow_secrets: bool = False,
        allow_unpriced: bool = False,
        title: str | None = None,
        tags: Sequence[str] = (),
        start: bool = True,
        once: Once | None = None,
    ) -> Debate:
        asked = {
            "motion": motion, "format": format, "participants": participants, "host": host,
            "options": options, "limits": limits, "on_failure": on_failure, "brief": brief,
            "jury": jury, "sources": sources, "hide_sources_from": hide_sources_from,
            "depth": depth, "audit": audit,
            "allow_secrets": allow_secrets, "allow_unpriced": allow_unpriced,
        }  # fmt: skip
        called = labels.title(title or ""), labels.tags(tags)
        made = await self._maker.create(asked, start=start, once=once, called=called)
        return await self._billed(made)  # it may have ended since it was first asked for

    async def council(
        self, asked: Mapping[str, Any], *, start: bool = True, once: Once | None = None
    ) -> Debate:
        return await self._billed(await self._maker.council(asked, start=start, once=once))

    async def plan(self, asked: Mapping[str, Any]) -> course.Plan:
        return await self._maker.plan(asked)

    async def plan_of(self, debate_id: str) -> course.Plan:
        return await self._maker.planned(await self.get(debate_id))

    async def upload(
        self, name: str, data: bytes, *, title: str = "", allow_secrets: bool = False
    ) -> tuple[str, Source]:
        return await self._documents.upload(name, data, title, allow_secrets=allow_secrets)

    # --- verbs ---

    async def start(self, debate_id: str) -> Debate:
        if await self._stations.is_waiting(check_id(debate_id)):
            return (await self._stations.run(debate_id)).debate
        return await self._verb(debate_id, verbs.enqueue, go=True)

    async def stop(self, debate_id: str) -> Debate:
        return await self._wish(debate_id, verbs.stop)

    async def pause(self, debate_id: str, *, at_once: bool = False) -> Debate:
        if not at_once:
            return await self._wish(debate_id, verbs.pause)
        debate = await self._verb(
            debate_id, lambda row, at: verbs.pause(row, in_flight=False, at=at)
        )
        self._call_off(debate_id)
        return debate

    async def resume(self, debate_id: str) -> Debate:
        def move(row: Debate, at: str) -> Change:
            return verbs.resume(row, in_flight=self._in_flight(row), at=at)

        return await self._verb(debate_id, move, go=True)

    async def end(self, debate_id: str) -> Debate:
        before = (await self.get(debate_id)).status
        debate = await self._verb(debate_id, verbs.end)
        if debate.status == "ending":
            if before != "ending":  # said twice, it does nothing more
                self._call_off(debate_id)
            self._dispatch(debate)
        return debate

    async def retry(
        self, debate_id: str, model: str | None = None, *, max_turn_seconds: float | None = None
    ) -> Debate:
        if model is None:
            return await self._verb(
                debate_id,
                lambda row, at: verbs.retry(row, None, None, at, max_turn_seconds),
                go=True,
            )
        canonical, models = await chosen(model, self._voices)
        found = await asyncio.to_thread(lambda: {one: self._voices.card(one) for one in models})

        def move(row: Debate, at: str) -> Change:
            failed = row.failure and row.failure.actor
            doubt = doubtful(row, canonical, found.__getitem__) if failed else None
            change = verbs.retry(row, canonical, doubt, at, max_turn_seconds, found.__getitem__)
            fitness.check(change.debate, lambda one: found[bare(one)], failed)
            return change

        return await self._verb(debate_id, move, go=True)

    async def skip(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, verbs.skip, go=True)

    async def say(
        self,
        debate_id: str,
        text: str = "",
        *,
        answer: Mapping[str, Any] | None = None,
        seat: str | None = None,
        step: str | None = None,
        note: bool = False,
        once: Once | None = None,
    ) -> Debate:
        there = await self.get(debate_id)
        meant, step = turn_of(there, seat, step, answer, note=note)
        words, data, wrong = text, None, None
        try:
            words, data = await spoken(
                there, meant, text, answer, lambda: self._store.turns(there.id)
            )
        except (InputError, StateError) as error:
            wrong = error  # told in the move: what came before with the same key is not wrong

        def move(row: Debate, at: str) -> Change:
            if wrong:
                raise wrong
            return verbs.say(row, words, at, meant, data, step=step, note=note)

        debate = await self._verb(debate_id, move, once=once)
        if meant and not at_rest(debate) and not self._in_flight(debate):
            self._dispatch(debate)
        return debate

    async def asked(self, debate_id: str, *, seat: str | None = None) -> Asked | None:
        debate = await self.get(debate_id)
        if seat is not None:
            check_seat(debate, seat)
        return await asked_of(debate, seat, await self._store.turns(debate_id))

    async def rejudge(
        self,
        debate_id: str,
        *,
        jury: Mapping[str, Any] | None = None,
        once: Once | None = None,
    ) -> Debate:
        if made := await self._maker.made(once):
            return await self._billed(made)
        judged = await self._unspoilt(debate_id)
        return await self._offspring.rejudge(judged, jury, once)

    async def fork(
        self,
        debate_id: str,
        after: int,
        *,
        changes: Mapping[str, Any] | None = None,
        once: Once | None = None,
    ) -> Debate:
        if first := await self._maker.made(once):
            return await self._billed(first)
        known = await self._unspoilt(debate_id)
        return await self._offspring.fork(known, after, changes, once)

    async def ask(
        self,
        debate_id: str,
        question: str,
        *,
        model: str | None = None,
        once: Once | None = None,
        say: Say = lambda _: None,
    ) -> Followup:
        debate = await self._unspoilt(debate_id)
        turns = await self._store.turns(debate_id)
        if model is None:
            own = await asyncio.to_thread(followups.answerer, turns, self._voices.card)
            model = own or self._voices.defaults()[0]
        if BETWEEN in model:
            raise InputError("One model answers: name one, without a second choice.", "model")
        canonical, _ = await chosen(model, self._voices)
        answer = await self._asker.ask(debate, question, canonical, once, say)
        self._bus.touch(debate_id)
        return answer

    async def followups(self, debate_id: str) -> list[Followup]:
        await self.get(debate_id)
        return [row.followup for row in await self._store.followups(debate_id)]

    async def rerun(self, debate_id: str, *, once: Once | None = None) -> Debate:
        if made := await self._maker.made(once):
            return await self._billed(made)
        return await self._offspring.rerun(await self._unspoilt(debate_id), once)

    async def label(
        self,
        debate_id: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> Debate:
        def move(row: Debate) -> Debate:
            return labels.labelled(self._shown(row), title, tags, archived)

        debate = await self._store.label(check_id(debate_id), move)
        self._bus.touch(debate_id)
        return await self._billed(debate)

    async def delete(self, debate_id: str, *, record: bool = False) -> None:
        if not await self._store.is_deleted(check_id(debate_id)):
            self._shown(await self._store.load(debate_id))
            at = iso(self._clock.now())

            def check(row: Debate) -> None:
                verbs.check_deletable(row, in_flight=self._in_flight(row))

            await self._store.delete(debate_id, check, at, record=record)
            self._bus.touch(debate_id)
        await self._filer.remove_deleted()

    def recover(self, found: Callable[[str], None]) -> None:
        self.supervisor.start(found)
        if self._indexer:
            self._indexer.start()

    # --- reads ---

    async def get(self, debate_id: str) -> Debate:
        debate = await self._billed(self._shown(await self._store.load(check_id(debate_id))))
        if wrong := await behind(self._records, debate, lambda: self._store.load(debate_id)):
            return debate.but(warnings=(*debate.warnings, f"{WARN_FILES_AHEAD}: {wrong}"))
        return debate

    async def _billed(self, debate: Debate) -> Debate:
        """The same debate, with what its report took."""
        return await billed(self._store, debate) if debate.status in FINAL else debate

    async def find(self, search: Search | None = None) -> Found:
        search = replace(search or Search(), hidden=self._formats.disabled)
        if self._indexer and (search.words or search.model):
            await self._indexer.catch_up()
        return await self._store.find(search)

    async def models(self) -> list[str]:
        if self._indexer:
            await self._indexer.catch_up()
        return await self._store.models()

    async def tags(self) -> list[str]:
        return await self._store.tags()

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]:
        await self.get(debate_id)
        return await self._store.turns(debate_id, after)

    async def sources(self, debate_id: str) -> tuple[Source, ...]:
        return (await self.get(debate_id)).sources

    async def packet(self, debate_id: str) -> dict[str, Any]:
        debate = await self.get(debate_id)
        decided.check_packet(debate)
        turns = await self._store.turns(debate_id)
        return await asyncio.to_thread(decided.packet, debate, turns)

    async def verdict(self, debate_id: str) -> dict[str, Any]:
        debate = await self.get(debate_id)
        turns = await self._store.turns(debate_id)
        return await asyncio.to_thread(decided.verdict, debate, turns)

    async def note_outcome(self, debate_id: str, hindsight: Hindsight | None) -> Hindsight | None:
        if hindsight not in (None, *HINDSIGHTS):
            known = ", ".join(HINDSIGHTS)
            raise InputError(f"An outcome is {known} or null, not {hindsight!r}.", "outcome")
        debate = await self.get(debate_id)
        if hindsight is None:
            await self._store.forget_hindsight(debate_id)
            return None
        made = await asyncio.to_thread(forecasts, debate, await self._store.turns(debate_id))
        if made is None:
            raise StateError("Nothing was decided in this debate that could be right or wrong.")
        at = iso(self._clock.now())
        await self._store.keep_hindsight(Noted(debate_id, hindsight, at, made))
        return hindsight

    async def noted_outcome(self, debate_id: str) -> Hindsight | None:
        await self.get(debate_id)
        note = await self._store.hindsight_of(debate_id)
        return note.hindsight if note else None

    async def calibration(self) -> Calibration:
        return calibration(await self._store.hindsights())

    async def report(self, debate_id: str) -> dict[str, Any]:
        await self.get(debate_id)
        return await self._reporter.read(debate_id)

    async def remake_report(self, debate_id: str, model: str | None = None) -> dict[str, Any]:
        canonical = self._voices.normalize(voices.only(model))[0] if model else None
        await self.get(debate_id)
        return await self._reporter.make(debate_id, canonical)

    async def export(self, debate_id: str, kind: Kind) -> str:
        debate, said = await self.get(debate_id), await self._store.turns(debate_id)
        row = (await self._store.reports([debate_id])).get(debate_id)
        return await asyncio.to_thread(export, kind, debate, said, row.read if row else None)

    async def export_folder(self, debate_id: str) -> bytes:
        debate = await self.get(debate_id)
        if at_rest(debate):
            await self._file(debate)  # whoever ended it may not have come to it yet
        return await self._bundles.pack(debate)

    async def import_folder(self, data: bytes) -> Debate:
        brought = await self._bundles.bring(data, iso(self._clock.now()))
        self._bus.touch(brought.id)
        return await self._billed(await self._store.load(brought.id))

    async def replay(self, debate_id: str) -> dict[str, Any]:
        return await asyncio.to_thread(self._replay, debate_id)

    async def records(self, words: str = "", limit: int = 50) -> list[dict[str, Any]]:
        return await self._store.records(words, limit, self._formats.disabled)

    async def formats(self) -> list[Format]:
        return self._formats.all()

    async def format_problems(self) -> list[FormatProblem]:
        return self._formats.problems()

    async def providers(self) -> list[ProviderStatus]:
        return await self._voices.describe()

    async def offers(self, provider: str | None = None) -> list[Offers]:
        return await self._voices.offers(provider)

    async def default_models(self) -> tuple[str, ...]:
        return self._voices.defaults()

    async def preferences(self) -> Preferences:
        return self._preferences.get()

    async def prefer(self, given: Mapping[str, Any]) -> Preferences:
        return await asyncio.to_thread(self._preferences.put, given)

    async def templates(self) -> list[Template]:
        return await asyncio.to_thread(self._templates.all)

    async def template(self, template_id: str) -> Template:
        return await asyncio.to_thread(self._templates.get, template_id)

    async def keep_template(self, template_id: str, asked: Mapping[str, Any]) -> Template:
        kept = templates.check(asked)
        labels.tags(kept.get("tags", ()))
        await self.plan({**kept, "motion": kept.get("motion") or "Of a template."})  # checks it
        return await asyncio.to_thread(self._templates.put, template_id, kept)

    async def delete_template(self, template_id: str) -> None:
        await asyncio.to_thread(self._templates.delete, template_id)

    def folder(self, debate_id: str) -> str:
        return self._records.folder(check_id(debate_id))

    def left_behind(self, debate: Debate) -> bool:
        return (
            self._dispatcher.here
            and debate.status in ("queued", "running", "ending")
            and not debate.waiting_for
            and not self._in_flight(debate)
        )

    async def follow(self, debate_id: str, after: int = 0) -> AsyncGenerator[Event | Delta]:
        # It subscribes first and reads the log second, so nothing falls between the two.
        ear = Subscription(self._bus, check_id(debate_id))
        try:
            while True:
                while events := await self._store.events(debate_id, after):
                    for event in events:
                        yield event
                        after = event.seq
                debate = self._shown(await self._store.load(debate_id))
                if debate.last_seq < after:
                    after = 0  # a shorter log took its place
                    continue
                if debate.last_seq == after and at_rest(debate):
                    return
                while (heard := await ear.get(POLL_SECONDS)) is not None:
                    if isinstance(heard, Delta):
                        yield heard
                    elif heard.seq == after + 1:
                        yield heard
                        after = heard.seq
                        if not isinstance(heard, TurnCommitted):
                            break
                    elif heard.seq > after:
                        break  # the log has what lies between
        finally:
            ear.close()

    async def wait(self, debate_id: str) -> Debate:
        check_id(debate_id)
        while True:
            await self._dispatcher.idle(debate_id)
            debate = self._shown(await self._store.load(debate_id))
            if at_rest(debate):
                await self._file(debate)
                await self._reporter.idle(debate_id)
                return await self._billed(debate)
            if self._closed or debate.waiting_for:
                return debate
            if self._dispatcher.here and not self._in_flight(debate):
                self._dispatcher.dispatch(debate)
            await asyncio.sleep(0.05)

    # --- for those who serve it, and for workers ---

    @property
    def in_hand(self) -> int:
        """How many debates this process carries on right now."""
        return self._keeper.count

    async def ping(self) -> None:
        """Raises StorageError if the database cannot be written."""
        await self._store.ping()

    async def counts(self) -> dict[str, int]:
        """How many debates there are, by status."""
        return await self._store.counts()

    async def attempts(self, debate_id: str) -> list[dict[str, Any]]:
        """Every model call of a debate, and how it ended."""
        return await self._store.attempts(check_id(debate_id))

    async def actions(self, debate_id: str) -> list[dict[str, Any]]:
        """What a council decided to do next."""
        return await self._store.actions(check_id(debate_id))

    async def line(self, debate: Debate) -> Line:
        """What lists show of a debate beside it."""
        return (await self._store.lines([debate]))[debate.id]

    async def reports(self, debate_ids: Sequence[str]) -> dict[str, ReportRow]:
        """How the reports of those debates stand, of those that have ended."""
        return await self._store.reports(debate_ids)

    async def log(self, debate_id: str, after: int, limit: int) -> list[Event]:
        """The log with seq > after, as it stands."""
        return await self._store.events(debate_id, after, limit)

    def listen(self, debate_id: str, listener: Listener) -> Forget:
        """Hear a debate's events and deltas at once, without a promise: the log has it."""
        return self._bus.listen(debate_id, listener)

    def watch(self, watcher: Callable[[str], None]) -> Forget:
        """Hear the id of every debate that changes, in whichever process."""
        return self._bus.watch(watcher)

    def speeches(self, debate_id: str) -> list[Delta]:
        """What is being said right now, from its beginning."""
        at = iso(self._clock.now())
        begun = (s for s in self._bus.speeches(debate_id) if s.pieces or s.instruction or s.cut_off)
        return [speech.so_far(at) for speech in begun]

    async def wave(self, debate_id: str, place: str) -> None:
        """Speak the wave at that place, if it is still open, and go on for a while; then queue the
        next one.

        For workers that share the debates. What this process lets go half-way, because it ends, is
        queued again too.
        """
        debate = await self._advancer.advance(debate_id, place)
        if debate is None:
            return
        if at_rest(debate):
            await self._file(debate)
        elif debate.lease_owner is None and debate.not_before <= self._clock.now():
            self._dispatch(debate)

    async def let_go(self) -> None:
        """Cancel what is in hand here; a wave that is let go is queued again."""
        await self._keeper.close()

    # --- pieces ---

    async def _advance(self, debate_id: str) -> None:
        debate = await self._advancer.advance(debate_id)
        if debate and at_rest(debate):
            await self._file(debate)

    def _call_off(self, debate_id: str) -> None:
        """Cancel what is in flight, here or elsewhere: its lease was taken away."""
        self._keeper.call_off(debate_id)
        self._bus.nudge(debate_id)

    async def _wish(self, debate_id: str, move: Wish) -> Debate:
        def decide(row: Debate, at: str) -> Change:
            return move(row, in_flight=self._in_flight(row), at=at)

        debate = await self._verb(debate_id, decide)
        self._keeper.nudge(debate_id)
        self._bus.nudge(debate_id)
        return debate

    async def _verb(
        self,
        debate_id: str,
        move: Callable[[Debate, str], Change],
        *,
        go: bool = False,
        once: Once | None = None,
    ) -> Debate:
        at = iso(self._clock.now())
        await self._unspoilt(debate_id)

        def checked(row: Debate) -> Change:
            try:
                return move(self._shown(row), at)
            except StateError as error:
                if not self.left_behind(row) or POSSIBLE[row.status] not in error.message:
                    raise
                gone = f"Nobody carries it on: `moot resume {row.id}` does."
                raise StateError(error.message.replace(POSSIBLE[row.status], gone)) from None

        change = await self._store.change(debate_id, checked, once)
        self._publish(change)
        if at_rest(change.debate):
            await self._file(change.debate)
        elif go:
            self._dispatch(change.debate)
        return await self._billed(change.debate)

    def _dispatch(self, debate: Debate) -> None:
        """Have it carried on, unless only a person can do that."""
        if not debate.waiting_for:
            self._dispatcher.dispatch(debate)

    async def _unspoilt(self, debate_id: str) -> Debate:
        """A debate that something can be done to: its files do not hold more than its rows."""
        debate = await self._store.load(check_id(debate_id))
        if wrong := await behind(self._records, debate, lambda: self._store.load(debate_id)):
            raise StateError(str(wrong))
        return self._shown(debate)

    async def _file(self, debate: Debate) -> None:
        try:
            await self._filer.file(debate.id)
        except StorageError:
            if debate.stop_reason != "structural_failure":  # that says it already
                raise
        else:
            if debate.status in FINAL:
                self._reporter.begin(debate.id)

    def _shown(self, debate: Debate) -> Debate:
        """A format that is switched off is out of every interface; its data stays."""
        if not self._formats.enabled(debate.format):
            self._formats.get(debate.format)  # says so
        return debate

    def _in_flight(self, debate: Debate) -> bool:
        return moves.held(debate, self._clock.now(), self._keeper.is_dead)

    def _publish(self, change: Change) -> None:
        publish.tell(self._bus, change.events)
