"""Named places where a test may crash the engine. Nothing happens here in real life."""

from collections.abc import Callable

PLACES = frozenset({"claimed", "begun", "spoken", "committed", "released", "filed"})
"""Those that every debate comes by. A station has `aired`, a report by a model `read`."""

hook: Callable[[str], None] | None = None
"""Set by a test; called with the name of each place as it is reached."""


def hit(place: str) -> None:
    if hook is not None:
        hook(place)
