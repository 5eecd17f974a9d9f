"""A debate from its files alone, with no database, whatever has happened to them.

Every file but the request, the transcript and the manifest follows from these three; of the
report, also from what a model wrote of the debate, which report.json holds. So a replay reads
those, makes all the others again, and compares byte by byte: an edit is found even where somebody
mended the manifest after it.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, ParamSpec, cast

from pydantic import ValidationError

from moot.core import schedule
from moot.core.debate import Debate, Turn
from moot.core.events import StatusChanged
from moot.core.format import digest
from moot.core.ids import check_id
from moot.core.status import FINAL, RUNNABLE
from moot.errors import PacketError
from moot.outcome import packet
from moot.outcome.result import result
from moot.render.reading import Read, Reading, of_report
from moot.store import files
from moot.wire.codec import read_debate, read_status, read_turn

MAX_BYTES = 256 * 1024 * 1024
"""No file of moot's comes near, nor do all files of a folder."""
MAX_ENTRIES = 10_000
"""Files and folders below a debate's; a debate has 2,000 rounds at most."""
MAX_DEPTH = 60
MAX_LISTED = 20
"""So many differences of one file are listed; the others are counted."""

REPORT = frozenset(files.REPORT)
"""Known by the manifest alone, where `files.contents` does not make them."""

PLACE = "records/debates/"

P = ParamSpec("P")
_RECORD = re.compile(r"writeback:(records/(?:decisions|worklogs)/(debate_[0-9a-z_]+)\.json)")
_ROUND = re.compile(r"rounds/round-([0-9]{1,9})\.json")
_TEMPORARY = re.compile(r"(.*/)?\.[^/]*\.tmp")


@dataclass(frozen=True, slots=True)
class Replay:
    """What the files of a debate say, and what is wrong with them."""

    id: str
    found: bool  # whether there is a folder at all
    debate: Debate | None  # None where request.json and transcript.json do not give one
    turns: tuple[Turn, ...]
    events: tuple[StatusChanged, ...]
    documents: Mapping[str, Any]  # every JSON file that can be read, by its name in the folder
    record: Any  # what was written back, or None
    read: Read  # what a model wrote of it, as its report says
    complete: bool  # every file is there, can be read, and is as the manifest says
    issues: tuple[str, ...]

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


class _Findings:
    def __init__(self) -> None:
        self.issues: list[str] = []
        self.complete = True

    def add(self, name: str, what: str) -> None:
        self.issues.append(f"{shown(name)}: {shown(what)}")

    def damage(self, name: str, what: str) -> None:
        self.complete = False
        self.add(name, what)


def shown(text: str) -> str:
    """A name or a sentence as it may be printed: it can come from a hostile file."""
    return text[:400] if text.isprintable() else ascii(text[:400])


# --- from the files ---


def read_folder(home: Path, debate_id: str) -> Replay:
    """Rebuild a debate from its files. Whatever they hold, this gives issues, not errors."""
    root = home / PLACE / check_id(debate_id)
    findings = _Findings()
    if root.is_symlink():
        findings.damage(f"{PLACE}{debate_id}", "it is a link, which is not followed.")
    elif not root.is_dir():
        findings.damage(f"{PLACE}{debate_id}", "there is no such folder.")
    with files.at_rest(root):
        data = {} if root.is_symlink() else _read_all(root, findings)
    documents = _parse_all(data, findings)
    _check_manifest(debate_id, data, documents.get("manifest.json"), findings)
    debate, turns, events = _rebuild(documents, findings)
    read = of_report(documents.get("report.json"))
    if debate and debate.id != debate_id:
        findings.add("transcript.json", f"it is of {debate.id}, not of {debate_id}.")
        debate = None
    layout = _at(documents.get("manifest.json"), "layout")
    layout = layout if layout in files.LAYOUTS else files.LAYOUT
    if debate:
        _attempt(findings, _follows, debate, turns, events, layout, findings)
        _attempt(findings, _made_again, debate, turns, events, read, layout, data, findings)
        debate = _cursor(debate, turns, findings)
    _check_packet(documents, findings)
    record = _check_record(home, debate_id, debate, turns, documents, findings)
    return Replay(
        id=debate_id,
        found=root.is_dir(),
        debate=debate,
        turns=turns,
        events=events,
        documents=documents,
        record=record,
        read=read,
        complete=findings.complete,
        issues=tuple(dict.fromkeys(findings.issues)),
    )


