"""One model for a whole debate: every seat that names none gets it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from moot.core.format import Format
from moot.core.request import default_cast


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
    named = {str(seat.get("role") or seat.get("name") or "").casefold() for seat in given}
    missing = [role for role in rules.roster.names if role.casefold() not in named]
    return [*given, *({"role": role} for role in missing)]


def _seat(seat: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {**seat, "model": seat.get("model") or model}


def _jury(asked: Mapping[str, Any], rules: Format, model: str) -> Mapping[str, Any]:
    usual = rules.roster.jury
    models = list(cast(Sequence[str], asked.get("models") or ()))
    size = asked.get("size", len(models) or (usual.size if usual else None))
    if not isinstance(size, int):
        return asked  # whoever reads it refuses it
    return {**asked, "models": [*models, *[model] * (size - len(models))]}
