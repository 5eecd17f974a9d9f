"""The understudy's table of phrases, as `understudy.toml` has it."""

import tomllib
from functools import lru_cache
from importlib import resources

from pydantic import BaseModel, ConfigDict

from moot.core.debate import Stance

Lines = tuple[str, ...]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sides(_Table):
    """The same kind of sentence, for each stance."""

    pro: Lines
    con: Lines
    neutral: Lines

    def of(self, stance: Stance) -> Lines:
        return {"pro": self.pro, "con": self.con, "neutral": self.neutral}[stance]


class Consideration(Sides):
    """One thing that can be weighed about any motion: points, answers, questions."""

    label: str
    left: str  # what stays open about it
    keys: Lines  # beginnings of words that give it away
    ask: Lines
    answer_pro: Lines
    answer_con: Lines
    answer_neutral: Lines

    def answer(self, stance: Stance) -> Lines:
        answers = {"pro": self.answer_pro, "con": self.answer_con, "neutral": self.answer_neutral}
        return answers[stance]

    @property
    def every(self) -> Lines:
        answers = self.answer_pro + self.answer_con + self.answer_neutral
        return self.ask + self.pro + self.con + self.neutral + answers


class Engage(_Table):
    lines: Lines
    allied: Lines
    weighing: Lines


class Lead(_Table):
    first: Lines
    lines: Lines
    cued: Lines


class Conclusion(Sides):
    own: Lines
    other: Lines


class Introduction(_Table):
    lines: Lines
    for_: str
    against: str
    open: str
    many_for: str
    many_against: str
    many_open: str
    end: str


class Cue(_Table):
    opening_pro: Lines
    opening_con: Lines
    opening_neutral: Lines
    rebuttal: Lines
    quoting: Lines
    asking: Lines
    conclusion: Lines


class Summary(_Table):
    begin: str
    for_: str
    against: str
    open: str
    silent: str
    shared: str
    apart: str
    left: str
    end: str


class English(_Table):
    """Lists of words, parted by spaces."""

    pronouns: str
    determiners: str
    adverbs: str
    verbs: str
    doubled: str
    plain: str


class Phrases(_Table):
    considerations: tuple[Consideration, ...]
    general: Sides
    opener: Sides
    aside: Sides
    engage: Engage
    lead: Lead
    closer: Sides
    conclusion: Conclusion
    introduction: Introduction
    cue: Cue
    summary: Summary
    english: English


@lru_cache(maxsize=1)
def lines() -> Phrases:
    text = resources.files("moot.models").joinpath("understudy.toml").read_text(encoding="utf-8")
    return Phrases.model_validate(tomllib.loads(text))
