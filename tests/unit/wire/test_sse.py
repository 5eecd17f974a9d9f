"""Server-sent events, however the network cuts them."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.wire import sse
from moot.wire.sse import Message, Parser

ends = st.sampled_from(["\n", "\r\n", "\r"])
words = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
lines = st.lists(words, min_size=1, max_size=3)
messages = st.builds(
    lambda event, data, id_: Message(event or "message", "\n".join(data), id_),
    words.map(lambda word: word.strip()),
    lines,
    st.none() | st.integers(0, 10**9).map(str),
)
likely = st.lists(
    st.sampled_from([b"data:", b"id: 7", b"event: turn", b":", b" ", b"\r", b"\n", b"\0", b"\xef",
                     b"\xbb\xbf", "é漢🙂".encode(), b"\xf0\x9f", b"retry: 1", b"x"]),
    max_size=40,
).map(b"".join)  # fmt: skip


def parsed(*chunks: bytes) -> list[Message]:
    parser = Parser()
    return [message for chunk in chunks for message in parser.feed(chunk)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(marks)]


def written(message: Message, end: str, comment: str) -> str:
    out = [f":{comment}", f"event: {message.event}"]
    out += [f"data: {line}" for line in message.data.split("\n")]
    out += [] if message.id is None else [f"id: {message.id}"]
    return end.join([*out, "", ""])


@given(likely | st.binary(max_size=200), st.lists(st.integers(0, 1000), max_size=30))
def test_any_bytes_cut_anywhere_give_the_same_events(data: bytes, places: list[int]) -> None:
    assert parsed(*cut(data, places)) == parsed(data)


@given(likely | st.binary(max_size=200))
def test_byte_by_byte_gives_the_same_events(data: bytes) -> None:
    assert parsed(*(bytes([byte]) for byte in data)) == parsed(data)


@given(st.lists(st.tuples(messages, ends, words), max_size=5), st.lists(st.integers(0, 10**4)))
def test_what_was_written_is_read(told: list[tuple[Message, str, str]], places: list[int]) -> None:
    text = "".join(written(*one) for one in told)
    assert parsed(*cut(text.encode(), places)) == [message for message, _, _ in told]


def by_the_book(data: bytes) -> list[Message]:
    """The standard's own algorithm, on the whole text at once."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    found: list[Message] = []
    event, id_, said = "", None, list[str]()
    for line in re.split("\r\n|\n|\r", text)[:-1]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if said:
                found.append(Message(event or "message", "\n".join(said), id_))
            event, id_, said = "", None, list[str]()
        elif name == "data":
            said.append(value)
        elif name == "event":
            event = value
        elif name == "id" and "\0" not in value:
            id_ = value
    return found


@given(likely)
def test_it_goes_by_the_standard(data: bytes) -> None:
    assert parsed(data) == by_the_book(data)


def test_what_the_end_cuts_off_is_no_event() -> None:
    assert parsed(b"id: 1\ndata: {}\n\nid: 2\ndata: {}\n") == [Message("message", "{}", "1")]


def test_an_id_does_not_carry_over() -> None:
    told = parsed(b"id: 1\ndata: a\n\nevent: delta\ndata: b\n\n")
    assert [message.id for message in told] == ["1", None]


def test_an_event_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_BYTES", 1000)
    parser = Parser()
    for _ in range(100):  # what was dispatched, and comments, do not count
        parser.feed(b"data: " + b"x" * 900 + b"\n\n" + b": still here\n" * 50)
    with pytest.raises(ValueError, match="larger"):
        parser.feed(b"data: " + b"x" * 1000)
    parser = Parser()
    for _ in range(100):
        parser.feed(b"data: x\n")
    with pytest.raises(ValueError, match="larger"):
        parser.feed(b"data: x\n" * 100)
