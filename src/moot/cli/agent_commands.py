"""`moot agents`: the saved personas that can take a seat in many debates."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import Json, add_file_commands, ask, print_json, said, table, takes, tell_gone
from moot.cli.hints import hint
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports.entry_point import Moot
    from moot.stations.station import Agent

agents = typer.Typer(no_args_is_help=True, help="The saved personas that take a seat in debates.")

Id = Annotated[str, typer.Argument(metavar="ID", help="The agent's id.")]


@dataclass(frozen=True)
class Fields:
    """What can be said of an agent."""

    bio: Annotated[str | None, typer.Option(help="Who it is, and how it argues.")] = None
    model: Annotated[
        str | None, typer.Option(help="E.g. openai:gpt-5; '' is the default model.")
    ] = None
    provider: Annotated[str | None, typer.Option(help="Whose model; --model is then its name.")] = (
        None
    )
    stance: Annotated[str | None, typer.Option(help="pro, con or neutral (the default).")] = None
    lang: Annotated[
        str | None, typer.Option(help="Of its voice, e.g. en-GB; '' is the listener's.")
    ] = None
    voice: Annotated[str | None, typer.Option(help="The name of a browser's voice.")] = None
    rate: Annotated[float | None, typer.Option(help="How quickly it speaks, 0.5..2.")] = None
    pitch: Annotated[float | None, typer.Option(help="How high it speaks, 0..2.")] = None

    def asked(self, name: str | None, known: Mapping[str, Any] = {}) -> dict[str, Any]:
        """What was said. A voice is changed as a whole: `known` is what it was."""
        spoken = said(lang=self.lang, name=self.voice, rate=self.rate, pitch=self.pitch)
        return said(
            name=name, bio=self.bio, provider=self.provider, model=self.model, stance=self.stance,
            voice={**known, **spoken} if spoken else None,
        )  # fmt: skip


def register(app: typer.Typer) -> None:
    app.add_typer(agents, name="agents")


@agents.command("list")
def list_(json: Json = False) -> None:
    """List all agents by name."""
    from moot.wire import codec_station as codec

    found = ask(lambda moot: moot.agents.all())
    if json:
        print_json([codec.shown_agent(agent) for agent in found])
    elif not found:
        hint('No agents yet. Save one:  moot agents add "Ada" --bio "…"')
    else:
        rows = [(one.id, one.name, one.stance, one.model or "default", one.bio) for one in found]
        table(("id", "name", "stance", "model", "bio"), rows, "bio")


@agents.command()
def show(id_: Id, json: Json = False) -> None:
    """Show one agent."""
    _tell(ask(lambda moot: moot.agents.get(id_)), json)


@agents.command()
@takes(Fields)
def add(
    name: Annotated[str, typer.Argument(help="Its name, from which its id is made.")],
    fields: Fields,
    json: Json = False,
) -> None:
    """Save a persona."""
    made = ask(lambda moot: moot.agents.create(fields.asked(name)))
    _tell(made, json, f"Saved. It takes a seat with:  moot run MOTION --agent {made.id}")


@agents.command()
@takes(Fields)
def change(
    id_: Id,
    fields: Fields,
    name: Annotated[str | None, typer.Option("--name", help="Its name.")] = None,
    json: Json = False,
) -> None:
    """Change what is given, and leave the rest. Earlier debates keep it as it was."""
    if not fields.asked(name):
        raise InputError(f"Say what to change of {id_}: --name, --bio, --model …", "agent")

    async def changed(moot: "Moot") -> "Agent":
        known = asdict((await moot.agents.get(id_)).voice)
        return await moot.agents.change(id_, fields.asked(name, known))

    _tell(ask(changed), json)


@agents.command()
def delete(id_: Id, json: Json = False) -> None:
    """Delete an agent. It leaves the pools of its stations; its debates stay readable."""

    async def forget(moot: "Moot") -> list[str]:
        await moot.agents.delete(id_)
        return [one.trouble for one in await moot.stations.all() if one.trouble]

    troubles = ask(forget)
    tell_gone("agent", id_, json)
    for trouble in troubles if not json else ():
        typer.echo(f"{trouble} It airs nothing by itself until that is fixed.")


add_file_commands(agents, "agents")


def _tell(agent: "Agent", json: bool, *more: str) -> None:
    from moot.wire import codec_station as codec

    if json:
        print_json(codec.shown_agent(agent))
        return
    voice = agent.voice
    spoken = (voice.lang, voice.name, f"rate {voice.rate:g}", f"pitch {voice.pitch:g}")
    typer.echo(f"{agent.name}  ({agent.id})")
    typer.echo(f"  {agent.stance}, {agent.model or 'the default model'}")
    typer.echo(f"  voice: {', '.join(part for part in spoken if part)}")
    for line in agent.bio.splitlines():
        typer.echo(f"  {line}")
    for line in more:
        hint(line)
