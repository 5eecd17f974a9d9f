"""The client against servers that answer anything: what it raises, what it hears, what it asks."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moot.client import remote as remote_module
from moot.client import requests
from moot.client.remote import Outage, Remote
from moot.client.requests import BrokenError, UnreachableError
from moot.core.debate import Debate
from moot.core.events import Delta, Event, StatusChanged, TurnCommitted
from moot.errors import InputError, MootError, NotFoundError, StateError, StorageError
from moot.testing.store_contract import AT, a_debate, a_turn
from moot.wire import codec

T = TypeVar("T")
DEBATE = a_debate().but(status="running", last_seq=0)
ID = DEBATE.id
CUT = None
"""An answer that never comes: the connection is closed."""


def shown(debate: Debate) -> dict[str, Any]:
    return {**codec.debate(debate), "rules": debate.rules.model_dump(mode="json")}


def answer(body: Any, status: int = 200, kind: str = "application/json", *more: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = f"content-length: {len(content)}"
    head = [f"HTTP/1.1 {status} So", f"content-type: {kind}", size, "connection: close", *more]
    head += ["", ""]
    return "\r\n".join(head).encode() + content


def stream(*pieces: bytes) -> bytes:
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return head.encode() + b"".join(pieces)


def problem(status: int, code: str, detail: str = "It is so.", **more: Any) -> bytes:
    body = {"type": "x", "title": "X", "status": status, "detail": detail, "code": code, **more}
    return answer(body, status, "application/problem+json")


def status(seq: int, value: str = "running") -> bytes:
    event = StatusChanged(ID, seq, AT, value, None, None, None, None, 0, 6, False)  # type: ignore[arg-type]
    return f"id: {seq}\nevent: status\ndata: {codec.dumps(codec.event(event)[1])}\n\n".encode()


def turn(seq: int, text: str = "It is.") -> bytes:
    data = codec.dumps(codec.turn(a_turn(seq, text=text)))
    return f"id: {seq}\nevent: turn\ndata: {data}\n\n".encode()


END = b"event: end\ndata: {}\n\n"
RESET = b"event: reset\ndata: {}\n\n"


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Scripted:
    """Gives each path its answers, in order; the last one again and again."""

    def __init__(self, **answers: list[bytes | None]) -> None:
        self.answers = answers
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        path = head.split(" ")[1].partition("?")[0].strip("/")
        name = path.rpartition("/")[2].replace(ID, "debate")
        told = self.answers[name]
        said = told.pop(0) if len(told) > 1 else told[0]
        if said is not None:
            writer.write(said)
            await writer.drain()

    def asked(self, word: str) -> list[str]:
        """A header's values, as they came."""
        lines = [line for head in self.heads for line in head.split("\r\n")]
        return [line.partition(": ")[2] for line in lines if line.lower().startswith(word.lower())]


@asynccontextmanager
async def at(serve: Serve, **options: Any) -> AsyncGenerator[Remote]:
    """A client of such a server."""
    serving: set[asyncio.Task[Any] | None] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        with suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        async with Remote(f"http://127.0.0.1:{port}/", first_wait=0.01, **options) as remote:
            yield remote
    finally:
        listening.close()
        await asyncio.gather(*(task for task in serving if task))


def ask(server: Scripted, question: Callable[[Remote], Awaitable[T]], **options: Any) -> T:
    async def run() -> T:
        async with asyncio.timeout(10), at(server.serve, **options) as remote:
            return await question(remote)

    return asyncio.run(run())


def heard(server: Scripted, after: int = 0, **options: Any) -> list[Event | Delta]:
    async def follow(remote: Remote) -> list[Event | Delta]:
        return [event async for event in remote.follow(ID, after)]

    return ask(server, follow, **options)


def seqs(events: list[Event | Delta]) -> list[int]:
    return [event.seq for event in events if not isinstance(event, Delta)]


# --- what is read back ---


