"""Speakers and a format that several files of tests use."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moot.core.debate import Debate
from moot.engine.service import Service
from moot.ports.model_call import Call, Reply, Say
from moot.testing.speaker import Script, ScriptedSpeaker, plain
from tests.virtual import until

CHORUS = """
name = "chorus"
title = "Chorus"
description = "All at once, then all at once again."
rules = "Speak."
on_failure = "degrade"
[roster]
min = 2
max = 5
[[stages]]
name = "first"
together = true
ask = "Say what you think."
[[stages]]
name = "second"
together = true
rounds = 2
ask = "Answer the others."
"""


def add_chorus(home: Path) -> None:
    """A format whose participants speak at once."""
    (home / "formats").mkdir(parents=True)
    (home / "formats" / "chorus.toml").write_text(CHORUS)


class Gated(ScriptedSpeaker):
    """Waits at its gate with the calls that are held."""

    def __init__(
        self, held: Callable[[Call], bool] = lambda _: True, script: Script = plain
    ) -> None:
        super().__init__(script)
        self.gate = asyncio.Event()
        self._held = held

    async def speak(self, call: Call, say: Say) -> Reply:
        if self._held(call):
            self.in_flight += 1
            try:
                await self.gate.wait()
            finally:
                self.in_flight -= 1
        return await super().speak(call, say)


async def in_flight(service: Service, speaker: ScriptedSpeaker, **wanted: Any) -> Debate:
    """A debate whose speaker has been asked and has not answered."""
    made = await service.create("m", **wanted)
    await until(lambda: speaker.in_flight)
    return made
