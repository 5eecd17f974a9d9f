"""The composition root: Settings -> a wired Service. The one place that names adapters."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from moot.bus.processes import LocalBus
from moot.core.voices import OWN, UNDERSTUDY, only
from moot.dispatch.inline import InlineDispatcher
from moot.engine.advance import Advancer
from moot.engine.asking import Asker
from moot.engine.broadcast import Stations
from moot.engine.documents import Sources
from moot.engine.finish import Filer
from moot.engine.indexer import Indexer
from moot.engine.lease import Census, Keeper
from moot.engine.new_ids import new_id
from moot.engine.reporting import Reporter
from moot.engine.saved_agents import Agents
from moot.engine.service import Service
from moot.engine.supervise import Supervisor
from moot.engine.tail import Tail
from moot.errors import InputError
from moot.extras import install
from moot.models import endpoints
from moot.models.local.places import HUB, PYPI, Places, pip_files, pip_index
from moot.models.metered import MeteredSpeaker
from moot.models.providers import Place, Providers, Table
from moot.models.router import Router
from moot.models.understudy import Understudy
from moot.ports.available_models import Voices
from moot.ports.debate_files import Records
from moot.ports.delivery_store import Deliveries
from moot.ports.dispatcher import Dispatcher
from moot.ports.event_bus import Bus
from moot.ports.instruments import Clock, Meter
from moot.ports.model_call import Speaker
from moot.settings import Settings, secret, webhook_key
from moot.sources.fetching import Fetcher
from moot.sources.reader import Reader
from moot.store import schema
from moot.store.bundles import Bundles
from moot.store.deliveries import SqlDeliveries
from moot.store.files import Folder
from moot.store.formats import FormatFiles
from moot.store.query import SqlDatabase
from moot.store.reindex import examine
from moot.store.replay import document
from moot.store.settings_file import PreferencesFile
from moot.store.station_rows import SqlStations
from moot.store.store import SqlStore, open_database
from moot.store.template_files import TemplateFiles
from moot.webhooks.courier import Courier

if TYPE_CHECKING:
    from celery import Celery

UNTUNED = {(700, 10, 10), (2000, 10, 10), (2000, 10, 0)}  # Python's own, by version


def new_loop() -> asyncio.AbstractEventLoop:
    """The quicker event loop, if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def load_settings() -> Settings:
    """What the environment says, or one sentence on what is wrong with it.

    Where people run moot, a debate's own model writes its report unless they say otherwise. A
    program that makes its own Settings pays for turns alone unless it asks for more.
    """
    try:
        settings = Settings()
        return settings.model_copy(update={"report_model": settings.report_model or OWN})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        name = str(problem["loc"][-1]) if problem["loc"] else "settings"
        variable = name if name.isupper() else f"MOOT_{name.upper()}"
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{variable}: {said}.", variable) from None


def broker(settings: Settings) -> "Celery":
    """Celery on the broker that the settings name."""
    url = secret(settings.broker_url)
    if url is None:
        raise InputError(
            "There is no broker. Set MOOT_BROKER_URL, for example to redis://localhost:6379/0.",
            "MOOT_BROKER_URL",
        )
    if settings.database_url is None:
        raise InputError(
            "Workers share a Postgres. Set MOOT_DATABASE_URL, for example to "
            "postgresql://moot@localhost/moot, then run `moot db upgrade`.",
            "MOOT_DATABASE_URL",
        )
    try:
        from moot.dispatch.celery import make_app  # here: one process in ten needs it
    except ModuleNotFoundError:
        raise InputError(
            f"MOOT_BROKER_URL needs Celery. {install('cluster')}",
            "MOOT_BROKER_URL",
        ) from None
    return make_app(url, settings.queue, settings.visibility_seconds)


def _dispatcher(settings: Settings) -> Dispatcher:
    if settings.broker_url is None:
        return InlineDispatcher()
    app = broker(settings)
    from moot.dispatch.celery import CeleryDispatcher

    return CeleryDispatcher(app)


def _bus(settings: Settings) -> Bus:
    if settings.bus is None:
        return LocalBus(settings.home)
    from moot.bus.redis import RedisBus

    return RedisBus(settings.bus, settings.queue)


