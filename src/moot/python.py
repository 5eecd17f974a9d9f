"""What `moot run`, `moot council`, `moot rejudge` and `moot replay` do, for a Python program."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moot.bootstrap import load_settings, open_service, replay
from moot.core.debate import Debate, Turn
from moot.core.status import Status
from moot.engine.service import Service
from moot.outcome.result import verdict_of
from moot.ports import Speaker
from moot.settings import Settings
from moot.wire import codec


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

    @property
    def verdict(self) -> dict[str, Any] | None:
        """The outcome, as `verdict.json` holds it; None if the debate came to none."""
        return verdict_of(self.debate, self.turns)


def run(
    motion: str,
    *,
    format: str = "standard",  # noqa: A002  the word of the contract
    participants: Sequence[Mapping[str, Any]] = (),
    host: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    on_failure: str | None = None,
    jury: Mapping[str, Any] | None = None,
    allow_unpriced: bool = False,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Finished:
    """Debate a motion to its end. Not inside an event loop: use `moot.open` there."""

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
                jury=jury,
                allow_unpriced=allow_unpriced,
            )
            return await _finished(service, made)

    return asyncio.run(carry())


def rejudge(
    debate_id: str,
    *,
    jury: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Finished:
    """Have a jury judge a debate that has ended: its `size` and `models`, with 2 calls for each
    juror. Returns the new debate in which it voted; the judged one stays as it is."""

    async def carry() -> Finished:
        async with open_service(settings, speaker=speaker) as service:
            return await _finished(service, await service.rejudge(debate_id, jury=jury))

    return asyncio.run(carry())


async def _finished(service: Service, made: Debate) -> Finished:
    debate = await service.wait(made.id)
    turns = await service.turns(debate.id)
    return Finished(debate, tuple(turns), Path(service.folder(debate.id)))


def run_debate_mode(
    request: Mapping[str, Any],
    *,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> dict[str, Any]:
    """Hold a council, by its own request, to its end. `packet` is None if it did not decide."""

    async def carry() -> dict[str, Any]:
        async with open_service(settings, speaker=speaker) as service:
            made = await service.council(request)
            debate = await service.wait(made.id)
            return {
                "runId": debate.id,
                "status": debate.status,
                "stopReason": debate.stop_reason,
                "degraded": debate.degraded,
                "packet": await service.packet(debate.id) if debate.outcome else None,
                "verdict": await service.verdict(debate.id) if debate.outcome else None,
                "warnings": list(debate.warnings),
                "failure": codec.plain(debate.failure) if debate.failure else None,
                "folder": service.folder(debate.id),
            }

    return asyncio.run(carry())


def replay_debate_mode(run_id: str, *, settings: Settings | None = None) -> dict[str, Any]:
    """A debate from its files alone, and where they and the database disagree. Changes nothing."""
    return replay(settings or load_settings(), run_id)
