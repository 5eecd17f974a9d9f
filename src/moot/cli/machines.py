"""`moot worker` and `moot supervisor`: the processes of a service on many machines."""

import asyncio
import signal
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command()(worker)
    app.command()(supervisor)


def worker(
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Waves that it carries at once; default 100 (MOOT_CONCURRENCY)."),
    ] = None,
) -> None:
    """Speak what the service has queued. Needs MOOT_DATABASE_URL and MOOT_BROKER_URL."""
    from moot.cli.quiet import loading

    with loading():
        from moot import logs
        from moot.bootstrap import broker, load_settings
        from moot.cli.target import at_home

    at_home("worker")
    settings = load_settings()
    if concurrency:
        settings = settings.model_copy(update={"concurrency": concurrency})
    broker(settings)  # says what is missing
    logs.begin(settings)
    from moot.worker.celery_app import run

    def ready() -> None:
        typer.echo(f"This worker carries {settings.concurrency} waves at once. Ctrl-C ends it.")

    run(settings, ready=ready)


def supervisor() -> None:
    """Find what was lost and queue it again. Every `moot serve` does so too; one is enough."""
    from moot.cli.quiet import loading

    with loading():
        from moot import logs
        from moot.bootstrap import broker, load_settings
        from moot.cli.target import at_home

    at_home("supervisor")
    settings = load_settings()
    broker(settings)
    logs.begin(settings)
    asyncio.run(_supervise())


async def _supervise() -> None:
    from moot.bootstrap import load_settings, open_service

    settings = load_settings()
    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    async with open_service(settings, air=True):
        typer.echo(f"The supervisor looks every {settings.sweep_seconds:g} s. Ctrl-C ends it.")
        await ended.wait()
