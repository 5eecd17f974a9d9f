"""Where a command goes: to the server that MOOT_URL names, or to the home. Decided here alone."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from moot.bootstrap import load_settings, open_service
from moot.cli.hints import typed
from moot.errors import InputError
from moot.ports.entry_point import Moot
from moot.settings import Settings, secret

if TYPE_CHECKING:
    from moot.cli.screen import View
    from moot.client.remote import Remote


def at_home(command: str) -> Settings:
    """The settings, for a command that works on a home; a server is refused."""
    settings = load_settings()
    if settings.url:
        raise InputError(
            f"`moot {command}` works on a home, and MOOT_URL points to {settings.url}. "
            "Unset it, or run this where that home is.",
            "MOOT_URL",
        )
    return settings


def filed(moot: Moot, debate_id: str) -> str:
    """Where its files are, or the debate on a server; empty if nothing was filed here."""
    folder = moot.folder(debate_id)
    return folder if "://" in folder or Path(folder).is_dir() else ""


class Notices:
    """Where a person hears of the connection: on the view, once there is one that shows it."""

    def __init__(self) -> None:
        self.view: View | None = None

    def tell(self, said: str) -> None:
        if not (self.view and self.view.live):
            say(f"moot: {said}")

    def lost(self, is_lost: bool) -> None:
        if self.view:
            self.view.lost(is_lost)


def say(said: str) -> None:
    """A line on standard error, above what moves on the screen (`typer.echo` would tear it)."""
    sys.stderr.write(f"{typed(said)}\n")
    sys.stderr.flush()


def remote(url: str, notices: Notices | None = None) -> "Remote":
    """The server at that URL."""
    from moot.client.remote import Remote  # most commands need no HTTP client

    told = notices or Notices()
    return Remote(url, secret(load_settings().token), tell=told.tell, lost=told.lost)


@asynccontextmanager
async def where(
    *,
    pace: float = 0.0,
    recover: bool = False,
    live: bool = False,
    found: Callable[[str], None] = lambda _: None,
    notices: Notices | None = None,
) -> AsyncGenerator[Moot]:
    """The moot to ask. `notices` are of the connection to a server; the rest is of the home."""
    if url := load_settings().url:
        async with remote(url, notices) as moot:
            yield moot
        return
    async with open_service(
        pace=pace, recover=recover, live=live, found=found, place="command"
    ) as moot:
        yield moot
