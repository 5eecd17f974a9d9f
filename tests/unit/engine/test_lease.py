"""Whether the owner of a lease is known to be gone, and when its keeper looks."""

import asyncio
import os
import subprocess
import sys
import time
from typing import cast

import pytest

from moot.engine import lease
from moot.engine.lease import Keeper, is_dead, owner_name
from moot.ports.debate_store import Held, Store
from moot.testing import virtual
from moot.testing.virtual import FrozenClock


def test_this_process_is_alive_and_no_other_is_called_the_same() -> None:
    assert owner_name() != owner_name()
    assert not is_dead(owner_name())


def test_a_process_that_has_ended_is_dead() -> None:
    code = "from moot.engine.lease import owner_name; print(owner_name())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert is_dead(child.stdout.strip())


def test_a_pid_that_was_given_away_again_is_not_mistaken() -> None:
    host, boot, space, pid, began, token = owner_name().split("/")
    assert pid == str(os.getpid())
    assert is_dead("/".join((host, boot, space, pid, str(int(began) - 1), token)))


def test_what_cannot_be_known_counts_as_alive() -> None:
    host, boot, space, pid, _, token = owner_name().split("/")
    assert not is_dead("/".join(("elsewhere", boot, space, "1", "1", token)))
    assert not is_dead("/".join((host, boot, "pid:[1]", "1", "1", token)))
    assert not is_dead("/".join((host, boot, space, pid, "-", token)))
    assert not is_dead("/".join((host, space, "1", "1", token))), "in the form of an older moot"
    assert not is_dead("somebody")


def test_a_clone_of_the_same_image_is_another_machine() -> None:
    """It has the same host name, the same namespace and, perhaps, the same process ids."""
    host, boot, space, _, _, token = owner_name().split("/")
    gone = (space, "999999999", "1", token)
    assert is_dead("/".join((host, boot, *gone)))
    assert not is_dead("/".join((host, boot[::-1], *gone)))


def test_one_that_nobody_has_buried_yet_is_dead_too() -> None:
    code = "from moot.engine.lease import owner_name; print(owner_name(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        owner = child.stdout.readline().strip()
        assert not is_dead(owner)
        child.kill()
        until = time.monotonic() + 60
        while not is_dead(owner) and time.monotonic() < until:  # it is not waited for
            time.sleep(0.01)
        assert is_dead(owner)
        assert child.returncode is None


class Rows:
    """A store in which something is wanted of each debate."""

    def __init__(self) -> None:
        self.looks = 0

    async def held(self, _: str) -> dict[str, Held]:
        self.looks += 1
        await asyncio.sleep(0.005)
        return {"d": Held(1, "end")}


def test_a_keeper_that_is_asked_looks_at_once_and_once_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease, "WATCH_SECONDS", 60.0)

    async def work() -> None:
        rows = Rows()
        keeper = Keeper(cast(Store, rows), FrozenClock(), 600.0)
        keeper.look("d")  # nothing is in hand
        hand = keeper.hold("d", 1)
        await asyncio.sleep(0.05)
        keeper.look("another")
        await asyncio.sleep(0.05)
        assert rows.looks == 0
        for _ in range(1_000):
            keeper.look("d")
        async with asyncio.timeout(0.05):
            await hand.nudged.wait()
        await asyncio.sleep(0.05)
        assert rows.looks == 1
        for _ in range(100):
            keeper.look("d")
            await asyncio.sleep(0.001)
        assert 2 <= rows.looks <= 1 + 0.1 / lease.LOOK_SECONDS
        await keeper.close()

    virtual.run(work())
