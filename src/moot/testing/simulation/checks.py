"""The rules of the contract, looked at after every commit, call, announcement and filing."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moot.core import depth, schedule
from moot.core.debate import HUMAN, Cursor, StepKey
from moot.core.events import Event, TurnCommitted
from moot.errors import MootError
from moot.ports.model_call import Call
from moot.store import log, reindex, runs
from moot.store.files import Folder
from moot.testing.simulation.records import transcript

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process
    from moot.testing.simulation.world import World

NEXT = {
    "scheduled": {"queued", "stopped"},
    "queued": {"running", "stopped"},
    "running": {"paused", "ending", "completed", "stopped", "failed"},
    "paused": {"running", "ending", "stopped"},
    "ending": {"completed", "failed", "stopped"},
}
"""As the contract has it, and not as the code does."""
FINAL = {"completed", "stopped", "failed"}
REST = FINAL | {"paused"}
END_SECONDS = 1.0
EXAMINED = 0.2
"""Of the debates that ended, so many are replayed byte by byte: it takes longest of all checks."""
NUMBERED = "turns are numbered 1, 2, 3 … for every reader"
COLUMNS = (
    "id", "status", "wanted", "last_seq", "turns", "fence", "lease_owner", "lease_until",
    "open_calls", "input_tokens", "output_tokens", "cost_usd", "calls", "files_seq", "limits",
    "stop_reason", "failure", "started_at", "ended_at", "not_before", "next_round", "next_stage",
    "next_actor", "next_target", "wave_done", "waiting_for", "forked_from",
)  # fmt: skip
ROWS = f"SELECT {', '.join(COLUMNS)} FROM debate_runs ORDER BY number"  # noqa: S608  of our own names
ROWS_OF = [
    f"SELECT 1 FROM debate_{table} WHERE debate_id = ?"  # noqa: S608  of our own names
    for table in ("turns", "events", "attempts")
]
ATTEMPTS = (
    "SELECT n, round, actor, target, outcome, owner, input_tokens, output_tokens, cost_usd, fence"
    " FROM debate_attempts WHERE debate_id = ? ORDER BY n"
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that did not hold."""

    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


@dataclass
class Noted:
    """One model call, as the models saw it."""

    checks: "Checks"
    process: "Process"
    debate_id: str
    key: StepKey
    order: int  # among all commits and calls
    n: int | None = None  # of its attempt
    outcome: str | None = None
    ended: float | None = None

    def end(self, outcome: str) -> None:
        self.outcome, self.ended = outcome, self.checks.world.loop.time()
        self.checks.call_ended(self)


@dataclass
class Known:
    """What is known of a debate from the commits so far."""

    row: dict[str, Any]
    attempts: int = 0
    unlisted: tuple[int, int, int] = (0, 0, 0)  # tokens and calls of attempts that files lack
    unsure: bool = False  # a call was thought lost, and may be counted late
    spoken: set[StepKey] = field(default_factory=set[StepKey])
    filed: list[Any] = field(default_factory=list[Any])
    ended: tuple[str | None, str | None] = (None, None)  # as the files first told it
    examined: dict[str, Any] | None = None  # the row when its files were last compared with it
    shared: int = 0  # turns that it has from another debate


