"""A station's programme on a terminal, in the station's own time."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from moot.cli.ask import flat
from moot.core.clean import visible
from moot.core.times import seconds
from moot.stations.station import Conversation, Programme, Station
from moot.wire.codec_station import shown_status

SHORT = "%Y-%m-%d %H:%M"
"""Of a table that says which zone it is in."""


def when(moment: float | None, zone: str, form: str = f"%a {SHORT} %Z") -> str:
    """A time as the station's clock shows it."""
    if moment is None:
        return ""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):  # a server may know more of them
        place = UTC
    return datetime.fromtimestamp(moment, place).strftime(form)


def line(conversation: Conversation, zone: str) -> str:
    """One that waits: when, what, who."""
    motion = flat(conversation.debate.motion)
    return f"{when(conversation.due, zone)}  {motion}  ({_who(conversation)})  {conversation.id}"


def head(station: Station) -> None:
    """What it is, and how it airs."""
    open_ = "public" if station.public else "private"
    typer.echo(f"{visible(station.name)}  ({station.id})")
    if station.about:
        typer.echo(f"  {visible(flat(station.about))}")
    cron = f"cron {station.cron}" if station.cron else "no cron line"
    typer.echo(f"  {station.format}, {open_}, {cron}, {station.zone}, missed: {station.missed}")
    pool = f"{_count(len(station.motions), 'motion')}, {_count(len(station.agents), 'agent')}"
    skipped = f"; {_count(station.skipped, 'slot')} passed over" if station.skipped else ""
    typer.echo(f"  pool: {pool}{skipped}")
    if station.trouble:
        typer.echo(f"  trouble: {visible(station.trouble)}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def tell(programme: Programme) -> None:
    """What is on, what comes and what was."""
    station, zone = programme.station, programme.station.zone
    head(station)
    typer.echo(f"\nOn now: {_now(programme)}")
    typer.echo(f"Next:   {_next(programme)}")
    if programme.waiting:
        typer.echo(f"\nWaiting ({zone}):")
    for one in programme.waiting:
        due = "next" if one.called else when(one.due, zone, SHORT)
        _entry(due, one.debate.motion, _who(one), one.id)
    if programme.slots:
        typer.echo(f"\nFrom the pool ({zone}):")
    for slot in programme.slots:
        who = ", ".join(agent.id for agent in slot.agents)
        _entry(when(slot.due, zone, SHORT), slot.motion, who)
    if programme.past:
        typer.echo(f"\nPast ({zone}):")
    for one in programme.past:
        turns = f"{one.debate.turn_count}/{one.debate.total} turns"
        _entry(_began(one, zone), one.debate.motion, _status(one), turns, one.id)


def _entry(time: str, motion: str, *more: str) -> None:
    typer.echo(f"  {time:<16}  {visible(flat(motion))}")
    typer.echo(f"  {'':<16}  {visible(', '.join(more))}")


def _began(one: Conversation, zone: str) -> str:
    return when(seconds(one.debate.started_at), zone, SHORT) if one.debate.started_at else "never"


def _status(one: Conversation) -> str:
    status = shown_status(one.debate)
    return f"{status} (degraded)" if one.debate.degraded else status


def _now(programme: Programme) -> str:
    now = programme.now
    if now is None:
        return "nothing"
    debate = now.debate
    paused = ", paused" if debate.status == "paused" else ""
    done = f"{debate.turn_count}/{debate.total}{paused}"
    return f"{flat(debate.motion)}  ({_who(now)}; {done})  {now.id}"


def _next(programme: Programme) -> str:
    """The first of what waits and what the pool gives."""
    zone, slots = programme.station.zone, programme.slots
    first = programme.waiting[0] if programme.waiting else None
    if first and (first.called or not slots or first.due <= slots[0].due):
        return line(first, zone) if not first.called else f"{flat(first.debate.motion)}, soon"
    if slots:
        return f"{when(slots[0].due, zone)}  {flat(slots[0].motion)}"
    return f"nothing;  moot stations schedule {programme.station.id}"


def _who(conversation: Conversation) -> str:
    return ", ".join(agent.name for agent in conversation.agents)
