"""Speaks one step: its prompt, the call, what listeners hear of it, and the answer."""

import asyncio
import logging
import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from moot.core import answers, echo, limits, moves, prompts, schedule
from moot.core.change import Attempt, Change, Ended, FencedError
from moot.core.clean import clean, visible
from moot.core.debate import Debate, Participant, StepKey, Turn, Usage
from moot.core.events import Delta, Speech
from moot.core.limits import Estimate
from moot.core.prompts import Heard
from moot.core.schedule import Said, Step
from moot.core.times import iso
from moot.core.voices import UNDERSTUDY
from moot.engine.calls import Patience, used
from moot.engine.lease import Hand
from moot.errors import (
    ProviderEchoError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderShapeError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from moot.outcome.stands import stated
from moot.ports import Bus, Call, Clock, Reply, Say, Speaker, Store

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
    tries: dict[StepKey, int] = field(default_factory=dict[StepKey, int])
    spent: dict[StepKey, Usage] = field(default_factory=dict[StepKey, Usage])
    repairs: dict[StepKey, ProviderError] = field(default_factory=dict[StepKey, ProviderError])
    windows: dict[str, int] = field(default_factory=dict[str, int])  # that proved smaller, by seat
    wait: float = 0.0  # before the next try
    said: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])

    @classmethod
    def of(cls, hand: Hand, claimed: Change, heard: Heard) -> "Run":
        debate = claimed.debate
        return cls(hand, debate, heard, claimed.started, dict(debate.tries))

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
    def speech(self, debate_id: str, step: Step) -> Generator[Speech]:
        """What listeners hear of a step, until its turn is committed or dropped."""
        asked = step.instruction if step.kind == "cue" else None
        speech = Speech(debate_id, step.round, step.stage, step.actor, step.target, [], asked)
        self._bus.begin(speech)
        try:
            yield speech
        finally:
            self._bus.cease(speech)

    async def speak(self, run: Run, attempt: Attempt, speech: Speech) -> Reply:
        """The answer of a step, cleaned and checked."""
        try:
            return await self._speak(run, attempt, speech)
        except BaseException:
            # what was heard of it will not stand: whoever listens begins it anew
            if speech.pieces and self._bus.listened(speech.debate_id):
                self._bus.publish(self._delta(speech, "", 0))
            raise

    async def _speak(self, run: Run, attempt: Attempt, speech: Speech) -> Reply:
        debate, step = run.debate, attempt.step
        seat = debate.seat(step.actor)
        card = self._speaker.card(seat.model)
        window = run.windows.get(seat.id, card.window)
        messages, heard = prompts.render(step, debate, run.heard, window)
        wrong = run.repairs.get(step.key)
        if isinstance(wrong, ProviderShapeError):
            messages = prompts.repair(messages, wrong.said, wrong.problem)
        call = Call(
            model=seat.model,
            messages=messages,
            max_tokens=step.tokens or debate.limits.max_turn_tokens,
            seconds=step.seconds or debate.limits.max_turn_seconds,
            debate=debate,
            step=step,
            heard=heard,
            schema=prompts.schema(step, debate, _options(step, debate, run.heard.turns)),
            effort=step.effort,
            again=wrong is not None,
        )
        if speech.instruction and self._bus.listened(debate.id):
            # readers are told what the host is asked, before it says a word
            self._bus.publish(speech.so_far(iso(self._clock.now())))
        reply = await self._call_out(run, attempt, call, speech)
        try:
            return self._read(run, step, reply, echoes=card.small and wrong is None)
        except ProviderError:
            raise
        except Exception as error:  # whatever a model says, it must not end the worker
            name = type(error).__name__
            log.error("an answer of %s could not be read: %s", reply.model, name)
            raise ProviderInvalidError(
                f"{seat.name} ({reply.model}) gave an answer that cannot be read ({name}).",
                **used(reply.usage),
            ) from None

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

    def _read(self, run: Run, step: Step, reply: Reply, *, echoes: bool) -> Reply:
        """What is kept of an answer; `echoes`: it may be one of what was said before."""
        debate, seat = run.debate, run.debate.seat(step.actor)
        _check_voice(run, seat, reply)
        if step.answer != "text":
            return _shaped(step, reply, debate, run.heard.turns)
        others = [other.name for other in debate.seats if other.id != seat.id]
        text = clean(reply.text, seat.name, others, cut=reply.cut)
        if not text:
            raise ProviderEmptyError(
                f"{seat.name} ({reply.model}) gave an empty answer.", **used(reply.usage)
            )
        if echoes and step.kind == "speech" and echo.repeats(text, debate.motion, run.heard.turns):
            raise ProviderEchoError(
                f"{seat.name} ({reply.model}) said what was said before.", **used(reply.usage)
            )
        return replace(reply, text=text)

    def estimate(self, run: Run, step: Step) -> Estimate:
        """What a step may take at the most. Any model may think as long as its effort allows."""
        card = self._speaker.card(run.debate.seat(step.actor).model)
        messages, _ = prompts.render(step, run.debate, run.heard, card.window)
        tokens_in = prompts.size(messages)
        thinking = limits.THINKING.get(step.effort or "none", limits.NO_THINKING)
        tokens_out = (step.tokens or run.debate.limits.max_turn_tokens) + thinking.tokens
        cost = tokens_in * (card.input_price or 0.0) + tokens_out * (card.output_price or 0.0)
        return Estimate(tokens_in + tokens_out, cost)

    def shrink(self, run: Run, step: Step) -> None:
        """The next prompt of this seat is half as long: its model's window proved smaller."""
        seat = run.debate.seat(step.actor)
        window = run.windows.get(seat.id, self._speaker.card(seat.model).window)
        messages, _ = prompts.render(step, run.debate, run.heard, window)
        run.windows[seat.id] = min(window, prompts.size(messages)) // 2


def _shaped(step: Step, reply: Reply, debate: Debate, turns: Sequence[Turn]) -> Reply:
    """A structured answer, found, checked, and put into words."""
    name, shape = debate.seat(step.actor).name, debate.rules.shape(step.answer)
    try:
        found = reply.data if reply.data is not None else answers.find(reply.text)
        known = prompts.known(step, debate, _options(step, debate, turns))
        data = answers.read(step.answer, shape, visible(found), known)
        option = data.get("position")
        if isinstance(option, str) and option in {seat.name for seat in debate.seats}:
            raise ValueError("position: that is a role; it must be an answer to the problem")
    except ValueError as error:
        problem = f"{error}{'; it was cut by the token limit' if reply.cut else ''}"
        raise ProviderShapeError(
            f"{name} ({reply.model}) did not give the answer its shape: {problem}.",
            said=reply.text,
            problem=problem,
            **used(reply.usage),
        ) from None
    return replace(reply, data=data, text=clean(answers.spoken(shape, data), "", ()))


def _check_voice(run: Run, seat: Participant, reply: Reply) -> None:
    """The understudy does not step in for a model that has spoken: its server is gone."""
    if reply.model != UNDERSTUDY or seat.model == UNDERSTUDY:
        return
    voices = {turn.model for turn in run.heard.turns if turn.actor == seat.id and turn.text}
    if voices - {UNDERSTUDY}:
        raise ProviderUnavailableError(
            f"The local server that spoke for {seat.name} is gone. Start it again, or set "
            "MOOT_LOCAL_BASE_URL, then restart the speaker."
        )


def _options(step: Step, debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """The options that a step chooses from, if it is a choice."""
    if step.answer == "text" or not any(debate.rules.shape(step.answer).options_from()):
        return []
    return stated(debate.rules, turns)
