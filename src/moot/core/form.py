"""What a person is asked for when it is their turn: words, or the fields of an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moot.core import answers, jury, prompts, schedule
from moot.core.answers import Answer, Field, Of, Type
from moot.core.debate import Debate, Reading, Turn
from moot.core.jury import Choices
from moot.core.schedule import Step


@dataclass(frozen=True, slots=True)
class FormField:
    """One field to fill, in the order of the answer."""

    name: str
    type: Type
    list: bool  # several of them, one to a line
    required: bool
    help: str
    choices: tuple[str, ...]  # what a choice is made from
    fields: tuple["FormField", ...]  # of a table


@dataclass(frozen=True, slots=True)
class Asked:
    """What a human seat is asked for."""

    step: str  # what its words are sent for
    seat: str
    name: str
    round: int
    stage: str
    heading: str  # the round and stage in words
    ask: str
    reading: Reading | None  # of a juror: what it has heard, and in which order
    read: str | None  # of a juror: what it decides on, as Markdown; names are hidden
    fields: tuple[FormField, ...] | None  # None: it speaks in plain words


def step_of(debate: Debate, seat: str | None) -> Step | None:
    """The step that a person speaks next: that seat's or, without one, the first."""
    steps = schedule.by_people(debate)
    return next((step for step in steps if seat in (None, step.actor)), None)


def asked(debate: Debate, step: Step, turns: Sequence[Turn], choices: Choices) -> Asked:
    fields = None
    if step.answer != "text":
        shape = prompts.shape(step, debate)
        fields = _fields(shape.fields, prompts.known(step, debate, choices, turns), shape)
    ask, read = step.instruction, None
    if step.reading:
        blind = jury.blindfold(debate, step.actor, step.reading, choices)
        spoken = [] if step.reading == "alone" else jury.speeches(debate, turns, blind)
        read = "\n\n".join(
            f"**{label}** · turn {turn.number}\n\n{prompts.quote(text)}"
            for label, turn, text in spoken
        )
    return Asked(
        step=step.id,
        seat=step.actor,
        name=debate.seat(step.actor).name,
        round=step.round,
        stage=step.stage,
        heading=schedule.label(debate, step.round, step.stage),
        ask=ask,
        reading=step.reading,
        read=read,
        fields=fields,
    )


def _fields(
    fields: Mapping[str, Field], known: Mapping[Of, Sequence[str]], shape: Answer
) -> tuple[FormField, ...]:
    return tuple(
        FormField(
            name=name,
            type=field.type,
            list=field.list or field.type in ("turns", "quotes"),
            required=field.required,
            help=field.help or "",
            choices=tuple(answers.choices(name, field, known, shape) or field.choices),
            fields=_fields(field.fields, known, shape),
        )
        for name, field in fields.items()
    )
