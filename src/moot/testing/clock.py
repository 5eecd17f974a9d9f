"""A clock that stands still until it is told to go on."""


class FrozenClock:
    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def tick(self, seconds: float) -> None:
        self._now += seconds
