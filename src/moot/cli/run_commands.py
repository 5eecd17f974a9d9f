"""The commands that carry a debate on in this terminal: run, start, resume, end, retry …"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.live import carry_on, exit_code
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.debate import Debate
    from moot.ports import Moot


def _ids() -> list[str]:
    """For the shell's completion: nothing, where nothing is known at once."""
    from moot.bootstrap import load_settings
    from moot.cli.target import url

    if url():
        return []
    folder = load_settings().home / "records" / "debates"
    return sorted((path.name for path in folder.glob("debate_*")), reverse=True)


def format_names() -> list[str]:
    from moot.bootstrap import load_settings
    from moot.store.formats import FormatFiles

    return FormatFiles(load_settings().home).names()


Id = Annotated[str, typer.Argument(metavar="ID", autocompletion=_ids, help="The debate's id.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    for command in (run, council, start, resume, end, retry, skip, watch):
        app.command()(command)


def run(
    motion: Annotated[str, typer.Argument(help="What is debated.")],
    format_: Annotated[
        str, typer.Option("--format", "-f", autocompletion=format_names, help="See `moot formats`.")
    ] = "standard",
    rounds: Annotated[int | None, typer.Option(help="How many, where the format has it.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=NUMBER", help="Another option of the format.")
    ] = None,
    participant: Annotated[
        list[str] | None,
        typer.Option(
            "--participant",
            "-p",
            metavar="NAME[:STANCE]=MODEL",
            help="A speaker, e.g. Ada:pro=openai:gpt-5. Once for each.",
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A saved agent takes a seat, before any --participant."),
    ] = None,
    bio: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="Who a --participant is.")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="[NAME=]MODEL", help="Who moderates.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="At most this many turns.")] = None,
    max_turn_seconds: Annotated[float | None, typer.Option(help="5..120, default 35.")] = None,
    max_turn_tokens: Annotated[int | None, typer.Option(help="128..4096, default 900.")] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="Budget of the debate.")] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="Budget of the debate.")] = None,
    allow_unpriced: Annotated[
        bool,
        typer.Option(
            "--allow-unpriced",
            help="Let models of unknown price speak under --max-cost-usd, which leaves them out.",
        ),
    ] = False,
    on_failure: Annotated[
        str | None, typer.Option(help="When a speaker fails for good: pause or degrade.")
    ] = None,
    json: Json = False,
) -> None:
    """Debate a motion, here and now."""
    options = read_options(rounds, option or [])
    limits = {
        "max_turns": max_turns,
        "max_turn_seconds": max_turn_seconds,
        "max_turn_tokens": max_turn_tokens,
        "max_total_tokens": max_total_tokens,
        "max_cost_usd": max_cost_usd,
    }

    async def begin(service: "Moot") -> "Debate":
        return await service.create(
            motion,
            format=format_,
            participants=[*_agents(agent or []), *_participants(participant or [], bio or [])],
            host=_host(host),
            options=options,
            limits=limits,
            on_failure=on_failure,
            allow_unpriced=allow_unpriced,
        )

    _carry(begin, json, introduce=True)


def council(
    problem: Annotated[str, typer.Argument(help="What is to be decided.")],
    output_type: Annotated[
        str, typer.Option(help="decision, writing, architecture, planning or evaluation.")
    ] = "decision",
    constraint: Annotated[
        list[str] | None, typer.Option(help="Something the decision must keep to. Repeatable.")
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=MODEL",
            help="Proponent, Critic, Analyst, Synthesizer or Judge, e.g. Critic=claude.",
        ),
    ] = None,
    record: Annotated[
        str | None, typer.Option(help="What is written back: decision or worklog.")
    ] = None,
    max_turn_seconds: Annotated[float | None, typer.Option(help="5..120, default 35.")] = None,
    max_turn_tokens: Annotated[int | None, typer.Option(help="128..4096, default 900.")] = None,
    json: Json = False,
) -> None:
    """Let five roles decide a problem, and leave a decision that can be traced."""
    request = {
        "problem": problem,
        "output_type": output_type,
        "constraints": constraint or [],
        "participants": [_role(text) for text in role or []],
        "writeback_record_type": record,
        "max_turn_seconds": max_turn_seconds,
        "max_turn_tokens": max_turn_tokens,
    }
    given = {name: value for name, value in request.items() if value not in (None, [])}
    _carry(lambda service: service.council(given), json, introduce=True)


