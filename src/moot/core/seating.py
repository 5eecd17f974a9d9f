"""Seats from what people write: a model alone, one model for all, a number of jurors."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from moot.core.format import Format
from moot.core.request import NAMES, default_cast
from moot.errors import InputError

Given = str | Mapping[str, Any]
"""A model, or the fields of a seat."""


def seats(given: Sequence[Given], rules: Format) -> list[Mapping[str, Any]]:
    """Who is to speak. A model alone takes the next role, or the next name, that nobody has."""
    if isinstance(given, str):
        raise InputError(f"participants is a list, for example [{given!r}].", "participants")
    kind, known = ("role", rules.roster.names) if rules.roster.roles else ("name", NAMES)
    named = {_called(seat) for seat in given if not isinstance(seat, str)}
    free = [name for name in known if name.casefold() not in named]
    if (models := sum(isinstance(seat, str) for seat in given)) > len(free):
        raise InputError(
            f"{models} models are too many: {len(free)} seats are free.", "participants"
        )
    left = iter(free)
    return [{kind: next(left), "model": seat} if isinstance(seat, str) else seat for seat in given]


def as_seat(given: Given) -> Mapping[str, Any]:
    """The host, or another whose name follows from the seat."""
    return {"model": given} if isinstance(given, str) else given


def as_jury(given: int | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return {"size": given} if isinstance(given, int) else given


def as_role(seat: Mapping[str, Any]) -> dict[str, Any]:
    """A seat as a council's own request has it, with its model in two parts."""
    fields = dict(seat)
    provider, _, name = str(fields.pop("model", None) or "").partition(":")
    return (
        {**fields, "model_provider": provider, "model_name": name or None} if provider else fields
    )


def with_model(asked: Mapping[str, Any], rules: Format, model: str) -> dict[str, Any]:
    """What is asked of a format, with this model for all who speak or vote in it and are not given
    another: the participants, the host and the jurors, named or not."""
    filled = dict(asked)
    everybody = _everybody(asked.get("participants") or (), rules)
    filled["participants"] = [_seat(seat, model) for seat in everybody]
    if asked.get("host") is not None or rules.roster.host == "required":
        filled["host"] = _seat(asked.get("host") or {}, model)
    if asked.get("jury") is not None or rules.roster.jury:
        filled["jury"] = _jury(asked.get("jury") or {}, rules, model)
    return filled


def _everybody(given: Sequence[Mapping[str, Any]], rules: Format) -> Sequence[Mapping[str, Any]]:
    """Those that were named, and those whom the format seats if nobody does."""
    if not rules.roster.roles:
        return given or default_cast(rules)
    named = {_called(seat) for seat in given}
    missing = [role for role in rules.roster.names if role.casefold() not in named]
    return [*given, *({"role": role} for role in missing)]


def _called(seat: Mapping[str, Any]) -> str:
    return str(seat.get("role") or seat.get("name") or "").casefold()


def _seat(seat: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {**seat, "model": seat.get("model") or model}


def _jury(asked: Mapping[str, Any], rules: Format, model: str) -> Mapping[str, Any]:
    usual = rules.roster.jury
    models = list(cast(Sequence[str], asked.get("models") or ()))
    size = asked.get("size", len(models) or (usual.size if usual else None))
    if not isinstance(size, int):
        return asked  # whoever reads it refuses it
    return {**asked, "models": [*models, *[model] * (size - len(models))]}


def as_source(given: object) -> dict[str, Any]:
    """A source from what people write: a file, a folder or an address, or its fields."""
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, Any]", given))
    text = str(given)
    return {"url" if text.startswith(("http://", "https://")) else "path": text}
