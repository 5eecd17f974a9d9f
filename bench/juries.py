"""Planted faults: in how many debates each is caught, and how often clean ones are accused of it.

`python -m bench.juries` holds 1,000 scripted debates for each fault and prints the table; `make
bench` does the same, and `make test` holds 100 of each. Nothing depends on a clock or on a model.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from bench.scripted import (
    JURORS,
    ROLES,
    Scene,
    Script,
    cast,
    challenge,
    hold,
    position,
    reading,
    ruling,
    stood,
)
from bench.table import Row, at_least, at_most, show
from moot import errors
from moot.core.debate import Debate, Turn
from moot.core.jury import Choices, blindfold, order, speeches
from moot.core.schedule import Step

CAUGHT, ACCUSED = 95.0, 5.0
"""Of a hundred faults, as many are caught at the least; of a hundred clean debates, as many are
accused at the most."""
LIES = "elves brew moonlight beneath purple kitchen ceilings forever"
Verdict = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A fault, who plays it, and how it shows in a verdict."""

    name: str
    script: Script
    shows: Callable[[Verdict, Sequence[str]], bool]  # of those who are at fault, or of anybody
    guilty: Callable[[Scene], Sequence[str]]  # by name
    jury: int = JURORS


@dataclass(frozen=True)
class Measured:
    """How a fault fared."""

    fault: str
    debates: int
    caught: int
    accused: int  # clean debates in which it seems to show

    @property
    def caught_percent(self) -> float:
        return 100 * self.caught / self.debates

    @property
    def accused_percent(self) -> float:
        return 100 * self.accused / self.debates


def _juror(scene: Scene) -> list[str]:
    return [f"Juror {Random(scene.seed).randint(1, JURORS)}"]


def _is(scene: Scene, step: Step, debate: Debate) -> bool:
    return debate.seat(step.actor).name in scene.guilty


def _warned(code: str) -> Callable[[Verdict, Sequence[str]], bool]:
    """Whether a warning of that code names all who are at fault; or, of nobody, is there at all."""

    def shows(made: Verdict, guilty: Sequence[str]) -> bool:
        said = [one for one in made["warnings"] if one.startswith(f"{code}: ")]
        return any(all(name in one for name in guilty) for one in said)

    return shows


# --- jurors ---


def _first(scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices) -> Any:
    """It takes whatever it reads first, and gives reasons like anybody."""
    if not _is(scene, step, debate) or step.reading is None:
        return None
    choice = order(debate, step.actor, step.reading, given)[0]
    if step.reading == "alone":
        return cast(scene, choice, [], [], [])
    mine = [t.number for t in heard if given.held.get(t.actor) == choice and t.round < 4]
    others = [turn.number for turn in heard if given.held.get(turn.actor, choice) != choice]
    return cast(scene, choice, mine[:1], [], others[:1])


def _flipped(made: Verdict, guilty: Sequence[str]) -> bool:
    flips = {one["name"] for one in made["jury"]["jurors"] if one["flipped"]}
    return flips >= set(guilty) if guilty else bool(flips)


