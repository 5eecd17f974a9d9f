"""Says what was committed: to those who listen, and in the log that operators read."""

import logging
from collections.abc import Iterable

from moot.core.events import Event, StatusChanged
from moot.ports.event_bus import Bus

log = logging.getLogger(__name__)


def tell(bus: Bus, events: Iterable[Event]) -> None:
    for event in events:
        bus.publish(event)
        if isinstance(event, StatusChanged):
            log.info("%s is %s%s", event.debate_id, event.status, _why(event))


def _why(event: StatusChanged) -> str:
    if event.failure:
        return f", {event.failure.code}: {event.failure.message}"
    if event.notice:
        return f": {event.notice}"
    return f", {event.reason}" if event.reason else ""
