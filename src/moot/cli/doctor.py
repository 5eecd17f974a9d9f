"""Looks at what moot needs, and says what to set where something is missing."""

import os
import sqlite3
import sys
from dataclasses import dataclass

from moot.bootstrap import load_settings, router
from moot.errors import MootError
from moot.ports import ProviderStatus
from moot.settings import Settings
from moot.store import schema
from moot.store.formats import FormatFiles


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. What is `needed` and not ok makes moot unusable here."""

    name: str
    ok: bool
    detail: str
    needed: bool = True


async def examine() -> list[Finding]:
    settings = load_settings()
    if settings.url:
        return await _server()
    return [_python(), _home(settings), _database(settings), *_formats(settings),
            *await _providers(settings)]  # fmt: skip


async def _server() -> list[Finding]:
    """What the server that MOOT_URL names says of itself."""
    from moot.cli.where import remote

    async with remote() as elsewhere:
        try:
            checks = await elsewhere.checks()
            formats = [rules.name for rules in await elsewhere.formats()]
            voices, default = await elsewhere.voices()
        except MootError as error:
            return [Finding("server", False, error.message)]
        health = ", ".join(f"{name} {how}" for name, how in checks.items())
        return [
            Finding("server", True, f"{elsewhere.url} answers; {health}"),
            Finding("formats", True, ", ".join(formats)),
            *_voices(voices, default),
        ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", True, f"{version}, SQLite {sqlite3.sqlite_version}")


def _home(settings: Settings) -> Finding:
    home = settings.home
    there = home if home.exists() else next(p for p in home.parents if p.exists())
    if os.access(there, os.W_OK | os.X_OK):
        return Finding("home", True, str(home))
    return Finding("home", False, f"{home} cannot be written. Set MOOT_HOME to a folder of yours.")


def _database(settings: Settings) -> Finding:
    try:
        schema.prepare(settings.database)
    except MootError as error:
        return Finding("database", False, error.message)
    return Finding("database", True, f"{settings.database}, schema {schema.HEAD}")


def _formats(settings: Settings) -> list[Finding]:
    files = FormatFiles(settings.home, settings.disabled_formats)
    findings: list[Finding] = []
    good: list[str] = []
    for name in files.names():
        try:
            files.get(name)
            good.append(name)
        except MootError as error:
            findings.append(Finding("format", False, error.message, needed=False))
    return [Finding("formats", True, ", ".join(good)), *findings]


async def _providers(settings: Settings) -> list[Finding]:
    voices = router(settings)
    try:
        found = await voices.describe()
    finally:
        await voices.aclose()
    return _voices(found, settings.model)


def _voices(found: list[ProviderStatus], default: str) -> list[Finding]:
    note = f" (the default: {default})"
    return [
        Finding(
            status.provider,
            status.works,
            status.detail + (note if default.startswith(status.provider) else ""),
            needed=False,
        )
        for status in found
    ]
