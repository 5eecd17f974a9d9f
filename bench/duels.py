"""Ten duels before and after, side by side: `python -m bench.duels before.json after.json`.

`python -m bench.duels --sheet before.json after.json` prints the turns for a reader instead: all
mixed, without names, sides or times. A reader says of each whether it argues for yes, for no, or
for neither, and the answers come back as `--read answers.json`, from a number of a turn to a word.
With several readers, a turn argues a side where all of them say so.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from moot.core.echo import ALIKE, likeness

ANSWERS = {"pro": "yes", "con": "no"}
Held = Sequence[Mapping[str, Any]]
Answers = Sequence[Mapping[str, str]]


def number(motion: str, text: str) -> str:
    """The number of a turn: it says nothing of where it was spoken."""
    return hashlib.sha256(f"{motion}\n{text}".encode()).hexdigest()[:8]


def sheet(runs: Sequence[Held]) -> list[dict[str, str]]:
    rows = {
        number(held["motion"], turn["text"]): {"motion": held["motion"], "text": turn["text"]}
        for run in runs
        for held in run
        for turn in held["turns"]
    }
    return [{"number": key, **rows[key]} for key in sorted(rows)]


def echoes(held: Mapping[str, Any]) -> list[float]:
    """How like each turn is to the likest one that its seat spoke before."""
    said: dict[str, list[str]] = {}
    most: list[float] = []
    for turn in held["turns"]:
        earlier = said.setdefault(turn["name"], [])
        most.append(max((likeness(turn["text"], text) for text in earlier), default=0.0))
        earlier.append(turn["text"])
    return most


def own_side(run: Held, name: str, answers: Answers) -> tuple[int, int]:
    """How many turns of a speaker argue its own side, and how many there are."""
    turns = [(held, turn) for held in run for turn in held["turns"] if turn["name"] == name]
    kept = 0
    for held, turn in turns:
        key, wanted = number(held["motion"], turn["text"]), ANSWERS[turn["stance"]]
        kept += all(one[key] == wanted for one in answers)
    return kept, len(turns)


def table(runs: Sequence[Held], answers: Answers) -> list[tuple[str, ...]]:
    """One row for each thing that was measured, one column for each run."""
    alike = [[value for held in run for value in echoes(held)] for run in runs]
    rows = [
        (
            "duels that were completed",
            *map(_completed, runs),
        ),
        ("likest turn of the same seat", *(f"{max(values):.2f}" for values in alike)),
        (f"turns at {ALIKE} or more", *(_share([v >= ALIKE for v in values]) for values in alike)),
        ("words of a turn", *(f"{mean(_words(run)):.0f}" for run in runs)),
        ("seconds of a duel", *(f"{mean(held['seconds'] for held in run):.0f}" for run in runs)),
        ("calls for a turn", *(f"{_calls(run):.2f}" for run in runs)),
    ]
    if answers:
        for name in sorted({turn["name"] for turn in runs[0][0]["turns"]}):
            kept = [own_side(run, name, answers) for run in runs]
            rows.append(
                (f"{name} argues the own side", *(f"{a} of {b} ({a / b:.0%})" for a, b in kept))
            )
    return rows


def _completed(run: Held) -> str:
    return _share([held["status"] == "completed" for held in run])


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values)} of {len(values)}"


def _words(run: Held) -> list[int]:
    return [len(turn["text"].split()) for held in run for turn in held["turns"]]


def _calls(run: Held) -> float:
    return sum(held["calls"] for held in run) / sum(len(held["turns"]) for held in run)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.duels", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--sheet", action="store_true")
    parser.add_argument("--read", action="append", type=Path, default=[], metavar="ANSWERS")
    asked = parser.parse_args()
    runs: list[Held] = [json.loads(path.read_text("utf-8")) for path in asked.files]
    if asked.sheet:
        print(json.dumps(sheet(runs), indent=1, ensure_ascii=False))
        return
    answers: Answers = [json.loads(path.read_text("utf-8")) for path in asked.read]
    print("| |", " | ".join(path.stem for path in asked.files), "|")
    print("|---" * (len(runs) + 1) + "|")
    for row in table(runs, answers):
        print("|", " | ".join(row), "|")


if __name__ == "__main__":
    main()
