"""What goes wrong: processes die or stand still, disks fill, clocks jump, databases grow old."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moot.core.status import RUNNABLE
from moot.testing.simulation.checks import place_of

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

    def strikes(self) -> bool:
        """Whether a process dies while it writes a file."""
        world = self._world
        return not world.healing and world.plan.kills > 0 and world.chance.random() < 0.01

    def waits(self, name: str) -> float:
        """For how long a thread that is to write files stands still first, while its process goes
        on. Meanwhile the next worker may file what came later."""
        world = self._world
        prone = name == "file" and world.plan.shape == "cluster" and world.plan.stops
        if not prone or world.healing or not world.likely():
            return 0.0
        world.count("stop of a thread")
        return world.chance.random() * 10

    def _fault(self, seconds: float, work: Callable[[], None]) -> None:
        self._world.later(seconds, lambda: self._world.healing or work())

    def _count(self, what: str, mishaps: int = 1) -> None:
        self._world.count(what)
        self._world.mishaps += mishaps

    def _doom(self, process: "Process", fuse: int) -> None:
        """It dies after so many more steps."""
        self._count("kill")
        process.fuse = fuse

    def _some(self) -> "Process | None":
        there = [one for one in self._world.processes if one.alive]
        return self._world.chance.choice(there) if there else None

    def _kill(self) -> None:
        if process := self._some():
            self._doom(process, self._world.chance.choice((1, 3, 10, 30, 100)))

    def _stop(self) -> None:
        if process := self._some():
            self._count("stop of a process")
            process.stop()
            self._world.later(self._world.chance.choice((1.0, 10.0, 60.0)), process.go_on)

    def _leave(self) -> None:
        if process := self._some():
            self._count("close")
            process.leave()

    def _outage(self) -> None:
        world = self._world
        name = world.chance.choice(("full", "away"))
        self._count(f"disk {name}" if name == "full" else f"database {name}", 3)
        world.note(f"{name} begins")
        setattr(world, name, True)
        lasts = world.chance.choice((0.5, 3.0, 15.0))
        world.outages.append((world.loop.time(), world.loop.time() + lasts))

        def over() -> None:
            world.note(f"{name} is over")
            setattr(world, name, False)

        world.later(lasts, over)

    def _jump(self) -> None:
        self._count("wrong clock", 3)
        self._world.ahead += self._world.chance.choice((-3600.0, -30.0, 30.0, 120.0))
        self._world.note(f"the clock is {self._world.ahead:g} s ahead")

    def _copy(self) -> None:
        self._copies.append(self._world.backend.copy())

    def _restore(self) -> None:
        self._count("restore", 10)
        with self._world.offline("an older database is restored"):
            self._world.backend.restore(self._world.chance.choice(self._copies))
            self._world.restored += 1
            self._world.forget()
        if self._world.plan.shape == "cluster":  # the queue is as old as the copy
            for row in self._world.checks.rows():
                if row["status"] in RUNNABLE:
                    self._world.post.put(row["id"], place_of(row))

    def _damage(self) -> None:
        """The cursor of a debate that goes on is set back to where it was a turn before."""
        world = self._world
        there = [
            row["id"]
            for row in world.checks.rows()
            if row["status"] in ("running", "paused") and row["turns"] > 1
        ]
        if not there:
            return
        name = world.chance.choice(there)
        self._count("damaged row", 3)
        with world.offline(f"the row of {name[-6:]} is damaged"):
            world.backend.ask(
                "UPDATE debate_runs SET (next_round, next_stage, next_actor, next_target,"
                " wave_done) = (SELECT round, stage, actor, target, 0 FROM debate_turns t"
                " WHERE t.debate_id = ? ORDER BY seq DESC LIMIT 1), turns = turns - 1 WHERE id = ?",
                name, name,
            )  # fmt: skip
            world.checks.damaged.add(name)
            world.checks.look_again()

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
        """What chance alone would rarely do: a stop while the last word is written down, the death
        of a worker that has just been asked to halt, and a message that comes again too early."""
        world = self._world
        if world.healing:
            return
        plan, chance = world.plan, world.chance
        at_its_end = row["status"] == "running" and row["next_round"] is None
        if at_its_end and plan.verbs and chance.random() < (0.4 if plan.council else 0.2):
            world.later(world.latency(), lambda: world.people.ask("stop", row["id"]))
        waits = row["not_before"] > world.wall() and row["lease_owner"] is None
        if waits and plan.shape == "cluster" and world.likely():
            world.post.put(row["id"], place_of(row))
        halting = row["wanted"] and not row["open_calls"]
        if (halting or at_its_end) and plan.kills and world.likely():
            for process in world.processes:
                if process.name == row["lease_owner"]:
                    self._doom(process, chance.choice((1, 3, 6, 10, 15)))

    def tempt_filer(self, process: "Process") -> None:
        """Whoever has written files dies or stands still before noting that, and those who stood
        still for long come back with calls that they made."""
        world = self._world
        often = 0.3 if world.plan.council else 0.1
        deadly = world.plan.kills and world.chance.random() < often
        if deadly and not world.healing:
            self._doom(process, 1)
        if world.healing or not world.plan.stops or not world.likely():
            return
        for one in world.processes:
            if one.stopped:
                world.later(world.latency(), one.go_on)
        process.stop()
        world.later(world.chance.random(), process.go_on)
