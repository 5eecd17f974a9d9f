"""People: they make debates, use every verb at any moment, and read along."""

from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from moot.core.events import Delta, TurnCommitted
from moot.engine.service import Service
from moot.errors import MootError, StorageError
from moot.ports.debate_store import Once
from moot.testing.simulation.checks import NUMBERED

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process
    from moot.testing.simulation.world import World

VERBS = (
    "stop", "pause", "pause at once", "resume", "resume", "end", "retry", "retry with another",
    "skip", "make", "make twice", "read", "report", "remake the report",
)  # fmt: skip
BY_PEOPLE = ("say", "say twice")
"""What people do in debates in which they sit, and as notes in all of them."""
OF_KEEPERS = ("fork", "fork", "rerun", "rejudge", "delete")
"""What people do with debates that they have: in few schedules, for the same reason."""
ON_STATIONS = ("schedule", "air", "run", "cancel", "start")
SEATS = [{"name": "Ada", "model": "claude:a"}, {"name": "Ben", "model": "openai:b"}]
ANOTHER = {"participants": [{"id": "ada", "model": "openai:other"}]}
MORE = {"sources": [{"title": "Note", "text": "It was so in the year before, too."}]}
"""What a fork changes: who speaks, and what is read."""
BRISK = {"max_turn_seconds": 5}
"""The shortest silence that moot allows: time that passes costs steps."""
NOTHING_MISSED = "a reader misses nothing"
Work = Callable[[Service], Awaitable[object]]
STATION = {
    "name": "One",
    "id": "one",
    "cron": "* * * * *",
    "motions": ["First?", "Second?"],
    "agents": ["ada", "ben"],
    "limits": {"max_turns": 2, "max_turn_seconds": 5},
}


ACCORD = """
name = "accord"
title = "Accord"
description = "They go on until they agree."
guidance = "Say where you stand."
[roster]
min = 2
[[stages]]
name = "positions"
rounds = 3
together = true
answer = "position"
until = "agreement"
ask = "Take a position."
[[stages]]
name = "talk"
rounds = 2
answer = "position"
until = "agreement"
ask = "Take a position, once you have heard the others."
"""
"""A format of the user's own: its stages may end early."""


def with_jury(asked: dict[str, Any], chance: Random) -> dict[str, Any]:
    """The same debate, perhaps with a jury; and then often with a budget that is too small for all
    of it."""
    if chance.random() < 0.6:
        return asked
    jury = {"swap": chance.random() < 0.8, "baseline": chance.random() < 0.6}
    asked = {**asked, "jury": {"size": chance.choice((1, 2, 3, 3, 4)), **jury}}
    if chance.random() < 0.4:
        limits = {**asked["limits"], "max_total_tokens": chance.randint(2_000, 45_000)}
        asked["limits"] = limits
    return asked


def looks_for_depth(seed: int) -> bool:
    """Whether debates with a jury look for their depth in this schedule."""
    return seed % 13 == 6 or seed % 29 == 11


def with_depth(asked: dict[str, Any], chance: Random) -> dict[str, Any]:
    """The same debate, perhaps one that is left out if two seats agree before it."""
    if "jury" not in asked or chance.random() < 0.1:
        return asked
    return {**asked, "depth": "auto", "audit": chance.choice((0.0, 0.3, 1.0))}


def speaks_up(seed: int) -> bool:
    """Whether people speak in this schedule. In most they only give orders: those are the schedules
    by which guards that are missing are noticed."""
    return seed % 17 == 16 or seed % 19 == 5


def keeps(seed: int) -> bool:
    """Whether people fork, judge, repeat and delete debates in this schedule."""
    return seed % 23 == 3 or seed % 29 == 11


def with_people(asked: dict[str, Any], chance: Random) -> dict[str, Any]:
    """The same debate, perhaps with a person in one of its seats."""
    asked = dict(asked)
    if asked["format"] != "accord" and chance.random() < 0.6:
        seats = [*SEATS]
        seats[chance.randint(0, 1)] = {"name": "Me", "model": "human"}
        asked["participants"] = seats
    if "host" in asked and chance.random() < 0.2:
        asked["host"] = {"name": "Host", "model": "human"}
    return asked


