"""`/metrics` of a worker, which serves nothing else."""

import hmac
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from moot.errors import InputError
from moot.metrics import Metrics
from moot.settings import Settings, secret

if TYPE_CHECKING:
    from wsgiref.types import StartResponse

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its own name for it
        """A scrape is not worth a line."""


def expose(metrics: Metrics, settings: Settings) -> None:
    """Serve the figures on MOOT_METRICS_PORT to whoever may call the service."""
    token = secret(settings.token)
    if token is None and settings.host not in LOOPBACK:
        raise InputError(
            f"{settings.host} can be reached by others. Set MOOT_TOKEN, which whoever reads the "
            "figures must bring, or MOOT_HOST=127.0.0.1.",
            "MOOT_TOKEN",
        )

    def answer(environ: dict[str, Any], start: "StartResponse") -> Iterable[bytes]:
        brought = str(environ.get("HTTP_AUTHORIZATION", "")).encode()
        if token and not hmac.compare_digest(brought, f"Bearer {token}".encode()):
            start("401 Unauthorized", [("WWW-Authenticate", "Bearer")])
            return [b""]
        if environ.get("PATH_INFO") != "/metrics":
            start("404 Not Found", [])
            return [b""]
        start("200 OK", [("Content-Type", Metrics.content_type)])
        return [metrics.text()]

    try:
        server = make_server(
            settings.host, settings.metrics_port or 0, answer, handler_class=_Quiet
        )
    except OSError as error:
        raise InputError(
            f"MOOT_METRICS_PORT: port {settings.metrics_port} cannot be used: {error.strerror}.",
            "MOOT_METRICS_PORT",
        ) from None
    threading.Thread(target=server.serve_forever, name="moot-figures", daemon=True).start()
