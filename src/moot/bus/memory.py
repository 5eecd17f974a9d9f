"""Tells listeners of this process."""

import logging
from collections.abc import Callable, Mapping

from moot.core.events import Delta, Event, Speech
from moot.ports.event_bus import Forget, Listener

log = logging.getLogger(__name__)


class MemoryBus:
    """Publish and listen, within one event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, dict[object, Listener]] = {}
        self._watchers: dict[object, Callable[[str], None]] = {}
        self._speeches: dict[str, list[Speech]] = {}
        self._hint: Callable[[Mapping[str, int]], None] | None = None
        self._nudged: Callable[[str], None] | None = None

    def publish(self, event: Event | Delta) -> None:
        self.relay(event)

    def relay(self, event: Event | Delta) -> None:
        for listener in tuple(self._listeners.get(event.debate_id, {}).values()):
            try:
                listener(event)
            except Exception:
                log.exception("a listener of debate %s failed", event.debate_id)
        if not isinstance(event, Delta):
            self.touch(event.debate_id)

    def touch(self, debate_id: str) -> None:
        for watcher in tuple(self._watchers.values()):
            try:
                watcher(debate_id)
            except Exception:
                log.exception("a watcher failed at debate %s", debate_id)

    def listen(self, debate_id: str, listener: Listener) -> Forget:
        key = object()  # the same listener may be here twice
        self._listeners.setdefault(debate_id, {})[key] = listener

        def forget() -> None:
            listeners = self._listeners.get(debate_id, {})
            if listeners.pop(key, None) and not listeners:
                del self._listeners[debate_id]

        return forget

    def watch(self, watcher: Callable[[str], None]) -> Forget:
        key = object()
        self._watchers[key] = watcher

        def forget() -> None:
            self._watchers.pop(key, None)

        return forget

    def listened(self, debate_id: str, *, here: bool = False) -> bool:
        return debate_id in self._listeners

    def listening(self) -> list[str]:
        return list(self._listeners)

    def begin(self, speech: Speech) -> None:
        self._speeches.setdefault(speech.debate_id, []).append(speech)

    def cease(self, speech: Speech) -> None:
        spoken = self._speeches.get(speech.debate_id, [])
        left = [other for other in spoken if other is not speech]
        if left:
            self._speeches[speech.debate_id] = left
        else:
            self._speeches.pop(speech.debate_id, None)

    def speeches(self, debate_id: str) -> list[Speech]:
        return list(self._speeches.get(debate_id, ()))

    def on_hint(self, hint: Callable[[Mapping[str, int]], None]) -> None:
        self._hint = hint

    def nudge(self, debate_id: str) -> None:
        """There is nobody else; who has it in hand here is told by the engine."""

    def on_nudge(self, look: Callable[[str], None]) -> None:
        self._nudged = look

    async def start(self) -> None:
        """There is nobody else to hear from."""

    async def close(self) -> None:
        """Nothing was opened."""
