"""What is asked for, checked and made into a debate. Errors name the field and how to mend it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from moot.core import prices, schedule, voices
from moot.core.clean import one_line, visible
from moot.core.debate import HUMAN, Cursor, Debate, Jury, Limits, OnFailure, Participant
from moot.core.depth import screened
from moot.core.effort import EFFORTS
from moot.core.format import (
    EDITION,
    MAX_JURORS,
    MAX_PARTICIPANTS,
    MAX_TURNS,
    Effort,
    Format,
)
from moot.core.jury import joined
from moot.core.legs import check_roster, layout, legs_of
from moot.core.limits import TURN_SECONDS
from moot.core.sources import MAX_SOURCES, MAX_TEXTS, HiddenFrom, Source
from moot.errors import WARN_ROLE_IGNORED, InputError

MAX_MOTION = 4000
MAX_BIO = 2000
MAX_NAME = 60

MAX_CONSTRAINTS = 20
OUTPUT_TYPES = ("decision", "writing", "architecture", "planning", "evaluation")

NAMES = ("Ada", "Ben", "Cleo", "Dov", "Edda", "Finn", "Gita", "Hugo", "Ines", "Jun", "Kaya", "Leo")
JURORS = frozenset(f"juror-{n}" for n in range(1, MAX_JURORS + 1))
LABEL = re.compile(r"speaker\s+[a-z]|juror\s+[0-9]+", re.IGNORECASE)
ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
MAX_REQUEST = 256 * 1024  # bytes, as of a body
Normalize = Callable[[str], tuple[str, str | None]]
"""`provider:name` in its canonical spelling, and a warning where it had to be bent."""
_ALSO = ("sources", "hide_sources_from", "depth", "audit", "allow_secrets")
_FIELDS = {"id", "name", "role", "stance", "bio", "model", "effort"}

_BOUNDS: Mapping[str, tuple[float, float, type]] = {
    "max_turn_seconds": (*TURN_SECONDS, float),
    "max_turn_tokens": (128, 4096, int),
    "max_turns": (1, MAX_TURNS, int),
    "max_total_tokens": (1, 10**12, int),
    "max_cost_usd": (0, 10**6, float),
}


def build(
    *,
    debate_id: str,
    at: str,
    motion: str,
    rules: Format,
    default_model: str | Sequence[str],
    normalize: Normalize,
    participants: Sequence[Mapping[str, Any]] = (),
    host: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    on_failure: str | None = None,
    brief: Mapping[str, Any] | None = None,
    jury: Mapping[str, Any] | None = None,
    sources: Sequence[Source] = (),
    hide_sources_from: Sequence[str] = (),
    audit: float | None = None,
    received: Mapping[str, Any] | None = None,
    cards: voices.Cards | None = None,
    writer: str | None = None,
) -> Debate:
    """A debate that has not begun. Seats without a model take `default_model`, or those of a ring
    in turn. With `cards`, seats whose price is not known are marked, a limit on cost that cannot be
    kept is refused, and a weak host warned of; `writer` writes the report."""
    warnings: list[str] = []
    seats, moderator = _cast(rules, participants, host, default_model, normalize, warnings)
    everybody = (*seats, moderator) if moderator else seats
    voting = empanel(rules, everybody, jury, default_model, normalize, warnings, cards)
    if voting:
        _check_labels(seats, moderator)
    chosen = options_of(rules, options or {})
    bounds = _limits(rules, seats, moderator, chosen, limits or {})
    rules = _ruled(rules, voting, seats, audit)
    if cards:
        everyone = (*everybody, *voting.seats) if voting else everybody
        warnings += voices.doubts(rules, bounds, everyone, moderator, cards, writer)
        seats, moderator = _marked(seats, moderator, cards)
    debate = Debate(
        id=debate_id,
        motion=_motion(motion),
        rules=rules,
        participants=seats,
        host=moderator,
        options=chosen,
        limits=bounds,
        on_failure=_on_failure(on_failure) or rules.on_failure,
        status="scheduled",
        cursor=Cursor(),
        created_at=at,
        updated_at=at,
        warnings=tuple(dict.fromkeys(warnings)),
        brief=_brief(rules, brief or {}),
        jury=voting,
        sources=sources_in_order(sources),
        hide_sources_from=_hidden_from(hide_sources_from),
        received=None if received is None else _received(received),
    )
    check_people(debate)
    return warned(placed(debate), cards)


def _ruled(
    rules: Format, jury: Jury | None, seats: Sequence[Participant], audit: float | None
) -> Format:
    """The rules of today, with the stage of a jury and the shorter way, if they are asked for."""
    rules = (joined(rules) if jury else rules).model_copy(update={"edition": EDITION})
    return rules if audit is None else screened(rules, seats, audit)


def _marked(
    seats: Sequence[Participant], host: Participant | None, cards: voices.Cards
) -> tuple[tuple[Participant, ...], Participant | None]:
    """The same, with what is known of their prices."""
    marked = tuple(prices.marked(seat, cards) for seat in seats)
    return marked, prices.marked(host, cards) if host else None


def warned(debate: Debate, cards: voices.Cards | None) -> Debate:
    """With a warning, if models are small, or asked to think although they cannot, or although
    nothing tells them how hard."""
    if not cards:
        return debate
    jurors = debate.jury.seats if debate.jury else ()
    thinking = voices.asked_to_think(debate)
    doubts = (
        voices.thoughtless(thinking, cards),
        voices.untold(thinking, cards),
        voices.small((*debate.seats, *jurors), cards),
    )
    return debate.but(warnings=tuple(dict.fromkeys((*debate.warnings, *filter(None, doubts)))))


def check_people(debate: Debate) -> None:
    """Refuse a person where a stage lasts until all agree: a worker that speaks at the same time
    could not tell that it is over."""
    for leg in legs_of(debate):
        for seat in leg.speakers if leg.stage.until else ():
            if seat.is_human:
                field = "host" if seat == debate.host else "participants"
                raise InputError(
                    f"{seat.name} cannot be a person: in a {debate.format}, the stage "
                    f"{leg.stage.name} lasts until all agree. Give this seat a model.",
                    field,
                )


def _cast(
    rules: Format,
    participants: Sequence[Mapping[str, Any]],
    host: Mapping[str, Any] | None,
    default_model: str | Sequence[str],
    normalize: Normalize,
    warnings: list[str],
) -> tuple[tuple[Participant, ...], Participant | None]:
    """Who speaks, each with a model: the participants, and the host if there is one."""
    if rules.roster.roles:
        seats = _roles(rules, participants, normalize, warnings)
    else:
        given = participants or default_cast(rules)
        seats = _seats(given, normalize, warnings, sides=rules.result is None)
    moderator = _host(host, rules, normalize, warnings, seats)
    check_roster(rules, seats, moderator)
    ring = _ring(default_model, normalize, warnings, (*seats, moderator))
    return voices.spread(rules, seats, moderator, ring)


def recast(
    debate: Debate,
    seats: Sequence[Mapping[str, Any]],
    default_model: str | Sequence[str],
    normalize: Normalize,
    cards: voices.Cards | None = None,
) -> Debate:
    """A debate that has not begun, with others in its seats: all else stays."""
    warnings = list(debate.warnings)
    seated = _seats(seats, normalize, warnings)
    ring = _ring(default_model, normalize, warnings, seated)
    seated, _ = voices.spread(debate.rules, seated, debate.host, ring)
    check_roster(debate.rules, seated, debate.host)
    if debate.jury:
        _check_labels(seated, debate.host)
    if cards:
        doubt = voices.check_prices(debate.limits, seated, cards)
        warnings += [doubt] if doubt else []
        seated = tuple(prices.marked(seat, cards) for seat in seated)
    made = debate.but(participants=seated, warnings=tuple(dict.fromkeys(warnings)))
    return warned(placed(made), cards)


def placed(debate: Debate) -> Debate:
    """At its beginning, and as long as its format lays it out."""
    debate = debate.but(cursor=schedule.first(debate))
    return debate.but(total=schedule.total(debate))


def _ring(
    default: str | Sequence[str],
    normalize: Normalize,
    warnings: list[str],
    seats: Sequence[Participant | None],
) -> list[str]:
    """The models of seats that name none, if there are such seats."""
    if all(seat is None or seat.model for seat in seats):
        return []
    named = [normalize(model) for model in ([default] if isinstance(default, str) else default)]
    warnings += [warning for _, warning in named if warning]
    return [model for model, _ in named]


def _received(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The request as it came, as far as JSON and UTF-8 can say it."""
    text = json.dumps(asked, ensure_ascii=False, default=str).encode("utf-8", "replace")
    if len(text) > MAX_REQUEST:
        raise InputError(
            f"The request is too large; {MAX_REQUEST // 1024} KiB is the most.", "request"
        )
    received = json.loads(text)
    try:
        visible(received)
    except ValueError:
        raise InputError("The request is nested too deeply.", "request") from None
    return received


