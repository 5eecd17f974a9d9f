"""`moot air`: the next conversation of a station, or of several at once, here and now."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.live import LIVE_PACE, exit_code, here, on_interrupt, shown
from moot.cli.run_commands import Json
from moot.errors import InputError, MootError

if TYPE_CHECKING:
    from moot.cli.screen import View
    from moot.core.debate import Debate
    from moot.ports import Moot
    from moot.stations.station import Station

SEVERAL_PACE = LIVE_PACE / 3
"""Of several at once, a person sees only how each turn begins."""


def register(app: typer.Typer) -> None:
    app.command()(air)


def air(
    station: Annotated[
        list[str] | None, typer.Argument(metavar="STATION", help="The stations' ids.")
    ] = None,
    examples: Annotated[
        bool, typer.Option("--examples", help="All example stations; they are brought if need be.")
    ] = False,
    json: Json = False,
) -> None:
    """Air the next conversation of each station now, and follow it to its end.

    Ctrl-C pauses what was begun here, and leaves alone what was on air before.
    """
    if bool(station) == examples:
        raise InputError("Say which station to air, or --examples for those that come along.")
    wanted = list(dict.fromkeys(station or []))
    raise typer.Exit(asyncio.run(_air(wanted, examples, json)))


@dataclass(frozen=True, slots=True)
class Aired:
    """What a station airs, or why it airs nothing."""

    station: "Station"
    debate: "Debate | None" = None
    joined: bool = False  # it was on air already, and somebody else carries it on
    seen: int | None = None  # 0 of what began here: it is shown from its first word
    error: MootError | None = None


async def _air(wanted: list[str], examples: bool, json: bool) -> int:
    from moot.cli.target import Notices

    notices, mine = Notices(), list[str]()
    pace = LIVE_PACE if len(wanted) == 1 else SEVERAL_PACE
    async with here(json, mine, notices, pace) as service:
        interrupted, begun = on_interrupt(service)
        aired = await _begin(service, wanted, examples, mine)
        ours = [one.debate.id for one in aired if one.debate and not one.joined]
        begun(ours, leave=any(one.joined for one in aired))
        view = notices.view = _view(aired, json)
        with view:
            ended = await asyncio.gather(*(_to_the_end(service, one, view) for one in aired))
        if json:
            await _print_json(service, ended)
        else:
            _tell(service, ended, view)
    return _code(ended, interrupted.is_set())


async def _begin(
    service: "Moot", wanted: list[str], examples: bool, mine: list[str]
) -> list[Aired]:
    """Nothing is aired unless every station is there."""
    from moot.cli.example_commands import bring

    ids = list((await bring(service)).stations) if examples else wanted
    stations = [await service.stations.get(id_) for id_ in ids]
    aired: list[Aired] = []
    for station in stations:
        try:
            one = await _put_on_air(service, station, mine)
        except MootError as error:
            if len(stations) == 1:
                raise
            one = Aired(station, error=error)
        aired.append(one)
        if one.debate:
            mine.append(one.debate.id)
    return aired


async def _put_on_air(service: "Moot", station: "Station", mine: list[str]) -> Aired:
    """The station's next; what has the air already is gone on with if it is paused or was left
    behind (`mine` has what this process took up), and joined if another carries it on."""
    from moot.cli.target import say

    before = (await service.stations.programme(station.id, 0)).now
    debate = await service.get((await service.stations.air(station.id)).id)
    left = debate.id in mine or service.left_behind(debate)
    if before is None or before.id != debate.id or left:
        fresh = before is None or before.id != debate.id
        return Aired(station, debate, seen=0 if fresh else None)
    if debate.status == "paused" and debate.failure is None:
        say(f"{station.name}: going on with {debate.id}, which was paused.")
        return Aired(station, await service.resume(debate.id))
    say(f"{station.name} is on air already, with {debate.id}: following that.")
    return Aired(station, debate, joined=True)


def _view(aired: Sequence[Aired], json: bool) -> "View":
    from moot.cli.lines import Lines
    from moot.cli.screen import Quiet, Screen

    if json:
        return Quiet()
    if len(aired) == 1 and aired[0].debate:
        return Screen(aired[0].debate)
    return Lines({one.debate.id: one.station.name for one in aired if one.debate})


async def _to_the_end(service: "Moot", one: Aired, view: "View") -> Aired:
    if one.debate is None:
        return one
    return replace(one, debate=await shown(service, one.debate, view, one.seen))


def _tell(service: "Moot", ended: Sequence[Aired], view: "View") -> None:
    """How each ended, and where its report lies."""
    from moot.cli.target import filed

    if len(ended) == 1 and (debate := ended[0].debate):
        view.outcome(debate, filed(service, debate.id))
    else:
        _tell_several(ended)
    for one in ended:
        if one.debate and (place := _report(service, one.debate)):
            name = "Report" if len(ended) == 1 else one.station.name
            typer.echo(f"{name}: {place}")


def _tell_several(ended: Sequence[Aired]) -> None:
    from moot.cli.ask import table

    rows = [
        (one.station.name, f"{one.debate.turn_count}/{one.debate.total}",
         one.debate.status + (" (degraded)" if one.debate.degraded else ""), one.debate.motion)
        if one.debate
        else (one.station.name, "", "not aired", one.error.message if one.error else "")
        for one in ended
    ]  # fmt: skip
    typer.echo()
    table(("station", "turns", "status", "motion"), rows, "motion", whole=True)
    typer.echo()
    for one in ended:
        if one.debate and one.debate.status == "paused":
            typer.echo(f"{one.station.name} is paused;  moot air {one.station.id}  goes on.")


async def _print_json(service: "Moot", ended: Sequence[Aired]) -> None:
    from moot.cli.ask import print_json

    print_json([await _document(service, one) for one in ended])


async def _document(service: "Moot", one: Aired) -> dict[str, Any]:
    from moot.wire import codec_station as codec

    if one.debate is None:
        error = {"code": one.error.code, "detail": one.error.message} if one.error else None
        return {"station": one.station.id, "error": error}
    conversation = await service.stations.conversation(one.debate.id)
    return {
        **codec.conversation(conversation),
        "folder": service.folder(one.debate.id),
        "report": _report(service, one.debate),
    }


def _report(service: "Moot", debate: "Debate") -> str | None:
    """Where its report lies, once there is one."""
    from moot.core.status import FINAL

    if debate.status not in FINAL:
        return None
    folder = service.folder(debate.id)
    if "://" in folder:
        return f"{folder}/report"
    page = Path(folder, "report.html")
    return str(page) if page.is_file() else None


def _code(ended: Sequence[Aired], interrupted: bool) -> int:
    """130 if any was interrupted, else the worst: not aired, failed, paused by a failure."""
    codes = [exit_code(one.debate, interrupted) for one in ended if one.debate]
    codes += [2 if isinstance(one.error, InputError) else 1 for one in ended if one.error]
    return next((code for code in (130, 2, 1, 3) if code in codes), 0)
