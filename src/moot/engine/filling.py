"""A person's answer with fields: what is asked for, and how it is checked before it is said."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from moot.core import answers, form, prompts
from moot.core.clean import clean, visible
from moot.core.debate import Debate, Turn
from moot.core.form import Asked, step_of
from moot.core.jury import NO_CHOICES, Choices
from moot.core.schedule import Step
from moot.errors import InputError, StateError
from moot.outcome.stands import choices, votable


async def asked_of(debate: Debate, seat: str | None, turns: Sequence[Turn]) -> Asked | None:
    """What that seat is asked for now or, without one, whoever is a person; None: nothing."""
    step = step_of(debate, seat) if debate.status in ("queued", "running", "ending") else None
    if step is None:
        return None
    given = await asyncio.to_thread(choices_of, step, debate, turns)
    return form.asked(debate, step, turns, given)


async def fill(
    debate: Debate, seat: str | None, answer: Mapping[str, Any], text: str, turns: Sequence[Turn]
) -> tuple[str, dict[str, object]]:
    """The answer of a seat in its canonical form, and how it reads. Its quotes are checked."""
    if text:
        raise InputError("Give a text or an answer with fields, not both.", "text")
    step = step_of(debate, seat) if seat else None
    if step is None:
        raise StateError("Nobody is asked for this answer: it is not this seat's turn.")
    if step.answer == "text":
        raise InputError("This seat is asked for plain words: send them as `text`.", "answer")
    return await asyncio.to_thread(_filled, debate, step, answer, turns)


def _filled(
    debate: Debate, step: Step, answer: Mapping[str, Any], turns: Sequence[Turn]
) -> tuple[str, dict[str, object]]:
    given = choices_of(step, debate, turns)
    try:
        data = prompts.read(step, debate, visible(dict(answer)), given, turns)
    except ValueError as error:
        raise InputError(f"The answer cannot be used: {error}.", "answer") from None
    if debate.rules.checks_quotes:
        data = prompts.shelf(step, debate, turns, given).checked(data).value
    words = clean(answers.spoken(prompts.shape(step, debate), data), "", ())
    return words, data


def choices_of(step: Step, debate: Debate, turns: Sequence[Turn]) -> Choices:
    """The options that a step chooses from, if it is a choice."""
    if step.answer == "text" or not any(debate.rules.shape(step.answer).options_from()):
        return NO_CHOICES
    return votable(debate, turns) if step.reading else choices(debate, turns)
