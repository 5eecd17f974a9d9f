"""Where a command goes: to the server that MOOT_URL names, or to the home. Decided here alone."""

import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from moot.errors import InputError

if TYPE_CHECKING:
    from moot.cli.screen import View
    from moot.client.remote import Remote
    from moot.core.debate import Debate, Turn
    from moot.core.events import Delta, Event
    from moot.ports import Found, ProviderStatus, Search
    from moot.render.export import Kind
    from moot.stations.station import Agent, Brought, Conversation, Programme, Station


class Agents(Protocol):
    """The saved personas."""

    async def create(self, asked: Mapping[str, Any]) -> "Agent": ...

    async def get(self, agent_id: str, /) -> "Agent": ...

    async def all(self) -> "list[Agent]": ...

    async def change(self, agent_id: str, asked: Mapping[str, Any], /) -> "Agent": ...

    async def delete(self, agent_id: str, /) -> None: ...

    async def bring(self, text: str) -> "Brought": ...

    async def take(self, ids: Sequence[str] = ()) -> str: ...


class Stations(Protocol):
    """The stations, and what they air."""

    async def create(self, asked: Mapping[str, Any]) -> "Station": ...

    async def get(self, station_id: str, /) -> "Station": ...

    async def all(self) -> "list[Station]": ...

    async def change(self, station_id: str, asked: Mapping[str, Any], /) -> "Station": ...

    async def delete(self, station_id: str, /) -> None: ...

    async def bring(self, text: str) -> "Brought": ...

    async def take(self, ids: Sequence[str] = ()) -> str: ...

    async def schedule(
        self,
        station_id: str,
        *,
        motion: str | None = None,
        agents: Sequence[str] = (),
        at: str | None = None,
    ) -> "Conversation": ...

    async def air(self, station_id: str) -> "Conversation": ...

    async def cancel(self, conversation_id: str) -> "Conversation": ...

    async def reorder(self, station_id: str, ids: Sequence[str]) -> "list[Conversation]": ...

    async def conversation(self, conversation_id: str) -> "Conversation": ...

    async def programme(self, station_id: str, past: int = 20) -> "Programme": ...


class Verbs(Protocol):
    """What the commands ask for, and both can do."""

    @property
    def agents(self) -> Agents: ...

    @property
    def stations(self) -> Stations: ...

    async def create(
        self,
        motion: str,
        *,
        format: str = "standard",  # noqa: A002  the word of the contract
        participants: Sequence[Mapping[str, Any]] = (),
        host: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        on_failure: str | None = None,
        allow_unpriced: bool = False,
    ) -> "Debate": ...

    async def council(self, asked: Mapping[str, Any]) -> "Debate": ...

    def providers(self) -> "Awaitable[list[ProviderStatus]]": ...

    async def start(self, debate_id: str) -> "Debate": ...

    async def stop(self, debate_id: str) -> "Debate": ...

    async def pause(self, debate_id: str, *, at_once: bool = False) -> "Debate": ...

    async def resume(self, debate_id: str) -> "Debate": ...

    async def end(self, debate_id: str) -> "Debate": ...

    async def retry(self, debate_id: str, model: str | None = None) -> "Debate": ...

    async def skip(self, debate_id: str) -> "Debate": ...

    async def get(self, debate_id: str) -> "Debate": ...

    async def find(self, search: "Search | None" = None) -> "Found": ...

    async def turns(self, debate_id: str, after: int = 0) -> "list[Turn]": ...

    async def records(self, words: str = "", limit: int = 50) -> list[dict[str, Any]]: ...

    async def report(self, debate_id: str) -> dict[str, Any]: ...

    async def remake_report(self, debate_id: str, model: str | None = None) -> dict[str, Any]: ...

    async def export(self, debate_id: str, kind: "Kind") -> str: ...

    async def wait(self, debate_id: str) -> "Debate": ...

    async def close(self) -> None: ...

    def follow(self, debate_id: str, after: int = 0) -> "AsyncIterator[Event | Delta]": ...

    def folder(self, debate_id: str) -> str: ...

    def left_behind(self, debate: "Debate") -> bool: ...


def url() -> str | None:
    from moot.bootstrap import load_settings

    return load_settings().url


def filed(service: Verbs, debate_id: str) -> str:
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
) -> AsyncGenerator[Verbs]:
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
