"""`moot`: the command line. Heavy imports stay inside the commands, so that --help is quick."""

import logging
import sys
from io import TextIOWrapper
from typing import Annotated

from moot.cli.quiet import loading

with loading():
    import typer

    from moot.cli import (
        agent_commands,
        ask_command,
        eval_command,
        gate_command,
        home_commands,
        hook_commands,
        model,
        offers_command,
        outcome_commands,
        plan_command,
        ratings_command,
        read_commands,
        run_commands,
        settings_commands,
        share_command,
        station_commands,
        template_commands,
    )
    from moot.cli.grouped import Grouped
    from moot.cli.hints import typed
    from moot.errors import InputError, MootError

app = typer.Typer(
    name="moot",
    cls=Grouped,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Debates between language models, carried to their end.",
)
for commands in (
    run_commands, share_command, plan_command, ask_command, read_commands, outcome_commands,
    gate_command, eval_command, ratings_command, agent_commands, station_commands,
    settings_commands, home_commands, hook_commands, model, offers_command, template_commands,
):  # fmt: skip
    commands.register(app)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"moot {version('moot')}")
        raise typer.Exit


@app.callback()
def options(
    _show: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Debates between language models, carried to their end."""


def main() -> None:
    """Run the command; an error is one sentence on standard error, and never a traceback."""
    logging.getLogger("moot").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character
    try:
        app()
    except MootError as error:
        typer.echo(f"moot: {typed(error.message)}", err=True)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone
        sys.exit(0)
    except OSError as error:
        typer.echo(f"moot: {_told(error)}", err=True)
        sys.exit(1)


def _told(error: OSError) -> str:
    """What the system says, with the file that it is about."""
    if error.filename is None or not error.strerror:
        return str(error.strerror or error)
    return f"{error.filename}: {error.strerror}."
