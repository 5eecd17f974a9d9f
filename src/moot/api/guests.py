"""What the holder of a link may do: read its debate and, if it has a seat, speak for that seat."""

import re
from typing import Any

from starlette.types import Scope

from moot.api.problems import ProblemError
from moot.core.link import Link

READS = re.compile(
    r"(?:/turns|/plan|/events|/asked|/packet|/verdict|/report|/export|/sources(?:/[A-Za-z0-9]+)?)?"
)
"""What can be read of a debate, behind its address."""
_LINK = "moot.link"


def let_in(scope: Scope, link: Link) -> None:
    """Let a guest through to what its link is for; refuse everything else, there or not."""
    if not _is_allowed(scope["method"], scope["path"], link):
        whom = f"speaks for {link.seat} in it" if link.seat else "reads it"
        raise ProblemError(
            403,
            f"This link is for {link.debate_id} alone: whoever has it {whom}, and nothing else.",
            code="HTTP_ERR_GUEST",
        )
    scope[_LINK] = link


def link_of(scope: Any) -> Link | None:
    """The link by which a request came; None if it came without one."""
    return scope.get(_LINK)


def _is_allowed(method: str, path: str, link: Link) -> bool:
    if (method, path) == ("GET", "/guest"):
        return True
    own = f"/debates/{link.debate_id}"
    if not path.startswith(own):
        return False
    rest = path[len(own) :]
    if method == "GET":
        return READS.fullmatch(rest) is not None
    return method == "POST" and rest == "/say" and link.seat is not None
