"""Makes debates: reads and checks what is asked for, and finds an id that nobody else has."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from moot.core import course, fitness, request, verbs
from moot.core.change import Change
from moot.core.debate import HUMAN, Debate
from moot.core.depth import asked as audit_share
from moot.core.times import iso
from moot.engine import publish
from moot.engine.budget import check_budget
from moot.engine.documents import Sources, named
from moot.engine.model_choice import spelling
from moot.engine.saved_agents import Agents
from moot.errors import DuplicateError, InputError, NotFoundError, StorageError
from moot.ports.available_models import Voices
from moot.ports.debate_files import Records
from moot.ports.debate_store import Once, Store
from moot.ports.dispatcher import Dispatcher
from moot.ports.event_bus import Bus
from moot.ports.inputs import Formats, PreferencesStore
from moot.ports.instruments import Clock

ID_TRIES = 5


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes debates, each of them once."""

    store: Store
    records: Records
    bus: Bus
    dispatcher: Dispatcher
    clock: Clock
    formats: Formats
    voices: Voices
    preferences: PreferencesStore
    agents: Agents
    documents: Sources
    new_id: Callable[[float], str]

    async def create(
        self,
        asked: Mapping[str, Any],
        received: Mapping[str, Any] | None = None,
        normalize: request.Normalize | None = None,
        *,
        start: bool,
        once: Once | None,
        called: tuple[str, tuple[str, ...]] = ("", ()),
    ) -> Debate:
        """Make a debate. It keeps what was `received`, if that is not what is `asked`."""
        kept = received_of(asked) if received is None else received

        async def build() -> Debate:
            made = await self._built(asked, kept, normalize)
            return made.but(title=called[0], tags=called[1])

        def open_(row: Debate) -> Change:
            return verbs.open_(row, start, row.created_at)

        return await self.make(build, open_, start=start, once=once)

    async def council(self, asked: Mapping[str, Any], *, start: bool, once: Once | None) -> Debate:
        self.formats.get("council")  # raises NotFoundError if it is switched off
        try:
            wanted: dict[str, Any] = {**request.council(asked), "format": "council"}
            bent = await self._bent(wanted["participants"])

            def normalize(model: str) -> tuple[str, str | None]:
                return bent.get(model) or self.voices.normalize(model)

            received = {**asked, **named_sources(asked)}
            return await self.create(wanted, received, normalize, start=start, once=once)
        except InputError as error:  # in the words of the request
            field = (error.field or "").removeprefix("limits.")
            if error.message.startswith("The motion"):
                field = "problem"
            raise InputError(error.message.replace("The motion", "The problem"), field) from None

    async def _bent(self, seats: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str | None]]:
        """The models of a council's request, with a warning if a provider is not known."""
        bent: dict[str, tuple[str, str | None]] = {}
        for place, seat in enumerate(seats):
            if seat["model"] and seat["model"].strip().lower() != HUMAN:
                try:
                    bent[seat["model"]] = await self.voices.bend(seat["model"])
                except InputError as error:
                    raise InputError(error.message, f"participants[{place}].model_name") from None
        return bent

    async def plan(self, asked: Mapping[str, Any]) -> course.Plan:
        wanted = {"format": "standard", "participants": (), "limits": None, **asked}
        for name in ("start", "title", "tags"):
            wanted.pop(name, None)
        return await self.planned(await self._built(wanted, received_of(asked)))

    async def planned(self, debate: Debate) -> course.Plan:
        return await asyncio.to_thread(course.plan, debate, self.voices.card)

    async def made(self, once: Once | None) -> Debate | None:
        """What a request made when it first came, whatever it was made of: that may be gone."""
        made = await self.store.made(once, iso(self.clock.now())) if once else None
        if made and not self.formats.enabled(made.format):
            self.formats.get(made.format)  # says so
        return made

    async def make(
        self,
        build: Callable[[], Awaitable[Debate]],
        open_: Callable[[Debate], Change],
        *,
        start: bool,
        once: Once | None,
    ) -> Debate:
        """Make a debate under an id that nobody else has."""
        if made := await self.made(once):
            return made
        for _ in range(ID_TRIES):
            debate = await build()
            await asyncio.to_thread(self.records.check)
            with suppress(DuplicateError):
                change = await self.store.create(debate, open_, once)
                publish.tell(self.bus, change.events[-1:])  # a fork's log is not news but its end
                if start and change.debate.id == debate.id:
                    self.dispatcher.dispatch(change.debate)
                return change.debate
        raise StorageError("No free id was found for the debate. Try again.")

    async def _built(
        self,
        asked: Mapping[str, Any],
        received: Mapping[str, Any],
        normalize: request.Normalize | None = None,
    ) -> Debate:
        wanted = dict(asked)
        try:
            rules = self.formats.get(wanted.pop("format"))
        except NotFoundError as error:  # the request is wrong, not its address
            raise InputError(error.message, error.field) from None
        seats = wanted["participants"] or ()
        wanted["participants"] = [await self._seat(seat, at) for at, seat in enumerate(seats)]
        if wanted.get("host") is not None:
            wanted["host"] = await self._seat(wanted["host"])
        wanted["sources"] = await self.documents.read(
            wanted.get("sources") or (),
            allow_secrets=request.allowed(wanted.pop("allow_secrets", None), "allow_secrets"),
        )
        wanted["audit"] = audit_share(wanted.pop("depth", None), wanted.get("audit"))
        wanted["limits"] = self.preferences.get().limits_of(wanted["limits"])
        if wanted.pop("allow_unpriced", False):
            wanted["limits"]["allow_unpriced"] = True
        normalize = await spelling(wanted, self.voices, normalize, defaults=True)
        now = self.clock.now()

        def build() -> Debate:
            made = request.build(
                **wanted,
                debate_id=self.new_id(now),
                at=iso(now),
                rules=rules,
                default_model=self.voices.defaults(),
                normalize=normalize,
                received=received,
                cards=self.voices.card,
                writer=self.voices.writer,
            )
            check_budget(made, self.voices.card)
            fitness.check(made, self.voices.card)
            return made

        return await asyncio.to_thread(build)  # the first card of a vendor loads its price list

    async def _seat(self, seat: Mapping[str, Any], place: int | None = None) -> Mapping[str, Any]:
        """A seat for a saved agent, as it is now; what is given beside it wins."""
        given = {name: value for name, value in seat.items() if value is not None}
        if "agent" not in given:
            return seat
        field = "host.agent" if place is None else f"participants[{place}].agent"
        try:
            agent = await self.agents.get(given.pop("agent"))
        except InputError as error:
            raise InputError(error.message, field) from None
        known: dict[str, Any] = {"name": agent.name, "bio": agent.bio}
        if agent.model:
            known["model"] = agent.model
        if agent.stance != "neutral" and place is not None:
            known["stance"] = agent.stance
        return {**known, **given}


def received_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of a request, and not what was left out."""

    def said(value: Any) -> Any:
        if isinstance(value, Mapping):
            named = cast(Mapping[Any, Any], value)
            return {name: said(one) for name, one in named.items() if one is not None}
        if isinstance(value, list | tuple):
            return [said(one) for one in cast(Sequence[Any], value)]
        return value

    told = {name: said(value) for name, value in asked.items() if value is not None}
    told |= named_sources(told)
    kept = ("motion", "host", "jury")
    return {name: value for name, value in told.items() if value or name in kept}


def named_sources(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The sources of a request as they are kept with it; their texts are kept by themselves."""
    return {"sources": named(asked["sources"])} if asked.get("sources") else {}
