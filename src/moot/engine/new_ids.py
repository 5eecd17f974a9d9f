"""New ids: the moment, and letters that chance picks."""

import secrets

from moot.core.ids import ALPHABET
from moot.core.times import stamp


def new_id(now: float) -> str:
    token = "".join(secrets.choice(ALPHABET) for _ in range(6))
    return f"debate_{stamp(now)}_{token}"
