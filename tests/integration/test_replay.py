"""Replay from the files alone, every damage found, and the database rebuilt from the files."""

import asyncio
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import moot
from moot.bootstrap import open_service
from moot.core import retry
from moot.core.debate import Debate, Turn
from moot.core.events import TurnCommitted
from moot.errors import InputError, NotFoundError
from moot.ports.finding import Search
from moot.settings import Settings
from moot.store import lists, runs, schema
from moot.store import replay as replaying
from moot.store.database import Database, connect
from moot.store.files import as_json
from moot.store.query import Connection
from moot.store.reindex import Reindexed, examine, reindex
from moot.store.replay import document, read_folder
from moot.wire import codec
from tests import forked
from tests.integration.councils import council_speaker
from tests.stress import STRESS

SEEDS = 500 if STRESS else 95  # of mutations: each kind five times
COUNCIL = {"problem": "Should we ship — “now”?", "outputType": "decision", "constraints": ["cheap"]}
BOOKKEEPING = {"key", "fence", "lease_owner", "lease_until", "open_calls"}


def a_home(home: Path) -> Settings:
    return Settings(home=home, lease_seconds=5.0, sweep_seconds=0.5)


async def hold(settings: Settings, format_: str, speaker: Any = None) -> tuple[Debate, list[Turn]]:
    speaker = speaker or council_speaker()
    async with open_service(settings, speaker=speaker, recover=False) as service:
        if format_ == "council":
            made = await service.council(COUNCIL)
        else:
            made = await service.create("Ship <it>?", format=format_)
        debate = await service.wait(made.id)
        return await service.get(debate.id), await service.turns(debate.id)


def without_database(settings: Settings) -> None:
    for path in settings.file.parent.iterdir():
        path.unlink()


@pytest.fixture(autouse=True)
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAITS", (0.01, 0.02, 0.03))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, dict[str, str]]:
    """One home with a debate of each format. Tests copy what they change."""
    settings = a_home(tmp_path_factory.mktemp("held") / "home")
    ids = {
        format_: asyncio.run(hold(settings, format_))[0].id
        for format_ in ("standard", "classic", "duel", "council")
    }
    return settings, ids


# --- from the files alone ---


@pytest.mark.parametrize("format_", ["standard", "classic", "duel", "council"])
def test_the_files_alone_give_what_the_database_gave(tmp_path: Path, format_: str) -> None:
    settings = a_home(tmp_path / "home")
    debate, turns = asyncio.run(hold(settings, format_))
    assert debate.status == "completed"
    assert debate.files_seq == debate.last_seq
    both = examine(settings.home, settings.file, debate.id)
    assert (both.indexed, both.issues) == (True, ())
    without_database(settings)
    alone = examine(settings.home, settings.file, debate.id)
    assert (alone.indexed, alone.issues) == (False, ())
    assert not settings.file.exists(), "a replay makes no database"
    assert list(alone.replay.turns) == turns
    assert alone.replay.debate
    assert alone.replay.debate.but(fence=debate.fence) == debate
    shown = document(alone.replay, alone.indexed, alone.issues)
    assert shown["consistency"] == {"filesComplete": True, "indexed": False, "issues": []}
    assert shown["request"]["motion"] == debate.motion
    assert [turn["text"] for part in shown["rounds"] for turn in part["turns"]] == [
        turn.text for turn in sorted(turns, key=lambda turn: (turn.round, turn.seq))
    ]
    if format_ == "council":
        assert shown["finalPacket"]["decision"]["selectedOption"] == "Ship it"
        assert shown["consensus"]["consensusScore"] == debate.outcome.consensus_score  # type: ignore[union-attr]
        assert shown["writebackRecord"]["runId"] == debate.id
    else:
        assert shown["finalPacket"] is shown["consensus"] is shown["writebackRecord"] is None


@pytest.mark.parametrize("format_", ["duel", "council"])
def test_each_file_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    """A council's files are there before it is completed: what somebody does to one stays."""
    written: Counter[Path] = Counter()
    replace = Path.replace

    def counted(temporary: Path, path: Path) -> Path:
        written[path] += 1
        return replace(temporary, path)

    monkeypatch.setattr(Path, "replace", counted)
    asyncio.run(hold(a_home(tmp_path / "home"), format_))
    assert len(written) > 6
    assert set(written.values()) == {1}


def test_a_council_that_degraded_replays_too(tmp_path: Path) -> None:
    settings = a_home(tmp_path / "home")
    silent = frozenset({("critic", 2), ("judge", 5)})
    debate, turns = asyncio.run(hold(settings, "council", council_speaker(silent)))
    assert debate.degraded
    seen = examine(settings.home, settings.file, debate.id)
    assert seen.issues == ()
    assert list(seen.replay.turns) == turns


