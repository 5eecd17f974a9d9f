"""What the engine measures with: the clock, and what counts for operators."""

from typing import Protocol

from moot.core.debate import Usage


class Clock(Protocol):
    """Seconds since the epoch."""

    def now(self) -> float: ...


class Meter(Protocol):
    """Counts what happens, for whoever operates it."""

    def called(
        self, model: str, outcome: str, seconds: float, first_token: float | None, usage: Usage
    ) -> None: ...

    def committed(self, seconds: float) -> None: ...

    def turn(self, format: str, status: str) -> None: ...  # noqa: A002  the word of the contract
