"""What processes that work on the same debates say to each other, as datagrams.

A datagram is `{"from": name, "said": [...]}`, with any number of `hello`, `delta`, `cease`,
`commit` and `nudge` in it: Linux holds no more than ten datagrams for one that is not reading just
now. Over Redis there are `interest` and `here`, too.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any, cast

from moot.core.events import LOST, CutOff, Delta, Speech

DATAGRAM = 60_000  # bytes
PIECE = LOST  # characters of a delta: 12 bytes each at most, so that it fits a datagram
HINTS = 500  # debates that a commit names; of more it says only that there are some
LAST_SEQ = 1 << 53
NAME = re.compile(r"[0-9]+-[0-9a-f]{8}(\.sock)?")
"""What a process is called."""
_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_encode = json.JSONEncoder(separators=(",", ":")).encode

Item = dict[str, Any]
SpeechKey = tuple[str, int, str, str | None]
"""Debate, round, actor and target: what no two turns share."""


def key_of(said: Delta | Speech) -> SpeechKey:
    return said.debate_id, said.round, said.actor, said.target


class Outbox:
    """What is collected until it is sent: pieces of one speech are joined, the order is kept."""

    def __init__(self) -> None:
        self._said: list[list[Delta] | Item] = []  # the pieces of a speech, or something else
        self._open: dict[SpeechKey, list[Delta]] = {}
        self._hints: dict[str, int] = {}
        self._nudges: dict[str, None] = {}

    def say(self, delta: Delta) -> None:
        pieces = self._open.get(key_of(delta))
        plain = delta.instruction is None and delta.cut_off is None
        if pieces and plain and follows(delta, pieces[-1]):
            pieces.append(delta)
        else:
            self._open[key_of(delta)] = pieces = [delta]
            self._said.append(pieces)

    def cease(self, speech: Speech) -> None:
        self._open.pop(key_of(speech), None)
        self._said.append(cease_item(speech))

    def hint(self, debate_id: str, seq: int) -> None:
        self._hints.setdefault(debate_id, seq)

    def nudge(self, debate_id: str) -> None:
        self._nudges[debate_id] = None

    def take(self) -> list[Item]:
        items: list[Item] = []
        for said in self._said:
            if isinstance(said, list):
                items.extend(delta_items(replace(said[0], text="".join(one.text for one in said))))
            else:
                items.append(said)
        items.extend({"kind": "nudge", "debate_id": debate_id} for debate_id in self._nudges)
        if self._hints:
            items.append({"kind": "commit", "of": self._hints if len(self._hints) <= HINTS else {}})
        self._said, self._open, self._hints, self._nudges = [], {}, {}, {}
        return items


def follows(delta: Delta, before: Delta) -> bool:
    """Whether the one goes on where the other ends."""
    return delta.offset == before.offset + len(before.text)


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
    key = zip(("debate_id", "round", "actor", "target"), key_of(speech), strict=True)
    return {"kind": "cease", **dict(key)}


def delta_items(delta: Delta) -> Iterator[Item]:
    """A delta, or several if its text is long: what was cut off goes by itself, and first."""
    if delta.cut_off and delta.text:
        yield from delta_items(replace(delta, text=""))
        delta = replace(delta, cut_off=None, instruction=None)
    for start in range(0, max(1, len(delta.text)), PIECE):  # an empty one takes back, or announces
        told = None if start else delta.instruction
        text = delta.text[start : start + PIECE]
        piece = replace(delta, text=text, offset=delta.offset + start, instruction=told)
        yield {"kind": "delta", **asdict(piece)}


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
            told = cast("dict[str, Any]", item).get("instruction")
            told = told if isinstance(told, str) else None
            lost = _read_cut_off(cast("dict[str, Any]", item).get("cut_off"))
            return Delta(debate_id, number, stage, actor, target, text, at, offset, told, lost)
        case _:
            return None


def _read_cut_off(item: Any) -> CutOff | None:
    match item:
        case {
            "text": str(text),
            "code": str(code),
            "attempt": int(attempt),
            "attempts": int(attempts),
        }:
            return CutOff(text[-LOST:], code, attempt, attempts)
        case _:
            return None


def read_ids(found: Any) -> list[str]:
    """Those of a list, or of a mapping's keys, that can be a debate's."""
    ids = list(cast("list[Any]", found)) if isinstance(found, list | dict) else []
    return [id_ for id_ in ids if isinstance(id_, str) and _ID.fullmatch(id_)]


def read_hints(found: Any) -> dict[str, int]:
    """Debates, and the first seq of what is new in each."""
    if not isinstance(found, dict):
        return {}
    seqs = {id_: cast("dict[str, Any]", found)[id_] for id_ in read_ids(found)}
    return {id_: seq for id_, seq in seqs.items() if isinstance(seq, int) and 0 < seq < LAST_SEQ}
