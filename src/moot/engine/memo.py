"""What a worker still knows of debates that it let go: most come back to it a moment later."""

from collections import OrderedDict

from moot.core.debate import Debate
from moot.core.prompts import Heard

MOST_TURNS = 50_000  # of all debates together


class Recall:
    """The transcripts of the debates last in hand, each as it was when it was let go."""

    def __init__(self, most: int = MOST_TURNS) -> None:
        self._most = most
        self._turns = 0
        self._known: OrderedDict[str, tuple[Debate, Heard]] = OrderedDict()

    def take(self, debate_id: str) -> tuple[Debate, Heard] | None:
        found = self._known.pop(debate_id, None)
        if found:
            self._turns -= len(found[1].turns)
        return found

    def keep(self, debate: Debate, heard: Heard) -> None:
        self.take(debate.id)
        self._known[debate.id] = debate, heard
        self._turns += len(heard.turns)
        while self._turns > self._most:
            self.take(next(iter(self._known)))
