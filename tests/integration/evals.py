"""Questions whose answers are known, for tests of evals."""

from moot.evals.arms import parse
from moot.evals.datasets import Dataset, Item
from moot.evals.running import Asked
from moot.testing.skilled import Skill

MODEL = "openai:scripted"
SKILLS = {MODEL: Skill(0.6, insight=0.8)}


def dataset(count: int, options: int = 4) -> Dataset:
    words = ("red", "blue", "green", "white", "black", "grey")[:options]
    items = (
        Item(id=f"q{n}", question=f"Which colour is number {n}?", options=words,
             answer=words[n % options])
        for n in range(count)
    )  # fmt: skip
    return Dataset("colours", tuple(items))


def asked(count: int, *specs: str, options: int = 4, **more: object) -> Asked:
    arms = tuple(map(parse, specs))
    return Asked(dataset(count, options), arms, MODEL, **more)  # pyright: ignore[reportArgumentType]
