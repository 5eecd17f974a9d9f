"""Who will speak, in one line, before anybody does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from moot.core.voices import UNDERSTUDY, family
from moot.models.providers import VENDORS

if TYPE_CHECKING:
    from moot.core.debate import Debate
    from moot.ports import ProviderStatus

_KEYS = [str(one.key) for one in VENDORS.values() if one.preference]
HINT = f'Set {", ".join(_KEYS[:-1])} or {_KEYS[-1]}, or run "moot model fetch".'


def who_speaks(debate: "Debate", found: "Sequence[ProviderStatus]") -> str:
    """The seats with their models: what `local` means is among what was found."""
    local = next((one.model for one in found if one.provider == "local"), "local")
    seats: dict[str, list[str]] = {}
    for seat in (*debate.participants, *filter(None, [debate.host])):
        voice = _voice(local if seat.model == "local" else seat.model)
        name = "host" if seat is debate.host else seat.name
        seats.setdefault(voice, []).append(name)
    said = " · ".join(f"{', '.join(names)}: {voice}" for voice, names in seats.items())
    canned = any(seat.model == "local" for seat in debate.seats) and local == UNDERSTUDY
    keyed = any(one.works for one in found if one.provider != "local")
    return f"{said}. {HINT}" if canned and not keyed else said


def _voice(model: str) -> str:
    if model == UNDERSTUDY:
        return "the understudy, which is not a model"
    vendor, name = VENDORS.get(family(model)), model.partition(":")[2]
    if vendor is None or not name:
        return model
    return f"{vendor.label if vendor.keys else vendor.name} ({name})"
