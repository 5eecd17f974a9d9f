"""The composition root: Settings -> a wired Service. The one place that names adapters."""

import gc
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from pydantic import ValidationError

from moot.bus.local import LocalBus
from moot.dispatch.inline import InlineDispatcher
from moot.engine.advance import Advancer
from moot.engine.finish import Filer
from moot.engine.lease import Keeper
from moot.engine.service import Service
from moot.engine.supervise import Supervisor
from moot.engine.tail import Tail
from moot.errors import InputError
from moot.models.metered import MeteredSpeaker
from moot.models.router import Providers, Router, normalize
from moot.models.understudy import Understudy
from moot.ports import Clock, Meter, Speaker
from moot.settings import Settings, secret
from moot.store import schema
from moot.store.database import Database
from moot.store.files import Folder
from moot.store.formats import FormatFiles
from moot.store.store import SqlStore

UNTUNED = {(700, 10, 10), (2000, 10, 10), (2000, 10, 0)}  # Python's own, by version


class WallClock:
    """The real one."""

    def now(self) -> float:
        return time.time()


def load_settings() -> Settings:
    """What the environment says, or one sentence on what is wrong with it."""
    try:
        return Settings()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else "settings"
        variable = name if name.isupper() else f"MOOT_{name.upper()}"
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{variable}: {said}.", variable) from None


def providers(settings: Settings) -> Providers:
    return Providers(
        openai_api_key=secret(settings.openai_api_key),
        openai_base_url=settings.openai_base_url,
        anthropic_api_key=secret(settings.anthropic_api_key),
        anthropic_base_url=settings.anthropic_base_url,
        gemini_api_key=secret(settings.gemini_api_key),
        gemini_base_url=settings.gemini_base_url,
        local_base_url=settings.local_base_url,
        default_model=settings.model,
    )


def router(settings: Settings, pace: float = 0.0) -> Router:
    return Router(providers(settings), Understudy(pace))


def _collect_less_often() -> None:
    """What start-up made lives as long as the process: it need not be looked at for garbage again
    and again, which costs a fifth of a turn. Whoever has tuned the collector is left alone."""
    if gc.get_threshold() in UNTUNED:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)


@asynccontextmanager
async def open_service(
    settings: Settings | None = None,
    *,
    speaker: Speaker | None = None,
    clock: Clock | None = None,
    pace: float = 0.0,
    recover: bool = True,
    live: bool = False,
    meter: Meter | None = None,
    found: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Service]:
    """The engine on the user's home.

    `recover` also carries on what a dead process left, and tells `found` of each; `live` hears at
    once what other processes on the same home do.
    """
    settings = settings or load_settings()
    _collect_less_often()
    schema.prepare(settings.database)
    database = Database(settings.database, meter.committed if meter else None)
    voices = router(settings, pace)
    voice: Speaker = speaker or voices
    if meter:
        voice = MeteredSpeaker(voice, meter.called)
    clock = clock or WallClock()
    store, records, bus = SqlStore(database), Folder(settings.home), LocalBus(settings.home)
    dispatcher = InlineDispatcher()
    keeper = Keeper(store, clock, settings.lease_seconds)
    formats = FormatFiles(settings.home, settings.disabled_formats)
    filer = Filer(store, records, keeper.holding)
    service = Service(
        store=store,
        records=records,
        bus=bus,
        dispatcher=dispatcher,
        clock=clock,
        formats=formats,
        advancer=Advancer(store, records, voice, bus, clock, keeper, meter.turn if meter else None),
        keeper=keeper,
        supervisor=Supervisor(
            store, filer, dispatcher, clock, settings.sweep_seconds, formats.enabled
        ),
        tail=Tail(store, bus),
        filer=filer,
        providers=voices.describe,
        normalize=normalize,
        default_model=settings.model,
    )
    try:
        await bus.start()
        if live:
            await service.tail.start()
        if recover:
            service.supervisor.start(found)
        yield service
    finally:
        await service.close()
        await bus.close()
        await voices.aclose()
        database.close()
