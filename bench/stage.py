"""What every measurement needs: a home on the real disk, a text, and a speaker without a model."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from moot.core.debate import Usage
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.settings import Settings

SCRATCH = Path(__file__).resolve().parent.parent / ".bench"
"""Beside the code, not in a memory file system: an fsync must cost what it costs."""

MOTION = "Should a small team write its tests before it writes its code?"
SEATS = ({"name": "Ada", "model": "local:fake"}, {"name": "Ben", "model": "local:fake"})
_SENTENCE = "That the cost of a late change grows is no law of nature but a habit of large teams. "
_USAGE = Usage(900, 250, 0.001)


def words(actor: str, number: int) -> str:
    """About 1,000 characters in two paragraphs, as models write them; no two turns alike."""
    opening = f"Let me take up the point of round {number}, as {actor}: {_SENTENCE * 5}"
    return f"{opening.rstrip()}\n\n{_SENTENCE * 6}"[:1000].rstrip()


class Instant:
    """Answers at once, and notes when it was asked: each call but the first follows a commit."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 1_000_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.asked.append(perf_counter())
        text = words(call.step.actor, call.step.round)
        say(text)
        return Reply(text, call.model, _USAGE)


@contextmanager
def home() -> Generator[Path]:
    """A home of its own for one measurement, removed at the end."""
    SCRATCH.mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(dir=SCRATCH))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if not any(SCRATCH.iterdir()):
            SCRATCH.rmdir()


def settings(path: Path, local_base_url: str | None = None) -> Settings:
    """The settings of a home, whatever the environment says."""
    return Settings(
        home=path,
        model="local:fake",
        local_base_url=local_base_url,
        disabled_formats=(),
        lease_seconds=15,
        sweep_seconds=2,
    )
