"""Stations: what they are, what is on their programme, and getting it on air when it is due."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from moot.core import fitness, request, voices
from moot.core.change import Change
from moot.core.debate import Debate, Participant
from moot.core.format import Format
from moot.core.ids import check_id
from moot.core.status import FINAL
from moot.core.times import iso
from moot.engine import failpoints, publish
from moot.engine.budget import check_budget
from moot.engine.collection import Check, Collection, until_free
from moot.engine.outdated import behind
from moot.engine.saved_agents import Agents
from moot.errors import InputError, MootError, NotFoundError, StateError
from moot.ports.debate_files import Records
from moot.ports.dispatcher import Dispatcher
from moot.ports.event_bus import Bus
from moot.ports.inputs import Formats, PreferencesStore
from moot.ports.instruments import Clock
from moot.ports.model_call import ModelCard
from moot.ports.station_store import StationStore
from moot.stations import airing, casting, slots
from moot.stations.airing import Board, StationChange
from moot.stations.station import Agent, Conversation, Programme, Station
from moot.wire import codec_station

PREVIEWED = 5
EARLIER_SECONDS = 60.0
"""A time that is given may be so long ago, so that "now" is not an error."""
FURTHEST_SECONDS = 1000 * 366 * 86_400.0
NOT_FILED = ("on_air", "next_slot", "skipped", "trouble", "created_at", "updated_at")
NewId = Callable[[float], str]


class Stations(Collection[Station]):
    """What a person, or the supervisor, can do with stations."""

    def __init__(
        self,
        store: StationStore,
        records: Records,
        agents: Agents,
        bus: Bus,
        dispatcher: Dispatcher,
        clock: Clock,
        formats: Formats,
        new_id: NewId,
        normalize: request.Normalize,
        default_models: Callable[[], Sequence[str]],
        preferences: PreferencesStore,
        card: Callable[[str], ModelCard],
        look: Callable[[], Awaitable[None]],
        writer: str | None = None,
    ) -> None:
        super().__init__("station", Station, store.stations, store.keep_stations)
        self._store = store
        self._records = records
        self._agents = agents
        self._bus = bus
        self._dispatcher = dispatcher
        self._clock = clock
        self._formats = formats
        self._new_id = new_id
        self._normalize = normalize
        self._default_models = default_models
        self._preferences = preferences
        self._card = card
        self._look_around = look
        self._writer = writer

    async def delete(self, id_: str, /) -> None:
        """What waits is stopped, what is on air goes on as a plain debate; debates stay."""
        await self.get(id_)
        at = iso(self._clock.now())
        done = await self._store.delete_station(
            id_, lambda row: airing.take_off(row, "Its station was deleted.", at)
        )
        self._publish(done)

    # --- its programme ---

    async def schedule(
        self,
        station_id: str,
        *,
        motion: str | None = None,
        agents: Sequence[str] = (),
        at: str | None = None,
    ) -> Conversation:
        """One more conversation; what is not given is the pool's next, and the next free air."""
        station = await self.get(station_id)
        now = self._clock.now()
        due = None if at is None else slots.moment_of(at, station.zone)
        if due is not None and due < now - EARLIER_SECONDS:
            raise InputError(f"{at} has passed; it is {iso(now)} now.", "at")
        if due is not None and due > now + FURTHEST_SECONDS:
            raise InputError(f"{at} is too far away; a thousand years are the most.", "at")
        try:
            cast = await self._agents.some(agents)
        except NotFoundError as error:
            raise InputError(error.message, "agents") from None
        if cast and len(set(agents)) < len(agents):
            raise InputError("An agent cannot take two seats.", "agents")
        change = await self._on(
            station_id, lambda board: airing.schedule(board, now, due, motion, cast, self._make)
        )
        return change.made[0]

    async def air(self, station_id: str) -> Conversation:
        """Air what waits first, or the pool's next, now; or return what is on air already."""
        await self.get(station_id)
        try:
            change = await self._on(
                station_id,
                lambda board: airing.air(board, self._clock.now(), self._make, self._recast),
            )
        except InputError as error:
            raise StateError(f"Nothing waits, and nothing can be made: {error.message}") from None
        return await self.conversation(str(change.station.on_air))

    async def run(self, conversation_id: str) -> Conversation:
        """Air one now, or next if another is on air. Asking again returns it as it stands."""
        known = await self.conversation(conversation_id)
        if known.debate.status in ("stopped", "failed"):
            raise StateError(
                f"{conversation_id} is {known.debate.status} and cannot be aired; schedule another."
            )
        if known.waiting:
            await self._on_one(
                known,
                lambda board: airing.run(board, known.id, self._clock.now(), self._recast),
            )
        return await self.conversation(conversation_id)

    async def cancel(self, conversation_id: str) -> Conversation:
        """Take one off that waits. Said twice, it does nothing more."""
        known = await self.conversation(conversation_id)
        if known.debate.status != "stopped":
            await self._on_one(
                known, lambda board: airing.cancel(board, known.id, self._clock.now())
            )
        return await self.conversation(conversation_id)

    async def reorder(self, station_id: str, ids: Sequence[str]) -> list[Conversation]:
        """The times stay; what waits is dealt out over them in that order."""
        await self.get(station_id)
        await self._on(station_id, lambda board: airing.reorder(board, ids, self._clock.now()))
        return list((await self.programme(station_id, past=0)).waiting)

    async def conversation(self, conversation_id: str) -> Conversation:
        return await self._store.conversation(check_id(conversation_id))

    async def is_waiting(self, debate_id: str) -> bool:
        """Whether a debate waits for its station's air."""
        try:
            return (await self._store.conversation(debate_id)).waiting
        except NotFoundError:
            return False

    async def programme(self, station_id: str, past: int = 20) -> Programme:
        """What is on, what comes, and what was."""
        board = await self._board(station_id)
        station = board.station
        aired = await self._store.aired(station_id, past + 1)
        now = next(
            (one for one in aired if one.id == station.on_air and one.debate.status not in FINAL),
            None,
        )
        waiting = [one for one in board.waiting if one.debate.status == "scheduled"]
        shown = station if now else replace(station, on_air=None)
        return Programme(
            station=shown,
            now=now,
            waiting=tuple(sorted(waiting, key=airing.order)),
            slots=tuple(airing.preview(station, board.agents, self._clock.now(), PREVIEWED)),
            past=tuple(one for one in aired if one is not now)[:past],
        )

    async def use(self, key: str, debate_id: str) -> None:
        """Use a signature once. Raises ConflictError if it was used before."""
        await self._store.use(key, debate_id, iso(self._clock.now()))

    # --- for the supervisor ---

    async def look(self) -> list[str]:
        """See to every station on which there is something to do; says what went on air."""
        aired: list[str] = []
        troubles: list[MootError] = []
        for station_id in await self._store.due(self._clock.now()):
            try:
                aired += await self._look_at(station_id)
            except NotFoundError:
                continue  # deleted meanwhile
            except MootError as error:  # the others are seen to all the same
                troubles.append(error)
        if troubles:
            raise troubles[0]
        return aired

    async def _look_at(self, station_id: str) -> list[str]:
        """Look without the lock first: most looks find nothing to do."""
        board = await self._board(station_id)
        if self._look(board) == StationChange(board.station):
            return []
        change = await self._on(station_id, self._look)
        new = {one.id for one in (*change.made, *change.changed) if one.aired_at is not None}
        return [one for one in new if one == change.station.on_air]

    def _look(self, board: Board) -> StationChange:
        return airing.look(board, self._clock.now(), self._make, self._recast)

    # --- pieces ---

    async def _board(self, station_id: str) -> Board:
        return await self._store.board(casting.check_slug(station_id, "a station"))

    async def _on(self, station_id: str, move: Callable[[Board], StationChange]) -> StationChange:
        """Change a station; what goes on air by it is told of and queued."""
        if "local" in map(voices.family, self._default_models()):
            await self._look_around()  # so that it is known who hosts
        change, done = await until_free(lambda: self._store.on(station_id, move))
        failpoints.hit("aired")
        self._publish(done)
        return change

    async def _on_one(
        self, known: Conversation, move: Callable[[Board], StationChange]
    ) -> StationChange:
        """Change its station, unless the conversation's files hold more than the database."""

        async def load() -> Debate:
            return (await self.conversation(known.id)).debate

        if wrong := await behind(self._records, known.debate, load):
            raise StateError(str(wrong))
        return await self._on(known.station_id, move)

    def _publish(self, done: Sequence[Change]) -> None:
        for change in done:
            publish.tell(self._bus, change.events)
            if change.debate.status == "queued":
                self._dispatcher.dispatch(change.debate)

    def _make(self, station: Station, motion: str, agents: Sequence[Agent]) -> Debate:
        now = self._clock.now()
        made = request.build(
            debate_id=self._new_id(now),
            at=iso(now),
            motion=motion,
            rules=self._rules(station.format),
            default_model=self._default_models(),
            normalize=self._normalize,
            participants=casting.seats(agents),
            options=station.options,
            limits=self._preferences.get().limits_of(station.limits),
            on_failure=station.on_failure,
            cards=self._card,
            writer=self._writer,
        )
        check_budget(made, self._card)
        fitness.check(made, self._card)
        return made

    def _rules(self, name: str) -> Format:
        try:
            return self._formats.get(name)
        except NotFoundError as error:
            raise InputError(error.message, "format") from None

    def _recast(self, debate: Debate, agents: Sequence[Agent]) -> Debate:
        seats = casting.seats(agents)
        return request.recast(debate, seats, self._default_models(), self._normalize, self._card)

    async def _checks(self, *, strict: bool = True) -> Check[Station]:
        """Against the formats and agents that there are. A pool that is too small is an error only
        if `strict`: what was exported can come back."""
        formats = {rules.name: rules for rules in self._formats.all()}
        agents = {one.id: one for one in await self._agents.all()}

        def check(asked: Mapping[str, Any], before: Station) -> Station:
            now = self._clock.now()  # under the lock: no slot is between it and the change
            made = casting.station(asked, now, iso(now), before, formats, agents)
            short = airing.shortage(made)
            if strict and short and casting.POOL & set(asked):
                field = "agents" if made.motions else "motions"
                raise InputError(f"A cron line needs a pool: {short}", field)
            tried = self._make(made, "A motion to try it with", casting.sample(made.seats or 2))
            if {"limits", "agents"} & set(asked) and tried.limits.max_cost_usd is not None:
                pool = [agents[one] for one in made.agents if one in agents]
                seats = [
                    voices.voiced(
                        Participant(id=one.id, name=one.name, model=""),
                        self._normalize(one.model)[0],
                    )
                    for one in pool
                    if one.model
                ]
                voices.check_prices(tried.limits, seats, self._card)
            return replace(made, trouble=short)

        return check

    def _filed(self, one: Station) -> dict[str, Any]:
        """A file says that there is no cron line with an empty one, so that bringing it back takes
        away one that was set meanwhile."""
        shown = codec_station.station(one)
        kept = {name: value for name, value in shown.items() if name not in NOT_FILED}
        return {**kept, "cron": one.cron or ""}
