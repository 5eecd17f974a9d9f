"""What every database must do for the engine: one suite, run on each of them.

A subclass in a test file gives the `conn` fixture: a connection with this version's schema and
nothing in it, inside a transaction.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import delete

from moot.core import moves, verbs
from moot.core.change import Attempt, Ended
from moot.core.debate import Cursor, Debate, Decision, Failure, OutcomeKind, Phase, Turn, Usage
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.format import Format
from moot.core.ids import ALPHABET
from moot.core.request import build
from moot.core.schedule import Step
from moot.core.status import STATUSES, Status
from moot.errors import ConflictError, NotFoundError
from moot.ports.debate_store import Once, ReportRow
from moot.ports.finding import Found, Search
from moot.render.reading import Point, Reading
from moot.store import attempts, indexing, keys, lists, log, reports, runs, tables
from moot.store.query import Connection, Query
from moot.store.store import apply, filed

AT = "2026-11-15T12:00:00.000Z"
RULES = Format.model_validate(
    {
        "name": "talk",
        "title": "Talk",
        "description": "They talk.",
        "rules": "Talk.",
        "stages": [{"name": "talk", "rounds": 3, "ask": "Talk, {name}."}],
    }
)


def a_debate(number: int = 1) -> Debate:
    return build(
        debate_id=f"debate_20261115_120000_aaaaa{'abcdefgh'[number]}",
        at=f"2026-11-15T12:00:0{number}.000Z",
        motion="Is “this” a test? \u2028 ' \" \\ 🎭",
        rules=RULES,
        default_model="local",
        normalize=lambda model: (model, "DEBATE_WARN_X: bent"),
    )


def a_turn(seq: int, **changes: object) -> Turn:
    fields: dict[str, object] = {
        "seq": seq, "round": 1, "stage": "talk", "actor": "ada", "name": "Ada", "kind": "speech",
        "target": None, "instruction": None, "text": "It is.", "data": {"a": [1, "ü"]},
        "status": "ok", "error_code": None, "model": "local:understudy",
        "usage": Usage(1, 2, 0.5, 3, True), "started_at": AT, "committed_at": AT,
    }  # fmt: skip
    return Turn(**{**fields, **changes})  # type: ignore[arg-type]


WALK = RULES.model_copy(update={"name": "walk"})
SEARCHES = [
    Search(),
    Search(statuses=("completed",)),
    Search(statuses=("failed",)),
    Search(statuses=("failed", "running", "failed")),
    Search(statuses=STATUSES),
    Search(format="walk"),
    Search(format="talk", statuses=("completed",)),
    Search(format="walk", statuses=("completed", "running", "paused")),
    Search(format="march"),
    Search(hidden=("walk", "march")),
    Search(hidden=("walk", "talk")),
    Search(format="walk", hidden=("walk",)),
    Search(statuses=("completed", "running"), hidden=("walk",)),
    Search(words="motion"),
    Search(words="MOT number1"),
    Search(words="number13"),
    Search(words="incomparably"),
    Search(words="incomparable motion"),
    Search(words="nowhere"),
    Search(words="number1", statuses=("completed", "failed"), hidden=("walk",)),
    Search(words="number", format="walk"),
]
HOSTILE = [
    '"', "'", '"""', "\\", "*", "^", "-", "+", "(", ")", ":", "{}", "…", "?!", "\0", "\ud800",
    "🎭", "\u0301", "_", "%", "🎭" * 2000, '"' * 4000,
    "NOT", "test AND nothing", "test OR nothing", "NEAR(test this, 5) x", "test NOT this",
    "words:test", "rowid:1", '"test" * ^nothing', "nothing*", 'unbalanced "test',
    "test) OR (1", "'; DROP TABLE debate_runs; --", "'test':*A | 'x'", "test & !this <-> x",
    "x " * 2000, "test\0nothing", "xy" * 2000,
]  # fmt: skip