def _motion(text: str) -> str:
    clean = visible(str(text))
    if not clean:
        raise InputError("The motion is empty. Say what is to be debated.", "motion")
    if len(clean) > MAX_MOTION:
        raise InputError(
            f"The motion has {len(clean):,} characters; {MAX_MOTION:,} is the most.", "motion"
        )
    return clean


def default_cast(rules: Format) -> list[dict[str, Any]]:
    """Who speaks if nobody is named."""
    return [{"name": name} for name in NAMES[: max(rules.roster.min, min(2, rules.roster.max))]]


def _seats(
    asked: Sequence[Mapping[str, Any]],
    normalize: Normalize,
    warnings: list[str],
    *,
    sides: bool = True,
) -> tuple[Participant, ...]:
    """The seats; those who name no side take one in turn, if the debate has `sides` at all."""
    if len(asked) > MAX_PARTICIPANTS:
        raise InputError(
            f"{len(asked)} participants are too many; {MAX_PARTICIPANTS} is the most.",
            "participants",
        )
    sides = sides and not any(seat.get("stance") for seat in asked)
    seats: list[Participant] = []
    given = _ids(asked)
    taken = {"host", *JURORS, *filter(None, given)}
    for place, seat in enumerate(asked):
        field = f"participants[{place}]"
        stance = seat.get("stance") or (("pro", "con")[place % 2] if sides else "neutral")
        made = seat_of(seat, field, normalize, warnings, stance)
        if made.name.casefold() in {other.name.casefold() for other in seats}:
            raise InputError(f"Two participants are called {made.name}.", f"{field}.name")
        made = replace(made, id=given[place] or _id(made.name, taken))
        taken.add(made.id)
        seats.append(made)
    return tuple(seats)