def test_a_debate_comes_back_as_it_was() -> None:
    debate = ask(Scripted(debate=[answer(shown(DEBATE))]), lambda remote: remote.get(ID))
    assert codec.debate(debate) == codec.debate(DEBATE)
    assert debate.rules == DEBATE.rules


def test_a_turn_comes_back_as_it_was() -> None:
    assert codec.read_turn(json.loads(codec.dumps(codec.turn(a_turn(3))))) == a_turn(3)


def test_what_a_server_says_does_nothing_to_a_terminal() -> None:
    evil = shown(DEBATE) | {"motion": "\x1b[2J\x1b]0;owned\x07Yes?"}
    debate = ask(Scripted(debate=[answer(evil)]), lambda remote: remote.get(ID))
    assert "\x1b" not in debate.motion
    told = heard(
        Scripted(debate=[answer(shown(DEBATE))], events=[stream(turn(1, "a\x1b[2Jb"), END)])
    )
    assert [event.turn.text for event in told if isinstance(event, TurnCommitted)] == ["ab"]


# --- what goes wrong ---


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (problem(404, "DEBATE_ERR_INPUT", "None such.", field="id"), NotFoundError, "None such."),
        (problem(422, "DEBATE_ERR_INPUT", "motion: no.", field="motion"), InputError, "motion: no"),
        (problem(409, "DEBATE_ERR_STATE", "It is over."), StateError, "It is over."),
        (problem(401, "HTTP_ERR_TOKEN"), InputError, "MOOT_TOKEN is not set"),
        (problem(421, "HTTP_ERR_HOST", "Set MOOT_HOSTS."), InputError, "MOOT_HOSTS"),
        (problem(404, "HTTP_ERR_ROUTE"), InputError, "older"),
        (problem(429, "HTTP_ERR_RATE", "Slower."), UnreachableError, "Slower"),
        (problem(500, "HTTP_ERR_INTERNAL", "Oh."), UnreachableError, "failed: Oh."),
        (problem(503, "DEBATE_ERR_STORAGE", "Disk full."), StorageError, "Disk full."),
        (answer(b"<h1>503</h1>", 503, "text/html"), UnreachableError, "away"),
        (answer(b"<h1>Hello</h1>", 200, "text/html"), UnreachableError, "not as a moot"),
        (answer(b"<h1>404</h1>", 404, "text/html"), UnreachableError, "not as a moot"),
        (answer(b"{", 200), UnreachableError, "not as a moot"),
        (answer(b"[" * 100_000, 200), UnreachableError, "not as a moot"),
        (answer([], 200), UnreachableError, "not as a moot"),
        (answer({"id": ID}), UnreachableError, "not as a moot"),
        (answer(shown(DEBATE) | {"status": "odd"}), UnreachableError, "not as a moot"),
        (answer(b"x", 418, "application/problem+json"), UnreachableError, "not as a moot"),
        (answer(b"", 302, "text/html", "location: http://127.0.0.1:1/"), UnreachableError, "as a"),
        (answer(b"", 204), UnreachableError, "not as a moot"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", UnreachableError, "broke"),
        (answer(shown(DEBATE))[:-10], BrokenError, "broke"),
        (CUT, BrokenError, "broke"),
    ],
)  # fmt: skip
def test_every_answer_is_the_right_error(said: bytes, kind: type[MootError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        ask(Scripted(debate=[said]), lambda remote: remote.get(ID))
    assert "\n" not in caught.value.message
    if "field" in str(said):
        assert isinstance(caught.value, InputError)
        assert caught.value.field in ("id", "motion")


def test_an_answer_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_BYTES", 10_000)
    with pytest.raises(UnreachableError, match="not as a moot"):
        ask(Scripted(debate=[answer(b" " * 20_000)]), lambda remote: remote.get(ID))


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "ANSWER_SECONDS", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def run() -> None:
        async with at(silent) as remote:
            with pytest.raises(BrokenError, match="in time"):
                await remote.get(ID)

    asyncio.run(run())


ADDRESSES = ["http://", "http://a:b:c", "http://h/?q=1", "http://h:99999", "http://a..b",
             f"http://{'a' * 64}.org", f"http://{'a.' * 130}org", "http://999.1.1.1"]  # fmt: skip


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(InputError, match="MOOT_URL"):
        Remote(url)


def test_secrets_are_not_shown() -> None:
    with pytest.raises(InputError, match="plain ASCII") as caught:
        Remote("http://127.0.0.1", "tök")
    assert "tök" not in caught.value.message
    assert Remote("http://me:secret@127.0.0.1:1").url == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("token", "what"), [("abc\n", "a line break"), ("a\tb", "a control character")]
)
def test_a_token_that_cannot_be_sent_is_described(token: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        Remote("http://127.0.0.1", token)


def test_a_token_that_is_refused_is_not_one_that_is_missing() -> None:
    server = Scripted(debate=[problem(401, "HTTP_ERR_TOKEN")])
    with pytest.raises(InputError, match="refused the token in MOOT_TOKEN"):
        ask(server, lambda remote: remote.get(ID), token="wrong")  # noqa: S106  of nobody


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://nonsense.invalid", "host name is not known"),
        ("http://127.0.0.1:{port}/there", "Take the path off MOOT_URL: http://127.0.0.1:"),
    ],
)
def test_why_there_is_no_moot_is_told(url: str, words: str) -> None:
    server = Scripted(debate=[problem(404, "HTTP_ERR_ROUTE")])

    async def elsewhere(remote: Remote) -> None:
        async with Remote(url.format(port=remote.url.rpartition(":")[2])) as other:
            await other.get(ID)

    with pytest.raises(MootError, match=words) as caught:
        ask(server, elsewhere)
    assert "moot serve" not in caught.value.message


