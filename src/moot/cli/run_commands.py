"""The verbs: commands that run a debate in this terminal, or change one that runs elsewhere."""

import asyncio
import json as jsonlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from moot.cli.ask import (
    Id,
    Json,
    OptionValues,
    ask,
    format_names,
    print_json,
    read_options,
    said,
    takes,
)
from moot.cli.motion import File, motion_of
from moot.cli.quiet import loading
from moot.cli.source_options import (
    AllowSecrets,
    DryRun,
    HideSources,
    SourceGiven,
    show_asked,
    sources_asked,
)
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.course import Plan
    from moot.core.debate import Debate
    from moot.ports.entry_point import Moot

STANDARD = "standard"
Seconds = Annotated[float | None, typer.Option(help="5..120, default 35.")]
Tokens = Annotated[int | None, typer.Option(help="128..4096, default 900.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="The model of every seat that is given no other."
    ),
]
Jury = Annotated[
    int | None,
    typer.Option(metavar="N", help="So many jurors vote at the end; 3 is usual, 0 is none."),
]
Juror = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL", help="A juror's model; the others take defaults. Repeatable."),
]
NoSwap = Annotated[
    bool,
    typer.Option("--no-swap", help="Jurors vote once, not again with the options in turned order."),
]
NoBaseline = Annotated[
    bool, typer.Option("--no-baseline", help="Jurors do not vote before they have heard anything.")
]
Problem = Annotated[
    str | None, typer.Option("--problem", metavar="TEXT", help="The same, as an option.")
]
Constraints = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Something the decision must keep to. Repeatable."),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=MODEL",
        help="Proponent, Critic, Analyst, Synthesizer or Judge, e.g. Critic=claude.",
    ),
]
RecordType = Annotated[str | None, typer.Option(help="What is written back: decision or worklog.")]


def register(app: typer.Typer) -> None:
    for command in (
        run, council, start, resume, end, retry, skip, say, watch, stop, pause, rejudge, fork,
        rerun, label, archive, delete,
    ):  # fmt: skip
        app.command()(command)


DepthGiven = Annotated[
    str | None,
    typer.Option(
        "--depth",
        metavar="auto",
        help="auto: two seats answer alone; if they agree, the rest is left out.",
    ),
]
AuditGiven = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Of --depth auto: the share held in full all the same; 0.05."
    ),
]


@dataclass(frozen=True)
class Fields:
    """What can be said of a debate."""

    format_: Annotated[
        str, typer.Option("--format", "-f", autocompletion=format_names, help="See `moot formats`.")
    ] = STANDARD
    rounds: Annotated[int | None, typer.Option(help="If the format has rounds.")] = None
    option: OptionValues = None
    participant: Annotated[
        list[str] | None,
        typer.Option(
            "--participant",
            "-p",
            metavar="NAME[:STANCE]=MODEL",
            help="A speaker, e.g. Ada:pro=openai:gpt-5; Me=human is you. Repeatable.",
        ),
    ] = None
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A saved agent, seated before any --participant."),
    ] = None
    bio: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="Who a --participant is.")
    ] = None
    host: Annotated[str | None, typer.Option(metavar="[NAME=]MODEL", help="Who moderates.")] = None
    model: Model = None
    max_turns: Annotated[int | None, typer.Option(help="The most turns.")] = None
    max_turn_seconds: Seconds = None
    max_turn_tokens: Tokens = None
    max_total_tokens: Annotated[int | None, typer.Option(help="Budget of the debate.")] = None
    max_cost_usd: Annotated[float | None, typer.Option(help="Budget of the debate.")] = None
    allow_unpriced: Annotated[
        bool,
        typer.Option(
            "--allow-unpriced",
            help="Let models of unknown price speak; --max-cost-usd does not count them.",
        ),
    ] = False
    on_failure: Annotated[
        str | None, typer.Option(help="If a speaker fails for good: pause or degrade.")
    ] = None
    jury: Jury = None
    juror: Juror = None
    no_swap: NoSwap = False
    no_baseline: NoBaseline = False
    source: SourceGiven = None
    hide_sources_from: HideSources = None
    allow_secrets: AllowSecrets = False
    depth: DepthGiven = None
    audit: AuditGiven = None
    title: Annotated[str | None, typer.Option(help="What to call it.")] = None
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="To find it by. Repeatable.")
    ] = None

    def asked(self) -> dict[str, Any]:
        agents = [{"agent": id_} for id_ in self.agent or []]
        return {
            "format": self.format_,
            "participants": [*agents, *_participants(self.participant or [], self.bio or [])],
            "host": _host(self.host),
            "options": read_options(self.rounds, self.option or []),
            "limits": said(
                max_turns=self.max_turns,
                max_turn_seconds=self.max_turn_seconds,
                max_turn_tokens=self.max_turn_tokens,
                max_total_tokens=self.max_total_tokens,
                max_cost_usd=self.max_cost_usd,
            ),
            "on_failure": self.on_failure,
            "jury": _jury(self.jury, self.juror, self.no_swap, self.no_baseline),
            "allow_unpriced": self.allow_unpriced,
            **sources_asked(self.source, self.hide_sources_from, self.allow_secrets),
            **said(depth=self.depth, audit=self.audit, title=self.title, tags=self.tag or None),
        }