def request(chance: Random) -> dict[str, Any]:
    """A debate somebody may ask for: short, of any format but the council."""
    kind = chance.choice(("duel", "duel", "standard", "classic", "custom"))
    asked: dict[str, Any] = {
        "motion": "Is it so?", "format": kind, "participants": SEATS, "limits": dict(BRISK),
    }  # fmt: skip
    if kind == "duel":
        asked["limits"]["max_turns"] = chance.randint(1, 4)
    elif kind == "standard":
        asked["options"] = {"rounds": chance.randint(1, 2)}
        if chance.random() < 0.5:
            asked["host"] = {"name": "Host", "model": "gemini:h"}
        elif asked["options"]["rounds"] == 2:
            asked |= {"format": "accord", "options": {}}
    else:
        asked["host"] = {"name": "Host", "model": "gemini:h"}
        asked["options"] = {"rounds": 1} if kind == "custom" else {"free_rounds": 1}
    if chance.random() < 0.2:
        asked["limits"]["max_total_tokens"] = chance.randint(1000, 12_000)
    if chance.random() < 0.3:
        asked["on_failure"] = chance.choice(("pause", "degrade"))
    return asked


class People:
    """Whoever uses moot in a schedule."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.debates: list[str] = []
        self._keys: dict[str, str] = {}
        self._juries = Random(f"juries {world.seed}")  # noqa: S311  beside all else that is drawn
        self._voices = Random(f"people {world.seed}")  # noqa: S311  the same
        self._keeping = Random(f"keepers {world.seed}")  # noqa: S311  the same
        self._said = 0
        self._readers: dict[str, int] = {}  # how far each has read
        self._reading: dict[str, tuple[Process, Callable[[], bool]]] = {}  # where each reads

    def begin(self) -> None:
        world = self._world
        for number in range(world.plan.debates):
            council = world.plan.council and number == 0
            self.ask("council" if council else "make")
        if world.plan.station:
            self.ask("station")
        if speaks_up(world.seed):
            self._speak_up()
        if keeps(world.seed):
            self._keep()

    def _keep(self) -> None:
        """Somebody does something with a debate as a whole, until all is to come to rest."""
        if self._world.healing:
            return
        if self.debates:
            self.ask(self._keeping.choice(OF_KEEPERS), self._keeping.choice(self.debates))
        self._world.later(0.5 + 4 * self._keeping.random(), self._keep)

    def _speak_up(self) -> None:
        """Somebody says something in some debate, until all is to come to rest."""
        if self._world.healing:
            return
        if self.debates:
            self.ask(self._voices.choice(BY_PEOPLE), self._voices.choice(self.debates))
        self._world.later(0.3 + 2 * self._voices.random(), self._speak_up)

    def act(self, debate: str | None = None) -> None:
        """One of them does something, and to some debate, somewhere; often the next one, too."""
        world = self._world
        verbs = VERBS + ON_STATIONS * 3 if world.plan.station else VERBS
        if debate is None and self.debates:
            debate = world.chance.choice(self.debates)
        self.ask(world.chance.choice(verbs), debate)
        if debate is not None and world.chance.random() < 0.5:
            world.later(world.chance.random(), lambda: self.act(debate))

    def ask(self, verb: str, debate: str | None = None) -> None:
        world = self._world
        servers = [one for one in world.processes if one.serves and one.service and one.alive]
        if not servers:
            world.later(0.5, lambda: self.ask(verb, debate))
            return
        process = world.chance.choice(servers)
        work = self._work(verb, debate)
        if work is None:
            return
        world.note(f"{process.name} is asked to {verb} {(debate or '')[-6:]}")
        world.count(f"verb {verb}")

        async def told(service: Service) -> None:
            try:
                await work(service)
            except MootError as error:
                world.note(f"refused: {type(error).__name__}")

        process.spawn(told)

    def _work(self, verb: str, debate: str | None) -> Work | None:
        """What a server does for that verb. None: it needs a debate, and there is none."""
        chance = self._world.chance
        asked, again, key = request(chance), request(chance), f"key-{chance.randint(1, 2)}"
        asked, again = with_jury(asked, self._juries), with_jury(again, self._juries)
        if looks_for_depth(self._world.seed):
            asked, again = with_depth(asked, self._juries), with_depth(again, self._juries)
        if speaks_up(self._world.seed):
            asked, again = with_people(asked, self._voices), with_people(again, self._voices)
        new: dict[str, Work] = {
            "make": lambda s: self._make(s, asked),
            "make twice": lambda s: self._make_twice(s, again, key),
            "council": self._council,
            "station": self._station,
            "schedule": lambda s: s.stations.schedule("one"),
            "air": lambda s: s.stations.air("one"),
        }
        if verb in ("run", "cancel"):
            debate = self._waiting() or debate
        if verb in new or debate is None:
            return new.get(verb)
        known: dict[str, Callable[[Service, str], Awaitable[object]]] = {
            "stop": self._stop,
            "end": Service.end,
            "pause": Service.pause,
            "pause at once": self._pause_at_once,
            "resume": Service.resume,
            "retry": Service.retry,
            "retry with another": lambda s, id_: s.retry(id_, "openai:other"),
            "skip": Service.skip,
            "read": Service.turns,
            "report": Service.report,
            "remake the report": Service.remake_report,
            "run": lambda s, id_: s.stations.run(id_),
            "cancel": lambda s, id_: s.stations.cancel(id_),
            "start": Service.start,
            "say": self._say,
            "say twice": partial(self._say, times=2),
            "fork": self._fork,
            "rerun": self._rerun,
            "rejudge": self._rejudge,
            "delete": self._delete,
        }
        return lambda service: known[verb](service, debate)

    def _waiting(self) -> str | None:
        """One of the conversations that wait for their time on air."""
        there = self._world.checks.ask(
            "SELECT debate_id FROM debate_conversations WHERE waiting = 1 ORDER BY debate_id"
        )
        return self._world.chance.choice(there)[0] if there else None

    def _known(self, debate_id: str) -> None:
        if debate_id not in self.debates:
            self.debates.append(debate_id)
            if len(self._readers) < self._world.plan.readers:
                self._readers[debate_id] = 0
        self._world.checks.made.add(debate_id)

    async def _make(self, service: Service, asked: dict[str, Any], once: Once | None = None) -> str:
        debate = await service.create(**asked, once=once)
        self._known(debate.id)
        return debate.id

    async def _make_twice(self, service: Service, asked: dict[str, Any], key: str) -> None:
        rule = "a request with a key is carried out once"
        for _ in range(2):
            try:
                made = await self._make(service, {**asked, "motion": key}, Once(key, key))
            except StorageError as error:
                known = "No free id" not in str(error)  # as if it were another request
                self._world.checks.hold(known, rule, f"{key}: {error}")
                return
            known = self._keys.setdefault(key, made)
            self._world.checks.hold(known == made, rule, key)

    async def _council(self, service: Service) -> None:
        asked: dict[str, Any] = {"motion": "What now?", "format": "council", "limits": dict(BRISK)}
        asked = with_jury(asked, self._juries)
        if looks_for_depth(self._world.seed):
            seats = [
                {"role": "Proponent", "model": "claude:a"},
                {"role": "Critic", "model": "openai:b"},
            ]
            asked |= {"participants": seats, "depth": "auto", "audit": 0.3}
        if "jury" in asked or "depth" in asked:
            await self._make(service, asked)
            return
        own = {"problem": "What now?", "output_type": "decision", **BRISK}
        self._known((await service.council(own)).id)

    async def _station(self, service: Service) -> None:
        for name in ("Ada", "Ben"):
            await service.agents.create({"name": name})
        missed = self._world.chance.choice(("air", "skip"))
        await service.stations.create({**STATION, "missed": missed})

    async def _stop(self, service: Service, debate_id: str) -> None:
        await service.stop(debate_id)
        self._world.checks.stop_accepted(debate_id)

    async def _say(self, service: Service, debate_id: str, times: int = 1) -> None:
        """Say something, or the same again with the same key, as if the answer had been lost."""
        self._said += 1
        text = f"Word {self._said}."
        for _ in range(times):
            await service.say(debate_id, text, once=Once(text, text))
        self._world.checks.said(debate_id, text)

    async def _pause_at_once(self, service: Service, debate_id: str) -> None:
        self._world.called_off = True
        await service.pause(debate_id, at_once=True)

    async def _fork(self, service: Service, debate_id: str) -> None:
        turns = await service.turns(debate_id)
        if turns:
            changes = self._keeping.choice((None, ANOTHER, MORE, {**ANOTHER, **MORE}))
            after = self._keeping.choice(turns).seq
            self._known((await service.fork(debate_id, after, changes=changes)).id)

    async def _rerun(self, service: Service, debate_id: str) -> None:
        self._known((await service.rerun(debate_id)).id)

    async def _rejudge(self, service: Service, debate_id: str) -> None:
        size = self._keeping.choice((1, 3))
        self._known((await service.rejudge(debate_id, jury={"size": size})).id)

    async def _delete(self, service: Service, debate_id: str) -> None:
        self._world.checks.deletable.add(debate_id)
        await service.delete(debate_id)

    def lose(self, debate_id: str) -> None:
        """It was deleted, and the keys by which it was made with it."""
        self._keys = {key: made for key, made in self._keys.items() if made != debate_id}
        self._readers.pop(debate_id, None)
        self._reading.pop(debate_id, None)

    # --- readers ---

    def read_along(self) -> None:
        """Whoever reads is connected to some server; when that is gone, to another."""
        servers = [one for one in self._world.processes if one.serves and one.service]
        for debate_id in self._readers if servers else ():
            process, done = self._reading.get(debate_id, (None, None))
            if process is None or done is None or not process.alive or done():
                process = self._world.chance.choice(servers)
                reading = partial(self._read, debate_id=debate_id, restored=self._world.restored)
                self._reading[debate_id] = process, process.spawn(reading)

    def forget(self) -> None:
        """An older database: readers begin anew, and keys are not known."""
        self._keys.clear()
        self._readers = dict.fromkeys(self._readers, 0)
        self._reading.clear()

    async def _read(self, service: Service, debate_id: str, restored: int) -> None:
        after = self._readers.get(debate_id)
        if after is None:  # it was deleted before this process came to read it
            return
        async for event in service.follow(debate_id, after):
            if isinstance(event, Delta):
                continue
            if restored != self._world.restored:
                return
            self._world.checks.hold(
                event.seq == after + 1, NOTHING_MISSED, f"{debate_id}: {event.seq} after {after}"
            )
            if isinstance(event, TurnCommitted):
                turn = event.turn
                holds = turn.number == self._heard(debate_id, turn.seq)
                self._world.checks.hold(holds, NUMBERED, f"{debate_id}: {turn.number}")
            after = event.seq
            if debate_id in self._readers:  # it is not deleted
                self._readers[debate_id] = max(after, self._readers[debate_id])

    def _heard(self, debate_id: str, seq: int) -> int:
        """How many turns a debate has up to that entry of its log."""
        asked = "SELECT COUNT(*) FROM debate_turns WHERE debate_id = ? AND seq <= ?"
        return self._world.checks.ask(asked, debate_id, seq)[0][0]

    def unread(self) -> list[str]:
        """What somebody who reads along has not read to its end."""
        last = {row["id"]: row["last_seq"] for row in self._world.checks.rows()}
        behind = self._world.checks.behind()
        return [
            f"{name}: read up to {seq} of {last[name]}"
            for name, seq in self._readers.items()
            if name in last and name not in behind and seq != last[name]
        ]

    def check_readers(self) -> None:
        """By now everybody has read everything."""
        for unread in self.unread():
            self._world.checks.fail(NOTHING_MISSED, unread)
