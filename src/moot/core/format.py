"""What a format file says, and its validation: a format is data, and adding one takes no code."""

import difflib
import hashlib
import json
import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    model_validator,
)

from moot.core.answers import Answer, same, unset
from moot.core.answers import Field as AnswerField
from moot.core.built_in import BUILT_IN
from moot.core.clean import visible
from moot.errors import InputError

PLACEHOLDERS = frozenset({"name", "stance", "target", "motion", "stage", "round", "rounds"})
"""What an ask or a cue may mention in braces."""

MAX_PARTICIPANTS = 12
MAX_JURORS = 11
EDITION = 9
"""By which rules the documents of a debate are made that begins now. 1: debates that began before
there were juries, whose packets must come out as they did. 2: those that began before turns had
numbers of their own, and that cite a turn by its seq. 3: those that began before what a debate
cost was one figure with every call in it, and unknown prices were said to be unknown. 4: those that
began before quotes were checked as they are said, in texts too. 5: those that began before an
option that nobody holds any more counted as one that few do. 6: those that began before options
were known to be opposites by more than a plain negation, and more makers of models by name. 7:
those that began before a jury was asked only about options that somebody still holds. 8: those that
began before a judge whom nobody else's position backs or opposes was said to stand alone."""
MAX_TURNS = 2000

_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Role = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{0,39}$")]
Text = Annotated[str, Field(min_length=1, max_length=4000)]
Effort = Literal["none", "low", "medium", "high"]
Title = Annotated[str, Field(max_length=60, pattern=r"^[^\x00-\x1f\x7f]+$")]


def titled(name: str) -> str:
    """A stage's name as people would write it: `round1` is Round 1, `open-floor` Open floor."""
    words = re.sub(r"[-_]+", " ", name)
    return re.sub(r"(?<=[a-z])(?=[0-9])", " ", words).strip().capitalize()


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RoleSeat(_Part):
    """A role with what its seat is told, and the model that speaks for it unless one is named."""

    name: Role
    brief: Text | None = Field(default=None, exclude_if=unset)
    model: Text | None = Field(default=None, exclude_if=unset)


class JurySize(_Part):
    """The jury that a format has unless a debate says otherwise."""

    size: int = Field(default=3, ge=1, le=MAX_JURORS)
    swap: bool = True  # each juror reads the debate twice, in two orders
    baseline: bool = True  # each juror also votes before it has heard anything


