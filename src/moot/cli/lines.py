"""Several debates on one terminal: a line for each turn, with how it begins."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from moot.cli.ask import flat
from moot.cli.screen import COLOURS, Quiet
from moot.core.debate import Turn
from moot.core.events import Delta, Event, TurnCommitted
from moot.core.voices import UNDERSTUDY, label


class Lines(Quiet):
    """A view of debates, each by the name that it goes under. How they end, a table says."""

    def __init__(self, names: Mapping[str, str], console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._names = names
        self._styles = {id_: COLOURS[place % len(COLOURS)] for place, id_ in enumerate(self._names)}

    def show(self, event: Event | Delta) -> None:
        if isinstance(event, TurnCommitted):
            self._line(event.debate_id, _said(event.turn))
        elif not isinstance(event, Delta) and event.notice:
            self._line(event.debate_id, Text(flat(event.notice), style="yellow"))

    def _line(self, debate_id: str, said: Text) -> None:
        name = (f"{self._names[debate_id]}: ", self._styles[debate_id])
        self._console.print(Text.assemble(name, said), overflow="ellipsis", no_wrap=True)


def _said(turn: Turn) -> Text:
    if turn.status == "failed":
        return Text.assemble((turn.name, "bold"), (f": no answer ({turn.error_code})", "red"))
    tag = f" ({label(turn.model)})" if turn.model == UNDERSTUDY else ""
    return Text.assemble((turn.name, "bold"), (tag, "dim"), f": {flat(turn.text)}")
