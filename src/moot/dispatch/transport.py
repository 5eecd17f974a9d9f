"""Celery's transport for Redis, with one client for all commands.

kombu makes a client anew for every command, which with redis-py 8 takes longer than the command.
"""

from typing import Any

from kombu.transport import redis

_Channel: Any = redis.Channel  # untyped
_Transport: Any = redis.Transport


class Channel(_Channel):
    """A connection's view of the queues."""

    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()
        return self._kept


class Transport(_Transport):
    """What Celery is told to use where the broker is a Redis."""

    Channel = Channel
