"""The commands that carry a debate on in this terminal: run, start, resume, end, retry …"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.errors import InputError, MootError, StateError

if TYPE_CHECKING:
    from moot.cli.where import Verbs
    from moot.core.debate import Debate

LIVE_PACE = 0.03
WORKER_SECONDS = 3.0  # then it is said that no worker has come
"""Seconds between the understudy's words on a terminal, so that a person can follow."""


def _ids() -> list[str]:
    """For the shell's completion: nothing, where nothing is known at once."""
    from moot.bootstrap import load_settings
    from moot.cli.where import url

    if url():
        return []
    folder = load_settings().home / "records" / "debates"
    return sorted((path.name for path in folder.glob("debate_*")), reverse=True)


def _formats() -> list[str]:
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
        str, typer.Option("--format", "-f", autocompletion=_formats, help="See `moot formats`.")
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
    bio: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="Who a speaker is.")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="[NAME=]MODEL", help="Who moderates.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="At most this many turns.")] = None,
    max_turn_seconds: Annotated[float | None, typer.Option(help="5..120, default 35.")] = None,
    max_turn_tokens: Annotated[int | None, typer.Option(help="128..4096, default 900.")] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="Budget of the debate.")] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="Budget of the debate.")] = None,
    on_failure: Annotated[
        str | None, typer.Option(help="When a speaker fails for good: pause or degrade.")
    ] = None,
    json: Json = False,
) -> None:
    """Debate a motion, here and now."""
    options = _options(rounds, option or [])
    limits = {
        "max_turns": max_turns,
        "max_turn_seconds": max_turn_seconds,
        "max_turn_tokens": max_turn_tokens,
        "max_total_tokens": max_total_tokens,
        "max_cost_usd": max_cost_usd,
    }

    async def begin(service: "Verbs") -> "Debate":
        return await service.create(
            motion,
            format=format_,
            participants=_participants(participant or [], bio or []),
            host=_host(host),
            options=options,
            limits=limits,
            on_failure=on_failure,
        )

    _carry(begin, json)


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
    _carry(lambda service: service.council(request), json)


def start(id_: Id, json: Json = False) -> None:
    """Start a debate that was made to wait."""
    _carry(lambda service: service.start(id_), json, id_)


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
    from moot.cli.where import Notices, say, where

    notices = Notices()
    async with where(live=True, notices=notices) as service:
        debate = await service.get(id_)
        if debate.status == "scheduled":
            say(f"It has not been started yet; that does:  moot start {id_}")
        elif service.left_behind(debate):
            say(f"Nobody carries it on; that does:  moot resume {id_}")
        with Screen(debate.but(turns=0) if after == 0 else debate) as screen:
            notices.view = screen
            async for event in service.follow(id_, min(after, debate.last_seq)):
                screen.show(event)
        debate = await service.get(id_)
        screen.outcome(debate, service.folder(id_))
    return _exit_code(debate, interrupted=False)


def _carry(begin: Callable[["Verbs"], Awaitable["Debate"]], json: bool, *known: str) -> None:
    raise typer.Exit(asyncio.run(_carry_on(begin, json, list(known))))


async def _carry_on(
    begin: Callable[["Verbs"], Awaitable["Debate"]], json: bool, mine: list[str]
) -> int:
    """Begin, show it live, and say how it ended. Ctrl-C pauses it: here at once, on a server after
    the step in flight."""
    from moot.bootstrap import load_settings
    from moot.cli.screen import Quiet, Screen
    from moot.cli.where import Notices, where
    from moot.core.status import FINAL

    notices = Notices()
    live = bool(sys.stdout) and sys.stdout.isatty() and not json
    async with where(
        pace=LIVE_PACE if live else 0.0,
        recover=True,
        live=load_settings().broker_url is not None,  # others speak then
        found=lambda id_: _left_behind(id_, mine),
        notices=notices,
    ) as service:
        interrupted, begun = _on_interrupt(service)
        debate = await begin(service)
        mine.append(debate.id)
        begun(debate.id)
        seen = debate.last_seq if debate.turns else 0
        screen = Quiet() if json else Screen(debate)
        notices.view = screen
        with screen:
            showing = asyncio.create_task(_show(service, debate.id, seen, screen))
            waiting = asyncio.create_task(_nobody_came(service, debate.id))
            try:
                debate = await service.wait(debate.id)
                if debate.status in FINAL or debate.status == "paused":
                    await showing
            finally:
                showing.cancel()
                waiting.cancel()
                await asyncio.gather(showing, waiting, return_exceptions=True)
        if json:
            _print_json(service, debate, await service.turns(debate.id))
        else:
            screen.outcome(debate, service.folder(debate.id))
    return _exit_code(debate, interrupted.is_set())


