"""What `moot replay` shows: a debate from its files, when each turn was spoken, what is wrong."""

from dataclasses import replace
from typing import Any, TypeVar

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from moot.bootstrap import load_settings, replay
from moot.cli import verdict_view
from moot.cli.ask import counted
from moot.cli.hints import typed
from moot.cli.screen import Screen, ending
from moot.cli.target import remote
from moot.core.clean import visible
from moot.core.debate import Debate, Jury, Participant, Turn
from moot.core.times import seconds
from moot.wire.codec import read_debate, read_turn

T = TypeVar("T", Turn, Participant)


async def replayed(id_: str) -> dict[str, Any]:
    """The replay, by the server; or here from the files, which need no database."""
    settings = load_settings()
    if not settings.url:
        return replay(settings, id_)
    async with remote(settings.url) as moot:
        return await moot.replay(id_)


def tell(whole: dict[str, Any]) -> None:
    console = Console(highlight=False, soft_wrap=False)
    if told := _rebuilt(whole):
        _transcript(console, *told)
    if not whole["consistency"]["indexed"]:
        lost = "The database does not have it;  moot reindex  adds it."
        console.print(Text(typed(lost), style="dim"))
    issues = whole["consistency"]["issues"]
    if not issues:
        console.print(Text("All files are as they were written.", style="green"))
        return
    console.print(Text(f"{counted(len(issues), 'finding')}:", style="bold red"))
    for issue in issues:
        console.print(Text(f"  {visible(issue)}", style="red"), soft_wrap=True)


def _rebuilt(whole: dict[str, Any]) -> tuple[Debate, list[Turn]] | None:
    """The debate that a replay tells of, unless its files are too damaged for that."""
    try:
        told = whole["transcript"]
        turns = [read_turn(turn) for turn in told["turns"]]
        return read_debate(told["debate"], whole["request"]["rules"]), turns
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _transcript(console: Console, debate: Debate, turns: list[Turn]) -> None:
    """What was said and when, without anything that a changed file could do to a terminal."""
    debate = debate.but(
        motion=visible(debate.motion),
        participants=tuple(_clean(seat, "name", "role", "model") for seat in debate.participants),
        host=_clean(debate.host, "name", "role", "model") if debate.host else None,
        jury=_clean_jury(debate.jury),
        warnings=tuple(visible(list(debate.warnings))),
    )
    screen = Screen(debate, console)
    screen.head()
    begun = debate.started_at or debate.created_at
    for turn in screen.read([_clean(turn, "text", "name", "stage", "model") for turn in turns]):
        when, took = _between(begun, turn.started_at), _between(turn.started_at, turn.committed_at)
        console.print(Text(f"  +{when} s, took {took} s", style="dim"))
    console.print(Rule(style="dim"))
    lasted = f", {_between(begun, debate.ended_at)} s" if debate.ended_at else ""
    told = f"  {counted(len(turns), 'turn')}{lasted}"
    console.print(Text.assemble((ending(debate), "bold"), (told, "dim")))
    if not _verdict(console, debate, turns) and (outcome := debate.outcome):
        console.print(Text(f"Decided: {visible(outcome.selected_option)}", style="bold"))
        scores = f"consensus {outcome.consensus_score:.2f}"
        console.print(Text(f"  {scores}, confidence {outcome.confidence_score:.2f}", style="dim"))
    if debate.failure:
        console.print(Text(visible(debate.failure.message), style="red"))


def _verdict(console: Console, debate: Debate, turns: list[Turn]) -> bool:
    """Show the verdict, if there is one. It cannot be made from answers that somebody changed."""
    try:
        return verdict_view.show(console, debate, turns)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return False


def _clean(noun: T, *names: str) -> T:
    return replace(noun, **{name: visible(getattr(noun, name)) for name in names})


def _clean_jury(jury: Jury | None) -> Jury | None:
    if jury is None:
        return None
    return replace(jury, seats=tuple(_clean(seat, "name", "model") for seat in jury.seats))


def _between(start: str, end: str) -> str:
    try:
        return f"{seconds(end) - seconds(start):.1f}"
    except (ValueError, TypeError, OverflowError):
        return "?"  # a time that somebody changed