def start(id_: Id, json: Json = False) -> None:
    """Start a debate that was made to wait."""
    _carry(lambda service: service.start(id_), json, id_, introduce=True)


def resume(id_: Id, json: Json = False) -> None:
    """Go on with a debate that was paused, or that a crash left behind."""
    _carry(lambda service: service.resume(id_), json, id_)


def end(id_: Id, json: Json = False) -> None:
    """End a debate now: what is being said is dropped, and the closing summary follows."""
    _carry(lambda service: service.end(id_), json, id_)


def retry(
    id_: Id,
    model: Annotated[str | None, typer.Option(help="Another model for that seat.")] = None,
    json: Json = False,
) -> None:
    """Restart the speaker whose failure paused the debate."""
    _carry(lambda service: service.retry(id_, model), json, id_)


def skip(id_: Id, json: Json = False) -> None:
    """Go on without the turn whose failure paused the debate."""
    _carry(lambda service: service.skip(id_), json, id_)


def watch(
    id_: Id,
    after: Annotated[
        int,
        typer.Option(min=0, help="Only what comes after this seq (`moot show --json` has them)."),
    ] = 0,
) -> None:
    """Follow a debate, whichever process runs it. Ctrl-C leaves it running."""
    try:
        raise typer.Exit(asyncio.run(_watch(id_, after)))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


async def _watch(id_: str, after: int) -> int:
    from moot.cli.screen import Screen
    from moot.cli.target import Notices, filed, say, where

    notices = Notices()
    async with where(live=True, notices=notices) as service:
        debate = await service.get(id_)
        if debate.status == "scheduled":
            say(f"It has not been started yet; that does:  moot start {id_}")
        elif service.left_behind(debate):
            say(f"Nobody carries it on; that does:  moot resume {id_}")
        with Screen(debate.but(turn_count=0) if after == 0 else debate) as screen:
            notices.view = screen
            async for event in service.follow(id_, min(after, debate.last_seq)):
                screen.show(event)
        debate = await service.get(id_)
        screen.outcome(debate, filed(service, id_))
    return exit_code(debate, interrupted=False)


def _carry(
    begin: Callable[["Moot"], Awaitable["Debate"]],
    json: bool,
    *known: str,
    introduce: bool = False,
) -> None:
    raise typer.Exit(asyncio.run(carry_on(begin, json, list(known), introduce=introduce)))


def read_options(rounds: int | None, given: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {} if rounds is None else {"rounds": rounds}
    for text in given:
        name, _, value = text.partition("=")
        if not value.lstrip("-").isdigit():
            raise InputError(f"--option {text}: write it as NAME=NUMBER.", "options")
        options[name.strip()] = int(value)
    return options


def _agents(given: list[str]) -> list[dict[str, Any]]:
    return [{"agent": id_} for id_ in given]


def _participants(given: list[str], bios: list[str]) -> list[dict[str, Any]]:
    seats = [_participant(text) for text in given]
    for text in bios:
        name, equals, words = text.partition("=")
        seat = next((s for s in seats if s["name"].casefold() == name.strip().casefold()), None)
        if not equals or seat is None:
            raise InputError(f"--bio {text}: write it as NAME=TEXT, for a --participant.", "bio")
        seat["bio"] = words
    return seats


def _participant(text: str) -> dict[str, Any]:
    label, _, model = text.partition("=")
    name, _, stance = label.rpartition(":")
    if not name:
        name, stance = label, ""
    elif stance.strip() not in ("pro", "con", "neutral"):
        raise InputError(
            f"--participant {text}: {stance.strip()!r} is no stance; there are pro, con, neutral.",
            "participants",
        )
    if not name.strip():
        raise InputError(f"--participant {text}: write it as NAME=MODEL.", "participants")
    return {"name": name.strip(), "stance": stance.strip() or None, "model": model or None}


def _role(text: str) -> dict[str, Any]:
    role, equals, model = text.partition("=")
    provider, _, name = model.partition(":")
    if not equals or not provider:
        raise InputError(f"--role {text}: write it as ROLE=MODEL.", "participants")
    return {"role": role.strip(), "model_provider": provider, "model_name": name or None}


def _host(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    name, equals, model = text.partition("=")
    return {"name": name.strip(), "model": model} if equals else {"model": text}
