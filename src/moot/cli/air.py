"""What `moot air` does: the next conversation of a station, or of several at once, here and now."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from moot.cli.ask import print_json, table
from moot.cli.hints import hint
from moot.cli.live import LIVE_PACE, Interrupts, exit_code, here, shown
from moot.cli.screen import Lines, Screen, View
from moot.cli.takeaways_view import ended as ended_with
from moot.cli.target import Notices, filed, say
from moot.core.debate import Debate
from moot.core.status import FINAL
from moot.errors import InputError, MootError
from moot.ports.entry_point import Moot
from moot.stations.station import Station
from moot.store.examples import bring
from moot.wire import codec_station as codec

SEVERAL_PACE = LIVE_PACE / 3
"""Of several at once, a person sees only how each turn begins."""


@dataclass(frozen=True, slots=True)
class Aired:
    """What a station airs, or why it airs nothing."""

    station: Station
    debate: Debate | None = None
    joined: bool = False  # it was on air already, and somebody else carries it on
    seen: int | None = None  # 0 of what began here: it is shown from its first word
    error: MootError | None = None


async def air_all(wanted: list[str], examples: bool, json: bool) -> int:
    """Air the stations, or the examples, to their end. Returns the exit code."""
    notices, mine = Notices(), list[str]()
    pace = LIVE_PACE if len(wanted) == 1 else SEVERAL_PACE
    async with here(json, mine, notices, pace) as moot:
        interrupts = Interrupts(moot)
        aired = await _begin(moot, (await bring(moot))[0] if examples else wanted, mine)
        ours = [one.debate.id for one in aired if one.debate and not one.joined]
        interrupts.begun(ours, leave=any(one.joined for one in aired))
        view = notices.view = _view(aired, json)
        with view:
            ended = await asyncio.gather(*(_to_the_end(moot, one, view) for one in aired))
        if json:
            print_json([await _document(moot, one) for one in ended])
        else:
            await _tell(moot, ended, view)
    return _code(ended, interrupts.came)


async def _begin(moot: Moot, ids: list[str], mine: list[str]) -> list[Aired]:
    """Nothing is aired unless every station is there."""
    stations = [await moot.stations.get(id_) for id_ in ids]
    aired: list[Aired] = []
    for station in stations:
        try:
            one = await _put_on_air(moot, station, mine)
        except MootError as error:
            if len(stations) == 1:
                raise
            one = Aired(station, error=error)
        aired.append(one)
        if one.debate:
            mine.append(one.debate.id)
    return aired


async def _put_on_air(moot: Moot, station: Station, mine: list[str]) -> Aired:
    """Air the station's next. What is on air already is continued if it is paused or was left
    behind (`mine` has what this process took up), and followed if another carries it on."""
    before = (await moot.stations.programme(station.id, 0)).now
    debate = await moot.get((await moot.stations.air(station.id)).id)
    if before is None or before.id != debate.id:
        return Aired(station, debate, seen=0)
    if debate.id in mine or moot.left_behind(debate):
        return Aired(station, debate)
    if debate.status == "paused" and debate.failure is None:
        say(f"{station.name}: going on with {debate.id}, which was paused.")
        return Aired(station, await moot.resume(debate.id))
    say(f"{station.name} is on air already, with {debate.id}: following that.")
    return Aired(station, debate, joined=True)


def _view(aired: Sequence[Aired], json: bool) -> View:
    if json:
        return View()
    if len(aired) == 1 and aired[0].debate:
        return Screen(aired[0].debate)
    return Lines({one.debate.id: one.station.name for one in aired if one.debate})


async def _to_the_end(moot: Moot, one: Aired, view: View) -> Aired:
    if one.debate is None:
        return one
    return replace(one, debate=await shown(moot, one.debate, view, one.seen))


async def _tell(moot: Moot, ended: Sequence[Aired], view: View) -> None:
    """How each ended, and where its report is."""
    if len(ended) == 1 and (debate := ended[0].debate):
        said = await moot.turns(debate.id) if debate.outcome else []
        debate, report = await ended_with(moot, debate, tell=say)
        view.outcome(debate, filed(moot, debate.id), said, report)
    else:
        _tell_several(ended)
    for one in ended:
        if one.debate and (place := _report(moot, one.debate)):
            name = "Report" if len(ended) == 1 else one.station.name
            typer.echo(f"{name}: {place}")


def _tell_several(ended: Sequence[Aired]) -> None:
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
            hint(f"{one.station.name} is paused;  moot air {one.station.id}  goes on.")


async def _document(moot: Moot, one: Aired) -> dict[str, Any]:
    if one.debate is None:
        error = {"code": one.error.code, "detail": one.error.message} if one.error else None
        return {"station": one.station.id, "error": error}
    return {
        **codec.conversation(await moot.stations.conversation(one.debate.id)),
        "folder": moot.folder(one.debate.id),
        "report": _report(moot, one.debate),
    }


def _report(moot: Moot, debate: Debate) -> str | None:
    """Where its report is, once there is one."""
    if debate.status not in FINAL:
        return None
    folder = moot.folder(debate.id)
    if "://" in folder:
        return f"{folder}/report"
    page = Path(folder, "report.html")
    return str(page) if page.is_file() else None


def _code(ended: Sequence[Aired], interrupted: bool) -> int:
    """130 if any was interrupted, else the worst: not aired, failed, paused by a failure."""
    codes = [exit_code(one.debate, interrupted) for one in ended if one.debate]
    codes += [2 if isinstance(one.error, InputError) else 1 for one in ended if one.error]
    return next((code for code in (130, 2, 1, 3) if code in codes), 0)
