"""The stream (§8), line by line, on a real server and over a socket of the test's own."""

import asyncio
import json
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from moot.api import hub, server, stream
from moot.core.debate import Usage
from moot.core.events import Delta, Event
from moot.errors import ProviderError, ProviderUnavailableError
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.wire.shapes import ListedDebate
from tests.served import Served, served
from tests.sse import DURABLE, Client, Heard, keep, seqs, speeches, watch

PANEL = """
name = "panel"
title = "Panel"
description = "Everyone at once."
rules = "Everyone speaks at once."
ends = "max_rounds"

[roster]
min = 2
max = 5

[[stages]]
name = "answers"
together = true
ask = "Say what you think."
"""


# --- a client ---


class Puppet:
    """Says what the test gives each actor to say, when it is given."""

    def __init__(self) -> None:
        self.free = False  # from then on everybody speaks at once and unbidden
        self._lines: dict[str, deque[str | ProviderError | None]] = defaultdict(deque)

    def say(self, actor: str, *pieces: str) -> None:
        self._lines[actor].extend(pieces)

    def done(self, actor: str) -> None:
        self._lines[actor].append(None)

    def fail(self, actor: str) -> None:
        self._lines[actor].append(ProviderUnavailableError("gone"))

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        lines, text = self._lines[call.step.actor], ""
        while True:
            while lines:
                piece = lines.popleft()
                if isinstance(piece, ProviderError):
                    raise piece
                if piece is None:
                    return Reply(text, call.model, Usage(1, 1, 0.0))
                say(piece)
                text += piece
            if self.free:
                return Reply(text or plain(call), call.model, Usage(1, 1, 0.0))
            await asyncio.sleep(0.002)


def lengthy(call: Call) -> str:
    return plain(call) + " On and on." * 300


