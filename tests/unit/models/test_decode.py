"""Streams whose pieces are joined before a library reads them: nothing is lost, doubled, moved."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.models.connection import TooMuchError
from moot.models.decode import NOTHING, WIRES, Counts, Joined
from moot.testing.wires.dialects import DIALECTS

DIALECT = {
    "openai_responses": "openai",
    "openai_chat": "local",
    "anthropic_messages": "claude",
    "google_gemini": "gemini",
}
PIECES = st.lists(
    st.tuples(
        st.sampled_from(["text", "text", "text", "thought", "alive"]),
        st.sampled_from(["a", "Well, ", "é", "🙂", "\n\n", " ", "<think>", "</think>", 'say "x"']),
    ),
    max_size=12,
)


class Body(httpx2.AsyncByteStream):
    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read
            await asyncio.sleep(0)


class Library:
    """Reads events as the vendors' libraries do, and is the ear: what it was told ahead it does not
    count again."""

    def __init__(self, api: str) -> None:
        self.find = WIRES[api].find
        self.over = False
        self.heard: list[str] = []
        self.made: list[str] = []
        self.others: list[bytes] = []
        self.events = 0
        self.ahead = NOTHING
        self.count = NOTHING

    def counts(self) -> Counts:
        return self.count

    def hear_ahead(self, piece: str, thoughts: int, unseen: int) -> None:
        self.ahead = _plus(self.ahead, (len(piece), thoughts, unseen))
        self._hear(piece, thoughts, unseen)

    def _hear(self, piece: str, thoughts: int, unseen: int) -> None:
        self.count = _plus(self.count, (len(piece), thoughts, unseen))
        self.heard.append(piece)

    async def read(self, joined: Joined) -> None:
        rest = b""
        async for read in joined:
            rest = (rest + read).replace(b"\r\n", b"\n")
            *events, rest = rest.split(b"\n\n")
            for event in events:
                self._take(event)
        assert not rest

    def _take(self, event: bytes) -> None:
        self.events += 1
        piece, thought = _piece(event, self.find)
        if piece is None:
            self.others.append(event)
        elif thought:
            known = min(self.ahead.thoughts, len(piece))
            self.ahead = Counts(self.ahead.text, self.ahead.thoughts - known, 0)
            self._hear("", len(piece) - known, len(piece) - known)
        else:
            self.made.append(piece)
            known = min(self.ahead.text, len(piece))
            self.ahead = Counts(self.ahead.text - known, self.ahead.thoughts, self.ahead.unseen)
            self._hear(piece[known:], 0, 0)


def _plus(one: Counts, more: tuple[int, int, int]) -> Counts:
    return Counts(*map(sum, zip(one, more, strict=True)))


def _piece(event: bytes, find: Any) -> tuple[str | None, bool]:
    """The piece in an event, and whether it is a thought."""
    try:
        told = json.loads(event.partition(b"data:")[2])
    except ValueError:
        return None, False
    place = find(told) if isinstance(told, dict) else None
    if place is None:
        return None, False
    kinds = json.dumps([place.key, told.get("type"), place.holder.get("thought")])
    return place.holder[place.key], any(word in kinds for word in ("reason", "thinking", "true"))


def _stream(api: str, pieces: list[tuple[str, str]], end: bytes = b"\n") -> list[bytes]:
    told = DIALECTS[DIALECT[api]]("x")
    said = {"text": told.piece, "thought": told.thought, "alive": lambda _: told.alive}
    events = [*told.before(), *(said[kind](text) for kind, text in pieces), *told.after("stop")]
    return [event.replace(b"\n", end) for event in events]


def _read(api: str, reads: list[bytes]) -> Library:
    library = Library(api)
    asyncio.run(library.read(Joined(Body(reads), WIRES[api], library)))
    return library


def _cut(data: bytes, cuts: list[float]) -> list[bytes]:
    places = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    return [data[start:stop] for start, stop in pairwise(places)]


@pytest.mark.parametrize("api", DIALECT)
@given(
    pieces=PIECES,
    cuts=st.lists(st.floats(0, 1), max_size=8),
    end=st.sampled_from([b"\n", b"\r\n"]),
)
@example(
    pieces=[("text", "a")] * 9 + [("thought", "b")] * 9 + [("text", "c")] * 9, cuts=[], end=b"\n"
)
def test_joined_pieces_say_the_same(
    api: str, pieces: list[tuple[str, str]], cuts: list[float], end: bytes
) -> None:
    events = _stream(api, pieces, end)
    plain = Library(api)
    for event in b"".join(events).replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        plain._take(event)  # pyright: ignore[reportPrivateUsage]
    joined = _read(api, _cut(b"".join(events), cuts))
    assert "".join(joined.heard) == "".join(plain.heard) == "".join(joined.made)
    assert joined.count == plain.count
    assert joined.ahead == NOTHING
    assert joined.others == plain.others


@pytest.mark.parametrize("api", DIALECT)
def test_a_long_answer_is_few_events(api: str) -> None:
    told = _read(api, _stream(api, [("text", "word ")] * 300))
    assert "".join(told.heard) == "word " * 300
    assert told.events < 15


def test_the_last_count_of_a_run_is_kept() -> None:
    def event(text: str, **counts: int) -> bytes:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        return (
            f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': counts})}\n\n".encode()
        )

    reads = [event("a", promptTokenCount=7), event("b", promptTokenCount=7, candidatesTokenCount=2)]
    seen: list[bytes] = []

    class Kept(Library):
        def _take(self, event: bytes) -> None:
            seen.append(event)
            super()._take(event)

    library = Kept("google_gemini")
    reads.append(event("c", candidatesTokenCount=3))
    asyncio.run(library.read(Joined(Body(reads), WIRES["google_gemini"], library)))
    last = json.loads(seen[-1].removeprefix(b"data: "))
    assert last["usageMetadata"] == {"promptTokenCount": 7, "candidatesTokenCount": 3}
    assert library.made == ["a", "bc"]


def _delta(text: str, number: int, **more: Any) -> bytes:
    said = {"type": "response.output_text.delta", "sequence_number": number, "delta": text}
    return f"data: {json.dumps({**said, 'item': 'x', **more})}\n\n".encode()


def _taken(reads: list[bytes]) -> list[Any]:
    """What the library gets of a stream of Responses: JSON, or the bytes of what is none."""
    seen: list[Any] = []

    class Kept(Library):
        def _take(self, event: bytes) -> None:
            data = event.removeprefix(b"data: ")
            try:
                seen.append(json.loads(data))
            except ValueError:
                seen.append(data)
            super()._take(event)

    library = Kept("openai_responses")
    asyncio.run(library.read(Joined(Body(reads), WIRES["openai_responses"], library)))
    return seen


def test_pieces_that_differ_in_their_text_alone_are_not_read_as_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the last of them tells what is passing."""
    read: list[bytes] = []
    piece = Joined._piece
    monkeypatch.setattr(
        Joined, "_piece", lambda self, event: read.append(event) or piece(self, event)
    )
    reads = [_delta(f"w{n} ", n, obfuscation="ab" * (n % 4)) for n in range(100)]
    first, rest = _taken(reads)
    assert (first["delta"], rest["delta"]) == ("w0 ", "".join(f"w{n} " for n in range(1, 100)))
    assert (rest["sequence_number"], rest["obfuscation"]) == (99, "ab" * 3)
    assert len(read) < 10


