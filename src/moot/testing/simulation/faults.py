"""What goes wrong: processes die or stand still, disks fill, clocks jump, databases grow old."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process
    from moot.testing.simulation.world import World


class Faults:
    """Chance, and some malice."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._copies: list[Any] = []  # of the database, to be put back later

    def schedule(self) -> None:
        """All that the plan has of them, each at some time; and what people do."""
        world = self._world
        plan, chance = world.plan, world.chance
        for _ in range(plan.verbs):
            self._fault(chance.random() * plan.busy, world.people.act)
        faults = {
            self._kill: plan.kills,
            self._stop: plan.stops,
            self._leave: plan.leaves,
            self._outage: plan.outages,
            self._jump: plan.jumps,
            self._tear: plan.tears,
            self._damage: plan.damages,
        }
        for fault, times in faults.items():
            for _ in range(times):
                self._fault(chance.random() * plan.busy, fault)
        for _ in range(plan.restores):
            when = chance.random() * plan.busy
            self._fault(when * chance.random(), self._copy)
            self._fault(when, self._restore)

    def strikes(self, process: "Process") -> bool:
        """Whether a process dies while it writes a file."""
        return (
            not self._world.healing
            and self._world.plan.kills > 0
            and self._world.chance.random() < 0.01
        )

    def _fault(self, seconds: float, work: Callable[[], None]) -> None:
        def strike() -> None:
            if not self._world.healing:
                work()

        self._world.later(seconds, strike)

    def _some(self) -> "Process | None":
        there = [one for one in self._world.processes if one.alive]
        return self._world.chance.choice(there) if there else None

    def _kill(self) -> None:
        if process := self._some():
            self._world.count("kill")
            self._world.mishaps += 1
            process.fuse = self._world.chance.choice((1, 3, 10, 30, 100))

    def _stop(self) -> None:
        if process := self._some():
            self._world.count("stop of a process")
            self._world.mishaps += 1
            process.stop()
            self._world.later(self._world.chance.choice((1.0, 10.0, 60.0)), process.go_on)

    def _leave(self) -> None:
        if process := self._some():
            self._world.count("close")
            self._world.mishaps += 1
            process.leave()

    def _outage(self) -> None:
        name = self._world.chance.choice(("full", "away"))
        self._world.count(f"disk {name}" if name == "full" else f"database {name}")
        self._world.note(f"{name} begins")
        setattr(self._world, name, True)
        self._world.mishaps += 3
        lasts = self._world.chance.choice((0.5, 3.0, 15.0))
        self._world.outages.append((self._world.loop.time(), self._world.loop.time() + lasts))

        def over() -> None:
            self._world.note(f"{name} is over")
            setattr(self._world, name, False)

        self._world.later(lasts, over)

    def _jump(self) -> None:
        self._world.count("wrong clock")
        self._world.mishaps += 3
        self._world.ahead += self._world.chance.choice((-3600.0, -30.0, 30.0, 120.0))
        self._world.note(f"the clock is {self._world.ahead:g} s ahead")

    def _copy(self) -> None:
        self._copies.append(self._world.backend.copy())

    def _restore(self) -> None:
        """Everything is stopped, an older copy of the database put back, and started again."""
        self._world.count("restore")
        self._world.mishaps += 10
        kinds = [one.serves for one in self._world.processes]
        self._world.stop_all()
        self._world.note("an older database is restored")
        self._world.backend.restore(self._world.chance.choice(self._copies))
        self._world.restored += 1
        self._world.checks.forget()
        self._world.people.forget()
        for serves in kinds or [True]:
            self._world.start(serves=serves)

    def _damage(self) -> None:
        """The cursor of a debate that goes on is set back to where it was a turn before."""
        there = [row for row in self._world.checks.rows() if row["status"] in ("running", "paused")]
        there = [row for row in there if row["turns"] > 1]
        if not there:
            return
        row = self._world.chance.choice(there)
        self._world.count("damaged row")
        self._world.mishaps += 3
        kinds = [one.serves for one in self._world.processes]
        self._world.stop_all()
        self._world.note(f"the row of {row['id'][-6:]} is damaged")
        self._world.backend.ask(
            "UPDATE debate_runs SET (next_round, next_stage, next_actor, next_target, wave_done) ="
            " (SELECT round, stage, actor, target, 0 FROM debate_turns t WHERE t.debate_id = ?"
            " ORDER BY seq DESC LIMIT 1), turns = turns - 1 WHERE id = ?",
            row["id"], row["id"],
        )  # fmt: skip
        self._world.checks.damaged.add(row["id"])
        self._world.checks.forget(rows_only=True)
        for serves in kinds or [True]:
            self._world.start(serves=serves)

    def _tear(self) -> None:
        """A file of some debate is damaged."""
        there = sorted(self._world.home.glob("records/debates/*/*.json"))
        if not there:
            return
        path = self._world.chance.choice(there)
        self._world.count("torn file")
        self._world.note(f"{path.name} of {path.parent.name[-6:]} is torn")
        self._world.checks.torn.add(path.parent.name)
        data = path.read_bytes()
        match self._world.chance.randint(0, 2):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(data[: self._world.chance.randint(0, len(data))])
            case _:
                path.write_bytes(b"\x00" * len(data))

    def tempt(self, row: dict[str, Any]) -> None:
        """What chance alone would rarely do: a stop while the last word is written down, and the
        death of a worker that has just been asked to halt."""
        if self._world.healing:
            return
        plan, chance = self._world.plan, self._world.chance
        at_its_end = row["status"] == "running" and row["next_round"] is None
        if at_its_end and plan.verbs and chance.random() < (0.4 if plan.council else 0.2):
            self._world.later(
                self._world.latency(), lambda: self._world.people.ask("stop", row["id"])
            )
        halting = row["wanted"] and not row["open_calls"]
        if (halting or at_its_end) and plan.kills and self._world.likely():
            for process in self._world.processes:
                if process.name == row["lease_owner"]:
                    self._world.count("kill")
                    self._world.mishaps += 1
                    process.fuse = chance.choice((1, 3, 6, 10, 15))

    def tempt_filer(self, process: "Process") -> None:
        """Whoever has written files dies or stands still before noting that, and those who stood
        still for long come back with calls that they made."""
        often = 0.3 if self._world.plan.council else 0.1
        deadly = self._world.plan.kills and self._world.chance.random() < often
        if deadly and not self._world.healing:
            self._world.count("kill")
            self._world.mishaps += 1
            process.fuse = 1
        if self._world.healing or not self._world.plan.stops or not self._world.likely():
            return
        for one in self._world.processes:
            if one.stopped:
                self._world.later(self._world.latency(), one.go_on)
        process.stop()
        self._world.later(self._world.chance.random(), process.go_on)