def test_https_to_a_server_without_it_is_told() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(answer(b"", 400))

    async def run() -> None:
        async with (
            asyncio.timeout(10),
            at(plain) as remote,
            Remote(remote.url.replace("http:", "https:")) as other,
        ):
            with pytest.raises(UnreachableError, match="does not speak https"):
                await other.get(ID)

    asyncio.run(run())


def test_more_records_than_a_server_gives_are_refused() -> None:
    server = Scripted()
    with pytest.raises(InputError, match="at most 200"):
        ask(server, lambda remote: remote.records("", 201))
    assert server.heads == []


def test_an_id_becomes_no_other_path() -> None:
    async def every(remote: Remote) -> None:
        for verb in (remote.get, remote.stop, remote.turns, remote.replay, remote.packet):
            with pytest.raises(InputError, match="not a debate's id"):
                await verb("../debates")

    server = Scripted()
    ask(server, every)
    assert server.heads == []


def test_no_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert ask(Scripted(debate=[answer(shown(DEBATE))]), lambda remote: remote.get(ID)).id == ID


# --- made once ---


def test_a_debate_whose_answer_was_lost_is_asked_for_with_the_same_key() -> None:
    server = Scripted(debates=[CUT, answer(shown(DEBATE), 201)[:-5], answer(shown(DEBATE), 201)])
    assert ask(server, lambda remote: remote.create("Yes?")).id == ID
    assert len(server.heads) == 3
    assert len(set(server.asked("Idempotency-Key"))) == 1


def test_two_debates_have_two_keys() -> None:
    async def twice(remote: Remote) -> None:
        await remote.create("Yes?")
        await remote.council({"problem": "Yes?", "output_type": "decision"})

    server = Scripted(debates=[answer(shown(DEBATE), 201)], council=[answer(shown(DEBATE), 201)])
    ask(server, twice)
    assert len(set(server.asked("Idempotency-Key"))) == 2


def test_it_does_not_ask_for_ever() -> None:
    server = Scripted(debates=[CUT])
    with pytest.raises(BrokenError):
        ask(server, lambda remote: remote.create("Yes?"))
    assert len(server.heads) == remote_module.TRIES