def _read_all(root: Path, findings: _Findings) -> dict[str, bytes]:
    """Every plain file below the folder, unless it holds more than a debate can. Names from a
    manifest never become paths."""
    data: dict[str, bytes] = {}
    room, entries = MAX_BYTES, 0
    for place, below, names in os.walk(root, onerror=lambda error: _unreadable(error, findings)):
        inside = Path(place)
        entries += len(below) + len(names)
        if entries > MAX_ENTRIES:
            findings.damage(f"{PLACE}{root.name}", "it holds more files than any debate has.")
            break
        links = [name for name in below if (inside / name).is_symlink()]
        for name in sorted([*names, *links]):
            path = (inside / name).relative_to(root).as_posix()
            if _TEMPORARY.fullmatch(path):
                continue  # of a process that died half-way through a file
            try:
                data[path] = _bytes(inside / name, room)
                room -= len(data[path])
            except (OSError, ValueError) as error:
                findings.damage(path, f"it cannot be read: {why(error)}.")
        rest = [name for name in below if name not in links]
        if not (names or links or rest) and inside not in (root, root / "rounds"):
            findings.add(inside.relative_to(root).as_posix(), "an empty folder that is not ours.")
    return data


def _unreadable(error: OSError, findings: _Findings) -> None:
    findings.damage(Path(str(error.filename)).name, f"it cannot be read: {why(error)}.")


def _bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """A plain file's content; no link is followed, and no pipe waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("it is no plain file")
        if info.st_size > most:
            what = "it is" if info.st_size > MAX_BYTES else "with it the folder is"
            raise ValueError(f"{what} larger than any of moot's")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


def _parse_all(data: Mapping[str, bytes], findings: _Findings) -> dict[str, Any]:
    documents: dict[str, Any] = {}
    for name, content in data.items():
        if name.endswith(".json"):
            try:
                documents[name] = _object(_parse(content))
            except Exception as error:  # whatever a hostile file makes the parser do
                findings.damage(name, f"it cannot be read: {why(error)}.")
    return documents


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


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("what should be a list is none")
    return cast(list[Any], value)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it holds no object")
    return cast(dict[str, Any], value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _parts(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(cast(dict[str, Any], item).values())
    return cast(list[Any], item) if isinstance(item, list) else []


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


def _attempt(findings: _Findings, check: Callable[P, None], *on: P.args, **at: P.kwargs) -> None:
    """Run a check on values that may be of any kind."""
    try:
        check(*on, **at)
    except Exception as error:  # whatever hostile values make the core do
        findings.add("transcript.json", f"the debate cannot be made again from it: {why(error)}.")


def _check_manifest(
    debate_id: str, data: Mapping[str, bytes], manifest: Any, findings: _Findings
) -> None:
    name = "manifest.json"
    if name not in data:
        findings.damage(name, "it is missing.")
    listed = _at(manifest, "files")
    if manifest is None:
        return
    if not isinstance(listed, dict):
        findings.damage(name, "it lists no files.")
        return
    if manifest.get("layout") not in files.LAYOUTS:
        known = " or ".join(map(str, files.LAYOUTS))
        findings.damage(name, f"its layout is not {known}, which this moot knows.")
    elif files.as_json(manifest) != data[name] or set(manifest) != files.MANIFEST_FIELDS:
        findings.damage(name, "it is not written as moot writes it.")
    if manifest.get("debate") != debate_id:
        findings.damage(name, "it is the manifest of another debate.")
    hashes = cast(dict[str, Any], listed)
    for path in hashes:
        if path not in data:
            findings.damage(path, "it is missing, and the manifest lists it.")
        elif hashlib.sha256(data[path]).hexdigest() != hashes[path]:
            findings.damage(path, "its SHA-256 is not the one in the manifest.")
    for path in sorted(set(data) - set(hashes) - {name}):
        findings.add(path, "the manifest does not list it.")


# --- what the files say ---


def _rebuild(
    documents: Mapping[str, Any], findings: _Findings
) -> tuple[Debate | None, tuple[Turn, ...], tuple[StatusChanged, ...]]:
    """The debate from the transcript and the request's rules."""
    for name in ("request.json", "transcript.json"):
        if name not in documents:
            findings.damage(name, "without it the debate cannot be rebuilt.")
    request: Any = documents.get("request.json")
    whole: Any = documents.get("transcript.json")
    turns: tuple[Turn, ...] = ()
    events: tuple[StatusChanged, ...] = ()
    debate: Debate | None = None
    try:
        turns = tuple(read_turn(said) for said in _list(whole["turns"]))
        made = read_debate(whole["debate"], request["rules"], request.get("received"))
        debate = made.but(files_seq=made.last_seq, wanted=_wanted(made))
        said = _list(whole["events"])
        events = tuple(read_status(debate.id, one["seq"], one) for one in said)
    except Exception as error:  # whatever hostile values make the validators do
        if whole is not None and request is not None:
            findings.add("transcript.json", f"it does not give a debate: {why(error)}.")
    return debate, turns, events


