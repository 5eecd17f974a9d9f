"""Whether a debate is worth it: the tables of docs/worth.md.

`python -m bench.worth` runs evals with scripted models whose skill is known, in virtual time, and
prints the tables; `--write` puts them into docs/worth.md. `--real FILE` is what `moot eval --json`
printed of a run with a real model. Nothing depends on a clock or on chance.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moot.bootstrap import Instead, open_service
from moot.bus.memory import MemoryBus
from moot.evals.arms import parse
from moot.evals.datasets import Dataset, Item
from moot.evals.eval_result import result
from moot.evals.eval_text import markdown
from moot.evals.running import Asked, run
from moot.settings import Settings
from moot.testing import virtual
from moot.testing.inline_database import InlineDatabase
from moot.testing.skilled import Skill, Skilled

PAGE = Path(__file__).parent.parent / "docs" / "worth.md"
ONE, TWO = "openai:scripted", "claude:scripted"
COUNCIL = f"council,Critic={TWO}"
AUTO, CHECKED = f"{COUNCIL},depth=auto,audit=0", f"{COUNCIL},depth=auto,audit=1"
ARMS = ("single", "vote@match", COUNCIL, AUTO, CHECKED)
WORDS = ("red", "blue", "green", "white")


@dataclass(frozen=True)
class Scene:
    """A world in which it is known what a debate can do."""

    name: str
    expected: str
    skill: Skill


SCENES = (
    Scene(
        "Errors by chance, arguments that convince",
        "A vote at the same cost is as good: errors that fall by chance go away by counting.",
        Skill(0.6, insight=0.8),
    ),
    Scene(
        "Errors alike, arguments that convince",
        "A debate must help: counting repeats the common error, a single good argument does not. "
        "Two who agree may both have it, which only the check shows.",
        Skill(0.6, shared=0.8, insight=0.8, kin="all"),
    ),
    Scene(
        "All err alike",
        "A debate must not help: nobody ever names the right option.",
        Skill(0.6, shared=1.0, insight=0.8, kin="all"),
    ),
    Scene(
        "Whoever hears the others follows them",
        "A debate must not help: it turns into a vote of few.",
        Skill(0.45, swayed=0.9),
    ),
    Scene(
        "Easy questions",
        "Depth auto must save most of the cost and lose next to nothing.",
        Skill(0.97, insight=0.8),
    ),
)


def items(size: int) -> tuple[Item, ...]:
    return tuple(
        Item(
            id=f"q{n}", question=f"Which colour is number {n}?", options=WORDS, answer=WORDS[n % 4]
        )
        for n in range(size)
    )


def held(scene: Scene, size: int) -> dict[str, Any]:
    """The eval of a scene, as `moot eval --json` would print it."""
    data = Dataset("scripted", items(size))
    asked = Asked(data, tuple(map(parse, ARMS)), ONE, match=COUNCIL)

    async def work() -> dict[str, Any]:
        speaker = Skilled(data.items, dict.fromkeys((ONE, TWO), scene.skill))
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(home=Path(home), model=ONE)
            instead = Instead(database=InlineDatabase(settings.file), bus=MemoryBus(), index=False)
            async with open_service(
                settings, speaker=speaker, instead=instead, files=False
            ) as moot:
                return result(await run(moot, asked))

    return virtual.run(work(), within=1e9)


def scripted(size: int) -> str:
    parts: list[str] = []
    for scene in SCENES:
        made = held(scene, size)
        print(f"{scene.name}: done", file=sys.stderr)
        parts.append(f"### {scene.name}\n\n{scene.expected}\n\n{markdown(made)}")
    return "\n".join(parts)


def real(path: Path) -> str:
    return markdown(json.loads(path.read_text("utf-8")))


def put(page: str, name: str, text: str) -> str:
    """The page with a part of it made anew."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    whole = f"{begin}\n\n{text.strip()}\n\n{end}"
    return re.sub(f"{begin}.*?{end}", lambda _: whole, page, flags=re.DOTALL)


def main(arguments: Sequence[str] = sys.argv[1:]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    name, text = ("real", real(given.real)) if given.real else ("scripted", scripted(given.items))
    if given.write:
        PAGE.write_text(put(PAGE.read_text("utf-8"), name, text), "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
