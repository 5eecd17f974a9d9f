"""Links to debates: they are made, shown and revoked here, and their tokens are known by a hash."""

import hashlib
from collections.abc import Awaitable, Callable, Collection

from moot.core.debate import Debate
from moot.core.link import PREFIX, Link, check_seat
from moot.core.times import iso
from moot.engine.new_ids import new_link_id, new_secret
from moot.errors import NotFoundError
from moot.ports.debate_store import Store
from moot.ports.instruments import Clock

MOST_CHARACTERS = 100
"""No token of ours is longer."""


class Sharing:
    """What a person can do with links, and what a server asks of them."""

    def __init__(self, store: Store, clock: Clock, get: Callable[[str], Awaitable[Debate]]) -> None:
        self._store = store
        self._clock = clock
        self._get = get

    async def make(self, debate_id: str, *, seat: str | None = None) -> tuple[Link, str]:
        check_seat(await self._get(debate_id), seat)
        token = PREFIX + new_secret()
        link = Link(new_link_id(), debate_id, seat, iso(self._clock.now()))
        await self._store.keep_link(link, _hash(token))
        return link, token

    async def of(self, debate_id: str) -> list[Link]:
        await self._get(debate_id)
        return await self._store.links(debate_id)

    async def revoke(self, debate_id: str, link_id: str) -> None:
        await self._get(debate_id)
        if not await self._store.forget_link(debate_id, link_id):
            raise NotFoundError(f"This debate has no link {link_id[:60]!a}.", "link")

    async def guest(self, token: str) -> Link | None:
        """The link that this token is of; None if it was revoked, or never was."""
        if not token.startswith(PREFIX) or len(token) > MOST_CHARACTERS:
            return None
        return await self._store.link_of(_hash(token))

    async def living(self, ids: Collection[str]) -> set[str]:
        """Those of the links that nobody has revoked."""
        return await self._store.living_links(sorted(ids))


def _hash(token: str) -> str:
    """A token holds 256 bits of chance, so that nobody finds it by trying: no salt is needed."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
