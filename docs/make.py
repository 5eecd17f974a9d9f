"""Makes what the docs show from what the code does: `make docs`. A test sees that it was run."""

import ast
import json
import re
import runpy
from io import StringIO
from pathlib import Path

import typer
from rich.console import Console

from moot.api.app import describe
from moot.cli import verdict_view
from moot.cli.main import app
from moot.cli.screen import Screen
from moot.core.events import TurnCommitted
from moot.render.verdict_text import tell, voices
from moot.store.example_debate import example, finished

HERE = Path(__file__).parent
SHOWN = 4  # turns of the example in the picture


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


def picture() -> str:
    """The example that comes with moot, as the terminal shows a debate."""
    console = Console(record=True, width=92, force_terminal=True, highlight=False, file=StringIO())
    debate, turns = finished()
    screen = Screen(debate, console)
    screen.head()
    for turn in turns[:SHOWN]:
        screen.show(TurnCommitted(debate.id, turn))
    console.print(f"\n  [dim]⋮ {len(turns) - SHOWN} more turns[/dim]\n")
    verdict_view.print_told(console, tell(example()["verdict"], voices(debate, turns)))
    svg = console.export_svg(title="An example: it was written for this, and no model spoke in it")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no request to another host


PACKAGES = {
    "moot": "The front door, and what every layer may use",
    "core": "Pure. What a debate is and how it moves",
    "outcome": "Pure. What a debate came to, from its turns",
    "stations": "Pure. Stations, agents, and what is on air when",
    "wire": "Pure. Each noun to JSON and back; SSE; TOML",
    "render": "Pure. What people read: transcripts, reports, feeds, exports",
    "ports": "What the engine needs of the world, as protocols; and Moot, the single entry point",
    "engine": "The imperative shell: async, and knows ports, not adapters",
    "store": "Tables, queries, files, replay",
    "models": "From the name of a model to its words",
    "models/vendors": "What one vendor needs beyond its row",
    "models/local": "Models on this machine: servers, weights, llama.cpp",
    "sources": "Documents: read into passages, looked through for keys, fetched with care",
    "bus": "Events between those who write and those who read",
    "dispatch": "Who advances a debate: this process, or Celery's workers",
    "webhooks": "Programs elsewhere are told what became of debates",
    "client": "A moot elsewhere, over HTTP",
    "evals": "Whether a debate is worth it: datasets, arms and statistics",
    "api": "The HTTP service",
    "mcp": "moot as tools of an agent, over the Model Context Protocol",
    "worker": "Processes on other machines",
    "cli": "The command line",
    "testing": "Shipped: speakers, clocks and contract suites for tests",
    "testing/simulation": "A whole moot in one process: virtual time, and faults from a seed",
    "testing/wires": "A local server that speaks every provider's wire format, faults included.",
}
SOURCE = HERE.parent / "src" / "moot"
UNLISTED = ("formats", "store/migrations", "store/migrations/versions")  # data, and the past


def architecture() -> str:
    """The map of ARCHITECTURE.md: one line for each module, as it says itself."""
    told = (HERE.parent / "ARCHITECTURE.md").read_text().partition("<!-- map -->")[0]
    parts = [f"{told}<!-- map -->"]
    for package, idea in PACKAGES.items():
        folder = SOURCE if package == "moot" else SOURCE / package
        parts += [f"### `{package}/`", f"{idea}."]
        rows = ["| module | what it does |", "| --- | --- |"]
        for path in sorted(folder.glob("*.py")):
            if package == "moot" or path.stem not in ("__init__", "__main__"):
                said = ast.get_docstring(ast.parse(path.read_text())) or ""
                first = re.split(r"(?<=\.)\s+(?=[A-Z`])|\n\n", said)[0]
                rows.append(f"| `{path.stem}` | {' '.join(first.split())} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def openapi() -> str:
    """What the page's types are made from; the wheel's build has no moot to ask."""
    return json.dumps(describe(), indent=1, ensure_ascii=False) + "\n"


def prompts() -> str:
    """Every kind of prompt, as sent."""
    return runpy.run_path(str(HERE / "prompts_page.py"))["page"]()


def main() -> None:
    (HERE / "commands.md").write_text(commands())
    (HERE / "prompts.md").write_text(prompts())
    (HERE.parent / "ARCHITECTURE.md").write_text(architecture())
    (HERE.parent / "web" / "openapi.json").write_text(openapi())
    (HERE / "run.svg").write_text(picture())


if __name__ == "__main__":
    main()
