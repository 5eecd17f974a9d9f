"""Queues waves for workers on any machine, through Celery.

The broker may lose, repeat or delay what it likes: a message only names a debate and a place in it,
and the store decides who speaks there.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from celery import Celery
from kombu import Producer

from moot.core.debate import Debate

log = logging.getLogger(__name__)

WAVE = "moot.wave"
BACKLOG = 10_000  # messages that wait to be sent while the broker is away; the rest is found later


def make_app(url: str, queue: str, visibility_seconds: float) -> Celery:
    """Celery as a dispatcher and nothing else: no results, no delays, JSON alone."""
    app = Celery("moot", broker=url, set_as_current=False)
    redis = url.startswith("redis")
    app.conf.update(
        broker_transport="moot.dispatch.transport:Transport" if redis else None,
        task_default_queue=queue,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_acks_on_failure=True,
        task_acks_on_timeout=False,
        worker_prefetch_multiplier=1,
        worker_cancel_long_running_tasks_on_connection_loss=True,
        worker_soft_shutdown_timeout=5.0,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=True,
        worker_send_task_events=False,
        worker_disable_rate_limits=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": visibility_seconds,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "global_keyprefix": f"{queue}:",
            "socket_timeout": 5.0,
            "socket_connect_timeout": 5.0,
            "socket_keepalive": True,
            "max_retries": 1,  # who sends gives up: the others wait behind it
            "interval_start": 0,
        }
        if redis
        else {},
        enable_utc=True,
    )
    return app


class CeleryDispatcher:
    """Sends a message for each place from which a worker is to go on; what cannot be sent is found
    by the supervisor."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._letters: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        self._producer: Producer | None = None
        self._silent = False  # the broker is away, and that was said
        self._closed = False
        self._post = threading.Thread(target=self._deliver, name="moot-post", daemon=True)
        self._post.start()

    @property
    def here(self) -> bool:
        return False

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None:
        """Workers advance what is sent to them; nothing comes from here."""

    def dispatch(self, debate: Debate) -> None:
        if not self._closed and self._letters.qsize() < BACKLOG:
            self._letters.put((debate.id, debate.cursor.name))

    def _deliver(self) -> None:
        while letter := self._letters.get():
            try:
                self._send(*letter)
                self._silent = False
            except Exception as error:  # whatever a broker's client raises: the debate is safe
                if not self._silent:
                    log.warning("the broker takes no messages, waves will be late: %s", error)
                self._silent = True
                self._hang_up()
        self._hang_up()

    def _send(self, debate_id: str, place: str) -> None:
        """What `send_task` does, on one connection and without its options: in half the time."""
        if self._producer is None:
            connection = self._app.connection_for_write()
            self._producer = self._app.amqp.Producer(connection, auto_declare=False)
        amqp, queue = self._app.amqp, self._app.conf.task_default_queue
        task = amqp.as_task_v2(f"{debate_id}:{place}", WAVE, (debate_id, place), ignore_result=True)
        self._producer.publish(
            task.body,
            routing_key=queue,
            declare=[amqp.queues[queue]],
            headers=task.headers,
            serializer="json",
            delivery_mode=2,
            **task.properties,
        )

    def _hang_up(self) -> None:
        producer, self._producer = self._producer, None
        if producer and producer.connection:
            with suppress(Exception):  # it is gone already
                producer.connection.release()

    async def waiting(self) -> int | None:
        if self._closed:
            return None
        return await asyncio.to_thread(self._depth)

    def _depth(self) -> int | None:
        queue = self._app.conf.task_default_queue
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel
                # not passively: kombu does not find a queue whose keys have a prefix
                return channel.queue_declare(queue, durable=True, auto_delete=False).message_count
        except Exception as error:
            log.debug("the depth of the queue is not known: %s", error)
            return None

    async def idle(self, debate_id: str) -> None:
        """Nothing is ever under way here."""

    async def close(self) -> None:
        self._closed = True
        self._letters.put(None)
        await asyncio.to_thread(self._post.join, 5.0)
        self._app.close()
