"""Councils whose every word is scripted, from a seed: clean ones, and ones with a planted fault.

No model and no clock. Each answer goes through the same checks as a model's, each juror reads the
options and the speeches as the engine would hand them out, and the outcome is moot's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from moot.core import answers, prompts, schedule
from moot.core.answers import UNDECIDED
from moot.core.debate import NO_USAGE, Debate, Turn
from moot.core.jury import Choices, blindfold, speeches
from moot.core.request import build
from moot.core.schedule import Step
from moot.outcome.stands import choices, votable
from moot.outcome.verdict import verdict
from moot.store.formats import FormatFiles

AT = "2026-11-18T12:00:00.000Z"
ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
JURORS = 3
FIRM = 0.97  # how often a careful speaker does as it should; people and models slip
THINGS = ("Postgres", "a four-day week", "the new depot", "remote interviews", "solar roofs")
WORDS = """audit backlog budget capacity clinic contract customer deadline delay demand depot driver
estimate failure figure forecast harvest incident interest invoice labour latency license margin
migration outage overhead pattern payment penalty pilot price queue rate recovery release rental
repair reserve restore review rollback route salary season server shift storage supplier survey
target tariff tenant timetable traffic training transfer upgrade vendor volume warranty workload"""
VERBS = "raises lowers delays doubles covers limits hides moves ends carries splits shows"


@dataclass
class Scene:
    """One council before it begins: what its speakers will say, and which of them is at fault."""

    seed: str
    fault: str | None = None
    chance: Random = field(init=False)
    options: tuple[str, ...] = field(init=False)  # the first and the second are opposites
    holds: dict[str, str] = field(init=False)  # who stands for which at first
    guilty: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.chance = chance = Random(self.seed)
        thing = chance.choice(THINGS)
        against = chance.choice((f"Do not adopt {thing}", f"Keep what we have without {thing}"))
        self.options = (f"Adopt {thing}", against, f"Run a trial of {thing} first")
        best, other, third = chance.sample(self.options, 3)
        spread = [best, best, best, other, chance.choice((other, third))]
        chance.shuffle(spread)
        self.holds = dict(zip(ROLES, spread, strict=True))
        self.best = best
        self.lines: dict[str, list[str]] = {}

    def sentence(self) -> str:
        words, verbs = self.chance.sample(WORDS.split(), 5), self.chance.choice(VERBS.split())
        return f"The {words[0]} {words[1]} {verbs} the {words[2]} {words[3]} of each {words[4]}."

    def speech(self, least: int = 2, most: int = 6) -> list[str]:
        return [self.sentence() for _ in range(self.chance.randint(least, most))]

    def careful(self) -> bool:
        return self.chance.random() < FIRM

    def reworded(self, option: str) -> str:
        """The same option in other words, as models change them from round to round."""
        tail = self.chance.choice(("", "", " now", " this year", ", as said"))
        return option + tail


Script = Callable[[Scene, Step, Debate, Sequence[Turn], Choices], dict[str, Any] | None]


def hold(scene: Scene, jury: int = JURORS, fault: Script | None = None) -> Mapping[str, Any]:
    """The verdict of a council. `fault` gives the answers of those who are at fault, and None for
    anybody else's."""
    debate = _debate(scene, jury)
    turns: list[Turn] = []
    for wave in schedule.waves(debate):
        together = list(wave)
        scene.chance.shuffle(together)  # whoever answers first is committed first
        heard = list(turns)
        given = votable(debate, turns) if together[0].reading else choices(debate, turns)
        for step in together:
            said = fault(scene, step, debate, heard, given) if fault else None
            data = said or honest(scene, step, debate, heard, given)
            turns.append(_turn(step, debate, data, given, len(turns) + 1))
    made = verdict(debate, turns)
    if made is None:
        raise RuntimeError("a council that begins now comes to a verdict")
    return made


