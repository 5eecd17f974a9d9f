"""What is being said in other processes, for those who join here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from moot.bus.datagrams import SpeechKey, key_of
from moot.core.events import Delta, Speech

MOST_SPEECHES, MOST_CHARACTERS = 1_000, 200_000


class Foreign:
    """The speeches of others, each known by its key."""

    def __init__(self) -> None:
        self.heard: dict[str, float] = {}  # when each process last said anything
        self._speeches: dict[SpeechKey, _Overheard] = {}

    def take(self, sender: str, delta: Delta) -> Literal["new", "old", "missed"]:
        key = key_of(delta)
        known = self._speeches.get(key)
        if delta.offset == 0:
            if known is None and len(self._speeches) >= MOST_SPEECHES:
                return "old"
            debate_id, number, actor, target = key
            told, lost = delta.instruction, delta.cut_off
            if known and known.sender == sender and not known.length:
                # it was announced, or cut off, and now begins
                told = told or known.speech.instruction
                lost = lost or (known.speech.cut_off if delta.text else None)
            speech = Speech(debate_id, number, delta.stage, actor, target, [], told, lost)
            known = self._speeches[key] = _Overheard(sender, speech)
        elif known is None or known.sender != sender or delta.offset > known.length:
            return "missed"
        elif delta.offset < known.length:
            return "old"
        if room := max(MOST_CHARACTERS - known.length, 0):
            known.speech.pieces.append(delta.text[:room])
        known.length += len(delta.text)
        return "new"

    def of(self, debate_id: str) -> list[Speech]:
        return [known.speech for key, known in self._speeches.items() if key[0] == debate_id]

    def cease(self, sender: str, key: SpeechKey) -> None:
        known = self._speeches.get(key)
        if known and known.sender == sender:
            del self._speeches[key]

    def drop(self, key: SpeechKey) -> None:
        self._speeches.pop(key, None)

    def drop_debate(self, debate_id: str) -> None:
        for key in [key for key in self._speeches if key[0] == debate_id]:
            del self._speeches[key]

    def drop_gone(self, there: Sequence[str], since: float) -> None:
        """Drop what nobody goes on saying: the process is gone, or silent for too long."""
        self.heard = {
            name: at
            for name, at in self.heard.items()
            if at >= since and (name in there or not name.endswith(".sock"))
        }
        for key, known in list(self._speeches.items()):
            if known.sender not in self.heard:
                del self._speeches[key]


@dataclass(slots=True)
class _Overheard:
    """A speech of another process."""

    sender: str
    speech: Speech
    length: int = 0  # of all that was said, whether it was kept or not