class Roster(_Part):
    """Who must be there: so many participants, or one for each role."""

    roles: tuple[Role | RoleSeat, ...] = Field(default=(), strict=False)
    min: int = Field(default=2, ge=1, le=MAX_PARTICIPANTS)
    max: int = Field(default=MAX_PARTICIPANTS, ge=1, le=MAX_PARTICIPANTS)
    host: Literal["required", "optional", "none"] = "none"
    order: Literal["given", "stance"] = "given"  # stance: pro before con, then neutral
    jury: JurySize | None = Field(default=None, exclude_if=unset)

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, which is more than max, {self.max}")
        if len({name.lower() for name in self.names}) != len(self.roles):
            raise ValueError("roles: each role has one seat")
        if self.roles and self.host != "none":
            raise ValueError("roles: a cast of roles has no host")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the roles."""
        return tuple(role if isinstance(role, str) else role.name for role in self.roles)

    def role(self, name: str) -> RoleSeat | None:
        """What the file says of a role, if it says more than its name."""
        return next(
            (one for one in self.roles if isinstance(one, RoleSeat) and one.name == name), None
        )


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


class Past(_Part):
    """What was said in a stage before a debate began that continues another one."""

    first_round: int = Field(ge=0)
    rounds: int = Field(ge=1)
    turns: int = Field(ge=1)


class Screen(_Part):
    """Two seats answer before the debate, which is left out if they agree. See core/depth.py."""

    stages: tuple[Slug, ...] = Field(min_length=1, strict=False)
    audit: float = Field(ge=0, le=1)  # the share that is held in full all the same


class Stage(_Part):
    """One stretch of the debate: who speaks, how often, and what is asked of them."""

    name: Slug
    title: Title | None = Field(default=None, exclude_if=lambda title: title is None)
    speakers: (
        Literal["participants", "host", "jury"] | Annotated[tuple[Role, ...], Strict(False)]
    ) = "participants"  # or some of the roles
    kind: Literal["speech", "summary", "verdict"] = "speech"
    prelude: bool = False  # stands in round 0, before the first
    needs_host: bool = False  # left out of a debate that has no host
    rounds: int | Slug = 1  # a number, or the option that holds it; 0 is until max_turns
    together: bool = False  # all speak at once, unseen by each other
    cued: bool = False  # the host hands each the floor
    sees: Literal["all", "none", "own"] = "all"
    answer: Slug = "text"  # plain text, or the name of an answer's shape
    tokens: int | None = Field(default=None, ge=128, le=32_768, exclude_if=unset)
    seconds: float | None = Field(default=None, ge=5, le=900, exclude_if=unset)
    until: Literal["agreement"] | None = Field(default=None, exclude_if=unset)
    """agreement: the stage is over once all its speakers take the same position."""
    effort: Effort | None = Field(default=None, exclude_if=unset)  # how hard its models think
    on_failure: Literal["pause", "degrade"] | None = Field(default=None, exclude_if=unset)
    outsider: bool = Field(default=False, exclude_if=unset)  # reads its own turns like anybody's
    readers: Literal["all", "debaters"] = Field(default="all", exclude_if=lambda who: who == "all")
    """Who reads the sources. debaters: the speakers of this stage do not, and know of them only
    what was said, with the quotes that were verified."""
    targets: Mapping[Role, Role] = {}  # whom each role speaks to
    ask: Text
    alone: Text | None = Field(default=None, exclude_if=unset)  # asked of jurors who heard nothing
    cue: Text | None = None  # the instruction that the host's cue is spoken to
    past: Past | None = Field(default=None, exclude_if=unset)
    """If nothing more is asked in it: set when a debate is forked, never by a file."""
    seats: tuple[str, ...] = Field(default=(), strict=False, exclude_if=unset)
    """The ids of those of its speakers who speak: set when a debate begins, never by a file."""

    @property
    def heading(self) -> str:
        """What people read: the title or, where there is none, the name as a title."""
        return self.title or titled(self.name)

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
        votes = (self.kind, self.answer, self.together, self.rounds) == (
            "verdict",
            "ballot",
            True,
            1,
        )
        if self.speakers == "jury" and not votes:
            raise ValueError(
                'a jury votes: its stage has kind = "verdict", answer = "ballot", together = true '
                "and one round"
            )
        if self.alone and self.speakers != "jury":
            raise ValueError('alone is asked of a jury: set speakers = "jury"')
        return self


class Outcome(_Part):
    """What the debate comes to, and which stages it follows from."""

    stands: tuple[Slug, ...] = Field(default=(), max_length=10, strict=False)
    """The stages in which positions are stated, the latest first. Without any, a jury decides
    between the sides of the motion."""
    reading: Slug | None = Field(default=None, exclude_if=unset)
    """The stage that says which positions are one option in other words."""
    verdict: Slug | None = Field(default=None, exclude_if=unset)
    """The stage that decides; without one, the option that most stand for is selected."""
    packet: bool = True
    record: bool = True  # whether a note is written among the user's own records


COUNCIL = Outcome(stands=("round3", "round1"), reading="consensus", verdict="judge")
"""What `outcome = "packet"` meant, before a format could say more: debates of that time have it."""


class Format(_Part):
    """The rules of one kind of debate."""

    model_config = ConfigDict(serialize_by_alias=True)

    name: Slug
    title: Text
    purpose: Title | None = Field(default=None, exclude_if=unset)
    """What people choose it for, in a few words; the title if there is none."""
    description: Text  # one or two sentences for people who choose
    guidance: Text = Field(  # told to every speaker; the JSON of debates has always called it rules
        validation_alias=AliasChoices("guidance", "rules"), serialization_alias="rules"
    )
    host: Text | None = Field(default=None, exclude_if=unset)  # told to the host: how to lead it
    ends: Literal["finished", "max_rounds", "max_turns"] = "finished"
    on_failure: Literal["pause", "degrade"] = "pause"
    max_turns: int | None = Field(default=None, ge=1, le=MAX_TURNS)  # for stages without a count
    closing: Text = (
        "Close the debate with a summary: the strongest point of each side, what was agreed, "
        "what stays open. Add no new argument."
    )  # asked when the debate is ended before its own summary
    outcome: Literal["transcript", "packet"] | Outcome = "transcript"  # what is left at the end
    edition: int = Field(default=1, ge=1, exclude_if=lambda edition: edition == 1)
    """By which rules its outcome is made: set when a debate begins, never by a file."""
    screen: Screen | None = Field(default=None, exclude_if=unset)
    """Of a debate whose depth is found out: set when it begins, never by a file."""
    roster: Roster = Roster()
    options: Mapping[Slug, Option] = {}
    answers: Mapping[Slug, Answer] = Field(default={}, exclude_if=unset)  # shapes of its own
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
            endless = endless or self.may_be_endless(stage)
        if endless and self.max_turns is None:
            raise ValueError("max_turns: a stage may go on until max_turns, so give its default")
        spoken = [stage for stage in self.stages if stage.speakers != "jury"]
        held = any(stage.past for stage in spoken)
        if not held and all(stage.needs_host or stage.kind == "summary" for stage in spoken):
            raise ValueError("stages: without a host nobody would speak")
        return self

    def _check_roles(self, stage: Stage, where: str) -> None:
        named = {*stage.targets, *stage.targets.values()}
        named |= set(stage.speakers) if isinstance(stage.speakers, tuple) else set()
        if unknown := sorted(named - set(self.roster.names)):
            raise ValueError(f"{where}: the roster has no role {unknown[0]!r}")
        if stage.answer != "text" and stage.answer not in {*BUILT_IN, *self.answers}:
            known = ", ".join(("text", *BUILT_IN, *self.answers))
            raise ValueError(f"{where}, answer: there is no {stage.answer!r}; there are {known}")

    def may_be_endless(self, stage: Stage) -> bool:
        if isinstance(stage.rounds, int):
            return stage.rounds == 0
        return self.options[stage.rounds].min == 0

    def rounds_of(self, stage: Stage) -> int:
        """How many rounds a stage has unless a debate says otherwise; 0: until max_turns."""
        return stage.rounds if isinstance(stage.rounds, int) else self.options[stage.rounds].default

    def shape(self, answer: str) -> Answer:
        """The shape of an answer, by its name."""
        return BUILT_IN.get(answer) or self.answers[answer]

    def stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    @property
    def jury(self) -> Stage | None:
        """The stage in which a jury votes."""
        return next((stage for stage in self.stages if stage.speakers == "jury"), None)

    @property
    def before(self) -> tuple[str, ...]:
        """The stages in which two seats answer before the debate; a fork keeps them."""
        return tuple(stage.name for stage in self.stages if stage.seats)

    @property
    def unheard(self) -> tuple[str, ...]:
        """The stages that are read by nobody who speaks in another: those before the debate, unless
        they are what it is decided by."""
        stands = self.result.stands if self.result else ()
        return tuple(name for name in self.before if name not in stands)

    @property
    def result(self) -> Outcome | None:
        """What the debate comes to, if it is to come to a decision."""
        if isinstance(self.outcome, str):
            return COUNCIL if self.outcome == "packet" else None
        return self.outcome

    @property
    def numbers_turns(self) -> bool:
        """Whether its turns are numbered 1, 2, 3 …; otherwise the number of a turn is its seq."""
        return self.edition > 2

    @property
    def checks_quotes(self) -> bool:
        """Whether each quote is checked before its turn is committed."""
        return self.edition > 4

    def __hash__(self) -> int:
        return hash((self.name, self.title, len(self.stages)))  # cheap; equality tells the rest

    @property
    def summary(self) -> Stage | None:
        """The host's last word, if the format has one; a jury may vote after it."""
        spoken = [stage for stage in self.stages if stage.speakers != "jury"]
        last = spoken[-1] if spoken else self.stages[-1]
        return last if last.kind == "summary" and last.speakers == "host" else None


