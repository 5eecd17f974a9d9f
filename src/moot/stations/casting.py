"""Agents and stations as they are asked for: checked, with errors that name the field."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from moot.core.clean import one_line, visible
from moot.core.debate import OnFailure, Stance
from moot.core.format import MAX_PARTICIPANTS, Format
from moot.core.request import MAX_BIO, MAX_MOTION, MAX_NAME, NAMES, Normalize
from moot.errors import InputError
from moot.stations import slots
from moot.stations.station import Agent, Missed, Station

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
RESERVED = frozenset({"export", "import"})
"""Ids that would hide behind an address of the service."""
POOL = frozenset({"cron", "motions", "agents", "seats"})
"""What a station needs, or is short of, for a cron line."""
MAX_ABOUT = 2000
MAX_MODEL = 200
MAX_MOTIONS = 500
MAX_AGENTS = 100

_LANGUAGE = re.compile(r"([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?")


def slug(name: str, taken: Container[str] = ()) -> str:
    """An id for a name: readable, safe in a path, and nobody else's."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:36].strip("-") or "unnamed"
    number = 1
    while (made := base if number == 1 else f"{base}-{number}") in taken or made in RESERVED:
        number += 1
    return made


def check_new_slug(text: Any, what: str) -> str:
    """Check an id that somebody chose."""
    if isinstance(text, str) and text in RESERVED:
        raise InputError(f"{text} cannot be {what}'s id; choose another.", "id")
    return check_slug(text, what)


def check_slug(text: Any, what: str) -> str:
    """Check that an id has the shape of one, before it becomes a query."""
    if not isinstance(text, str) or not ID.fullmatch(text):
        raise InputError(
            f"{str(text)[:60]!a} is not {what}'s id: small letters, digits and dashes, up to 40.",
            "id",
        )
    return text


def seats(agents: Sequence[Agent]) -> list[dict[str, Any]]:
    """The agents as seats of a debate, with opposite sides if they have none."""
    stances = _sides([agent.stance for agent in agents])
    return [
        {"name": one.name, "bio": one.bio, "model": one.model or None, "stance": stance}
        for one, stance in zip(agents, stances, strict=True)
    ]


def _sides(stances: Sequence[Stance]) -> list[Stance | None]:
    """Two speakers are for and against; more keep what they are, if they differ."""
    if len(set(stances)) == 1:
        return [None for _ in stances]  # for and against, in turn
    if len(stances) == 2 and "neutral" in stances:
        other: Stance = "con" if "pro" in stances else "pro"
        return [other if stance == "neutral" else stance for stance in stances]
    return list(stances)


# --- what may be given ---


def _tidy(change: Callable[[str], Any]) -> BeforeValidator:
    """Change a text before it is checked. The type refuses what is not a text."""
    return BeforeValidator(lambda value: change(value) if isinstance(value, str) else value)


def _line(most: int) -> BeforeValidator:
    return _tidy(lambda text: one_line(text, most))


def _language(tag: str) -> str:
    if not _LANGUAGE.fullmatch(tag):
        raise ValueError("it is a language like en-GB, or left out")
    return tag


def _given(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


_Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), _line(MAX_NAME + 1)]
_Model = Annotated[str, Field(max_length=MAX_MODEL), _line(MAX_MODEL + 1)]
_Motion = Annotated[str, Field(min_length=1, max_length=MAX_MOTION), _tidy(visible)]
_Word = Annotated[str, _tidy(str.strip)]
_Label = Annotated[str, _line(100)]
_Table = Annotated[dict[str, Any], AfterValidator(_given)]


