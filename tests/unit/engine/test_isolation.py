"""Who may speak at the same time: many share the floor, one may have it alone."""

import asyncio

from moot.engine.isolation import Floor
from moot.testing import virtual


def test_one_alone_waits_for_the_others_and_keeps_new_ones_out() -> None:
    async def work() -> None:
        floor, log = Floor(), list[str]()
        leave = {name: asyncio.Event() for name in ("first", "suspect", "late")}

        async def speak(name: str, *, alone: bool = False) -> None:
            async with floor.alone() if alone else floor.shared():
                log.append(f"{name} begins")
                await leave[name].wait()
                log.append(f"{name} ends")

        async def settle() -> None:
            for _ in range(10):
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(speak("first"))]
        await settle()
        tasks.append(asyncio.create_task(speak("suspect", alone=True)))
        await settle()
        tasks.append(asyncio.create_task(speak("late")))
        await settle()
        assert log == ["first begins"]
        leave["first"].set()
        await settle()
        assert log == ["first begins", "first ends", "suspect begins"]
        leave["suspect"].set()
        leave["late"].set()
        await asyncio.gather(*tasks)
        assert log[3:] == ["suspect ends", "late begins", "late ends"]

    virtual.run(work())


def test_whoever_is_called_off_while_it_waits_leaves_the_floor_free() -> None:
    async def work() -> None:
        floor = Floor()
        async with floor.shared():
            waiting = asyncio.create_task(_alone(floor))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(30), floor.shared(), floor.shared():
            pass
        async with asyncio.timeout(30), floor.alone():
            pass

    virtual.run(work())


async def _alone(floor: Floor) -> None:
    async with floor.alone():
        pass
