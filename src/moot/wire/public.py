"""What an audience may see of a station: what is said there, and nothing of how it is run.

A failure is told by its code alone: its sentence is for whoever can mend it, and may name servers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.events import Event, TurnCommitted
from moot.stations.station import Conversation, Programme
from moot.wire import codec, codec_station, outcome_shapes, shapes


def is_aired(one: Conversation) -> bool:
    """Whether it has had the air; what was taken off before was never public."""
    return one.aired_at is not None and one.debate.status != "scheduled"


def programme(value: Programme) -> dict[str, Any]:
    slots = [codec_station.slot(one, [who.name for who in one.agents]) for one in value.slots]
    aired = tuple(one for one in value.past if is_aired(one))
    whole = codec_station.programme(replace(value, slots=(), past=aired))
    return {**whole, "station": codec.filled(shapes.StationOnAir, value.station), "slots": slots}


def debate(value: Debate) -> dict[str, Any]:
    """Without what is known of its cost."""
    seats = tuple(replace(seat, unpriced=(), local=False) for seat in value.participants)
    host = replace(value.host, unpriced=(), local=False) if value.host else None
    return codec.debate(value.but(participants=seats, host=host), shapes.DebateOnAir)


def turn(value: Turn) -> Turn:
    """A failed turn's data says why, in the provider's words."""
    return replace(value, data=None) if value.status == "failed" else value


def event(value: Event) -> Event:
    if isinstance(value, TurnCommitted):
        shown = turn(value.turn)
        return value if shown is value.turn else replace(value, turn=shown)
    hidden = dict.fromkeys(name for name in ("failure", "notice") if hasattr(value, name))
    return replace(value, **hidden)


def report(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Of a report: what was said, without what it cost."""
    speakers = [
        {**who, "statistics": _told(outcome_shapes.Counted, who["statistics"])}
        for who in whole["speakers"]
    ]
    return {
        "summary": whole["summary"],
        "durationSeconds": whole["durationSeconds"],
        "speakers": [_told(outcome_shapes.SpeakerOnAir, who) for who in speakers],
        "totals": _told(outcome_shapes.Counted, whole["totals"]),
        "method": whole["method"],
        "closing": whole.get("closing"),
        **{name: whole[name] for name in ("takeaways", "caution") if name in whole},
    }


def _told(shape: type, value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in shape.__annotations__}
