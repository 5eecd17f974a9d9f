"""A debate from its files alone, with no database, whatever has happened to them.

Every file but the request, the transcript and the manifest follows from these three; of the
report, also from what a model wrote of the debate, which report.json holds. So a replay reads
those, makes all the others again, and compares byte by byte: an edit is found even if somebody
mended the manifest after it.
"""

import hashlib
import json
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from moot.core import followups, schedule
from moot.core.debate import HUMAN, PERSON, Debate, Turn
from moot.core.events import Event, StatusChanged
from moot.core.followups import Followup
from moot.core.format import MAX_JURORS, digest
from moot.core.ids import check_id
from moot.core.sources import Source
from moot.core.sources import digest as text_digest
from moot.core.status import FINAL, RUNNABLE
from moot.errors import PacketError
from moot.outcome import packet
from moot.outcome.result import result
from moot.render.layout import LAYOUT, LAYOUTS
from moot.render.reading import Read, Reading, of_report
from moot.store import files
from moot.store.files import FOLLOWUPS, MANIFEST, MAX_BYTES, REPORT, plain_bytes
from moot.wire import source_file
from moot.wire.codec import (
    adapter,
    followup,
    followups_file,
    read_debate,
    read_entry,
    read_followups,
    read_turn,
)
from moot.wire.outcome_shapes import Verdict

MAX_ENTRIES = 10_000
"""Files and folders below a debate's; a debate has 2,000 rounds at most."""
MAX_DEPTH = 60
MAX_LISTED = 20
"""So many differences of one file are listed; the others are counted."""
PLACE = "records/debates/"

_ROUND = re.compile(r"rounds/round-([0-9]{1,9})\.json")
_TEMPORARY = re.compile(r"(.*/)?\.[^/]*\.tmp")


@dataclass(frozen=True, slots=True)
class Replay:
    """What the files of a debate say, and what is wrong with them."""

    id: str
    found: bool  # whether there is a folder at all
    debate: Debate | None  # None if request.json and transcript.json do not give one
    turns: tuple[Turn, ...]
    events: tuple[Event, ...]
    documents: Mapping[str, Any]  # every JSON file that can be read, by its name in the folder
    record: Any  # what was written back, or None
    read: Read  # what a model wrote of it, as its report says
    complete: bool  # every file is there, can be read, and is as the manifest says
    issues: tuple[str, ...]
    followups: tuple[Followup, ...] = ()  # what was asked afterwards

    @property
    def rounds(self) -> list[Any]:
        numbers = {name: match for name in self.documents if (match := _ROUND.fullmatch(name))}
        return [self.documents[n] for n in sorted(numbers, key=lambda n: int(numbers[n][1]))]

    @property
    def formats(self) -> set[str]:
        """What the files say of which format it is: one name, unless somebody changed them."""
        request, whole = self.documents.get("request.json"), self.documents.get("transcript.json")
        said = [_at(request, "format"), _at(whole, "debate", "format")]
        return {name for name in said if isinstance(name, str)}


def read_folder(home: Path, debate_id: str) -> Replay:
    """Rebuild a debate from its files. Whatever they hold, this gives issues, not errors."""
    folder = _Folder(home, check_id(debate_id))
    with files.at_rest(folder.root):
        folder.read_all()
    folder.parse_all()
    folder.check_manifest()
    folder.rebuild()
    if folder.debate:
        with folder.noting("transcript.json", "the debate cannot be made again from it"):
            folder.check_log(folder.debate)
        with folder.noting("transcript.json", "the debate cannot be made again from it"):
            folder.check_files(folder.debate)
        with folder.noting("transcript.json", "its turns do not fit the format"):
            folder.debate = folder.placed(folder.debate)
    folder.check_packet()
    folder.check_verdict()
    asked = folder.check_followups()
    record = folder.check_record()
    return Replay(
        id=debate_id,
        found=folder.root.is_dir(),
        debate=folder.debate,
        turns=folder.turns,
        events=folder.events,
        documents=folder.documents,
        record=record,
        read=folder.read,
        complete=folder.complete,
        issues=tuple(dict.fromkeys(folder.issues)),
        followups=tuple(asked),
    )


