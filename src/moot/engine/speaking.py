"""Speaks one step: its prompt, the call, what listeners hear of it, and the answer."""

import asyncio
import logging
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from moot.core import answers, echo, limits, moves, prices, prompts, quoting, schedule
from moot.core.change import Attempt, Change, Ended, FencedError
from moot.core.clean import clean, visible
from moot.core.debate import Debate, Participant, StepKey, Turn, Usage
from moot.core.events import Delta, Speech
from moot.core.limits import WHOLE, Estimate
from moot.core.prompts import Heard, Message
from moot.core.retry import MAX_RETRIES
from moot.core.schedule import Said, Step
from moot.core.times import iso
from moot.core.voices import UNDERSTUDY
from moot.engine.calls import Patience, used
from moot.engine.filling import choices_of
from moot.engine.lease import Hand
from moot.errors import (
    ProviderAbsentError,
    ProviderEchoError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderQuoteError,
    ProviderShapeError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from moot.ports.debate_store import Store
from moot.ports.event_bus import Bus
from moot.ports.instruments import Clock
from moot.ports.model_call import Call, ModelCard, Reply, Say, Speaker

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0
"""A speaker keeps its own deadline; one that does not is cut off this much later."""


@dataclass
class Run:
    """What is known of a debate while this worker has it in hand."""

    hand: Hand
    debate: Debate
    heard: Heard
    begun: tuple[Attempt, ...] = ()  # calls of the next wave that are on record already
    spent: dict[StepKey, Usage] = field(default_factory=dict[StepKey, Usage])
    repairs: dict[StepKey, ProviderError] = field(default_factory=dict[StepKey, ProviderError])
    mended: set[StepKey] = field(default_factory=set[StepKey])  # that were told what is wrong
    windows: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Those that proved smaller, by seat and model."""
    widened: set[StepKey] = field(default_factory=set[StepKey])  # that were cut: they get more room
    kept: dict[StepKey, Reply] = field(default_factory=dict[StepKey, Reply])
    """Answers whose quotes failed, with these marked: they stand if no better one comes."""
    wait: float = 0.0  # before the next try
    cut: dict[StepKey, Speech] = field(default_factory=dict[StepKey, Speech])
    """What listeners hear of steps between two tries."""
    said: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])

    @classmethod
    def of(cls, hand: Hand, claimed: Change, heard: Heard) -> "Run":
        return cls(hand, claimed.debate, heard, claimed.started)

    def tokens(self, step: Step, window: int) -> int:
        """The tokens that a step's answer may take, its thoughts aside."""
        own = prompts.tokens_of(step, self.debate, window)
        return own * limits.WIDER if step.key in self.widened else own

    def forget(self) -> None:
        """Another wave comes next than the one that was tried."""
        self.spent.clear()
        self.repairs.clear()
        self.mended.clear()
        self.widened.clear()
        self.kept.clear()
        self.wait = 0.0

    def told(self, key: StepKey) -> None:
        """A step is over, or another model speaks it: what went wrong before is of no concern."""
        self.repairs.pop(key, None)
        self.mended.discard(key)
        self.widened.discard(key)
        self.kept.pop(key, None)

    def answers_beside(self, step: Step, data: dict[str, object] | None) -> Said:
        """The answers of a step's round, its own among them, if its stage may end in agreement.

        Those that are being committed at the same time are added as they come.
        """
        if not any(stage.until and stage.name == step.stage for stage in self.debate.rules.stages):
            return {}
        if step.round not in self.said:
            self.said[step.round] = schedule.answers_in(self.heard.turns, step.round)
        if data is not None and step.kind != "cue":
            self.said[step.round][step.actor] = data
        return self.said[step.round]


class Voice:
    """Gives each step its voice. Raises ProviderError if the answer cannot stand."""

    def __init__(self, store: Store, speaker: Speaker, bus: Bus, clock: Clock) -> None:
        self._store = store
        self._speaker = speaker
        self._bus = bus
        self._clock = clock

    @contextmanager
    def speech(self, run: Run, step: Step) -> Generator[Speech]:
        """What listeners hear of a step, until its turn is committed or dropped. Of one that is
        tried again, they hear until then that it was cut off."""
        asked = step.instruction if step.kind == "cue" else None
        before = run.cut.pop(step.key, None)
        if before:
            self._bus.cease(before)
        speech = Speech(
            run.debate.id, step.round, step.stage, step.actor, step.target, [], asked,
            before.cut_off if before else None,
        )  # fmt: skip
        self._bus.begin(speech)
        try:
            yield speech
        finally:
            if step.key not in run.cut:
                self._bus.cease(speech)

    async def speak(self, run: Run, attempt: Attempt, speech: Speech) -> Reply:
        """The answer of a step, cleaned and checked."""
        try:
            return await self._speak(run, attempt, speech)
        except ProviderError:
            raise
        except BaseException:
            self.withdraw(speech)
            raise

    def withdraw(self, speech: Speech) -> None:
        """What was heard of a step will not stand, and nothing takes its place."""
        heard = speech.pieces or speech.cut_off
        if heard and self._bus.listened(speech.debate_id):
            self._bus.publish(self._delta(speech, "", 0))

    def cut_off(self, run: Run, step: Step, speech: Speech, code: str, attempt: int) -> None:
        """What was heard of a step will not stand, but it is tried again."""
        lost = run.cut[step.key] = speech.lost(code, attempt, MAX_RETRIES + 1)
        self._bus.cease(speech)
        self._bus.begin(lost)
        if self._bus.listened(lost.debate_id):
            self._bus.publish(lost.so_far(iso(self._clock.now())))

    def hush(self, run: Run) -> None:
        """Nobody here tries again what was cut off. Somebody else may, as long as the debate goes
        on."""
        for speech in run.cut.values():
            if run.hand.lost or run.debate.status != "running":
                self.withdraw(speech)
            self._bus.cease(speech)
        run.cut.clear()

    async def _speak(self, run: Run, attempt: Attempt, speech: Speech) -> Reply:
        debate, step = run.debate, attempt.step
        seat = debate.seat(step.actor)
        card = self._speaker.card(attempt.model)
        given = choices_of(step, debate, run.heard.turns)
        messages, heard = self._prompt(run, step)
        wrong = run.repairs.get(step.key)
        seconds = limits.silence(step.seconds, debate.limits)
        call = Call(
            model=attempt.model,
            messages=messages,
            max_tokens=run.tokens(step, self._window(run, step)),
            seconds=seconds,
            longest=seconds * WHOLE * limits.WIDER if step.key in run.widened else None,
            debate=debate,
            step=step,
            heard=heard,
            schema=prompts.schema(step, debate, given, run.heard.turns),
            effort=step.effort,
            again=wrong is not None,
        )
        if (speech.instruction or speech.cut_off) and self._bus.listened(debate.id):
            # readers are told what the host is asked, and that it is tried again, before a word
            self._bus.publish(speech.so_far(iso(self._clock.now())))
        reply = await self._call_out(run, attempt, call, speech)
        try:
            _check_voice(run, seat, attempt.model, reply)
            return self._read(run, step, reply, small=card.small, again=wrong is not None)
        except ProviderError:
            raise
        except Exception as error:  # whatever a model says, it must not end the worker
            name = type(error).__name__
            log.error("an answer of %s could not be read: %s", reply.model, name)
            raise ProviderInvalidError(
                f"{seat.name} ({reply.model}) gave an answer that cannot be read ({name}).",
                **used(reply.usage),
            ) from None

    def _prompt(self, run: Run, step: Step) -> tuple[tuple[Message, ...], tuple[Turn, ...]]:
        window = self._window(run, step)
        room, wrong = run.tokens(step, window), run.repairs.get(step.key)
        return _prompt(step, run.debate, run.heard, window, room, wrong)

    def _window(self, run: Run, step: Step) -> int:
        """The tokens that prompt and answer may take together, beside what the model thinks."""
        model = run.debate.voice(step.key)
        card = self._speaker.card(model)
        thinking = limits.thinking(step.effort, card.least, card.window)
        return run.windows.get((step.actor, model), card.window - thinking.tokens)

    async def _call_out(self, run: Run, attempt: Attempt, call: Call, speech: Speech) -> Reply:
        """The call itself: bounded in time, and called off when the debate is lost."""
        task, hand = asyncio.current_task(), run.hand
        if task is None:
            raise RuntimeError("a call is made from a task")
        flight = hand.enter(task, math.inf)

        def tell(until: float) -> None:
            flight.until = until

        patience = Patience(call, GRACE_SECONDS, tell)
        say = self._say(speech)

        def hear(piece: str) -> None:
            patience.allow(call.seconds)
            say(piece)

        try:
            return await self._speaker.speak(replace(call, allow=patience.allow), hear)
        except asyncio.CancelledError:
            if flight.overdue or hand.lost:
                task.uncancel()
            if flight.overdue:
                guess = self._guess(call, speech)
                raise ProviderTimeoutError(patience.late(), **used(guess)) from None
            await asyncio.shield(self._called_off(run, attempt, call, speech))
            if hand.lost:
                raise FencedError(f"{run.debate.id} was called off") from None
            raise
        except ProviderError:
            raise
        except Exception as error:  # a speaker's own mistake must not end the worker
            name = type(error).__name__  # and its words may hold what nobody should read
            log.error("the speaker for %s failed: %s", call.model, name)
            guess = self._guess(call, speech)  # it may have been made
            raise ProviderInvalidError(
                f"{call.model} could not be called ({name}).", **used(guess)
            ) from None
        finally:
            hand.leave(task)

    async def _called_off(self, run: Run, attempt: Attempt, call: Call, speech: Speech) -> None:
        """Count what a cancelled call used, as far as one can tell."""
        usage = self._guess(call, speech)
        ended = Ended(attempt.n, "cancelled", iso(self._clock.now()), usage=usage)
        await self._store.change(
            run.debate.id, lambda row: moves.settle(row, run.hand.fence, ended)
        )

    def _guess(self, call: Call, speech: Speech) -> Usage:
        return call.guess(self._speaker.card(call.model), "".join(speech.pieces))

    def _say(self, speech: Speech) -> Say:
        said = 0

        def say(piece: str) -> None:
            nonlocal said
            speech.pieces.append(piece)
            if self._bus.listened(speech.debate_id):
                self._bus.publish(self._delta(speech, piece, said))
            said += len(piece)

        return say

    def _delta(self, speech: Speech, text: str, offset: int) -> Delta:
        at = iso(self._clock.now())
        return Delta(
            speech.debate_id, speech.round, speech.stage, speech.actor, speech.target, text, at,
            offset,
        )  # fmt: skip

    def _read(self, run: Run, step: Step, reply: Reply, *, small: bool, again: bool) -> Reply:
        """What is kept of an answer. A small model may say what was said before, and is asked once
        `again`; less is expected of it."""
        debate, seat = run.debate, run.debate.seat(step.actor)
        if step.answer != "text":
            shaped = _shaped(step, reply, debate, run.heard.turns, small=small)
            return self._quoted(run, step, shaped, reply)
        others = [other.name for other in debate.seats if other.id != seat.id]
        text = clean(reply.text, seat.name, others, cut=reply.cut)
        if not text:
            raise ProviderEmptyError(
                f"{seat.name} ({reply.model}) gave an empty answer.", **used(reply.usage)
            )
        echoes = small and not again and step.kind == "speech"
        if echoes and echo.repeats(text, debate.motion, run.heard.turns):
            raise ProviderEchoError(
                f"{seat.name} ({reply.model}) said what was said before.", **used(reply.usage)
            )
        return self._quoted(run, step, replace(reply, text=text), reply)

    def _quoted(self, run: Run, step: Step, read: Reply, reply: Reply) -> Reply:
        """An answer with each quote checked. Those that fail are shown to the speaker once, if
        there is room for another call; after that they are marked, and the answer stands."""
        debate = run.debate
        if not debate.rules.checks_quotes:
            return read
        if read.data is None and not quoting.may_quote(read.text):
            return read
        given = choices_of(step, debate, run.heard.turns)
        shelf = prompts.shelf(step, debate, run.heard.turns, given)
        found = shelf.checked(read.text if read.data is None else read.data)
        if read.data is None:
            marked = replace(read, text=found.value)
        else:
            spoken = answers.spoken(prompts.shape(step, debate), found.value)
            marked = replace(read, data=found.value, text=clean(spoken, "", ()))
        if not found.failed or step.key in run.kept or reply.cut:
            return marked
        if not self._affords(run, step, reply):
            return marked
        run.kept[step.key] = marked
        name = debate.seat(step.actor).name
        problem = quoting.problem(found.failed)
        raise ProviderQuoteError(
            f"{name} ({reply.model}) gave a quote that is not word for word.",
            said=reply.text,
            problem=problem,
            **used(reply.usage),
        )

    def _affords(self, run: Run, step: Step, reply: Reply) -> bool:
        """Whether one more call of a step takes nothing from those that are to follow."""
        if run.debate.tried(step.key).calls >= MAX_RETRIES:
            return False
        if not limits.bounded(run.debate.limits):
            return True
        again = self.estimate(run, step, run.debate, 0)
        ahead = sum((again,) * 3, limits.NOTHING)
        return limits.fits(run.debate.usage + reply.usage, run.debate.limits, ahead)

    def estimate(self, run: Run, step: Step, debate: Debate, more: int) -> Estimate:
        """What a step may take at the most: a model that can think may use all that its effort
        allows. The step may be of the debate as it would be otherwise, and read `more` tokens. Of
        the models that may still speak it, the dearest counts."""
        wider, wrong = step.key in run.widened, run.repairs.get(step.key)
        seat, now = debate.seat(step.actor), debate.tried(step.key).choice

        def of(choice: int) -> Estimate:
            model, effort = seat.choices[choice], seat.effort_of(choice, step.effort)
            card, window = self._speaker.card(model), run.windows.get((step.actor, model))
            return most(
                replace(step, effort=effort), debate, run.heard, card, more,
                window=window, wider=wider, wrong=wrong,
            )  # fmt: skip

        return limits.dearest(of(choice) for choice in range(now, len(seat.choices)))

    def priced(self, seat: Participant, model: str) -> Participant:
        """The seat, once that model speaks for it: its price may not be known."""
        return prices.marked(seat, self._speaker.card, model)

    def shrink(self, run: Run, step: Step) -> None:
        """The next prompt of this seat is half as long: its model's window proved smaller."""
        place, window = (step.actor, run.debate.voice(step.key)), self._window(run, step)
        messages, _ = self._prompt(run, step)
        run.windows[place] = min(window, prompts.size(messages)) // 2


def most(
    step: Step,
    debate: Debate,
    heard: Heard,
    card: ModelCard,
    more: int = 0,
    *,
    window: int | None = None,
    wider: bool = False,
    wrong: ProviderError | None = None,
) -> Estimate:
    """What a step may take at the most, if it reads `more` tokens than were said. Budgets are
    checked with it when a debate is made and before each of its calls.

    When it is tried again, its model's `window` may have proved smaller than the card says; if it
    was cut, it has `wider` room; and it is told what was `wrong`.
    """
    thinking = limits.thinking(step.effort, card.least, card.window)
    window = card.window - thinking.tokens if window is None else window
    tokens = prompts.tokens_of(step, debate, window) * (limits.WIDER if wider else 1)
    messages, _ = _prompt(step, debate, heard, window, tokens, wrong)
    asked, told = prompts.size(messages) + more, tokens + thinking.tokens
    cost = asked * (card.input_price or 0.0) + told * (card.output_price or 0.0)
    return Estimate(asked + told, cost)


def _prompt(
    step: Step, debate: Debate, heard: Heard, window: int, tokens: int, wrong: ProviderError | None
) -> tuple[tuple[Message, ...], tuple[Turn, ...]]:
    """What a step is told, as far as it fits beside its answer and what its model thinks; then its
    last answer and what is wrong with it, if that had not its shape or a quote failed."""
    given = choices_of(step, debate, heard.turns)
    messages, read = prompts.render(step, debate, heard, window, given, tokens)
    if isinstance(wrong, ProviderShapeError):
        messages = prompts.repair(messages, wrong.said, wrong.problem)
    elif isinstance(wrong, ProviderQuoteError):
        shaped = step.answer != "text"
        messages = prompts.requote(messages, wrong.said, wrong.problem, shaped=shaped)
    return messages, read


def _shaped(
    step: Step, reply: Reply, debate: Debate, turns: Sequence[Turn], *, small: bool = False
) -> Reply:
    """A structured answer, found, checked, and put into words."""
    name, shape = debate.seat(step.actor).name, prompts.shape(step, debate)
    try:
        found = reply.data if reply.data is not None else answers.find(reply.text)
        given = choices_of(step, debate, turns)
        data = prompts.read(step, debate, _stated(visible(found)), given, turns, small=small)
    except ValueError as error:
        problem = f"{error}{'; it was cut by the token limit' if reply.cut else ''}"
        raise ProviderShapeError(
            f"{name} ({reply.model}) did not give the answer its shape: {problem}.",
            said=reply.text,
            problem=problem,
            cut=reply.cut,
            **used(reply.usage),
        ) from None
    return replace(reply, data=data, text=clean(answers.spoken(shape, data), "", ()))


def _stated(value: Any) -> Any:
    """Without the fields that are null: where a field may not be left out, that is how a model
    leaves it out."""
    if isinstance(value, list):
        return [_stated(one) for one in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    given = cast("Mapping[str, Any]", value)
    return {key: _stated(one) for key, one in given.items() if one is not None}


def _check_voice(run: Run, seat: Participant, asked: str, reply: Reply) -> None:
    """The understudy does not step in for a model that has spoken, because its server is gone; nor
    for one that failed, unless it is asked for by its name."""
    if reply.model != UNDERSTUDY or asked == UNDERSTUDY:
        return
    if asked != seat.model:
        raise ProviderAbsentError(
            f"There is no local model to speak for {seat.name}. Start a server, or fetch a model "
            "with `moot model fetch`, then restart the speaker."
        )
    voices = {turn.model for turn in run.heard.turns if turn.actor == seat.id and turn.text}
    if any(one.startswith("local:") for one in voices - {UNDERSTUDY}):  # others had the seat before
        raise ProviderUnavailableError(
            f"The local server that spoke for {seat.name} is gone. Start it again, or set "
            "MOOT_LOCAL_BASE_URL, then restart the speaker."
        )
