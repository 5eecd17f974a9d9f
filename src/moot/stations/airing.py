"""What a station does next, as pure functions from its board to a change.

The store reads the board under the lock of the station's row, asks for the change, and writes all
of it in one transaction. So whoever looks, and however many do, one conversation has the air.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from moot.core import verbs
from moot.core.change import Change, Move, conclude
from moot.core.debate import Debate
from moot.core.status import FINAL
from moot.core.times import iso, seconds
from moot.errors import InputError, StateError
from moot.stations import slots
from moot.stations.station import Agent, Called, Conversation, Slot, Station

GRACE_SECONDS = 60.0
"""How late a conversation may begin before its slot counts as missed, while the air is free."""
MOST_WAITING = 24
"""So many slots may wait for the air; what comes on top is passed over."""
MOST_SCHEDULED = 200
MOST_LOOKED_AT = 2000
"""Slots of one look; a line of every minute, after a month away, is not gone through in full."""

Lookup = Callable[[Sequence[str]], Mapping[str, Agent]]
"""The agents of those ids, as far as they are there."""
Make = Callable[[Station, str, Sequence[Agent]], Debate]
"""A debate of a station on a motion between agents, not begun. Raises InputError."""
Recast = Callable[[Debate, Sequence[Agent]], Debate]
"""The same debate with those agents in its seats."""


@dataclass(frozen=True, slots=True)
class Board:
    """All that a station's next step depends on."""

    station: Station
    waiting: tuple[Conversation, ...]
    on_air: Debate | None  # what `station.on_air` names
    agents: Lookup
    filled: Callable[[float], bool]  # whether a slot has its conversation already


@dataclass(frozen=True, slots=True)
class StationChange:
    """What one transaction writes."""

    station: Station
    made: tuple[Conversation, ...] = ()  # with their debates; those that wait no more are started
    changed: tuple[Conversation, ...] = ()
    moves: tuple[tuple[str, Move], ...] = ()  # what happens to the debates of those
    slots: tuple[float, ...] = ()  # that `made` fills: each can be filled once


class _Desk:
    """A change while it is worked out."""

    def __init__(self, board: Board, now: float, recast: Recast = lambda debate, _: debate) -> None:
        self.board, self.now, self.recast = board, now, recast
        self.station = _settled(board, now)
        self.new: dict[str, Conversation] = {}
        self.changed: dict[str, Conversation] = {}
        self.moves: list[tuple[str, Move]] = []
        self.slots: list[float] = []
        for one in board.waiting:
            if one.debate.status != "scheduled":  # stopped by a person, who need not know stations
                self.put(replace(one, waiting=False))

    @property
    def waiting(self) -> list[Conversation]:
        """What waits as of now, the next one first."""
        known = {one.id: one for one in self.board.waiting} | self.changed | self.new
        return sorted((one for one in known.values() if one.waiting), key=order)

    def put(self, one: Conversation) -> None:
        """Write a conversation as it is now."""
        (self.new if one.id in self.new else self.changed)[one.id] = one

    def add(
        self, debate: Debate, agents: Sequence[Agent], called: Called, due: float | None = None
    ) -> Conversation:
        """One more that waits, until `due` or the next free air."""
        due = self.now if due is None else due
        one = Conversation(debate, self.station.id, due, tuple(agents), called)
        self.new[one.id] = one
        return one

    def air(self, one: Conversation) -> None:
        """Give it the air, with its agents as they are now."""
        known = self.board.agents([agent.id for agent in one.agents])
        agents = tuple(_as_now(agent, known.get(agent.id)) for agent in one.agents)
        at, cast = iso(self.now), one.debate
        if one.id not in self.new:
            try:
                cast = self.recast(one.debate, agents)
            except InputError:  # two have one name by now: then as it was scheduled
                agents = one.agents
            self.moves.append((one.id, lambda row: _begin(row, cast, at)))
        self.put(replace(one, debate=cast, agents=agents, waiting=False, aired_at=self.now))
        self.station = replace(self.station, on_air=one.id)

    def drop(self, one: Conversation, why: str) -> None:
        at = iso(self.now)
        self.moves.append((one.id, lambda row: take_off(row, why, at)))
        self.put(replace(one, waiting=False))

    def done(self) -> StationChange:
        """All of it, and when there is something to do next."""
        waiting, slot = self.waiting, self.station.next_slot
        ahead = [one.due for one in waiting if not one.called]
        if self.station.on_air is None and any(one.called for one in waiting):
            ahead.append(self.now)
        wake = min(ahead if slot is None else [*ahead, slot], default=None)
        return StationChange(
            station=replace(self.station, wake=wake),
            made=tuple(self.new.values()),
            changed=tuple(self.changed.values()),
            moves=tuple(self.moves),
            slots=tuple(self.slots),
        )


