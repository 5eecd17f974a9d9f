"""Signatures as Standard Webhooks writes them, for who sends calls and for who checks them."""

import base64
import hashlib
import hmac

VERSION = "v1"


def mac(key: bytes, id_: str, timestamp: str, body: bytes) -> bytes:
    """What only whoever has the key can make of this very call."""
    return hmac.new(key, f"{id_}.{timestamp}.".encode() + body, hashlib.sha256).digest()


def headers(key: bytes, id_: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a signed call."""
    made = base64.b64encode(mac(key, id_, str(timestamp), body)).decode()
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"{VERSION},{made}",
    }
