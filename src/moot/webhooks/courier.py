"""Tells programs elsewhere what became of debates: signed, on record, tried again with growing
waits, and not for ever."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import httpx2

from moot.core.times import iso
from moot.errors import InputError, MootError
from moot.ports.delivery_store import Deliveries, Delivery
from moot.ports.instruments import Clock
from moot.webhooks.receivers import Receiver, load
from moot.wire import codec, signature

log = logging.getLogger(__name__)

WAITS = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 7200.0, 18_000.0, 36_000.0)
"""Seconds before each further try; after the last, it is given up."""
TRY_SECONDS = 15.0
LEASE_SECONDS = 60.0
"""After which another process may try what one has taken."""
LOOK_SECONDS = 1.0
GONE = 410
AGENT = "moot-webhooks"


class Courier:
    """Sends what is due, of the hooks that this home has."""

    def __init__(
        self,
        home: Path,
        deliveries: Deliveries,
        clock: Clock,
        secret: Callable[[str], bytes | None],
    ) -> None:
        self._home = home
        self._deliveries = deliveries
        self._clock = clock
        self._secret = secret
        self._task: asyncio.Task[None] | None = None
        self._said = ""
        self._http: httpx2.AsyncClient | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._go_on(), name="moot-webhooks")

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._http:
            await self._http.aclose()

    async def look(self) -> int:
        """Put on record what there is to tell, and try what is due; says how many were tried."""
        hooks = {one.name: one for one in await asyncio.to_thread(load, self._home)}
        if not hooks:
            return 0
        wanted = {one.name: one.events for one in hooks.values()}
        while await self._deliveries.collect(wanted):
            pass
        now = self._clock.now()
        due = await self._deliveries.take(now, now + LEASE_SECONDS)
        await asyncio.gather(*(self._try(one, hooks) for one in due))
        return len(due)

    async def test(self, name: str) -> Delivery:
        """Send that hook something harmless now; says how it went."""
        hook = {one.name: one for one in await asyncio.to_thread(load, self._home)}.get(name)
        if hook is None:
            raise InputError(f"hooks.toml has no entry [{name}].", "name")
        now = self._clock.now()
        at = iso(now)
        body = codec.dumps({"type": "moot.test", "timestamp": at, "data": {"hook": name}})
        made = Delivery(
            f"msg_{uuid.uuid4().hex}", name, "", "moot.test", body, created_at=at,
            next_at=now + LEASE_SECONDS,
        )  # fmt: skip
        await self._deliveries.add(made)
        tried = await self._sent(replace(made, tries=0), hook, last=True)
        await self._deliveries.note(replace(tried, tries=0))
        return tried

    async def resend(self, id_: str) -> Delivery:
        """Try a delivery once more now, whatever became of it; says how it went."""
        one = await self._deliveries.again(id_, self._clock.now() + LEASE_SECONDS)
        hooks = {one.name: one for one in await asyncio.to_thread(load, self._home)}
        await self._try(one, hooks)
        return await self._deliveries.get(id_)

    async def _go_on(self) -> None:
        while True:
            try:
                await self.look()
                self._said = ""
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                if said != self._said:
                    self._said = said
                    expected = isinstance(error, MootError)
                    log.warning("webhooks: %s", error, exc_info=None if expected else error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _try(self, delivery: Delivery, hooks: Mapping[str, Receiver]) -> None:
        one, hook = replace(delivery, tries=delivery.tries + 1), hooks.get(delivery.hook)
        if hook is None:
            gone = "hooks.toml no longer has this hook."
            await self._deliveries.note(replace(one, state="given_up", error=gone))
            return
        await self._deliveries.note(await self._sent(one, hook))

    async def _sent(self, one: Delivery, hook: Receiver, *, last: bool = False) -> Delivery:
        """The delivery after one try."""
        key, body, http = self._secret(hook.secret_env), one.body.encode(), self._client()
        if key is None:
            return self._failed(
                one,
                f"{hook.secret_env} is not set to a secret of at least 16 characters.",
                last=last,
            )
        headers = {
            "content-type": "application/json",
            "user-agent": AGENT,
            **signature.headers(key, one.id, int(self._clock.now()), body),
        }
        try:
            async with (
                asyncio.timeout(TRY_SECONDS),
                http.stream("POST", hook.url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code  # what it says beside is not read
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            name = type(error).__name__
            return self._failed(one, f"{hook.url} cannot be reached ({name}).", last=last)
        if 200 <= status < 300:
            at = iso(self._clock.now())
            return replace(one, state="delivered", status=status, error=None, delivered_at=at)
        redirect = (
            " Redirects are not followed: name the new address." if 300 <= status < 400 else ""
        )
        said = f"It answered {status}.{redirect}"
        return self._failed(replace(one, status=status), said, last=last or status == GONE)

    def _client(self) -> httpx2.AsyncClient:
        """Made on first use. A redirect is not followed: it could lead behind a firewall."""
        if self._http is None:
            self._http = httpx2.AsyncClient(follow_redirects=False, timeout=None)
        return self._http

    def _failed(self, one: Delivery, error: str, *, last: bool) -> Delivery:
        if last or one.tries > len(WAITS):
            return replace(one, state="given_up", error=error)
        wait = WAITS[max(one.tries - 1, 0)]
        return replace(one, error=error, next_at=self._clock.now() + wait)
