"""`moot stations`: the channels that air one conversation at a time, and what is on them."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import (
    ID_HELP,
    Json,
    OptionValues,
    add_file_commands,
    ask,
    format_names,
    print_json,
    read_options,
    said,
    table,
    takes,
    tell_gone,
    whole_id,
    whole_ids,
)
from moot.cli.hints import hint
from moot.cli.quiet import loading
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports.entry_point import Moot
    from moot.stations.station import Conversation, Station

stations = typer.Typer(no_args_is_help=True, help="The stations, and what is on them.")

Id = Annotated[str, typer.Argument(metavar="STATION", help="The station's id.")]


@dataclass(frozen=True)
class Fields:
    """What can be said of a station."""

    about: Annotated[str | None, typer.Option(help="What it is about, for listeners.")] = None
    cron: Annotated[
        str | None, typer.Option(help="When it airs by itself, e.g. '0 9 * * 1-5'; '' is never.")
    ] = None
    zone: Annotated[
        str | None, typer.Option(help="The zone of its times, e.g. Europe/Berlin; default UTC.")
    ] = None
    motions: Annotated[
        list[str] | None,
        typer.Option("--motion", metavar="TEXT", help="One of its pool. Repeatable."),
    ] = None
    agents: Annotated[
        list[str] | None, typer.Option("--agent", metavar="ID", help="One of its pool. Repeatable.")
    ] = None
    format_: Annotated[
        str | None,
        typer.Option("--format", "-f", autocompletion=format_names, help="Default duel."),
    ] = None
    rounds: Annotated[int | None, typer.Option(help="If the format has rounds.")] = None
    option: OptionValues = None
    max_turns: Annotated[int | None, typer.Option(help="The most turns of each debate.")] = None
    max_total_tokens: Annotated[int | None, typer.Option(help="Budget of each debate.")] = None
    max_cost_usd: Annotated[float | None, typer.Option(help="Budget of each debate.")] = None
    allow_unpriced: Annotated[
        bool | None,
        typer.Option(
            "--allow-unpriced/--refuse-unpriced",
            help="Models of unknown price under --max-cost-usd.",
        ),
    ] = None
    missed: Annotated[
        str | None, typer.Option(help="A slot missed while nothing ran: air it late, or skip it.")
    ] = None
    on_failure: Annotated[
        str | None,
        typer.Option(help="If a speaker fails for good: degrade (default) or pause."),
    ] = None
    seats: Annotated[
        int | None, typer.Option(min=0, help="Agents of a conversation; 0: as the format says.")
    ] = None
    public: Annotated[
        bool | None, typer.Option("--public/--private", help="Whether anybody may listen.")
    ] = None

    def asked(self, name: str | None) -> dict[str, Any]:
        """What was said; an empty cron line and no seats mean none."""
        asked = said(
            name=name, about=self.about, zone=self.zone, motions=self.motions or None,
            agents=self.agents or None, format=self.format_, missed=self.missed,
            on_failure=self.on_failure, public=self.public,
            options=read_options(self.rounds, self.option or []) or None,
            limits=said(
                max_turns=self.max_turns, max_total_tokens=self.max_total_tokens,
                max_cost_usd=self.max_cost_usd, allow_unpriced=self.allow_unpriced,
            ) or None,
        )  # fmt: skip
        if self.cron is not None:
            asked["cron"] = self.cron.strip() or None
        if self.seats is not None:
            asked["seats"] = self.seats or None
        return asked


def register(app: typer.Typer) -> None:
    app.add_typer(stations, name="stations")
    app.command()(air)


@stations.command("list")
def list_(json: Json = False) -> None:
    """List all stations by name."""
    from moot.cli.programme import when
    from moot.wire import codec_station as codec

    found = ask(lambda moot: moot.stations.all())
    if json:
        print_json([codec.station(one) for one in found])
    elif not found:
        hint("No stations yet. To add the examples:  moot stations examples")
    else:
        rows = [
            (one.id, one.name, one.cron or "", when(one.next_slot, one.zone), one.about)
            for one in found
        ]
        table(("id", "name", "cron", "next", "about"), rows, "about")


@stations.command()
def show(
    id_: Id,
    past: Annotated[int, typer.Option(min=0, max=200, help="The most past ones to show.")] = 10,
    json: Json = False,
) -> None:
    """Show what is on, what comes and what was. Times are the station's own."""
    from moot.cli.programme import tell
    from moot.wire import codec_station as codec

    programme = ask(lambda moot: moot.stations.programme(id_, past))
    if json:
        print_json(codec.programme(programme))
    else:
        tell(programme)


@stations.command()
@takes(Fields)
def add(
    name: Annotated[str, typer.Argument(help="Its name, from which its id is made.")],
    fields: Fields,
    json: Json = False,
) -> None:
    """Make a station."""
    _tell(ask(lambda moot: moot.stations.create(fields.asked(name))), json)


