"""Where a command goes: to the server that MOOT_URL names, or to the home. Decided here alone."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InputError

if TYPE_CHECKING:
    from moot.cli.screen import View
    from moot.client.remote import Remote
    from moot.ports import Moot


def url() -> str | None:
    from moot.bootstrap import load_settings

    return load_settings().url


def filed(service: "Moot", debate_id: str) -> str:
    """Where its files are, or the debate on a server; empty if nothing was filed here."""
    folder = service.folder(debate_id)
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
    """A line on standard error, above what moves on the screen (where `typer.echo` tears it)."""
    sys.stderr.write(f"{said}\n")
    sys.stderr.flush()


def remote(notices: Notices | None = None) -> "Remote":
    """The server that MOOT_URL names."""
    from moot.bootstrap import load_settings
    from moot.client.remote import Remote
    from moot.settings import secret

    settings = load_settings()
    if not settings.url:
        raise InputError("MOOT_URL is not set.", "MOOT_URL")
    told = notices or Notices()
    return Remote(settings.url, secret(settings.token), tell=told.tell, lost=told.lost)


@asynccontextmanager
async def where(
    *,
    pace: float = 0.0,
    recover: bool = False,
    live: bool = False,
    found: Callable[[str], None] = lambda _: None,
    notices: Notices | None = None,
) -> AsyncGenerator["Moot"]:
    """The engine to ask. The options are the home's: a server goes by its own. `notices` are of
    the connection to one."""
    if url():
        async with remote(notices) as elsewhere:
            yield elsewhere
        return
    from moot.bootstrap import open_service

    async with open_service(
        pace=pace, recover=recover, live=live, found=found, place="command"
    ) as service:
        yield service


def at_home(command: str) -> None:
    """Refuse a command that needs the home itself."""
    if address := url():
        raise InputError(
            f"`moot {command}` works on a home, and MOOT_URL points to {address}. "
            "Unset it, or run this where that home is.",
            "MOOT_URL",
        )