def _longest(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> Any:
    """It takes what the longest speech stands for, and has read no other."""
    if not _is(scene, step, debate) or step.reading not in ("spoken", "swapped"):
        return None
    blind = blindfold(debate, step.actor, step.reading, given)
    read = [(turn, text) for _, turn, text in speeches(debate, heard, blind)]
    turn, text = max(read, key=lambda one: (len(one[1]), one[0].number))
    against = [turn.number] if scene.chance.random() < 0.5 else []
    words = stood(scene, turn)
    near = [one for one in given.options if words.startswith(one) or one.startswith(words)]
    choice = near[0] if near else given.held.get(turn.actor, given.options[0])
    return cast(scene, choice, [turn.number], [text.splitlines()[-1]], against)


def _majority(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> Any:
    """It counts where the speakers stand at the end, takes what most say, and cites them alone."""
    if not _is(scene, step, debate) or step.reading not in ("spoken", "swapped"):
        return None
    held = [*given.held.values()]
    choice = max(sorted(set(held)), key=held.count)
    with_it = [t.number for t in heard if t.round == 3 and given.held.get(t.actor) == choice]
    against = with_it[-1:] if scene.chance.random() < 0.5 else []
    return cast(scene, choice, with_it, [], against)


# --- the judge, the reader and the debaters ---


def _overrule(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> Any:
    """It decides on what nobody stands for."""
    if step.answer != "verdict":
        return None
    held = set(given.held.values())
    left = [one for one in given.options if one not in held]
    choice = left[0] if left and scene.chance.random() < 0.5 else "Outsource the whole product"
    return ruling(scene, choice, given, [turn.number for turn in heard[:3]])


def _contested(made: Verdict, _: Sequence[str]) -> bool:
    return made["decidedBy"] == "judge" and made["outcome"] == "contested"


def _yields(scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices) -> Any:
    """Asked anything at all, it says that the other is right."""
    if step.answer != "revision" or not _is(scene, step, debate):
        return None
    asked = [turn for turn in heard if turn.target == step.actor]
    mine = scene.holds[debate.seat(step.actor).role]
    others = [turn for turn in asked if scene.holds[turn.name] != mine]
    return {
        "responses": [{"sourceRole": one.name, "response": "You are right."} for one in asked],
        "revisions": [{"change": "I agree now.", "reason": "You are right."}],
        "claim": "I agree.",
        "rejects": [],
        "position": scene.holds[others[0].name],
        "confidence": 0.9,
    }


def _yielder(scene: Scene) -> list[str]:
    """Somebody who is challenged by one who stands elsewhere."""
    scene.holds["Critic"], scene.holds["Proponent"] = scene.options[0], scene.options[1]
    return ["Critic" if Random(scene.seed).random() < 0.5 else "Proponent"]


def _repeats(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> Any:
    """Two say the same in every round, but for a word here and there."""
    role = debate.seat(step.actor).role
    if role not in scene.guilty or step.answer not in ("position", "revision"):
        return None
    shared = Scene(f"{scene.seed} {step.round}")  # both draw the same words from it
    said = position(shared, role, scene.holds[role])
    for name in ("claim", "rationale"):
        words = said[name].split()
        for n in range(len(words)):
            if scene.chance.random() < 0.04:
                words[n] = scene.chance.choice(("quite", "indeed", "simply"))
        said[name] = " ".join(words)
    scene.lines[role] = [said["claim"]]
    if step.answer == "position":
        return said
    asked = [turn.name for turn in heard if turn.target == step.actor]
    return {
        "responses": [{"sourceRole": one, "response": said["claim"]} for one in asked],
        "revisions": [{"change": "Nothing changed.", "reason": "No argument moved me."}],
        "claim": f"{said['claim']} {said['rationale']}",
        "rejects": [],
        "position": scene.holds[role],
        "confidence": 0.8,
    }


def _pair(scene: Scene) -> list[str]:
    return sorted(Random(scene.seed).sample(ROLES, 2), key=ROLES.index)


def _merges(scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices) -> Any:
    """The reader says that two opposites are one option: its own."""
    if step.answer != "reading":
        return None
    return reading(scene, heard, scene.options[:2])


def _opposed(scene: Scene) -> list[str]:
    """Both opposites are held, whoever reads."""
    scene.holds["Proponent"], scene.holds["Critic"] = scene.options[:2]
    return []


def _kept_two(made: Verdict, guilty: Sequence[str]) -> bool:
    """The opposites are two options, and the verdict says that they were merged."""
    return _warned(errors.WARN_OPPOSITES_KEPT)(made, guilty)


def _misquotes(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> Any:
    """It challenges words that its target never said."""
    if step.answer != "challenge" or not _is(scene, step, debate):
        return None
    words = Random(f"{scene.seed} lie")
    claim = " ".join(words.sample(LIES.split(), 6))
    return challenge(scene, step, debate, heard, f"“{claim}”" if words.random() < 0.5 else claim)


def _unsaid(made: Verdict, guilty: Sequence[str]) -> bool:
    quoted, claimed = errors.WARN_QUOTE_UNVERIFIED, errors.WARN_CLAIM_UNMADE
    return _warned(quoted)(made, guilty) or _warned(claimed)(made, guilty)


def _anybody(scene: Scene) -> list[str]:
    return [Random(scene.seed).choice(ROLES)]


FAULTS = (
    Fault("a juror takes the first option", _first, _flipped, _juror),
    Fault("a juror takes the longest speech", _longest,
          _warned(errors.WARN_BALLOT_UNWEIGHED), _juror),
    Fault("a juror takes the majority", _majority, _warned(errors.WARN_BALLOT_UNWEIGHED), _juror),
    Fault("a judge overrules everybody", _overrule, _contested, lambda _: [], jury=0),
    Fault("a debater yields to anything", _yields,
          _warned(errors.WARN_MOVED_UNREASONED), _yielder),
    Fault("a pair repeat each other", _repeats, _warned(errors.WARN_ECHO), _pair),
    Fault("a reader merges opposites", _merges, _kept_two, _opposed),
    Fault("a debater quotes what nobody said", _misquotes, _unsaid, _anybody),
)  # fmt: skip


def measure(fault: Fault, debates: int) -> Measured:
    """Hold so many debates with the fault, and as many without."""
    caught = accused = 0
    for n in range(debates):
        scene = Scene(f"{fault.name} {n}", fault.name)
        scene.guilty = tuple(fault.guilty(scene))
        caught += fault.shows(hold(scene, fault.jury, fault.script), scene.guilty)
        accused += fault.shows(_clean(n, fault.jury), ())
    return Measured(fault.name, debates, caught, accused)


@cache
def _clean(n: int, jury: int) -> Verdict:
    """The same clean debates are looked at for each fault."""
    return hold(Scene(f"clean {n}"), jury)


def first_slot_juries(debates: int) -> int:
    """Of so many juries in which everybody takes the first option, how many decide something."""
    decided = 0
    for n in range(debates):
        scene = Scene(f"first {n}")
        scene.guilty = tuple(f"Juror {place + 1}" for place in range(JURORS))
        decided += hold(scene, JURORS, _first)["selected"] is not None
    return decided


def rows(debates: int = 1000) -> list[Row]:
    """The table: each fault, how often it is caught, and how often clean debates are accused."""
    made: list[Row] = []
    for fault in FAULTS:
        found = measure(fault, debates)
        note = f"{found.caught} of {found.debates}"
        made.append(at_least(f"caught: {fault.name}", found.caught_percent, CAUGHT, "%", note))
        note = f"{found.accused} of {found.debates} clean ones"
        made.append(at_most("  false alarms", found.accused_percent, ACCUSED, "%", note))
    decided = first_slot_juries(debates)
    what = f"first-slot juries of {debates:,} that decide"
    return [*made, at_most(what, decided, 0, "juries")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.juries", description=__doc__)
    parser.add_argument("--debates", type=int, default=1000)
    table = rows(parser.parse_args().debates)
    show(table)
    sys.exit(1 if any(row.kept is False for row in table) else 0)
