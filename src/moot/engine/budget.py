"""What a budget has room for: the next wave, a part of it, or the shortest way to the outcome."""

from collections.abc import Sequence

from moot.core import ladder, limits, schedule
from moot.core.debate import Debate
from moot.core.ladder import Way
from moot.core.limits import Estimate
from moot.core.schedule import Finish, Step, Wave
from moot.engine.speaking import Run, Voice
from moot.outcome.stands import final_stands


class Purse:
    """The budget of a debate, looked at before a wave."""

    def __init__(self, run: Run, voice: Voice) -> None:
        self._run = run
        self._debate = run.debate
        self._voice = voice

    def look(self, ahead: Wave) -> Wave | Way | None:
        """What of a wave may be spoken. If nothing of it, the way on to the outcome; None if there
        is nothing to decide on, or no outcome to come to: then the debate closes."""
        if not self._decides:
            return ahead if self._fits_before_closing(ahead) else None
        decidable = self._decidable
        stage = self._debate.rules.stage(ahead.steps[0].stage)
        if stage.speakers == "jury" and self._debate.cursor.done:
            fitting = self._jurors(ahead)
        else:
            fitting = ahead if self._fits_whole(ahead, decidable=decidable) else None
        if fitting or not decidable:
            return fitting
        return ladder.way_on(self._debate, self._room)

    @property
    def closes(self) -> bool:
        """Whether there is room for a closing summary."""
        closing = self._closing()
        return closing is not None and self._fits(closing)

    @property
    def _decides(self) -> bool:
        rules = self._debate.rules
        going = self._debate.status == "running"
        return going and rules.result is not None and rules.edition > 1

    @property
    def _decidable(self) -> bool:
        """Whether something was said that a decision can rest on."""
        rules, turns = self._debate.rules, self._run.heard.turns
        if rules.result and rules.result.stands:
            return bool(final_stands(rules, turns))
        return any(turn.kind == "speech" and turn.status == "ok" for turn in turns)

    def _fits_whole(self, ahead: Wave, *, decidable: bool) -> bool:
        """Whether the budget has room for a wave, and for the verdict that is to follow."""
        debate, name = self._debate, ahead.steps[0].stage
        stage, result = debate.rules.stage(name), debate.rules.result
        if stage.speakers == "jury" and debate.jury:
            if self._room(debate, (*ahead.steps, *ladder.written(debate))):
                return True
            return not ladder.smaller(debate.jury) and self._room(debate, ahead.steps)
        if debate.stop_reason == "budget" and stage.kind == "speech":
            return False  # the debate was cut before: it goes straight on to the outcome
        if not decidable:
            states = result is not None and name in result.stands
            return self._room(debate, ahead.steps) if states else self._fits_before_closing(ahead)
        cheap, verdict = ladder.cheapest(debate)
        if not self._room(cheap, verdict):  # there will be none anyhow: nothing is kept back for it
            verdict = ()
        return self._room(cheap, (*ahead.steps, *verdict))

    def _jurors(self, ahead: Wave) -> Wave | None:
        """The jurors whose missing ballots there is room for: those who lack fewest come first."""
        lacking: dict[str, list[Step]] = {}
        for step in ahead.steps:
            lacking.setdefault(step.actor, []).append(step)
        chosen: list[Step] = []
        for steps in sorted(lacking.values(), key=len):
            if self._room(self._debate, (*chosen, *steps)):
                chosen += steps
        return Wave(tuple(chosen)) if chosen else None

    def _fits_before_closing(self, ahead: Wave) -> bool:
        """Whether the budget has room for a wave, and for a closing summary if one may follow."""
        cost, closing = self._cost(self._debate, ahead.steps), None
        if not any(step.kind == "summary" for step in ahead.steps):
            closing = self._closing()
        if closing and not schedule.is_last(self._debate, ahead):
            cost += closing
        return self._fits(cost)

    def _closing(self) -> Estimate | None:
        if self._debate.status == "ending":
            return None
        ending = self._debate.but(status="ending", cursor=schedule.closing(self._debate))
        closing = schedule.plan(ending)
        return None if isinstance(closing, Finish) else self._cost(self._debate, closing.steps[:1])

    def _room(self, debate: Debate, steps: Sequence[Step]) -> bool:
        return self._fits(self._cost(debate, steps))

    def _fits(self, ahead: Estimate) -> bool:
        return limits.fits(self._debate.usage, self._debate.limits, ahead)

    def _cost(self, debate: Debate, steps: Sequence[Step]) -> Estimate:
        """What steps may take, one stage after the other: each reads what those before it said."""
        whole, said, saying = limits.NOTHING, 0, 0
        stage = None
        for step in steps:
            if step.stage != stage:
                said, saying, stage = said + saying, 0, step.stage
            whole += self._voice.estimate(self._run, step, debate, said)
            saying += step.tokens or debate.limits.max_turn_tokens
        return whole
