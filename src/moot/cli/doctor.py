"""What `moot doctor` looks at: what moot needs, and what to set if something is missing."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from moot.bootstrap import broker, load_settings, router
from moot.cli.live import HINT
from moot.cli.target import remote
from moot.core.effort import bare
from moot.core.format import Format
from moot.core.voices import UNDERSTUDY
from moot.errors import MootError
from moot.ports.available_models import ProviderStatus
from moot.ports.inputs import FormatProblem
from moot.ports.model_call import Speaker
from moot.settings import Settings
from moot.store import schema
from moot.store.formats import FormatFiles
from moot.store.reindex import behind
from moot.store.store import open_database

if TYPE_CHECKING:
    from moot.models.probe import Probe


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. What is `needed` and not ok makes moot unusable here."""

    name: str
    ok: bool
    detail: str
    needed: bool = True
    probe: "Probe | None" = None  # what a call to it showed


async def examine(live: bool = False) -> list[Finding]:
    """What works here; `live`: providers are called, too, which costs a little."""
    settings = load_settings()
    if settings.url:
        found = await _server(settings.url)
        words = "Only the server can call its providers: run `moot doctor --live` there."
        return [*found, *([Finding("live", False, words, needed=False)] if live else [])]
    return [
        _python(), _home(settings), *await _database(settings), *_machines(settings),
        *_formats(settings), *await _providers(settings, live),
    ]  # fmt: skip


