"""`moot --help`: the commands in groups, each on a line of its own, and what each takes."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from typer import Context
from typer.core import TyperGroup

GROUPS = {
    "Debate": ("run", "council", "plan", "start", "watch", "pause", "resume", "stop", "end",
               "retry", "skip", "say", "share", "fork", "rerun"),
    "Read": ("list", "show", "ask", "report", "export", "replay", "records"),
    "Keep": ("label", "archive", "delete", "import", "templates"),
    "Decide": ("gate", "verdict", "rejudge", "outcome", "eval", "ratings"),
    "Stations": ("stations", "air", "agents"),
    "Models and formats": ("models", "model", "formats", "schema", "settings", "doctor"),
    "Run a service": ("serve", "mcp", "worker", "supervisor", "hooks", "db", "reindex"),
}  # fmt: skip
"""A test says so if a command is in none."""


_LIST = re.compile(r" <list\[.*\]>$")  # a type as Python writes it; the name says enough


class _Plain(Context.formatter_class):
    def write_dl(self, rows: Sequence[tuple[str, str]], *more: Any, **known: Any) -> None:
        super().write_dl([(_LIST.sub("", name), told) for name, told in rows], *more, **known)


class _PlainContext(Context):
    formatter_class: ClassVar[Any] = _Plain


class Grouped(TyperGroup):
    """Writes plain text: Rich has panels for this, and would take as long to load as all else."""

    def __init__(self, **known: Any) -> None:
        super().__init__(**known)
        _plainly([self])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        named = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: one for name, one in named.items() if one and not one.hidden}
        longest = max(map(len, shown))
        room = formatter.width - longest - 4  # the margin, and the gap before the sentence
        listed = {name for names in GROUPS.values() for name in names}
        rest = tuple(name for name in shown if name not in listed)
        for title, names in {**GROUPS, "More": rest}.items():
            rows = [
                (name.ljust(longest), shown[name].get_short_help_str(room))
                for name in names
                if name in shown
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _plainly(commands: Iterable[Any]) -> None:
    """Have the help of these commands, and of those below them, written so."""
    for command in commands:
        command.context_class = _PlainContext
        _plainly(getattr(command, "commands", {}).values())
