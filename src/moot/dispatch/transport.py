"""Celery's transport for Redis, with one client for all commands.

kombu makes a client anew for every command, which with redis-py 8 takes longer than the command.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportAttributeAccessIssue=false
# kombu's Redis transport is untyped.

from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    """A connection's view of the queues."""

    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()
        return self._kept


class Transport(redis.Transport):
    """What Celery is told to use where the broker is a Redis."""

    Channel = Channel