async def _server(url: str) -> list[Finding]:
    """What the server that MOOT_URL names says of itself."""
    async with remote(url) as moot:
        try:
            health = ", ".join(f"{name} {how}" for name, how in (await moot.checks()).items())
            return [
                Finding("server", True, f"{moot.url} answers; {health}"),
                *_named(await moot.formats(), await moot.format_problems()),
                *_voices(await moot.providers(), await moot.default_models()),
            ]
        except MootError as error:
            return [Finding("server", False, error.message)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", True, f"{version}, SQLite {sqlite3.sqlite_version}")


def _home(settings: Settings) -> Finding:
    home = settings.home
    there = home if home.exists() else next(p for p in home.parents if p.exists())
    if os.access(there, os.W_OK | os.X_OK):
        return Finding("home", True, str(home))
    return Finding("home", False, f"{home} cannot be written. Set MOOT_HOME to a folder of yours.")


async def _database(settings: Settings) -> list[Finding]:
    """The database, and debates whose files hold more than it does."""
    place = settings.database
    where = str(place)
    if isinstance(place, str):
        parts = urlsplit(place)
        where = f"Postgres at {parts.hostname}:{parts.port or 5432}{parts.path}"
    try:
        schema.prepare(place)
        database = open_database(place, 2)
    except MootError as error:
        return [Finding("database", False, error.message)]
    found = [Finding("database", True, f"{where}, schema {schema.HEAD}")]
    try:
        ahead, unknown = await behind(database, settings.home)
    except MootError as error:
        return [*found, Finding("files", False, error.message, needed=False)]
    finally:
        database.close()
    if ahead:
        named = ", ".join(ahead[:5]) + (f" and {len(ahead) - 5} more" if len(ahead) > 5 else "")
        words = (
            f"The files of {named} hold more than the database, as if an older copy of it had been "
            "restored. They are not continued. Run `moot reindex --from-files`."
        )
        found.append(Finding("files", False, words, needed=False))
    if unknown:
        debates = "1 debate has" if unknown == 1 else f"{unknown} debates have"
        words = f"{debates} files, and the database does not know them. Run `moot reindex`."
        found.append(Finding("files", False, words, needed=False))
    return found


def _machines(settings: Settings) -> list[Finding]:
    """The broker, the workers that answer, and the Redis between them, if a broker is set."""
    if settings.broker_url is None:
        return []
    try:
        app = broker(settings)
    except MootError as error:
        return [Finding("broker", False, error.message)]
    try:
        with app.connection_for_write(connect_timeout=5) as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
        replies = app.control.ping(timeout=1.0) or []
    except Exception as error:  # whatever a broker's client raises
        return [Finding("broker", False, f"{_told(error, settings)} Check MOOT_BROKER_URL.")]
    names = sorted(name for reply in replies for name in reply)
    workers = (
        Finding("workers", True, ", ".join(names))
        if names
        else Finding("workers", False, "None answers. Start one with `moot worker`.", needed=False)
    )
    answers = Finding("broker", True, f"it answers; the queue is {settings.queue}")
    return [answers, workers, _live(settings)]


def _live(settings: Settings) -> Finding:
    if settings.bus is None:
        words = "No Redis: other machines show turns, but no speech. Set MOOT_BUS_URL."
        return Finding("live", False, words, needed=False)
    from redis import Redis

    try:
        client: Any = Redis
        with client.from_url(settings.bus, socket_connect_timeout=5, socket_timeout=5) as redis:
            redis.ping()
    except Exception as error:  # whatever the client raises
        words = f"{_told(error, settings)} Check MOOT_BUS_URL, or MOOT_BROKER_URL."
        return Finding("live", False, words, needed=False)
    return Finding("live", True, "Redis carries commits, speech and cancels")


def _told(error: Exception, settings: Settings) -> str:
    """What a client says is wrong, in one line and without a password."""
    words = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    for hidden in settings.secrets():
        words = words.replace(hidden, "…")
    return f"The connection failed: {words}."


def _formats(settings: Settings) -> list[Finding]:
    files = FormatFiles(settings.home, settings.disabled_formats)
    return _named(files.all(), files.problems(paths=True))


def _named(formats: list[Format], problems: list[FormatProblem]) -> list[Finding]:
    return [
        Finding("formats", True, ", ".join(rules.name for rules in formats)),
        *(Finding("format", False, problem.detail, needed=False) for problem in problems),
    ]


async def _providers(settings: Settings, live: bool) -> list[Finding]:
    voices = router(settings)
    try:
        found = await voices.describe(measure=True)
        called: list[Finding] = []
        if live:
            models = [one for one in found if one.works and one.model != UNDERSTUDY]
            called = list(await asyncio.gather(*(_called(voices, one) for one in models)))
    finally:
        await voices.aclose()
    return [*_voices(found, voices.defaults()), *called]


async def _called(voices: Speaker, status: ProviderStatus) -> Finding:
    """What a call to a provider showed."""
    from moot.models.probe import probe

    found = await probe(voices, status.model)
    name = f"{status.provider} live"
    if found.wrong:
        return Finding(name, False, f"{found.model}: {found.wrong}", needed=False, probe=found)
    return Finding(name, True, _speeds(found), needed=False, probe=found)


def _speeds(found: "Probe") -> str:
    first = f"first word after {found.first_word:.1f} s" if found.first_word is not None else ""
    speed = f"{found.tokens_per_second:.0f} tokens/s" if found.tokens_per_second else ""
    can = {
        "structured": ("works", "does not work", ""),
        "thinking": ("works", "was not seen", "is not for this model"),
        "caching": ("works", "was not seen", ""),
    }
    told = {"structured": found.structured, "thinking": found.thinking, "caching": found.caching}
    able = [f"{name} {can[name][_which(value)]}" for name, value in told.items()
            if can[name][_which(value)]]  # fmt: skip
    used = found.usage
    tokens = f"{used.input_tokens + used.output_tokens:,} tokens in {used.calls} calls"
    cost = f"{tokens}, ${used.cost_usd:.4f}" if used.cost_usd else tokens
    return f"{found.model}: {'; '.join(filter(None, [first, speed, *able, cost]))}"


def _which(value: bool | None) -> int:
    return 2 if value is None else int(not value)


def _voices(found: list[ProviderStatus], ring: Sequence[str]) -> list[Finding]:
    statuses = [
        Finding(status.provider, status.works, status.detail, needed=False) for status in found
    ]
    return [*statuses, _default(found, ring)]


def _default(found: list[ProviderStatus], ring: Sequence[str]) -> Finding:
    """What a seat without a model takes."""
    local = next((status for status in found if status.provider == "local"), None)
    if ring != ("local",) or local is None:
        turn = " in turn, so that opponents differ" if len(ring) > 1 else ""
        words = f"a seat without a model takes {', '.join(ring)}{turn}"
        works = {status.provider for status in found if status.works}
        named = {bare(one).partition(":")[0] for one in ring}
        return Finding("default", named <= works, words, needed=False)
    if local.model == UNDERSTUDY:
        others = [status.provider for status in found if status.works and status is not local]
        why = f"To use {' or '.join(others)}, name it in MOOT_MODEL." if others else HINT
        words = f"a seat without a model takes the understudy, which is not a model. {why}"
        return Finding("default", True, words, needed=False)
    words = f"a seat without a model takes local, which is {local.model}"
    return Finding("default", local.works, words, needed=False)