def parse(text: str, source: str) -> Format:
    """Read a format file. An error names the file, the stage and the field."""
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # a number may have more digits than Python reads
        raise InputError(f"{source}: not valid TOML: {error}", field="format") from None
    except RecursionError:
        raise InputError(f"{source}: it is nested too deeply", field="format") from None
    return read_table(table, source)


def read_table(table: Mapping[str, Any], source: str) -> Format:
    """A format that can run to its end, from what its file holds."""
    try:
        rules = Format.model_validate(table)
        check(rules)
    except ValidationError as error:
        raise InputError(f"{source}: {_first(error, table)}", field="format") from None
    except ValueError as error:
        raise InputError(f"{source}: {error}", field="format") from None
    return rules


# --- whether it can run ---


def check(rules: Format) -> None:
    """Refuse a format that has the right shape and could not run to its end. The rules of a debate
    that has begun are not asked again: they may be older than a check."""
    _check_texts(rules)
    if rules.edition != 1:
        raise ValueError("field edition: moot sets it when a debate begins; leave it out")
    if past := next((stage.name for stage in rules.stages if stage.past), None):
        raise ValueError(f"stage {past!r}, field past: moot sets it in a fork; leave it out")
    if rules.screen:
        raise ValueError("field screen: moot sets it when a debate begins; leave it out")
    if seated := next((stage.name for stage in rules.stages if stage.seats), None):
        raise ValueError(f"stage {seated!r}, field seats: moot sets it; name roles in speakers")
    if len(rules.roster.roles) > MAX_PARTICIPANTS:
        raise ValueError(f"field roster.roles: {MAX_PARTICIPANTS} roles are the most")
    endless = None
    for stage in rules.stages:
        where = f"stage {stage.name!r}, field"
        if stage.speakers == ():
            raise ValueError(f"{where} speakers: the list is empty, so nobody would speak")
        if endless and stage.speakers not in ("host", "jury"):
            raise ValueError(f"{where} speakers: it comes after {endless!r}, which may have no end")
        endless = stage.name if rules.may_be_endless(stage) else endless
        if stage.answer != "text":
            _check_answer(rules, stage, where)
        if stage.until:
            _check_until(rules, stage, where)
    juries = [stage.name for stage in rules.stages if stage.speakers == "jury"]
    if juries and rules.roster.jury is None:
        raise ValueError(f"stage {juries[0]!r}, field speakers: say in [roster.jury] who votes")
    if len(juries) > 1:
        raise ValueError(f"stage {juries[1]!r}, field speakers: a jury votes once")
    after = [stage.name for stage in rules.stages]
    after = after[after.index(juries[0]) + 1 :] if juries else []
    if late := [name for name in after if rules.stage(name).kind == "speech"]:
        raise ValueError(f"stage {late[0]!r}: a jury hears the whole debate, so it votes later")
    if taken := sorted(set(rules.answers) & {"text", *BUILT_IN}):
        raise ValueError(f"field answers.{taken[0]}: that shape is built in; choose another name")
    for name, shape in rules.answers.items():
        _check_choices(f"field answers.{name}", shape.fields)
    if rules.result:
        _check_outcome(rules, rules.result)
    _check_length(rules)


