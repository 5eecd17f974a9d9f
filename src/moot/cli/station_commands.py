"""`moot stations`: the channels that air one conversation at a time, and what is on them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import (
    File,
    Output,
    ask,
    given,
    print_json,
    read,
    table,
    tell_brought,
    tell_gone,
    write,
)
from moot.cli.run_commands import Json, format_names, read_options
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports import Moot
    from moot.stations.station import Conversation, Station

stations = typer.Typer(no_args_is_help=True, help="The stations, and what is on them.")

Id = Annotated[str, typer.Argument(metavar="STATION", help="The station's id.")]
Name = Annotated[str | None, typer.Option("--name", help="What it is called.")]
About = Annotated[str | None, typer.Option(help="What it is about, for those who listen.")]
Cron = Annotated[
    str | None, typer.Option(help="When it airs by itself, e.g. '0 9 * * 1-5'; '' is never.")
]
Zone = Annotated[str | None, typer.Option(help="Of its times, e.g. Europe/Berlin; default UTC.")]
Motions = Annotated[list[str] | None, typer.Option("--motion", help="Of its pool. Repeatable.")]
Agents = Annotated[
    list[str] | None, typer.Option("--agent", metavar="ID", help="Of its pool. Repeatable.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", autocompletion=format_names, help="Default duel."),
]
Rounds = Annotated[int | None, typer.Option(help="How many, where the format has it.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=NUMBER", help="Another option of the format."),
]
MaxTurns = Annotated[int | None, typer.Option(help="At most this many turns each.")]
MaxTokens = Annotated[int | None, typer.Option("--max-total-tokens", help="Budget of each.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost-usd", help="Budget of each.")]
AllowUnpriced = Annotated[
    bool | None,
    typer.Option(
        "--allow-unpriced/--refuse-unpriced", help="Models of unknown price under --max-cost-usd."
    ),
]
Missed = Annotated[
    str | None, typer.Option(help="A slot that nobody was there for: air it late, or skip it.")
]
OnFailure = Annotated[
    str | None, typer.Option(help="When a speaker fails for good: degrade (the default) or pause.")
]
Seats = Annotated[
    int | None, typer.Option(min=0, help="Agents of a conversation; 0: as the format has it.")
]
Public = Annotated[
    bool | None, typer.Option("--public/--private", help="Whether anybody may listen.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(stations, name="stations")


@stations.command("list")
def list_(json: Json = False) -> None:
    """All of them, by name."""
    from moot.cli.programme import when
    from moot.wire import codec_station as codec

    found = ask(lambda service: service.stations.all())
    if json:
        print_json([codec.station(one) for one in found])
        return
    if not found:
        typer.echo("No station yet. Some come along:  moot stations examples")
        return
    rows = [
        (one.id, one.name, one.cron or "", when(one.next_slot, one.zone), one.about)
        for one in found
    ]
    table(("id", "name", "cron", "next", "about"), rows, "about")


@stations.command()
def show(
    id_: Id,
    past: Annotated[int, typer.Option(min=0, max=200, help="At most so many that were.")] = 10,
    json: Json = False,
) -> None:
    """A station's programme: what is on, what comes and what was, in the station's own time."""
    from moot.cli.programme import tell
    from moot.wire import codec_station as codec

    programme = ask(lambda service: service.stations.programme(id_, past))
    if json:
        print_json(codec.programme(programme))
    else:
        tell(programme)


@stations.command()
def add(
    name: Annotated[str, typer.Argument(help="What it is called; its id follows from that.")],
    about: About = None,
    cron: Cron = None,
    zone: Zone = None,
    motion: Motions = None,
    agent: Agents = None,
    format_: Format = None,
    rounds: Rounds = None,
    option: Options = None,
    max_turns: MaxTurns = None,
    max_total_tokens: MaxTokens = None,
    max_cost_usd: MaxCost = None,
    allow_unpriced: AllowUnpriced = None,
    missed: Missed = None,
    on_failure: OnFailure = None,
    seats: Seats = None,
    public: Public = None,
    json: Json = False,
) -> None:
    """Make a station."""
    asked = _asked(name, about, cron, zone, motion, agent, format_, missed, on_failure, seats,
                   public)  # fmt: skip
    limits = _limits(max_turns, max_total_tokens, max_cost_usd, allow_unpriced)
    asked |= given(
        {"options": read_options(rounds, option or []) or None, "limits": limits or None}
    )
    _tell(ask(lambda service: service.stations.create(asked)), json)


@stations.command()
def change(
    id_: Id,
    name: Name = None,
    about: About = None,
    cron: Cron = None,
    zone: Zone = None,
    motion: Motions = None,
    agent: Agents = None,
    format_: Format = None,
    rounds: Rounds = None,
    option: Options = None,
    max_turns: MaxTurns = None,
    max_total_tokens: MaxTokens = None,
    max_cost_usd: MaxCost = None,
    allow_unpriced: AllowUnpriced = None,
    missed: Missed = None,
    on_failure: OnFailure = None,
    seats: Seats = None,
    public: Public = None,
    json: Json = False,
) -> None:
    """Change what is given, and leave the rest; motions and agents replace the pool's."""
    asked = _asked(name, about, cron, zone, motion, agent, format_, missed, on_failure, seats,
                   public)  # fmt: skip
    limits = _limits(max_turns, max_total_tokens, max_cost_usd, allow_unpriced)
    options = read_options(rounds, option or [])
    if not asked and not limits and not options:
        raise InputError(f"Say what to change of {id_}: --name, --cron, --motion …", "station")

    async def changed(service: "Moot") -> "Station":
        now = await service.stations.get(id_) if options or limits else None
        if now and limits:
            asked["limits"] = {**now.limits, **limits}
        if now and options:  # of another format, the options are others
            asked["options"] = {**(now.options if format_ is None else {}), **options}
        return await service.stations.change(id_, asked)

    _tell(ask(changed), json)