class _Folder:
    """The files of a debate, while they are looked at."""

    def __init__(self, home: Path, debate_id: str) -> None:
        self.home, self.id = home, debate_id
        self.root = home / PLACE / debate_id
        self.issues: list[str] = []
        self.complete = True
        self.data: dict[str, bytes] = {}
        self.documents: dict[str, Any] = {}
        self.debate: Debate | None = None
        self.turns: tuple[Turn, ...] = ()
        self.events: tuple[Event, ...] = ()
        self.read: Read = None
        self.layout = LAYOUT

    def add(self, name: str, what: str) -> None:
        self.issues.append(f"{shown(name)}: {shown(what)}")

    def damage(self, name: str, what: str) -> None:
        self.complete = False
        self.add(name, what)

    @contextmanager
    def noting(self, name: str, what: str, *, damage: bool = False) -> Generator[None]:
        """Whatever hostile values make the code do becomes a finding."""
        try:
            yield
        except Exception as error:
            (self.damage if damage else self.add)(name, f"{what}: {why(error)}.")

    # --- what is there ---

    def read_all(self) -> None:
        """Every plain file below the folder, unless it holds more than a debate can. Names from a
        manifest never become paths."""
        place = f"{PLACE}{self.id}"
        if self.root.is_symlink():
            self.damage(place, "it is a link, which is not followed.")
            return
        if not self.root.is_dir():
            self.damage(place, "there is no such folder.")
        room, entries = MAX_BYTES, 0
        for at, below, names in os.walk(self.root, onerror=self._unreadable):
            inside = Path(at)
            entries += len(below) + len(names)
            if entries > MAX_ENTRIES:
                self.damage(place, "it holds more files than any debate has.")
                break
            links = [name for name in below if (inside / name).is_symlink()]
            for name in sorted([*names, *links]):
                path = (inside / name).relative_to(self.root).as_posix()
                if _TEMPORARY.fullmatch(path):
                    continue  # of a process that died half-way through a file
                with self.noting(path, "it cannot be read", damage=True):
                    self.data[path] = plain_bytes(inside / name, room)
                    room -= len(self.data[path])
            if not (names or below) and inside not in (self.root, self.root / "rounds"):
                self.add(
                    inside.relative_to(self.root).as_posix(),
                    "an empty folder that moot did not make.",
                )

    def _unreadable(self, error: OSError) -> None:
        self.damage(Path(str(error.filename)).name, f"it cannot be read: {why(error)}.")

    def parse_all(self) -> None:
        for name, content in self.data.items():
            if name.endswith(".json"):
                with self.noting(name, "it cannot be read", damage=True):
                    self.documents[name] = _object(_parse(content))

    def check_manifest(self) -> None:
        manifest, data = self.documents.get(MANIFEST), self.data
        if MANIFEST not in data:
            self.damage(MANIFEST, "it is missing.")
        if manifest is None:
            return
        if manifest.get("layout") in LAYOUTS:
            self.layout = manifest["layout"]
        hashes = manifest.get("files")
        if not isinstance(hashes, dict):
            self.damage(MANIFEST, "it lists no files.")
            return
        if manifest.get("layout") not in LAYOUTS:
            known = " or ".join(map(str, LAYOUTS))
            self.damage(MANIFEST, f"its layout is not {known}, which this moot knows.")
        elif files.as_json(manifest) != data[MANIFEST] or set(manifest) != files.MANIFEST_FIELDS:
            self.damage(MANIFEST, "it is not written as moot writes it.")
        if manifest.get("debate") != self.id:
            self.damage(MANIFEST, "it is the manifest of another debate.")
        hashes = cast(dict[str, Any], hashes)
        for path, sha in hashes.items():
            if path not in data:
                self.damage(path, "it is missing, and the manifest lists it.")
            elif hashlib.sha256(data[path]).hexdigest() != sha:
                self.damage(path, "its SHA-256 is not the one in the manifest.")
        for path in sorted(set(data) - set(hashes) - {MANIFEST, FOLLOWUPS}):
            self.add(path, "the manifest does not list it.")

    # --- what it says ---

    def rebuild(self) -> None:
        """The debate from the transcript and the request's rules."""
        self.read = of_report(self.documents.get("report.json"))
        missing = [n for n in ("request.json", "transcript.json") if n not in self.documents]
        for name in missing:
            self.damage(name, "without it the debate cannot be rebuilt.")
        whole: Any = self.documents.get("transcript.json")
        request: Any = self.documents.get("request.json")
        try:
            self.turns = tuple(read_turn(said) for said in _list(whole["turns"]))
            made = read_debate(whole["debate"], request["rules"], request.get("received"))
            made = self._with_texts(made)
            self.debate = made.but(files_seq=made.last_seq, wanted=_wanted(made))
            said = _list(whole["events"])
            self.events = tuple(read_entry(made.id, one) for one in said)
        except Exception as error:  # whatever hostile values make the validators do
            if not missing:
                self.add("transcript.json", f"it does not give a debate: {why(error)}.")
        if self.debate and self.debate.id != self.id:
            self.add("transcript.json", f"it is of {self.debate.id}, not of {self.id}.")
            self.debate = None

    def _with_texts(self, debate: Debate) -> Debate:
        """The debate with the texts of its sources, as their files have them."""
        read: list[Source] = []
        for one in debate.sources:
            name = source_file.name(one)
            with self.noting(name, "it does not give the text of a source", damage=True):
                if name in self.data:  # that it is missing is said with the other files
                    text = source_file.passages(self.data[name].decode("utf-8"))
                    if text_digest(text) != one.text_sha256:
                        self.damage(name, "its text is not the one that the debate read.")
                    one = replace(one, text=text)
            read.append(one)
        return debate.but(sources=tuple(read))

    def check_log(self, debate: Debate) -> None:
        """What the transcript says of the debate follows from its own turns and events."""

        def must(right: bool, what: str) -> None:
            if not right:
                self.add("transcript.json", what)

        turns, count = self.turns, debate.turn_count
        seqs = sorted(entry.seq for entry in (*turns, *self.events))
        whole = len(seqs) == debate.last_seq and seqs == list(range(1, len(seqs) + 1))
        must(whole, "its log has a gap, or an entry twice.")
        in_order = [turn.seq for turn in turns] == sorted(turn.seq for turn in turns)
        must(in_order, "its turns are not in the order of their seq.")
        numbers, counted = [turn.number for turn in turns], debate.rules.numbers_turns
        right = list(range(1, len(turns) + 1)) if counted else [turn.seq for turn in turns]
        must(numbers == right, "its turns are not numbered one after the other.")
        must(count == len(turns), f"it says {count} turns, and holds {len(turns)}.")
        jury = debate.jury.seats if debate.jury else ()
        names = {seat.id: seat.name for seat in (*debate.seats, *jury)}
        if debate.forked_from:  # another jury may have voted in the debate that it came from
            names = {f"juror-{n}": f"Juror {n}" for n in range(1, MAX_JURORS + 1)} | names
        for turn in turns:
            whose = turn.kind == "note" or names.get(turn.actor) == turn.name
            must(whose, f"turn {turn.number}: its actor is not {turn.name}.")
            told = (turn.instruction is not None) == (turn.kind == "cue")
            must(told, f"turn {turn.number}: cues have an instruction, and nothing else has.")
            failed = (turn.error_code is not None) == (turn.status == "failed")
            must(failed, f"turn {turn.number}: failed turns have an error code, and no other has.")
        spoken = [turn for turn in turns if turn.kind != "note"]
        place = (spoken[-1].round, spoken[-1].stage) if spoken else (None, None)
        must((debate.round, debate.stage) == place, "its round and stage are not its last turn's.")
        notes = [turn for turn in turns if turn.kind == "note"]
        by_people = all((turn.actor, turn.model) == (PERSON, HUMAN) for turn in notes)
        must(by_people, "a note is not a person's.")
        halted = debate.status in FINAL or debate.status == "paused"
        must(
            halted or (self.layout > 1 and debate.status in RUNNABLE),
            f"it says {debate.status}, but files are written of a debate that has begun.",
        )
        if said := [event for event in self.events if isinstance(event, StatusChanged)]:
            last = said[-1]
            since = sum(turn.seq > last.seq for turn in notes)
            same = (last.status, last.reason, last.total + since) == (
                debate.status, debate.stop_reason, debate.total
            )  # fmt: skip
            must(same, "its status is not what its last event says.")
        if debate.outcome:
            right = result(debate, turns).decision
            must(debate.outcome == right, "its outcome does not follow from its turns.")

    def check_files(self, debate: Debate) -> None:
        """Every file that follows from the transcript, made again and compared."""
        made = files.contents(debate, self.turns, self.events, self.read, self.layout)
        del made[MANIFEST]
        for name, right in made.items():
            if name not in self.data:
                self.damage(name, "it is missing.")
            else:
                self._compare(name, right, self.data[name], self._source(name, debate))
        manifest = self.documents.get(MANIFEST, {})
        said = manifest.get("lastSeq", debate.last_seq)
        if type(said) is not int or said != debate.last_seq:
            words = f"it says lastSeq {said!r}, and the transcript {debate.last_seq}."
            self.add(MANIFEST, words)
        for name in sorted(set(self.data) - {*made, *REPORT, MANIFEST, FOLLOWUPS}):
            self.add(name, "nothing in transcript.json asks for it.")

    def _source(self, name: str, debate: Debate) -> str:
        if name in REPORT and isinstance(self.read, Reading):
            return "transcript.json and the model's reading in report.json give"
        if name != "transcript.json":
            return "transcript.json gives"
        same = self.documents[name].get("rules") == digest(debate.rules)
        return "moot writes" if same else "request.json gives"

    def _compare(self, name: str, right: bytes, there: bytes, source: str) -> None:
        for what in _unlike(name, right, there, source) if right != there else ():
            self.add(name, what)

    def placed(self, debate: Debate) -> Debate:
        """The files name the wave that comes next; which of its steps are done, the turns say."""
        rebuilt, kept = schedule.rebuild(debate, self.turns), debate.cursor
        if replace(rebuilt, done=kept.done) == kept:
            debate = debate.but(cursor=rebuilt)
            return debate.but(waiting_for=schedule.awaited(debate))
        if debate.status not in FINAL:
            self.add("transcript.json", "its cursor does not follow from its turns.")
        return debate

    def check_packet(self) -> None:
        name = "final-packet.json"
        if name not in self.documents:
            return
        with self.noting(name, "the packet is not valid"):
            try:
                packet.validate(self.documents[name])
            except PacketError as error:
                self.add(name, error.message)

    def check_verdict(self) -> None:
        name = "verdict.json"
        if name in self.documents:
            with self.noting(name, "the verdict is not valid"):
                adapter(Verdict).validate_python(self.documents[name])

    def check_followups(self) -> list[Followup]:
        """What was asked afterwards: it stands beside the debate, and what it cites is there."""
        found: list[Followup] = []
        if FOLLOWUPS not in self.documents:
            return found
        with self.noting(FOLLOWUPS, "it does not give what was asked"):
            found = read_followups(self.id, self.documents[FOLLOWUPS])
            if files.as_json(followups_file(self.id, found)) != self.data[FOLLOWUPS]:
                self.add(FOLLOWUPS, "it is not written as moot writes it.")
            for one in found:
                if not (debate := self.debate):
                    break
                again = followups.checked(debate, self.turns, one.answer)
                if again.failed or again.verified != one.verified:
                    self.add(FOLLOWUPS, f"answer {one.number} does not cite what it says it does.")
        return found

    def check_record(self) -> Any:
        """What was written back, compared with what the turns give."""
        right: dict[str, bytes] = {}
        if self.debate:
            with self.noting("transcript.json", "the record cannot be made from it"):
                right = files.record(self.debate, self.turns, self.layout)
        refs = _at(self.documents.get("final-packet.json"), "trace", "evidenceRefs")
        refs = cast(list[Any], refs) if isinstance(refs, list) else []
        record = None
        for kind in ("decisions", "worklogs"):
            path = f"records/{kind}/{self.id}"
            named = f"writeback:{path}.json" in refs
            for name in (f"{path}.json", f"{path}.md"):
                expected = named or name in right
                there = self._record_file(name, expected)
                if there is None:
                    continue
                if self.debate and name not in right:
                    self.add(name, "no packet names this record.")
                self._compare(name, right.get(name, there), there, "transcript.json gives")
                if name.endswith(".json") and expected:
                    with self.noting(name, "it cannot be read", damage=True):
                        record = _object(_parse(there))
        return record

    def _record_file(self, name: str, expected: bool) -> bytes | None:
        try:
            return plain_bytes(self.home / name)
        except FileNotFoundError:
            if expected:
                self.damage(name, "it is missing.")
        except (OSError, ValueError) as error:
            self.damage(name, f"it cannot be read: {why(error)}.")
        return None


