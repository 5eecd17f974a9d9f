"""How fast the model of this machine reads and writes: measured, and kept for the next run."""

import json
import logging
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

_WEIGHT = 0.3  # of the newest measurement; the machine may be busy at times
_FEW = 8  # tokens that are too few to measure by
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second, for one seat."""

    read: float  # of a prompt that was not read before
    write: float

    def __str__(self) -> str:
        return f"{self.write:.3g} tokens a second"


@dataclass(frozen=True, slots=True)
class Timing:
    """One answer: what was read and written, and how long each took."""

    read: int  # tokens that were not in the cache
    read_seconds: float  # to the first word
    written: int
    write_seconds: float  # from there to the last


class Speeds:
    """`<home>/models/speed.json`: the speed of each model that ran here."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "speed.json" if folder else None
        self._known: dict[str, Speed] | None = None

    def get(self, name: str) -> Speed | None:
        """The speed of a model; None if it was never measured."""
        if self._known is None:
            self._known = self._load()
        return self._known.get(name)

    def note(self, name: str, timing: Timing) -> None:
        """Take one answer into account. Too short ones say little, and are let pass."""
        before = self.get(name)
        read = _rate(timing.read, timing.read_seconds, before.read if before else None)
        write = _rate(timing.written, timing.write_seconds, before.write if before else None)
        if read and write:
            self.put(name, Speed(read, write))

    def put(self, name: str, speed: Speed) -> None:
        if self._known is None:
            self._known = self._load()
        self._known[name] = speed

    def save(self) -> None:
        """For the next run; where it cannot be written, that one measures anew."""
        if not self._known or not self._file:
            return
        kept = self._load() | self._known  # another process may have measured another model
        temporary = self._file.with_suffix(".tmp")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(
                json.dumps({name: asdict(speed) for name, speed in kept.items()}, indent=1) + "\n"
            )
            temporary.replace(self._file)
        except OSError as error:
            _log.info("speeds could not be kept: %s", error.strerror)

    def _load(self) -> dict[str, Speed]:
        if not self._file:
            return {}
        with suppress(OSError, ValueError):
            kept = json.loads(self._file.read_text("utf-8"))
            if isinstance(kept, dict):
                rows = cast(dict[str, Any], kept).items()
                return {name: speed for name, row in rows if (speed := _speed(row))}
        return {}


def _speed(row: object) -> Speed | None:
    with suppress(TypeError, ValueError, KeyError):
        told = cast(dict[str, Any], row)
        read, write = float(told["read"]), float(told["write"])
        if 0 < read < 1e7 and 0 < write < 1e7:
            return Speed(read, write)
    return None


def _rate(tokens: int, seconds: float, before: float | None) -> float | None:
    """The rate with what is new in it."""
    if tokens < _FEW or seconds <= 0:
        return before
    now = tokens / seconds
    return now if before is None else before + _WEIGHT * (now - before)
