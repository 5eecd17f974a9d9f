"""A format laid out for a cast, its options and its limits: one leg for each stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from moot.core.debate import Cursor, Debate, Jury, Participant, Reading
from moot.core.format import Format, Stage
from moot.errors import InputError

_STANCES = {"pro": 0, "con": 1, "neutral": 2}


@dataclass(frozen=True, slots=True)
class Leg:
    """A stage laid out for this debate's roster, options and limits.

    A unit is one speaker's turn with its cue or, if all speak together, a round. Jurors vote in one
    wave, in a round for each of their readings.
    """

    stage: Stage
    first_round: int
    units: int
    speakers: tuple[Participant, ...]
    rounds: int
    readings: tuple[Reading, ...] = ()  # of a jury

    @property
    def unit_waves(self) -> int:
        return 2 if self.stage.cued else 1

    @property
    def waves(self) -> int:
        return self.units * self.unit_waves

    @property
    def width(self) -> int:
        """How many steps a wave has."""
        return len(self.speakers) * (len(self.readings) or 1) if self.stage.together else 1

    @property
    def turns(self) -> int:
        return self.stage.past.turns if self.stage.past else self.waves * self.width

    @property
    def round_units(self) -> int:
        return 1 if self.stage.together else len(self.speakers)

    def ends_round(self, wave: int) -> bool:
        return (wave + 1) % (self.unit_waves * self.round_units) == 0

    def find(self, cursor: Cursor) -> int | None:
        """The wave at which the cursor stands."""
        cue = self.stage.cued and cursor.next_target is not None
        speaker = cursor.next_target if cue else cursor.next_actor
        ids = [seat.id for seat in self.speakers]
        if cursor.next_round is None or speaker not in ids:
            return None
        unit = (cursor.next_round - self.first_round) * self.round_units
        unit += 0 if self.stage.together else ids.index(speaker)
        wave = unit * self.unit_waves + (self.stage.cued and not cue)
        return wave if 0 <= unit < self.units else None


def check_roster(
    rules: Format, participants: Sequence[Participant], host: Participant | None
) -> None:
    """Refuse a cast that the format cannot seat."""
    need, title = rules.roster, rules.name
    if need.roles:
        if [seat.role for seat in participants] != list(need.names):
            raise InputError(f"A {title} has the roles {', '.join(need.names)}.", "participants")
        return
    if not need.min <= len(participants) <= need.max:
        exact = f"exactly {need.min}" if need.min == need.max else f"{need.min} to {need.max}"
        count = f"{len(participants)} participant{'s' if len(participants) != 1 else ''}"
        seats = "participant" if need.max == 1 else "participants"
        raise InputError(f"A {title} takes {exact} {seats}, not {count}.", "participants")
    if need.host == "required" and host is None:
        raise InputError(f"A {title} needs a host; name its model.", "host")
    if need.host == "none" and host is not None:
        raise InputError(f"A {title} has no host; leave it out.", "host")


def layout(
    rules: Format,
    participants: Sequence[Participant],
    host: Participant | None,
    options: Mapping[str, int],
    max_turns: int | None = None,
    jury: Jury | None = None,
) -> tuple[Leg, ...]:
    """Lay the format out. `max_turns` bounds what has no count of its own; ballots do not count,
    and neither does what two seats say before the debate."""
    ordered = tuple(participants)
    if rules.roster.order == "stance":
        ordered = tuple(sorted(ordered, key=lambda seat: _STANCES[seat.stance]))
    stages = present(rules, host, jury)
    casts = [_cast(stage, ordered, host, jury) for stage in stages]
    legs: list[Leg] = []
    following = 0 if stages and stages[0].prelude else 1
    for place, (stage, cast) in enumerate(zip(stages, casts, strict=True)):
        if past := stage.past:
            legs.append(Leg(stage, past.first_round, 0, cast, past.rounds))
            following = past.first_round + past.rounds
            continue
        count = options[stage.rounds] if isinstance(stage.rounds, str) else stage.rounds
        readings: tuple[Reading, ...] = ()
        if jury and stage.speakers == "jury":
            readings = jury.readings
        one = Leg(stage, following, 1, cast, count, readings)
        units = count * one.round_units
        if count == 0:
            later = zip(stages[place + 1 :], casts[place + 1 :], strict=True)
            reserve = sum(len(c) for other, c in later if other.speakers != "jury")
            room = (max_turns or rules.max_turns or 0) - sum(
                x.turns for x in legs if not x.stage.seats
            )
            room -= reserve
            units = max(room // one.turns, 0)
        legs.append(replace(one, units=units))
        following += len(readings) or -(-units // one.round_units)
    return tuple(legs)


def present(rules: Format, host: Participant | None, jury: Jury | None) -> list[Stage]:
    """The stages that are held: some need a host, and one a jury."""
    return [
        stage
        for stage in rules.stages
        if (host or not stage.needs_host)
        and (stage.speakers != "jury" or (jury is not None and jury.seats))
    ]


def _cast(
    stage: Stage,
    ordered: tuple[Participant, ...],
    host: Participant | None,
    jury: Jury | None,
) -> tuple[Participant, ...]:
    if stage.speakers == "host" and host:
        return (host,)
    if stage.speakers == "jury" and jury:
        return jury.seats
    if isinstance(stage.speakers, tuple):
        return tuple(seat for seat in ordered if seat.role in stage.speakers)
    if stage.seats:
        return tuple(seat for seat in ordered if seat.id in stage.seats)
    return ordered


def legs_of(debate: Debate) -> tuple[Leg, ...]:
    return _legs(
        debate.rules,
        debate.participants,
        debate.host,
        tuple(debate.options.items()),
        debate.limits.max_turns,
        debate.jury,
    )


@lru_cache(maxsize=4096)
def _legs(
    rules: Format,
    participants: tuple[Participant, ...],
    host: Participant | None,
    options: tuple[tuple[str, int], ...],
    max_turns: int,
    jury: Jury | None,
) -> tuple[Leg, ...]:
    return layout(rules, participants, host, dict(options), max_turns, jury)