def _parse(content: bytes) -> Any:
    value = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        level = [part for item in level for part in _parts(item)]
    files.as_json(value)  # what cannot be written again, like half a surrogate pair, is damaged
    return value


def _parts(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(cast(dict[str, Any], item).values())
    return cast(list[Any], item) if isinstance(item, list) else []


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("what should be a list is not one")
    return cast(list[Any], value)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it does not hold an object")
    return cast(dict[str, Any], value)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    return value


def shown(text: str) -> str:
    """A name or a sentence as it may be printed: it can come from a hostile file."""
    return text[:400] if text.isprintable() else ascii(text[:400])


def why(error: BaseException) -> str:
    if isinstance(error, OSError):
        return error.strerror or "it is not readable"
    if isinstance(error, ValidationError):
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        return f"{where}: {problem['msg']}" if where else str(problem["msg"])
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing or unknown" if error.args else "a name is missing"
    return str(error) or type(error).__name__


def _wanted(debate: Debate) -> Literal["stop"] | None:
    """A stop that was accepted, and not obeyed yet when the files were written, still stands."""
    asked = debate.stop_requested_at is not None and debate.stop_reason is None
    return "stop" if asked and debate.status not in FINAL else None


def _unlike(name: str, right: bytes, there: bytes, source: str) -> Iterator[str]:
    """Where a file differs from what it should be."""
    if name.endswith(".json"):
        try:
            found = list(differences(json.loads(right), _parse(there)))
        except Exception:  # that it cannot be read is said already
            return
        for path in found[:MAX_LISTED]:
            yield f"{path or 'all of it'} is not what {source}."
        if len(found) > MAX_LISTED:
            yield f"{len(found) - MAX_LISTED} more places are not what {source}."
        if not found:
            yield "it says the same, but is not written as moot writes it."
        return
    ours, theirs = right.split(b"\n"), there.split(b"\n")
    pairs = zip(ours, theirs, strict=False)
    line = next((n for n, (a, b) in enumerate(pairs, start=1) if a != b), None)
    yield f"line {line or min(len(ours), len(theirs)) + 1} is not what {source}."


def differences(right: Any, there: Any, path: str = "") -> Iterator[str]:
    """The places at which two JSON values differ."""
    if isinstance(right, dict) and isinstance(there, dict):
        a, b = cast(dict[str, Any], right), cast(dict[str, Any], there)
        for key in [*a, *(key for key in b if key not in a)]:
            inner = f"{path}.{key}" if path else key
            if key in a and key in b:
                yield from differences(a[key], b[key], inner)
            else:
                yield inner
    elif isinstance(right, list) and isinstance(there, list):
        ours, theirs = cast(list[Any], right), cast(list[Any], there)
        if len(ours) != len(theirs):
            yield f"the length of {path or 'the list'} ({len(theirs)}, not {len(ours)})"
        for place, (a, b) in enumerate(zip(ours, theirs, strict=False)):
            yield from differences(a, b, f"{path}[{place}]")
    elif right != there or isinstance(right, bool) != isinstance(there, bool):
        yield path


def document(replay: Replay, indexed: bool, issues: Sequence[str]) -> dict[str, Any]:
    """The replay as one JSON document."""
    documents = replay.documents
    return {
        "request": documents.get("request.json"),
        "rounds": replay.rounds,
        "consensus": documents.get("consensus.json"),
        "finalPacket": documents.get("final-packet.json"),
        "verdict": documents.get("verdict.json"),
        "writebackRecord": replay.record,
        "transcript": documents.get("transcript.json"),
        "followups": [followup(one) for one in replay.followups],
        "consistency": {
            "filesComplete": replay.complete,
            "indexed": indexed,
            "issues": list(issues),
        },
    }