@stations.command()
def delete(id_: Id, json: Json = False) -> None:
    """Close a station: what waits is stopped, what is on air goes on as a plain debate."""
    ask(lambda service: service.stations.delete(id_))
    tell_gone("station", id_, json)


@stations.command("import")
def import_(file: File, json: Json = False) -> None:
    """Bring stations from a TOML file, all or none; one of the same id is changed."""
    text = read(file)
    tell_brought(ask(lambda service: service.stations.bring(text)), json)


@stations.command()
def export(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="STATION", help="Only these; else all.")
    ] = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Stations as a TOML file, for `moot stations import`."""
    write(ask(lambda service: service.stations.take(ids or [])), output, json)


@stations.command()
def schedule(
    id_: Id,
    motion: Annotated[str | None, typer.Option(help="Else the pool's next.")] = None,
    agent: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Who speaks; else the pool's next.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="E.g. 2030-01-31T09:00, in the station's zone; else once the air is free."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Put a conversation on a station's programme. It airs while `moot serve` runs."""
    from moot.cli.programme import line

    async def scheduled(service: "Moot") -> "tuple[Conversation, Station]":
        made = await service.stations.schedule(id_, motion=motion, agents=agent or [], at=at)
        return made, await service.stations.get(id_)

    conversation, station = ask(scheduled)
    _tell_conversation(conversation, f"Scheduled: {line(conversation, station.zone)}", json)


@stations.command()
def cancel(
    conversation: Annotated[str, typer.Argument(metavar="CONVERSATION", help="Its id.")],
    json: Json = False,
) -> None:
    """Take a conversation that waits off the programme."""
    gone = ask(lambda service: service.stations.cancel(conversation))
    _tell_conversation(gone, f"{gone.id} is off the programme of {gone.station_id}.", json)


@stations.command()
def reorder(
    id_: Id,
    conversations: Annotated[
        list[str],
        typer.Argument(metavar="CONVERSATION", help="All that wait, in their new order."),
    ],
    json: Json = False,
) -> None:
    """Give what waits another order; the times stay."""
    from moot.cli.programme import line
    from moot.wire import codec_station as codec

    async def ordered(service: "Moot") -> "tuple[list[Conversation], Station]":
        waiting = await service.stations.reorder(id_, conversations)
        return waiting, await service.stations.get(id_)

    waiting, station = ask(ordered)
    if json:
        print_json([codec.conversation(one) for one in waiting])
        return
    for one in waiting:
        typer.echo(line(one, station.zone))


@stations.command()
def examples(json: Json = False) -> None:
    """Bring the example stations that come along, and say how to air them."""
    from moot.cli.example_commands import bring

    found = ask(bring)
    if json:
        print_json({"stations": list(found.stations), "made": list(found.made)})
        return
    typer.echo(f"Brought: {', '.join(found.made)}." if found.made else "They are all here already.")
    typer.echo(f"Air one now:          moot air {found.stations[0]}")
    typer.echo("Air one on each:      moot air --examples")
    typer.echo("As their times come:  moot serve")


def _asked(
    name: str | None,
    about: str | None,
    cron: str | None,
    zone: str | None,
    motions: list[str] | None,
    agents: list[str] | None,
    format_: str | None,
    missed: str | None,
    on_failure: str | None,
    seats: int | None,
    public: bool | None,
) -> dict[str, Any]:
    """What was said; a cron line that is empty and no seats are said too, and mean none."""
    asked = given(
        {
            "name": name, "about": about, "zone": zone, "motions": motions or None,
            "agents": agents or None, "format": format_, "missed": missed,
            "on_failure": on_failure, "public": public,
        }
    )  # fmt: skip
    if cron is not None:
        asked["cron"] = cron.strip() or None
    if seats is not None:
        asked["seats"] = seats or None
    return asked


def _limits(
    turns: int | None, tokens: int | None, cost: float | None, unpriced: bool | None
) -> dict[str, Any]:
    return given(
        {
            "max_turns": turns,
            "max_total_tokens": tokens,
            "max_cost_usd": cost,
            "allow_unpriced": unpriced,
        }
    )


def _tell(station: "Station", json: bool) -> None:
    from moot.cli.programme import head
    from moot.wire import codec_station as codec

    if json:
        print_json(codec.station(station))
        return
    head(station)
    if station.motions and station.agents:
        typer.echo(f"Air it now with:  moot air {station.id}")
    else:
        typer.echo(f"Give it a pool:  moot stations change {station.id} --motion … --agent ID …")


def _tell_conversation(conversation: "Conversation", said: str, json: bool) -> None:
    from moot.wire import codec_station as codec

    if json:
        print_json(codec.conversation(conversation))
    else:
        typer.echo(said)