@cache
def _template(jury: int) -> Debate:
    """Debaters and jurors of different families, so that nothing is doubtful about that."""
    families = ("openai", "claude", "gemini", "mistral", "deepseek")
    seats = [{"role": role, "model": f"{kin}:m"} for role, kin in zip(ROLES, families, strict=True)]
    return build(
        debate_id="debate_20261118_120000_aaaaaa",
        at=AT,
        motion="What should we do?",
        rules=FormatFiles(Path("/nowhere")).get("council"),
        default_model="xai:m",
        normalize=lambda model: (model, None),
        participants=seats,
        brief={"output_type": "decision"},
        jury={"size": jury, "models": [f"xai:{n}" for n in range(jury)]} if jury else None,
    )


def _debate(scene: Scene, jury: int) -> Debate:
    return _template(jury).but(motion=f"What should we do: {scene.options[0]}?")


def _turn(step: Step, debate: Debate, data: dict[str, Any], given: Choices, seq: int) -> Turn:
    shape = debate.rules.shape(step.answer)
    read = answers.read(step.answer, shape, data, prompts.known(step, debate, given))
    seat = debate.seat(step.actor)
    return Turn(
        seq=seq, round=step.round, stage=step.stage, actor=step.actor, name=seat.name,
        kind=step.kind, target=step.target, instruction=None, text=answers.spoken(shape, read),
        data=read, status="ok", error_code=None, model=seat.model, usage=NO_USAGE, started_at=AT,
        committed_at=AT,
    )  # fmt: skip


def honest(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> dict[str, Any]:
    """What somebody says who does as it was asked, most of the time."""
    role = debate.seat(step.actor).role
    match step.answer:
        case "position":
            return position(scene, role, scene.holds[role])
        case "challenge":
            return challenge(scene, step, debate, heard)
        case "revision":
            return revision(scene, step, debate, heard)
        case "reading":
            return reading(scene, heard)
        case "verdict":
            leading = max(given.options, key=lambda one: [*given.held.values()].count(one))
            return ruling(scene, leading, given, [turn.number for turn in heard if turn.round == 3])
        case _:
            return ballot(scene, step, debate, heard, given)


def position(scene: Scene, role: str, option: str) -> dict[str, Any]:
    claim, *rest = scene.speech(3, 7)
    scene.lines[role] = [claim, *rest]
    risk, sure = scene.sentence(), round(scene.chance.uniform(0.4, 0.95), 2)
    said = {"claim": claim, "rationale": " ".join(rest), "risks": [risk]}
    return {**said, "position": option, "confidence": sure}


def challenge(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], claim: str | None = None
) -> dict[str, Any]:
    """On something that the target said: word for word, in quotation marks or not, or retold."""
    target = debate.seat(step.target or "")
    said = next(turn for turn in heard if turn.actor == target.id and turn.round == 1)
    made = str((said.data or {})["claim"])
    manner = scene.chance.randrange(3)
    retold = " ".join(made.split()[1:-1])
    aimed = claim or (f"“{made}”", made, f"You say that {retold}")[manner]
    asked = [{"targetRole": target.name, "claim": aimed, "question": scene.sentence()}]
    return {"challenges": asked}


def revision(scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn]) -> dict[str, Any]:
    """A careful speaker keeps its option, perhaps in other words; or moves, and names the turn
    that moved it."""
    seat = debate.seat(step.actor)
    asked = [turn for turn in heard if turn.target == seat.id]
    mine = scene.holds[seat.role]
    others = [turn for turn in asked if scene.holds[turn.name] == scene.best != mine]
    if others and scene.chance.random() < 0.5:
        moved = others[0]
        named = [moved.number] if scene.careful() else []
        reason = scene.sentence()
        changes = [{"change": "I change my position.", "reason": reason, "turns": named}]
        return _revised(scene, asked, changes, scene.best, [mine])
    changes = [{"change": "Nothing changed.", "reason": "No argument moved me."}]
    elsewhere = sorted(set(scene.holds.values()) - {mine})
    rejects = [one for one in elsewhere if scene.chance.random() < 0.7]
    return _revised(scene, asked, changes, scene.reworded(mine), rejects)


