"""The understudy's table of phrases for a council, as `understudy_council.toml` has it."""

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict

Side = Literal["yes", "no", "third"]
Severity = Literal["high", "medium", "low"]
Lines = tuple[str, ...]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Three(_Table):
    """The same kind of sentence, for each side."""

    yes: str
    no: str
    third: str

    def of(self, side: Side) -> str:
        return {"yes": self.yes, "no": self.no, "third": self.third}[side]


class Options(_Table):
    """The options that a kind of problem has, each in several wordings."""

    noun: str  # what the third way is called within a sentence
    yes: Lines
    no: Lines
    third: Lines

    def of(self, side: Side) -> Lines:
        return {"yes": self.yes, "no": self.no, "third": self.third}[side]


class RiskLine(_Table):
    text: str
    severity: Severity
    mitigation: str


class Lens(_Table):
    """One thing to look at, whatever the problem."""

    label: str
    steps: bool = False  # fits something one does
    views: bool = False  # fits something one claims
    ours: bool = False  # fits only what we ourselves do
    claim: Three
    why: Three
    ask: Three  # by the side of the one who is asked
    answer: Three  # by the side of the one who answers
    do: RiskLine
    wait: RiskLine


class Constraint(RiskLine):
    why: str
    kept: str


class Asking(_Table):
    """What leads up to a challenge; a role that is not one of the five takes `other`."""

    Proponent: Lines
    Critic: Lines
    Analyst: Lines
    Synthesizer: Lines
    Judge: Lines
    other: Lines
    unheard: str
    unheard_answer: str
    unheard_claim: str

    def of(self, role: str) -> Lines:
        return {
            "Proponent": self.Proponent,
            "Critic": self.Critic,
            "Analyst": self.Analyst,
            "Synthesizer": self.Synthesizer,
            "Judge": self.Judge,
        }.get(role, self.other)


class Revising(_Table):
    general_yes: Lines
    general_no: Lines
    general_third: Lines
    move: Lines
    stay: Lines
    narrow: Lines
    late: str
    late_why: str
    to_third: str
    to_side: str
    to_any: str
    kept: str
    conditioned: str
    unchallenged: str
    quiet: str
    held: Lines
    held_asked: Lines
    theme: str

    def general(self, side: Side) -> Lines:
        return {"yes": self.general_yes, "no": self.general_no, "third": self.general_third}[side]


class ReadingLines(_Table):
    together: str
    together_all: str
    moved: str
    moved_after: str
    risk: str
    apart: str
    question: str
    nobody: str


class VerdictLines(_Table):
    most: str
    most_one: str
    most_all: str
    best: str
    won: str
    none: str
    held: str
    held_plain: str
    left: str
    mitigation: str
    severity: Severity


class ActionLine(_Table):
    text: str
    owner: str
    days: int


class ActionSides(_Table):
    yes: tuple[ActionLine, ...]
    no: tuple[ActionLine, ...]
    third: tuple[ActionLine, ...]

    def of(self, side: Side) -> tuple[ActionLine, ...]:
        return {"yes": self.yes, "no": self.no, "third": self.third}[side]


class Actions(_Table):
    steps: ActionSides
    views: ActionSides
    other: tuple[ActionLine, ...]


class English(_Table):
    tasks: str  # verbs that a problem may begin with


class CouncilPhrases(_Table):
    kinds: dict[str, Options]
    lenses: tuple[Lens, ...]
    constraint: Constraint
    challenge: Asking
    revision: Revising
    reading: ReadingLines
    verdict: VerdictLines
    actions: Actions
    output: dict[str, ActionLine]
    english: English


@lru_cache(maxsize=1)
def council_lines() -> CouncilPhrases:
    name = "understudy_council.toml"
    text = resources.files("moot.models").joinpath(name).read_text(encoding="utf-8")
    return CouncilPhrases.model_validate(tomllib.loads(text))
