"""Whether the models of a debate can hold it: what they read has room in their windows, and they
know its language."""

from collections.abc import Callable, Iterator
from typing import Protocol

from moot.core import limits, prompts, schedule
from moot.core.debate import Debate, Participant
from moot.core.format import Effort
from moot.core.language import languages, named
from moot.core.prompts import Heard
from moot.core.schedule import Step
from moot.core.voices import UNDERSTUDY
from moot.errors import InputError

HEARD = 256
"""Tokens of what others said that a turn must have room for, or it answers nobody."""
_ROUND = 100  # tokens, to which a sentence rounds up


class Card(Protocol):
    """What is known of a model before it is called."""

    @property
    def model(self) -> str: ...

    @property
    def window(self) -> int: ...

    @property
    def least(self) -> Effort | None: ...

    @property
    def languages(self) -> tuple[str, ...]: ...


Cards = Callable[[str], Card]


def check(debate: Debate, cards: Cards, actor: str | None = None) -> None:
    """Refuse models that cannot hold the debate, or the one of an `actor` alone, and say what
    would suit. The understudy can, since it reads nothing."""
    seen: set[str] = set()
    spoken = languages(debate.motion)
    for step in _steps(debate):
        if actor not in (None, step.actor):
            continue
        seat = debate.seat(step.actor)
        for card in map(cards, seat.choices):
            if card.model == UNDERSTUDY:
                continue
            if card.model not in seen:
                _check_language(seat, card, spoken)
            seen.add(card.model)
            _check_window(debate, step, seat, card)


def _steps(debate: Debate) -> Iterator[Step]:
    """One of each kind that models are asked for: its prompt is as long as those of its kind."""
    seen: set[tuple[str, str, str, str | None]] = set()
    for steps in schedule.waves(debate):
        for step in schedule.by_models(debate, steps):
            kind = (step.stage, step.actor, step.kind, step.reading)
            if kind not in seen:
                seen.add(kind)
                yield step


def _check_language(seat: Participant, card: Card, spoken: tuple[str, ...]) -> None:
    if not card.languages or not spoken or set(spoken) & set(card.languages):
        return
    name = named(spoken[:1])
    raise InputError(
        f"{seat.name} speaks with {card.model}, which cannot debate in {name}, the language of the "
        f"motion: it knows {named(card.languages)}. Give {seat.name} a larger model, of a vendor "
        f"or on a server of your own, or ask in one of these languages.",
        "model",
    )


def _check_window(debate: Debate, step: Step, seat: Participant, card: Card) -> None:
    needs = _needs(debate, step, card.least, card.window)
    if needs <= card.window:
        return
    least = card.window
    while needs > least:  # with more room, a model may think and say more
        least = -(-needs // _ROUND) * _ROUND
        needs = _needs(debate, step, card.least, least)
    raise InputError(
        f"{seat.name} speaks with {card.model}, whose window of {card.window:,} tokens is too "
        f"small for this {debate.format}: a turn in its stage {step.stage} takes {least:,}. Give "
        f"{seat.name} a model with a window of {least:,} tokens or more, lower max_turn_tokens, or "
        "shorten the question.",
        "model",
    )


def _needs(debate: Debate, step: Step, least: Effort | None, window: int) -> int:
    """The tokens of a step's prompt before anybody has spoken, of its answer, and of a little that
    was said."""
    thinking = limits.thinking(step.effort, least, window)
    room = window - thinking.tokens
    messages, _ = prompts.render(step, debate, Heard(), room)
    alone = step.sees == "none" or step.reading == "alone"
    said = prompts.tokens_of(step, debate, room) + (0 if alone else HEARD)
    return prompts.size(messages) + said + thinking.tokens
