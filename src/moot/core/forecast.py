"""What a debate is likely to take, before a word is said: calls, tokens, seconds and money.

A pure function of the debate's plan and of the cards of its models. `low` and `likely` rest on
these assumptions, `high` on the limits alone:

- A prompt is what moot would send now, with the turns before it that its step may see: prompts grow
  with the transcript, until the model's window is full. A token is 3 bytes of text in `high`, as in
  the check of a budget, and nearer to 4 in `likely` and `low`.
- A turn may be as long as its limit of tokens. It is asked for a third of that in words, or for a
  little more as JSON, so a speech likely takes 0.4 of its limit and an answer with a shape 0.5; a
  cue is asked for 60 words.
- A model that thinks before a turn likely uses 0.15 of the tokens that the effort allows.
- `low` leaves out the rounds of a stage that ends sooner if all agree and, with the depth `auto`,
  all that follows if two seats agree alone.
- A vendor's model says 60 tokens a second, one on this machine 12; `high` is the time limits.
- A seat with several choices is counted with the dearest of them, in every turn.
- Calls that fail and are made again come on top, and what a vendor takes off for prompts that it
  has cached is not taken off. A limit on cost is a limit here too.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from moot.core import limits, prompts, schedule
from moot.core.debate import Debate
from moot.core.format import Effort
from moot.core.legs import legs_of
from moot.core.prompts import Heard
from moot.core.schedule import Step
from moot.core.voices import UNDERSTUDY

_LABEL = 12  # tokens that name the speaker of a turn and mark it as quoted
_CUE = (40, 80)  # tokens of a cue, low and likely
_TEXT = (0.15, 0.4)  # shares of the limit
_SHAPED = (0.25, 0.5)
_THOUGHT = (0.02, 0.15)
_ASKED = (0.7, 0.8, 1.0)  # tokens of a prompt, as shares of what a budget counts
_PACE = {False: ((0.5, 150.0), (2.0, 60.0)), True: ((0.2, 60.0), (1.0, 12.0))}
"""Seconds before the first word, and tokens a second: low and likely, elsewhere and here."""


class Card(Protocol):
    """What is known of a model before it is called."""

    @property
    def model(self) -> str: ...

    @property
    def window(self) -> int: ...

    @property
    def input_price(self) -> float | None: ...

    @property
    def output_price(self) -> float | None: ...

    @property
    def least(self) -> Effort | None: ...

    @property
    def local(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Counts:
    """A number of tokens."""

    low: int
    likely: int
    high: int

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.low + other.low, self.likely + other.likely, self.high + other.high)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Money or seconds."""

    low: float
    likely: float
    high: float

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(self.low + other.low, self.likely + other.likely, self.high + other.high)


