"""The words that a small model is given to begin with, in the language of the motion."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from moot.core.language import languages, named

ENGLISH = "en"


class Words(BaseModel):
    """Those of a language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    yes: str
    no: str
    first: str
    openings: tuple[str, ...]
    pro: tuple[str, ...]
    con: tuple[str, ...]
    floor: str


@dataclass(frozen=True, slots=True)
class Tongue:
    """The language of a debate, as a small model is told of it."""

    code: str
    words: Words | None  # None: it finds its own

    @property
    def asked(self) -> str:
        """The sentence that asks for it; English needs none."""
        return "" if self.code == ENGLISH else f" Write in {named((self.code,))}."


@cache
def _all() -> dict[str, Words]:
    text = files("moot.models.local").joinpath("openings.toml").read_text("utf-8")
    return {code: Words.model_validate(one) for code, one in tomllib.loads(text).items()}


def tongue(motion: str) -> Tongue:
    """The language of a motion. One in Latin letters that is not clear is taken for English."""
    code = next(iter(languages(motion)), ENGLISH)
    return Tongue(code, _all().get(code))


def opening(words: Words, side: Literal["pro", "con"], spoken: int, other: str, again: bool) -> str:
    """Words that hold a speaker to its side: after "that would hurt", nothing good follows. They
    are others at each turn, of which it has `spoken` some, and lead elsewhere at a second try."""
    effects = words.pro if side == "pro" else words.con
    effect = effects[(spoken + (len(effects) // 2 if again else 0)) % len(effects)]
    chosen = words.openings[spoken % len(words.openings)]
    if not other and (spoken == 0 or "{other}" in chosen):
        chosen = words.first
    answer = words.yes if side == "pro" else words.no
    made = chosen.format(other=other, answer=answer, effect=effect)
    return made[0].upper() + made[1:]