def _check_answer(rules: Format, stage: Stage, where: str) -> None:
    """Whoever must be known for an answer is known."""
    shape = rules.shape(stage.answer)
    if stage.speakers == "host":
        raise ValueError(f"{where} answer: the host speaks in plain text")
    missing = [role for role in _roles(rules, stage) if role not in stage.targets]
    if shape.aims and (missing or not rules.roster.roles):
        who = f"the {missing[0]}" if missing else "each speaker"
        raise ValueError(f"{where} targets: {stage.answer} is aimed at somebody. At whom by {who}?")
    result = rules.result
    if stage.speakers == "jury" and not (result and result.stands):
        return  # it chooses between the sides of the motion
    if shape.needs_options and not (result and _stated_before(rules, result, stage)):
        raise ValueError(
            f"{where} answer: {stage.answer} chooses among the stated options; an earlier "
            "stage of outcome.stands must state some"
        )


def _check_choices(where: str, fields: Mapping[str, AnswerField]) -> None:
    """Each choice can be made: it is what is left of a model's answer once that was cleaned."""
    for key, field in fields.items():
        here = f"{where}.fields.{key}"
        known: dict[str, str] = {}
        for choice in field.choices:
            if choice != " ".join(visible(choice).split()):
                raise ValueError(
                    f"{here}.choices: {choice!r} has blanks at its ends, two in a row, or "
                    "characters that nobody sees, so no model could choose it; take them out"
                )
            other = known.setdefault(same(choice), choice)
            if other != choice:
                raise ValueError(
                    f"{here}.choices: {other!r} and {choice!r} differ only in case or encoding, so "
                    "moot could not tell which was chosen; keep one"
                )
        _check_choices(here, field.fields)