def one_of_many(number: int) -> Debate:
    """Two of them are made in each millisecond; a tenth failed, every third walks."""
    letters = "".join(ALPHABET[number // 32**place % 32] for place in (5, 4, 3, 2, 1, 0))
    rare: dict[int, Status] = {0: "failed", 7: "running", 8: "paused", 9: "stopped"}
    kind = "incomparably" if number % 20 == 4 else "incomparable"
    return build(
        debate_id=f"debate_20261115_120000_{letters}",
        at=f"2026-11-15T12:00:00.{number // 2:03d}Z",
        motion=f"An {kind} motion, number{number}",
        rules=RULES if number % 3 else WALK,
        default_model="local",
        normalize=lambda model: (model, None),
    ).but(status=rare.get(number % 10, "completed"))


def create(conn: Connection, *debates: Debate) -> None:
    for debate in debates:
        runs.create(conn, debate)


def fits(search: Search, debate: Debate) -> bool:
    """The same question, answered the slow way."""
    held = debate.motion.lower().replace(",", "").split()
    return (
        (not search.statuses or debate.status in search.statuses)
        and (search.format is None or debate.format == search.format)
        and debate.format not in search.hidden
        and all(any(w.startswith(a) for w in held) for a in search.words.lower().split())
    )


def pages(
    conn: Connection, search: Search, between: Callable[[], None] = lambda: None
) -> list[list[Debate]]:
    """All pages, one after another."""
    found = lists.find(conn, search)
    all_ = [found.debates]
    while found.next is not None:
        between()
        found = lists.find(conn, replace(search, before=found.next))
        all_.append(found.debates)
    return all_


NARROWED: list[tuple[Search, Callable[[int], bool]]] = [
    (Search(outcomes=("decided",)), lambda n: n % 4 == 0),
    (Search(outcomes=("decided", "deadlock")), lambda n: n % 4 in (0, 2)),
    (Search(outcomes=("no_verdict",)), lambda n: False),
    (Search(model="vendor:m1"), lambda n: n % 3 == 1),
    (Search(model="M1"), lambda n: n % 3 == 1),
    (Search(model="vendor"), lambda n: True),
    (Search(model="local:understudy"), lambda n: True),
    (Search(model="ven dor"), lambda n: False),
    (Search(model="m2", outcomes=("contested",)), lambda n: n % 3 == 2 and n % 4 == 1),
    (Search(model="m0", format="walk"), lambda n: n % 3 == 0),
    (Search(model="m0", hidden=("walk",)), lambda n: False),
    (Search(outcomes=("decided",), hidden=("walk",)), lambda n: n % 4 == 0 and n % 3 > 0),
    (Search(outcomes=("decided",), statuses=("failed",)), lambda n: False),
]
"""Searches, and which debates each gives: outcomes take turns of four, models and formats of
three."""


def at_rest(conn: Connection, number: int, *texts: str, **changes: object) -> Debate:
    """A debate in which that was said, and which has ended then; its words are not added yet."""
    seq = len(texts) + 1
    ended = {"status": "completed", "last_seq": seq, "ended_at": AT}
    debate = one_of_many(number).but(**{**ended, **changes})
    runs.create(conn, debate)
    for place, text in enumerate(texts, 1):
        log.add(conn, debate.id, TurnCommitted(debate.id, a_turn(place, round=place, text=text)))
    log.add(conn, debate.id, over(debate))
    return debate


def over(debate: Debate) -> StatusChanged:
    return StatusChanged(
        debate.id, debate.last_seq, AT, debate.status, None, None, None, None, 0, 0, False
    )


def index_all(conn: Connection) -> int:
    """Add all that is missing to the search; how many steps that took."""
    steps = 0
    while batch := indexing.pending(conn):
        indexing.add(conn, batch)
        steps += 1
    return steps


def found(conn: Connection, words: str, limit: int = 50) -> list[int]:
    """The debates that hold those words, by the number that each motion ends with."""
    debates = lists.find(conn, Search(words=words, limit=limit)).debates
    return [_number(debate) for debate in debates]


def _number(debate: Debate) -> int:
    return int(debate.motion.rpartition("number")[2])


class StoreContract:
    """Subclass it as `TestX(StoreContract)` with a `conn` fixture."""

    def test_a_debate_comes_back_as_it_was(self, conn: Connection) -> None:
        debate = a_debate().but(brief={"constraints": ["a", "b"]})
        runs.create(conn, debate)
        assert runs.load(conn, debate.id) == debate

    def test_every_field_can_change(self, conn: Connection) -> None:
        debate = a_debate()
        runs.create(conn, debate)
        changed = debate.but(
            status="paused",
            cursor=Cursor(2, "talk", "ben", "ada", 5),
            degraded=True,
            warnings=("one", "two"),
            stop_reason="budget",
            stop_requested_at=AT,
            wanted="stop",
            failure=Failure("CODE", "It failed.", "ada", "local", 4, AT),
            round=1,
            stage="talk",
            turn_count=3,
            total=7,
            last_seq=9,
            fence=2,
            lease_owner="me",
            lease_until=1_790_000_000.25,
            open_calls=1,
            files_seq=4,
            usage=Usage(1, 2, 0.25, 4, True),
            started_at=AT,
            ended_at=AT,
            updated_at=AT,
            phases=(Phase("Intake", AT, "ok"), Phase("Round1", AT, "degraded")),
            outcome=Decision(0.5, 0.25, "Neither"),
            participants=tuple(replace(seat, unpriced=("x:new",)) for seat in debate.participants),
        )
        runs.change(conn, debate, changed)
        assert runs.load(conn, debate.id, lock=True) == changed

    def test_progress_changes_no_more_than_progress(self, conn: Connection) -> None:
        debate = a_debate().but(status="running", lease_owner="me", lease_until=5.0)
        runs.create(conn, debate)
        moved = debate.but(cursor=Cursor(1, "talk", "ben"), turn_count=1, last_seq=1, updated_at=AT)
        runs.change(conn, debate, moved)
        assert runs.load(conn, debate.id) == moved

    def test_an_unknown_id_is_said_to_be_unknown(self, conn: Connection) -> None:
        with pytest.raises(NotFoundError, match="debate_x"):
            runs.load(conn, "debate_x")

    def test_the_log_comes_back_in_order(self, conn: Connection) -> None:
        debate = a_debate()
        first = TurnCommitted(debate.id, a_turn(1))
        failure = Failure("CODE", "It failed.", "ada", "local", 4, AT)
        second = StatusChanged(
            debate.id, 2, AT, "paused", None, failure, "talk", 1, 1, 6, False, "A notice."
        )
        third = TurnCommitted(debate.id, a_turn(3, actor="ben", data=None, text=""))
        for event in (second, third, first):
            log.add(conn, debate.id, event)
        assert log.events_after(conn, debate.id, 0, 100) == [first, second, third]
        assert log.events_after(conn, debate.id, 1, 1) == [second]
        assert log.turns_after(conn, debate.id, 1) == [third.turn]
        assert log.last_seq(conn, debate.id) == 3
        assert log.last_seq(conn, "debate_x") == 0

    @pytest.mark.parametrize("kind", ["speech", "summary", "verdict"])
    def test_nobody_speaks_twice_in_a_round(self, conn: Connection, kind: str) -> None:
        log.add(conn, "d", TurnCommitted("d", a_turn(1, target="ben")))
        with pytest.raises(Exception, match=r"(?i)unique"):
            log.add(conn, "d", TurnCommitted("d", a_turn(2, kind=kind, target="eve")))

    def test_cues_are_told_apart_by_their_target(self, conn: Connection) -> None:
        for seq, target in enumerate(["ben", "eve"], start=1):
            log.add(conn, "d", TurnCommitted("d", a_turn(seq, kind="cue", target=target)))
        log.add(conn, "d", TurnCommitted("d", a_turn(3)))  # the host may also speak in that round
        with pytest.raises(Exception, match=r"(?i)unique"):
            log.add(conn, "d", TurnCommitted("d", a_turn(4, kind="cue", target="ben")))

    def test_no_seq_twice(self, conn: Connection) -> None:
        log.add(conn, "d", TurnCommitted("d", a_turn(1)))
        with pytest.raises(Exception, match=r"(?i)unique"):
            log.add(conn, "d", TurnCommitted("d", a_turn(1, actor="ben")))

    def test_no_number_twice(self, conn: Connection) -> None:
        log.add(conn, "d", TurnCommitted("d", a_turn(3, number=1)))
        log.add(conn, "e", TurnCommitted("e", a_turn(3, number=1)))
        with pytest.raises(Exception, match=r"(?i)unique"):
            log.add(conn, "d", TurnCommitted("d", a_turn(5, number=1, actor="ben")))

    def test_a_turn_from_before_has_its_seq_for_a_number(self, conn: Connection) -> None:
        for seq, number in ((3, 1), (4, 2)):
            turn = a_turn(seq, number=number, actor=f"p{seq}")
            log.add(conn, "d", TurnCommitted("d", turn))
        conn.driver.execute("UPDATE debate_turns SET number = NULL WHERE debate_id = 'd'")
        assert [turn.number for turn in log.turns_after(conn, "d")] == [3, 4]

    def test_notes_may_be_many(self, conn: Connection) -> None:
        for seq in (1, 2):
            log.add(conn, "d", TurnCommitted("d", a_turn(seq, kind="note")))
        assert len(log.turns_after(conn, "d", 0)) == 2

    def test_an_attempt_is_on_record_before_and_after(self, conn: Connection) -> None:
        step = Step(1, "talk", "ada", "speech", None, "Talk.")
        for n in (1, 2, 3):
            attempts.start(conn, "d", Attempt(n, 1, step, "local", AT))
        attempts.end(conn, "d", Ended(1, "ok", AT, model="local:x", usage=Usage(3, 4, 0.1)))
        attempts.end(conn, "d", Ended(None, "unknown", AT))
        attempts.end(conn, "d", Ended(3, "cancelled", AT, usage=Usage(5, 6, 0.2, 0, True)))
        attempts.end(conn, "d", Ended(1, "failed", AT))  # too late: how it ended is known
        rows = attempts.of_debate(conn, "d")
        assert [row["outcome"] for row in rows] == ["ok", "unknown", "cancelled"]
        assert [row["model"] for row in rows] == ["local:x", "local", "local"]
        assert [row["output_tokens"] for row in rows] == [4, 0, 6]

    def test_a_change_is_written_whole(self, conn: Connection) -> None:
        debate = a_debate()
        runs.create(conn, debate)
        opened = verbs.open_(debate, True, AT)
        apply(conn, debate, opened)
        claimed = moves.claim(
            opened.debate, owner="me", now=1.0, lease=5.0, at=AT, dead=lambda _: False
        )
        apply(conn, opened.debate, claimed)
        assert runs.load(conn, debate.id) == claimed.debate
        assert [event.seq for event in log.events_after(conn, debate.id, 0, 9)] == [1, 2]

    def test_leases_are_renewed_for_their_owner_alone(self, conn: Connection) -> None:
        mine = a_debate(1).but(lease_owner="me", lease_until=5.0, fence=3, wanted="stop")
        other = a_debate(2).but(lease_owner="you", lease_until=5.0)
        let_go = a_debate(3).but(lease_owner="me", lease_until=5.0)
        create(conn, mine, other, let_go)
        runs.renew(conn, "me", [mine.id, other.id], 9.0)
        assert runs.load(conn, mine.id).lease_until == 9.0
        assert runs.load(conn, other.id).lease_until == 5.0
        assert runs.load(conn, let_go.id).lease_until == 5.0, "nobody is at it any more"
        held = runs.held(conn, "me")
        assert set(held) == {mine.id, let_go.id}
        assert (held[mine.id].fence, held[mine.id].wanted) == (3, "stop")

    def test_what_is_unfinished_and_what_is_unfiled(self, conn: Connection) -> None:
        running = a_debate(1).but(status="running", last_seq=3)
        ended = a_debate(2).but(status="completed", ended_at=AT, last_seq=3)
        paused = a_debate(3).but(status="paused", last_seq=3)
        create(conn, running, ended, paused)
        waiting = a_debate(4).but(status="running", not_before=9.0)
        runs.create(conn, waiting)
        assert [one.id for one in runs.unfinished(conn, 8.9)] == [running.id]
        assert {one.id for one in runs.unfinished(conn, 9.0)} == {running.id, waiting.id}
        left_open = a_debate(5).but(status="paused", lease_owner="gone", open_calls=1)
        runs.create(conn, left_open)
        assert left_open.id in {one.id for one in runs.unfinished(conn, 0.0)}
        assert runs.ids(conn, runs.UNFILED) == [ended.id]
        runs.filed(conn, ended.id, 2)
        assert runs.ids(conn, runs.UNFILED) == [ended.id], "it has gone on since"
        runs.filed(conn, ended.id, 3)
        assert runs.ids(conn, runs.UNFILED) == []

    def test_files_that_miss_what_came_since_are_to_be_made_again(self, conn: Connection) -> None:
        made = a_debate().but(status="completed", ended_at=AT, last_seq=3)
        runs.create(conn, made)
        counted = made.but(usage=Usage(5, 6, 0.1, 1))
        runs.change(conn, made, counted)
        filed(conn, made, None, None)
        assert runs.ids(conn, runs.UNFILED) == [made.id], "a call was counted since"
        wrote = Reading("All of it.", (), "m", Usage(1, 2, 0.5, 1), AT)
        reports.keep(conn, ReportRow(made.id, "made", "model", "m", read=wrote, made_at=AT))
        filed(conn, counted, None, None)
        assert runs.ids(conn, runs.UNFILED) == [made.id], "a report was written since"
        filed(conn, counted, None, wrote)
        assert runs.ids(conn, runs.UNFILED) == []
        filed(conn, made, None, wrote)
        assert runs.ids(conn, runs.UNFILED) == [made.id], "better files were replaced"

    def test_a_report_is_noted_once_and_changed_under_its_debates_lock(
        self, conn: Connection
    ) -> None:
        debate = a_debate().but(status="completed", ended_at=AT, last_seq=3, files_seq=3)
        runs.create(conn, debate)
        wrote = Reading("All of it.", (("ada", (Point("One.", 1),)),), "m", Usage(1, 2, 0.5, 1), AT)
        row = ReportRow(debate.id, "making", "extraction", "m", "Some.", until=5.0, made_at=AT)
        reports.note(conn, row)
        reports.note(conn, replace(row, summary="Other.", state="made"))
        assert reports.of_debate(conn, debate.id) == row, "what is there stays"
        assert reports.wanted(conn, 4.9) == []
        assert reports.wanted(conn, 5.0) == [debate.id]

        def move(known: ReportRow | None) -> ReportRow:
            assert known == row
            return replace(row, state="made", method="model", read=wrote, usage=Usage(1, 2, 0.5))

        made = reports.change(conn, debate.id, move, refile=True)
        assert reports.of_debates(conn, [debate.id, "debate_x"] * 60) == {debate.id: made}
        assert reports.wanted(conn, 9.0) == []
        assert runs.ids(conn, runs.UNFILED) == [debate.id], "its files are outdated"
        with pytest.raises(NotFoundError):
            reports.change(conn, "debate_x", move)

    def test_a_report_that_could_not_be_made_is_noted_again(self, conn: Connection) -> None:
        row = ReportRow("d", "failed", "extraction", None, error="It failed.", made_at=AT)
        reports.note(conn, row)
        later = replace(row, state="made", summary="Some.", error=None)
        reports.note(conn, later)
        assert reports.of_debate(conn, "d") == later

    def test_the_newest_come_first(self, conn: Connection) -> None:
        debates = [a_debate(number) for number in (2, 1, 3)]
        create(conn, *debates)
        newest = lists.find(conn, Search(limit=2))
        assert [debate.id for debate in newest.debates] == [debates[2].id, debates[0].id]
        assert lists.find(conn, Search(before=newest.next)).debates == [debates[1]]

    def test_pages_give_each_debate_once(self, conn: Connection) -> None:
        debates = [one_of_many(number) for number in range(60)]
        create(conn, *debates[::2], *debates[1::2])
        for search in SEARCHES:
            expected = [debate for debate in reversed(debates) if fits(search, debate)]
            for limit in (1, 7, 100):
                found = pages(conn, replace(search, limit=limit))
                assert [debate for page in found for debate in page] == expected, search
                assert all(len(page) <= limit for page in found), search
                assert [] not in found[:-1], f"far from too many to look at: {search}"

    def test_what_is_added_between_pages_moves_nothing(self, conn: Connection) -> None:
        kept = [one_of_many(number) for number in range(40)]
        create(conn, *kept)
        conn.driver.execute("SAVEPOINT here")
        for search in SEARCHES[:8]:
            later = map(one_of_many, range(40, 80))
            found = pages(
                conn, replace(search, limit=4), lambda later=later: create(conn, next(later))
            )
            expected = [debate for debate in reversed(kept) if fits(search, debate)]
            assert [debate for page in found for debate in page] == expected, search
            conn.driver.execute("ROLLBACK TO SAVEPOINT here")

    def test_no_page_looks_at_more_than_its_share(
        self, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lists, "LOOKED_AT", 6)
        debates = [one_of_many(number) for number in range(60)]
        create(conn, *debates)
        for search in (
            Search(words="motion", statuses=("failed",), limit=5),
            Search(words="mot", format="walk", limit=5),
            Search(hidden=("talk",), limit=5),
            Search(words="incomparably", limit=5),  # told from another by its last letters
        ):
            found = pages(conn, search)
            expected = [debate for debate in reversed(debates) if fits(search, debate)]
            assert [debate for page in found for debate in page] == expected
            assert len(found) >= 60 // 6
            assert [] in found or search.hidden or search.format, "some pages are short"
        assert lists.find(conn, Search(words="nowhere", statuses=("failed",))).next is None

    def test_no_text_is_read_as_a_query(self, conn: Connection) -> None:
        runs.create(conn, a_debate())
        for words in HOSTILE:
            assert lists.find(conn, Search(words=words)) == Found([], None), ascii(words[:20])
        found = lists.find(conn, Search(words='test" -this) ^* "is:'))
        assert len(found.debates) == 1, "it has all of these words"

    def test_every_word_begins_a_word(self, conn: Connection) -> None:
        debate = a_debate().but(motion="Is CAFÉ-crème, Straße or don't_stop “naïve”? 東京 ﬁne")
        runs.create(conn, debate)
        for words in (
            "cafe", "CAFÉ", "cafe\u0301", "creme caf", "STRASSE", "str", "don't", "stop t don",
            "naive", "東", "東京", "fine", "is is is", "  crème  ", debate.motion, "\0cafe\0",
        ):  # fmt: skip
            assert lists.find(conn, Search(words=words)).debates == [debate], words
        for words in ("afe", "cafes", "cafe tea", "京", "strassen", "don'ts"):
            assert lists.find(conn, Search(words=words)).debates == [], words
        seats = [seat.name for seat in debate.participants]
        assert lists.find(conn, Search(words=" ".join(seats))).debates == [debate]
        assert lists.find(conn, Search(words=" \t\n")).debates == [debate], "blank: no filter"

    def test_long_texts_are_searched_whole(self, conn: Connection) -> None:
        motion = " ".join(f"w{number}" for number in range(800))[:4000]
        debate = a_debate().but(motion=motion)
        endless = a_debate(2).but(motion="endless" * 500)
        create(conn, debate, endless)
        assert lists.find(conn, Search(words=motion)).debates == [debate]
        assert lists.find(conn, Search(words=f"{motion} x")).debates == []
        assert lists.find(conn, Search(words=endless.motion)).debates == [endless]

    def test_a_number_is_given_once(self, conn: Connection) -> None:
        runs.create(conn, one_of_many(1))
        same = one_of_many(1)
        with pytest.raises(Exception, match=r"(?i)unique"):
            runs.create(conn, same.but(id=same.id[:-6] + "z" + same.id[-5:]))

    def test_a_debate_that_was_lost_can_be_put_back(self, conn: Connection) -> None:
        debate, other = one_of_many(1), one_of_many(2)
        create(conn, debate, other)
        Query(delete(tables.runs).where(tables.runs.c.id == debate.id)).run(conn)
        assert lists.find(conn, Search(words="motion")).debates == [other]
        runs.create(conn, debate)
        assert lists.find(conn, Search(words="motion")).debates == [other, debate]

    def test_a_list_leaves_out_what_was_deleted_while_it_was_read(self, conn: Connection) -> None:
        debate = one_of_many(1)
        create(conn, debate)
        there = int(str(runs.encoded(debate)["number"]))
        assert [one.id for one in runs.by_numbers(conn, [there + 1, there])] == [debate.id]

    def test_a_list_shows_debates_as_they_are_now(self, conn: Connection) -> None:
        debate = a_debate().but(status="queued")
        runs.create(conn, debate)
        changed = debate.but(status="running", lease_owner="me", turn_count=3)
        runs.change(conn, debate, changed)
        assert lists.find(conn, Search(statuses=("queued",))).debates == []
        assert lists.find(conn, Search(statuses=("running",))).debates == [changed]
        assert runs.counts(conn) == {"running": 1}

    def test_debates_are_counted_by_status(self, conn: Connection) -> None:
        assert runs.counts(conn) == {}
        create(conn, *map(one_of_many, range(10)))
        assert sum(runs.counts(conn).values()) == 10
        assert runs.counts(conn)["failed"] == 1

    def test_a_key_stands_for_one_request(self, conn: Connection) -> None:
        once = Once("a key", "digest")
        assert keys.made_by(conn, once) is None
        keys.keep(conn, once, "debate_x", AT)
        assert keys.made_by(conn, once) == "debate_x"
        assert keys.made_by(conn, Once("another", "digest")) is None
        with pytest.raises(ConflictError, match="another Idempotency-Key"):
            keys.made_by(conn, Once("a key", "other digest"))

    def test_a_key_that_holds_for_a_while(self, conn: Connection) -> None:
        once = Once("a key", "digest", 60.0)
        keys.keep(conn, once, "debate_x", "2026-11-18T10:00:00.000Z")
        assert keys.made_by(conn, once, "2026-11-18T10:01:00.000Z") == "debate_x"
        assert keys.made_by(conn, once, "2026-11-18T10:01:00.001Z") is None
        keys.keep(conn, once, "debate_y", "2026-11-18T10:01:00.001Z")  # it is free again
        assert keys.made_by(conn, once, "2026-11-18T10:01:01.000Z") == "debate_y"
        for_good = Once("a key", "digest")
        assert keys.made_by(conn, for_good, "2027-11-18T10:00:00.000Z") == "debate_y"

    def test_no_key_twice(self, conn: Connection) -> None:
        keys.keep(conn, Once("a key", "one"), "debate_x", AT)
        with pytest.raises(Exception, match=r"(?i)unique"):
            keys.keep(conn, Once("a key", "two"), "debate_y", AT)

    def test_the_log_of_all_debates(self, conn: Connection) -> None:
        assert log.last_logged(conn) == 0
        added = [("d", 1), ("e", 1), ("d", 2), ("f", 1)]
        for debate_id, seq in added:
            log.add(conn, debate_id, TurnCommitted(debate_id, a_turn(seq, round=seq)))
        logged = log.logged(conn, 0)
        assert [(entry.debate_id, entry.seq) for entry in logged] == added
        positions = [entry.position for entry in logged]
        assert positions == sorted(set(positions))
        assert log.last_logged(conn) == positions[-1]
        assert log.logged(conn, positions[1]) == logged[2:]
        assert log.logged(conn, positions[-1]) == []

    # --- what was said ---

    def test_what_was_said_is_found(self, conn: Connection) -> None:
        at_rest(conn, 1, "Vacuuming is what Postgres asks for.", "Crème brûlée, naïvely.")
        at_rest(conn, 2, "A vacuum costs little, says R.")
        assert found(conn, "vacuum") == [], "it is added later"
        index_all(conn)
        assert found(conn, "vacuum") == [2, 1], "newest first"
        assert found(conn, "VACUUM", limit=1) == [2]
        for words in ("vacuuming", "vacuumi post", "creme brul", "naively motion", "POSTGRES ada"):
            assert found(conn, words) == [1], words
        assert found(conn, "understudy costs") == [2], "a model, and what it said"
        assert found(conn, "walk post") == [], "a format is found like a word"
        assert found(conn, "talk post") == [1]
        assert found(conn, "r") == [2], "a short word is found if it is whole"
        assert found(conn, "po") == []
        for words in ("acuum", "vacuums", "postgres costs", "vacuum nowhere"):
            assert found(conn, words) == [], words
        for words in HOSTILE:
            assert found(conn, words) == [], ascii(words[:20])

    def test_scripts_without_spaces_are_found_by_any_part(self, conn: Connection) -> None:
        at_rest(conn, 1, "我们应该使用数据库，因为它可靠。")
        at_rest(conn, 2, "データベースはGPT5より速いです。")
        at_rest(conn, 3, "ฐานข้อมูลนี้เร็วมาก")
        at_rest(conn, 4, "데이터베이스는 빠릅니다. हिन्दी में डेटाबेस तेज़ है।")
        index_all(conn)
        for words, number in (
            ("数据库", 1), ("据", 1), ("应该使用", 1), ("可靠 数据", 1),
            ("ベース", 2), ("ﾍﾞｰｽ", 2), ("gpt5", 2), ("速い", 2),
            ("ข้อมูล", 3), ("เร็ว", 3),
            ("데이터", 4), ("빠릅", 4), ("हिन्दी", 4), ("डेटा", 4),
        ):  # fmt: skip
            assert found(conn, words) == [number], words
        for words in ("数库", "库据", "データース", "베이스", "न्दी"):
            assert found(conn, words) == [], words

    def test_a_search_is_narrowed_by_all_that_a_list_is(self, conn: Connection) -> None:
        kinds: tuple[OutcomeKind | None, ...] = ("decided", "contested", "deadlock", None)
        for number in range(24):
            kind = kinds[number % 4]
            model = f"vendor:m{number % 3}"
            debate = one_of_many(number)
            seats = tuple(replace(seat, model=model) for seat in debate.participants)
            outcome = Decision(0.5, 0.5, "Yes", kind) if kind else None
            at_rest(conn, number, "It is so.", participants=seats, outcome=outcome)
        index_all(conn)
        for search, fits_ in NARROWED:
            expected = [number for number in range(23, -1, -1) if fits_(number)]
            for words in ("", "so", "motion"):
                for limit in (1, 5, 100):
                    all_ = pages(conn, replace(search, words=words, limit=limit))
                    got = [_number(debate) for page in all_ for debate in page]
                    assert got == expected, (search, words, limit)
        known = ["local:understudy", "vendor:m0", "vendor:m1", "vendor:m2"]
        assert sorted(lists.models(conn)) == known

    def test_whatever_is_left_undone_is_done_later(
        self, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(indexing, "AT_ONCE", 2)
        for number in range(9):
            at_rest(conn, number, f"Said in it: word{number}.")
        batch = indexing.pending(conn)
        assert batch
        assert indexing.pending(conn) == batch, "who dies before it is added has done nothing"
        assert len(indexing.add(conn, batch)) == 2
        assert indexing.add(conn, batch) == [], "another process has added it"
        assert found(conn, "said") == [1, 0]
        assert index_all(conn) >= 3
        assert found(conn, "said") == list(range(8, -1, -1))
        assert indexing.pending(conn) is None
        assert index_all(conn) == 0

    def test_a_debate_that_goes_on_is_read_when_it_rests_again(self, conn: Connection) -> None:
        debate = at_rest(conn, 1, "First came this.", status="paused", ended_at=None)
        index_all(conn)
        assert found(conn, "came") == [1]
        going_on = debate.but(status="running", last_seq=4)
        runs.change(conn, debate, going_on)
        log.add(conn, debate.id, replace(over(going_on), seq=3))
        log.add(conn, debate.id, TurnCommitted(debate.id, a_turn(4, round=4, text="Then that.")))
        index_all(conn)
        assert found(conn, "then") == [], "it is under way"
        ended = going_on.but(status="stopped", last_seq=5, ended_at=AT)
        runs.change(conn, going_on, ended)
        log.add(conn, debate.id, over(ended))
        index_all(conn)
        assert found(conn, "then came") == [1]

    def test_what_is_replaced_is_forgotten(self, conn: Connection) -> None:
        debate = at_rest(conn, 1, "Older words.")
        index_all(conn)
        assert found(conn, "older") == [1]
        indexing.forget(conn, debate, log.turns_after(conn, debate.id))
        assert found(conn, "older") == []
        for table in (tables.turns, tables.events):
            Query(delete(table).where(table.c.debate_id == debate.id)).run(conn)
        log.add(conn, debate.id, TurnCommitted(debate.id, a_turn(1, text="Newer words.")))
        log.add(conn, debate.id, over(debate))
        index_all(conn)
        assert found(conn, "newer") == [1], "though SQLite gave it the ids of the entries before"
        assert found(conn, "older") == []

    def test_a_row_that_cannot_be_read_keeps_nothing_else_out(self, conn: Connection) -> None:
        damaged = at_rest(conn, 1, "Never to be read.")
        conn.driver.execute("UPDATE debate_runs SET limits = '?'")
        at_rest(conn, 2, "Well to be read.")
        index_all(conn)
        assert found(conn, "read") == [2]
        Query(delete(tables.runs).where(tables.runs.c.id == damaged.id)).run(conn)
        assert found(conn, "read") == [2]

    def test_a_debate_may_say_more_than_an_index_holds(self, conn: Connection) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        many = " ".join(f"{a}{b}{c}" * 21 for a in letters for b in letters for c in letters)
        at_rest(conn, 1, f"Zzzzzz before. {many}")  # sorted, that is the last word
        at_rest(conn, 2, "Afterwards.")
        index_all(conn)
        assert found(conn, "zzzzzz before") == [1]
        assert found(conn, "afterwards") == [2]

    def test_lists_say_what_came_of_a_debate(self, conn: Connection) -> None:
        won = at_rest(conn, 1, "So.", outcome=Decision(0.8, 0.5, "Postgres", "decided"))
        told = at_rest(conn, 2, "So.")
        reports.keep(conn, ReportRow(told.id, "made", "extraction", None, "They agreed."))
        seen = lists.find(conn, Search()).lines
        assert seen[won.id].result == "Decided: Postgres"
        assert seen[told.id].result == "They agreed."
        assert seen[won.id].models == won.models
        index_all(conn)
        conn.driver.execute("UPDATE debate_lines SET support = '4 of 5'")
        assert lists.find(conn, Search()).lines[won.id].result == "Decided: Postgres, 4 of 5"
