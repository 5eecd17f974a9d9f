"""Agents and stations as they are asked for: checked, with errors that name the field."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, cast

from moot.core.clean import one_line, visible
from moot.core.debate import Stance
from moot.core.format import MAX_PARTICIPANTS, Format
from moot.core.request import MAX_BIO, MAX_MOTION, MAX_NAME, NAMES
from moot.errors import InputError
from moot.stations import slots
from moot.stations.station import Agent, Missed, Station, Voice

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
RESERVED = frozenset({"export", "import"})
"""Ids that would hide behind an address of the service."""
POOL = frozenset({"cron", "motions", "agents", "seats"})
"""What a station needs, or is short of, for a cron line."""
MAX_ABOUT = 2000
MAX_MODEL = 200
MAX_MOTIONS = 500
MAX_AGENTS = 100

_AGENT = {"id", "name", "bio", "provider", "model", "stance", "voice"}
_PROVIDERS = {
    "openai": "openai", "claude": "claude", "anthropic": "claude", "gemini": "gemini",
    "google": "gemini", "local": "local",
}  # fmt: skip
_STATION = {
    "id", "name", "about", "public", "format", "options", "limits", "on_failure", "zone", "cron",
    "missed", "motions", "agents", "seats",
}  # fmt: skip


def slug(name: str, taken: Container[str] = ()) -> str:
    """An id for a name: readable, safe in a path, and nobody else's."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:36].strip("-") or "unnamed"
    number = 1
    while (made := base if number == 1 else f"{base}-{number}") in taken or made in RESERVED:
        number += 1
    return made


def check_new_slug(text: Any, what: str) -> str:
    """Of an id that somebody chose."""
    if isinstance(text, str) and text in RESERVED:
        raise InputError(f"{text} cannot be {what}'s id; choose another.", "id")
    return check_slug(text, what)


def check_slug(text: Any, what: str) -> str:
    """Before an id becomes a query: it has the shape that ids have."""
    if not isinstance(text, str) or not ID.fullmatch(text):
        raise InputError(
            f"{str(text)[:60]!a} is not {what}'s id: small letters, digits and dashes, up to 40.",
            "id",
        )
    return text


def seats(agents: Sequence[Agent]) -> list[dict[str, Any]]:
    """The agents as seats of a debate, on sides where they have none between them."""
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


# --- agents ---


def agent(asked: Mapping[str, Any], at: str, before: Agent) -> Agent:
    """An agent changed in what is given; a new one begins with its id alone."""
    _known(asked, _AGENT)
    if "id" in asked and asked["id"] != before.id:
        raise InputError(f"An agent's id stays; this one is {before.id}.", "id")
    given = {name: value for name, value in asked.items() if name != "id"}
    checks = {"name": _name, "bio": _bio, "model": _model, "stance": _stance}
    made: dict[str, Any] = {
        name: check(given[name]) for name, check in checks.items() if name in given
    }
    if "provider" in given:
        made["model"] = _provided(given["provider"], made.get("model"), before.model)
    if "voice" in given:
        made["voice"] = _voice(given["voice"], before.voice)
    changed = replace(before, **made, updated_at=at, created_at=before.created_at or at)
    _name(changed.name)
    return changed


def _voice(asked: Any, before: Voice) -> Voice:
    if not isinstance(asked, Mapping):
        raise InputError("voice must be a table of lang, name, rate, pitch.", "voice")
    given = cast(Mapping[str, Any], asked)
    _known(given, {field.name for field in fields(Voice)}, "voice.")
    made: dict[str, Any] = {}
    for name in ("lang", "name"):
        if name in given:
            made[name] = one_line(_text(given[name], f"voice.{name}"), 100)
    if not re.fullmatch(r"([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?", made.get("lang", "")):
        raise InputError("voice.lang is a language like en-GB, or left out.", "voice.lang")
    for name, low in (("rate", 0.5), ("pitch", 0.0)):
        if name in given:
            value = given[name]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"voice.{name} must be a number.", f"voice.{name}")
            if not low <= value <= 2:
                raise InputError(f"voice.{name} must lie within {low:g}..2.", f"voice.{name}")
            made[name] = float(value)
    return replace(before, **made)


def _name(value: Any) -> str:
    name = one_line(_text(value, "name"), MAX_NAME + 1)
    if not name:
        raise InputError("The name is empty.", "name")
    if len(name) > MAX_NAME:
        raise InputError(f"The name is too long; {MAX_NAME} characters are the most.", "name")
    return name


def _bio(value: Any) -> str:
    return _long(value, "bio", MAX_BIO)


def _model(value: Any) -> str:
    if value is None:
        return ""
    model = one_line(_text(value, "model"), MAX_MODEL + 1)
    if len(model) > MAX_MODEL:
        raise InputError(f"The model's name is too long; {MAX_MODEL} is the most.", "model")
    return model


