"""Who speaks for each seat: the models of seats that name none, and what is doubtful about them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from moot.core.debate import HUMAN, Debate, Jury, Limits, Participant, Turn
from moot.core.effort import BETWEEN, bare, joined, parted
from moot.core.format import EDITION, Effort, Format
from moot.core.legs import legs_of
from moot.errors import (
    WARN_EFFORT_UNTOLD,
    WARN_JURY_OVERLAP,
    WARN_NO_THINKING,
    WARN_ONE_FAMILY,
    WARN_SMALL_MODEL,
    WARN_UNPRICED,
    WARN_WEAK_HOST,
    InputError,
)

UNDERSTUDY = "local:understudy"
MAX_CHOICES = 4
OWN = "own"
"""In place of the model that writes reports: one of each debate's own models."""


def label(model: str, effort: Effort | None = None) -> str:
    """Who stands behind a seat, said plainly where it is no model at all."""
    if model == HUMAN:
        return "a person"
    return "understudy, no model" if model == UNDERSTUDY else joined(model, effort)


class Card(Protocol):
    """What is known of a model before it is called."""

    @property
    def model(self) -> str: ...

    @property
    def input_price(self) -> float | None: ...

    @property
    def output_price(self) -> float | None: ...

    @property
    def small(self) -> bool: ...

    @property
    def least(self) -> Effort | None: ...

    @property
    def local(self) -> bool: ...

    @property
    def steered(self) -> bool: ...


Cards = Callable[[str], Card]


_FAMILIES = {
    "claude": "claude", "gpt": "openai", "gemini": "gemini", "gemma": "gemini", "grok": "xai",
    "mistral": "mistral", "mixtral": "mistral", "magistral": "mistral", "deepseek": "deepseek",
    "llama": "llama", "qwen": "qwen", "kimi": "moonshot", "glm": "zai",
}  # fmt: skip
"""Whose models they are, by what their names hold: many providers serve models of others."""
_MAKERS = {
    "o": "openai", "phi": "microsoft", "codestral": "mistral", "ministral": "mistral",
    "devstral": "mistral", "pixtral": "mistral", "voxtral": "mistral", "command": "cohere",
    "aya": "cohere", "nova": "amazon", "titan": "amazon", "granite": "ibm", "nemotron": "nvidia",
    "smollm": "hugging face", "olmo": "ai2", "falcon": "tii", "yi": "01.ai", "minimax": "minimax",
    "hunyuan": "tencent", "ernie": "baidu", "jamba": "ai21", "exaone": "lg", "sonar": "perplexity",
}  # fmt: skip
"""Whose models they are, by a word of their names, with its number: o3, phi4."""
_NAMED = re.compile(r"([a-z]+)([0-9.]*)")
_PROGRAMS = {"claude-code": "claude", "codex": "openai"}
"""Whose models speak through a program, whichever they are."""


def family(model: str, edition: int = EDITION) -> str:
    """Models of one family tend to make the same mistakes: it is who made a model, as far as its
    name tells, and otherwise who serves it. Before edition 7, fewer makers were known."""
    provider, _, name = bare(choices(model)[0]).partition(":")
    known = (made_by for mark, made_by in _FAMILIES.items() if mark in name.casefold())
    made_by = next(known, None) or (_maker(name.casefold()) if edition > 6 else None)
    return made_by or _PROGRAMS.get(provider, provider)


def _maker(name: str) -> str | None:
    """Who made a model, by a word of its name."""
    for word in re.split(r"[^a-z0-9.]+|\.(?![0-9])", name):
        found = _NAMED.fullmatch(word)
        if found and found[1] in _MAKERS and (found[2] or len(found[1]) > 1):
            return _MAKERS[found[1]]
    return None


def spread(
    rules: Format, seats: Sequence[Participant], host: Participant | None, ring: Sequence[str]
) -> tuple[tuple[Participant, ...], Participant | None]:
    """Give each seat without a model one of the ring, so that families differ if possible.

    A seat takes the family that is used least so far, by all seats and then by the participants;
    ties go by the order of the ring. Whoever gives the verdict differs from the first speaker.
    """
    everyone = Counter(family(one.model) for one in (*seats, host) if one and one.model)
    speaking = Counter(family(one.model) for one in seats if one.model)
    decide = judges(rules)
    filled: list[Participant] = []
    for seat in seats:
        first = filled[0].model if filled and seat.role in decide else ""
        filled.append(seat if seat.model else _given(seat, ring, everyone, speaking, first))
    if host and not host.model:
        host = _given(host, ring, everyone, speaking)
    return tuple(filled), host


