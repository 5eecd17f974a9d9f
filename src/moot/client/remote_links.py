"""The links to debates of a moot elsewhere, over HTTP."""

import re
from typing import Any

from moot.client.requests import Wire, items
from moot.core.clean import visible
from moot.core.ids import check_id
from moot.core.link import Link
from moot.errors import NotFoundError
from moot.wire import codec
from moot.wire.shapes import LINK_PATTERN


class RemoteLinks:
    """Links that a server keeps."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def make(self, debate_id: str, *, seat: str | None = None) -> tuple[Link, str]:
        asked = {} if seat is None else {"seat": seat}
        return await self._wire.call(_made, "POST", _path(debate_id), asked)

    async def of(self, debate_id: str) -> list[Link]:
        return await self._wire.call(items(_link), "GET", _path(debate_id))

    async def revoke(self, debate_id: str, link_id: str) -> None:
        path = _path(debate_id)
        if not re.fullmatch(LINK_PATTERN, link_id):
            raise NotFoundError(f"This debate has no link {link_id[:60]!a}.", "link")
        await self._wire.ask("DELETE", f"{path}/{link_id}")


def _path(debate_id: str) -> str:
    return f"/debates/{check_id(debate_id)}/links"


def _link(said: Any) -> Link:
    known = {name: said[name] for name in ("id", "debate_id", "seat", "created_at")}
    return codec.adapter(Link).validate_python(known)


def _made(said: Any) -> tuple[Link, str]:
    shown = visible(said)
    return _link(shown), str(shown["token"])
