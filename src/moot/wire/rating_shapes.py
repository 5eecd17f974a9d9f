"""The shape of ratings: how models have done, in each role."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict


class RatedStrength(TypedDict):
    """The chance of a model before a jury against one of middling strength."""

    model: str
    chance: float
    low: Annotated[float, Field(description="Of the interval of 95%, as is `high`.")]
    high: float
    debates: int


class RatedRecord(TypedDict):
    """What one model did in one role."""

    model: str
    role: str
    debates: int
    judged: Annotated[int, Field(description="Debates in which a jury chose an option.")]
    won: Annotated[int, Field(description="Of these, those in which it chose the model's.")]
    brier: Annotated[float | None, Field(description="Of the model, in all its roles.")]
    movedOthers: int
    wasMoved: int
    calls: int
    tokens: int
    costUsd: float


class RatedDepth(TypedDict):
    """Debates with the depth `auto` in which two seats agreed."""

    early: int
    checked: int
    differed: int


class Ratings(TypedDict):
    """How models have done in the debates that came to an outcome."""

    debates: int
    older: Annotated[bool, Field(description="There are older debates, which do not count here.")]
    strengths: Annotated[list[RatedStrength], Field(description="By Bradley and Terry.")]
    lacks: Annotated[
        str | None, Field(description="How to install what strengths are computed with.")
    ]
    records: list[RatedRecord]
    noted: Annotated[int, Field(description="Decisions of which somebody noted what came.")]
    depth: RatedDepth