def _check_until(rules: Format, stage: Stage, where: str) -> None:
    """A stage that lasts until agreement can come to one, and before its last round."""
    if stage.answer == "text" or rules.shape(stage.answer).stand is None:
        raise ValueError(
            f"{where} until: nobody takes a position in it. Its answer needs a line called "
            "position, or a choice called choice"
        )
    most = stage.rounds if isinstance(stage.rounds, int) else rules.options[stage.rounds].max
    if most == 1 or _fewest(rules, stage) < 2:
        raise ValueError(
            f"{where} until: agreement needs two speakers and several rounds: set rounds to their "
            "number, or to 0 for as many as max_turns allows, and roster.min to 2 or more"
        )


def _stated_before(rules: Format, result: Outcome, stage: Stage) -> bool:
    """Whether options are named, and not only chosen, in a stage before this one."""
    for other in rules.stages:
        if other.name == stage.name:
            return False
        if other.name not in result.stands or other.answer == "text":
            continue
        if _names_options(rules.shape(other.answer)):
            return True
    return False


def _names_options(shape: Answer) -> bool:
    """Whether its speakers name options, or it names them itself."""
    return shape.stand == "position" or len(shape.offers) > 1


def _check_texts(rules: Format) -> None:
    """Every text can be kept and shown, and what stands in braces can be filled in."""
    for field, text in _texts(rules.model_dump(mode="json")):
        if hidden := _HIDDEN.search(text):
            raise ValueError(f"{field}: the character U+{ord(hidden[0]):04X} has no place here")
    for stage in rules.stages:
        for field, text in (("ask", stage.ask), ("cue", stage.cue or "")):
            _check_braces(f"stage {stage.name!r}, field {field}", text)
    _check_braces("field closing", rules.closing)


def _texts(value: Any, field: str = "field ") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, Mapping):
        for name, part in cast("Mapping[str, Any]", value).items():
            yield from _texts(part, f"{field}{'' if field == 'field ' else '.'}{name}")
    elif isinstance(value, list):
        for place, part in enumerate(cast("list[Any]", value)):
            yield from _texts(part, f"{field}[{place}]")


def _check_braces(where: str, text: str) -> None:
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"{where}: a brace that is not closed: {error}") from None
    for _, name, spec, conversion in parts:
        if name is not None and (name not in PLACEHOLDERS or spec or conversion):
            more = f"{'!' + conversion if conversion else ''}{':' + spec if spec else ''}"
            known = ", ".join(sorted(PLACEHOLDERS))
            raise ValueError(
                f"{where}: {{{name}{more}}} is not a placeholder; there are {known}, each as it is"
            )