def empanel(
    jurors: Sequence[Participant], debaters: Sequence[Participant], ring: Sequence[str]
) -> tuple[Participant, ...]:
    """Give each juror without a model one of the ring: a family that did not debate if there is
    one, and otherwise the one that sits on the jury least often."""
    debated = Counter(family(one.model) for one in debaters)
    sitting = Counter(family(one.model) for one in jurors if one.model)
    filled: list[Participant] = []
    for seat in jurors:
        if not seat.model:
            model = min(ring, key=lambda one: (sitting[family(one)], debated[family(one)]))
            sitting[family(model)] += 1
            seat = voiced(seat, model)
        filled.append(seat)
    return tuple(filled)


def partial_jury(jury: Jury, debaters: Sequence[Participant]) -> list[str]:
    """Warnings, if jurors may favour the debaters because they are the same models."""
    debaters = [one for one in debaters if not one.is_human]
    if not debaters:
        return []
    debated = {one.model for one in debaters}
    families = {family(one.model) for one in (*debaters, *jury.seats)}
    found: list[str] = []
    if len(families) == 1:
        found.append(
            f"{WARN_ONE_FAMILY}: jurors and debaters are all {families.pop()} models, which tend "
            "to make the same mistakes. Name jurors of another family."
        )
    if same := sorted({one.model for one in jury.seats} & debated):
        verbs = "debate and sit" if len(same) > 1 else "debates and sits"
        found.append(
            f"{WARN_JURY_OVERLAP}: {' and '.join(same)} {verbs} on the jury. Name other "
            "models for the jury."
        )
    return found


def _given(
    seat: Participant,
    ring: Sequence[str],
    everyone: Counter[str],
    speaking: Counter[str],
    unlike: str = "",
) -> Participant:
    def rank(model: str) -> tuple[bool, int, int]:
        kind = family(model)
        return kind == family(unlike), everyone[kind], speaking[kind]

    model = min(ring, key=rank)
    everyone[family(model)] += 1
    speaking[family(model)] += 1
    return voiced(seat, model)


def choices(model: str) -> tuple[str, ...]:
    """The models in "first|second", in the order in which they are tried."""
    return tuple(one.strip() for one in model.split(BETWEEN))


def check_choices(models: Sequence[str]) -> None:
    """Refuse choices of which one would never help."""
    if len(models) > MAX_CHOICES:
        raise InputError(
            f"{len(models)} models for one seat are too many; {MAX_CHOICES} is the most.", "model"
        )
    names = list(map(bare, models))
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise InputError(
            f"{twice} is named twice. A second choice speaks if the first cannot: name another.",
            "model",
        )


def only(model: str) -> str:
    """A model where second choices have no place: a report can be asked for again."""
    if BETWEEN in model:
        raise InputError("One model writes a report: name one, without a second choice.", "model")
    return model


def voiced(seat: Participant, model: str) -> Participant:
    """The seat with that "provider:name@effort", and those after a | as its further choices. An
    effort of its own stays if the first names none."""
    first, *others = choices(model)
    name, effort = parted(first)
    return replace(seat, model=name, effort=effort or seat.effort, instead=tuple(others))


def stood_in(seat: Participant, model: str) -> bool:
    """Whether that model, which spoke for the seat, is not its first choice."""
    return model != seat.model and any(_is(model, choice) for choice in seat.choices[1:])


def _is(model: str, choice: str) -> bool:
    """A provider alone is a choice too: which model that is shows when it speaks."""
    return model == choice or (":" not in choice and model.startswith(f"{choice}:"))


def judges(rules: Format) -> set[str]:
    """The roles that give the verdict."""
    stages = [stage for stage in rules.stages if stage.kind == "verdict"]
    return {
        role for stage in stages if isinstance(stage.speakers, tuple) for role in stage.speakers
    }


def priced(card: Card) -> bool:
    """Whether its price is known. Zero is a price: it is free."""
    return card.input_price is not None and card.output_price is not None