def look(board: Board, now: float, make: Make, recast: Recast) -> StationChange:
    """One look: note whose time has come, pass over what was missed, air what is first."""
    desk = _Desk(board, now, recast)
    for one in desk.waiting:
        if desk.station.missed == "skip" and _missed(one, desk.station, now):
            desk.drop(one, "Its slot was missed, and its station skips what it misses.")
        elif not one.called and one.due <= now:
            desk.put(replace(one, called=1))
    _fill_slots(desk, make)
    ready = [one for one in desk.waiting if one.called]
    if desk.station.on_air is None and ready:
        desk.air(ready[0])
    return desk.done()


def run(board: Board, conversation_id: str, now: float, recast: Recast) -> StationChange:
    """Air one now, or next if another is on air. Asking twice changes nothing more."""
    desk = _Desk(board, now, recast)
    for one in desk.waiting:
        if one.id == conversation_id:
            if desk.station.on_air is None:
                desk.air(one)
            elif one.called != 3:
                desk.put(replace(one, called=3))
            break
    return desk.done()


def air(board: Board, now: float, make: Make, recast: Recast) -> StationChange:
    """Air what waits first, else the pool's next; what is on air already stays."""
    desk = _Desk(board, now, recast)
    if desk.station.on_air is not None:
        return desk.done()
    waiting = desk.waiting
    desk.air(waiting[0] if waiting else _fill(desk, None, make))
    return desk.done()


def schedule(
    board: Board,
    now: float,
    due: float | None,
    motion: str | None,
    agents: Sequence[Agent],
    make: Make,
) -> StationChange:
    """One more that waits, for its time or the next free air; what is not given is the pool's."""
    desk = _Desk(board, now)
    station = desk.station
    if (count := len(desk.waiting)) >= MOST_SCHEDULED:
        raise StateError(
            f"{count} conversations wait on {station.name}; no more can be scheduled. "
            "Cancel one first."
        )
    if motion is None or not agents:
        desk.station = replace(station, made=station.made + 1)
        motion = next_motion(station) if motion is None else motion
        agents = agents or next_cast(station, board.agents)
    debate = make(station, motion, agents)
    if due is None:
        desk.add(debate, agents, 2)
    else:
        desk.add(debate, agents, 0, max(due, now))
    return desk.done()


def cancel(board: Board, conversation_id: str, now: float) -> StationChange:
    """Take one off that waits."""
    desk = _Desk(board, now)
    for one in desk.waiting:
        if one.id == conversation_id:
            desk.drop(one, "It was taken off the programme.")
            return desk.done()
    raise StateError(
        f"{conversation_id} does not wait any more; what is on air can be stopped or ended."
    )


def reorder(board: Board, ids: Sequence[str], now: float) -> StationChange:
    """The times stay; the conversations are dealt out over them in a new order."""
    desk = _Desk(board, now)
    waiting = {one.id: one for one in desk.waiting}
    times = [(one.due, one.called) for one in waiting.values()]
    if len(set(ids)) != len(ids) or set(ids) != set(waiting):
        raise InputError(
            "Name each conversation that waits once, in the order they are to be aired: "
            f"{', '.join(waiting) or 'there is none'}.",
            "conversations",
        )
    last: dict[int, float] = {}
    for debate_id, (due, called) in zip(ids, times, strict=True):
        one = waiting[debate_id]
        due = max(due, last.get(called, 0.0) + 0.001)  # two at one time have an order too
        last[called] = due
        if (one.due, one.called) != (due, called):
            desk.put(replace(one, due=due, called=called))
    return desk.done()


def order(one: Conversation) -> tuple[int, float, str]:
    """Who is next: what was asked for at once, then whose turn it is, then by the clock."""
    return ({3: 0, 0: 2}.get(one.called, 1), one.due, one.id)


def next_motion(station: Station, ahead: int = 0) -> str:
    """What the pool gives next, or after so many more: every motion in turn."""
    if not station.motions:
        raise InputError(f"{station.name} has no motion in its pool.", "motions")
    return station.motions[(station.made + ahead) % len(station.motions)]


def next_cast(station: Station, lookup: Lookup, ahead: int = 0) -> tuple[Agent, ...]:
    """Whom the pool gives next, or after so many more: every pair in turn."""
    known = lookup(station.agents)
    agents = [known[one] for one in station.agents if one in known]
    seats = station.seats or 2
    if len(agents) < seats:
        raise InputError(_too_few(station, len(agents)), "agents")
    return _pick(agents, seats, station.made + ahead)


def shortage(station: Station) -> str | None:
    """Why its pool cannot fill a slot of its cron line, as far as can be seen beforehand."""
    if station.cron is None:
        return None
    if not station.motions:
        return f"{station.name} has no motion in its pool."
    if len(station.agents) < (station.seats or 2):
        return _too_few(station, len(station.agents))
    return None