def test_a_refusal_is_not_asked_for_again() -> None:
    server = Scripted(debates=[problem(422, "DEBATE_ERR_INPUT")])
    with pytest.raises(InputError):
        ask(server, lambda remote: remote.create("Yes?"))
    assert len(server.heads) == 1


@pytest.mark.parametrize("way", ["path", "text"])
def test_no_source_is_sent_before_all_were_looked_through(tmp_path: Path, way: str) -> None:
    (tmp_path / "fine.md").write_text("The ledger moves before winter.")
    (tmp_path / "keys.md").write_text("AKIAIOSFODNN7ABCDEFG")
    second = str(tmp_path / "keys.md") if way == "path" else "AKIAIOSFODNN7ABCDEFG"
    sources = [{"path": str(tmp_path / "fine.md")}, {way: second}]
    server = Scripted(sources=[problem(500, "MOOT_ERR_STORAGE")])
    with pytest.raises(InputError, match="looks like an AWS access key"):
        ask(server, lambda remote: remote.create("So?", format="duel", sources=sources))
    assert not server.heads


def test_a_verb_is_said_once() -> None:
    server = Scripted(stop=[CUT])
    with pytest.raises(BrokenError):
        ask(server, lambda remote: remote.stop(ID))
    assert len(server.heads) == 1


# --- follow ---


def test_it_goes_on_from_the_last_seq_after_any_cut() -> None:
    parts = [
        stream(status(1), turn(2)[:-1]),  # cut within the blank line: not heard
        CUT,
        problem(503, "HTTP_ERR_BUSY"),
        answer(b"<h1>502</h1>", 502, "text/html"),
        stream(turn(2), b'event: delta\ndata: {"nonsense": 1}\n\n', b"data: ?\n\n"),
        stream(turn(2), turn(3)),  # some of it again
        stream(turn(5)),  # something is missing
        stream(turn(4), b"id: 5\nevent: turn\ndata: {}\n\n"),  # cannot be read
        answer(b"hello", 200, "text/plain"),
        stream(b"id: x\ndata: {}\n\n"),
        stream(b"id: 5\nevent: newer\ndata: {}\n\n", status(6, "completed"), END),
    ]
    said: list[str] = []
    server = Scripted(debate=[answer(shown(DEBATE))], events=parts)
    assert seqs(heard(server, tell=said.append)) == [1, 2, 3, 4, 6]
    assert server.asked("Last-Event-ID") == ["0", "1", "1", "1", "1", "2", "3", "3", "4", "4", "4"]
    assert len(said) == 4  # once for each time that it got no further


def test_it_tells_when_the_connection_is_lost_and_when_it_is_back() -> None:
    parts = [
        stream(status(1)),
        CUT,
        stream(),  # a connection, and nothing on it
        stream(status(2, "completed"), END),
    ]
    states: list[bool] = []
    said: list[str] = []
    server = Scripted(debate=[answer(shown(DEBATE))], events=parts)
    assert seqs(heard(server, lost=states.append, tell=said.append)) == [1, 2]
    assert states == [True, False] * 3
    assert len(said) == 1


def test_a_stream_that_breaks_had_been_answering() -> None:
    cut = stream(status(1)).replace(b"connection: close", b"content-length: 9999")
    said: list[str] = []
    server = Scripted(debate=[answer(shown(DEBATE))], events=[cut, stream(status(2), END)])
    assert seqs(heard(server, tell=said.append)) == [1, 2]
    assert "was lost. Trying again" in said[0]


def test_whoever_is_refused_gives_up() -> None:
    for refusal in (problem(404, "DEBATE_ERR_INPUT"), problem(401, "HTTP_ERR_TOKEN")):
        server = Scripted(debate=[answer(shown(DEBATE))], events=[stream(status(1)), refusal])
        with pytest.raises(InputError):
            heard(server)


def test_too_many_streams_are_waited_for() -> None:
    busy = problem(429, "HTTP_ERR_RATE")
    server = Scripted(debate=[answer(shown(DEBATE))], events=[busy, busy, stream(status(1), END)])
    assert seqs(heard(server)) == [1]


