"""What a format file says, and its validation: a format is data, and adding one takes no code."""

import hashlib
import json
import re
import string
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    field_validator,
    model_validator,
)

from moot.errors import InputError

PLACEHOLDERS = frozenset({"name", "stance", "target", "motion", "stage", "round", "rounds"})
"""What an ask or a cue may mention in braces."""

MAX_PARTICIPANTS = 12
MAX_TURNS = 2000

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Role = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{0,39}$")]
Text = Annotated[str, Field(min_length=1, max_length=4000)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Roster(_Part):
    """Who must be there: so many participants, or one for each role."""

    roles: tuple[Role, ...] = Field(default=(), strict=False)
    min: int = Field(default=2, ge=1, le=MAX_PARTICIPANTS)
    max: int = Field(default=MAX_PARTICIPANTS, ge=1, le=MAX_PARTICIPANTS)
    host: Literal["required", "optional", "none"] = "none"
    order: Literal["given", "stance"] = "given"  # stance: pro before con, then neutral

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, which is more than max, {self.max}")
        if len({role.lower() for role in self.roles}) != len(self.roles):
            raise ValueError("roles: each role has one seat")
        if self.roles and self.host != "none":
            raise ValueError("roles: a cast of roles has no host")
        return self


class Option(_Part):
    """A whole number that a debate may set."""

    default: int
    min: int = Field(ge=0)
    max: int = Field(le=MAX_TURNS)
    help: Text

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if not self.min <= self.default <= self.max:
            raise ValueError(f"default {self.default} lies outside {self.min}..{self.max}")
        return self


class Stage(_Part):
    """One stretch of the debate: who speaks, how often, and what is asked of them."""

    name: Slug
    speakers: Literal["participants", "host"] | Annotated[tuple[Role, ...], Strict(False)] = (
        "participants"  # or some of the roles
    )
    kind: Literal["speech", "summary", "verdict"] = "speech"
    prelude: bool = False  # stands in round 0, before the first
    needs_host: bool = False  # left out of a debate that has no host
    rounds: int | Slug = 1  # a number, or the option that holds it; 0 is until max_turns
    together: bool = False  # all speak at once, unseen by each other
    cued: bool = False  # the host hands each the floor
    sees: Literal["all", "none", "own"] = "all"
    answer: Literal["text", "position", "challenge", "revision", "reading", "verdict"] = "text"
    targets: Mapping[Role, Role] = {}  # whom each role speaks to
    ask: Text
    cue: Text | None = None  # the instruction that the host's cue is spoken to

    @field_validator("ask", "cue")
    @classmethod
    def _placeholders(cls, text: str | None) -> str | None:
        try:
            named = {name for _, name, _, _ in string.Formatter().parse(text or "")} - {None}
        except ValueError as error:
            raise ValueError(f"a brace that is not closed: {error}") from None
        if unknown := sorted(str(name) for name in named if name not in PLACEHOLDERS):
            known = ", ".join(sorted(PLACEHOLDERS))
            raise ValueError(f"{{{unknown[0]}}} is not a placeholder; there are {known}")
        return text

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.cued and self.together:
            raise ValueError("cued and together exclude each other: the host cues one at a time")
        if self.cued and self.cue is None:
            raise ValueError("cued = true needs a cue, the instruction for the host")
        if self.cue is not None and not self.cued:
            raise ValueError("a cue is only spoken with cued = true")
        if self.cued and self.speakers == "host":
            raise ValueError("the host does not cue itself: speakers must be participants")
        if isinstance(self.rounds, int) and not 0 <= self.rounds <= MAX_TURNS:
            raise ValueError(f"rounds must be 0..{MAX_TURNS}")
        single = self.prelude or self.speakers == "host" or self.kind != "speech"
        if single and self.rounds != 1:
            raise ValueError("a prelude, a summary and a host's stage have exactly one round")
        if self.answer == "challenge" and not self.targets:
            raise ValueError("a challenge needs targets: who challenges whom")
        return self


def _unset(value: object) -> bool:
    """What older debates do not have stays out of their files."""
    return value is None


class Format(_Part):
    """The rules of one kind of debate."""

    name: Slug
    title: Text
    description: Text  # one or two sentences for people who choose
    rules: Text  # told to every speaker
    host: Text | None = Field(default=None, exclude_if=_unset)  # told to the host: how to lead it
    ends: Literal["finished", "max_rounds", "max_turns"] = "finished"
    on_failure: Literal["pause", "degrade"] = "pause"
    max_turns: int | None = Field(default=None, ge=1, le=MAX_TURNS)  # for stages without a count
    closing: Text = (
        "Close the debate with a summary: the strongest point of each side, what was agreed, "
        "what stays open. Add no new argument."
    )  # asked when the debate is ended before its own summary
    outcome: Literal["transcript", "packet"] = "transcript"  # what is left at the end
    roster: Roster = Roster()
    options: Mapping[Slug, Option] = {}
    stages: tuple[Stage, ...] = Field(min_length=1, strict=False)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        seen: set[str] = set()
        endless = False
        for place, stage in enumerate(self.stages):
            where = f"stage {stage.name!r}"
            if stage.name == "closing":
                raise ValueError(f"{where}: that name is kept for a debate that is ended early")
            if stage.name in seen:
                raise ValueError(f"{where}: the name is taken by an earlier stage")
            seen.add(stage.name)
            if isinstance(stage.rounds, str) and stage.rounds not in self.options:
                raise ValueError(f"{where}, rounds: there is no option {stage.rounds!r}")
            if stage.prelude and place > 0:
                raise ValueError(f"{where}: only the first stage can be a prelude")
            self._check_roles(stage, where)
            hosted = stage.cued or stage.speakers == "host"
            if hosted and self.roster.host == "none":
                raise ValueError(f"{where} needs a host, and the roster has none")
            if hosted and self.roster.host == "optional" and not stage.needs_host:
                raise ValueError(f"{where} needs a host, who is optional: set needs_host = true")
            if endless and stage.speakers == "participants":
                raise ValueError(f"{where} comes after a stage that may have no end")
            endless = endless or self._may_be_endless(stage)
        if endless and self.max_turns is None:
            raise ValueError("max_turns: a stage may go on until max_turns, so give its default")
        if all(stage.needs_host or stage.kind == "summary" for stage in self.stages):
            raise ValueError("stages: without a host nobody would speak")
        return self

    def _check_roles(self, stage: Stage, where: str) -> None:
        named = {*stage.targets, *stage.targets.values()}
        named |= set(stage.speakers) if isinstance(stage.speakers, tuple) else set()
        if unknown := sorted(named - set(self.roster.roles)):
            raise ValueError(f"{where}: the roster has no role {unknown[0]!r}")

    def _may_be_endless(self, stage: Stage) -> bool:
        if isinstance(stage.rounds, int):
            return stage.rounds == 0
        return self.options[stage.rounds].min == 0

    def __hash__(self) -> int:
        return hash((self.name, self.title, len(self.stages)))  # cheap; equality tells the rest

    @property
    def summary(self) -> Stage | None:
        """The host's last word, if the format has one."""
        last = self.stages[-1]
        return last if last.kind == "summary" and last.speakers == "host" else None


def parse(text: str, source: str) -> Format:
    """Read a format file. An error names the file, the stage and the field."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not valid TOML: {error}", field="format") from None
    try:
        return Format.model_validate(table)
    except ValidationError as error:
        raise InputError(f"{source}: {_first(error, table)}", field="format") from None


def _first(error: ValidationError, table: Mapping[str, Any]) -> str:
    problem = error.errors(include_url=False)[0]
    message = re.sub(r"^Value error, ", "", problem["msg"])
    path = list(problem["loc"])
    words: list[str] = []
    if len(path) >= 2 and path[0] == "stages" and isinstance(path[1], int):
        stages = table.get("stages", [])
        named = stages[path[1]].get("name") if isinstance(stages[path[1]], dict) else None
        words.append(f"stage {named!r}" if named else f"stage {path[1] + 1}")
        path = path[2:]
    if path:
        words.append("field " + ".".join(str(part) for part in path if part != "constrained-str"))
    return f"{', '.join(words)}: {message}" if words else message


def to_json(rules: Format) -> str:
    """The format as one canonical line of JSON, for keeping beside a debate."""
    return json.dumps(rules.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)


def from_json(text: str) -> Format:
    return Format.model_validate_json(text, strict=False)


def digest(rules: Format) -> str:
    return hashlib.sha256(to_json(rules).encode()).hexdigest()[:32]