@dataclass(frozen=True, slots=True)
class ModelForecast:
    """What one model is likely to take."""

    model: str  # "provider:name", as it will be called
    seats: tuple[str, ...]  # the names of those for whom it speaks
    calls: int
    input_tokens: Counts
    output_tokens: Counts  # thoughts among them
    cost_usd: Amounts | None  # None: nobody published its price
    local: bool  # it runs on this machine, and costs nothing


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a debate is likely to take."""

    calls: int  # if none fails
    input_tokens: Counts
    output_tokens: Counts
    cost_usd: Amounts | None  # None: the price of one of its models is not known
    seconds: Amounts
    models: tuple[ModelForecast, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """What it takes to carry the sources through a debate."""

    input_tokens: Counts
    cost_usd: Amounts | None  # None: the price of one of its models is not known


def carried(whole: Forecast, without: Forecast) -> Carried:
    """What of a forecast is for the sources."""
    asked, less = whole.input_tokens, without.input_tokens
    tokens = Counts(asked.low - less.low, asked.likely - less.likely, asked.high - less.high)
    if whole.cost_usd is None or without.cost_usd is None:
        return Carried(tokens, None)
    cost, other = whole.cost_usd, without.cost_usd
    pairs = ((cost.low, other.low), (cost.likely, other.likely), (cost.high, other.high))
    return Carried(tokens, Amounts(*(round(max(one - two, 0.0), 6) for one, two in pairs)))


_NONE = Counts(0, 0, 0)
_NOTHING = Amounts(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Call:
    """What a call is likely to take."""

    step: Step
    card: Card
    asked: Counts
    said: Counts
    thought: Counts
    seconds: Amounts


def forecast(debate: Debate, cards: Callable[[str], Card]) -> Forecast:
    """What a debate is likely to take from its beginning, wherever it stands."""
    told = _Transcript(debate)
    calls: list[_Call] = []
    seconds = _NOTHING
    for steps in schedule.waves(debate):
        wave = schedule.by_models(debate, steps)  # a person's turn costs nothing, and takes as
        if not wave:  # long as it takes
            continue
        spoken = [_call(debate, step, _dearest(debate, step, cards), told) for step in wave]
        told.add(spoken)
        calls += spoken
        seconds += _slowest(one.seconds for one in spoken)
    models = tuple(_summed(debate, model, calls) for model in _models(calls))
    return Forecast(
        len(calls),
        sum((one.input_tokens for one in models), _NONE),
        sum((one.output_tokens for one in models), _NONE),
        _total(debate, models),
        Amounts(*(round(value, 1) for value in (seconds.low, seconds.likely, seconds.high))),
        models,
    )


def _dearest(debate: Debate, step: Step, cards: Callable[[str], Card]) -> Card:
    """The model that a step is counted with: of its seat's choices, the one that costs most. One
    whose price nobody published may cost more than any."""

    def price(card: Card) -> tuple[bool, float]:
        each, every = card.input_price, card.output_price
        return each is None or every is None, (each or 0.0) + (every or 0.0)

    return max(map(cards, debate.seat(step.actor).choices), key=price)


class _Transcript:
    """How many tokens were said before a step, and what it is told beside them."""

    def __init__(self, debate: Debate) -> None:
        self._debate = debate
        self._all, self._own = _NONE, dict[str, Counts]()
        self._apart = _NONE  # what two seats say before the debate, which nobody else reads
        self._prelude = next((one.name for one in debate.rules.stages if one.prelude), None)
        self._bare: dict[tuple[str, str, str, str | None, str | None], int] = {}
        self._once = {leg.stage.name: leg.first_round for leg in legs_of(debate) if leg.stage.until}
        past = sum(leg.turns for leg in legs_of(debate) if leg.stage.past)
        most = debate.limits.max_turn_tokens
        for _ in range(past):
            self._all += _said(_shares(_TEXT, most))

    def seen(self, step: Step) -> Counts:
        """What the step may see of what was said."""
        if step.sees == "none" or step.reading == "alone":
            return _NONE
        if step.stage in self._debate.rules.unheard:
            return self._apart
        return self._own.get(step.actor, _NONE) if step.sees == "own" else self._all

    def bare(self, step: Step, window: int) -> int:
        """Its prompt before anybody has spoken, as a budget counts it."""
        key = (step.stage, step.actor, step.kind, step.target, step.reading)
        if key not in self._bare:
            messages, _ = prompts.render(step, self._debate, Heard(), window)
            self._bare[key] = prompts.size(messages)
        return self._bare[key]

    def lasts(self, step: Step) -> bool:
        """Whether the step is asked for even if all agree at once."""
        screen = self._debate.rules.screen
        if screen and step.stage != screen.stages[0]:
            return step.stage == self._prelude
        return step.round <= self._once.get(step.stage, step.round)

    def add(self, calls: Iterable[_Call]) -> None:
        for one in calls:
            if one.step.reading == "alone":
                continue
            said = _said(one.said)
            if one.step.stage in self._debate.rules.unheard:
                self._apart += said
                continue
            self._all += said
            self._own[one.step.actor] = self._own.get(one.step.actor, _NONE) + said


def _call(debate: Debate, step: Step, card: Card, told: _Transcript) -> _Call:
    if card.model == UNDERSTUDY:
        return _Call(step, card, _NONE, _NONE, _NONE, _NOTHING)
    thinking = limits.thinking(step.effort, card.least, card.window)
    window = card.window - thinking.tokens
    most = prompts.tokens_of(step, debate, window)
    said = _shares(_TEXT if step.answer == "text" else _SHAPED, most)
    if step.kind == "cue":
        said = Counts(min(_CUE[0], most), min(_CUE[1], most), most)
    bare, seen = told.bare(step, window), told.seen(step)
    room = max(window - most - bare, 0)
    asked = Counts(
        *(
            round(bare * share) + min(heard, room)
            for share, heard in zip(_ASKED, (seen.low, seen.likely, seen.high), strict=True)
        )
    )
    thought = _shares(_THOUGHT, thinking.tokens)
    pace = _PACE[card.local]
    spoken = (said.low + thought.low, said.likely + thought.likely)
    low, likely = (wait + tokens / each for (wait, each), tokens in zip(pace, spoken, strict=True))
    whole = limits.silence(step.seconds, debate.limits) * limits.WHOLE + thinking.seconds
    call = _Call(step, card, asked, said, thought, Amounts(low, min(likely, whole), whole))
    if told.lasts(step):
        return call
    unasked = {name: replace(getattr(call, name), low=0) for name in ("asked", "said", "thought")}
    return replace(call, seconds=replace(call.seconds, low=0.0), **unasked)


def _shares(shares: tuple[float, float], most: int) -> Counts:
    return Counts(round(most * shares[0]), round(most * shares[1]), most)


def _said(counts: Counts) -> Counts:
    """What was said, as it is read by others."""
    return counts + Counts(*([_LABEL] * 3)) if counts.high else counts


def _slowest(seconds: Iterable[Amounts]) -> Amounts:
    """Those of a wave speak at the same time."""
    all_ = list(seconds)
    return Amounts(
        max(one.low for one in all_), max(one.likely for one in all_), max(one.high for one in all_)
    )


def _models(calls: Iterable[_Call]) -> list[str]:
    return list(dict.fromkeys(one.card.model for one in calls))


def _summed(debate: Debate, model: str, calls: Iterable[_Call]) -> ModelForecast:
    own = [one for one in calls if one.card.model == model]
    asked = sum((one.asked for one in own), _NONE)
    told = sum((one.said + one.thought for one in own), _NONE)
    names = dict.fromkeys(debate.seat(one.step.actor).name for one in own)
    card = own[0].card
    price = _price(card, asked, told)
    return ModelForecast(model, tuple(names), len(own), asked, told, price, card.local)


def _price(card: Card, asked: Counts, told: Counts) -> Amounts | None:
    each, every = card.input_price, card.output_price
    if each is None or every is None:
        return None
    pairs = ((asked.low, told.low), (asked.likely, told.likely), (asked.high, told.high))
    return Amounts(*(round(one * each + other * every, 6) for one, other in pairs))


def _total(debate: Debate, models: Iterable[ModelForecast]) -> Amounts | None:
    """The sum; a debate with a limit on cost does not exceed it."""
    whole = _NOTHING
    for one in models:
        if one.cost_usd is None:
            return None
        whole += one.cost_usd
    most = debate.limits.max_cost_usd
    amounts = (whole.low, whole.likely, whole.high)
    return Amounts(*(round(min(one, most) if most is not None else one, 6) for one in amounts))