def _provided(value: Any, model: str | None, before: str) -> str:
    """`provider:name` of a provider and, if one is given, a name; both may say the provider."""
    provider = "" if value is None else one_line(_text(value, "provider"), MAX_MODEL)
    if not provider:
        return model or ""
    if ":" in provider:
        raise InputError('provider is a name like "openai"; the rest goes to model.', "provider")
    if model is None:
        return before if _provider(before) == _provider(provider) else provider
    named = _provider(model)
    if named in _PROVIDERS.values() and named != _provider(provider):
        raise InputError(f"The provider is {provider}, and the model says {model}.", "provider")
    if not model or named == _provider(provider):
        return _model(model or provider)
    return _model(f"{provider}:{model}")


def _provider(model: str) -> str:
    """Whose a model is, by the name that moot gives it."""
    head = model.partition(":")[0].strip().lower()
    return _PROVIDERS.get(head, head)


def _stance(value: Any) -> Stance:
    if value not in ("pro", "con", "neutral"):
        raise InputError(f"The stance is pro, con or neutral, not {value!r:.40}.", "stance")
    return value


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
    _known(asked, _STATION)
    if "id" in asked and asked["id"] != before.id:
        raise InputError(f"A station's id stays; this one is {before.id}.", "id")
    made: dict[str, Any] = {}
    for name, value in asked.items():
        if name != "id":
            made[name] = _CHECKS[name](value)
    changed = replace(before, **made, updated_at=at, created_at=before.created_at or at)
    _name(changed.name)
    changed = replace(changed, seats=_seats(changed, rules))
    timed = _timed(changed, before, now)
    missing = [one for one in made.get("agents", ()) if one not in agents]
    if missing:
        raise InputError(f"There is no agent {missing[0][:60]!a}.", "agents")
    return timed


def _timed(changed: Station, before: Station, now: float) -> Station:
    """With its next slot, where the line or its zone is another."""
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


def _motions(value: Any) -> tuple[str, ...]:
    motions: list[str] = []
    for place, one in enumerate(_list(value, "motions", MAX_MOTIONS)):
        field = f"motions[{place}]"
        text = _long(one, field, MAX_MOTION)
        if not text:
            raise InputError(f"{field} is empty.", field)
        motions.append(text)
    return tuple(motions)


def _agents(value: Any) -> tuple[str, ...]:
    found = [_text(one, "agents") for one in _list(value, "agents", MAX_AGENTS)]
    if len(set(found)) != len(found):
        raise InputError("An agent is named twice in the pool.", "agents")
    return tuple(found)


def _cron(value: Any) -> str | None:
    return (_text(value, "cron").strip() or None) if value is not None else None


def _choice(name: str, *known: str) -> Any:
    def check(value: Any) -> str:
        if value not in known:
            raise InputError(f"{name} is {' or '.join(known)}, not {value!r:.40}.", name)
        return value

    return check


def _about(value: Any) -> str:
    return _long(value, "about", MAX_ABOUT)


def _word(name: str) -> Any:
    def check(value: Any) -> str:
        return _text(value, name).strip()

    return check


def _public(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError("public is true or false.", "public")
    return value


def _count(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise InputError("seats must be a whole number.", "seats")
    return value


def _table(name: str) -> Any:
    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise InputError(f"{name} must be a table of names and values.", name)
        given = cast(Mapping[Any, Any], value)
        return {str(key): one for key, one in given.items() if one is not None}

    return check


_MISSED: tuple[Missed, ...] = ("air", "skip")
_CHECKS: Mapping[str, Any] = {
    "name": _name,
    "about": _about,
    "public": _public,
    "format": _word("format"),
    "options": _table("options"),
    "limits": _table("limits"),
    "on_failure": _choice("on_failure", "degrade", "pause"),
    "zone": _word("zone"),
    "cron": _cron,
    "missed": _choice("missed", *_MISSED),
    "motions": _motions,
    "agents": _agents,
    "seats": _count,
}


# --- pieces ---


def _known(asked: Mapping[str, Any], names: set[str], place: str = "") -> None:
    if unknown := sorted(set(asked) - names):
        raise InputError(f"There is no field {place}{unknown[0]}.", f"{place}{unknown[0]}")


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{field} must be a text.", field)
    return value


def _long(value: Any, field: str, most: int) -> str:
    text = visible(_text(value, field))
    if len(text) > most:
        raise InputError(f"{field} has {len(text):,} characters; {most:,} is the most.", field)
    return text


def _list(value: Any, field: str, most: int) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{field} must be a list.", field)
    found = list(cast(Sequence[Any], value))
    if len(found) > most:
        raise InputError(f"{field} has {len(found)} entries; {most} is the most.", field)
    return found