def _wanted(debate: Debate) -> Literal["stop"] | None:
    """A stop that was accepted, and not obeyed yet when the files were written, still stands."""
    asked = debate.stop_requested_at is not None and debate.stop_reason is None
    return "stop" if asked and debate.status not in FINAL else None


def _follows(
    debate: Debate,
    turns: Sequence[Turn],
    events: Sequence[StatusChanged],
    layout: int,
    findings: _Findings,
) -> None:
    """What the transcript says of the debate follows from its own turns and events."""

    def must(right: bool, what: str) -> None:
        if not right:
            findings.add("transcript.json", what)

    seqs = sorted([turn.seq for turn in turns] + [event.seq for event in events])
    whole = len(seqs) == debate.last_seq and seqs == list(range(1, len(seqs) + 1))
    must(whole, "its log has a gap, or an entry twice.")
    in_order = [turn.seq for turn in turns] == sorted(turn.seq for turn in turns)
    must(in_order, "its turns are not in the order of their seq.")
    must(
        debate.turn_count == len(turns),
        f"it says {debate.turn_count} turns, and holds {len(turns)}.",
    )
    names = {seat.id: seat.name for seat in debate.seats}
    for turn in turns:
        whose = turn.kind == "note" or names.get(turn.actor) == turn.name
        must(whose, f"turn {turn.seq}: its actor is not {turn.name}.")
        told = (turn.instruction is not None) == (turn.kind == "cue")
        must(told, f"turn {turn.seq}: cues have an instruction, and nothing else has.")
        failed = (turn.error_code is not None) == (turn.status == "failed")
        must(failed, f"turn {turn.seq}: failed turns have an error code, and no other has.")
    place = (turns[-1].round, turns[-1].stage) if turns else (None, None)
    must((debate.round, debate.stage) == place, "its round and stage are not its last turn's.")
    halted = debate.status in FINAL or debate.status == "paused"
    must(
        halted or (layout > 1 and debate.status in RUNNABLE),
        f"it says {debate.status}, but files are written of a debate that has begun.",
    )
    if events:
        last = events[-1]
        must(
            (last.status, last.reason, last.total)
            == (debate.status, debate.stop_reason, debate.total),
            "its status is not what its last event says.",
        )
    if debate.outcome:
        right = result(debate, turns).decision
        must(debate.outcome == right, "its outcome does not follow from its turns.")


def _made_again(
    debate: Debate,
    turns: Sequence[Turn],
    events: Sequence[StatusChanged],
    read: Read,
    layout: int,
    data: Mapping[str, bytes],
    findings: _Findings,
) -> None:
    """Every file that follows from the transcript, made again and compared."""
    made = files.contents(debate, turns, events, read, layout)
    for name, right in made.items():
        if name == "manifest.json":
            _last_seq(right, data.get(name), findings)
        elif name not in data:
            findings.damage(name, "it is missing.")
        elif data[name] != right:
            for what in _unlike(name, right, data[name], _source(name, debate, data, read)):
                findings.add(name, what)
    for name in sorted(set(data) - set(made) - REPORT):
        findings.add(name, "nothing in transcript.json asks for it.")


def _last_seq(right: bytes, there: bytes | None, findings: _Findings) -> None:
    try:
        said, is_ = _parse(there or b"")["lastSeq"], _parse(right)["lastSeq"]
    except (ValueError, KeyError, TypeError):
        return  # said already
    if type(said) is not int or said != is_:
        findings.add("manifest.json", f"it says lastSeq {said!r}, and the transcript {is_}.")