def test_a_paused_debate_keeps_the_place_in_its_wave(tmp_path: Path) -> None:
    settings = a_home(tmp_path / "home")

    async def work() -> Debate:
        speaker = council_speaker(frozenset({("analyst", 1)}))
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create(
                "m", format="council", brief={"output_type": "planning"}, on_failure="pause"
            )
            await service.wait(made.id)
            return await service.get(made.id)

    debate = asyncio.run(work())
    assert debate.status == "paused"
    assert debate.cursor.done
    seen = examine(settings.home, settings.file, debate.id)
    assert seen.issues == ()
    assert seen.replay.debate
    assert seen.replay.debate.cursor == debate.cursor


def test_what_was_said_since_the_files_were_written_is_a_finding(tmp_path: Path) -> None:
    settings = a_home(tmp_path / "home")

    async def work() -> str:
        speaker = council_speaker()
        speaker._seconds = 0.3  # so that the pause comes before the end
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create("m", format="duel", start=False)
            await service.start(made.id)
            async for event in service.follow(made.id):
                if isinstance(event, TurnCommitted) and event.turn.round == 2:
                    await service.pause(made.id, at_once=True)
                    break
            await service.wait(made.id)
            return made.id

    debate_id = asyncio.run(work())
    assert examine(settings.home, settings.file, debate_id).issues == ()
    kept = settings.home / "kept"
    shutil.copytree(settings.home / "records", kept)

    async def go_on() -> None:
        async with open_service(settings, speaker=council_speaker(), recover=False) as service:
            await service.resume(debate_id)
            await service.wait(debate_id)

    asyncio.run(go_on())
    assert examine(settings.home, settings.file, debate_id).issues == ()
    shutil.rmtree(settings.home / "records")
    kept.rename(settings.home / "records")
    issues = examine(settings.home, settings.file, debate_id).issues
    assert len(issues) == 1
    assert "The files go up to seq" in issues[0]


# --- a thousand mutations ---


class Copy:
    """A debate's files in memory, to be changed and laid out again."""

    def __init__(self, home: Path, debate_id: str) -> None:
        self.id = debate_id
        self.root = f"records/debates/{debate_id}/"
        self.files = {
            path.relative_to(home).as_posix(): path.read_bytes()
            for path in home.joinpath("records").rglob("*")
            if path.is_file() and debate_id in str(path)
        }
        self.home = home

    def lay_out(self, home: Path, changed: dict[str, bytes | None]) -> None:
        for name in {**self.files, **changed}:
            data = changed.get(name, self.files.get(name))
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in changed:
                path.unlink(missing_ok=True)
                if data is not None:
                    path.write_bytes(data)
            elif not path.exists():
                path.hardlink_to(self.home / name)

    def restore(self, home: Path, changed: dict[str, bytes | None]) -> None:
        for name in changed:
            (home / name).unlink(missing_ok=True)
            if name in self.files:
                (home / name).hardlink_to(self.home / name)

    def names(self, suffix: str = "", *, records: bool = True) -> list[str]:
        return sorted(
            name
            for name in self.files
            if name.endswith(suffix) and (records or name.startswith(self.root))
        )

    def fixed_up(self, changed: dict[str, bytes | None]) -> dict[str, bytes | None]:
        """The same change, by somebody who mends the manifest after it."""
        name = f"{self.root}manifest.json"
        manifest = json.loads(changed.get(name) or self.files[name])
        for path, data in changed.items():
            if path.startswith(self.root) and path != name:
                inner = path.removeprefix(self.root)
                if data is None:
                    manifest["files"].pop(inner, None)
                else:
                    manifest["files"][inner] = hashlib.sha256(data).hexdigest()
        return {**changed, name: as_json(manifest)}


Changed = dict[str, bytes | None]


def flipped(copy: Copy, rng: random.Random) -> Changed:
    name = rng.choice(copy.names())
    data = bytearray(copy.files[name])
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return {name: bytes(data)}


def truncated(copy: Copy, rng: random.Random) -> Changed:
    name = rng.choice(copy.names())
    return {name: copy.files[name][: rng.randrange(len(copy.files[name]))]}


def removed(copy: Copy, rng: random.Random) -> Changed:
    return {rng.choice(copy.names()): None}


