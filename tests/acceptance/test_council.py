"""The council as a whole: in time, whoever fails, whatever the disk does."""

import asyncio
import errno
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moot.bootstrap import open_service
from moot.core import retry
from moot.errors import InputError, ProviderError, ProviderTimeoutError
from moot.outcome import packet
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store import files
from moot.testing.speaker import ScriptedSpeaker
from tests import forked, patience
from tests.integration.councils import answer, council_speaker
from tests.services import ask
from tests.stress import STRESS

ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
PHASES = ("Intake", "Round1", "Round2", "Round3", "Consensus", "Judge", "Packetize", "Writeback")

T = TypeVar("T")
MOOT = Path(sys.executable).with_name("moot")
REQUEST = {"problem": "Should we ship it?", "outputType": "decision"}
STEPS = [(role.lower(), number) for number in (1, 2, 3) for role in ROLES]
PHASE_STEPS = [*STEPS, ("synthesizer", 4), ("judge", 5)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", sweep_seconds=0.1)


@pytest.fixture(autouse=True)
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAITS", (0.01, 0.01, 0.01))


def go(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


async def hold(settings: Settings, speaker: ScriptedSpeaker, **fields: Any) -> Any:
    async with open_service(settings, speaker=speaker) as service:
        made = await service.council({**REQUEST, **fields})
        debate = await service.wait(made.id)
        return debate, await service.turns(made.id), Path(service.folder(made.id))


def read_packet(folder: Path) -> dict[str, Any]:
    made = json.loads((folder / "final-packet.json").read_text())
    packet.validate(made)
    return made


class Together(ScriptedSpeaker):
    """In the rounds of five, nobody is done before all five have begun."""

    def __init__(self) -> None:
        super().__init__(council_speaker()._script)
        self._begun = asyncio.Barrier(5)

    async def speak(self, call: Call, say: Say) -> Reply:
        if call.step.round <= 3:
            await self._begun.wait()
        return await super().speak(call, say)


def test_a_council_takes_five_answers_time_and_not_seventeen(settings: Settings) -> None:
    """Spoken one after the other, the first would wait for ever."""
    debate, turns, _ = go(hold(settings, Together()))
    assert debate.status == "completed"
    assert not debate.degraded
    assert len(turns) == 17
    assert len([turn for turn in turns if turn.round > 3]) == 2


def test_the_whole_of_it(settings: Settings) -> None:
    debate, turns, folder = go(hold(settings, council_speaker(), constraints=["cheap"]))
    assert (debate.status, debate.stop_reason, debate.degraded) == ("completed", "finished", False)
    assert [phase.state for phase in debate.phases] == list(PHASES)
    assert {phase.outcome for phase in debate.phases} == {"ok"}
    made = read_packet(folder)
    assert made["decision"]["selectedOption"] == "Ship it"
    assert made["constraints"] == ["cheap"]
    record = settings.home / "records" / "decisions" / f"{debate.id}.json"
    assert made["trace"]["evidenceRefs"][-1] == f"writeback:{record.relative_to(settings.home)}"
    assert json.loads(record.read_text())["runId"] == debate.id
    assert record.with_suffix(".md").read_text().startswith("# Decided: Ship it")
    numbers = {turn.number for turn in turns}
    cited = [ref for ref in made["trace"]["evidenceRefs"] if ref.startswith("turn:")]
    assert cited
    assert all(int(ref.removeprefix("turn:")) in numbers for ref in cited)
    rounds = json.loads((folder / "rounds" / "round-2.json").read_text())
    assert rounds["round"] == "round-2"
    targets = {turn["role"]: turn["targetRole"] for turn in rounds["turns"]}
    assert targets == {"Proponent": "Critic", "Critic": "Proponent", "Analyst": "Proponent",
                       "Synthesizer": "Critic", "Judge": "Synthesizer"}  # fmt: skip
    actions = ask(settings.database, "SELECT id, owner, due FROM debate_actions ORDER BY id")
    assert actions == [("A1", "Ada", "2026-12-01"), ("A2", "Ben", "2027-01-15")]


@pytest.mark.parametrize(("actor", "number"), PHASE_STEPS)
def test_one_role_failing_anywhere(settings: Settings, actor: str, number: int) -> None:
    debate, turns, folder = go(hold(settings, council_speaker(frozenset({(actor, number)}))))
    assert (debate.status, debate.degraded) == ("completed", True)
    made = read_packet(folder)
    assert made["degraded"]
    assert made["errorCodes"] == ["DEBATE_ERR_PROVIDER_REFUSED"]
    (failed,) = [turn for turn in turns if turn.status == "failed"]
    assert (failed.actor, failed.round) == (actor, number)
    consensus = json.loads((folder / "consensus.json").read_text())
    assert [(m["role"].lower(), m["turn"]) for m in consensus["missing"]] == [
        (actor, failed.number)
    ]
    if number == 5:
        assert "no verdict" in made["decision"]["whySelected"][0]
    outcomes = {phase.state: phase.outcome for phase in debate.phases}
    assert set(outcomes) == set(PHASES)
    assert set(outcomes.values()) != {"ok"}


@pytest.mark.parametrize("survivor", [role.lower() for role in ROLES])
def test_all_but_one_failing(settings: Settings, survivor: str) -> None:
    silent = frozenset(step for step in PHASE_STEPS if step[0] != survivor)
    debate, _, folder = go(hold(settings, council_speaker(silent)))
    assert (debate.status, debate.degraded) == ("completed", True)
    made = read_packet(folder)
    assert made["consensus"]["consensusScore"] < 0.5


def test_all_five_failing_at_first(settings: Settings) -> None:
    """Nobody stated a position. If they fail later, what they stated decides (test_closing.py)."""
    silent = frozenset((role.lower(), 1) for role in ROLES)
    debate, turns, folder = go(hold(settings, council_speaker(silent)))
    assert (debate.status, debate.stop_reason) == ("failed", "provider_failed")
    assert debate.failure is not None
    assert "round 1" in debate.failure.message
    assert len(turns) == 5
    assert not (folder / "final-packet.json").exists()
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())
    assert not list((settings.home / "records").glob("decisions/*"))


@pytest.mark.parametrize("constraint", [["nested"], {"a": 1}, 3, None])
def test_a_constraint_is_a_text(settings: Settings, constraint: Any) -> None:
    async def work() -> None:
        async with open_service(settings, speaker=council_speaker()) as service:
            asked = {"problem": "Ship?", "output_type": "decision", "constraints": [constraint]}
            with pytest.raises(InputError) as refused:
                await service.council(asked)
            assert refused.value.field == "constraints"
            deep: Any = "x"
            for _ in range(100):
                deep = [deep]
            seats = [{"name": "Ada", "bio": deep}, {"name": "Ben"}]
            with pytest.raises(InputError, match="nested too deeply"):
                await service.create("Ship?", format="duel", participants=seats)
            assert (await service.find()).debates == []

    go(work())


# --- structured answers as models give them ---


def wrapping(wrap: Any) -> ScriptedSpeaker:
    return ScriptedSpeaker(lambda call: wrap(call, json.dumps(answer(call))))


WRAPS = {
    "prose": lambda call, text: f"Of course. My answer:\n{text}\nI hope that helps!",
    "fence": lambda call, text: f"```json\n{text}\n```",
    "thoughts": lambda call, text: f"<think>{{hm}}</think>{text}",
}


@pytest.mark.parametrize("kind", WRAPS)
def test_what_wraps_an_answer_does_not_matter(settings: Settings, kind: str) -> None:
    debate, _, folder = go(hold(settings, wrapping(WRAPS[kind])))
    assert (debate.status, debate.degraded) == ("completed", False)
    unasked = {"notes"}  # nobody said a word in between
    assert set(read_packet(folder)) == set(packet.schema()["properties"]) - unasked


def test_a_cut_answer_is_repaired_once_with_the_problem_shown(settings: Settings) -> None:
    first: set[tuple[str, int]] = set()

    def script(call: Call) -> str | ProviderError:
        step = (call.step.actor, call.step.round)
        text = json.dumps(answer(call))
        if step not in first:
            first.add(step)
            return text[: len(text) // 2]
        assert "cannot be used" in call.messages[-1].text
        assert call.messages[-2].role == "assistant"
        return text

    speaker = ScriptedSpeaker(script)
    debate, _, _ = go(hold(settings, speaker))
    assert (debate.status, debate.degraded) == ("completed", False)
    assert len(speaker.calls) == 34


def test_the_name_of_a_role_is_no_position(settings: Settings) -> None:
    wrong: list[int] = []

    def script(call: Call) -> str:
        said = answer(call) or {}
        if "position" in said and call.step.actor == "critic" and call.step.round not in wrong:
            wrong.append(call.step.round)
            said |= {"position": "Synthesizer"}
        elif call.step.actor == "critic" and "position" in said:
            assert "position: that is a role" in call.messages[-1].text
        return json.dumps(said)

    speaker = ScriptedSpeaker(script)
    debate, turns, _ = go(hold(settings, speaker))
    assert (debate.status, debate.degraded) == ("completed", False)
    assert wrong == [1, 3]
    assert len(speaker.calls) == 19
    assert "Synthesizer" not in {(turn.data or {}).get("position") for turn in turns}


def test_then_it_is_invalid(settings: Settings) -> None:
    speaker = ScriptedSpeaker(
        lambda call: "no json" if call.step.actor == "critic" else json.dumps(answer(call))
    )
    debate, turns, _ = go(hold(settings, speaker))
    assert (debate.status, debate.degraded) == ("completed", True)
    failed = [turn for turn in turns if turn.status == "failed"]
    assert {turn.error_code for turn in failed} == {"DEBATE_ERR_PROVIDER_INVALID"}
    assert {turn.usage.calls for turn in failed} == {2}


def nested(depth: int, opening: str = '{"a":', closing: str = "}") -> str:
    return f'{{"position": {opening * depth}1{closing * depth}}}'


ABSURD = {
    "deep objects": nested(500),
    "deep lists": nested(500, "[", "]"),
    "a little too deep": nested(60),
    "bottomless": nested(100_000),
    "bottomless lists": nested(100_000, "[", "]"),
    "a huge number": nested(0).replace("1", "9" * 5_000),
    "a large number": nested(0).replace("1", "9" * 4_000),
    "not a number": '{"position": NaN, "confidence": Infinity}',
    "halves of characters": '{"position": "\\ud800", "claim": "\ud800"',
    "nothing to see": '{"\u200bposition\u0000": "\u0000", "\ud800": {"\ud83d": 1}}',
    "five megabytes": '{"position": "' + "x: \n" * 1_250_000 + '"}',
    "a key of megabytes": '{"' + "k" * 2_000_000 + '": 1}',
}


@pytest.mark.parametrize("kind", ABSURD)
def test_no_answer_breaks_its_reader(settings: Settings, kind: str) -> None:
    speaker = ScriptedSpeaker(
        lambda call: ABSURD[kind] if call.step.actor == "critic" else json.dumps(answer(call))
    )
    debate, turns, _ = go(hold(settings, speaker))
    assert (debate.status, debate.degraded) == ("completed", True)
    failed = [turn for turn in turns if turn.status == "failed"]
    assert [turn.actor for turn in failed] == ["critic"] * 3
    assert {turn.error_code for turn in failed} == {"DEBATE_ERR_PROVIDER_INVALID"}
    assert len(speaker.calls) == 14 + 3 * 2  # each is shown its problem, once
    assert debate.usage.input_tokens == 10 * len(speaker.calls)


@pytest.mark.parametrize("late", [2, 3])
def test_a_repair_is_one_of_the_three_retries(settings: Settings, late: int) -> None:
    tries: dict[tuple[str, int], int] = {}

    def script(call: Call) -> str | ProviderError:
        step = (call.step.actor, call.step.round)
        tries[step] = tries.get(step, 0) + 1
        if step != ("judge", 5) or tries[step] == late + 2:
            return json.dumps(answer(call))
        return "no json" if tries[step] == late + 1 else ProviderTimeoutError("slow")

    debate, _, _ = go(hold(settings, ScriptedSpeaker(script)))
    assert debate.degraded == (late == 3)  # the last of its four calls was ill-shaped
    assert tries["judge", 5] == 4


def test_the_same_shape_whoever_speaks(settings: Settings) -> None:
    casts: list[list[dict[str, str]]] = [
        [],
        [{"role": "Judge", "modelProvider": "claude", "modelName": "a"}],
        [{"role": role, "modelProvider": "openai", "modelName": "b"} for role in ROLES],
        [{"role": "Critic", "modelProvider": "gemini", "modelName": "c"},
         {"role": "Analyst", "modelProvider": "nobody", "modelName": "d"}],
    ]  # fmt: skip
    shapes: set[str] = set()
    for cast in casts:
        debate, _, folder = go(hold(settings, council_speaker(), participants=cast))
        made = read_packet(folder)
        shapes.add(json.dumps(sorted(made)) + json.dumps(sorted(made["decision"])))
        if len(cast) == 2:
            assert any("PROVIDER_NORMALIZED" in warning for warning in debate.warnings)
            assert made["participants"][2]["modelProvider"] == "local"
    assert len(shapes) == 1


# --- the disk ---


def failing_disk(monkeypatch: pytest.MonkeyPatch, at: int, code: int) -> None:
    """The `at`-th fsync of a file fails, and every one after it."""
    real, count = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal count
        count += 1
        if count >= at:
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(files.os, "fsync", fsync)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("at", [1, 4, 9])
def test_a_disk_that_fails_stops_the_run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, at: int, code: int
) -> None:
    failing_disk(monkeypatch, at, code)
    debate, turns, folder = go(hold(settings, council_speaker()))
    assert (debate.status, debate.stop_reason) == ("failed", "structural_failure")
    assert debate.failure is not None
    assert debate.failure.code == "DEBATE_ERR_STORAGE"
    assert len(turns) == 17, "the database has all of it"
    for path in [*folder.rglob("*.json"), *(settings.home / "records").glob("decisions/*.json")]:
        json.loads(path.read_text())
    monkeypatch.undo()
    assert not list(settings.home.rglob("*.tmp"))


def test_killed_between_any_two_files_it_finishes_after_a_restart(
    tmp_path: Path, switch_database: Callable[[object], None]
) -> None:
    """Killed at each rename in turn: old file or new, and the next start brings it to its end."""
    script = (
        "import os, sys, asyncio, json, signal\n"
        "from pathlib import Path\n"
        "from moot.bootstrap import open_service\n"
        "from moot.settings import Settings\n"
        "from tests.integration.councils import council_speaker\n"
        "at, count, replace = int(sys.argv[2]), 0, Path.replace\n"
        "def counted(self, target):\n"
        "    global count\n"
        "    count += 1\n"
        "    if count == at: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return replace(self, target)\n"
        "Path.replace = counted\n"
        "async def main():\n"
        "    async with open_service(Settings(home=sys.argv[1]), speaker=council_speaker()) as s:\n"
        "        made = await s.council({'problem': 'Should we?', 'outputType': 'decision'})\n"
        "        await s.wait(made.id)\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    places = [1, 2, 3, 8, 12, 15] if STRESS else [2, 12]
    children: list[subprocess.Popen[bytes]] = []
    for at in places:
        switch_database(at)
        words = [sys.executable, "-c", script, str(tmp_path / str(at)), str(at)]
        children.append(subprocess.Popen(words, cwd=root))
    for at, child in zip(places, children, strict=True):
        switch_database(at)
        assert child.wait(patience.seconds()) == -9, f"file {at} was never written"
        home = tmp_path / str(at)
        for path in home.rglob("records/**/*.json"):
            json.loads(path.read_text())

        async def finish(home: Path = home) -> None:
            async with open_service(Settings(home=home), speaker=council_speaker()) as service:
                (debate,) = (await service.find()).debates
                done = await service.wait(debate.id)
                assert (done.status, done.degraded) == ("completed", False)
                folder = Path(service.folder(done.id))
                read_packet(folder)
                manifest = json.loads((folder / "manifest.json").read_text())
                assert manifest["lastSeq"] == done.last_seq

        go(finish())
        assert not list(home.rglob("*.tmp"))


@pytest.mark.sqlite_only
def test_a_home_of_somebody_else_is_used_in_place(settings: Settings) -> None:
    """A KOF Note home: its tables and files stay as they are, byte for byte."""
    database = settings.home / ".agentic" / "kofnote_search.sqlite"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as conn, conn:
        conn.execute("CREATE TABLE records_index (path TEXT PRIMARY KEY, body TEXT)")
        conn.execute("CREATE VIRTUAL TABLE search USING fts5(body)")
        conn.execute("INSERT INTO records_index VALUES ('a', 'b')")
        conn.execute("INSERT INTO search VALUES ('hello')")
    own = settings.home / "records" / "decisions" / "2026-01-01.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    before = database.read_bytes()[18:20]  # how it is journaled
    debate, _, _ = go(hold(settings, council_speaker()))
    assert debate.status == "completed"
    assert own.read_text() == "mine"
    assert database.read_bytes()[18:20] == before == b"\x01\x01"
    with closing(sqlite3.connect(database)) as conn:
        assert conn.execute("SELECT * FROM records_index").fetchall() == [("a", "b")]
        assert conn.execute("SELECT * FROM search").fetchall() == [("hello",)]


# --- the command line ---


def moot(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return forked.moot({**os.environ, "MOOT_HOME": str(home), **environment}, *words)


def test_moot_council_and_what_it_leaves(tmp_path: Path) -> None:
    ran = moot(tmp_path, "council", "Should we move to Postgres?", "--constraint", "no downtime",
               "--role", "Clown=local", "--json")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    packet.validate(made["packet"])
    assert made["warnings"][0].startswith("DEBATE_WARN_ROLE_IGNORED")
    found = moot(tmp_path, "records", "postgres", "downtime", "--json")
    if found.returncode == 2:  # one word at a time
        found = moot(tmp_path, "records", "postgres downtime", "--json")
    assert made["id"] in found.stdout
    assert json.loads(moot(tmp_path, "schema", "packet").stdout)["title"] == "Packet"


def test_a_bad_council_writes_nothing(tmp_path: Path) -> None:
    bad = (["--output-type", "poem"], ["--record", "diary"], ["--role", "Judge"])
    for words in (["council", " "], *(["council", "x", *more] for more in bad)):
        ran = moot(tmp_path, *words)
        assert ran.returncode == 2, words
        assert len(ran.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "records").exists()
    assert json.loads(moot(tmp_path, "list", "--json").stdout) == []


def test_a_format_that_is_switched_off_is_gone(tmp_path: Path) -> None:
    ran = moot(tmp_path, "council", "Should we?", "--json")
    debate_id = json.loads(ran.stdout)["id"]
    off = {"MOOT_DISABLED_FORMATS": "council"}
    assert "council" not in moot(tmp_path, "formats", **off).stdout
    for words in (["council", "Should we?"], ["run", "x", "--format", "council"],
                  ["replay", debate_id]):  # fmt: skip
        refused = moot(tmp_path, *words, **off)
        assert refused.returncode == 2
        assert "switched off" in refused.stderr
    assert (tmp_path / "records" / "debates" / debate_id / "final-packet.json").exists()
    assert moot(tmp_path, "replay", debate_id).returncode == 0