def _source(name: str, debate: Debate, data: Mapping[str, bytes], read: Read) -> str:
    if name in REPORT and isinstance(read, Reading):
        return "transcript.json and the model's reading in report.json give"
    if name != "transcript.json":
        return "transcript.json gives"
    whole = json.loads(data[name])
    if whole.get("rules") != digest(debate.rules):
        return "request.json gives"
    return "moot writes"


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


def _cursor(debate: Debate, turns: Sequence[Turn], findings: _Findings) -> Debate:
    """The files name the wave that comes next; which of its steps are done, the turns say."""
    try:
        rebuilt = schedule.rebuild(debate, turns)
    except Exception as error:  # whatever hostile values make the scheduler do
        findings.add("transcript.json", f"its turns do not fit the format: {why(error)}.")
        return debate
    kept = debate.cursor
    same = (rebuilt.next_round, rebuilt.next_stage, rebuilt.next_actor, rebuilt.next_target) == (
        kept.next_round, kept.next_stage, kept.next_actor, kept.next_target,
    )  # fmt: skip
    if not same and debate.status not in FINAL:
        findings.add("transcript.json", "its cursor does not follow from its turns.")
    return debate.but(cursor=rebuilt) if same else debate


def _check_packet(documents: Mapping[str, Any], findings: _Findings) -> None:
    name = "final-packet.json"
    if name not in documents:
        return
    try:
        packet.validate(documents[name])
    except PacketError as error:
        findings.add(name, error.message)
    except Exception as error:  # whatever hostile values make the validators do
        findings.add(name, f"the packet is not valid: {why(error)}.")


def _check_record(
    home: Path,
    debate_id: str,
    debate: Debate | None,
    turns: Sequence[Turn],
    documents: Mapping[str, Any],
    findings: _Findings,
) -> Any:
    """What was written back, compared with what the turns give."""
    right: dict[str, bytes] = {}
    if debate:
        try:
            right = files.record(debate, turns)
        except Exception as error:  # whatever hostile values make the core do
            findings.add("transcript.json", f"the record cannot be made from it: {why(error)}.")
    named = _written_back(debate_id, documents)
    expected = {*right, *([named, named.removesuffix(".json") + ".md"] if named else [])}
    record = None
    for kind in ("decisions", "worklogs"):
        for suffix in (".json", ".md"):
            name = f"records/{kind}/{debate_id}{suffix}"
            there = _record_file(home / name, name, name in expected, findings)
            if there is None:
                continue
            if debate and name not in right:
                findings.add(name, "no packet names this record.")
            for what in (
                _unlike(name, right[name], there, "transcript.json gives")
                if (right.get(name, there) != there)
                else ()
            ):
                findings.add(name, what)
            if suffix == ".json" and name in expected:
                record = _parse_all({name: there}, findings).get(name)
    return record


def _record_file(path: Path, name: str, expected: bool, findings: _Findings) -> bytes | None:
    try:
        return _bytes(path)
    except FileNotFoundError:
        if expected:
            findings.damage(name, "it is missing.")
    except (OSError, ValueError) as error:
        findings.damage(name, f"it cannot be read: {why(error)}.")
    return None


def _written_back(debate_id: str, documents: Mapping[str, Any]) -> str | None:
    """The record that the packet names, if it is a record of this debate."""
    refs = _at(documents.get("final-packet.json"), "trace", "evidenceRefs")
    for ref in cast(list[Any], refs) if isinstance(refs, list) else []:
        match = _RECORD.fullmatch(ref) if isinstance(ref, str) else None
        if match and match[2] == debate_id:
            return match[1]
    return None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    return value


def document(replay: Replay, indexed: bool, issues: Sequence[str]) -> dict[str, Any]:
    """The replay as one JSON document."""
    documents = replay.documents
    return {
        "request": documents.get("request.json"),
        "rounds": replay.rounds,
        "consensus": documents.get("consensus.json"),
        "finalPacket": documents.get("final-packet.json"),
        "writebackRecord": replay.record,
        "transcript": documents.get("transcript.json"),
        "consistency": {
            "filesComplete": replay.complete,
            "indexed": indexed,
            "issues": list(issues),
        },
    }
