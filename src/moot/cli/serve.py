"""`moot serve`: the HTTP service."""

import asyncio
from typing import Annotated

import typer

from moot.errors import InputError

MIN_TOKEN = 16


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    host: Annotated[
        str | None, typer.Option(help="The address to listen on; default 127.0.0.1 (MOOT_HOST).")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Default 8420 (MOOT_PORT); 0: any free.")
    ] = None,
) -> None:
    """Serve moot over HTTP, and carry on the debates of this home."""
    from moot.cli.quiet import loading

    with loading():
        from moot import logs
        from moot.api.app import serve as serve_on
        from moot.api.security import is_loopback
        from moot.api.server import listen
        from moot.bootstrap import load_settings, new_loop
        from moot.cli.target import at_home
        from moot.settings import secret

    at_home("serve")
    settings = load_settings()
    host, port = host or settings.host, settings.port if port is None else port
    token = secret(settings.token)
    if token is None and not is_loopback(host):
        raise InputError(
            f"{host} can be reached by others. Set MOOT_TOKEN to a secret that every call must "
            "bring, or listen on 127.0.0.1.",
            "MOOT_TOKEN",
        )
    if token is not None and len(token) < MIN_TOKEN:
        raise InputError(
            f"MOOT_TOKEN is too short to be a secret; {MIN_TOKEN} characters is the least.",
            "MOOT_TOKEN",
        )
    logs.begin(settings)
    sock = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{sock.getsockname()[1]}"

    def ready(_: object) -> None:
        typer.echo(f"moot is at {address}, its home is {settings.home}. Ctrl-C ends it.")
        typer.echo(f"The calls:  {address}/docs")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve_on(settings, sock, ready=ready))