class Checks:
    """What holds, whatever happens. The first rule that is broken ends the schedule."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.ask = world.backend.ask
        self.broken: Broken | None = None
        self.calls: list[Noted] = []
        self.stopping: dict[str, float] = {}  # a stop was accepted
        self.ending: dict[str, tuple[int, float]] = {}  # an end was accepted: its order, and when
        self._order = 0
        self.made: set[str] = set()  # accepted
        self.deletable: set[str] = set()  # somebody asked to delete them
        self._gone: set[str] = set()  # deleted
        self._said: set[tuple[str, str]] = set()  # what people said, and was accepted
        self.torn: set[str] = set()  # folders with a damaged file
        self.damaged: set[str] = set()  # rows whose cursor was set back
        self.commits = 0
        self.paused = False
        self._known: dict[str, Known] = {}
        self._aired: dict[str, float] = {}

    def fail(self, rule: str, detail: str) -> None:
        if self.broken is None:
            self.broken = Broken(rule, detail)
            self.world.loop.halted = True
            self.world.note(f"BROKEN {self.broken}")

    def hold(self, holds: bool, rule: str, detail: str) -> None:
        if not holds:
            self.fail(rule, detail)

    def said(self, debate_id: str, text: str) -> None:
        """A person's words were accepted: they stand there, once."""
        self._said.add((debate_id, text))

    # --- after each commit ---

    def rows(self) -> list[dict[str, Any]]:
        return [dict(zip(COLUMNS, row, strict=True)) for row in self.ask(ROWS)]

    def committed(self, writer: str) -> None:
        self.commits += 1
        self._order += 1
        if self.paused:
            return
        rows = self.rows()
        self._lose({*self._known} - {row["id"] for row in rows})
        for row in rows:
            known = self._known.get(row["id"])
            if known is None:
                known = self._known[row["id"]] = self._first(row)
            elif known.row == row:
                continue
            self._compare(known, row, writer)
            known.row = row
            self.world.faults.tempt(row)
        if self.world.plan.station:
            self._stations()

    def _first(self, row: dict[str, Any]) -> Known:
        """A new debate. One that goes on from another begins with its turns."""
        name = row["id"]
        self.hold(name not in self._gone, "what was deleted stays so", name)
        first = {**row, "status": "scheduled", "last_seq": 0, "turns": 0, "wanted": None}
        known = Known({**first, "lease_owner": None, "fence": 0})
        if not row["forked_from"]:
            return known
        origin = json.loads(row["forked_from"])
        there = self._shared(name, origin["seq"])
        if origin["id"] not in self._gone:  # it may be deleted while it is forked
            same = self._shared(origin["id"], origin["seq"]) == there
            self.hold(same, "a fork begins as its origin does", f"{name} of {origin}")
        known.spoken = {_key(*one[:5]) for one in there}
        known.shared = len(there)
        known.row |= {"turns": len(there), "last_seq": origin["seq"]}
        return known

    def _shared(self, name: str, seq: int) -> list[Any]:
        return self.ask(
            "SELECT round, actor, target, kind, seq, number, name, stage, text, data, status,"
            " model, started_at, committed_at FROM debate_turns WHERE debate_id = ? AND seq <= ?"
            " ORDER BY seq",
            name, seq,
        )  # fmt: skip

    def _lose(self, names: set[str]) -> None:
        """Rows that are gone: somebody asked for it, and nothing of them is left."""
        for name in sorted(names):
            self.hold(name in self.deletable, "nothing is lost", name)
            status = self._known.pop(name).row["status"]
            self.hold(status in REST, "what goes on is not deleted", f"{name} was {status}")
            self._gone.add(name)
            self.made.discard(name)
            self.calls = [one for one in self.calls if one.debate_id != name]
            for query in ROWS_OF:
                self.hold(not self.ask(query, name), "a deletion is whole", f"{name}: {query}")
            self.world.people.lose(name)

    def _compare(self, known: Known, row: dict[str, Any], writer: str) -> None:
        before, name = known.row, row["id"]
        self.world.note(
            f"{name[-6:]} {row['status']} seq {row['last_seq']} fence {row['fence']} "
            f"{row['lease_owner']} open {row['open_calls']} wants {row['wanted']}"
        )
        self.hold(row["fence"] >= before["fence"], "the fence only grows", name)
        if row["status"] == "ending" != before["status"] and row["stop_reason"] == "ended_by_user":
            self.ending[name] = self._order, self.world.loop.time()
        self._check_lease(before, row, writer)
        self._check_log(before, row)
        self._check_turns(known, row, writer)
        self._check_attempts(known, row)
        if row["status"] == "ending" and name not in self.damaged:
            self._check_cursor(name)
        if row["waiting_for"]:
            idle = row["lease_owner"] is None and not row["open_calls"]
            self.hold(idle, "a seat waits without cost", f"{name}: {row['lease_owner']}")
        failed = json.loads(row["failure"])["actor"] if row["failure"] else ""
        self.hold(not failed.startswith("juror"), "a juror pauses no debate", f"{name}: {failed}")
        most = json.loads(row["limits"]).get("max_total_tokens")
        if most and not known.unsure:  # what a lost worker spent is known only later
            used = row["input_tokens"] + row["output_tokens"]
            self.hold(used <= most, "a budget holds", f"{name} used {used} of {most} tokens")

    def _check_lease(self, before: dict[str, Any], row: dict[str, Any], writer: str) -> None:
        owner, now = before["lease_owner"], row["lease_owner"]
        let_go = owner is not None and now is None and row["fence"] == before["fence"]
        self.hold(
            not let_go or owner == writer, "only who has a debate lets it go",
            f"{row['id']}: {writer} let it go for {owner}",
        )  # fmt: skip
        if now in (None, owner):
            return
        self._check_claim(before, row)
        live = owner and before["lease_until"] > self.world.wall() and self.world.lives(owner)
        self.hold(not live, "a live lease is not taken", f"{row['id']} of {owner}")

    def _check_claim(self, before: dict[str, Any], row: dict[str, Any]) -> None:
        """A claim comes when it is time, and for the place that the message named."""
        name = row["id"]
        early = before.get("not_before", 0.0) > self.world.wall()
        self.hold(not early, "a debate waits to try again", name)
        claimer = next(one for one in self.world.past if one.name == row["lease_owner"])
        if self.world.plan.shape == "cluster" and before["last_seq"]:
            place = place_of(before)
            named = claimer.sent.get(name, [])
            self.hold(place in named, "a message is for one place", f"{name} {place} {named}")

    def _check_log(self, before: dict[str, Any], row: dict[str, Any]) -> None:
        name, status = row["id"], before["status"]
        found = self.ask(
            "SELECT seq, type, data FROM debate_events WHERE debate_id = ? AND seq > ?"
            " ORDER BY seq",
            name, before["last_seq"],
        )  # fmt: skip
        expected = list(range(before["last_seq"] + 1, row["last_seq"] + 1))
        self.hold([seq for seq, _, _ in found] == expected, "seq has no gaps", name)
        if found:
            self.hold(status not in FINAL, "what has ended stays as it is", f"{name} was {status}")
        for _, kind, data in found:
            if kind == "status":
                after = json.loads(data)["status"]
                legal = after == status or after in NEXT.get(status, ())
                self.hold(legal, "only the contract's transitions", f"{name}: {status} to {after}")
                status = after
        self.hold(status == row["status"], "the log tells the status", f"{name}: {status}")

    def _check_turns(self, known: Known, row: dict[str, Any], writer: str) -> None:
        name, before = row["id"], known.row["last_seq"]
        if row["turns"] == known.row["turns"]:
            return
        found = self.ask(
            "SELECT round, actor, target, kind, status, model, seq FROM debate_turns"
            " WHERE debate_id = ? AND seq > ?",
            name, before,
        )  # fmt: skip
        alone = row["last_seq"] == before + len(found) and name not in self.damaged
        if alone and all(one[3] == "note" for one in found):
            same = place_of(row) == place_of(known.row)
            self.hold(same, "a note does not move the cursor", name)
        for number, actor, target, kind, status, model, seq in found:
            owner = known.row["lease_owner"]  # a person may speak, or skip a turn
            theirs = status == "failed" or owner == writer or model == HUMAN
            self.hold(theirs, "only who has a debate speaks in it", f"{writer} for {owner}")
            key = _key(number, actor, target, kind, seq)
            self.hold(key not in known.spoken, "a turn is spoken once", f"{name} {key}")
            known.spoken.add(key)
        self.hold(len(known.spoken) == row["turns"], "turns are counted", name)
        numbers = self.ask("SELECT number FROM debate_turns WHERE debate_id = ? ORDER BY seq", name)
        in_order = [one for (one,) in numbers] == list(range(1, len(numbers) + 1))
        self.hold(in_order, NUMBERED, f"{name}: {numbers}")
        if row["status"] == "running":
            self._check_cursor(name)

    def _check_cursor(self, name: str) -> None:
        ask = self.world.backend.read
        debate = ask(lambda conn: runs.load(conn, name))
        rebuilt = schedule.rebuild(debate, ask(lambda conn: log.turns_after(conn, name, 0)))
        self.hold(rebuilt == debate.cursor, "the cursor follows from the turns", name)

    def _check_attempts(self, known: Known, row: dict[str, Any]) -> None:
        name, before = row["id"], known.row
        found = self.ask(ATTEMPTS, name)
        new, known.attempts = found[known.attempts :], len(found)
        known.unsure = known.unsure or any(one[4] == "unknown" for one in found)
        open_ = Counter((one[1], one[2], one[3]) for one in found if one[4] == "started")
        self.hold(
            all(n == 1 for n in open_.values()), "a step has one call at a time", f"{name} {open_}"
        )
        if row["status"] in FINAL:
            self.hold(not open_, "no call stays open", f"{name} is {row['status']}, open {open_}")
        if new:
            self._check_new(known, row, new)
        unlisted = _unlisted(row, found)
        self.hold(unlisted == known.unlisted, "every call is counted", f"{name}: {unlisted}")
        if row["status"] != before["status"] and row["status"] == "stopped":
            self.stopping.setdefault(name, self.world.loop.time())

    def _check_new(self, known: Known, row: dict[str, Any], new: list[Any]) -> None:
        name, before = row["id"], known.row
        if before["wanted"] and before["wanted"] == row["wanted"]:
            self.fail(f"no call after a {before['wanted']}", f"{name} began {new}")
        idle = before["status"] in REST and row["status"] in REST
        self.hold(not idle, "no call while it rests", f"{name} is {row['status']}")
        if self.world.restored and name not in self.torn | self.damaged:
            filed = len(self._transcript(name).get("turns", ()))
            self.hold(
                filed <= row["turns"], "no call while files are ahead", f"{name}: {filed} filed"
            )

    def _stations(self) -> None:
        found = self.ask(
            "SELECT c.station_id, c.debate_id, c.aired_at, r.status FROM debate_conversations c"
            " JOIN debate_runs r ON r.id = c.debate_id WHERE c.aired_at IS NOT NULL"
        )
        on_air = Counter(station for station, _, _, status in found if status not in FINAL)
        for station, count in on_air.items():
            self.hold(count == 1, "a station airs one at a time", f"{station} airs {count}")
        for _, debate_id, at, _ in found:
            known = self._aired.setdefault(debate_id, at)
            self.hold(known == at, "a conversation is started once", debate_id)

    # --- calls, announcements, files ---

    def called(self, process: "Process", call: Call) -> Noted:
        key = (call.step.round, call.step.actor, call.step.target)
        self._order += 1
        noted = Noted(self, process, call.debate.id, key, self._order)
        self.world.note(f"{process.name} calls {call.debate.id[-6:]} {key}")
        if call.debate.status in FINAL:
            self.world.count("report called for")
            return noted
        self.calls.append(noted)
        made = {one.n for one in self.calls if one.debate_id == noted.debate_id}
        on_record = self.ask(
            "SELECT n FROM debate_attempts WHERE debate_id = ? AND round = ? AND actor = ?"
            " AND target IS ? AND owner = ? ORDER BY n DESC",
            noted.debate_id, *key, process.name,
        )  # fmt: skip
        noted.n = next((n for (n,) in on_record if n not in made), None)
        known = self._known.get(noted.debate_id)
        if known is None:
            self.fail("no call for what was deleted", f"{call.debate.id} {key}")
            return noted
        again = key in known.spoken and known.row["lease_owner"] == process.name
        self.hold(not again, "what was said is not paid for again", f"{call.debate.id} {key}")
        self.hold(
            noted.n is not None, "a call is on record before it is made", f"{call.debate.id} {key}"
        )
        return noted

    def call_ended(self, noted: Noted) -> None:
        order, ended = self.ending.get(noted.debate_id, (0, 0.0))
        if noted.order > order or noted.ended is None:
            return
        late = noted.ended - ended > END_SECONDS + 0.001
        excused = self.world.troubled(noted.process, ended, noted.ended)
        self.hold(
            not late or excused, "end calls off within a second",
            f"{noted.debate_id} {noted.key} {noted.outcome} {noted.ended - ended:.2f} s later",
        )  # fmt: skip

    def is_wanted(self, debate_id: str) -> bool:
        """Whether somebody waits for the debate to halt."""
        known = self._known.get(debate_id)
        return bool(known and known.row["wanted"])

    def announced(self, event: Event) -> None:
        if event.debate_id in self._gone:
            return  # it was deleted before the reply to its commit came
        found = self.ask(
            "SELECT t.number, t.text FROM debate_events e LEFT JOIN debate_turns t"
            " ON t.debate_id = e.debate_id AND t.seq = e.seq WHERE e.debate_id = ? AND e.seq = ?",
            event.debate_id, event.seq,
        )  # fmt: skip
        turn = event.turn if isinstance(event, TurnCommitted) else None
        there = [*found] == [(turn.number, turn.text) if turn else (None, None)]
        self.hold(there, "announced only if committed", f"{event.debate_id} {event}")

    def filed(self, debate_id: str) -> None:
        """Files never lose or change what they told before."""
        known, told = self._known.get(debate_id), self._transcript(debate_id)
        turns = told.get("turns")
        if known is None or turns is None or debate_id in self.torn:
            return
        self.hold(
            turns[: len(known.filed)] == known.filed, "files keep what they told",
            f"{debate_id}: {len(known.filed)} turns before, {len(turns)} now",
        )  # fmt: skip
        known.filed = turns
        status, ended = told["debate"].get("status"), told["debate"].get("ended_at")
        same = status != known.ended[0] or ended == known.ended[1]
        self.hold(same, "what files say of the end stands", f"{debate_id}: {known.ended} before")
        if status in FINAL:
            known.ended = status, ended

    def _transcript(self, debate_id: str) -> dict[str, Any]:
        return transcript(self.world.home, debate_id)

    def escaped(self, error: BaseException | None, message: str = "") -> None:
        if error is not None and not isinstance(error, MootError | GeneratorExit):
            self.fail("errors are said, not thrown", f"{message} {error!r}")

    def stop_accepted(self, debate_id: str) -> None:
        self.stopping.setdefault(debate_id, self.world.loop.time())

    # --- an older database, or one brought up to the files ---

    def look_again(self) -> None:
        """What the rows say was changed by hand; nothing is lost."""
        for row in self.rows():
            self._known[row["id"]].row = row

    def forget(self) -> None:
        """The database is another one: what it says now is what is known. Files are what they
        were, and stay so."""
        filed = {name: known.filed for name, known in self._known.items()}
        self.torn |= self._gone  # perhaps they are back, but their files are not
        for stale in (
            self.calls, self.stopping, self.ending, self.made, self._aired, self._known, self._said,
            self._gone,
        ):  # fmt: skip
            stale.clear()
        for row in self.rows():
            name = row["id"]
            spoken = self.ask(
                "SELECT round, actor, target, kind, seq FROM debate_turns WHERE debate_id = ?", name
            )
            spoken = {_key(*one) for one in spoken}
            attempts = self.ask(ATTEMPTS, name)
            self._known[name] = Known(
                row, len(attempts), _unlisted(row, attempts), spoken=spoken,
                filed=filed.get(name, []),
            )  # fmt: skip

    # --- at the end ---

    def behind(self) -> set[str]:
        """Debates that are left alone because their files hold more than the database."""
        return {row["id"] for row in self.rows() if self._is_behind(row)}

    def _is_behind(self, row: dict[str, Any]) -> bool:
        return Folder(self.world.home).last_seq(row["id"]) > row["last_seq"]

    def _left_alone(self, row: dict[str, Any]) -> bool:
        """Only a decision may be filed before it is committed, and a damaged row no longer shows
        that this is one."""
        if not self.world.restored and row["id"] not in self.damaged:
            return False
        return self._is_behind(row)

    def at_rest(self) -> bool:
        rows = self.rows()
        for row in rows:
            if row["status"] == "scheduled" or row["waiting_for"]:
                continue
            filed = row["status"] not in FINAL or row["files_seq"]
            if not (row["status"] in REST and filed) and not self._left_alone(row):
                return False
        waiting = self.ask("SELECT 1 FROM debate_reports WHERE state = 'making'")
        due = self.ask(
            "SELECT 1 FROM debate_conversations c JOIN debate_runs r ON r.id = c.debate_id"
            " WHERE c.waiting = 1 AND r.status = 'scheduled' AND c.due <= ?",
            self.world.wall(),
        )
        return not waiting and (not due or any(map(self._left_alone, rows)))

    def finish(self) -> None:
        """All is quiet: what must be true of every debate."""
        behind = self.behind()
        rows = {row["id"]: row for row in self.rows()}
        for name in sorted(self.made - rows.keys()):
            self.fail("what was accepted is there", name)
        for name, row in rows.items():
            if name in behind:
                continue
            if name in self.stopping:
                self.hold(row["status"] == "stopped", "a stop wins", f"{name} is {row['status']}")
            mistake = "a mistake in moot itself" in (row["failure"] or "")
            self.hold(not mistake, "moot makes no mistakes", f"{name}: {row['failure']}")
            for attempt in self.ask(ATTEMPTS, name):
                self.hold(attempt[4] != "started", "no call stays open", f"{name} {attempt}")
            if row["status"] in FINAL and name not in self.torn | self.damaged:
                self._check_files(name)
            self._check_calls(row)
            self._check_blame(name)
            self._check_votes(name)
        self._check_paid()
        for name in sorted(self._gone):
            left = self.world.home / "records" / "debates" / name
            self.hold(not left.exists(), "a deletion is whole", f"{left} is there")
        for name, text in sorted(self._said):
            if name in rows and name not in behind:
                found = self.ask(
                    "SELECT COUNT(*) FROM debate_turns WHERE debate_id = ? AND text = ?", name, text
                )
                self.hold(found[0][0] == 1, "what a person said stands once", f"{name}: {text}")

    def _check_votes(self, name: str) -> None:
        """Who votes, how often, and that a debate which can be decided is."""
        read = self.world.backend.read
        debate = read(lambda conn: runs.load(conn, name))
        turns = read(lambda conn: log.turns_after(conn, name, 0))
        if debate.jury:
            self.world.count("jury")
        cast = [turn for turn in turns if turn.stage.startswith("jury") and turn.kind != "note"]
        votes = Counter(turn.actor for turn in cast)
        jurors = {seat.id for seat in debate.jury.seats} if debate.jury else set[str]()
        self.hold(votes.keys() <= jurors, "only jurors vote", f"{name}: {sorted(votes)}")
        most = len(debate.jury.readings) if debate.jury else 0
        often = max(votes.values(), default=0)
        self.hold(often <= most, "a juror votes once in each reading", f"{name}: {votes}")
        if debate.rules.result is None or debate.status != "completed":
            return
        if debate.stop_reason == "budget":
            self.world.count("budget that ran out")
        said = any(turn.status == "ok" and turn.kind == "speech" for turn in turns)
        owed = said and debate.stop_reason != "ended_by_user"
        decided = debate.outcome is not None
        self.hold(decided or not owed, "what can be decided is", f"{name}: {debate.stop_reason}")
        early = decided and depth.stopped(debate, turns) is not None
        if early:
            self.world.count("settled before the debate")
            self.hold(not votes, "what two have settled is not voted on", f"{name}: {votes}")
        whole = early or votes == dict.fromkeys(jurors, most)
        cut = not decided or debate.stop_reason == "budget"
        self.hold(whole or cut, "every juror is asked", f"{name}: {votes}")

    def _check_blame(self, name: str) -> None:
        """Only the seat that every worker dies of is given up, not who spoke beside it."""
        plan = self.world.plan
        chance_deaths = plan.kills or plan.stops or plan.jumps or plan.restores or plan.damages
        if plan.poison != "deadly" or chance_deaths or self.world.is_poisoned(name):
            return
        blamed = self.ask(
            "SELECT 1 FROM debate_turns WHERE debate_id = ? AND status = 'failed'"
            " AND data LIKE '%workers were lost%'",
            name,
        )
        given_up = "workers were lost" in (self._known[name].row["failure"] or "")
        self.hold(not blamed and not given_up, "nobody pays for a neighbour's deaths", name)

    def _check_paid(self) -> None:
        """A call whose end its process lived to see is on record with how it ended."""
        behind = self.behind()
        for one in self.calls:
            if one.ended is None or one.n is None or one.debate_id in behind:
                continue
            if self.world.troubled(one.process, one.ended, one.ended + 10.0):
                continue
            if not one.process.alive and one.process.died - one.ended < 10.0:
                continue
            ((outcome, tokens),) = self.ask(
                "SELECT outcome, input_tokens FROM debate_attempts WHERE debate_id = ? AND n = ?",
                one.debate_id, one.n,
            )  # fmt: skip
            counted = outcome in ("ok", "failed", "cancelled") and tokens > 0
            self.hold(
                counted, "a paid call is counted",
                f"{one.debate_id} {one.key} was {one.outcome}, and is {outcome}, {tokens} tokens",
            )  # fmt: skip

    def _check_calls(self, row: dict[str, Any]) -> None:
        """A crash costs the calls in flight, and nothing is tried without bound."""
        name = row["id"]
        calls = sum(one.debate_id == name for one in self.calls)
        bound = 8 * (row["turns"] + 12) + 12 * self.world.mishaps
        self.hold(calls <= bound, "nothing is tried without bound", f"{name}: {calls} calls")
        if self.world.plan.calm and not self.world.plan.bad_models:
            called_off = name in self.ending or name in self.stopping or self.world.called_off
            people = self.ask(
                "SELECT COUNT(*) FROM debate_turns"
                " WHERE debate_id = ? AND model = ? AND number > ?",
                name, HUMAN, self._known[name].shared,
            )  # fmt: skip
            exact = calls == row["turns"] - people[0][0] - self._known[name].shared
            self.hold(exact or called_off, "a turn costs one call", f"{name}: {calls} calls")

    def _check_files(self, name: str) -> None:
        known = self._known.get(name)
        if known is None or known.examined == known.row:
            return
        known.examined = known.row
        told = self._transcript(name).get("debate", {})
        told |= told.pop("usage", {})
        for field_ in (
            "last_seq", "status", "stop_reason", "input_tokens", "output_tokens", "calls",
        ):  # fmt: skip
            same = told.get(field_) == known.row[field_]
            self.hold(same, "files and database agree", f"{name}: {field_} in transcript.json")
        if self.world.chance.random() > EXAMINED:
            return
        examined = reindex.examine(self.world.home, self.world.settings.database, name)
        self.hold(not examined.issues, "files and database agree", f"{name}: {examined.issues}")


def _key(number: int, actor: str, target: str | None, kind: str, seq: int) -> StepKey:
    """What there is once in a debate; of notes there may be many."""
    return (seq if kind == "note" else number, actor, target if kind == "cue" else None)


def place_of(row: dict[str, Any]) -> str:
    """The place of the next turn, as messages name it."""
    cursor = ("next_round", "next_stage", "next_actor", "next_target", "wave_done")
    return Cursor(*(row[name] for name in cursor)).name


def _unlisted(row: dict[str, Any], attempts: list[Any]) -> tuple[int, int, int]:
    """What the debate counts beyond its attempts."""
    return (
        row["input_tokens"] - sum(one[6] for one in attempts),
        row["output_tokens"] - sum(one[7] for one in attempts),
        row["calls"] - len(attempts),
    )
