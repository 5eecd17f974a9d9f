"""Events and deltas, told to those who listen as they happen; and what is wanted of a debate."""

from collections.abc import Callable, Mapping
from typing import Protocol

from moot.core.events import Delta, Event, Speech

Listener = Callable[[Event | Delta], None]
"""Takes what is said, at once and without waiting; whoever needs time puts it aside."""

Forget = Callable[[], None]
"""Ends what it was given for. Called twice, it does nothing more."""


class Bus(Protocol):
    """Tells listeners at once what the log will tell them anyway; and the deltas it will not."""

    def publish(self, event: Event | Delta) -> None:
        """Said here: tell those who listen in this process, and those in others."""
        ...

    def relay(self, event: Event | Delta) -> None:
        """Said in another process: tell those who listen in this one."""
        ...

    def touch(self, debate_id: str) -> None:
        """Something of that debate was committed: tell those who watch all of them."""
        ...

    def listen(self, debate_id: str, listener: Listener) -> Forget: ...

    def watch(self, watcher: Callable[[str], None]) -> Forget:
        """Hear of every debate that changed, by its id."""
        ...

    def listened(self, debate_id: str, *, here: bool = False) -> bool:
        """Whether what is said of that debate would reach anybody; `here`: in this process."""
        ...

    def listening(self) -> list[str]:
        """The debates that somebody listens to in this process."""
        ...

    def begin(self, speech: Speech) -> None:
        """Somebody has begun to speak: whoever joins hears it from its beginning."""
        ...

    def cease(self, speech: Speech) -> None: ...

    def speeches(self, debate_id: str) -> list[Speech]:
        """What is being said right now."""
        ...

    def on_hint(self, hint: Callable[[Mapping[str, int]], None]) -> None:
        """Whom to tell when another process says that it has committed something.

        The hint has the debates and the first seq of what is new in each, as far as they fit.
        """
        ...

    def nudge(self, debate_id: str) -> None:
        """Something is wanted of that debate: whoever has it in hand elsewhere should look now."""
        ...

    def on_nudge(self, look: Callable[[str], None]) -> None:
        """Whom to tell when another process wants something of a debate."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...