def mixed_up(rules: Format) -> str | None:
    """What is wrong with the names of the stages, if phases cannot be told apart by them."""
    names = [stage.name.replace("_", "-") for stage in rules.stages]
    if odd := [name for name in names if name in {"intake", "packetize", "writeback"}]:
        return f"stage {odd[0]!r}: that name is kept for what moot itself does"
    return None if len({*names}) == len(names) else "stages: two names differ only in a dash"


def _check_outcome(rules: Format, result: Outcome) -> None:
    """The outcome can be made from the stages."""
    order = [stage.name for stage in rules.stages]
    if unclear := mixed_up(rules):
        raise ValueError(unclear)
    if not result.stands and (result.packet or result.record or rules.roster.jury is None):
        raise ValueError(
            "field outcome.stands: name the stages in which speakers take a position, the latest "
            "first; without any, only a jury can decide, and there is no packet and no record "
            "(set packet = false, record = false and add [roster.jury])"
        )
    if not result.packet and result.record:
        raise ValueError("field outcome.record: the record tells of the packet, so it needs one")
    named = [*result.stands, *filter(None, (result.reading, result.verdict))]
    for name in named:
        if name not in order and isinstance(rules.outcome, str):
            raise ValueError(
                'field outcome: "packet" is for the stages of a council; write an [outcome] with '
                "the stages that take a position: stands = [...]"
            )
        if name not in order:
            raise ValueError(f"field outcome: there is no stage {name!r}")
        if order.count(name) != 1 or named.count(name) != 1:
            raise ValueError(f"field outcome: the stage {name!r} is named twice")
        stage = rules.stage(name)
        odd = stage.speakers in ("host", "jury") or stage.needs_host
        if odd or rules.may_be_endless(stage):
            raise ValueError(
                f"field outcome: the stage {name!r} must be spoken by participants, with or "
                "without a host, and for a known number of rounds"
            )
    _check_order(rules, result, order)


def _check_order(rules: Format, result: Outcome, order: list[str]) -> None:
    """Positions are taken first, then read and voted on, then decided."""
    places = [order.index(name) for name in result.stands]
    if places != sorted(places, reverse=True):
        raise ValueError("field outcome.stands: name the latest stage first")
    for name in result.stands:
        stage = rules.stage(name)
        if stage.answer == "text" or rules.shape(stage.answer).stand is None:
            raise ValueError(
                f"field outcome.stands: in the stage {name!r} nobody takes a position. Its answer "
                "needs a line called position, or a choice called choice"
            )
    if result.stands and not _names_options(rules.shape(rules.stage(result.stands[-1]).answer)):
        raise ValueError(
            f"field outcome.stands: nobody names an option before {result.stands[-1]!r}"
        )
    last = places[0] if places else 0
    if rules.jury and order.index(rules.jury.name) < last:
        raise ValueError(
            f"stage {rules.jury.name!r}: a jury votes when the last position was taken"
        )
    for field, shape in (("reading", result.reading), ("verdict", result.verdict)):
        if shape is None:
            continue
        if rules.stage(shape).answer != field:
            raise ValueError(
                f'field outcome.{field}: the stage {shape!r} must have answer = "{field}"'
            )
        if order.index(shape) < last:
            raise ValueError(f"field outcome.{field}: {shape!r} comes before the last position")
        last = order.index(shape)


def _check_length(rules: Format) -> None:
    """The smallest cast, with the options as they are, comes to an end within the limits."""
    hosted = rules.roster.host == "required"
    turns, endless = 0, None
    for stage in rules.stages:
        if (stage.needs_host and not hosted) or stage.speakers == "jury":
            continue
        seats = _fewest(rules, stage)
        rounds = rules.rounds_of(stage)
        turns += rounds * seats * (2 if stage.cued else 1)
        if rounds == 0:
            endless = (stage, seats if stage.together else 2 if stage.cued else 1)
    if turns > MAX_TURNS:
        raise ValueError(f"stages: they ask for {turns:,} turns; {MAX_TURNS:,} is the most")
    if endless and turns + endless[1] > (rules.max_turns or 0):
        raise ValueError(
            f"field max_turns: {rules.max_turns} leaves no turn for the stage {endless[0].name!r}"
        )


