"""New ids and secrets: the moment, and letters that chance picks."""

import secrets

from moot.core.ids import ALPHABET
from moot.core.times import stamp


def new_id(now: float) -> str:
    token = "".join(secrets.choice(ALPHABET) for _ in range(6))
    return f"debate_{stamp(now)}_{token}"


def new_link_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(12))


def new_secret() -> str:
    return secrets.token_urlsafe(32)