def _ids(asked: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """The ids that were given, each checked."""
    found: list[str | None] = []
    for place, seat in enumerate(asked):
        field, given = f"participants[{place}].id", seat.get("id")
        if given is None:
            found.append(None)
            continue
        if not isinstance(given, str) or not ID.fullmatch(given):
            raise InputError(
                f"{field}: {str(given)[:60]!a} is not an id: small letters, digits and dashes, "
                "up to 40.",
                field,
            )
        if given == "host" or given in JURORS:
            owner = "the host" if given == "host" else "a juror"
            raise InputError(f"{field}: only {owner} has the id {given}.", field)
        if given in found:
            raise InputError(f"{field}: two participants have the id {given}.", field)
        found.append(given)
    return found


def _roles(
    rules: Format,
    asked: Sequence[Mapping[str, Any]],
    normalize: Normalize,
    warnings: list[str],
) -> tuple[Participant, ...]:
    """A fixed cast: a role that is not asked for takes a default model."""
    roles = {role.casefold(): role for role in rules.roster.names}
    given: dict[str, Mapping[str, Any]] = {}
    for place, seat in enumerate(asked):
        _known(seat, f"participants[{place}]")
        named = one_line(str(seat.get("role") or seat.get("name") or ""), MAX_NAME)
        role = roles.get(named.casefold())
        if role is None:
            known = ", ".join(roles.values())
            warnings.append(
                f"{WARN_ROLE_IGNORED}: there is no role {named!r} (there are {known}); left out."
            )
        elif role in given:
            raise InputError(f"The {role} is named twice.", f"participants[{place}].role")
        elif seat.get("id") not in (None, role.lower()):
            field = f"participants[{place}].id"
            raise InputError(f"{field}: the id of the {role} is {role.lower()}.", field)
        else:
            given[role] = seat
    seats: list[Participant] = []
    for role in rules.roster.names:
        told = rules.roster.role(role)
        said = {name: value for name, value in given.get(role, {}).items() if value is not None}
        asked_for = {"model": told.model if told else None, **said, "name": role}
        seat = seat_of(asked_for, f"participants[{role}]", normalize, warnings, "neutral")
        seats.append(replace(seat, id=role.lower(), role=role))
    return tuple(seats)


def _brief(rules: Format, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for beside the motion, where the debate is to come to a decision."""
    if rules.result is None:
        if asked:
            raise InputError(f"A {rules.name} comes to no decision, so it takes no brief.", "brief")
        return {}
    if unknown := sorted(set(asked) - {"output_type", "constraints", "writeback_record_type"}):
        raise InputError(f"There is no field {unknown[0]!r}.", unknown[0])
    kind = asked.get("output_type", "decision")
    if kind not in OUTPUT_TYPES:
        raise InputError(
            f"output_type is one of {', '.join(OUTPUT_TYPES)}, not {kind!r}.", "output_type"
        )
    given = _list(asked, "constraints")
    if not all(isinstance(text, str) for text in given):
        raise InputError("constraints: each of them must be a text.", "constraints")
    constraints = [one_line(text, MAX_BIO) for text in given]
    if len(constraints) > MAX_CONSTRAINTS or not all(constraints):
        raise InputError(
            f"constraints: up to {MAX_CONSTRAINTS} texts, none of them blank.", "constraints"
        )
    record = asked.get("writeback_record_type")
    if record not in (None, "decision", "worklog"):
        raise InputError(
            f"writeback_record_type is decision or worklog, not {record!r}.",
            "writeback_record_type",
        )
    brief: dict[str, Any] = {"output_type": kind, "constraints": constraints}
    return brief | ({"writeback_record_type": record} if record else {})


def council(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The council's own request, in either spelling, as what `build` takes."""
    if not isinstance(asked, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  from outside
        raise InputError("A council is asked for with an object: problem, output_type …", "problem")
    names = _named(asked)
    known = {"problem", "output_type", "constraints", "participants", "max_turn_seconds",
             "max_turn_tokens", "writeback_record_type", "jury", *_ALSO}  # fmt: skip
    if unknown := sorted(set(names) - known):
        raise InputError(f"There is no field {unknown[0]!r}.", unknown[0])
    problem = names.get("problem")
    if not isinstance(problem, str) or not problem.strip():
        raise InputError("The problem is empty. Say what is to be decided.", "problem")
    if not names.get("output_type"):
        raise InputError(f"output_type is missing: {', '.join(OUTPUT_TYPES)}.", "output_type")
    brief = {
        name: names[name]
        for name in ("output_type", "constraints", "writeback_record_type")
        if names.get(name) is not None
    }
    limits = {
        name: names[name]
        for name in ("max_turn_seconds", "max_turn_tokens")
        if names.get(name) is not None
    }
    seats = _list(names, "participants")
    participants = [_council_seat(place, seat) for place, seat in enumerate(seats)]
    made = {"motion": problem, "brief": brief, "limits": limits, "participants": participants}
    more = {name: names[name] for name in ("jury", *_ALSO) if names.get(name) is not None}
    return made | more


def _list(asked: Mapping[str, Any], name: str) -> list[Any]:
    value = asked.get(name)
    if value is not None and not isinstance(value, list | tuple):
        raise InputError(f"{name} must be a list.", name)
    return list(cast(Sequence[Any], value or ()))


def _council_seat(place: int, seat: Any) -> dict[str, Any]:
    if not isinstance(seat, Mapping):
        raise InputError(f"participants[{place}] must be an object.", f"participants[{place}]")
    named = _named(cast(Mapping[Any, Any], seat), f"participants[{place}].")
    if unknown := sorted(set(named) - {"role", "model_provider", "model_name"}):
        field = f"participants[{place}].{unknown[0]}"
        raise InputError(f"{field}: there is no such field.", field)
    for key, value in named.items():
        if value is not None and not isinstance(value, str):
            field = f"participants[{place}].{key}"
            raise InputError(f"{field} must be a text.", field)
    provider, name = named.get("model_provider"), named.get("model_name")
    model = f"{provider or 'local'}:{name}" if name else provider
    return {"role": named.get("role"), "model": model}


def _named(asked: Mapping[Any, Any], place: str = "") -> dict[str, Any]:
    """By one spelling of the names, and each name once."""
    names: dict[str, Any] = {}
    for spelled, value in asked.items():
        name = _snake(str(spelled))
        if name in names:
            raise InputError(f"{place}{name} is given twice, in two spellings.", f"{place}{name}")
        names[name] = value
    return names


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def empanel(
    rules: Format,
    seats: Sequence[Participant],
    asked: Mapping[str, Any] | None,
    default_model: str | Sequence[str],
    normalize: Normalize,
    warnings: list[str],
    cards: voices.Cards | None = None,
) -> Jury | None:
    """The jury of a debate, each juror with its model; `warnings` grow by what is doubtful."""
    voting = _jury(rules, asked, normalize, warnings)
    if voting is None:
        return None
    spare = _ring(default_model, normalize, warnings, voting.seats)
    jurors = voices.empanel(voting.seats, seats, spare)
    if cards:
        jurors = tuple(prices.marked(one, cards) for one in jurors)
    voting = replace(voting, seats=jurors)
    warnings += voices.partial_jury(voting, seats)
    return voting


def _check_labels(seats: Sequence[Participant], host: Participant | None) -> None:
    """Nobody is called as a jury calls somebody else."""
    named = [(f"participants[{place}].name", seat.name) for place, seat in enumerate(seats)]
    named += [("host.name", host.name)] if host else []
    for field, name in named:
        if LABEL.fullmatch(name):
            raise InputError(
                f"{field}: with a jury, nobody can be called {name}: jurors read speakers under "
                "such names, or have them. Choose another name.",
                field,
            )


def _jury(
    rules: Format,
    asked: Mapping[str, Any] | None,
    normalize: Normalize,
    warnings: list[str],
) -> Jury | None:
    """The jury that was asked for, or the format's own; size 0 does without."""
    usual = rules.roster.jury
    if asked is None and usual is None:
        return None
    if not isinstance(asked, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]  from outside
        raise InputError('jury must be an object, e.g. {"size": 3}.', "jury")
    given = {name: value for name, value in (asked or {}).items() if value is not None}
    if unknown := sorted(set(given) - {"size", "models", "swap", "baseline"}):
        raise InputError(f"jury: there is no field {unknown[0]!r}.", f"jury.{unknown[0]}")
    models = given.get("models", [])
    if not isinstance(models, list | tuple):
        raise InputError("jury.models must be a list.", "jury.models")
    models = list(cast(Sequence[Any], models))
    if not all(isinstance(model, str) and model.strip() for model in models):
        raise InputError("jury.models: each of them is the name of a model.", "jury.models")
    size = given.get("size", len(models) or (usual.size if usual else None))
    if size is None:
        raise InputError(
            f"How many jurors? Give jury.size (1 to {MAX_JURORS}, 3 is usual) or jury.models.",
            "jury.size",
        )
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MAX_JURORS:
        raise InputError(f"jury.size is a whole number from 0 to {MAX_JURORS}.", "jury.size")
    if len(models) > size:
        raise InputError(
            f"jury.models names {len(models)} models for {size} juror{'s' * (size != 1)}. Name one "
            "for each juror, or fewer: the others take the defaults.",
            "jury.models",
        )
    flags: dict[str, bool] = {}
    for name, default in (("swap", usual.swap if usual else True),
                          ("baseline", usual.baseline if usual else True)):  # fmt: skip
        value = given.get(name)
        if not isinstance(value, bool | None):
            raise InputError(f"jury.{name} is true or false.", f"jury.{name}")
        flags[name] = default if value is None else value
    seats = [
        _juror(n, model, normalize, warnings)
        for n, model in enumerate([*models, *[None] * (size - len(models))], start=1)
    ]
    return Jury(tuple(seats), **flags) if seats else None


def _juror(n: int, model: str | None, normalize: Normalize, warnings: list[str]) -> Participant:
    field = f"jury.models[{n - 1}]"
    try:
        seat = seat_of(
            {"name": f"Juror {n}", "model": model}, field, normalize, warnings, "neutral"
        )
    except InputError as error:
        raise InputError(error.message, field) from None
    return replace(seat, id=f"juror-{n}", role="juror")


def _host(
    asked: Mapping[str, Any] | None,
    rules: Format,
    normalize: Normalize,
    warnings: list[str],
    seats: Sequence[Participant],
) -> Participant | None:
    if asked is None and rules.roster.host != "required":
        return None
    made = seat_of(asked or {}, "host", normalize, warnings, "neutral", "Host")
    if made.name.casefold() in {seat.name.casefold() for seat in seats}:
        raise InputError(f"The host and a participant are both called {made.name}.", "host.name")
    if (asked or {}).get("id") not in (None, "host"):
        raise InputError("host.id: the id of the host is host.", "host.id")
    return replace(made, id="host", role="host", stance="neutral")


def _known(seat: Mapping[str, Any], field: str) -> None:
    if unknown := sorted(set(seat) - _FIELDS):
        raise InputError(f"{field}: there is no field {unknown[0]!r}.", f"{field}.{unknown[0]}")


def seat_of(
    seat: Mapping[str, Any],
    field: str,
    normalize: Normalize,
    warnings: list[str],
    stance: str,
    default_name: str = "",
) -> Participant:
    """A seat as it was asked for; its model is empty if none was named."""
    _known(seat, field)
    name = one_line(str(seat.get("name") or default_name), MAX_NAME)
    if not name:
        raise InputError(f"{field} has no name.", f"{field}.name")
    if stance not in ("pro", "con", "neutral"):
        raise InputError(
            f"{field}: the stance is pro, con or neutral, not {stance!r}.", f"{field}.stance"
        )
    bio = visible(str(seat.get("bio") or ""))
    if len(bio) > MAX_BIO:
        raise InputError(f"{field}: the bio has {len(bio):,} characters; {MAX_BIO:,} is the most.",
                         f"{field}.bio")  # fmt: skip
    model = ""
    if str(seat.get("model") or "").strip().lower() == HUMAN:
        model = HUMAN
    elif seat.get("model"):
        try:
            model, warning = normalize(str(seat["model"]))
        except InputError as error:
            raise InputError(f"{field}: {error.message}", f"{field}.model") from None
        if warning:
            warnings.append(warning)
    role = one_line(str(seat.get("role") or "participant"), MAX_NAME)
    made = Participant("", name, role=role, stance=stance, bio=bio, model="")
    made = replace(made, effort=_effort(seat.get("effort"), f"{field}.effort"))
    return voices.voiced(made, model) if model else made


def _effort(given: Any, field: str) -> Effort | None:
    """The effort of a seat that says it beside its model."""
    if given not in (None, *EFFORTS):
        raise InputError(f"{field} is one of {', '.join(EFFORTS)}, not {given!r}.", field)
    return given


def _id(name: str, taken: set[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "seat"
    number = 1
    while (made := base if number == 1 else f"{base}-{number}") in taken:
        number += 1
    return made


def options_of(rules: Format, asked: Mapping[str, Any]) -> dict[str, int]:
    chosen = {name: option.default for name, option in rules.options.items()}
    for name, value in asked.items():
        option = rules.options.get(name)
        if option is None:
            known = ", ".join(rules.options) or "none"
            raise InputError(
                f"A {rules.name} has no option {name!r}; it has {known}.", f"options.{name}"
            )
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(f"{name} must be a whole number.", f"options.{name}")
        if not option.min <= value <= option.max:
            raise InputError(
                f"{name} must lie within {option.min}..{option.max} for a {rules.name}, "
                f"and is {value}.",
                f"options.{name}",
            )
        chosen[name] = value
    return chosen


def _limits(
    rules: Format,
    seats: Sequence[Participant],
    host: Participant | None,
    options: Mapping[str, int],
    asked: Mapping[str, Any],
) -> Limits:
    given: dict[str, Any] = {}
    for name, value in asked.items():
        if name == "allow_unpriced":
            given[name] = _flag(name, value)
            continue
        if name not in _BOUNDS:
            raise InputError(f"There is no limit {name!r}.", f"limits.{name}")
        if value is not None:
            given[name] = bounded(name, value, f"limits.{name}")
    max_turns = given.pop("max_turns", None)
    legs = layout(rules, seats, host, options, max_turns)
    needed = sum(leg.turns for leg in legs if not leg.stage.seats)
    endless = next((leg for leg in legs if leg.rounds == 0), None)
    if endless and not endless.units:
        raise InputError(
            f"max_turns {max_turns} leaves no turn for the {endless.stage.name}.",
            "limits.max_turns",
        )
    if max_turns is not None and needed > max_turns:
        raise InputError(
            f"This {rules.name} asks for {needed} turns, more than max_turns, {max_turns}. "
            "Raise the limit, or ask for fewer rounds or participants.",
            "limits.max_turns",
        )
    if needed > MAX_TURNS:
        raise InputError(
            f"This {rules.name} asks for {needed} turns; {MAX_TURNS} is the most. "
            "Ask for fewer rounds or participants.",
            "limits.max_turns",
        )
    if max_turns is None:
        max_turns = rules.max_turns if endless and rules.max_turns else needed
    return Limits(max_turns=max_turns, **given)


def limits_again(
    known: Debate,
    rules: Format,
    seats: Sequence[Participant],
    host: Participant | None,
    options: Mapping[str, int],
    asked: Mapping[str, Any],
) -> Limits:
    """The limits of another debate with some changed. The number of turns is counted anew, unless
    it is what ends the debate."""
    kept = {
        name: value
        for name in (*_BOUNDS, "allow_unpriced")
        if (value := getattr(known.limits, name)) is not None and name != "max_turns"
    }
    if any(leg.rounds == 0 for leg in legs_of(known)):
        kept["max_turns"] = known.limits.max_turns
    return _limits(rules, seats, host, options, {**kept, **asked})


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | None):
        raise InputError(f"{name} is true or false.", f"limits.{name}")
    return bool(value)


def bounded(name: str, value: Any, field: str) -> float | int:
    """The value of a limit. Raises InputError, with the field, unless it lies within its bounds."""
    low, high, kind = _BOUNDS[name]
    if isinstance(value, float) and kind is int and value.is_integer():
        value = int(value)  # JSON does not tell 900.0 from 900
    right = isinstance(value, int | float) if kind is float else isinstance(value, int)
    if isinstance(value, bool) or not right:
        raise InputError(f"{name} must be a {'whole ' * (kind is int)}number.", field)
    if not low <= value <= high:
        raise InputError(f"{name} must lie within {low:,}..{high:,}, and is {value:,}.", field)
    return kind(value)


def sources_in_order(given: Sequence[Source]) -> tuple[Source, ...]:
    """The sources, numbered in their order."""
    if len(given) > MAX_SOURCES:
        raise InputError(
            f"{len(given)} sources are too many; {MAX_SOURCES} is the most. Leave some out, or "
            "name a smaller folder.",
            "sources",
        )
    size = sum(len(passage.text) for source in given for passage in source.text)
    if size > MAX_TEXTS:
        raise InputError(
            f"The sources have {size:,} characters together; {MAX_TEXTS:,} is the most.", "sources"
        )
    return tuple(replace(one, id=f"S{place}") for place, one in enumerate(given, start=1))


def allowed(given: Any, field: str) -> bool:
    """A permission is given by true, and by nothing that is only taken for it."""
    if given is not None and not isinstance(given, bool):
        raise InputError(f"{field} must be true or false.", field)
    return bool(given)


def _hidden_from(given: Any) -> tuple[HiddenFrom, ...]:
    known: tuple[HiddenFrom, ...] = ("judge", "jury")
    if not isinstance(given, list | tuple):
        raise InputError("hide_sources_from must be a list.", "hide_sources_from")
    asked = cast("Sequence[Any]", given)
    for who in asked:
        if who not in known:
            raise InputError(
                f"Sources can be hidden from {' and '.join(known)}, not from {who!r}.",
                "hide_sources_from",
            )
    return tuple(who for who in known if who in asked)


def _on_failure(text: str | None) -> OnFailure | None:
    if text is not None and text not in ("pause", "degrade"):
        raise InputError(f"on_failure is pause or degrade, not {text!r}.", "on_failure")
    return text
