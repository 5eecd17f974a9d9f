"""The commands that work on the home itself: its services, its database, its files."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Json, counted, print_json
from moot.cli.hints import hint
from moot.cli.quiet import loading
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.settings import Settings
    from moot.store.reindex import Reindexed

database = typer.Typer(no_args_is_help=True, help="The database.")
MIN_TOKEN = 16


def register(app: typer.Typer) -> None:
    for command in (reindex, doctor, serve, mcp, worker, supervisor):
        app.command()(command)
    app.add_typer(database, name="db")


# --- services ---


def serve(
    host: Annotated[
        str | None, typer.Option(help="The address to listen on; default 127.0.0.1 (MOOT_HOST).")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Default 8420 (MOOT_PORT); 0: any free.")
    ] = None,
) -> None:
    """Serve moot over HTTP, and carry on the debates of this home."""
    with loading():
        from moot import logs
        from moot.api.app import serve as serve_on
        from moot.api.security import is_loopback
        from moot.api.server import listen
        from moot.bootstrap import new_loop
        from moot.cli.target import at_home
        from moot.mcp.tool_server import PATH, over_http
        from moot.settings import secret

    settings = at_home("serve")
    host, port = host or settings.host, settings.port if port is None else port
    token = secret(settings.token)
    if token is None and not is_loopback(host):
        raise InputError(
            f"Others can reach {host}. Set MOOT_TOKEN to a secret that every call must bring, or "
            "listen on 127.0.0.1.",
            "MOOT_TOKEN",
        )
    if token is not None and len(token) < MIN_TOKEN:
        raise InputError(
            f"MOOT_TOKEN is too short to be a secret; it needs at least {MIN_TOKEN} characters.",
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
        runner.run(serve_on(settings, sock, ready=ready, doors={PATH: over_http}))


def mcp() -> None:
    """Serve moot as tools of an agent (MCP), on standard input."""
    with loading():
        from moot.cli.target import where
        from moot.mcp.tool_server import over_stdio

    async def serve_it() -> None:
        async with where(recover=True, live=True) as moot:
            await over_stdio(moot)

    asyncio.run(serve_it())


def worker(
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Waves that it carries at once; default 100 (MOOT_CONCURRENCY)."),
    ] = None,
) -> None:
    """Speak what the service has queued. Needs MOOT_DATABASE_URL and MOOT_BROKER_URL."""
    settings = _cluster("worker")
    if concurrency:
        settings = settings.model_copy(update={"concurrency": concurrency})
    from moot.worker.celery_app import run

    def ready() -> None:
        waves = counted(settings.concurrency, "wave")
        typer.echo(f"This worker carries {waves} at once. Ctrl-C ends it.")

    run(settings, ready=ready)


def supervisor() -> None:
    """Find what was lost and queue it again. Every `moot serve` does so too; one is enough."""
    asyncio.run(_supervise(_cluster("supervisor")))


def _cluster(command: str) -> "Settings":
    """The settings of a process beside others; raises InputError if the cluster's are missing."""
    with loading():
        from moot import logs
        from moot.bootstrap import broker
        from moot.cli.target import at_home

    settings = at_home(command)
    broker(settings)
    logs.begin(settings)
    return settings


async def _supervise(settings: "Settings") -> None:
    from moot.bootstrap import open_service

    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    async with open_service(settings, air=True):
        typer.echo(f"The supervisor looks every {settings.sweep_seconds:g} s. Ctrl-C ends it.")
        await ended.wait()


# --- what is there ---


def doctor(
    live: Annotated[
        bool,
        typer.Option("--live", help="Call each provider that is set up, which costs a little."),
    ] = False,
    json: Json = False,
) -> None:
    """Say what works here, and what to set."""
    from dataclasses import asdict

    from moot.cli.doctor import examine

    findings = asyncio.run(examine(live))
    if json:
        print_json(
            [
                {"name": f.name, "ok": f.ok, "detail": f.detail}
                | ({"probe": asdict(f.probe)} if f.probe else {})
                for f in findings
            ]
        )
    for finding in findings if not json else ():
        ok = finding.ok
        mark = typer.style("ok  " if ok else "--  ", fg="green" if ok else "yellow")
        hint(f"{mark}{finding.name:<12}{finding.detail}")
    if not all(finding.ok for finding in findings if finding.needed):
        raise typer.Exit(1)


@database.command()
def upgrade() -> None:
    """Bring the database to this version's schema."""
    from moot.cli.target import at_home
    from moot.store import schema

    place = at_home("db upgrade").database
    if isinstance(place, str):
        before, after = schema.upgrade_at(place)
        was = f"was at schema {before}, and is" if before not in (None, after) else "is"
        typer.echo(f"The database {was} at schema {after}.")
        return
    schema.prepare(place)
    typer.echo(f"{place} is at schema {schema.HEAD}.")


def reindex(
    from_files: Annotated[
        bool,
        typer.Option(
            "--from-files",
            help="Also update rows whose files go further: after an older copy of the database "
            "was restored.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Add the rows that the database lacks, from the files."""
    from moot.cli.target import at_home

    done = asyncio.run(_reindex(at_home("reindex"), from_files))
    if json:
        skipped = [{"id": id_, "issues": issues} for id_, issues in done.skipped.items()]
        print_json(
            {
                "found": done.found,
                "indexed": done.indexed,
                "brought_up": done.brought_up,
                "present": done.present,
                "skipped": skipped,
            }
        )
    else:
        _tell(done)
    if done.skipped:
        raise typer.Exit(1)


def _tell(done: "Reindexed") -> None:
    typer.echo(
        f"{counted(done.found, 'debate')} on disk: {len(done.indexed)} indexed, "
        f"{len(done.brought_up)} brought up to their files, "
        f"{done.present} were there already, {len(done.skipped)} left out."
    )
    if done.indexed:
        typer.echo(
            "Agents, stations and their programmes are not in these files: "
            "`moot agents import` and `moot stations import` bring back what was exported."
        )
    for id_, issues in done.skipped.items():
        typer.echo("\n  ".join((f"{id_} was left out:", *issues)))


async def _reindex(settings: "Settings", from_files: bool) -> "Reindexed":
    from moot.store import schema
    from moot.store.reindex import reindex
    from moot.store.store import open_database

    schema.prepare(settings.database)
    database = open_database(settings.database, 1)
    try:
        return await reindex(database, settings.home, from_files=from_files)
    finally:
        database.close()
