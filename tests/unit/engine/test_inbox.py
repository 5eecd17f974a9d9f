"""The queue of one listener."""

import asyncio

from moot.bus.memory import MemoryBus
from moot.engine import inbox
from moot.engine.inbox import Subscription
from moot.testing.bus_peer import committed, delta, in_loop, turn


@in_loop
async def test_a_subscription_gives_what_was_said_in_order() -> None:
    bus = MemoryBus()
    subscription = Subscription(bus, "d")
    bus.publish(delta("1"))
    bus.publish(turn())
    assert await subscription.get(5) == delta("1")
    assert await subscription.get(5) == turn()
    assert await subscription.get(0.01) is None
    asyncio.get_running_loop().call_later(0.02, bus.publish, committed())
    assert await subscription.get(60) == committed()
    subscription.close()
    subscription.close()
    bus.publish(delta())
    assert not bus.listened("d")
    assert await subscription.get(0.01) is None


@in_loop
async def test_a_subscription_that_is_far_behind_loses_what_it_was_sent() -> None:
    bus = MemoryBus()
    subscription = Subscription(bus, "d")
    for number in range(inbox.BACKLOG + 1):
        bus.publish(delta(str(number)))
    assert await subscription.get(5) == delta(str(inbox.BACKLOG))
    assert await subscription.get(0.01) is None
    subscription.close()
