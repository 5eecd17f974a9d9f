"""Agents and stations as they are asked for: checked, with errors that name the field."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from moot.core.clean import one_line
from moot.core.debate import Stance
from moot.core.format import MAX_PARTICIPANTS, Format
from moot.core.request import NAMES, Normalize
from moot.errors import InputError
from moot.stations import slots
from moot.stations.station import MAX_MODEL, Agent, Station, Voice

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
RESERVED = frozenset({"export", "import"})
"""Ids that would hide behind an address of the service."""
POOL = frozenset({"cron", "motions", "agents", "seats"})
"""What a station needs, or is short of, for a cron line."""


def slug(name: str, taken: Container[str] = ()) -> str:
    """An id for a name: readable, safe in a path, and nobody else's."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:36].strip("-") or "unnamed"
    number = 1
    while (made := base if number == 1 else f"{base}-{number}") in taken or made in RESERVED:
        number += 1
    return made


def check_slug(text: Any, what: str, *, new: bool = False) -> str:
    """Check that an id has the shape of one, before it becomes a query; and that a new one may be
    chosen."""
    if new and isinstance(text, str) and text in RESERVED:
        raise InputError(f"{text} cannot be {what}'s id; choose another.", "id")
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


T = TypeVar("T", Agent, Station)
_VOICE = {field.name for field in fields(Voice)}
_SETTABLE = {
    Agent: {"id", "name", "bio", "provider", "model", "stance", "voice"},
    Station: {
        "id", "name", "about", "public", "format", "options", "limits", "on_failure", "zone",
        "cron", "missed", "motions", "agents", "seats",
    },
}  # fmt: skip
_CHECK = {kind: TypeAdapter[Any](kind) for kind in _SETTABLE}


def _changed(before: T, asked: Mapping[str, Any], at: str) -> T:
    """It, with what is given: each field is held to what its noun says of it."""
    if unknown := sorted(set(asked) - _SETTABLE[type(before)]):
        raise InputError(f"There is no field {unknown[0]}.", unknown[0])
    if asked.get("id", before.id) != before.id:
        raise InputError(f"The id stays as it is, {before.id}.", "id")
    whole = {**asdict(before), **asked, "updated_at": at, "created_at": before.created_at or at}
    try:
        return _CHECK[type(before)].validate_python(whole)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in problem["loc"])[1:]
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{field}: {said}.", field) from None


# --- agents ---


def agent(asked: Mapping[str, Any], at: str, before: Agent, normalize: Normalize) -> Agent:
    """An agent changed in what is given; a new one begins with its id alone."""
    given = {**asked}
    if isinstance(voice := given.get("voice"), Mapping):
        spoken = cast(Mapping[str, Any], voice)
        if unknown := sorted(set(spoken) - _VOICE):
            raise InputError(f"There is no field voice.{unknown[0]}.", f"voice.{unknown[0]}")
        given["voice"] = {**asdict(before.voice), **spoken}
    if "model" in given and given["model"] is None:
        given["model"] = ""
    provider = given.pop("provider", None) or ""
    if not isinstance(provider, str):
        raise InputError("provider: Input should be a valid string.", "provider")
    changed = _changed(before, given, at)
    if "provider" not in asked:
        return changed
    model = changed.model if "model" in given else None
    made = _provided(one_line(provider, MAX_MODEL), model, before.model, normalize)
    return replace(changed, model=made)


_TAG = re.compile(r"(?:latest|\d+(?:x\d+)?(?:\.\d+)?[bm])(?:-.*)?", re.IGNORECASE)
"""What follows the colon in the name of a model of Ollama's, such as mistral:7b."""


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
    if known and named != wanted and not _TAG.fullmatch(model.partition(":")[2]):
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
    changed = _changed(before, asked, at)
    pool = changed.agents if "agents" in asked else ()
    if len(set(pool)) != len(pool):
        raise InputError("An agent is named twice in the pool.", "agents")
    changed = replace(changed, seats=_seats(changed, rules))
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
