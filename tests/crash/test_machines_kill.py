"""Many machines, killed, stopped, told twice, with wrong clocks: still nothing twice or lost."""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from moot.engine import failpoints
from tests.crash.harness import stop_between_writes
from tests.crash.machines import Cluster, Servers
from tests.stress import STRESS

COPIES, TURNS = 10, 6
DEBATES, WORKERS = (500, 4) if STRESS else (10, 2)
KILLS = 200 if STRESS else 10
STOPS, ASLEEP = (200, 8) if STRESS else (2, 2)  # of them, so many at a time
LEASE, SWEEP = 2.0, 0.2
LONG = 600.0  # a lease that nobody waits for, nor loses on a machine that has other things to do


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


# --- every message many times ---


def repeated(cluster: Cluster, debates: int, workers: int, *without: str) -> None:
    for _ in range(workers):
        cluster.worker(copies=COPIES, without=without, keep=0.0)  # a message for each wave
    cluster.create(debates, TURNS, copies=COPIES)
    assert cluster.wait_done()


def test_every_message_ten_times(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, speak_seconds=0.05, lease_seconds=LONG) as cluster:
        repeated(cluster, DEBATES, WORKERS)
        turns = DEBATES * TURNS
        cluster.wait_until(lambda: len(cluster.refused()) >= (COPIES - 1) * turns)
        refused, held, paid = len(cluster.refused()), len(cluster.book("held")), cluster.bill()
        print(f"{refused} messages refused, {held} of them while it was spoken; {paid}")
        assert refused == (COPIES - 1) * turns, "all but one of each"
        assert held > turns, "many of them while another worker, or the same, speaks"
        assert paid.calls == paid.turns == turns
        assert paid.attempts == {"ok": turns}
        assert cluster.violations() == []


@pytest.mark.stress("the simulation, with each guard taken out")
def test_it_fails_when_whoever_is_told_speaks(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, speak_seconds=0.05, lease_seconds=LONG) as cluster:
        repeated(cluster, 4, 2, "claim")
        paid = cluster.bill()
        print(paid)
        assert paid.calls > paid.turns + 4


# --- SIGKILL ---


def claimed_after(cluster: Cluster, debate_id: str, fence: int) -> list[float]:
    """When it was claimed, again and again, since it was held behind that fence."""
    return sorted(c.at for c in cluster.claims() if c.debate_id == debate_id and c.fence > fence)


@dataclass
class Rampage:
    """Kills workers at random moments, and remembers what each of them had in hand."""

    cluster: Cluster
    without: tuple[str, ...] = ()
    kills: int = 0
    orphaned: int = 0  # times that a supervisor was killed
    held: list[tuple[str, int, float]] = field(default_factory=list[tuple[str, int, float]])

    def run(self, kills: int, seed: int) -> None:
        chance, cluster, told = random.Random(seed), self.cluster, {"without": self.without}
        supervisors = [cluster.supervisor(**told) for _ in range(2)]
        workers = [cluster.worker(**told) for _ in range(3)]
        while self.kills < kills:
            if cluster.unfinished() < 12:
                cluster.create(12, TURNS)
            time.sleep(chance.uniform(0.05, 0.4))
            self.kill(workers.pop(chance.randrange(len(workers))))
            workers.append(cluster.worker(wait=False, **told))
            if self.kills % 5 == 0:  # the other one looks after things meanwhile
                cluster.kill(supervisors.pop(0))
                self.orphaned += 1
                supervisors.append(cluster.supervisor(**told))
        assert cluster.wait_done(filed=True)

    def kill(self, pid: int) -> None:
        at = time.monotonic()
        self.cluster.kill(pid)
        self.kills += 1
        self.held += [(one, fence, at) for one, fence in self.cluster.held_by(pid).items()]

    def delays(self) -> list[float]:
        """How long each debate stood still that a worker was killed with; but for those whose last
        commit was on its way to the server by then."""
        return sorted(
            later[0] - at
            for one, fence, at in self.held
            if (later := claimed_after(self.cluster, one, fence))
        )