def _too_few(station: Station, there: int) -> str:
    needed = "1 agent" if station.seats == 1 else f"{station.seats or 2} agents"
    return f"{station.name} needs {needed} in its pool and has {there}."


def preview(station: Station, lookup: Lookup, now: float, count: int) -> list[Slot]:
    """The next slots of the cron line and what they would air, as the pool is now."""
    if station.cron is None or station.next_slot is None:
        return []
    begin = max(station.next_slot, now - GRACE_SECONDS) - 1  # what is due stays until it is aired
    times = slots.coming(station.cron, station.zone, begin, count)
    try:
        return [
            Slot(due, next_motion(station, ahead), next_cast(station, lookup, ahead))
            for ahead, due in enumerate(times)
        ]
    except InputError:
        return []


def take_off(row: Debate, why: str, at: str) -> Change:
    """Stop a debate that was never begun, and say why."""
    if row.status != "scheduled":
        return Change(row)
    row = row.but(stop_requested_at=at)
    return conclude(row, "stopped", "stopped_by_user", at, words=why)


def _begin(row: Debate, cast: Debate, at: str) -> Change:
    if row.status != "scheduled":
        return Change(row)  # somebody stopped it: the next look finds the air free
    seated = row.but(
        participants=cast.participants,
        cursor=cast.cursor,
        total=cast.total,
        warnings=cast.warnings,
    )
    return verbs.enqueue(seated, at)


def _as_now(agent: Agent, known: Agent | None) -> Agent:
    """An agent as it is now. One that was deleted stays, even if another has its id."""
    return known if known and known.created_at == agent.created_at else agent


def _settled(board: Board, now: float) -> Station:
    """The station, with the air free if what was on it has ended."""
    station, debate = board.station, board.on_air
    if station.on_air is None or (debate and debate.status not in FINAL):
        return station
    ended = seconds(debate.ended_at) if debate and debate.ended_at else now
    return replace(station, on_air=None, free_at=ended)


def _missed(one: Conversation, station: Station, now: float) -> bool:
    """Whether it should have begun and nobody was there to begin it."""
    if one.called == 0:
        return now > one.due + GRACE_SECONDS
    if one.called == 1 and station.on_air is None:
        return now > max(one.due, station.free_at) + GRACE_SECONDS
    return False


def _fill_slots(desk: _Desk, make: Make) -> None:
    """Make what the cron line asks for by now; pass over what was missed, or too much."""
    for slot in _due_slots(desk):
        if desk.board.filled(slot):
            continue  # a clock went back, or the line was changed and changed again
        late = desk.now > slot + GRACE_SECONDS
        room = sum(one.called > 0 for one in desk.waiting) < MOST_WAITING
        if (late and desk.station.missed == "skip") or not room:
            desk.station = replace(desk.station, skipped=desk.station.skipped + 1)
            continue
        try:
            _fill(desk, slot, make)
        except InputError as error:
            desk.station = replace(
                desk.station,
                made=desk.station.made + 1,  # the next cast may do
                skipped=desk.station.skipped + 1,
                trouble=error.message,
            )


def _due_slots(desk: _Desk) -> list[float]:
    """The slots that have come since the last look; of very many, the newest."""
    station, slot = desk.station, desk.station.next_slot
    found: list[float] = []
    while station.cron and slot is not None and slot <= desk.now:
        found.append(slot)
        if len(found) == MOST_LOOKED_AT:
            found += slots.latest(station.cron, station.zone, desk.now, MOST_WAITING)
            slot = desk.now
        slot = slots.after(station.cron, station.zone, slot)
    passed = max(0, len(found) - MOST_WAITING) if station.missed == "air" else 0
    desk.station = replace(station, next_slot=slot, skipped=station.skipped + passed)
    return found[passed:] if passed else sorted(set(found))


def _fill(desk: _Desk, slot: float | None, make: Make) -> Conversation:
    """The pool's next, for a slot or for now."""
    motion, cast = next_motion(desk.station), next_cast(desk.station, desk.board.agents)
    debate = make(desk.station, motion, cast)
    desk.station = replace(desk.station, made=desk.station.made + 1, trouble=None)
    if slot is None:
        return desk.add(debate, cast, 3)
    desk.slots.append(slot)
    return desk.add(debate, cast, 1, slot)


def _pick(agents: Sequence[Agent], seats: int, n: int) -> tuple[Agent, ...]:
    """The n-th cast: everyone is first in turn, and meets each of the others in turn."""
    first, others = n % len(agents), len(agents) - 1
    rest = [*agents[first + 1 :], *agents[:first]]
    shift = (n // len(agents)) % others if others else 0
    return (agents[first], *[*rest[shift:], *rest[:shift]][: seats - 1])
