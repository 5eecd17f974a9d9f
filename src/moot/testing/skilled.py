"""Scripted models of known skill: how often each is right alone, and what it makes of what others
say. What they answer follows from the item, the seat and the round alone, whoever asks and when."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moot.core import prompts
from moot.core.debate import Usage
from moot.core.jury import SIDES
from moot.evals.datasets import LETTERS, Item
from moot.evals.marking import read
from moot.models.understudy import Understudy
from moot.ports.model_call import Call, ModelCard, Reply, Say


@dataclass(frozen=True, slots=True)
class Skill:
    """What a model can do."""

    right: float  # how often it is right on its own
    shared: float = 0.0  # how often all calls err alike: chance falls once for each item
    insight: float = 0.0  # how often it takes the right option once somebody has argued for it
    swayed: float = 0.0  # how often it otherwise takes what most others hold
    kin: str = ""  # models of one name err alike; unset: each with itself alone
    input_price: float | None = 1e-6
    output_price: float | None = 4e-6


class Skilled:
    """Speaks for every seat, by the skill of its model."""

    def __init__(
        self, items: Sequence[Item], skills: Mapping[str, Skill], seconds: float = 0.0
    ) -> None:
        self._items = {item.text: item for item in items}
        self._skills = skills
        self._seconds = seconds
        self._understudy = Understudy()
        self.calls = 0

    def card(self, model: str) -> ModelCard:
        skill = self._skills[model]
        return ModelCard(model, 200_000, skill.input_price, skill.output_price)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls += 1
        await asyncio.sleep(self._seconds)
        reply = await self._understudy.speak(call, lambda _: None)
        item, skill = self._item(call), self._skills[call.model]
        data: Any = reply.data
        if data is not None and item is not None:
            chosen, sure = self._chosen(call, item, skill)
            data = _put(dict(data), call.schema or {}, item, chosen, sure)
        say(reply.text)
        asked, told = prompts.size(call.messages), prompts.estimate(reply.text)
        cost = asked * (skill.input_price or 0.0) + told * (skill.output_price or 0.0)
        usage = Usage(asked, told, cost, calls=1)
        return replace(reply, model=call.model, data=data, usage=usage)

    def _item(self, call: Call) -> Item | None:
        asked = call.debate.motion
        for end in ("\n\nWhoever names", "\n\nThe motion is"):
            asked = asked.partition(end)[0]
        return self._items.get(asked)

    def _chosen(self, call: Call, item: Item, skill: Skill) -> tuple[str, float]:
        """The letter that it takes, and how sure it is."""
        step, letters = call.step, LETTERS[: len(item.options)]
        time = "" if step.reading else step.round  # a juror votes alike in both orders
        own = _chance(item.id, call.model, step.actor, step.stage, time)
        alike = _chance(item.id, skill.kin or call.model)
        chance = alike if own.random() < skill.shared else own
        right = letters[item.right or 0]
        chosen = right
        if chance.random() >= skill.right:
            chosen = chance.choice([letter for letter in letters if letter != right])
        heard = Counter(_held(item, turn.data) for turn in call.heard if turn.data)
        del heard[None]
        if heard and right in heard and own.random() < skill.insight:
            chosen = right
        elif heard and own.random() < skill.swayed:
            chosen = str(heard.most_common(1)[0][0])
        return chosen, round(min(max(own.gauss(skill.right, 0.1), 0.0), 1.0), 2)


def _chance(*what: object) -> random.Random:
    """Falls the same way for the same things."""
    return random.Random("|".join(map(str, what)))  # noqa: S311  a script, not a secret


def _held(item: Item, data: Mapping[str, Any]) -> str | None:
    words = data.get("position") or data.get("choice")
    return read(item, str(words)) if words else None


def _put(
    data: dict[str, Any], schema: Mapping[str, Any], item: Item, chosen: str, sure: float
) -> dict[str, Any]:
    """An answer that takes that option, wherever its shape has room for one."""
    fields = schema.get("properties", {})
    if "position" in data:
        data["position"] = chosen
    if "choice" in data:
        known = fields.get("choice", {}).get("enum") or _enum(fields.get("choice", {}))
        meant = [one for one in known if one and _meant(item, str(one), chosen)]
        if meant:
            data["choice"] = meant[0]
    if "confidence" in data:
        data["confidence"] = sure
    return data


def _meant(item: Item, option: str, chosen: str) -> bool:
    """Whether that is the option to take: of two sides, the first stands for the first option."""
    if option in SIDES:
        return (option == SIDES[0]) == (chosen == LETTERS[0])
    return read(item, option) == chosen


def _enum(schema: Mapping[str, Any]) -> list[Any]:
    found = (branch.get("enum", ()) for branch in schema.get("anyOf", ()))
    return [one for options in found for one in options]
