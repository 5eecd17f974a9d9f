"""`moot gate`: a question with yes or no for an answer, as the exit code that a pipeline reads."""

import asyncio
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import Json, print_json
from moot.cli.quiet import loading
from moot.cli.source_options import AllowSecrets, HideSources, SourceGiven, sources_asked
from moot.errors import InputError, MootError

if TYPE_CHECKING:
    from moot.core.debate import Debate
    from moot.outcome.gate import Policy, Ruling
    from moot.ports.entry_point import Moot

EXIT_UNTOLD = 2
"""Whatever was decided: nobody could be told of it."""
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file: question, sources, format, jury, jurors, passes, max_cost_usd, "
        "max_total_tokens. Options win over it; --source adds to its sources.",
    ),
]
Summary = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append the summary, in Markdown, to this file.")
]
Comment = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write it, ready for a comment, to this file.")
]


def register(app: typer.Typer) -> None:
    app.command()(gate)


def gate(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="That yes or no answers.")
    ] = None,
    jury: Annotated[
        int | None, typer.Option(metavar="N", help="So many jurors decide; default 3.")
    ] = None,
    juror: Annotated[
        list[str] | None, typer.Option(metavar="MODEL", help="A juror's model. Repeatable.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="The model of every seat.")
    ] = None,
    policy: PolicyFile = None,
    source: SourceGiven = None,
    hide_sources_from: HideSources = None,
    allow_secrets: AllowSecrets = False,
    max_cost_usd: Annotated[float | None, typer.Option(help="Its budget.")] = None,
    summary: Summary = None,
    comment: Comment = None,
    json: Json = False,
) -> None:
    """Have a jury answer yes or no. Exits with 0 for yes, 1 for no, and 2 if it is undecided.

    One side argues for yes, one for no, and the jury decides. Undecided is also a bad policy, a
    model that fails and a budget that runs out: the summary says which. Nothing but a yes is 0.
    """
    with loading():
        from moot.outcome.gate import Ruling

    given = {"question": question, "jury": jury, "jurors": juror, "max_cost_usd": max_cost_usd}
    told = Told(question or "", Ruling("undecided", ""))
    try:
        wanted = _policy(policy, given, source or [])
        told = replace(told, question=wanted.question)
        more = sources_asked(None, hide_sources_from, allow_secrets)
        told = asyncio.run(_held(wanted, model, more))
    except MootError as error:
        told = replace(told, ruling=Ruling("undecided", error.message))
    except (
        Exception
    ) as error:  # a bug of ours is no answer, and Python's own exit code would be one
        traceback.print_exc()
        told = replace(told, ruling=Ruling("undecided", f"moot failed: {type(error).__name__}."))
    try:
        _tell(told, summary, comment, as_json=json)
    except OSError as error:  # a broken pipe, too, which other commands take for success
        with suppress(OSError):
            typer.echo(f"moot: what the gate says cannot be written: {error}", err=True)
        raise typer.Exit(EXIT_UNTOLD) from None
    raise typer.Exit(told.ruling.exit_code)


@dataclass(frozen=True, slots=True)
class Told:
    """What a gate has to say."""

    question: str
    ruling: "Ruling"
    debate: "Debate | None" = None
    answer: str = ""  # what the debate came to, as Markdown


def _tell(told: Told, summary: Path | None, comment: Path | None, *, as_json: bool) -> None:
    from moot.render import gate_text

    debate_id = told.debate.id if told.debate else ""
    text = gate_text.summary(told.question or "?", told.ruling, told.answer, debate_id)
    if summary:
        with summary.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    if comment:
        comment.write_text(gate_text.comment(text), "utf-8", "replace")
    if as_json:
        print_json(_document(told))
    else:
        typer.echo(text)
    sys.stdout.flush()


def _policy(file: Path | None, given: dict[str, Any], sources: list[str]) -> "Policy":
    """The file's, with what the command says instead, and its sources besides."""
    from moot.outcome import gate

    fields: dict[str, Any] = {}
    if file is not None:
        try:
            fields = gate.read(file.read_text("utf-8"), str(file))
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}.", "policy") from None
        except UnicodeDecodeError:
            raise InputError(f"{file} is not text in UTF-8.", "policy") from None
    fields["sources"] = [*fields.get("sources", []), *sources]
    return gate.policy({**fields, **{name: one for name, one in given.items() if one is not None}})


async def _held(wanted: "Policy", model: str | None, more: dict[str, Any]) -> Told:
    """Hold the debate to its end, or to what ends it."""
    from moot.cli.run_commands import cast_with
    from moot.cli.target import where
    from moot.outcome.gate import format_of, ruling

    async with where() as moot:
        format_of(wanted, await moot.formats())
        asked = await cast_with(moot, {**wanted.asked(), **more}, model)
        made = await moot.create(wanted.question, **asked)
        typer.echo(f"{made.id} is under way.", err=True)
        try:
            debate = await moot.wait(made.id)
        except asyncio.CancelledError:
            await _let_go(moot, made.id)
            raise
        said = ruling(debate, await moot.turns(debate.id), wanted)
        return Told(wanted.question, said, debate, await moot.answer(debate.id))


async def _let_go(moot: "Moot", debate_id: str) -> None:
    """Whoever interrupts a gate does not want it to go on."""
    try:
        await moot.stop(debate_id)
    except MootError as error:
        typer.echo(f"moot: {error.message}", err=True)


def _document(told: Told) -> dict[str, Any]:
    debate, ruling = told.debate, told.ruling
    decided = debate.outcome if debate else None
    return {
        "question": told.question,
        "answer": ruling.answer,
        "why": ruling.why,
        "exit_code": ruling.exit_code,
        "debate": debate.id if debate else None,
        "outcome": decided.outcome if decided else None,
        "selected": decided.selected_option if decided else None,
        "cost_usd": debate.spent.cost_usd if debate else 0.0,
    }
