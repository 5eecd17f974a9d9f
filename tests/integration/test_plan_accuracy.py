"""What a plan says that a debate costs, against what debates over all formats really cost."""

import random
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from moot.core.forecast import Amounts
from moot.settings import Settings
from tests.integration.writers import Writer
from tests.stress import STRESS
from tests.virtual import engine, go

FORMATS = ("standard", "classic", "custom", "duel", "council", "jury", "redteam")
PRICES = {"openai:small": (2e-7, 8e-7), "claude:large": (3e-6, 1.5e-5), "gemini:mid": (1e-6, 4e-6)}
COUNT = 500 if STRESS else 14


def drawn(chance: random.Random, format_: str) -> dict[str, Any]:
    """A request as people make them: of any size, with or without host, jury, sources, effort."""
    models = list(PRICES)
    asked: dict[str, Any] = {"format": format_, "limits": {}, "options": {}}
    asked["motion"] = " ".join(["Should we do what was said?"] * chance.randint(1, 20))
    asked["limits"]["max_turn_tokens"] = chance.choice((300, 600, 900, 900, 900, 1500, 2500))
    size = {"duel": 2, "jury": chance.randint(3, 7)}.get(format_, chance.randint(2, 6))
    if format_ not in ("council", "redteam"):
        asked["participants"] = [
            {"name": f"Seat {n}", "model": chance.choice(models), "bio": "Careful. " * n}
            for n in range(size)
        ]
    if format_ in ("classic", "custom") or (format_ == "standard" and chance.random() < 0.5):
        asked["host"] = {"model": chance.choice(models)}
    if format_ in ("standard", "custom"):
        asked["options"]["rounds"] = chance.randint(1, 6)
    if format_ == "classic":
        asked["options"]["free_rounds"] = chance.randint(1, 4)
    if format_ == "duel":
        asked["limits"]["max_turns"] = chance.randint(2, 20)
    if format_ != "jury" and chance.random() < 0.4:
        asked["jury"] = {"size": chance.choice((3, 5)), "swap": chance.random() < 0.7,
                         "baseline": chance.random() < 0.5}  # fmt: skip
    if chance.random() < 0.3:
        text = "\n\n".join(f"Point {n}: the older release is kept." for n in range(200))
        asked["sources"] = [{"title": "Notes", "text": text[: chance.randint(500, 9000)]}]
    return asked


def within(span: Amounts, actual: float) -> bool:
    return span.low <= actual <= span.high


@pytest.mark.sqlite_only  # it is about what is said and billed, wherever that is kept
def test_what_debates_cost_is_what_was_planned(tmp_path: Path) -> None:
    chance = random.Random(23)

    async def compared(seed: int) -> tuple[str, Amounts, float, str]:
        format_ = FORMATS[seed % len(FORMATS)]
        thinks = {"claude:large": "none"} if chance.random() < 0.3 else {}
        writer = Writer(seed, PRICES, thinks)  # pyright: ignore[reportArgumentType]
        settings = Settings(home=tmp_path / str(seed), model="openai:small")
        asked = drawn(chance, format_)
        async with engine(settings, writer) as service:
            plan = await service.plan(asked)
            debate = await service.wait((await service.create(**asked)).id)
            assert plan.estimate.cost_usd is not None
            assert debate.usage.calls >= plan.estimate.calls * 0.5
            return format_, plan.estimate.cost_usd, debate.usage.cost_usd, debate.status

    async def all_of_them() -> list[tuple[str, Amounts, float, str]]:
        return [await compared(seed) for seed in range(COUNT)]

    found = go(all_of_them(), within=1e9)
    errors = [abs(span.likely / actual - 1) for _, span, actual, _ in found]
    inside = sum(within(span, actual) for _, span, actual, _ in found) / COUNT
    for name in FORMATS:
        signed = sorted(span.likely / actual for f, span, actual, _ in found if f == name)
        print(f"{name}: likely is {median(signed):.2f} of the cost", signed[0], signed[-1])
    print(f"{COUNT} debates: {inside:.1%} within low and high, median error {median(errors):.1%}")
    assert {status for *_, status in found} == {"completed"}
    assert inside >= 0.9
    assert median(errors) <= 0.2