def check_prices(
    limits: Limits, seats: Sequence[Participant], cards: Cards, writer: str | None = None
) -> str | None:
    """Refuse a limit on cost that cannot be kept; or, if that is allowed, give a warning.

    `writer` is the model that writes the report.
    """
    if limits.max_cost_usd is None:
        return None
    called = [one for one in seats if not one.is_human]
    unknown = [
        (one.name, model) for one in called for model in one.choices if not priced(cards(model))
    ]
    if writer and not priced(cards(writer)):
        unknown.append(("the report", writer))
    if not unknown:
        return None
    name, model = unknown[0]
    if limits.allow_unpriced:
        models = ", ".join(dict.fromkeys(model for _, model in unknown))
        names = ", ".join(dict.fromkeys(name for name, _ in unknown))
        return (
            f"{WARN_UNPRICED}: the price of {models} is not known, so max_cost_usd does not count "
            f"what it costs ({names})."
        )
    who = "MOOT_REPORT_MODEL lets" if name == "the report" else f"{name} speaks with"
    does = " write the report" if name == "the report" else ""
    raise InputError(
        f"{who} {model}{does}, whose price is not known, so max_cost_usd cannot be kept. Choose a "
        "model with a known price, limit max_total_tokens instead, or allow it: --allow-unpriced "
        "on the command line, allow_unpriced in a request.",
        "limits.max_cost_usd",
    )


def own_writer(debate: Debate, turns: Sequence[Turn], cards: Cards) -> str | None:
    """The model that took part and is to write the report: the host's, otherwise the first
    participant's. None if no model spoke, or only small ones, which tell one side and forget the
    other; or if the format has an outcome, which says what a report would.
    """
    if debate.rules.result is not None:
        return None
    spoke = {turn.actor: turn.model for turn in turns if turn.status == "ok" and turn.model}
    seats = (*filter(None, [debate.host]), *debate.participants)
    models = dict.fromkeys(spoke[seat.id] for seat in seats if spoke.get(seat.id, HUMAN) != HUMAN)
    found = (card for card in map(cards, models) if card.model != UNDERSTUDY and not card.small)
    return next((card.model for card in found), None)


def doubts(
    rules: Format,
    limits: Limits,
    seats: Sequence[Participant],
    host: Participant | None,
    cards: Cards,
    writer: str | None,
) -> list[str]:
    """The warnings about the models that will speak."""
    found = (check_prices(limits, seats, cards, writer), weak_host(rules, host, cards))
    return [warning for warning in found if warning]


def weak_host(rules: Format, host: Participant | None, cards: Cards) -> str | None:
    """A warning, if whoever hands out the floor may not be up to it."""
    if host is None or host.is_human or not any(stage.cued for stage in rules.stages):
        return None
    card = cards(host.model)
    if card.model == UNDERSTUDY:
        who = "the understudy, which is not a model"
    elif card.small:
        who = f"{card.model}, which is a small model"
    else:
        return None
    return (
        f"{WARN_WEAK_HOST}: the host is {who}, and may not lead this debate reliably; "
        "give the host a larger model."
    )


def small(seats: Iterable[Participant], cards: Cards) -> str | None:
    """A warning, if small models take seats: whoever reads what they come to is told."""
    found: dict[str, list[str]] = {}
    for seat in seats:
        for card in map(cards, () if seat.is_human else seat.choices):
            if card.small and card.model != UNDERSTUDY:
                found.setdefault(card.model, []).append(seat.name)
    if not found:
        return None
    who = "; ".join(f"{model} ({', '.join(names)})" for model, names in found.items())
    return f"{WARN_SMALL_MODEL}: Small model: a demo, not advice. {who}."


def caution(warnings: Iterable[str]) -> str | None:
    """What stands above all that small models came to; None if none speaks."""
    found = (text.partition(": ") for text in warnings)
    return next((said for code, _, said in found if code == WARN_SMALL_MODEL), None)


def asked_to_think(debate: Debate) -> list[str]:
    """The models whose seat or stage names an effort. Those that think hard only because they
    decide are not among them."""
    return [
        seat.model
        for leg in legs_of(debate)
        if not leg.stage.past
        for seat in leg.speakers
        if not seat.is_human and (leg.stage.effort or seat.effort or "none") != "none"
    ]


def thoughtless(models: Iterable[str], cards: Cards) -> str | None:
    """A warning, if one of the models that are asked to think cannot."""
    unable = sorted({model for model in models if cards(model).least is None})
    if not unable:
        return None
    return (
        f"{WARN_NO_THINKING}: {', '.join(unable)} cannot think before speaking, so an effort makes "
        "no difference there."
    )


def untold(models: Iterable[str], cards: Cards) -> str | None:
    """A warning, if one of the models that are asked to think cannot be told how hard."""
    known = {model: cards(model) for model in models}
    deaf = sorted(model for model, card in known.items() if card.least and not card.steered)
    if not deaf:
        return None
    return (
        f"{WARN_EFFORT_UNTOLD}: moot cannot tell {', '.join(deaf)} how hard to think, so an effort "
        "only allows more tokens and seconds there."
    )
