"""Runs an eval: each item of each arm is a debate that happens exactly once.

An eval has no state of its own. A debate is asked for with a key that follows from the item, the
arm and the name of the eval, so asking again gives the debate that was made before, finished or
not. Everything else is read from the debates: whoever was killed asks again and goes on.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from moot.core import depth, prices
from moot.core.debate import Debate, Turn, Usage
from moot.core.format import Format
from moot.core.positions import key
from moot.errors import InputError, StateError
from moot.evals import arms, matching
from moot.evals.arms import Arm
from moot.evals.datasets import Dataset, Item
from moot.evals.marking import given, is_right
from moot.ports.debate_store import Once
from moot.ports.entry_point import Moot
from moot.render.cost import UNKNOWN, about

Verify = Callable[[Item, str], bool]
"""Whether an answer is right, by the generator that made the question."""
FORMS = 1
"""By which rules an item becomes a debate. With others, an eval would be another one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared, on which items, and within which bounds."""

    dataset: Dataset
    arms: tuple[Arm, ...]
    model: str  # of every seat that an arm gives no other
    name: str = ""  # to run the same eval anew
    match: str | None = None  # the arm whose cost a vote@match matches
    budget: float | None = None  # USD, of all arms together
    at_once: int = 8  # items that are under way at the same time


@dataclass(frozen=True, slots=True)
class Answered:
    """What one arm answered to one item."""

    item: str
    arm: str
    debate: str
    done: bool  # it ended by itself; only such items are counted
    answer: str | None
    right: bool
    confidence: float | None
    votes: int
    usage: Usage  # of its turns, which a crash does not change
    whole: Usage  # of all its calls, those that were lost or made again too
    unpriced: tuple[str, ...]  # its models whose prices nobody published
    local: bool  # all of them run on this machine
    why: str = ""  # if it is not done
    early: bool = False  # with depth=auto: two seats settled it, and the rest was left out
    same: bool | None = None  # they agreed and it was held in full: whether that came to the same
    report_usd: float = 0.0  # what a model took to write its report: paid, and no part of any arm


@dataclass(slots=True)
class Run:
    """All that was answered so far, by item and arm."""

    asked: Asked
    answers: dict[tuple[str, str], Answered] = field(
        default_factory=dict[tuple[str, str], Answered]
    )
    stopped: str = ""  # why not every item was asked

    def of(self, item: Item, arm: Arm) -> Answered | None:
        return self.answers.get((item.id, arm.spec))

    def complete(self, item: Item) -> bool:
        """Whether every arm has answered it: only such items are compared."""
        found = [self.of(item, arm) for arm in self.asked.arms]
        return all(one is not None and one.done for one in found)

    @property
    def spent(self) -> float:
        return sum(one.whole.cost_usd + one.report_usd for one in self.answers.values())


async def run(
    moot: Moot,
    asked: Asked,
    told: Callable[[Run], None] = lambda _: None,
    verify: Verify | None = None,
) -> Run:
    """Put every item to every arm, and wait for the answers. `told` hears of each. `verify` marks
    those to questions that a generator made."""
    if verify is None and any(item.made for item in asked.dataset.items):
        raise ValueError("questions that a generator made are marked by its verifier")
    rules = {one.name: one for one in await moot.formats()}
    for arm in asked.arms:
        arms.check(arm, rules, asked.dataset.items)
    made = Run(asked)
    runner = _Runner(moot, made, rules, told, verify)
    async for block in runner.blocks():
        gate = asyncio.Semaphore(asked.at_once * 2)
        async with asyncio.TaskGroup() as group:
            for item, arm, votes in block:
                group.create_task(runner.answer(item, arm, votes, gate))
    return made


async def outlook(moot: Moot, asked: Asked) -> str:
    """What an eval is likely to cost, by its first item."""
    rules = {one.name: one for one in await moot.formats()}
    item, likely, unknown = asked.dataset.items[0], 0.0, False
    costs: dict[str, float] = {}
    for arm in asked.arms:
        arms.check(arm, rules, asked.dataset.items)
        wanted = arms.request(arm, item, rules[arm.format], asked.model, arm.votes or 1)
        cost = (await moot.plan(wanted)).estimate.cost_usd
        unknown = unknown or cost is None
        costs[arm.spec] = cost.likely if cost else 0.0
    for arm in asked.arms:  # one that matches another costs as much
        likely += costs[asked.match if arm.matched and asked.match else arm.spec]
    likely *= len(asked.dataset.items)
    if unknown:
        return f"at least {about(likely)}; a price is unknown" if likely else UNKNOWN
    return f"about {about(likely)}"


class _Runner:
    def __init__(
        self,
        moot: Moot,
        made: Run,
        rules: dict[str, Format],
        told: Callable[[Run], None],
        verify: Verify | None,
    ) -> None:
        self._moot = moot
        self._run = made
        self._asked = made.asked
        self._rules = rules
        self._told = told
        self._verify = verify

    async def blocks(self) -> AsyncGenerator[list[tuple[Item, Arm, int]]]:
        """What is asked for at the same time. The next block begins when this one has ended, for
        its sizes and the budget follow from what this one cost."""
        items, size = self._asked.dataset.items, self._asked.at_once
        for start in range(0, len(items), size):
            block = items[start : start + size]
            votes = await self._votes(items[:start], block)
            left = list(block)
            while left:
                fitting = await self._fitting(left, votes)
                if not fitting:
                    self._run.stopped = "The budget has no room for another item."
                    return
                yield [
                    (item, arm, votes[item.id, arm.spec])
                    for item in fitting
                    for arm in self._asked.arms
                    if (item.id, arm.spec) in votes
                ]
                left = left[len(fitting) :]

    async def answer(self, item: Item, arm: Arm, votes: int, gate: asyncio.Semaphore) -> None:
        async with gate:
            debate = await self._made(item, arm, votes)
            debate = await self._ended(debate)
            turns = await self._moot.turns(debate.id)
        answered = _answered(item, arm, votes, debate, turns)
        if self._verify and item.made and answered.done and answered.answer is not None:
            right = await asyncio.to_thread(self._verify, item, answered.answer)
            answered = replace(answered, right=right)
        self._run.answers[item.id, arm.spec] = answered
        self._told(self._run)

    async def _made(self, item: Item, arm: Arm, votes: int) -> Debate:
        wanted = self._request(item, arm, votes)
        once = Once(self._key(item, arm, wanted), _digest(wanted))
        return await self._moot.create(**wanted, once=once)

    def _request(self, item: Item, arm: Arm, votes: int) -> dict[str, Any]:
        return arms.request(arm, item, self._rules[arm.format], self._asked.model, votes)

    def _key(self, item: Item, arm: Arm, wanted: dict[str, Any]) -> str:
        """The same whenever the same item is put to the same arm. How many votes one takes that
        matches another arm is no part of it: that follows from what was spent before."""
        fixed = {key: value for key, value in wanted.items() if key != "options"}
        size = [self._asked.match, self._asked.at_once] if arm.matched else wanted["options"]
        return "eval-" + _digest([FORMS, self._asked.name, item.id, item.text, fixed, size])

    async def _ended(self, debate: Debate) -> Debate:
        """Wait for it. One that a failure has paused is tried again, once in each run."""
        debate = await self._moot.wait(debate.id)
        if debate.status == "paused":
            verb = self._moot.retry if debate.failure else self._moot.resume
            with suppress(StateError):  # somebody else was quicker
                await verb(debate.id)
            debate = await self._moot.wait(debate.id)
        return debate

    async def _votes(
        self, before: Sequence[Item], block: Sequence[Item]
    ) -> dict[tuple[str, str], int]:
        """How often each arm asks for each item. An arm that is sized by another's cost waits until
        that is known of every item before: otherwise its sizes would not be the same next time."""
        found: dict[tuple[str, str], int] = {}
        for arm in self._asked.arms:
            if not arm.matched:
                found |= {(item.id, arm.spec): arm.votes or 1 for item in block}
                continue
            spent = [self._spent(item, arm) for item in before]
            known = [one for one in spent if one is not None]
            if len(known) < len(spent):
                continue
            target, vote = (0.0, 0.0) if known else await self._expected(block[0], arm)
            sized = matching.sizes(known, len(block), target, vote)
            found |= {(item.id, arm.spec): n for item, n in zip(block, sized, strict=True)}
        return found

    def _spent(self, item: Item, arm: Arm) -> matching.Spent | None:
        target, own = self._run.of(item, self._target()), self._run.of(item, arm)
        if not target or not own or not target.done or not own.done:
            return None
        measured = _measure(target, own)
        return matching.Spent(measured(target), measured(own), own.votes)

    async def _expected(self, item: Item, arm: Arm) -> tuple[float, float]:
        """What an item of the target and one vote are likely to cost, before any was asked."""
        plans = [
            (await self._moot.plan(self._request(item, one, 1))).estimate
            for one in (self._target(), arm)
        ]
        costs = [plan.cost_usd for plan in plans]
        if all(cost and cost.likely for cost in costs):
            target, vote = (cost.likely for cost in costs if cost)
        else:
            target, vote = (
                float(plan.input_tokens.likely + plan.output_tokens.likely) for plan in plans
            )
        return target, vote

    def _target(self) -> Arm:
        found = [arm for arm in self._asked.arms if arm.spec == self._asked.match]
        if not found or found[0].matched:
            raise InputError("vote@match needs --match ARM: one of the other arms.", "match")
        return found[0]

    async def _fitting(
        self, items: Sequence[Item], votes: dict[tuple[str, str], int]
    ) -> Sequence[Item]:
        """The items, from the first, that the budget has room for, whatever they cost at most."""
        if self._asked.budget is None:
            return items
        left = self._asked.budget - self._run.spent
        for place, item in enumerate(items):
            for arm in self._asked.arms:
                if (count := votes.get((item.id, arm.spec))) is None:
                    continue
                plan = await self._moot.plan(self._request(item, arm, count))
                cost = plan.estimate.cost_usd
                if cost is None:
                    said = f"--budget: nobody published what {arm.spec} costs."
                    raise InputError(said, "budget")
                left -= cost.high
            if left < 0:
                return items[:place]
        return items


def _measure(*answers: Answered) -> Callable[[Answered], float]:
    """What a cost is measured in: dollars or, where there are none, tokens."""
    if all(not one.unpriced and one.usage.cost_usd for one in answers):
        return lambda one: one.usage.cost_usd
    return lambda one: float(one.usage.input_tokens + one.usage.output_tokens)


def _answered(item: Item, arm: Arm, votes: int, debate: Debate, turns: Sequence[Turn]) -> Answered:
    said = given(arm, item, debate, turns)
    done = debate.status == "completed"
    why = debate.failure.message if debate.failure else debate.status
    agreed = depth.agreement(debate, turns) if done else None
    early, same = agreed is not None and not depth.checked(debate), None
    if agreed and not early and depth.has_begun(debate, turns):
        same = debate.outcome is not None and key(debate.outcome.selected_option) == key(
            agreed.option
        )
    return Answered(
        item=item.id,
        arm=arm.spec,
        debate=debate.id,
        done=done,
        answer=said.answer,
        right=done and not item.made and is_right(item, said.answer),
        confidence=said.confidence,
        votes=votes,
        usage=sum((turn.usage for turn in turns), Usage()),
        whole=debate.usage,
        unpriced=prices.unpriced(debate),
        local=prices.is_local(debate),
        why="" if done else why,
        early=early,
        same=same,
        report_usd=debate.writing.usage.cost_usd if debate.writing else 0.0,
    )


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
