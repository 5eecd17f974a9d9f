"""`moot agents`: the saved personas that can take a seat in many debates."""

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
from moot.cli.run_commands import Json
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports import Moot
    from moot.stations.station import Agent

agents = typer.Typer(no_args_is_help=True, help="The saved personas that take a seat in debates.")

Id = Annotated[str, typer.Argument(metavar="ID", help="The agent's id.")]
Name = Annotated[str | None, typer.Option("--name", help="What it is called.")]
Bio = Annotated[str | None, typer.Option(help="Who it is, and how it argues.")]
Model = Annotated[str | None, typer.Option(help="E.g. openai:gpt-5; '' is the default model.")]
Provider = Annotated[str | None, typer.Option(help="Whose model; --model is then its name.")]
Stance = Annotated[str | None, typer.Option(help="pro, con or neutral (the default).")]
Lang = Annotated[str | None, typer.Option(help="Of its voice, e.g. en-GB; '' is the listener's.")]
Voice = Annotated[str | None, typer.Option(help="The name of a browser's voice.")]
Rate = Annotated[float | None, typer.Option(help="How quickly it speaks, 0.5..2.")]
Pitch = Annotated[float | None, typer.Option(help="How high it speaks, 0..2.")]


def register(app: typer.Typer) -> None:
    app.add_typer(agents, name="agents")


@agents.command("list")
def list_(json: Json = False) -> None:
    """All of them, by name."""
    from moot.wire import codec_station as codec

    found = ask(lambda service: service.agents.all())
    if json:
        print_json([codec.shown_agent(agent) for agent in found])
    elif not found:
        typer.echo('No agent yet. Save one:  moot agents add "Ada" --bio "…"')
    else:
        rows = [(one.id, one.name, one.stance, one.model or "default", one.bio) for one in found]
        table(("id", "name", "stance", "model", "bio"), rows, "bio")


@agents.command()
def show(id_: Id, json: Json = False) -> None:
    """One agent, whole."""
    _tell(ask(lambda service: service.agents.get(id_)), json)


@agents.command()
def add(
    name: Annotated[str, typer.Argument(help="What it is called; its id follows from that.")],
    bio: Bio = None,
    model: Model = None,
    provider: Provider = None,
    stance: Stance = None,
    lang: Lang = None,
    voice: Voice = None,
    rate: Rate = None,
    pitch: Pitch = None,
    json: Json = False,
) -> None:
    """Save a persona."""
    asked = given(
        {"name": name, "bio": bio, "provider": provider, "model": model, "stance": stance}
    )
    spoken = given({"lang": lang, "name": voice, "rate": rate, "pitch": pitch})
    whole = {**asked, "voice": spoken} if spoken else asked
    made = ask(lambda service: service.agents.create(whole))
    _tell(made, json, f"Saved. It takes a seat with:  moot run MOTION --agent {made.id}")


@agents.command()
def change(
    id_: Id,
    name: Name = None,
    bio: Bio = None,
    model: Model = None,
    provider: Provider = None,
    stance: Stance = None,
    lang: Lang = None,
    voice: Voice = None,
    rate: Rate = None,
    pitch: Pitch = None,
    json: Json = False,
) -> None:
    """Change what is given, and leave the rest. Debates that were held keep it as it was."""
    asked = given(
        {"name": name, "bio": bio, "provider": provider, "model": model, "stance": stance}
    )
    spoken = given({"lang": lang, "name": voice, "rate": rate, "pitch": pitch})
    if not asked and not spoken:
        raise InputError(f"Say what to change of {id_}: --name, --bio, --model …", "agent")

    async def changed(service: "Moot") -> "Agent":
        return await service.agents.change(id_, await _with_voice(service, id_, asked, spoken))

    _tell(ask(changed), json)


async def _with_voice(
    service: "Moot", id_: str, asked: dict[str, Any], spoken: dict[str, Any]
) -> dict[str, Any]:
    """A voice is changed as a whole: what is not given of it stays."""
    from moot.wire import codec_station as codec

    if not spoken:
        return asked
    now = codec.agent(await service.agents.get(id_))
    return {**asked, "voice": {**now["voice"], **spoken}}


@agents.command()
def delete(id_: Id, json: Json = False) -> None:
    """Forget an agent. It leaves the pools of its stations; its debates stay readable."""

    async def forget(service: "Moot") -> list[str]:
        await service.agents.delete(id_)
        return [one.trouble for one in await service.stations.all() if one.trouble]

    troubles = ask(forget)
    tell_gone("agent", id_, json)
    for trouble in troubles if not json else ():
        typer.echo(f"{trouble} It airs nothing by itself until that is mended.")


@agents.command("import")
def import_(file: File, json: Json = False) -> None:
    """Bring agents from a TOML file, all or none; one of the same id is changed."""
    text = read(file)
    tell_brought(ask(lambda service: service.agents.bring(text)), json)


@agents.command()
def export(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Only these; else all.")
    ] = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Agents as a TOML file, for `moot agents import`."""
    write(ask(lambda service: service.agents.take(ids or [])), output, json)


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
        typer.echo(line)