@pytest.mark.parametrize(
    "without",
    [
        pytest.param((), id="here"),
        pytest.param(("news",), id="elsewhere", marks=pytest.mark.stress("here")),
    ],
)
def test_killed_workers(servers: Servers, tmp_path: Path, without: tuple[str, ...]) -> None:
    """Of a worker on this machine one can see that it is dead, so the test ends long before the
    lease would; of others, the lease has to end."""
    lease = LEASE if without else LONG
    with Cluster(
        tmp_path, servers, speak_seconds=0.2, lease_seconds=lease, sweep_seconds=SWEEP
    ) as cluster:
        rampage = Rampage(cluster, without)
        rampage.run(KILLS, seed=7)
        delays, paid = rampage.delays(), cluster.bill()
        extra = paid.calls - paid.turns
        print(
            f"{rampage.kills} kills and {rampage.orphaned} of supervisors, {len(delays)} debates "
            f"stood still, for {delays[len(delays) // 2]:.2f} s (median), {delays[-1]:.2f} s "
            f"(longest); {extra} calls beyond one per turn; {paid}"
        )
        assert cluster.violations() == []
        assert paid.attempts["started"] == 0
        assert paid.attempts["ok"] == paid.turns == len(cluster.ids) * TURNS
        assert (rampage.kills, rampage.orphaned) == (KILLS, KILLS // 5)
        assert len(delays) >= KILLS / 2, "the kills must hit debates in hand"
        assert paid.attempts["unknown"] >= KILLS / 3, "and calls in flight"
        assert 0 <= extra <= paid.attempts["unknown"]
        if without:
            assert delays[0] > LEASE / 3, "nobody's death was seen: the lease had to end"


def test_killed_at_each_named_place(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers) as cluster:
        for place in sorted(failpoints.PLACES) * (10 if STRESS else 1):
            cluster.create(2, 2)
            pid = cluster.worker(place=place, wait=False)
            assert cluster.wait_end(pid) == -signal.SIGKILL, f"{place} was never reached"
        assert {*cluster.book("died")} == failpoints.PLACES
        cluster.supervisor()
        cluster.worker()
        assert cluster.wait_done(filed=True)
        paid = cluster.bill()
        assert cluster.violations() == []
        assert 0 <= paid.calls - paid.turns <= paid.attempts["unknown"]


# --- SIGSTOP past the lease ---


def freeze(cluster: Cluster, stops: int, each: int, *without: str) -> None:
    """Stop workers in mid-call past their lease, let another take over, then wake them."""
    for _ in range(0, stops, each):
        asleep = [cluster.worker(without=without) for _ in range(each)]
        before = len(cluster.book("calls"))
        cluster.create(10 * each, 4)
        began = before + 10 * each
        assert cluster.wait_until(lambda b=began: len(cluster.book("calls")) >= b)
        stop_between_writes(cluster.url, *asleep)
        cluster.note("stopped", " ".join(map(str, asleep)))
        time.sleep(float(str(cluster.env["lease_seconds"])) + 0.2)
        held = sum(len(cluster.held_by(pid)) for pid in asleep)
        other = cluster.worker(without=without)
        watch = cluster.supervisor()
        assert cluster.wait_calls(held)
        for pid in asleep:
            cluster.cont(pid)
        cluster.wait_done()
        for pid in (*asleep, other, watch):
            cluster.kill(pid)


def sleepy(root: Path, servers: Servers) -> Cluster:
    return Cluster(root, servers, speak_seconds=0.5, lease_seconds=1.0, sweep_seconds=0.1)


@pytest.mark.stress("test_stop.py, and the simulation")
def test_stopped_workers_are_refused(servers: Servers, tmp_path: Path) -> None:
    with sleepy(tmp_path, servers) as cluster:
        freeze(cluster, STOPS, ASLEEP)
        stops = sum(len(line.split()) for line in cluster.book("stopped"))
        refused, paid = len(set(cluster.book("fenced"))), cluster.bill()
        print(f"{stops} stops, {refused} late writes refused; {paid}")
        assert stops >= STOPS
        assert refused >= 3 * STOPS
        assert cluster.violations() == []
        assert refused >= paid.attempts["ok"] - paid.turns, "what came too late was refused"
        assert paid.attempts.total() == paid.calls, "and is paid for, as all other calls are"


@pytest.mark.stress("test_stop.py, with the fence taken out")
def test_it_fails_without_the_fence(servers: Servers, tmp_path: Path) -> None:
    """Then only the unique index stands between a late writer and a turn said twice."""
    with sleepy(tmp_path, servers) as cluster:
        freeze(cluster, 2, 2, "fence")
        assert len(cluster.book("fenced")) == 0


@pytest.mark.stress("test_stop.py, with the fence taken out")
def test_a_turn_is_said_twice_without_fence_and_index(servers: Servers, tmp_path: Path) -> None:
    """Spoken so fast that nobody sees in between, at a look at their leases, whose it is by now."""
    with Cluster(tmp_path, servers, speak_seconds=0.25, lease_seconds=2) as cluster:
        for index in ("debate_turns_once", "debate_turns_cue_once"):
            cluster.rows(f"DROP INDEX {index}")
        freeze(cluster, 2, 2, "fence")
        assert any("other turns than planned" in line for line in cluster.violations())


# --- a step that kills whoever speaks it ---


def keep_up(cluster: Cluster, workers: set[int], poison: list[str]) -> None:
    """A machine that restarts its worker whenever it is gone."""
    for pid in list(workers):
        if cluster.ended(pid) is not None:
            workers.remove(pid)
            workers.add(cluster.worker(poison=poison, wait=False))


def poisoned(cluster: Cluster, step: str, machines: int = 2, until: int | None = None) -> int:
    """Run until all has ended or is paused, or so many workers are dead; how many died."""
    poison = [step]
    cluster.supervisor()
    workers = {cluster.worker(poison=poison) for _ in range(machines)}

    def over() -> bool:
        keep_up(cluster, workers, poison)
        going_on = "SELECT 1 FROM debate_runs WHERE status NOT IN ('completed', 'failed', 'paused')"
        return not cluster.rows(going_on) or len(cluster.book("poisoned")) == until

    assert cluster.wait_until(over)
    return len(cluster.book("poisoned"))


def test_a_poisoned_step_is_given_up(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, deaths=3, lease_seconds=LONG) as cluster:
        cluster.create(1, TURNS)
        assert poisoned(cluster, "motion 0 2 ada") == 3
        turns = cluster.rows("SELECT round, actor, status FROM debate_turns")
        assert turns == [(1, "ada", "ok"), (1, "ben", "ok")]
        ((status, failure),) = cluster.rows("SELECT status, failure FROM debate_runs")
        assert status == "paused"
        assert "3 workers were lost" in str(failure)
        assert cluster.bill().attempts == {"ok": 2, "unknown": 3}


@pytest.mark.stress("test_a_poisoned_step_is_given_up")
def test_its_neighbours_lose_nothing(servers: Servers, tmp_path: Path) -> None:
    """One machine, so that they die with it each time, and begin anew with it each time."""
    with Cluster(tmp_path, servers, deaths=3, speak_seconds=0.3) as cluster:
        cluster.create(8, TURNS)
        poisoned(cluster, "motion 0 2 ada", machines=1)
        assert cluster.rows("SELECT 1 FROM debate_turns WHERE status = 'failed'") == []
        paused = cluster.rows("SELECT id FROM debate_runs WHERE status = 'paused'")
        assert paused == [(cluster.ids[0],)]


@pytest.mark.stress("test_killed_workers, and the simulation")
def test_a_council_loses_one_seat_of_one_round(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, deaths=3, lease_seconds=LONG) as cluster:
        cluster.create(1, format="council")
        deaths = poisoned(cluster, "motion 0 1 critic")
        print(f"{deaths} deaths")
        assert 3 <= deaths <= 6, "one for each that the others of its wave are told apart by"
        sql = "SELECT round, actor FROM debate_turns WHERE status = 'failed'"
        assert cluster.rows(sql) == [(1, "critic")]
        assert cluster.rows("SELECT status, degraded FROM debate_runs") == [("completed", 1)]


@pytest.mark.stress("test_a_poisoned_step_is_given_up")
def test_it_never_ends_when_deaths_are_not_counted(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, deaths=1000) as cluster:
        cluster.create(1, TURNS)
        assert poisoned(cluster, "motion 0 2 ada", until=7) == 7
        assert cluster.unfinished() == 1


# --- a wave longer than Redis waits ---


def test_a_wave_longer_than_the_visibility_timeout(servers: Servers, tmp_path: Path) -> None:
    with Cluster(
        tmp_path, servers, speak_seconds=4, visibility_seconds=1, lease_seconds=LONG
    ) as cluster:
        for _ in range(2):
            cluster.worker()
        cluster.create(4, 1)
        assert cluster.wait_done()
        again, paid = cluster.refused(), cluster.bill()
        print(f"delivered again {len(again)} times, each over in {max(again):.3f} s; {paid}")
        assert len(cluster.book("held")) >= 4, "each comes again while it is spoken"
        assert paid.calls == paid.turns == 4
        assert cluster.violations() == []


# --- a clock that is wrong ---


def mistimed(cluster: Cluster, clock: str, *without: str) -> int:
    """How many turns they spoke: two workers, until each has its share. A busy machine may let one
    do almost everything."""
    cluster.supervisor()
    workers = [
        cluster.worker(copies=3, without=without),
        cluster.worker(copies=3, without=without, clock=clock),
    ]
    for dozen in range(1, 11):
        cluster.create(12, TURNS, copies=3)
        assert cluster.wait_done()
        claims = Counter(claim.pid for claim in cluster.claims())
        if min(claims[pid] for pid in workers) >= 3:
            return 12 * TURNS * dozen
    raise AssertionError("one of them hardly spoke")


@pytest.mark.parametrize("clock", ["+1h", "-1h"])
@pytest.mark.stress("the simulation, whose clocks are wrong too")
def test_a_worker_with_a_wrong_clock(servers: Servers, tmp_path: Path, clock: str) -> None:
    with Cluster(
        tmp_path, servers, speak_seconds=0.3, lease_seconds=LONG, concurrency=6
    ) as cluster:
        turns = mistimed(cluster, clock)
        paid, held = cluster.bill(), len(cluster.book("held"))
        print(f"{clock}: {held} messages refused while it was spoken; {paid}")
        assert held > 12, "leases must be tried"
        assert paid.attempts == {"ok": turns}
        assert paid.calls == paid.turns == len(cluster.claims())
        assert cluster.violations() == []


@pytest.mark.stress("test_a_worker_with_a_wrong_clock, and the simulation")
@pytest.mark.parametrize("clock", ["+1h", "-1h"])
def test_it_fails_by_the_clock_of_the_machine(servers: Servers, tmp_path: Path, clock: str) -> None:
    with Cluster(
        tmp_path, servers, speak_seconds=0.3, lease_seconds=LONG, concurrency=6
    ) as cluster:
        turns = mistimed(cluster, clock, "clock")
        paid = cluster.bill()
        print(f"{clock}: {paid}")
        assert paid.calls > paid.turns == turns, "some were spoken by two at once"
        assert len(cluster.claims()) > paid.turns, "for a live lease was taken"


# --- SIGTERM ---


@pytest.mark.stress("test_shutdown.py, and the simulation")
def test_sigterm_hands_its_debates_over(servers: Servers, tmp_path: Path) -> None:
    """Nobody looks after leases here, and none ends before the test would: so it hands them over,
    rather than leave them."""
    with Cluster(tmp_path, servers, speak_seconds=2, lease_seconds=LONG) as cluster:
        leaver, _ = cluster.worker(), cluster.worker()
        cluster.create(20, 2)
        assert cluster.wait_until(lambda: len(cluster.book("calls")) == 20)
        held, at = cluster.held_by(leaver), time.monotonic()
        cluster.terminate(leaver)
        code = cluster.wait_end(leaver)
        gone = time.monotonic() - at
        assert cluster.wait_done()
        delays = [claimed_after(cluster, *one)[0] - at for one in held.items()]
        paid = cluster.bill()
        print(
            f"gone in {gone:.2f} s, its {len(held)} debates went on within {max(delays):.2f} s; "
            f"{paid}"
        )
        assert len(held) >= 3, "it was in mid-call"
        assert code == 0
        assert paid.attempts == {"ok": 40, "cancelled": len(held)}
        assert cluster.violations() == []