def ended(at: Served, turns: int = 6) -> dict[str, Any]:
    return at.wait(at.create(format="duel", limits={"max_turns": turns})["id"])


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little is under way unread that a reader who does not read is noticed at once."""
    monkeypatch.setattr(stream, "SYSTEM_BYTES", 4096)
    monkeypatch.setattr(server, "WRITE_BUFFER", 1024)


# --- where it begins, and where it ends ---


def test_it_has_everything_once_and_ends(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        debate = ended(at)
        with watch(at, debate["id"]) as client:
            heard = client.rest()
        assert client.wire.headers["content-type"].startswith("text/event-stream")
        assert client.wire.headers["cache-control"] == "no-cache"
        assert client.wire.headers["x-accel-buffering"] == "no"
        assert heard[0] == Heard("retry", 2000)
        assert heard[-1] == Heard("end", {})
        assert all(frame.event in DURABLE for frame in heard[1:-1])
        assert seqs(heard) == list(range(1, debate["last_seq"] + 1))
        turns = at.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        assert [frame.data for frame in heard if frame.event == "turn"] == turns
        last = heard[-2].data
        assert (last["status"], last["reason"]) == ("completed", "max_turns")
        assert last["progress"] == {"done": 6, "total": 6}
        assert {"failure", "stage", "round"} <= set(last)
        path = f"/debates/{debate['id']}/events"
        with Client(at.port, path, debate["last_seq"]) as again:
            assert (again.wire.status, again.wire.body) == (204, b"")
        answer = at.http.get(path, params={"last_event_id": debate["last_seq"]})
        assert (answer.status_code, answer.content) == (204, b"")


def test_the_header_beats_the_query(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        debate = ended(at)
        path, last = f"/debates/{debate['id']}/events", debate["last_seq"]

        def after(header: str | None, query: str | None) -> list[int]:
            asked = path if query is None else f"{path}?last_event_id={query}"
            with Client(at.port, asked, header) as client:
                assert client.wire.status == 200
                return seqs(client.rest())

        assert after(None, None) == list(range(1, last + 1))
        assert after("0", None) == list(range(1, last + 1))
        assert after("3", None) == list(range(4, last + 1))
        assert after(None, "5") == list(range(6, last + 1))
        assert after("3", "5") == list(range(4, last + 1))
        assert after("3", "abc") == list(range(4, last + 1))
        assert after("", None) == list(range(1, last + 1))
        assert after("", "5") == list(range(1, last + 1))


def test_an_id_that_is_no_whole_number_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        path = f"/debates/{at.create(start=False)['id']}/events"
        for given in (
            "-1",
            "1.5",
            "abc",
            "9" * 5000 + "x",
            "+1",
            "1_0",
            "1.0",
            "\xb9",
            "0x1",
            "1e3",
            "1 2",
            "1,2",
            "\xb2",
        ):
            asked = at.http.get(path, params={"last_event_id": given})
            with Client(at.port, path, given) as client:
                body = client.whole()
            for status, kind, problem in (
                (asked.status_code, asked.headers["content-type"], asked.json()),
                (client.wire.status, client.wire.headers["content-type"], json.loads(body)),
            ):
                assert (status, kind) == (400, "application/problem+json"), given
                assert problem["status"] == 400
                assert "whole number" in problem["detail"]


def test_an_id_beyond_the_log_begins_again(tmp_path: Path) -> None:
    puppet = Puppet()
    with served(tmp_path / "home", puppet) as at:
        debate = at.create(format="duel", limits={"max_turns": 3})
        with watch(at, debate["id"], 10**17) as running:
            early = running.until(lambda frame: frame.seq == 1)
            puppet.free = True
            early += running.rest()
        debate = at.wait(debate["id"])
        with watch(at, debate["id"], debate["last_seq"] + 1) as over:
            late = over.rest()
        for heard in (early, late):
            assert [frame.event for frame in heard[:2]] == ["retry", "reset"]
            assert seqs(heard) == list(range(1, debate["last_seq"] + 1))
            assert heard[-1].event == "end"


def test_blanks_do_not_count_and_no_number_is_too_long(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        debate = ended(at)
        path, last = f"/debates/{debate['id']}/events", debate["last_seq"]
        everything = list(range(1, last + 1))

        def heard(given: str) -> Iterator[list[Heard]]:
            with Client(at.port, path, given) as client:
                yield client.rest()
            with Client(at.port, f"{path}?last_event_id={quote(given)}") as client:
                yield client.rest()

        for given in ("3 ", " 3", "\t3 \t", "003"):
            for frames in heard(given):
                assert seqs(frames) == list(range(4, last + 1)), given
        for given in (" ", "0" * 30):
            for frames in heard(given):
                assert [frame.event for frame in frames[:2]] == ["retry", "status"]
                assert seqs(frames) == everything
        for given in ("1" * 20, str(2**63), str(2**31), "9" * 5000, f" {last + 1} "):
            for frames in heard(given):
                assert [frame.event for frame in frames[:2]] == ["retry", "reset"], given[:30]
                assert seqs(frames) == everything
        turns = f"/debates/{debate['id']}/turns"
        for given in ("9" * 5000, str(2**31), str(2**63)):
            assert at.http.get(turns, params={"after": given}).json() == {"items": []}
        assert (
            len(at.http.get(turns, params={"after": " 0 "}).json()["items"])
            == debate["progress"]["done"]
        )
        for given in ("-1", "+1", "1.0", "1_0", "\u0661", "x", "", "9" * 5000 + "x"):
            answer = at.http.get(turns, params={"after": given})
            assert (answer.status_code, answer.json()["field"]) == (422, "after"), given[:30]


def test_there_is_none_of_a_debate_that_is_not(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        path = "/debates/debate_20260101_000000_abcdef/events"
        with Client(at.port, path) as client:
            assert client.wire.status == 404
            assert client.wire.headers["content-type"] == "application/problem+json"


def test_it_says_that_it_is_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub.HEARTBEAT_SECONDS + stream.TICK_SECONDS < 15
    monkeypatch.setattr(hub, "HEARTBEAT_SECONDS", 0.5)
    monkeypatch.setattr(stream, "TICK_SECONDS", 0.1)
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        debate = at.create(start=False)
        with watch(at, debate["id"]) as one, Client(at.port, "/events") as all_of_them:
            for client in (one, all_of_them):
                for _ in range(2):
                    client.until(lambda frame: frame.event == "comment")


def test_a_paused_debate_keeps_its_stream(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker(seconds=0.02)) as at:
        debate = at.create(format="duel", limits={"max_turns": 30})
        with watch(at, debate["id"]) as client:
            heard = client.until(lambda frame: frame.seq == 4)
            assert at.post(f"/debates/{debate['id']}/pause").status_code == 202
            heard += client.until(lambda frame: frame.data.get("status") == "paused")
            with pytest.raises(TimeoutError):
                client.next(0.4)
            assert at.post(f"/debates/{debate['id']}/resume").status_code == 202
            heard += client.rest()
        assert seqs(heard) == list(range(1, at.wait(debate["id"])["last_seq"] + 1))
        assert heard[-1].event == "end"


def test_data_is_one_line_whatever_a_model_says(tmp_path: Path) -> None:
    wicked = "Yes.\n\nevent: end\ndata: {}\n\nid: 99\r\r\n: \x00\u2028\x85\udc80 — 𝄞 No."
    with served(tmp_path / "home", ScriptedSpeaker(lambda _: wicked, 0.1)) as at:
        debate = at.create(format="duel", limits={"max_turns": 2})
        with watch(at, debate["id"]) as client:
            heard = client.rest()
        assert seqs(heard) == list(range(1, at.wait(debate["id"])["last_seq"] + 1))
        turns = at.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        assert [frame.data for frame in heard if frame.event == "turn"] == turns
        assert {text.replace("?", "\udc80") for text in speeches(heard).values()} == {wicked}


# --- what is being said ---


def test_who_joins_hears_what_was_said_so_far(tmp_path: Path) -> None:
    puppet = Puppet()
    with served(tmp_path / "home", puppet) as at:
        debate = at.create(format="duel", limits={"max_turns": 1})
        with watch(at, debate["id"]) as first:
            begun = first.until(lambda frame: frame.seq == 2)
            puppet.say("ada", " One ", "two ")
            while " One two " not in speeches(begun).values():
                begun += first.until(lambda frame: frame.event == "delta")
            with watch(at, debate["id"]) as second:
                joined = second.until(lambda frame: frame.event == "delta")
                assert joined[-1].data["text"] == " One two "
                assert joined[-1].data["offset"] == 0
                assert set(joined[-1].data) >= {"round", "stage", "actor", "target", "text", "at"}
                puppet.say("ada", "three. ")
                puppet.done("ada")
                joined += second.rest()
            begun += first.rest()
        turns = at.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        assert [turn["text"] for turn in turns] == ["One two three."]
        for heard in (begun, joined):
            assert speeches(heard) == {(1, "ada", None): " One two three. "}
            assert all(frame.seq is None for frame in heard if frame.event == "delta")


def test_joining_at_any_moment_doubles_and_drops_no_piece(tmp_path: Path) -> None:
    pieces = [f"{number} " for number in range(400)]

    class Talker(ScriptedSpeaker):
        async def speak(self, call: Call, say: Say) -> Reply:
            for piece in pieces:
                say(piece)
                await asyncio.sleep(0.002)
            return Reply("".join(pieces), call.model, Usage(1, 1, 0.0))

    with served(tmp_path / "home", Talker()) as at:
        debate = at.create(format="duel", limits={"max_turns": 1}, start=False)
        clients = [watch(at, debate["id"])]
        began = time.monotonic()
        at.post(f"/debates/{debate['id']}/start")
        for _ in range(25):
            clients.append(watch(at, debate["id"]))
            time.sleep(0.013)
        every = [client.rest() for client in clients]
        seconds = time.monotonic() - began
        for client in clients:
            client.__exit__()
        starts = [next(len(f.data["text"]) for f in heard if f.event == "delta") for heard in every]
        assert len(set(starts)) > 10, "they must join at different moments"
        assert [speeches(heard) for heard in every] == [{(1, "ada", None): "".join(pieces)}] * 26
        frames = sum(frame.event == "delta" for frame in every[0])
        assert 5 < frames < seconds / hub.DELTA_SECONDS + 26, "small pieces go out as few"


def test_several_speak_at_once(tmp_path: Path) -> None:
    home, puppet, names = tmp_path / "home", Puppet(), ("ann", "bob", "cyd")
    (home / "formats").mkdir(parents=True)
    (home / "formats" / "panel.toml").write_text(PANEL)
    with served(home, puppet) as at:
        cast = [{"name": name.title()} for name in names]
        debate = at.create(format="panel", participants=cast)
        with watch(at, debate["id"]) as first:
            begun = first.until(lambda frame: frame.seq == 2)
            for number in range(20):
                for name in names:
                    puppet.say(name, f"{name}{number} ")
            while len(speeches(begun)) < 3:
                begun += first.until(lambda frame: frame.event == "delta")
            with watch(at, debate["id"]) as second:
                joined: list[Heard] = []
                while len(speeches(joined)) < 3:
                    joined += second.until(lambda frame: frame.event == "delta")
                for name in names:
                    puppet.say(name, "end.")
                    puppet.done(name)
                joined += second.rest()
            begun += first.rest()
        said = {
            (1, name, None): "".join(f"{name}{number} " for number in range(20)) + "end."
            for name in names
        }
        assert speeches(begun) == said
        assert speeches(joined) == said
        spoken = [frame.data for frame in joined if frame.event == "turn"]
        turns = {turn["actor"]: turn["text"] for turn in spoken}
        assert turns == {name: said[1, name, None] for name in names}


def test_a_failed_attempt_is_taken_back(tmp_path: Path) -> None:
    puppet = Puppet()
    with served(tmp_path / "home", puppet) as at:
        debate = at.create(format="duel", limits={"max_turns": 1})
        with watch(at, debate["id"]) as client:
            heard = client.until(lambda frame: frame.seq == 2)
            puppet.say("ada", "Wrong.")
            heard += client.until(lambda frame: frame.event == "delta")
            puppet.fail("ada")
            heard += client.until(lambda frame: frame.event == "delta")
            assert (heard[-1].data["text"], heard[-1].data["offset"]) == ("", 0)
            code = "DEBATE_ERR_PROVIDER_UNAVAILABLE"
            lost = {"text": "Wrong.", "code": code, "attempt": 2, "attempts": 4}
            assert heard[-1].data["cut_off"] == lost
            with watch(at, debate["id"]) as between:
                late = between.until(lambda frame: frame.event == "delta")
                assert (late[-1].data["text"], late[-1].data["cut_off"]) == ("", lost)
                puppet.say("ada", "Right.")
                puppet.done("ada")
                late += between.rest()
            heard += client.rest()
        for all_of_it in (heard, late):
            assert speeches(all_of_it) == {(1, "ada", None): "Right."}
        assert "Wrong." not in [frame.data["text"] for frame in late if frame.event == "delta"]


# --- many readers, and slow ones ---


def test_an_event_is_encoded_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, durable, deltas = hub.encode, Counter[int](), list[Delta]()

    def counted(event: Event | Delta) -> hub.Frame:
        if isinstance(event, Delta):
            deltas.append(event)
        else:
            durable[event.seq] += 1
        return encode(event)

    monkeypatch.setattr(hub, "encode", counted)
    with served(tmp_path / "home", ScriptedSpeaker(seconds=0.05)) as at:
        debate = at.create(format="duel", limits={"max_turns": 20}, start=False)
        clients = [watch(at, debate["id"]) for _ in range(50)]
        for client in clients:
            client.until(lambda frame: frame.seq == 1)
        at.post(f"/debates/{debate['id']}/start")
        every = [client.rest() for client in clients]
        for client in clients:
            client.__exit__()
        last = at.wait(debate["id"])["last_seq"]
    assert [seqs(heard) for heard in every] == [list(range(2, last + 1))] * 50
    assert set(durable) == set(range(1, last + 1))
    assert durable.total() <= last + 5, f"{durable.total()} encodings for 50 readers"
    assert len(deltas) < 3 * 20 + 50


def test_whoever_falls_out_of_the_ring_is_healed_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    monkeypatch.setattr(stream, "STALL_SECONDS", 3600.0)  # it is late here, and not dropped for it
    monkeypatch.setattr(hub, "RING_FRAMES", 4)
    page, read = hub.Channel.page, list[int]()

    async def noted(self: hub.Channel, after: int) -> list[hub.Frame]:
        read.append(after)
        return await page(self, after)

    monkeypatch.setattr(hub.Channel, "page", noted)
    with served(tmp_path / "home", ScriptedSpeaker(lengthy, 0.02)) as at:
        debate = at.create(format="duel", limits={"max_turns": 60})
        with watch(at, debate["id"], tiny=True) as slow:
            heard = slow.until(lambda frame: frame.event == "turn")
            reads, last = len(read), at.wait(debate["id"])["last_seq"]
            heard += slow.rest()
        assert seqs(heard) == list(range(1, last + 1))
        assert heard[-1].event == "end"
        assert any(after > 2 for after in read[reads:]), "it must have fallen behind"


def test_a_reader_that_does_not_read_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    monkeypatch.setattr(stream, "STALL_SECONDS", 0.4)
    monkeypatch.setattr(stream, "TICK_SECONDS", 0.1)
    with served(tmp_path / "home", ScriptedSpeaker(lengthy, 0.02)) as at:
        debate = at.create(format="duel", limits={"max_turns": 80})
        with watch(at, debate["id"]) as good, watch(at, debate["id"], tiny=True) as bad:
            heard = good.rest()
            last = at.wait(debate["id"])["last_seq"]
            assert seqs(heard) == list(range(1, last + 1))
            time.sleep(0.8)
            got: list[Heard] = []
            with pytest.raises(ConnectionError):
                keep(bad, got)
            assert seqs(got) == list(range(1, len(seqs(got)) + 1))
            assert 0 < len(seqs(got)) < last
        with watch(at, debate["id"], seqs(got)[-1]) as back:
            assert seqs(got + back.rest()) == list(range(1, last + 1))
        lines = at.http.get("/metrics").text.splitlines()
        drops = [line for line in lines if "drop" in line and not line.startswith("#")]
        assert [line.split()[-1] for line in drops] == ["1.0"], drops


# --- all debates ---


def test_each_change_comes_as_the_list_shows_it(tmp_path: Path) -> None:
    puppet = Puppet()
    with served(tmp_path / "home", puppet) as at, Client(at.port, "/events") as client:
        assert client.next() == Heard("retry", 2000)
        shown: dict[str, Any] = {}
        history: dict[str, list[str]] = defaultdict(list)

        def settled(frame: Heard) -> bool:
            if frame.event == "status":
                assert set(frame.data) == set(ListedDebate.__annotations__)
                shown[frame.data["id"]] = frame.data
                history[frame.data["id"]].append(frame.data["status"])
            items = at.http.get("/debates").json()["items"]
            return shown == {item["id"]: item for item in items}

        waits = at.create("Wait?", start=False)["id"]
        runs = at.create("Run?", format="duel", limits={"max_turns": 4})["id"]
        halts = at.create("Halt?", format="duel", limits={"max_turns": 4})["id"]
        client.until(lambda frame: settled(frame) and len(shown) == 3)
        assert shown[waits]["status"] == "scheduled"
        assert at.post(f"/debates/{halts}/pause").status_code == 202
        puppet.free = True
        client.until(lambda f: settled(f) and history[halts][-1] == "paused")
        at.wait(runs)
        if history[runs][-1] != "completed":
            client.until(lambda f: settled(f) and history[runs][-1] == "completed")
        assert shown[runs]["progress"] == {"done": 4, "total": 4}
        assert client.wire.headers["x-accel-buffering"] == "no"


def test_who_falls_behind_is_told_to_read_the_list_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    monkeypatch.setattr(hub, "RING_FRAMES", 4)
    monkeypatch.setattr(hub, "FEED_SECONDS", 0.01)
    with served(tmp_path / "home", ScriptedSpeaker()) as at, Client(at.port, "/events") as good:
        with Client(at.port, "/events", tiny=True) as slow:
            others: list[Heard] = []

            def is_last(frame: Heard) -> bool:
                return frame.event == "status" and frame.data["motion"] == "last"

            reading = threading.Thread(target=lambda: others.extend(good.until(is_last)))
            reading.start()
            for number in range(40):
                at.create(f"{number} " + "x" * 3000, start=False)
            heard = slow.until(lambda frame: frame.event == "reset")
            assert len(heard) < 40
            at.create("last", start=False)
            slow.until(is_last)
        reading.join(20)
        assert len(others) > len(heard), "the one who reads is not held up by the one who does not"
