"""What the user prefers: the models and limits of debates that name none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from moot.core.format import MAX_PARTICIPANTS
from moot.core.request import Normalize, bounded
from moot.errors import InputError

LIMITS = ("max_turn_seconds", "max_turn_tokens", "max_total_tokens", "max_cost_usd")
"""Those that suit every format. How many turns there are is the format's to say."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """The contents of settings.toml."""

    models: tuple[str, ...] = ()  # of seats that name none, in turn; none: moot chooses
    limits: Mapping[str, float | int] = field(default_factory=dict[str, float | int])

    def limits_of(self, asked: Mapping[str, Any] | None) -> dict[str, Any]:
        """The limits of a debate: those that it names, and the preferred ones for the rest."""
        named = {name: value for name, value in (asked or {}).items() if value is not None}
        return {**self.limits, **named}


def read(given: Mapping[str, Any], normalize: Normalize) -> Preferences:
    """Preferences from a file or a request. Raises InputError, which names the field."""
    if unknown := sorted(set(given) - {"models", "limits"}):
        raise InputError(
            f"There is no setting {unknown[0]!r}; there are models and limits.", unknown[0]
        )
    return Preferences(_models(given.get("models"), normalize), _limits(given.get("limits")))


def _models(given: Any, normalize: Normalize) -> tuple[str, ...]:
    if not isinstance(given, list | tuple | None):
        raise InputError("models must be a list of models.", "models")
    models = list(cast("Sequence[Any]", given or ()))
    if len(models) > MAX_PARTICIPANTS:
        raise InputError(
            f"models: {len(models)} are too many; {MAX_PARTICIPANTS} is the most.", "models"
        )
    for place, model in enumerate(models):
        try:
            normalize(model if isinstance(model, str) else "")
        except InputError as error:
            raise InputError(f"models[{place}]: {error.message}", f"models[{place}]") from None
    return tuple(model.strip() for model in models)


def _limits(given: Any) -> dict[str, float | int]:
    if not isinstance(given, Mapping | None):
        raise InputError("limits must be a table of limits.", "limits")
    limits = dict(cast("Mapping[str, Any]", given or {}))
    if unknown := sorted(set(limits) - set(LIMITS)):
        raise InputError(
            f"There is no limit {unknown[0]!r} in the settings; there are {', '.join(LIMITS)}.",
            f"limits.{unknown[0]}",
        )
    return {
        name: bounded(name, value, f"limits.{name}")
        for name, value in limits.items()
        if value is not None
    }