@stations.command()
@takes(Fields)
def change(
    id_: Id,
    fields: Fields,
    name: Annotated[str | None, typer.Option("--name", help="Its name.")] = None,
    json: Json = False,
) -> None:
    """Change what is given, and leave the rest. Motions and agents replace the pool's."""
    asked = fields.asked(name)
    if not asked:
        raise InputError(f"Say what to change of {id_}: --name, --cron, --motion …", "station")

    async def changed(moot: "Moot") -> "Station":
        now = await moot.stations.get(id_)
        if "limits" in asked:
            asked["limits"] = {**now.limits, **asked["limits"]}
        if "options" in asked and fields.format_ is None:  # another format has other options
            asked["options"] = {**now.options, **asked["options"]}
        return await moot.stations.change(id_, asked)

    _tell(ask(changed), json)


@stations.command()
def delete(id_: Id, json: Json = False) -> None:
    """Delete a station. What waits is stopped; what is on air continues as a plain debate."""
    ask(lambda moot: moot.stations.delete(id_))
    tell_gone("station", id_, json)


add_file_commands(stations, "stations")


@stations.command()
def schedule(
    id_: Id,
    motion: Annotated[str | None, typer.Option(help="Default: the pool's next.")] = None,
    agent: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Who speaks; default: the pool's next.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="E.g. 2030-01-31T09:00, in the station's zone; default: as soon as it can."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Schedule a conversation. It airs while `moot serve` runs."""
    from moot.cli.programme import line

    async def scheduled(moot: "Moot") -> "tuple[Conversation, Station]":
        made = await moot.stations.schedule(id_, motion=motion, agents=agent or [], at=at)
        return made, await moot.stations.get(id_)

    conversation, station = ask(scheduled)
    _tell_conversation(conversation, f"Scheduled: {line(conversation, station.zone)}", json)


@stations.command()
def cancel(
    conversation: Annotated[
        str, typer.Argument(metavar="CONVERSATION", callback=whole_id, help=ID_HELP)
    ],
    json: Json = False,
) -> None:
    """Take a conversation that waits off the programme."""
    gone = ask(lambda moot: moot.stations.cancel(conversation))
    _tell_conversation(gone, f"{gone.id} is off the programme of {gone.station_id}.", json)


@stations.command()
def reorder(
    id_: Id,
    conversations: Annotated[
        list[str],
        typer.Argument(
            metavar="CONVERSATION", callback=whole_ids, help="All that wait, in their new order."
        ),
    ],
    json: Json = False,
) -> None:
    """Air what waits in another order; the times stay."""
    from moot.cli.programme import line
    from moot.wire import codec_station as codec

    async def ordered(moot: "Moot") -> "tuple[list[Conversation], Station]":
        waiting = await moot.stations.reorder(id_, conversations)
        return waiting, await moot.stations.get(id_)

    waiting, station = ask(ordered)
    if json:
        print_json([codec.conversation(one) for one in waiting])
        return
    for one in waiting:
        typer.echo(line(one, station.zone))


@stations.command()
def examples(json: Json = False) -> None:
    """Add the example stations, and say how to air them."""
    from moot.store.examples import bring

    ids, made = ask(bring)
    if json:
        print_json({"stations": ids, "made": made})
        return
    typer.echo(f"Brought: {', '.join(made)}." if made else "They are all here already.")
    hint(f"Air one now:          moot air {ids[0]}")
    hint("Air one on each:      moot air --examples")
    hint("As their times come:  moot serve")


def air(
    station: Annotated[
        list[str] | None, typer.Argument(metavar="STATION", help="The stations' ids.")
    ] = None,
    examples: Annotated[
        bool, typer.Option("--examples", help="All example stations; they are added if need be.")
    ] = False,
    json: Json = False,
) -> None:
    """Air the next conversation of a station now, and follow it.

    Ctrl-C pauses what was begun here, and leaves alone what was on air before.
    """
    if bool(station) == examples:
        raise InputError("Name a station to air, or give --examples for those that come with moot.")
    with loading():
        from moot.cli.air import air_all

    raise typer.Exit(asyncio.run(air_all(list(dict.fromkeys(station or [])), examples, json)))


def _tell(station: "Station", json: bool) -> None:
    from moot.cli.programme import head
    from moot.wire import codec_station as codec

    if json:
        print_json(codec.station(station))
        return
    head(station)
    if station.motions and station.agents:
        hint(f"Air it now with:  moot air {station.id}")
    else:
        hint(f"Give it a pool:  moot stations change {station.id} --motion … --agent ID …")


def _tell_conversation(conversation: "Conversation", text: str, json: bool) -> None:
    from moot.wire import codec_station as codec

    if json:
        print_json(codec.conversation(conversation))
    else:
        typer.echo(text)