def removed_and_unlisted(copy: Copy, rng: random.Random) -> Changed:
    names = [n for n in copy.names(records=False) if not n.endswith("manifest.json")]
    return copy.fixed_up({rng.choice(names): None})


def extra(copy: Copy, rng: random.Random) -> Changed:
    place = rng.choice(["", "rounds/", "attic/"])
    name = rng.choice(["round-77.json", "notes.txt", "final-packet.json.bak", ".hidden"])
    return {f"{copy.root}{place}{name}": b"{}\n"}


def extra_round_listed(copy: Copy, rng: random.Random) -> Changed:
    """A round that nobody spoke, with the manifest mended: the transcript does not have it."""
    name = f"{copy.root}rounds/round-{rng.randrange(50, 99)}.json"
    return copy.fixed_up({name: b"{}\n"})


def swapped_turns(copy: Copy, rng: random.Random) -> Changed:
    names = [*copy.names("transcript.json"), *(n for n in copy.names() if "/rounds/" in n)]
    several = [n for n in names if len(json.loads(copy.files[n])["turns"]) > 1]
    name = rng.choice(several)
    value = json.loads(copy.files[name])
    first, second = rng.sample(range(len(value["turns"])), 2)
    turns = value["turns"]
    turns[first], turns[second] = turns[second], turns[first]
    return copy.fixed_up({name: as_json(value)})


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for key, part in parts for leaf in leaves(part, (*path, key))]
    return [path]


def other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice([1, -1, 0.5])
    if isinstance(value, str):
        return value + rng.choice([" ", "!", "x", "\u200b"])
    return rng.choice(["x", 7, {"a": 1}, [1], True])


def changed_leaf(data: bytes, rng: random.Random, within: tuple[str, ...] = ()) -> bytes:
    whole = value = json.loads(data)
    for key in within:
        value = value[key]
    path = rng.choice(leaves(value))
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = other(value[path[-1]], rng)
    return as_json(whole)


def edited_copy_of_the_turns(copy: Copy, rng: random.Random) -> Changed:
    """Any value of any file that follows from the transcript, with the manifest mended."""
    kinds = ("/rounds/", "consensus.json", "final-packet.json", "records/decisions")
    names = [n for n in copy.names(".json") if any(kind in n for kind in kinds)]
    name = rng.choice(names)
    return copy.fixed_up({name: changed_leaf(copy.files[name], rng)})


def edited_turn(copy: Copy, rng: random.Random) -> Changed:
    name = f"{copy.root}transcript.json"
    data = changed_leaf(copy.files[name], rng, ("turns",))
    return copy.fixed_up({name: data})


def edited_request(copy: Copy, rng: random.Random) -> Changed:
    name = f"{copy.root}request.json"
    return copy.fixed_up({name: changed_leaf(copy.files[name], rng)})


def edited_document(copy: Copy, rng: random.Random) -> Changed:
    name = rng.choice(copy.names(".md"))
    text = copy.files[name].decode()
    place = rng.randrange(len(text))
    return copy.fixed_up({name: f"{text[:place]}x{text[place + 1 :]}x".encode()})


def edited_manifest(copy: Copy, rng: random.Random) -> Changed:
    name = f"{copy.root}manifest.json"
    return {name: changed_leaf(copy.files[name], rng)}


def reformatted(copy: Copy, rng: random.Random) -> Changed:
    names = [n for n in copy.names(".json") if not n.endswith("manifest.json")]
    name = rng.choice(names)
    return copy.fixed_up({name: json.dumps(json.loads(copy.files[name])).encode()})


HOSTILE = [
    b"", b"null", b"[]", b"7", b'"x"', b"{", b"\xff\xfe\x00", b"\x00" * 64, b"NaN", b"1e999",
    b"[" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"[" * 70 + b"]" * 70,
    b'{"debate": "\\ud800"}', b"9" * 5000, b'{"turns": 7, "debate": [], "events": {}}',
    b'{"debate": {"id": {}}, "turns": [[]], "events": [null], "files": [1], "rules": 7}',
    b'{"files": {"../../../etc/passwd": "x", "/etc/passwd": 7, "a\\u0000b": []}}',
]  # fmt: skip


def hostile(copy: Copy, rng: random.Random) -> Changed:
    name = rng.choice(copy.names())
    changed: Changed = {name: rng.choice(HOSTILE)}
    return copy.fixed_up(changed) if "manifest" not in name and rng.random() < 0.7 else changed


