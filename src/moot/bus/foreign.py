"""What is being said in other processes, for those who join here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from moot.bus.datagrams import Slot, slot_of
from moot.core.events import Delta, Speech

MOST_SPEECHES, MOST_CHARACTERS = 1_000, 200_000


class Foreign:
    """The speeches of others, each known by its slot."""

    def __init__(self) -> None:
        self.heard: dict[str, float] = {}  # when each process last said anything
        self._speeches: dict[Slot, _Overheard] = {}

    def take(self, sender: str, delta: Delta) -> Literal["new", "old", "missed"]:
        slot = slot_of(delta)
        known = self._speeches.get(slot)
        if delta.offset == 0:
            if known is None and len(self._speeches) >= MOST_SPEECHES:
                return "old"
            debate_id, number, actor, target = slot
            told = delta.instruction
            if known and known.sender == sender and not known.length:
                told = told or known.speech.instruction  # it was announced, and now begins
            speech = Speech(debate_id, number, delta.stage, actor, target, [], told)
            known = self._speeches[slot] = _Overheard(sender, speech)
        elif known is None or known.sender != sender or delta.offset > known.length:
            return "missed"
        elif delta.offset < known.length:
            return "old"
        if room := max(MOST_CHARACTERS - known.length, 0):
            known.speech.pieces.append(delta.text[:room])
        known.length += len(delta.text)
        return "new"

    def of(self, debate_id: str) -> list[Speech]:
        return [known.speech for slot, known in self._speeches.items() if slot[0] == debate_id]

    def cease(self, sender: str, slot: Slot) -> None:
        known = self._speeches.get(slot)
        if known and known.sender == sender:
            del self._speeches[slot]

    def drop(self, slot: Slot) -> None:
        self._speeches.pop(slot, None)

    def drop_debate(self, debate_id: str) -> None:
        for slot in [slot for slot in self._speeches if slot[0] == debate_id]:
            del self._speeches[slot]

    def drop_gone(self, there: Sequence[str], since: float) -> None:
        """Drop what nobody goes on saying: the process is gone, or silent for too long."""
        self.heard = {
            name: at
            for name, at in self.heard.items()
            if at >= since and (name in there or not name.endswith(".sock"))
        }
        for slot, known in list(self._speeches.items()):
            if known.sender not in self.heard:
                del self._speeches[slot]


@dataclass(slots=True)
class _Overheard:
    """A speech of another process."""

    sender: str
    speech: Speech
    length: int = 0  # of all that was said, whether it was kept or not
