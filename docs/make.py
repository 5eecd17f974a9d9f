"""Makes what the docs show from what the code does: `make docs`. A test sees that it was run."""

import asyncio
import json
import re
import tempfile
from io import StringIO
from pathlib import Path

import typer
from rich.console import Console

from moot.api.app import describe
from moot.bootstrap import open_service
from moot.cli.main import app
from moot.cli.screen import Screen
from moot.core.events import Delta
from moot.settings import Settings

HERE = Path(__file__).parent
MOTION = "Should a small team write tests before it writes code?"


def commands() -> str:
    """Every command and option, as `--help` says it."""
    group = typer.main.get_command(app)
    parts = ["# Commands", "", "Made by `make docs` from the program itself.", ""]
    parts += _pages(group, "moot")
    parts += [
        "## Exit codes",
        "",
        "0 completed, 1 failed, 2 wrong usage or input, 3 paused by a failure, 130 interrupted.",
        "",
    ]
    return "\n".join(parts)


def _pages(command: object, name: str) -> list[str]:
    subcommands = getattr(command, "commands", None)
    if subcommands is not None:
        return [line for sub in subcommands.values() for line in _pages(sub, f"{name} {sub.name}")]
    context = command.make_context(name, [], resilient_parsing=True)  # type: ignore[attr-defined]
    context.terminal_width = 90
    return [f"## {name}", "", "```text", command.get_help(context).rstrip(), "```", ""]  # type: ignore[attr-defined]


async def picture() -> str:
    """The beginning of a real run, as the terminal shows it."""
    console = Console(record=True, width=92, force_terminal=True, highlight=False, file=StringIO())
    with tempfile.TemporaryDirectory() as home:
        async with open_service(Settings(home=Path(home), model="local:understudy")) as service:
            made = await service.create(MOTION, format="classic")
            await service.wait(made.id)
            screen = Screen(made, console)
            screen.head()
            shown = 0
            async for event in service.follow(made.id):
                if not isinstance(event, Delta) and shown < 9:
                    screen.show(event)
                    shown += hasattr(event, "turn")
            console.print(f"\n  [dim]⋮ {made.total - shown} more turns[/dim]\n")
            screen.outcome(await service.get(made.id), f"~/.moot/records/debates/{made.id}")
    svg = console.export_svg(title=f'moot run "{MOTION}" --format classic')
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no request to another host


def openapi() -> str:
    """What the page's types are made from; the wheel's build has no moot to ask."""
    return json.dumps(describe(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    (HERE / "commands.md").write_text(commands())
    (HERE.parent / "web" / "openapi.json").write_text(openapi())
    (HERE / "run.svg").write_text(asyncio.run(picture()))


if __name__ == "__main__":
    main()
