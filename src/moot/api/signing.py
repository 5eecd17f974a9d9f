"""Signed calls, as Standard Webhooks writes them: from whom, how long ago, and each good once."""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass

from moot.api.problems import ProblemError
from moot.wire.signature import VERSION, mac

TOLERANCE_SECONDS = 300
"""How far a call's clock may be from ours, either way."""
MAX_SIGNATURES = 16
_ID = re.compile(r"[!-\-/-~]{1,255}", re.ASCII)
"""Anything that can be seen, but no full stop: that ends it in what is signed."""
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Signed:
    """The headers of a call, as they came; "" where one is missing, or came twice."""

    id: str
    timestamp: str
    signature: str


def verify(key: bytes, signed: Signed, body: bytes, now: float) -> str:
    """What marks this very signature, so that it is taken once; a call that is not from whoever
    has the key, or not of now, is refused."""
    if not (signed.id and signed.timestamp and signed.signature):
        raise refusal(
            "The call is not signed: it needs one each of the headers webhook-id, "
            "webhook-timestamp and webhook-signature, by MOOT_HOOK_SECRET."
        )
    if not _ID.fullmatch(signed.id):
        raise refusal("webhook-id is up to 255 visible characters without a full stop.")
    if not _TIMESTAMP.fullmatch(signed.timestamp):
        raise refusal("webhook-timestamp is a whole number: seconds since 1970.")
    made = mac(key, signed.id, signed.timestamp, body)
    if not _is_among(made, signed.signature):
        raise refusal("The signature is not one of this body by MOOT_HOOK_SECRET.")
    away = int(signed.timestamp) - now
    if abs(away) > TOLERANCE_SECONDS:
        lies = "ahead of" if away > 0 else "behind"
        raise refusal(
            f"webhook-timestamp is {abs(away):.0f} s {lies} the clock here; "
            f"{TOLERANCE_SECONDS} s is the most. Sign it anew."
        )
    return f"hook {hashlib.sha256(made).hexdigest()}"  # with a space: no Idempotency-Key has one


def refusal(sentence: str) -> ProblemError:
    return ProblemError(401, sentence, {"WWW-Authenticate": "Signature"}, "HTTP_ERR_SIGNATURE")


def _is_among(made: bytes, signature: str) -> bool:
    """Whether one of the signatures is right: while a secret is changed, a sender gives two."""
    right = False
    for given in signature.split(" ")[:MAX_SIGNATURES]:
        version, _, encoded = given.partition(",")
        right |= version == VERSION and hmac.compare_digest(_decoded(encoded), made)
    return right


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # ValueError: not ASCII
        return b""
