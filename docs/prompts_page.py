"""Makes docs/prompts.md: a debate of each format, played by the understudy, with every kind of
prompt as a model receives it."""

import asyncio
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from moot.core import answers, prompts, request, schedule
from moot.core.debate import NO_USAGE, Debate, Turn
from moot.core.prompts import Heard, Message
from moot.core.schedule import Step, Wave
from moot.models.understudy import Understudy
from moot.outcome.stands import choices
from moot.ports.model_call import Call
from moot.store.formats import BUILT_IN, FormatFiles

AT = "2026-11-15T12:00:00.000Z"
MOTION = "Should the town close its high street to cars at the weekend?"
WINDOW = 200_000
HEAD = """\
# Prompts

Every prompt of the built-in formats as a model receives it. `make docs` makes this page: it plays
a debate of each format, with the understudy as all speakers, and prints what was sent. The texts
come from the [format files](../src/moot/formats), from [jury.toml](../src/moot/core/jury.toml) and
from [prompts.py](../src/moot/core/prompts.py).

A prompt has three parts. The system message comes first and never changes for a seat. Then comes
the transcript in order: the words of others behind `>` under the number of their turn, the seat's
own as its own messages. The ask comes last, with all that holds for this turn alone. So each prompt
of a seat begins with its previous one, and the caches of vendors hit. Messages that are shown above
for the same seat are not shown again: a line in italics stands for them."""
_SPOKEN = {
    "cue": "the host, {}, gives somebody the floor",
    "summary": "{} sums up",
    "verdict": "{} decides",
    "speech": "{} speaks",
}
_READ = {
    "alone": "a juror, before it has heard anything",
    "spoken": "a juror, in one order",
    "swapped": "the same juror, in the other order",
}


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    files = FormatFiles(Path("/dev/null"))
    for name in BUILT_IN:
        rules = files.get(name)
        roster = rules.roster
        hosted = roster.host != "none"
        debate = _debate(name, hosted, jury={"size": 3} if name in ("council", "duel") else None)
        parts += [f"## {rules.title}", f"{rules.description}"]
        parts += _prompts(debate)
    parts += ["## What the output types of a council add"]
    for kind in ("writing", "architecture", "planning", "evaluation"):
        debate = _debate("council", False, kind=kind)
        *_, (_, messages) = _played(debate)
        system = messages[0].text.partition("What is wanted is ")[2].partition("\n\n")[0]
        ask = messages[-1].text.rpartition("\n\nDecide.")[2]
        asked = "\n".join(f"Decide.{ask}".splitlines()[2:])
        parts += [
            f"### `{kind}`",
            f"In the system message of every seat:\n\n{_fenced(f'What is wanted is {system}')}",
            f"At the end of the Judge's ask:\n\n{_fenced(asked)}",
        ]
    return "\n\n".join(parts) + "\n"


def _debate(
    name: str, hosted: bool, jury: Mapping[str, Any] | None = None, kind: str = "decision"
) -> Debate:
    rules = FormatFiles(Path("/dev/null")).get(name)
    stances = ("pro", "con")
    cast = [{"name": n, "stance": s} for n, s in zip(("Ada", "Ben"), stances, strict=True)]
    if name == "jury":
        cast = [{"name": n} for n in ("Ada", "Ben", "Cleo")]
    options = {option: 1 for option, known in rules.options.items() if known.min <= 1}
    return request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion=MOTION,
        rules=rules,
        default_model="local:understudy",
        normalize=lambda model: (model, None),
        participants=[] if rules.roster.roles else cast,
        host={"name": "Hanna"} if hosted else None,
        options=options,
        limits={"max_turns": 4} if name == "duel" else {},
        brief={"output_type": kind, "constraints": ["The budget is fixed."]}
        if rules.result
        else {},
        jury=jury,
    ).but(status="running")


def _played(debate: Debate) -> Iterator[tuple[Step, tuple[Message, ...]]]:
    """Every step of a debate, with what its speaker is sent."""
    turns: list[Turn] = []
    while isinstance(wave := schedule.plan(debate), Wave):
        said: list[Turn] = []
        for step in wave.steps:
            heard, given = Heard(turns), choices(debate, turns)
            messages, seen = prompts.render(step, debate, heard, WINDOW, given)
            yield step, messages
            schema = prompts.schema(step, debate, given, turns)
            call = Call("local", messages, 900, 30.0, debate, step, seen, schema)
            reply = asyncio.run(Understudy().speak(call, lambda _: None))
            text, data = reply.text, None
            if step.answer != "text":
                data = prompts.read(step, debate, reply.data or {}, given, turns)
                text = answers.spoken(debate.rules.shape(step.answer), data)
            seat = debate.seat(step.actor)
            said.append(
                Turn(
                    len(turns) + len(said) + 1, step.round, step.stage, step.actor, seat.name,
                    step.kind, step.target, None, text, data, "ok", None, reply.model, NO_USAGE,
                    AT, AT,
                )
            )  # fmt: skip
        for step in wave.steps:
            debate = debate.but(cursor=schedule.after(debate, step.bit))
        turns += said


def _prompts(debate: Debate) -> Iterator[str]:
    """One prompt for each kind of turn, less what its seat was sent in one that is shown above."""
    shown: set[tuple[str, str, str | None]] = set()
    sent: dict[str, tuple[Message, ...]] = {}
    tasks = {seat.role for seat in debate.participants if debate.rules.roster.role(seat.role)}
    for step, messages in _played(debate):
        seat, key = debate.seat(step.actor), (step.stage, step.kind, step.reading)
        heading = "Jury" if step.reading else debate.rules.stage(step.stage).heading
        if key in shown:
            if seat.role in tasks and seat.id not in sent:
                told = messages[0].text.partition("Your task")[2].partition("\n\n")[0]
                yield f"The {seat.name} is told in the same place:\n\n{_fenced(f'Your task{told}')}"
                sent[seat.id] = messages[:1]
            continue
        shown.add(key)
        what = _READ[step.reading] if step.reading else _SPOKEN[step.kind].format(seat.name)
        yield f"### {heading}: {what}"
        before = sent.get(seat.id, ())
        same = sum(
            1
            for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, messages, strict=False))
        )
        if same:
            many = "message" if same == 1 else f"{same} messages"
            yield f"*The first {many} of {seat.name} as above, then:*"
        for message in messages[same:]:
            yield f"`{message.role}`\n\n{_fenced(message.text)}"
        sent[seat.id] = messages


def _fenced(text: str) -> str:
    return f"````text\n{text}\n````"