def providers(settings: Settings) -> Providers:
    """What is known of the providers; raises InputError if MOOT_MODEL is not a model."""
    table = endpoints.load(settings.home)
    if settings.model is not None:
        _model("MOOT_MODEL", settings.model, table)
    keys = {name: secret(key) or "" for name, key in settings.provider_keys.items()}
    urls = {**settings.provider_urls, "MOOT_LOCAL_BASE_URL": settings.local_base_url or ""}
    return Providers(
        {one.name: key for one in table if (key := _first(keys, one.keys))},
        {one.name: url for one in table if (url := _first(urls, [one.url]))},
        settings.model,
        table=table,
        more={one.name: _given(settings, one.reads) for one in table if one.reads},
        environment=settings.program_environment,
    )


def _given(settings: Settings, names: Iterable[str]) -> dict[str, str]:
    values = settings.provider_more
    return {name: text for name in names if (text := secret(values.get(name)))}


def _first(values: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((values[name] for name in names if values.get(name)), None)


def places(settings: Settings) -> Places:
    """Where models are fetched from: what the environment names, else pip's own settings."""
    named = (secret(settings.index_url) or "").strip()
    prefix, _, address = named.partition("=")
    if address and prefix.isidentifier():  # uv may give an index a name
        named = address
    index = named or pip_index(pip_files(settings.pip_config_file)) or PYPI
    return Places(settings.hub_url or HUB, index)


def _model(variable: str, model: str, table: Table) -> str:
    """The model that a variable names, in its canonical spelling."""
    try:
        return table.normalize(only(model) if variable == "MOOT_REPORT_MODEL" else model)[0]
    except InputError as error:
        raise InputError(f"{variable}: {error.message}", variable) from None


def _report_model(settings: Settings) -> str | None:
    """Who writes the reports; nobody, if that would be the understudy."""
    if settings.report_model in (None, "none"):
        return None
    if settings.report_model == OWN:
        return OWN
    model = _model("MOOT_REPORT_MODEL", settings.report_model, endpoints.load(settings.home))
    return None if model == UNDERSTUDY else model


def router(settings: Settings, pace: float = 0.0, place: Place | None = None) -> Router:
    known = providers(settings)
    preferred = PreferencesFile(settings.home, known.table.normalize)
    known = replace(known, place=place, preferred=lambda: preferred.get().models)
    return Router(known, Understudy(pace), settings.home)


def _collect_less_often() -> None:
    """What start-up made lives as long as the process: it need not be looked at for garbage again
    and again, which costs a fifth of a turn. Whoever has tuned the collector is left alone."""
    if gc.get_threshold() in UNTUNED:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)


@dataclass(frozen=True, slots=True)
class Instead:
    """Parts to build the engine from in place of those that the settings name, for tests."""

    database: SqlDatabase | None = None
    records: Records | None = None
    bus: Bus | None = None
    dispatcher: Dispatcher | None = None
    census: Census | None = None
    new_id: Callable[[float], str] = new_id
    index: bool = True  # whether what is said is made searchable


def _database(settings: Settings, meter: Meter | None) -> SqlDatabase:
    schema.prepare(settings.database)
    timed = meter.committed if meter else None
    return open_database(settings.database, settings.connections, timed)


@asynccontextmanager
async def open_service(
    settings: Settings | None = None,
    *,
    speaker: Speaker | None = None,
    clock: Clock | None = None,
    pace: float = 0.0,
    recover: bool = True,
    live: bool = False,
    files: bool = True,
    air: bool = False,
    warm: bool = False,
    meter: Meter | None = None,
    found: Callable[[str], None] = lambda _: None,
    place: Place | None = None,
    instead: Instead = Instead(),  # noqa: B008  it is frozen
) -> AsyncGenerator[Service]:
    """The engine on the user's home. `recover` also continues what a dead process left, and tells
    `found` of each; `live` hears at once what other processes on the same home do; `files` lets
    those who ask name files of this machine, and addresses, as sources; `air` starts what is due on
    stations; `warm` loads the vendors' packages in the background, before somebody waits for them;
    `place` is what errors call this process."""
    settings = settings or load_settings()
    _collect_less_often()
    models = router(settings, pace, place)
    writer = _report_model(settings)
    dispatcher = instead.dispatcher or _dispatcher(settings)
    database = instead.database or _database(settings, meter)
    bus = instead.bus or _bus(settings)
    own = speaker is None
    speaker = speaker or models
    if meter:
        speaker = MeteredSpeaker(speaker, meter.called)
    service = _service(
        settings, database, bus, dispatcher, clock or database, speaker,
        _voices(models, speaker, writer), writer, meter, air, instead, files=files,
    )  # fmt: skip
    courier = _courier(settings, database, clock)
    warming: asyncio.Task[None] | None = None
    try:
        await bus.start()
        if live:
            await service.tail.start()
        if recover:
            service.recover(found)
        if air:
            courier.start()
        if warm and own:
            warming = asyncio.create_task(models.warm())
        yield service
    finally:
        if warming:
            warming.cancel()
            await asyncio.wait((warming,))
        await courier.close()
        await service.close()
        await bus.close()
        await models.aclose()
        database.close()