class _Asked(BaseModel):
    """What may be asked for. What is not given stays as it is, so no default is used."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = ""
    name: _Name = ""


class _VoiceAsked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    lang: Annotated[str, AfterValidator(_language), _line(100)] = ""
    name: _Label = ""
    rate: float = Field(default=1.0, ge=0.5, le=2)
    pitch: float = Field(default=1.0, ge=0, le=2)


class _AgentAsked(_Asked):
    bio: Annotated[str, Field(max_length=MAX_BIO), _tidy(visible)] = ""
    provider: Annotated[str, _line(MAX_MODEL)] | None = None
    model: _Model | None = None
    stance: Stance = "neutral"
    voice: _VoiceAsked = _VoiceAsked()


class _StationAsked(_Asked):
    about: Annotated[str, Field(max_length=MAX_ABOUT), _tidy(visible)] = ""
    public: bool = True
    format: _Word = ""
    options: _Table = {}
    limits: _Table = {}
    on_failure: OnFailure = "degrade"
    zone: _Word = ""
    cron: _Word | None = None
    missed: Missed = "air"
    motions: tuple[_Motion, ...] = Field(default=(), strict=False, max_length=MAX_MOTIONS)
    agents: tuple[str, ...] = Field(default=(), strict=False, max_length=MAX_AGENTS)
    seats: int | None = None


def _checked(shape: type[_Asked], asked: Mapping[str, Any], known: str) -> dict[str, Any]:
    """What is given, in its canonical form. `known` is the id, which nobody can change."""
    try:
        made = shape.model_validate(asked).model_dump(exclude_unset=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in problem["loc"])[1:]
        if problem["type"] == "extra_forbidden":
            raise InputError(f"There is no field {field}.", field) from None
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{field}: {said}.", field) from None
    if made.pop("id", known) != known:
        raise InputError(f"The id stays as it is, {known}.", "id")
    return made


# --- agents ---


def agent(asked: Mapping[str, Any], at: str, before: Agent, normalize: Normalize) -> Agent:
    """An agent changed in what is given; a new one begins with its id alone."""
    made = _checked(_AgentAsked, asked, before.id)
    if "model" in made:
        made["model"] = made["model"] or ""
    if "provider" in made:
        provider = made.pop("provider") or ""
        made["model"] = _provided(provider, made.get("model"), before.model, normalize)
    if "voice" in made:
        made["voice"] = replace(before.voice, **made["voice"])
    return _dated(replace(before, **made), at)


def _provided(provider: str, model: str | None, before: str, normalize: Normalize) -> str:
    """`provider:name` of a provider and, if one is given, a name; both may say the provider."""
    if not provider:
        return model or ""
    if ":" in provider:
        raise InputError('provider is a name like "openai"; the rest goes to model.', "provider")
    wanted, _ = _provider(provider, normalize)
    if model is None:
        return before if _provider(before, normalize)[0] == wanted else provider
    named, known = _provider(model, normalize)
    if known and named != wanted:
        raise InputError(f"The provider is {provider}, and the model says {model}.", "provider")
    if not model or named == wanted:
        return model or provider
    if len(made := f"{provider}:{model}") > MAX_MODEL:
        raise InputError(f"The model's name is too long; {MAX_MODEL} is the most.", "model")
    return made


def _provider(model: str, normalize: Normalize) -> tuple[str, bool]:
    """Whose a model is, by the name that moot gives it, and whether there is such a provider."""
    head = model.partition(":")[0].strip().lower()
    try:
        return normalize(head)[0].partition(":")[0], True
    except InputError:
        return head, False


def _dated(changed: Any, at: str) -> Any:
    """An agent or a station that has just been changed, or made."""
    if not changed.name:
        raise InputError("The name is empty.", "name")
    return replace(changed, updated_at=at, created_at=changed.created_at or at)


# --- stations ---


def station(
    asked: Mapping[str, Any],
    now: float,
    at: str,
    before: Station,
    rules: Mapping[str, Format],
    agents: Container[str],
) -> Station:
    """A station changed in what is given; a new one begins with its id alone."""
    made = _checked(_StationAsked, asked, before.id)
    pool: Sequence[str] = made.get("agents", ())
    if len(set(pool)) != len(pool):
        raise InputError("An agent is named twice in the pool.", "agents")
    changed = _dated(replace(before, **made), at)
    changed = replace(changed, seats=_seats(changed, rules), cron=changed.cron or None)
    timed = _timed(changed, before, now)
    if missing := [one for one in pool if one not in agents]:
        raise InputError(f"There is no agent {missing[0][:60]!a}.", "agents")
    return timed


def _timed(changed: Station, before: Station, now: float) -> Station:
    """With its next slot, if the line or its zone has changed."""
    slots.zone_of(changed.zone)
    if changed.cron is None:
        return replace(changed, next_slot=None)
    line = slots.check_line(changed.cron, changed.zone, now)
    if before.next_slot is not None and (line, changed.zone) == (before.cron, before.zone):
        return replace(changed, cron=line)
    following = slots.after(line, changed.zone, now)
    wake = [one for one in (changed.wake, following) if one is not None]
    return replace(changed, cron=line, next_slot=following, wake=min(wake, default=None))


def _seats(changed: Station, known: Mapping[str, Format]) -> int:
    rules = known.get(changed.format)
    if rules is None:
        raise InputError(
            f"There is no format {changed.format[:60]!r}; there are {', '.join(known)}.", "format"
        )
    if rules.roster.roles:
        raise InputError(
            f"A {rules.name} has a cast of its own; stations air debates between agents.", "format"
        )
    least, most = max(rules.roster.min, 1), min(rules.roster.max, MAX_PARTICIPANTS)
    wanted = changed.seats if changed.seats is not None else max(least, min(2, most))
    if not least <= wanted <= most:
        raise InputError(f"A {rules.name} takes {least} to {most} agents, not {wanted}.", "seats")
    return wanted


def sample(count: int) -> list[Agent]:
    """A cast to try a station's rules with."""
    return [Agent(name.lower(), name) for name in NAMES[:count]]