def _revised(
    scene: Scene,
    asked: Sequence[Turn],
    changes: Sequence[Mapping[str, Any]],
    option: str,
    rejects: Sequence[str],
) -> dict[str, Any]:
    replies = [{"sourceRole": one.name, "response": " ".join(scene.speech(1, 3))} for one in asked]
    return {
        "responses": replies,
        "revisions": list(changes),
        "claim": " ".join(scene.speech(2, 4)),
        "rejects": list(rejects),
        "position": option,
        "confidence": round(scene.chance.uniform(0.4, 0.95), 2),
    }


def reading(
    scene: Scene, heard: Sequence[Turn], merged: Sequence[str] | None = None
) -> dict[str, Any]:
    """Which wordings are one option: those that only differ in how they are worded."""
    said = [turn.data for turn in heard if turn.data and "position" in turn.data]
    stated = {str(data["position"]) for data in said}
    groups = [sorted(one for one in stated if one.startswith(option)) for option in scene.options]
    if merged:
        wanted = [one for group in groups for one in group if group[0].startswith(tuple(merged))]
        groups = [sorted(wanted)]
    cited = [turn.number for turn in heard if turn.round == 3][:2]
    same = [{"wordings": group, "option": group[0]} for group in groups if len(group) > 1]
    return {
        "agreements": [],
        "disagreements": [{"text": scene.sentence(), "turns": cited}],
        "same": same,
    }


def ruling(scene: Scene, choice: str, given: Choices, cited: Sequence[int]) -> dict[str, Any]:
    rejected = [one for one in given.options if one != choice][:3]
    own = {"otherOption": choice} if choice not in given.options else {}
    due = {"action": "Begin.", "owner": "Ada", "due": "2026-12-01", "turns": []}
    risk = {"risk": scene.sentence(), "severity": "low", "mitigation": "Cap it.", "turns": []}
    return {
        "whySelected": [{"text": scene.sentence(), "turns": list(cited)[:2]}],
        "rejectedOptions": [
            {"option": one, "reason": scene.sentence(), "turns": []} for one in rejected
        ],
        "choice": "other" if own else choice,
        **own,
        "risks": [risk],
        "nextActions": [due],
        "questions": [],
    }


def ballot(
    scene: Scene, step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> dict[str, Any]:
    """A careful juror chooses on what was said, quotes it, and knows what speaks against it."""
    if step.reading == "alone":
        return cast(scene, scene.chance.choice(given.options), [], [], [])
    sure = Random(f"{scene.seed} {step.actor}").random() < 0.85  # the same in both orders
    named = scene.best if sure else min(scene.holds.values())
    if not any(one.startswith(named) for one in given.options):  # everybody has left it
        first = given.options[0]
        named = next((one for one in scene.options if first.startswith(one)), first)
    choice = next(one for one in given.options if one.startswith(named))
    read = _read(step, debate, heard, given)
    mine = [(turn, text) for turn, text in read if given.held.get(turn.actor) == choice]
    others = [turn for turn, _ in read if not stood(scene, turn).startswith(named)]
    turn, text = scene.chance.choice(mine or read)
    words = max(text.splitlines(), key=len)
    against = [scene.chance.choice(others).number] if others and scene.careful() else []
    return cast(scene, choice, [turn.number], [words], against)


def stood(scene: Scene, turn: Turn) -> str:
    """What its speaker stood for when it said this."""
    return str((turn.data or {}).get("position") or scene.holds[turn.name])


def _read(
    step: Step, debate: Debate, heard: Sequence[Turn], given: Choices
) -> list[tuple[Turn, str]]:
    """The speeches as a juror reads them."""
    blind = blindfold(debate, step.actor, step.reading, given)
    return [(turn, text) for _, turn, text in speeches(debate, heard, blind)]


def cast(
    scene: Scene, choice: str, cited: Sequence[int], quotes: Sequence[str], against: Sequence[int]
) -> dict[str, Any]:
    reason = {"text": scene.sentence(), "turns": list(cited), "quotes": list(quotes)}
    return {
        "reasons": [reason],
        "against": {"text": scene.sentence(), "turns": list(against)},
        "choice": choice,
        "confidence": round(scene.chance.uniform(0.5, 0.95), 2),
        "wouldChange": scene.sentence(),
        "questions": [scene.sentence()] if choice == UNDECIDED else [],
    }
