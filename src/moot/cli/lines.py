"""Several debates on one terminal: a line for each turn, with how it begins."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

from moot.cli.ask import flat
from moot.cli.screen import COLOURS
from moot.core.debate import Debate, Turn
from moot.core.events import Delta, Event, TurnCommitted
from moot.core.transcript import UNDERSTUDY, label


class Lines:
    """A view of debates, each by the name that it goes under."""

    def __init__(self, names: Mapping[str, str], console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._names = names
        self._styles = {id_: COLOURS[place % len(COLOURS)] for place, id_ in enumerate(self._names)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    @property
    def live(self) -> bool:
        return False

    def lost(self, is_lost: bool) -> None:
        """Nothing: a sentence says it."""

    def show(self, event: Event | Delta) -> None:
        if isinstance(event, TurnCommitted):
            self._line(event.debate_id, _said(event.turn))
        elif not isinstance(event, Delta) and event.notice:
            self._line(event.debate_id, Text(flat(event.notice), style="yellow"))

    def outcome(self, debate: Debate, folder: str) -> None:
        """Nothing: a table follows."""

    def _line(self, debate_id: str, said: Text) -> None:
        name = (f"{self._names[debate_id]}: ", self._styles[debate_id])
        self._console.print(Text.assemble(name, said), overflow="ellipsis", no_wrap=True)


def _said(turn: Turn) -> Text:
    if turn.status == "failed":
        return Text.assemble((turn.name, "bold"), (f": no answer ({turn.error_code})", "red"))
    tag = f" ({label(turn.model)})" if turn.model == UNDERSTUDY else ""
    return Text.assemble((turn.name, "bold"), (tag, "dim"), f": {flat(turn.text)}")