@pytest.mark.parametrize(
    "odd",
    [
        _delta("y", 7, item="y"),  # the text is no longer the only thing that differs
        _delta("y", 7, more=1),
        _delta("y", 7).replace(b'"y"', b'"\xff"'),
        _delta("y", 7).replace(b'"y"', b'"y", "delta": "z"'),
        _delta("y", 7).replace(b'"y"', b'"y\x01"'),
        _delta("y", 7).replace(b"}", b""),
        _delta("y", 7).replace(b"7", b'"7"'),
        _delta("<y", 7),
        _delta('"', 7),
        _delta("\\", 7),
        _delta("é\ud800", 7),
        _delta("", 7),
    ],
)
def test_what_is_no_plain_piece_is_the_business_of_the_library(odd: bytes) -> None:
    """It gets what it would get if each event came to it as it is."""
    reads = [_delta("x", 1), _delta("x", 2), _delta("é", 3), odd, _delta("x", 8), _delta("x", 9)]

    def said(events: list[Any]) -> list[Any]:
        """With the pieces of one part joined, and the last of what is passing."""
        found: list[Any] = []
        for one in events:
            like = found and isinstance(one, dict) and isinstance(found[-1], dict)
            if like and all(one[key] == found[-1].get(key) for key in one.keys() - _OWN):
                found[-1] = {**found[-1], **one, "delta": found[-1]["delta"] + one["delta"]}
            else:
                found.append(one)
        return found

    def plain(read: bytes) -> Any:
        data = read.removeprefix(b"data: ").removesuffix(b"\n\n")
        try:
            return json.loads(data)
        except ValueError:
            return data

    assert said(_taken(reads)) == said([plain(read) for read in reads])


_OWN = {"delta", "sequence_number"}


def test_a_stream_ends_when_nobody_wants_more_of_it() -> None:
    class Sated(Library):
        def hear_ahead(self, piece: str, thoughts: int, unseen: int) -> None:
            self.over = True

    library = Sated("openai_chat")
    reads = _stream("openai_chat", [("text", "word ")] * 300)
    with pytest.raises(TooMuchError):
        asyncio.run(library.read(Joined(Body(reads), WIRES["openai_chat"], library)))


def test_the_last_words_are_heard_though_nothing_follows() -> None:
    """A model that pauses: what came is heard within the pace, and not when it goes on."""

    class Pausing(Body):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for read in super().__aiter__():
                yield read
            await asyncio.Event().wait()

    async def main() -> None:
        library = Library("openai_chat")
        said = [("text", f"{number} ") for number in range(5)]
        stream = Pausing(_stream("openai_chat", said)[:-3])
        reading = asyncio.create_task(library.read(Joined(stream, WIRES["openai_chat"], library)))
        async with asyncio.timeout(10):
            while "".join(library.heard) != "0 1 2 3 4 ":
                await asyncio.sleep(0.01)
        assert len(library.heard) < 5
        reading.cancel()

    asyncio.run(main())