def _left_behind(debate_id: str, told: list[str]) -> None:
    """Say once that a debate which another process left is carried on beside this one."""
    from moot.cli.where import say

    if debate_id not in told:
        told.append(debate_id)
        say(f"Going on with {debate_id} too: nobody carried it on.")


async def _nobody_came(service: "Verbs", debate_id: str) -> None:
    """Say why nothing happens, where it is workers who speak and none has come."""
    from moot.cli.where import say

    await asyncio.sleep(WORKER_SECONDS)
    if (await service.get(debate_id)).status == "queued":
        say("No worker has taken it yet: start one with `moot worker`. `moot doctor` says more.")


async def _show(service: "Verbs", debate_id: str, seen: int, screen: Any) -> None:
    async for event in service.follow(debate_id, seen):
        screen.show(event)


def _on_interrupt(service: "Verbs") -> tuple[asyncio.Event, Callable[[str], None]]:
    """The first Ctrl-C pauses the debate; a second one, should that hang, ends the process.

    It may come before there is a debate: whoever begins one says which it is.
    """
    from moot.cli.where import say

    loop, interrupted = asyncio.get_running_loop(), asyncio.Event()
    debates: list[str] = []
    pausing: list[asyncio.Task[None]] = []

    async def pause(debate_id: str) -> None:
        try:
            if await _paused(service, debate_id):
                return
        except MootError as error:
            say(f"moot: {error.message}")
        if (await service.get(debate_id)).status == "queued":
            say(
                f"It waits for a worker and will be spoken by one. `moot stop {debate_id}` ends it."
            )
        await service.close()  # it is over, or ending: let it go to where a new start finds it

    def begin_pause() -> None:
        if interrupted.is_set() and debates and not pausing:
            pausing.append(asyncio.create_task(pause(debates[0])))

    def interrupt() -> None:
        if interrupted.is_set():
            sys.exit(130)
        interrupted.set()
        begin_pause()

    def begun(debate_id: str) -> None:
        debates.append(debate_id)
        begin_pause()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
    return interrupted, begun


async def _paused(service: "Verbs", debate_id: str) -> bool:
    """Pause it, if that is still possible."""
    from moot.cli.where import say

    for _ in range(50):  # one that is queued runs in a moment, and then it can be paused
        try:
            debate = await service.pause(debate_id, at_once=True)
        except StateError:
            if (await service.get(debate_id)).status != "queued":
                return False
            await asyncio.sleep(0.02)
        else:
            if debate.wanted:
                say("It pauses after the step in flight; Ctrl-C again leaves at once.")
            return True
    return False


def _exit_code(debate: "Debate", interrupted: bool) -> int:
    if interrupted and debate.status not in ("completed", "failed"):
        return 130
    if debate.status == "paused":
        return 3 if debate.failure else 0
    return 1 if debate.status == "failed" else 0


def _print_json(service: "Verbs", debate: "Debate", turns: list[Any]) -> None:
    import json

    from moot.core import codec

    whole = {
        **codec.debate(debate),
        "turns": [codec.turn(turn) for turn in turns],
        "packet": _packet(debate, turns),
        "folder": service.folder(debate.id),
    }
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=1))


def _packet(debate: "Debate", turns: list[Any]) -> dict[str, Any] | None:
    from moot.core.council import decided

    return decided(debate, turns)[1] if debate.outcome else None


def _options(rounds: int | None, given: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {} if rounds is None else {"rounds": rounds}
    for text in given:
        name, _, value = text.partition("=")
        if not value.lstrip("-").isdigit():
            raise InputError(f"--option {text}: write it as NAME=NUMBER.", "options")
        options[name.strip()] = int(value)
    return options


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
