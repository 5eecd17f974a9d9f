"""Celery's transport for Redis, with one client for all commands.

kombu makes a client anew for every command, which with redis-py 8 takes longer than the command.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportAttributeAccessIssue=false, reportUnnecessaryComparison=false
# kombu's Redis transport is untyped.

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError  # noqa: A004  which kombu knows as one


class Channel(redis.Channel):
    """A connection's view of the queues."""

    _kept: Any = None

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Generator[Any]:
        if self.connection is None or self.connection.client is None:
            # When the broker goes away, kombu gives messages back over a channel that is closed
            # already. An AttributeError would end the worker; this error has it connect anew.
            raise ConnectionError("the connection is closed")
        if self._kept is None or self._kept.connection_pool is not self.pool:
            with super().conn_or_acquire() as self._kept:
                pass
        yield client or self._kept


class Transport(redis.Transport):
    """What Celery is told to use if the broker is a Redis."""

    Channel = Channel
