"""What a person says: whose turn it is, what is asked for, and how it is checked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from moot.core import answers, form, prompts
from moot.core.clean import clean, visible
from moot.core.debate import Debate, Turn
from moot.core.form import Asked, step_of
from moot.core.jury import NO_CHOICES, Choices
from moot.core.quoting import Shelf
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


def turn_of(
    debate: Debate,
    seat: str | None,
    step: str | None,
    answer: Mapping[str, Any] | None,
    *,
    note: bool,
) -> tuple[str | None, str | None]:
    """The seat and the step that a person means. Whoever speaks while it is a seat's turn means
    that turn, even if others come first."""
    if note and (seat is not None or answer is not None):
        raise InputError("A note is nobody's turn: it has neither a seat nor fields.", "note")
    if step is not None and seat is None:
        raise InputError("A step is of a seat: name the seat, too.", "step")
    if seat is None and debate.waiting_for and not note:
        own = step_of(debate, debate.waiting_for)
        seat = debate.waiting_for if answer or (own and own.answer == "text") else None
    if step is None and seat and (own := step_of(debate, seat)):
        step = own.id
    return seat, step


async def spoken(
    debate: Debate,
    seat: str | None,
    text: str,
    answer: Mapping[str, Any] | None,
    turns: Callable[[], Awaitable[list[Turn]]],
) -> tuple[str, dict[str, object] | None]:
    """What a person says, in words and fields. A quote that fails is marked, as anybody's is."""
    if answer is not None:
        return await _fill(debate, seat, answer, text, await turns())
    if not debate.rules.checks_quotes:
        return text, None
    said = {turn.number: [turn.text] for turn in await turns()}
    return str(Shelf(debate.sources, said).checked(visible(text)).value), None


async def _fill(
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