def retyped(copy: Copy, rng: random.Random) -> Changed:
    """A value of another kind anywhere in the turns, with the manifest mended."""
    name = f"{copy.root}transcript.json"
    whole = value = json.loads(copy.files[name])
    path = rng.choice(leaves(value["turns"], ("turns",)))
    cut = path[: rng.randrange(1, len(path) + 1)]
    for key in cut[:-1]:
        value = value[key]
    value[cut[-1]] = rng.choice([None, [], {}, "x", -1, 10**30, [[]], {"seq": None}, True])
    return copy.fixed_up({name: as_json(whole)})


MUTATIONS: list[Callable[[Copy, random.Random], Changed]] = [
    flipped, flipped, truncated, removed, removed_and_unlisted, extra, extra_round_listed,
    swapped_turns, edited_copy_of_the_turns, edited_copy_of_the_turns, edited_turn, edited_turn,
    edited_request, edited_document, edited_manifest, reformatted, hostile, hostile, retyped,
]  # fmt: skip


@pytest.mark.parametrize("format_", ["classic", "council"])
def test_every_one_of_many_mutations_is_reported(
    held: tuple[Settings, dict[str, str]], tmp_path: Path, format_: str
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids[format_])
    home = tmp_path / "copy"
    copy.lay_out(home, {})
    assert read_folder(home, copy.id).issues == ()
    tried = 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        mutate = MUTATIONS[seed % len(MUTATIONS)]
        changed = {
            name: data for name, data in mutate(copy, rng).items() if data != copy.files.get(name)
        }
        if not changed:
            continue  # another value of the same spelling
        tried += 1
        copy.lay_out(home, changed)
        replay = read_folder(home, copy.id)
        assert replay.issues, f"seed {seed}: {mutate.__name__} of {list(changed)}"
        json.dumps(document(replay, False, replay.issues), ensure_ascii=False).encode()
        for issue in replay.issues:
            assert issue.isprintable()
        copy.restore(home, changed)
        shutil.rmtree(home / copy.root / "attic", ignore_errors=True)
    assert tried > SEEDS * 0.9
    assert read_folder(home, copy.id).issues == ()


def test_what_only_one_file_holds_is_compared_with_the_database(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["council"])
    copy.lay_out(tmp_path, {})
    name = f"{copy.root}transcript.json"
    for seed in range(150):
        rng = random.Random(seed)
        part = ("debate", "events")[seed % 2]
        changed = copy.fixed_up({name: changed_leaf(copy.files[name], rng, (part,))})
        copy.lay_out(tmp_path, changed)
        seen = examine(tmp_path, settings.file, copy.id)
        assert seen.issues, f"seed {seed}: {part}"
        copy.restore(tmp_path, changed)


def test_a_hostile_number_costs_no_time_and_no_memory(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["standard"])
    for number in (10**9, 10**30):
        request = json.loads(copy.files[f"{copy.root}request.json"])
        whole = json.loads(copy.files[f"{copy.root}transcript.json"])
        for part in (request, whole["debate"]):
            part["options"]["rounds"] = number
            part["limits"]["max_turns"] = number
        whole["debate"]["last_seq"] = whole["debate"]["progress"]["total"] = number
        whole["turns"][0]["round"] = number
        home = tmp_path / str(number)
        changed = {"request.json": as_json(request), "transcript.json": as_json(whole)}
        copy.lay_out(home, copy.fixed_up({copy.root + n: d for n, d in changed.items()}))
        began = time.thread_time()
        assert read_folder(home, copy.id).issues
        assert time.thread_time() - began < 5


def test_a_finding_names_the_file_and_what_is_wrong(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["council"])

    def issues(name: str, change: Callable[[Any], None]) -> str:
        value = json.loads(copy.files[copy.root + name])
        change(value)
        home = tmp_path / hashlib.sha256(os.urandom(8)).hexdigest()
        copy.lay_out(home, copy.fixed_up({copy.root + name: as_json(value)}))
        return "\n".join(read_folder(home, copy.id).issues)

    said = issues("rounds/round-2.json", lambda v: v["turns"][1].update(text="I agree."))
    assert said == "rounds/round-2.json: turns[1].text is not what transcript.json gives."
    said = issues("final-packet.json", lambda v: v["decision"].update(selectedOption="Wait"))
    assert "final-packet.json: decision.selectedOption is not what transcript.json gives." in said
    said = issues("final-packet.json", lambda v: v["nextActions"].clear())
    assert "final-packet.json: The packet is not valid" in said
    said = issues("request.json", lambda v: v["rules"]["stages"][0].update(ask="Agree, {name}."))
    assert "transcript.json: rules is not what request.json gives." in said
    said = issues("transcript.json", lambda v: v["debate"]["outcome"].update(consensus_score=0.1))
    assert "transcript.json: its outcome does not follow from its turns." in said
    said = issues("transcript.json", lambda v: v["events"].pop())
    assert "transcript.json: its log has a gap, or an entry twice." in said
    said = issues("manifest.json", lambda v: v.update(lastSeq=3))
    assert "manifest.json: it says lastSeq 3, and the transcript" in said