@takes(Fields)
def run(
    fields: Fields,
    motion: Annotated[
        str | None,
        typer.Argument(metavar="MOTION", help="What is debated; - reads it from standard input."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A saved set-up; what is given beside it wins."),
    ] = None,
    file: File = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Debate a motion here and now."""
    asked = fields.asked()
    asked["motion"] = motion_of("run", "motion", motion, file)

    async def wanted(moot: "Moot") -> dict[str, Any]:
        if template is None:
            return await cast_with(moot, asked, fields.model)
        known = (await moot.template(template)).asked
        given = {name: value for name, value in asked.items() if value and name != "format"}
        format_ = known["format"] if fields.format_ == STANDARD else fields.format_
        return await cast_with(moot, {**known, **given, "format": format_}, fields.model)

    async def begin(moot: "Moot") -> "Debate":
        return await moot.create(**await wanted(moot))

    async def plan(moot: "Moot") -> "Plan":
        return await moot.plan(await wanted(moot))

    if dry_run:
        show_asked(plan, json)
        return
    _carry(begin, json, introduce=True, plan=plan)


def _one_of(problem: str | None, option: str | None) -> str | None:
    if problem is not None and option is not None:
        raise InputError("Give the problem as an argument or with --problem, not both.", "problem")
    return problem if option is None else option


OutputType = Annotated[
    str, typer.Option(help="decision, writing, architecture, planning or evaluation.")
]


ProblemGiven = Annotated[
    str | None,
    typer.Argument(
        metavar="PROBLEM", help="What is to be decided; - reads it from standard input."
    ),
]


def council(
    problem: ProblemGiven = None,
    problem_option: Problem = None,
    file: File = None,
    output_type: OutputType = "decision",
    constraint: Constraints = None,
    role: Roles = None,
    model: Model = None,
    record: RecordType = None,
    max_turn_seconds: Seconds = None,
    max_turn_tokens: Tokens = None,
    jury: Jury = None,
    juror: Juror = None,
    no_swap: NoSwap = False,
    no_baseline: NoBaseline = False,
    source: SourceGiven = None,
    hide_sources_from: HideSources = None,
    allow_secrets: AllowSecrets = False,
    depth: DepthGiven = None,
    audit: AuditGiven = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Let five roles debate a problem and come to a decision."""
    given = _one_of(problem, problem_option)
    asked = said(
        problem=motion_of("council", "problem", given, file),
        output_type=output_type,
        constraints=constraint or None,
        participants=read_roles(role) or None,
        writeback_record_type=record,
        max_turn_seconds=max_turn_seconds,
        max_turn_tokens=max_turn_tokens,
        jury=_jury(jury, juror, no_swap, no_baseline),
        **sources_asked(source, hide_sources_from, allow_secrets),
        **said(depth=depth, audit=audit),
    )

    async def wanted(moot: "Moot") -> dict[str, Any]:
        from moot.core.seating import as_role

        seated = await cast_with(moot, {**asked, "format": "council"}, model)
        seats = [as_role(seat) for seat in seated.get("participants", ())]
        return {**asked, **said(participants=seats or None, jury=seated.get("jury"))}

    async def begin(moot: "Moot") -> "Debate":
        return await moot.council(await wanted(moot))

    async def plan(moot: "Moot") -> "Plan":
        from moot.core import request

        return await moot.plan({**request.council(await wanted(moot)), "format": "council"})

    if dry_run:
        show_asked(plan, json)
        return
    _carry(begin, json, introduce=True, plan=plan)


def start(id_: Id, json: Json = False) -> None:
    """Start a debate that was made to wait."""
    _carry(
        lambda moot: moot.start(id_),
        json,
        id_,
        introduce=True,
        plan=lambda moot: moot.plan_of(id_),
    )


def resume(id_: Id, json: Json = False) -> None:
    """Continue a debate that was paused, or left by a crash."""
    _carry(lambda moot: moot.resume(id_), json, id_)


def end(id_: Id, json: Json = False) -> None:
    """Wrap up a debate now, with its closing summary. The step in flight is dropped."""
    _carry(lambda moot: moot.end(id_), json, id_)


def retry(
    id_: Id,
    model: Annotated[str | None, typer.Option(help="Another model for that seat.")] = None,
    max_turn_seconds: Annotated[
        float | None, typer.Option(help="The longest silence from now on, 5..120.")
    ] = None,
    json: Json = False,
) -> None:
    """Restart the speaker whose failure paused the debate."""
    _carry(lambda moot: moot.retry(id_, model, max_turn_seconds=max_turn_seconds), json, id_)


def skip(id_: Id, json: Json = False) -> None:
    """Continue without the turn that failed, or that a person owes."""
    _carry(lambda moot: moot.skip(id_), json, id_)


def say(
    id_: Id,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What you say; - reads it from standard input."),
    ] = None,
    file: File = None,
    seat: Annotated[
        str | None,
        typer.Option(metavar="SEAT", help="The id of a human seat: say it for that seat alone."),
    ] = None,
    answer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An answer with fields, as JSON; - is standard input."),
    ] = None,
    note: Annotated[
        bool, typer.Option("--note", help="Say it as a note, even if a seat's turn is waited for.")
    ] = False,
    json: Json = False,
) -> None:
    """Speak in a debate: for your seat, or as a note that all hear."""
    fields = _answer(answer) if answer else None
    words = "" if answer else motion_of("say", "text", text, file)
    if not note and ask(lambda moot: moot.get(id_)).waiting_for:
        _carry(lambda moot: moot.say(id_, words, answer=fields, seat=seat), json, id_)
        return
    debate = ask(lambda moot: moot.say(id_, words, answer=fields, seat=seat, note=note))
    if json:
        _print_debate(debate)
    else:
        typer.echo(f"Said in {debate.id}, which is {debate.status}.")


