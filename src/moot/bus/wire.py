"""What processes on one home say to each other, as datagrams.

A datagram is `{"from": name, "said": [...]}`, with any number of `hello`, `delta`, `cease` and
`commit` in it: Linux holds no more than ten datagrams for one that is not reading just now.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from moot.core.events import Delta, Speech

DATAGRAM = 60_000  # bytes
PIECE = 4_000  # characters of a delta: 12 bytes each at most, so that it fits a datagram
_encode = json.JSONEncoder(separators=(",", ":")).encode

Item = dict[str, Any]
Slot = tuple[str, int, str, str | None]
"""Debate, round, actor and target: what no two turns share."""


def slot_of(said: Delta | Speech) -> Slot:
    return said.debate_id, said.round, said.actor, said.target


class Outbox:
    """What is collected until it is sent: pieces of one speech are joined, the order is kept."""

    def __init__(self) -> None:
        self._said: list[_Joined | Item] = []
        self._open: dict[Slot, _Joined] = {}

    def say(self, delta: Delta) -> None:
        joined = self._open.get(slot_of(delta))
        if joined and delta.offset == joined.end:
            joined.pieces.append(delta.text)
            joined.end += len(delta.text)
        else:
            joined = _Joined(delta, [delta.text], delta.offset + len(delta.text))
            self._open[slot_of(delta)] = joined
            self._said.append(joined)

    def cease(self, speech: Speech) -> None:
        self._open.pop(slot_of(speech), None)
        self._said.append(cease_item(speech))

    def take(self) -> list[Item]:
        items: list[Item] = []
        for said in self._said:
            if isinstance(said, _Joined):
                items.extend(delta_items(replace(said.first, text="".join(said.pieces))))
            else:
                items.append(said)
        self._said, self._open = [], {}
        return items


@dataclass(slots=True)
class _Joined:
    """Consecutive deltas of one speech."""

    first: Delta
    pieces: list[str]
    end: int  # the offset of what comes next


def packed(sender: str, items: Iterable[Item]) -> Iterator[bytes]:
    """As few datagrams as will hold them."""
    batch: list[str] = []
    size = 0
    for item in items:
        line = _encode(item)
        if batch and size + len(line) > DATAGRAM:
            yield _datagram(sender, batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line) + 1
    if batch:
        yield _datagram(sender, batch)


def _datagram(sender: str, lines: list[str]) -> bytes:
    return f'{{"from":"{sender}","said":[{",".join(lines)}]}}'.encode()


def cease_item(speech: Speech) -> Item:
    debate_id, number, actor, target = slot_of(speech)
    slot = {"debate_id": debate_id, "round": number, "actor": actor, "target": target}
    return {"kind": "cease", **slot}


def delta_items(delta: Delta) -> Iterator[Item]:
    """A delta, or several where its text is long."""
    for start in range(0, max(1, len(delta.text)), PIECE):  # an empty one takes back
        yield {
            "kind": "delta",
            "debate_id": delta.debate_id,
            "round": delta.round,
            "stage": delta.stage,
            "actor": delta.actor,
            "target": delta.target,
            "text": delta.text[start : start + PIECE],
            "at": delta.at,
            "offset": delta.offset + start,
        }


def read_delta(item: Any) -> Delta | None:
    match item:
        case {
            "debate_id": str(debate_id),
            "round": int(number),
            "stage": str(stage),
            "actor": str(actor),
            "target": str() | None as target,
            "text": str(text),
            "at": str(at),
            "offset": int(offset),
        }:
            return Delta(debate_id, number, stage, actor, target, text, at, offset)
        case _:
            return None
