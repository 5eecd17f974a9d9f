"""Celery's transport for Redis, with one client for all commands.

kombu makes a client anew for every command, which with redis-py 8 takes longer than the command.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportAttributeAccessIssue=false, reportUnnecessaryComparison=false
# kombu's Redis transport is untyped.

from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError  # noqa: A004  which kombu knows as one


class Channel(redis.Channel):
    """A connection's view of the queues."""

    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()
        return self._kept

    def _connparams(self, asynchronous: bool = False) -> Any:
        """A worker outlives its broker. When that goes away, kombu gives messages back over a
        channel that is closed already, asks it for its address, and would end the worker with an
        AttributeError; a closed connection it passes over, and connects anew."""
        if self.connection is None or self.connection.client is None:
            raise ConnectionError("the connection is closed")
        return super()._connparams(asynchronous=asynchronous)


class Transport(redis.Transport):
    """What Celery is told to use where the broker is a Redis."""

    Channel = Channel