def _answer(file: Path) -> dict[str, Any]:
    """The fields of an answer, from a file."""
    content = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8", "replace")
    try:
        found: Any = jsonlib.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{file} does not hold one JSON object.", "answer")
    return cast("dict[str, Any]", found)


def watch(
    id_: Id,
    after: Annotated[
        int,
        typer.Option(min=0, help="Only what comes after this seq (see `moot show --json`)."),
    ] = 0,
) -> None:
    """Follow a debate, whichever process runs it. Ctrl-C leaves it running."""
    from moot.cli.live import follow

    try:
        raise typer.Exit(asyncio.run(follow(id_, after)))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def stop(id_: Id, json: Json = False) -> None:
    """Abort a debate, without a summary. The step in flight is kept."""
    _tell(lambda moot: moot.stop(id_), json)


def pause(id_: Id, json: Json = False) -> None:
    """Pause a debate after the step in flight."""
    _tell(lambda moot: moot.pause(id_), json)


def rejudge(id_: Id, jury: Jury = None, juror: Juror = None, json: Json = False) -> None:
    """Have a jury judge a debate that has ended.

    It takes 2 calls for each juror, and makes a new debate.
    """
    asked = _jury(jury, juror)
    _carry(lambda moot: moot.rejudge(id_, jury=asked), json, introduce=True)


