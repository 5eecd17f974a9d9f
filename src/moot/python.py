"""`moot.run`: what `moot run` does, for a Python program."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moot.bootstrap import open_service
from moot.core.debate import Debate, Turn
from moot.core.status import Status
from moot.ports import Speaker
from moot.settings import Settings


@dataclass(frozen=True, slots=True)
class Finished:
    """A debate that has come to its end, or to a pause, with all that was said."""

    debate: Debate
    turns: tuple[Turn, ...]
    folder: Path

    @property
    def id(self) -> str:
        return self.debate.id

    @property
    def status(self) -> Status:
        return self.debate.status


def run(
    motion: str,
    *,
    format: str = "standard",  # noqa: A002  the word of the contract
    participants: Sequence[Mapping[str, Any]] = (),
    host: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    on_failure: str | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Finished:
    """Debate a motion to its end. Call it where no event loop runs; else use `moot.open`."""

    async def carry() -> Finished:
        async with open_service(settings, speaker=speaker) as service:
            made = await service.create(
                motion,
                format=format,
                participants=participants,
                host=host,
                options=options,
                limits=limits,
                on_failure=on_failure,
            )
            debate = await service.wait(made.id)
            turns = await service.turns(debate.id)
            return Finished(debate, tuple(turns), Path(service.folder(debate.id)))

    return asyncio.run(carry())