def test_things_that_are_no_files_are_reported(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["duel"])
    folder = tmp_path / copy.root
    for name in ("transcript.md", "transcript.json", "manifest.json", "rounds/round-1.json"):
        for kind in ("folder", "pipe", "link", "endless"):
            shutil.rmtree(tmp_path / "records", ignore_errors=True)
            copy.lay_out(tmp_path, {})
            (folder / name).unlink()
            if kind == "folder":
                (folder / name).mkdir()
            elif kind == "pipe":
                os.mkfifo(folder / name)
            else:
                (folder / name).symlink_to("/etc/passwd" if kind == "link" else "/dev/zero")
            replay = read_folder(tmp_path, copy.id)
            assert not replay.complete
            assert any(issue.startswith(name) for issue in replay.issues), (name, kind)
    shutil.rmtree(folder)
    folder.write_text("a file where a folder should be")
    assert not read_folder(tmp_path, copy.id).found


def test_a_folder_that_is_a_link_is_not_followed(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy, home = Copy(settings.home, ids["council"]), tmp_path / "home"
    copy.lay_out(tmp_path / "elsewhere", {})
    debates = home / "records" / "debates"
    debates.mkdir(parents=True)
    place = f"records/debates/{copy.id}"
    for target in (tmp_path / "elsewhere" / place, Path("/"), tmp_path / "nothing"):
        (debates / copy.id).symlink_to(target)
        replay = read_folder(home, copy.id)
        assert (replay.found, replay.complete, replay.debate) == (target.is_dir(), False, None)
        assert replay.documents == {}
        assert replay.issues[0] == f"{place}: it is a link, which is not followed."
        done = run_reindex(a_home(home))
        assert (done.indexed, list(done.skipped)) == ([], [copy.id])
        assert done.skipped[copy.id][0] == f"{place}: it is a link, which is not followed."
        (debates / copy.id).unlink()
    # what lies on another disk as a whole is the user's own choice
    shutil.rmtree(home)
    home.mkdir()
    (home / "records").symlink_to(tmp_path / "elsewhere" / "records")
    assert read_folder(home, copy.id).issues == ()


def test_a_record_that_is_a_link_is_not_followed(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["council"])
    copy.lay_out(tmp_path, {})
    record = next(tmp_path.glob(f"records/[dw]*/{copy.id}.json"))
    record.rename(tmp_path / "elsewhere.json")
    record.symlink_to(tmp_path / "elsewhere.json")
    replay = read_folder(tmp_path, copy.id)
    assert (replay.record, replay.complete) == (None, False)
    assert any("decisions" in issue and "cannot be read" in issue for issue in replay.issues)


def test_no_more_of_a_folder_is_read_than_a_debate_can_hold(
    held: tuple[Settings, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["duel"])
    copy.lay_out(tmp_path, {})
    folder = tmp_path / copy.root
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    monkeypatch.setattr(replaying, "MAX_BYTES", size + 5000)
    assert read_folder(tmp_path, copy.id).issues == ()
    for name in ("a", "b"):
        with (folder / name).open("wb") as file:
            file.truncate(4000)
    found = replaying._Folder(tmp_path, copy.id)
    found.read_all()
    assert sum(map(len, found.data.values())) <= size + 5000
    assert any("with it the folder is larger than any of moot's" in issue for issue in found.issues)
    monkeypatch.setattr(replaying, "MAX_ENTRIES", 8)
    issues = read_folder(tmp_path, copy.id).issues
    assert f"{copy.root.rstrip('/')}: it holds more files than any debate has." in issues


@pytest.mark.parametrize("debate_id", [
    "../../etc", "/etc/passwd", "debate_20261115_120000_aaaaa\x00", "", ".", "debate_*",
    "debate_20261115_120000_aaaaaa/..", "debate_２０２６1115_120000_aaaaaa", "debate_\udc80",
])  # fmt: skip
def test_a_hostile_id_never_becomes_a_path(tmp_path: Path, debate_id: str) -> None:
    with pytest.raises(InputError, match="is not a debate's id"):
        read_folder(tmp_path, debate_id)
    with pytest.raises(InputError, match="is not a debate's id"):
        moot.replay_debate_mode(debate_id, settings=a_home(tmp_path))


def test_a_hostile_reference_to_a_record_is_not_followed(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    copy = Copy(settings.home, ids["council"])
    name = f"{copy.root}final-packet.json"
    value = json.loads(copy.files[name])
    value["trace"]["evidenceRefs"][-1] = "writeback:records/../../secret.json"
    home = tmp_path / "home"
    copy.lay_out(home, copy.fixed_up({name: as_json(value), f"{copy.root}transcript.json": b"{}"}))
    (tmp_path / "secret.json").write_text('{"secret": 1}')
    replay = read_folder(home, copy.id)
    assert replay.record is None
    assert replay.issues


# --- beside the database ---


DISAGREEMENTS = {
    "UPDATE debate_turns SET text = text || '!' WHERE seq = 4": "debate_turns disagree on turn 2",
    "UPDATE debate_turns SET error_code = 'X' WHERE seq = 4": "on turn 2: error_code",
    "UPDATE debate_turns SET data = '{}' WHERE seq = 4": "on turn 2: data.",
    "UPDATE debate_turns SET output_tokens = 99 WHERE seq = 4": "on turn 2: usage.output_tokens",
    "DELETE FROM debate_turns WHERE seq = 4": "debate_turns lacks turn 2",
    "DELETE FROM debate_events WHERE seq = 1": "debate_events lacks event 1",
    "UPDATE debate_actions SET owner = 'Eve' WHERE id = 'A2'": "nextActions[1].owner",
    "DELETE FROM debate_actions WHERE id = 'A1'": "the length of nextActions",
    "UPDATE debate_runs SET status = 'stopped'": "debate_runs disagree on status",
    "UPDATE debate_runs SET last_seq = last_seq + 1": "The files go up to seq",
    "UPDATE debate_runs SET consensus_score = 0.1": "outcome.consensus_score",
    "UPDATE debate_runs SET selected_option = 'Wait'": "outcome.selected_option",
    "UPDATE debate_runs SET warnings = '[\"w\"]'": "debate_runs disagree on the length of warnings",
    "UPDATE debate_runs SET input_tokens = 7": "debate_runs disagree on usage.input_tokens",
    "UPDATE debate_records SET title = 'Wait'": "debate_records disagree on records[0].title",
    "DELETE FROM debate_records": "debate_records disagree on the length of records",
    "UPDATE debate_runs SET participants = '{'": "its rows of",
}


@pytest.mark.parametrize("sql", DISAGREEMENTS)
def test_each_disagreement_with_the_database_is_listed(
    held: tuple[Settings, dict[str, str]], tmp_path: Path, sql: str
) -> None:
    settings, ids = held
    database = tmp_path / "copy.sqlite"
    with sqlite3.connect(settings.file) as source, sqlite3.connect(database) as target:
        source.backup(target)
        target.execute("DELETE FROM debate_runs WHERE id != ?", [ids["council"]])
    for conn in (source, target):
        conn.close()
    assert examine(settings.home, database, ids["council"]).issues == ()
    driver = sqlite3.connect(database)
    driver.execute(sql)
    driver.commit()
    driver.close()
    issues = examine(settings.home, database, ids["council"]).issues
    assert any(DISAGREEMENTS[sql] in issue for issue in issues), issues


def test_a_database_that_is_none_is_said_so(
    held: tuple[Settings, dict[str, str]], tmp_path: Path
) -> None:
    settings, ids = held
    garbage = tmp_path / "garbage.sqlite"
    garbage.write_bytes(os.urandom(8192))
    issues = examine(settings.home, garbage, ids["duel"]).issues
    assert len(issues) == 1
    assert "compared with nothing" in issues[0]
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as conn:
        conn.execute("CREATE TABLE notes (id INTEGER)")
    conn.close()
    seen = examine(settings.home, foreign, ids["duel"])
    assert (seen.indexed, seen.issues) == (False, ())


def test_an_unknown_debate_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no debate"):
        examine(tmp_path, tmp_path / "none.sqlite", "debate_20261115_120000_aaaaaa")
    assert list(tmp_path.iterdir()) == []


# --- reindex ---


def rows(database: Path) -> dict[str, list[dict[str, Any]]]:
    tables = {
        "debate_formats": "digest", "debate_runs": "id", "debate_turns": "debate_id, seq",
        "debate_events": "debate_id, seq", "debate_actions": "debate_id, id",
        "debate_records": "path",
    }  # fmt: skip
    conn = sqlite3.connect(database)
    conn.row_factory = sqlite3.Row
    found = {
        table: [
            {
                key: row[key]
                for key in row.keys()  # noqa: SIM118  a Row iterates over its values
                if key not in BOOKKEEPING and not (key == "id" and "seq" in order)
            }
            for row in conn.execute(f"SELECT * FROM {table} ORDER BY {order}")
        ]
        for table, order in tables.items()
    }
    conn.close()
    return found


def run_reindex(settings: Settings) -> Reindexed:
    async def work() -> Reindexed:
        schema.prepare(settings.file)
        database = Database(settings.file)
        try:
            return await reindex(database, settings.home)
        finally:
            database.close()

    return asyncio.run(work())


@pytest.fixture
def own(held: tuple[Settings, dict[str, str]], tmp_path: Path) -> tuple[Settings, dict[str, str]]:
    """A home of one's own, with the same debates, and no database."""
    settings, ids = held
    shutil.copytree(settings.home / "records", tmp_path / "home" / "records")
    return a_home(tmp_path / "home"), ids


def test_an_empty_database_gets_the_same_rows(
    held: tuple[Settings, dict[str, str]], own: tuple[Settings, dict[str, str]]
) -> None:
    settings, ids = own
    done = run_reindex(settings)
    assert sorted(done.indexed) == sorted(ids.values())
    assert not done.skipped
    before, after = rows(held[0].file), rows(settings.file)
    for table in before:
        assert after[table] == before[table], table
    again = run_reindex(settings)
    assert (again.indexed, again.present, again.skipped) == ([], len(ids), {})
    for debate_id in ids.values():
        seen = examine(settings.home, settings.file, debate_id)
        assert (seen.indexed, seen.issues) == (True, ())


def test_a_reindexed_debate_can_be_read_and_followed(
    own: tuple[Settings, dict[str, str]],
) -> None:
    settings, ids = own
    run_reindex(settings)

    async def work() -> None:
        async with open_service(settings, speaker=council_speaker()) as service:
            for debate_id in ids.values():
                debate = await service.get(debate_id)
                seqs = [event.seq async for event in service.follow(debate_id)]  # type: ignore[union-attr]
                assert seqs == list(range(1, debate.last_seq + 1))
            found = await service.records("ship cap")
            assert [row["debate_id"] for row in found] == [ids["council"]]

    asyncio.run(work())


def test_a_reindexed_debate_is_listed_and_found(own: tuple[Settings, dict[str, str]]) -> None:
    settings, ids = own
    run_reindex(settings)
    with closing(connect(settings.file)) as driver:
        conn = Connection("sqlite", driver)
        for debate_id in ids.values():
            debate = runs.load(conn, debate_id)
            for search in (
                Search(),
                Search(words=f"{debate.motion} {debate.participants[0].name}"),
            ):
                assert debate in lists.find(conn, search).debates


def test_a_damaged_folder_is_reported_and_left_out_whole(
    own: tuple[Settings, dict[str, str]],
) -> None:
    settings, ids = own
    bad = settings.home / "records/debates" / ids["classic"] / "rounds/round-1.json"
    bad.write_bytes(bad.read_bytes()[:-3])
    (settings.home / "records/debates/lost+found").mkdir()
    done = run_reindex(settings)
    assert list(done.skipped) == [ids["classic"]]
    assert "rounds/round-1.json" in done.skipped[ids["classic"]][0]
    assert len(done.indexed) == len(ids) - 1
    there = rows(settings.file)
    for table in ("debate_turns", "debate_events"):
        assert ids["classic"] not in {row["debate_id"] for row in there[table]}


def test_rows_that_are_there_are_left_alone(own: tuple[Settings, dict[str, str]]) -> None:
    settings, ids = own
    run_reindex(settings)
    with sqlite3.connect(settings.file) as conn:
        conn.execute("UPDATE debate_turns SET text = 'mine' WHERE debate_id = ?", [ids["duel"]])
        conn.execute("UPDATE debate_actions SET status = 'done' WHERE id = 'A1'")
        conn.execute("DELETE FROM debate_actions WHERE id = 'A2'")
        conn.execute("DELETE FROM debate_runs WHERE id = ?", [ids["standard"]])
        conn.execute("DELETE FROM debate_records")
    conn.close()
    done = run_reindex(settings)
    assert sorted(done.indexed) == sorted([ids["standard"], ids["council"]])
    assert any("disagree on turn" in issue for issue in done.skipped[ids["duel"]])
    there = rows(settings.file)
    assert {row["text"] for row in there["debate_turns"] if row["debate_id"] == ids["duel"]} == {
        "mine"
    }
    statuses = {row["id"]: row["status"] for row in there["debate_actions"]}
    assert statuses == {"A1": "done", "A2": "open"}, "what was there stays, what lacked is added"
    assert len(there["debate_records"]) == 1


def test_turns_that_are_gone_come_back(own: tuple[Settings, dict[str, str]]) -> None:
    settings, ids = own
    run_reindex(settings)
    whole = rows(settings.file)["debate_turns"]
    with sqlite3.connect(settings.file) as conn:
        conn.execute("DELETE FROM debate_turns WHERE debate_id = ?", [ids["council"]])
    conn.close()
    assert run_reindex(settings).indexed == [ids["council"]]
    again = rows(settings.file)["debate_turns"]
    assert sorted(str(row) for row in again) == sorted(str(row) for row in whole)


# --- the command line and Python ---


def command(settings: Settings, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "MOOT_HOME": str(settings.home), "COLUMNS": "100", **env}
    return forked.moot(known, *words)


def test_the_commands(own: tuple[Settings, dict[str, str]]) -> None:
    settings, ids = own
    shown = command(settings, "replay", ids["council"])
    assert shown.returncode == 0, shown.stderr
    assert "All files are as they were written." in shown.stdout
    assert "took" in shown.stdout
    assert "Decided: Ship it" in shown.stdout
    assert not settings.file.exists()
    told = command(settings, "replay", ids["council"], "--json")
    parsed = json.loads(told.stdout)
    assert set(parsed) == {
        "request", "rounds", "consensus", "finalPacket", "verdict", "writebackRecord",
        "transcript", "consistency", "followups",
    }  # fmt: skip
    assert not settings.file.exists()
    assert parsed == moot.replay_debate_mode(ids["council"], settings=settings)
    indexed = command(settings, "reindex", "--json")
    assert indexed.returncode == 0, indexed.stderr
    assert sorted(json.loads(indexed.stdout)["indexed"]) == sorted(ids.values())
    found = command(settings, "records", "ship", "--json")
    assert [row["debate_id"] for row in json.loads(found.stdout)] == [ids["council"]]
    assert "Ship it" in command(settings, "records").stdout
    assert "No records match." in command(settings, "records", "zebra").stdout
    path = settings.home / "records/debates" / ids["duel"] / "transcript.md"
    path.write_text(path.read_text() + "\x1b[31mevil")
    wrong = command(settings, "replay", ids["duel"])
    assert wrong.returncode == 1
    assert "transcript.md: its SHA-256 is not the one in the manifest." in wrong.stdout
    assert command(settings, "reindex").returncode == 0, "what is made from the sources may differ"
    assert command(settings, "replay", "../../etc").returncode == 2
    assert command(settings, "replay", "debate_20261115_120000_aaaaaa").returncode == 2


def test_a_format_that_is_switched_off_is_off_in_replay_too(
    own: tuple[Settings, dict[str, str]],
) -> None:
    settings, ids = own
    before = {p: p.read_bytes() for p in settings.home.rglob("*") if p.is_file()}
    off = command(settings, "replay", ids["council"], MOOT_DISABLED_FORMATS="council")
    assert off.returncode == 2
    assert "switched off here" in off.stderr
    assert not off.stdout
    assert command(settings, "replay", ids["duel"], MOOT_DISABLED_FORMATS="council").returncode == 0
    without = settings.model_copy(update={"disabled_formats": ("council",)})
    with pytest.raises(NotFoundError, match="switched off here"):
        moot.replay_debate_mode(ids["council"], settings=without)
    with pytest.raises(NotFoundError, match="switched off here"):
        moot.run_debate_mode(COUNCIL, settings=without)
    after = {p: p.read_bytes() for p in settings.home.rglob("*") if p.is_file()}
    assert {p: d for p, d in after.items() if p in before} == before


def test_a_council_in_python(tmp_path: Path) -> None:
    settings = a_home(tmp_path / "home")
    ran = moot.run_debate_mode(
        {**COUNCIL, "participants": [{"role": "Clown"}]},
        settings=settings,
        speaker=council_speaker(),
    )
    assert ran["status"] == "completed"
    assert ran["warnings"][0].startswith("DEBATE_WARN_ROLE_IGNORED")
    replayed = moot.replay_debate_mode(ran["runId"], settings=settings)
    assert replayed["finalPacket"] == ran["packet"]
    assert replayed["consistency"] == {"filesComplete": True, "indexed": True, "issues": []}
    assert Path(ran["folder"], "final-packet.json").exists()
    assert codec.dumps(ran)
