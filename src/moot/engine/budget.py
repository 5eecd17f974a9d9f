"""What a budget has room for: the next wave, a part of it, or the shortest way to the outcome."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

from moot.core import ladder, limits, schedule
from moot.core.debate import Debate, Turn
from moot.core.depth import effective
from moot.core.ladder import Way
from moot.core.limits import Estimate
from moot.core.prompts import Heard
from moot.core.schedule import Finish, Step, Wave
from moot.engine.speaking import most
from moot.errors import InputError
from moot.outcome.stands import final_stands
from moot.ports.model_call import ModelCard

Most = Callable[[Step, Debate, int], Estimate]
"""What a step of a debate may take at the most, if it reads so many tokens more than were said."""


def check_budget(debate: Debate, cards: Callable[[str], ModelCard]) -> None:
    """Refuse a budget that has no room for the first wave: the engine, which looks into it in the
    same way, would end the debate before anybody has spoken."""
    if not limits.bounded(debate.limits):
        return
    going, heard = debate.but(status="running"), Heard()
    ahead = schedule.plan(going)
    if isinstance(ahead, Finish) or schedule.by_people(going):
        return

    def at_most(step: Step, of: Debate, more: int) -> Estimate:
        seat = of.seat(step.actor)
        return limits.dearest(most(step, of, heard, cards(one), more) for one in seat.choices)

    purse = Purse(going, heard.turns, at_most)
    if not isinstance(purse.look(ahead), Wave):
        raise _too_small(going, ahead, purse.first(ahead), purse.cost(going, ahead.steps))


def _too_small(debate: Debate, ahead: Wave, needs: Estimate, alone: Estimate) -> InputError:
    """Which limit has no room, and what it would have to be: for the first wave `alone`, or with
    what must follow it."""
    bounds, turns = debate.limits, len(ahead.steps)
    first = f"{debate.seat(ahead.steps[0].actor).name}'s first turn"
    if turns > 1:
        first = f"the first {turns} turns, which are spoken at the same time"
    if needs != alone:
        first = f"{first}{',' if turns > 1 else ''} and a closing summary"
    if bounds.max_total_tokens is not None and needs.tokens > bounds.max_total_tokens:
        name, given = "max_total_tokens", f"{bounds.max_total_tokens:,}"
        least = f"{needs.tokens:,}"
    else:
        name, given = "max_cost_usd", format(Decimal(str(bounds.max_cost_usd)), "f")
        least = f"{math.ceil(needs.cost_usd * 1e6) / 1e6:.6f}".rstrip("0")
    return InputError(
        f"{name} has no room for {first}: that may take up to {least}, and the limit is {given}. "
        f"Set {name} to {least} or more, lower max_turn_tokens, or leave {name} out.",
        f"limits.{name}",
    )


class Purse:
    """The budget of a debate, looked at before a wave."""

    def __init__(self, debate: Debate, turns: Sequence[Turn], most: Most) -> None:
        self._debate = debate
        self._turns = turns
        self._most = most

    def look(self, ahead: Wave) -> Wave | Way | None:
        """What of a wave may be spoken. If nothing of it, the way on to the outcome; None if there
        is nothing to decide on, or no outcome to come to: then the debate closes."""
        if not self._decides:
            return ahead if self._fits(self._before_closing(ahead)) else None
        if self._by_two:
            words = "what two said before it decides"
            return ahead if self._fits_beside_two(ahead) else ladder.no_debate(self._debate, words)
        decidable = self._decidable
        if decidable and not self._judgeable:
            fits = self._fits(self.first(ahead))
            return ahead if fits else ladder.no_debate(self._debate, "there is no verdict")
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
        rules, turns = self._debate.rules, self._turns
        if rules.result and rules.result.stands:
            return bool(final_stands(rules, turns))
        return any(turn.kind == "speech" and turn.status == "ok" for turn in turns)

    @property
    def _judgeable(self) -> bool:
        """Whether there is something for a jury to read: not if a host alone has spoken."""
        rules, ids = self._debate.rules, {seat.id for seat in self._debate.participants}
        return bool(rules.result and rules.result.stands) or any(
            (turn.kind, turn.status) == ("speech", "ok") and turn.actor in ids
            for turn in self._turns
        )

    @property
    def _by_two(self) -> bool:
        """Whether what two said before the debate decides if nothing else is said."""
        rules = effective(self._debate, self._turns).rules
        return rules != self._debate.rules and bool(final_stands(rules, self._turns))

    def _fits_beside_two(self, ahead: Wave) -> bool:
        """Whether there is room for what two still say before the debate, or for its first wave and
        whoever is to decide it. Jurors are not asked about a debate that was not held."""
        debate, name = self._debate, ahead.steps[0].stage
        result = debate.rules.result
        if name in debate.rules.before or (result and name in result.stands):
            return self._room(debate, ahead.steps)
        cheap, verdict = ladder.cheapest(debate)
        return self._room(cheap, (*ahead.steps, *verdict))

    def _fits_whole(self, ahead: Wave, *, decidable: bool) -> bool:
        """Whether the budget has room for a wave, and for the verdict that is to follow."""
        debate, name = self._debate, ahead.steps[0].stage
        stage = debate.rules.stage(name)
        if stage.speakers == "jury" and debate.jury:
            if self._room(debate, (*ahead.steps, *ladder.written(debate))):
                return True
            return not ladder.smaller(debate.jury) and self._room(debate, ahead.steps)
        if debate.stop_reason == "budget" and stage.kind == "speech":
            return False  # the debate was cut before: it goes straight on to the outcome
        if not decidable:
            return self._fits(self.first(ahead))
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

    def first(self, ahead: Wave) -> Estimate:
        """What there must be room for before the first wave, and until something was said that a
        decision can rest on."""
        debate, name = self._debate, ahead.steps[0].stage
        result = debate.rules.result
        if debate.jury and debate.rules.stage(name).speakers == "jury":
            return self.cost(debate, (*ahead.steps, *ladder.written(debate)))
        states = self._decides and result is not None and name in result.stands
        return self.cost(debate, ahead.steps) if states else self._before_closing(ahead)

    def _before_closing(self, ahead: Wave) -> Estimate:
        """What a wave may take, with a closing summary if one may follow."""
        cost, closing = self.cost(self._debate, ahead.steps), None
        if not any(step.kind == "summary" for step in ahead.steps):
            closing = self._closing()
        if closing and not schedule.is_last(self._debate, ahead):
            cost += closing
        return cost

    def _closing(self) -> Estimate | None:
        if self._debate.status == "ending":
            return None
        ending = self._debate.but(status="ending", cursor=schedule.closing(self._debate))
        closing = schedule.plan(ending)
        return None if isinstance(closing, Finish) else self.cost(self._debate, closing.steps[:1])

    def _room(self, debate: Debate, steps: Sequence[Step]) -> bool:
        return self._fits(self.cost(debate, steps))

    def _fits(self, ahead: Estimate) -> bool:
        return limits.fits(self._debate.usage, self._debate.limits, ahead)

    def cost(self, debate: Debate, steps: Sequence[Step]) -> Estimate:
        """What steps may take, one stage after the other: each reads what those before it said."""
        whole, said, saying = limits.NOTHING, 0, 0
        stage = None
        for step in schedule.by_models(debate, steps):
            if step.stage != stage:
                said, saying, stage = said + saying, 0, step.stage
            whole += self._most(step, debate, said)
            saying += step.tokens or debate.limits.max_turn_tokens
        return whole