def _roles(rules: Format, stage: Stage) -> tuple[str, ...]:
    """The roles that speak in a stage, of a cast that has roles."""
    if isinstance(stage.speakers, tuple):
        return tuple(role for role in rules.roster.names if role in stage.speakers)
    return rules.roster.names if stage.speakers == "participants" else ()


def _fewest(rules: Format, stage: Stage) -> int:
    """How many speak in a stage at the least."""
    return 1 if stage.speakers == "host" else len(_roles(rules, stage)) or rules.roster.min


def _first(error: ValidationError, table: Mapping[str, Any]) -> str:
    """The mistake that explains most: a field that there is not comes before what is missing, which
    may be that field spelt right."""
    every = error.errors(include_url=False)
    within = {one["loc"][:depth] for one in every for depth in range(len(one["loc"]))}
    # a list whose only part is wrong is told to be empty, too
    problems = [one for one in every if one["type"] != "too_short" or one["loc"] not in within]
    told = [one for one in problems if one["type"] != "literal_error"] or problems
    problem = next((one for one in told if one["type"] == "extra_forbidden"), told[0])
    path = _place(problem["loc"], table, absent=problem["type"] == "missing")
    message = re.sub(r"^Value error, ", "", problem["msg"])
    if problem["type"] == "extra_forbidden":
        message = "There is no such field." + _meant(path)
    words: list[str] = []
    if len(path) >= 2 and path[0] == "stages" and isinstance(path[1], int):
        stages = table.get("stages", [])
        named = stages[path[1]].get("name") if isinstance(stages[path[1]], dict) else None
        words.append(f"stage {named!r}" if named else f"stage {path[1] + 1}")
        path = path[2:]
    if path:
        words.append("field " + ".".join(map(str, path)))
    return f"{', '.join(words)}: {message}" if words else message


def _place(loc: Sequence[int | str], table: Mapping[str, Any], *, absent: bool) -> list[int | str]:
    """Where in its file a mistake is: without the kinds of values that were tried there."""
    here: Any = table
    found: list[int | str] = []
    for part in loc:
        if isinstance(here, dict) and part in here:
            here = cast("dict[Any, Any]", here)[part]
        elif isinstance(here, list) and isinstance(part, int):
            here = cast("list[Any]", here)[part]
        elif not absent or part != loc[-1]:
            continue
        found.append(part)
    return found


_PARTS: Mapping[int | str, type[BaseModel]] = {
    "stages": Stage,
    "roster": Roster,
    "roles": RoleSeat,
    "jury": JurySize,
    "options": Option,
    "outcome": Outcome,
    "answers": Answer,
    "fields": AnswerField,
}


def _meant(path: Sequence[int | str]) -> str:
    """The field that somebody may have meant, if one is spelt much like it."""
    part = next((_PARTS[one] for one in reversed(path[:-1]) if one in _PARTS), Format)
    near = difflib.get_close_matches(str(path[-1]), part.model_fields, 1)
    return f" Did you mean {near[0]}?" if near else ""


def to_json(rules: Format) -> str:
    """The format as one line of JSON, for keeping beside a debate. The order stays: it is that in
    which a model fills in the fields of an answer, the reasons before the conclusion."""
    return json.dumps(rules.model_dump(mode="json"), ensure_ascii=False)


def shown(rules: Format) -> dict[str, Any]:
    """The format as programs are shown it: each stage with its title."""
    stages = [
        {"name": stage.name, "title": stage.heading, **stage.model_dump(mode="json")}
        for stage in rules.stages
    ]
    return {**rules.model_dump(mode="json"), "stages": stages}


def from_json(text: str) -> Format:
    return Format.model_validate_json(text, strict=False)


def digest(rules: Format) -> str:
    """What the files of a debate name its rules by: the same in whatever order they are written."""
    text = json.dumps(rules.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