def _voices(models: Router, speaker: Speaker, writer: str | None) -> Voices:
    return Voices(
        models.describe,
        models.providers.table.normalize,
        models.bend,
        models.look,
        speaker.card,
        models.defaults,
        writer if writer != OWN else None,  # the price of its own models is known of a debate
        models.offers,
        models.wrong,
    )


def _courier(settings: Settings, database: SqlDatabase, clock: Clock | None = None) -> Courier:
    return Courier(settings.home, SqlDeliveries(database), clock or database, webhook_key)


@asynccontextmanager
async def open_courier(settings: Settings) -> AsyncGenerator[tuple[Courier, Deliveries]]:
    """What tells programs elsewhere, without the engine: for people who look after it."""
    database = _database(settings, None)
    courier = _courier(settings, database)
    try:
        yield courier, SqlDeliveries(database)
    finally:
        await courier.close()
        database.close()


def _service(
    settings: Settings,
    database: SqlDatabase,
    bus: Bus,
    dispatcher: Dispatcher,
    clock: Clock,  # on many machines, the database's: the one that all of them can see
    speaker: Speaker,
    voices: Voices,
    writer: str | None,
    meter: Meter | None,
    air: bool,
    instead: Instead,
    *,
    files: bool,
) -> Service:
    apart = settings.broker_url is not None  # workers advance, wherever they are
    store, library = SqlStore(database), SqlStations(database)
    records = instead.records or Folder(settings.home)
    keeper = Keeper(store, clock, settings.lease_seconds, instead.census)
    bus.on_nudge(keeper.look)
    formats = FormatFiles(settings.home, settings.disabled_formats)
    preferences = PreferencesFile(settings.home, voices.normalize)
    preferences.get()  # a file that is wrong is told of now, and not when somebody debates
    filer = Filer(store, records, keeper.holding, speaker.card, writer)
    reporter = Reporter(store, filer, speaker, clock, writer, bus.touch)
    agents = Agents(library, clock, voices.normalize)
    stations = Stations(
        library, records, agents, bus, dispatcher, clock, formats, instead.new_id, voices.normalize,
        voices.defaults, preferences, voices.card, voices.look, voices.writer,
    )  # fmt: skip
    asker = Asker(store, records, speaker, clock, keeper.owner, keeper.is_dead)
    advancer = Advancer(
        store, records, speaker, bus, clock, keeper, meter.turn if meter else None,
        shared=apart, deaths=settings.deaths, round_ended=filer.file_round,
    )  # fmt: skip
    documents = Sources(store, _reader(settings, files=files), clock, files=files)
    supervisor = Supervisor(
        store, filer, records, dispatcher, clock, settings.sweep_seconds, formats.enabled,
        settings.lease_seconds if apart else 0.0, stations.look if air else None,
        reporter.look, asker.look, documents.look, is_dead=keeper.is_dead,
    )  # fmt: skip
    indexer = Indexer(store, bus, keeper.holding, settings.sweep_seconds)
    return Service(
        indexer=indexer if instead.index else None,
        store=store, records=records, bus=bus, dispatcher=dispatcher, clock=clock,
        formats=formats, voices=voices, preferences=preferences, advancer=advancer, keeper=keeper,
        supervisor=supervisor, agents=agents, stations=stations, tail=Tail(store, bus),
        filer=filer, reporter=reporter, asker=asker, new_id=instead.new_id,
        bundles=Bundles(database, settings.home),
        templates=TemplateFiles(settings.home),
        documents=documents,
        replay=lambda debate_id: replay(settings, debate_id),
    )  # fmt: skip


def _reader(settings: Settings, *, files: bool) -> Reader:
    return Reader(Fetcher() if files or settings.fetch else None, files=files)


def replay(settings: Settings, debate_id: str) -> dict[str, Any]:
    """A debate from its files, and where these and the database disagree. Needs no service, and
    changes nothing."""
    seen = examine(settings.home, settings.database, debate_id, settings.disabled_formats)
    return document(seen.replay, seen.indexed, seen.issues)
