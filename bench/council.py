"""How long a council takes, in answers: five of its seventeen wait for another."""

import asyncio
from time import perf_counter

from bench import stage
from moot.bootstrap import open_service
from moot.models.understudy import Understudy
from moot.ports.model_call import Call, Reply, Say

CRITICAL_PATH = 5  # three rounds, the consensus, the judge


class Thoughtful(Understudy):
    """The understudy, taking its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def speak(self, call: Call, say: Say) -> Reply:
        await asyncio.sleep(self._seconds)
        return await super().speak(call, say)


def answer_times(seconds: float = 0.5) -> float:
    """Wall time of a whole council, files and record included, in answers."""

    async def hold() -> float:
        with stage.home() as path:
            settings = stage.settings(path)
            async with open_service(settings, speaker=Thoughtful(seconds)) as service:
                began = perf_counter()
                made = await service.council({"problem": stage.MOTION, "output_type": "decision"})
                done = await service.wait(made.id)
                took = perf_counter() - began
            if done.status != "completed" or done.turn_count != 17:
                raise RuntimeError(f"the council is {done.status} after {done.turn_count} turns")
            return took / seconds

    return asyncio.run(hold())