def test_nothing_left_ends_it() -> None:
    running = answer(shown(DEBATE))
    assert heard(Scripted(debate=[running], events=[answer(b"", 204)]), 7) == []
    over = answer(shown(DEBATE.but(status="completed", last_seq=7)))
    server = Scripted(debate=[over])
    assert heard(server, 7) == []
    assert len(server.heads) == 1


def test_a_log_that_was_replaced_comes_from_the_start() -> None:
    over = answer(shown(DEBATE.but(status="completed", last_seq=2)))
    again = stream(RESET, status(1), status(2, "completed"), END)
    server = Scripted(debate=[answer(shown(DEBATE)), over], events=[stream(turn(8)), again])
    assert seqs(heard(server, 7)) == [8, 1, 2]


def test_it_ends_at_a_pause_that_is_the_last_word() -> None:
    """Not at one of long ago, after which the debate went on."""
    debates = [
        answer(shown(DEBATE.but(last_seq=3))),
        CUT,  # asked at the pause: and then the server is away
        answer(shown(DEBATE.but(status="paused", last_seq=5))),
    ]
    told = stream(status(1), status(2, "paused"), status(3), turn(4), status(5, "paused"))
    assert seqs(heard(Scripted(debate=debates, events=[told]))) == [1, 2, 3, 4, 5]


def test_silence_is_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "SILENT_SECONDS", 0.1)
    server = Scripted(debate=[answer(shown(DEBATE))], events=[b"", stream(status(2), END)])
    serve = server.serve

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if server.answers["events"][0] == b"" and len(server.heads) == 1:
            server.heads.append("")
            server.answers["events"].pop(0)
            writer.write(stream(status(1)))
            await reader.read()  # until the client hangs up
            return
        await serve(reader, writer)

    server.serve = hold
    assert seqs(heard(server)) == [1, 2]


def test_a_stream_without_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.wire.sse.MAX_BYTES", 10_000)
    endless = stream(status(1), b"data: " + b"x" * 50_000)
    server = Scripted(debate=[answer(shown(DEBATE))], events=[endless, stream(status(1), END)])
    assert seqs(heard(server)) == [1]


def test_deltas_come_with_their_place() -> None:
    data = {"round": 1, "stage": "talk", "actor": "ada", "target": None, "text": " it", "at": AT}
    piece = f"event: delta\ndata: {json.dumps({**data, 'offset': 3})}\n\n".encode()
    server = Scripted(debate=[answer(shown(DEBATE))], events=[stream(piece, END)])
    assert heard(server) == [Delta(ID, 1, "talk", "ada", None, " it", AT, 3)]


def test_wait_goes_on_until_it_rests() -> None:
    paused = DEBATE.but(status="paused", last_seq=2)
    debates = [answer(shown(DEBATE))] * 2 + [answer(shown(paused)), CUT, answer(shown(paused))]
    server = Scripted(debate=debates, events=[stream(status(1)), stream(status(2, "paused"))])
    assert ask(server, lambda remote: remote.wait(ID)).status == "paused"


def test_a_wait_can_be_called_off() -> None:
    async def run(remote: Remote) -> Debate:
        waiting = asyncio.create_task(remote.wait(ID))
        await asyncio.sleep(0.1)
        await remote.close()
        return await waiting

    server = Scripted(debate=[answer(shown(DEBATE)), CUT], events=[CUT])
    assert ask(server, run).status == "running"


def test_waits_grow_to_their_limit_and_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    outage = Outage(lambda _: None, remote_module.FIRST_WAIT)

    async def run() -> None:
        await outage.rest()  # nothing to wait for
        outage.begins("Gone.")
        for _ in range(7):
            await outage.rest()
        outage.over()
        outage.begins("Gone.")
        await outage.rest()

    asyncio.run(run())
    assert waits == [0.5, 1, 2, 4, 8, 10, 10, 0.5]
