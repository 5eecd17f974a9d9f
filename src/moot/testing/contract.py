"""What every database must do for the engine: one suite, run on each of them.

A subclass in a test file gives the `conn` fixture: a connection with this version's schema and
nothing in it, inside a transaction.
"""

import pytest

from moot.core import moves, verbs
from moot.core.change import Attempt, Ended
from moot.core.debate import Cursor, Debate, Decision, Failure, Phase, Turn, Usage
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.format import Format
from moot.core.request import build
from moot.core.schedule import Step
from moot.errors import NotFoundError
from moot.store import attempts, log, runs
from moot.store.query import Connection
from moot.store.store import apply

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
            turns=3,
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
        )
        runs.change(conn, debate, changed)
        assert runs.load(conn, debate.id, lock=True) == changed

    def test_progress_changes_no_more_than_progress(self, conn: Connection) -> None:
        debate = a_debate().but(status="running", lease_owner="me", lease_until=5.0)
        runs.create(conn, debate)
        moved = debate.but(cursor=Cursor(1, "talk", "ben"), turns=1, last_seq=1, updated_at=AT)
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
        for debate in (mine, other):
            runs.create(conn, debate)
        runs.renew(conn, "me", 9.0)
        assert runs.load(conn, mine.id).lease_until == 9.0
        assert runs.load(conn, other.id).lease_until == 5.0
        held = runs.held(conn, "me")
        assert list(held) == [mine.id]
        assert (held[mine.id].fence, held[mine.id].wanted) == (3, "stop")

    def test_what_is_unfinished_and_what_is_unfiled(self, conn: Connection) -> None:
        running = a_debate(1).but(status="running", last_seq=3)
        ended = a_debate(2).but(status="completed", ended_at=AT, last_seq=3)
        paused = a_debate(3).but(status="paused", last_seq=3)
        for debate in (running, ended, paused):
            runs.create(conn, debate)
        assert runs.ids(conn, runs.UNFINISHED) == [running.id]
        assert runs.ids(conn, runs.UNFILED) == [ended.id]
        runs.filed(conn, ended.id, 3)
        assert runs.ids(conn, runs.UNFILED) == []

    def test_the_newest_come_first(self, conn: Connection) -> None:
        debates = [a_debate(number) for number in (2, 1, 3)]
        for debate in debates:
            runs.create(conn, debate)
        newest = runs.newest(conn, 2)
        assert [debate.id for debate in newest] == [debates[2].id, debates[0].id]
