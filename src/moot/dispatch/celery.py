"""Queues waves for workers on any machine, through Celery.

The broker may lose, repeat or delay what it likes: a message only names a debate and a place in it,
and the store decides who speaks there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import Celery

from moot.core.debate import Debate

log = logging.getLogger(__name__)

WAVE = "moot.wave"
BACKLOG = 10_000  # messages that wait to be sent while the broker is away; the rest is found later
_NETWORK = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "socket_keepalive": True}


def make_app(url: str, queue: str, visibility_seconds: float) -> Celery:
    """Celery as a dispatcher and nothing else: no results, no delays, JSON alone."""
    app = Celery("moot", broker=url, set_as_current=False)
    redis = url.startswith("redis")
    app.conf.update(
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
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": visibility_seconds,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "global_keyprefix": f"{queue}:",
            **_NETWORK,
        }
        if redis
        else {},
        enable_utc=True,
    )
    return app


class CeleryDispatcher:
    """Sends a message for each wave. What cannot be sent is found by the supervisor."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._post = ThreadPoolExecutor(1, thread_name_prefix="moot-post")
        self._waiting = 0
        self._silent = False  # the broker is away, and that was said
        self._closed = False

    @property
    def here(self) -> bool:
        return False

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None:
        """Workers advance what is sent to them; nothing comes from here."""

    def dispatch(self, debate: Debate) -> None:
        if self._closed or self._waiting >= BACKLOG:
            return
        self._waiting += 1
        self._post.submit(self._send, debate.id, debate.cursor.name)

    def _send(self, debate_id: str, place: str) -> None:
        try:
            self._app.send_task(
                WAVE, (debate_id, place), task_id=f"{debate_id}:{place}", retry=False
            )
            self._silent = False
        except Exception as error:  # whatever a broker's client raises: the debate is safe
            if not self._silent:
                log.warning("the broker takes no messages, waves will be late: %s", error)
            self._silent = True
        finally:
            self._waiting -= 1

    async def waiting(self) -> int | None:
        if self._closed:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._post, self._depth)

    def _depth(self) -> int | None:
        queue = self._app.conf.task_default_queue
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel
                return channel.queue_declare(queue=queue, passive=True).message_count
        except Exception as error:
            log.debug("the depth of the queue is not known: %s", error)
            return None

    async def idle(self, debate_id: str) -> None:
        """Nothing is ever under way here."""

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._post.shutdown, wait=True, cancel_futures=False)
        self._app.close()