def fork(
    id_: Id,
    after: Annotated[int, typer.Option(metavar="TURN", help="The number of the last common turn.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="SEAT=MODEL", help="For a seat, by its id."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="If the format has rounds.")] = None,
    option: OptionValues = None,
    jury: Jury = None,
    juror: Juror = None,
    source: SourceGiven = None,
    allow_secrets: AllowSecrets = False,
    json: Json = False,
) -> None:
    """Go on from any turn of a debate, as a new one, with changes."""
    seats: list[dict[str, str]] = []
    for text in model or []:
        seat, equals, name = text.partition("=")
        if not equals or not name:
            raise InputError(f"--model {text}: write it as SEAT=MODEL.", "model")
        seats.append({"id": seat.strip(), "model": name})
    host = next((seat for seat in seats if seat["id"] == "host"), None)
    changes = said(
        participants=[seat for seat in seats if seat is not host] or None,
        host={"model": host["model"]} if host else None,
        options=read_options(rounds, option or []) or None,
        jury=_jury(jury, juror),
        **sources_asked(source, None, allow_secrets),
    )

    async def begin(moot: "Moot") -> "Debate":
        turns = await moot.turns(id_)
        seq = next((turn.seq for turn in turns if turn.number == after), None)
        if seq is None:
            raise InputError(f"There is no turn {after}; there are {len(turns)}.", "after")
        return await moot.fork(id_, seq, changes=changes)

    _carry(begin, json, introduce=True)


def rerun(id_: Id, json: Json = False) -> None:
    """Run a debate once more, as a new one with the same request."""
    _carry(lambda moot: moot.rerun(id_), json, introduce=True)


def label(
    id_: Id,
    title: Annotated[
        str | None, typer.Option(help="What to call it; an empty title takes it away.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Add this tag. Repeatable.")
    ] = None,
    untag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Take this tag off. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Give a debate a title, or tags to find it by."""
    from moot.core import labels

    new, gone = labels.tags(tag or []), labels.tags(untag or [])

    async def change(moot: "Moot") -> "Debate":
        tags = None
        if new or gone:
            known = (await moot.get(id_)).tags
            tags = [one for one in dict.fromkeys((*known, *new)) if one not in gone]
        return await moot.label(id_, title=title, tags=tags)

    debate = ask(change)
    if json:
        _print_debate(debate)
        return
    told = ", ".join(debate.tags) or "no tags"
    typer.echo(f"{debate.id}: “{debate.title or debate.motion[:60]}”, {told}.")


def archive(
    id_: Id,
    undo: Annotated[bool, typer.Option("--undo", help="Put it back among the others.")] = False,
    json: Json = False,
) -> None:
    """Put a debate away: lists leave it out unless asked."""
    debate = ask(lambda moot: moot.label(id_, archived=not undo))
    if json:
        _print_debate(debate)
    else:
        typer.echo(f"{debate.id} is {'archived' if debate.archived else 'listed again'}.")


def delete(
    id_: Id,
    record: Annotated[
        bool, typer.Option("--record", help="The record that was written back, too.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a debate that is paused or has ended, with its files."""
    debate = ask(lambda moot: moot.get(id_))
    if not yes and not typer.confirm(f"Delete {id_}, “{debate.motion[:60]}”?", err=True):
        raise typer.Exit(1)
    ask(lambda moot: moot.delete(id_, record=record))
    typer.echo(f"{id_} is deleted.")


def _carry(
    begin: "Callable[[Moot], Awaitable[Debate]]",
    json: bool,
    *known: str,
    introduce: bool = False,
    plan: "Callable[[Moot], Awaitable[Plan]] | None" = None,
) -> None:
    with loading():
        from moot.cli.live import carry_on

    told = carry_on(begin, json, list(known), introduce=introduce, plan=plan)
    raise typer.Exit(asyncio.run(told))


def _tell(verb: "Callable[[Moot], Awaitable[Debate]]", json: bool) -> None:
    debate = ask(verb)
    if json:
        _print_debate(debate)
        return
    asked = f"; it will {debate.wanted} after the step in flight" if debate.wanted else ""
    typer.echo(f"{debate.id} is {debate.status}{asked}.")


def _print_debate(debate: "Debate") -> None:
    from moot.wire import codec

    print_json(codec.debate(debate))


async def cast_with(moot: "Moot", asked: dict[str, Any], model: str | None) -> dict[str, Any]:
    """What is asked for, with that model for everybody who is given no other."""
    if not model:
        return asked
    from moot.core.seating import with_model

    rules = next((one for one in await moot.formats() if one.name == asked["format"]), None)
    return with_model(asked, rules, model) if rules else asked  # of none: `create` says so


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
    name, colon, stance = (part.strip() for part in label.rpartition(":"))
    if not colon:
        name, stance = stance, ""
    elif stance not in ("pro", "con", "neutral"):
        raise InputError(
            f"--participant {text}: {stance!r} is not a stance; there are pro, con and neutral.",
            "participants",
        )
    if not name:
        raise InputError(f"--participant {text}: write it as NAME=MODEL.", "participants")
    return {"name": name, "stance": stance or None, "model": model or None}


def _jury(
    size: int | None, models: list[str] | None, no_swap: bool = False, no_baseline: bool = False
) -> dict[str, Any] | None:
    """The jury that was asked for, or None if nothing was said of one."""
    asked = said(
        size=size,
        models=models or None,
        swap=False if no_swap else None,
        baseline=False if no_baseline else None,
    )
    return asked or None


def read_roles(given: list[str] | None) -> list[dict[str, Any]]:
    return [_role(text) for text in given or []]


def _role(text: str) -> dict[str, Any]:
    role, equals, model = text.partition("=")
    if not equals or not model.partition(":")[0]:
        raise InputError(f"--role {text}: write it as ROLE=MODEL.", "participants")
    return {"role": role.strip(), "model": model}


def _host(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    name, equals, model = text.partition("=")
    return {"name": name.strip(), "model": model} if equals else {"model": text}
