"""A worker process: Celery takes messages in the main thread, the engine runs on a loop beside."""

import asyncio
import logging
import os
import socket
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning

from moot.bootstrap import broker, new_loop, open_service
from moot.dispatch.celery import WAVE
from moot.engine.service import Service
from moot.metrics import Metrics
from moot.ports.model_call import Speaker
from moot.settings import Settings
from moot.worker import figures
from moot.worker.pool import LoopPool

log = logging.getLogger(__name__)


def run(
    settings: Settings,
    *,
    speaker: Speaker | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Speak waves until told to stop; then let go of what is in hand, and queue it again."""
    app = broker(settings)
    loop = new_loop()
    opened: Future[Service] = Future()
    ended = asyncio.Event()
    beside = threading.Thread(
        target=lambda: loop.run_until_complete(_engine(settings, speaker, opened, ended)),
        name="moot-loop",
        daemon=True,
    )
    beside.start()
    service = opened.result()
    try:

        @app.task(name=WAVE)
        async def wave(debate_id: str, place: str) -> None:  # pyright: ignore[reportUnusedFunction]
            await service.wave(debate_id, place)

        _consume(app, loop, service, settings, ready)
    finally:
        loop.call_soon_threadsafe(ended.set)
        beside.join(timeout=15)
        if not beside.is_alive():
            loop.close()


def _consume(
    app: Celery,
    loop: asyncio.AbstractEventLoop,
    service: Service,
    settings: Settings,
    ready: Callable[[], None],
) -> None:
    LoopPool.loop, LoopPool.service = loop, service

    def told(_: object) -> None:
        ready()

    with warnings.catch_warnings():  # of running as root: messages are JSON, nothing in them is run
        warnings.simplefilter("ignore", SecurityWarning)
        worker: Any = app.Worker(
            hostname=f"moot-{os.getpid()}@{socket.gethostname()}",
            pool_cls=LoopPool,
            concurrency=settings.concurrency,
            queues=[settings.queue],
            quiet=True,
            loglevel=settings.log_level.upper(),
            without_gossip=True,
            without_mingle=True,
            optimization="fair",
            ready_callback=told,
        )
        worker.start()


async def _engine(
    settings: Settings, speaker: Speaker | None, opened: Future[Service], ended: asyncio.Event
) -> None:
    metrics = Metrics() if settings.metrics_port else None
    try:
        if metrics:
            figures.expose(metrics, settings)
        async with open_service(
            settings,
            speaker=speaker,
            pace=settings.pace,
            recover=False,
            meter=metrics,
            place="worker",
        ) as service:
            if metrics:  # what the database holds, the service counts
                metrics.watch(counts=dict, queue=int, in_hand=lambda: service.in_hand, readers=int)
            opened.set_result(service)
            await ended.wait()
    except BaseException as error:
        if opened.done():
            raise
        opened.set_exception(error)
