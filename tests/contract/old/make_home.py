"""Makes `home-0005`: a home as moot left it at schema 0005, for the versions after it to open.

Run it with the code of that version (commit c5d8982), from the root of the repository:

    python -m tests.contract.old.make_home tests/contract/old/home-0005

It writes `records/`, byte for byte as that version wrote it, and `database.json`: every row of
every table, and which debate stands for which case. Ids and times differ from run to run. The
processes that had the unfinished debates in hand were killed by SIGKILL in the middle of their
calls.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from moot.bootstrap import open_service
from moot.core import retry, verbs
from moot.core.debate import Usage
from moot.engine.service import Service
from moot.errors import ProviderError, ProviderRateLimitError, ProviderRefusedError
from moot.models.understudy import Understudy
from moot.ports.debate_store import Once
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store import schema, search
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.crash.harness import Books
from tests.integration.councils import answer

VERSION, SCHEMA = "c5d8982", "0005"
BEGAN = time.time()
BEGIN = 1_793_610_000.0  # 2026-11-02 09:00 UTC, a Monday
HOST = "a-machine"  # what leases name, in place of the machine that this ran on
WRITER = "openai:writer"
PATIENCE = 60.0  # seconds, for what a killed process is to do before
NUMBERED = {"debate_turns": "id", "debate_events": "id", "debate_attempts": "id"} | {
    "debate_actions": "key"
}
"""Columns that the database counts by itself: rows are kept in their order, without them."""

AWKWARD = (
    "Naïve — “quoted” 𝔘𝔫𝔦𝔠𝔬𝔡𝔢, cafe\u0301, 漢字、日本語。 עברית \u202eright\u202c to left, "
    "👩\u200d👩\u200d👧 and 🏳\ufe0f\u200d🌈.\r\n\r\n# A heading, *not* one\n\n- a | b \\| `c`\n"
    "1. <script>alert('&amp;')</script> [x](javascript:1)\n```\nfence\n```\n"
    "> \x1b[31mred\x1b[0m\x07 bell, \x00nul,\ttab, \u200bzero\u2028width\u00ad. "
    '{"json": "\\u0000 \\ud800"} $a_1^2$ ~~gone~~ ||| --- *** ___ \\n %s {motion} '
    "NULL '; DROP TABLE"
)
FAILING = {  # motion: (round, speaker) that refuse, every time
    "A speaker has failed": {(2, "ben")},
    "A speaker has failed and was skipped": {(2, "ben")},
    "A council waits for its analyst": {(1, "analyst")},
    "A council lost two voices": {(2, "critic"), (5, "judge")},
    "A council in which nobody spoke": {
        (1, role) for role in ("proponent", "critic", "analyst", "synthesizer", "judge")
    },
}
HALTING = {  # motion: (round, stage, speaker) where the call never comes to its end
    "A host ends this": (2, "discussion", "ben"),
    "A person has paused this": (2, "rebuttal", "ada"),
    "A person has stopped this": (2, "discussion", "ben"),
    "A standard was under way": (2, "discussion", "ben"),
    "A council was under way": (2, "round2", "critic"),
    "A duel was under way": (2, "duel", "ada"),
    "A classic was under way": (1, "opening", "ben"),
    "A custom was under way, in a cue": (1, "discussion", "host"),
    "Its summary was under way": (2, "discussion", "ada"),
    "On air when all went down?": (1, "duel", "ben"),
}
BUSY = {"A limit was reached for a moment"}


Work = Callable[[], Coroutine[Any, Any, None]]


class Ticking:
    """A clock that begins at the same moment whenever this is run."""

    def now(self) -> float:
        return BEGIN + time.time() - BEGAN


class Cast(ScriptedSpeaker):
    """Says, fails and halts as the motion has it."""

    def __init__(self, books: Books) -> None:
        super().__init__(self._say, usage=Usage(10, 5, 0.001))
        self._books = books
        self._understudy = Understudy()
        self._busy: set[str] = set()

    async def speak(self, call: Call, say: Say) -> Reply:
        motion, step = call.debate.motion, call.step
        if motion.endswith("understudy?"):
            return await self._understudy.speak(call, say)
        closing_halts = motion == "Its summary was under way" and step.kind == "summary"
        report_halts = motion == "Its report was under way" and step.stage == "report"
        here = (step.round, step.stage, step.actor)
        if here == HALTING.get(motion) or closing_halts or report_halts:
            what = "report" if report_halts else "summary" if closing_halts else "turn"
            self._books.note("halted", f"{what} {motion}")
            await asyncio.sleep(3600)
        return await super().speak(call, say)

    def _say(self, call: Call) -> str | ProviderError:
        motion, step = call.debate.motion, call.step
        if step.stage == "report":
            return json.dumps(_report(call))
        if (step.round, step.actor) in FAILING.get(motion, ()):
            return ProviderRefusedError(f"{call.model} declined to answer.")
        if motion in BUSY and step.round == 2 and step.actor not in self._busy:
            self._busy.add(step.actor)
            return ProviderRateLimitError("Slower, please.", input_tokens=7, cost_usd=0.0005)
        if motion == "A worker let it wait":
            return ProviderRateLimitError("Much slower, please.", retry_after=30.0)
        if (said := answer(call)) is not None:
            return json.dumps(said)
        return f"{plain(call)}\n{AWKWARD}" if motion.startswith("Naïve") else plain(call)


def _report(call: Call) -> dict[str, Any]:
    """What a model writes of a debate."""
    assert call.schema
    ids = call.schema["properties"]["speakers"]["items"]["properties"]["speaker"]["enum"]
    first = {turn.actor: turn.seq for turn in reversed(call.heard)}
    points = [{"speaker": i, "points": [{"text": f"{i} holds on.", "turn": first[i]}]} for i in ids]
    return {"summary": "They spoke, and “nobody” <b>moved</b>.", "speakers": points}


class Maker:
    """A home in the making, and the books beside it."""

    def __init__(self, root: Path) -> None:
        self.books = Books(root)
        self.home = root / "home"

    def settings(self, **more: Any) -> Settings:
        return Settings(home=self.home, sweep_seconds=0.05, **more)

    @asynccontextmanager
    async def open(self, *, recover: bool = False, **more: Any) -> AsyncGenerator[Service]:
        async with open_service(
            self.settings(**more), speaker=Cast(self.books), clock=Ticking(), recover=recover
        ) as service:
            yield service

    def case(self, label: str, debate_id: str) -> str:
        self.books.note("cases", f"{label} {debate_id}")
        return debate_id

    @property
    def cases(self) -> dict[str, str]:
        return dict(line.split() for line in self.books.book("cases"))

    async def halted(self, *lines: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not set(lines) <= set(self.books.book("halted")):
                await asyncio.sleep(0.01)

    async def held(self, service: Service, label: str, motion: str, **asked: Any) -> str:
        """One that comes to its end, or as far as it gets."""
        made = await service.create(motion, **asked)
        await service.wait(made.id)
        return self.case(label, made.id)

    async def council(self, service: Service, label: str, problem: str) -> str:
        made = await service.council({"problem": problem, "outputType": "decision"})
        await service.wait(made.id)
        return self.case(label, made.id)

    def killed(
        self, work: Callable[[], Coroutine[Any, Any, None]], place: str | None = None
    ) -> None:
        """In a process that kills itself at the end of its work, or when it comes to that place."""
        pid = os.fork()
        if pid == 0:
            try:
                if place:
                    self.books.die_at(place)
                asyncio.run(work())
            except BaseException:  # a mistake must be seen, not lost in a child
                self.books.note("errors", traceback.format_exc())
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        wrong = self.books.book("errors")
        assert os.WIFSIGNALED(status), "\n".join(wrong)

    # --- what came to rest ---

    async def at_rest(self) -> None:
        seats = [{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}]
        host = {"name": "Mira", "model": "openai:gpt-5"}
        one_round = {"rounds": 1}
        async with self.open() as service:
            for name, bio in (("Ada", "A baker from Graz."), ("Ben", "A pilot."), ("Cleo", "")):
                await service.agents.create({"name": name, "bio": bio, "model": "local"})
            await self.held(service, "standard-completed", "A standard came to its end",
                            options={"rounds": 2},
                            participants=[*seats, {"name": "Zoë O’Hara"}])  # fmt: skip
            await self.held(service, "standard-hosted-completed", "A host summed this up",
                            options=one_round, host=host)  # fmt: skip
            classic = await self.held(service, "classic-completed", "A model wrote its report",
                                      format="classic", options={"free_rounds": 1})  # fmt: skip
            await service.remake_report(classic, WRITER)
            await self.held(
                service, "custom-completed", f"Naïve? {AWKWARD}", format="custom",
                options=one_round, host=host,
                participants=[{"name": "Zoë <b>“O’Hara”</b>", "bio": AWKWARD},
                              {"name": "李四 | *x*", "model": "nobody:has-this"}],
            )  # fmt: skip
            await self.held(service, "duel-completed", "Saved agents spoke", format="duel",
                            participants=[{"agent": "ada"}, {"agent": "ben"}],
                            once=Once("a-key", "its-digest"))  # fmt: skip
            await self.held(service, "duel-understudy", "Who speaks, the understudy?",
                            format="duel", limits={"max_turns": 4})  # fmt: skip
            await self.held(service, "duel-retried", "A limit was reached for a moment",
                            format="duel", limits={"max_turns": 4})  # fmt: skip
            await self.held(service, "budget", "Its budget ran out", host=host,
                            limits={"max_total_tokens": 950, "max_turn_tokens": 128})  # fmt: skip
            await self.council(service, "council-completed", "Should we ship — “now”?")
            await self.council(service, "council-understudy", "Should we hire the understudy?")
            await self.council(service, "council-degraded", "A council lost two voices")
            await self.council(service, "council-failed", "A council in which nobody spoke")
            await self.held(service, "council-paused-by-failure", "A council waits for its analyst",
                            format="council", brief={"output_type": "planning"},
                            on_failure="pause")  # fmt: skip
            await self.held(service, "duel-paused-by-failure", "A speaker has failed",
                            format="duel")  # fmt: skip
            skipped = await self.held(
                service, "duel-skipped", "A speaker has failed and was skipped", format="duel"
            )
            await service.skip(skipped)
            await service.wait(skipped)
            await self.by_a_person(service, host)
            await self.on_a_station(service)

    async def by_a_person(self, service: Service, host: dict[str, Any]) -> None:
        """Each is halted in the middle of a call, which a person then calls off."""
        ended = await service.create("A host ends this", host=host)
        await self.halted("turn A host ends this")
        await service.end(self.case("ended", ended.id))
        paused = await service.create("A person has paused this", format="classic")
        await self.halted("turn A person has paused this")
        await service.pause(self.case("classic-paused", paused.id), at_once=True)
        stopped = await service.create("A person has stopped this")
        await self.halted("turn A person has stopped this")
        await service.pause(self.case("stopped", stopped.id), at_once=True)
        await service.wait(stopped.id)
        await service.stop(stopped.id)
        for one in (ended, paused, stopped):
            await service.wait(one.id)

    async def on_a_station(self, service: Service) -> None:
        station = await service.stations.create({
            "name": "Morning", "about": "Monday mornings.", "cron": "0 9 * * MON", "missed": "skip",
            "zone": "Europe/Berlin", "motions": ["First?", "Second?"],
            "agents": ["ada", "ben", "cleo"], "limits": {"max_turns": 2},
        })  # fmt: skip
        aired = await service.stations.air(station.id)
        await service.wait(self.case("station-finished", aired.id))
        waits = await service.stations.schedule(station.id, motion="Later?", at="2027-12-24T18:00")
        self.case("station-waiting", waits.id)
        off = await service.stations.schedule(station.id, motion="Off?", at="2027-12-25T18:00")
        await service.stations.cancel(self.case("station-cancelled", off.id))

    # --- what was under way ---

    async def first_lost(self) -> None:
        async with self.open() as service:
            one = await service.create("A standard was under way")
            self.case("standard-running", one.id)
            two = await service.council(
                {"problem": "A council was under way", "outputType": "decision"}
            )
            self.case("council-running", two.id)
            await self.halted(f"turn {one.motion}", f"turn {two.motion}")
            while (await service.get(two.id)).turns < 9:  # type: ignore[attr-defined]  an older moot's
                await asyncio.sleep(0.01)
            _die()

    async def second_lost(self) -> None:
        """What the first had in hand is taken up again, and lost once more."""
        async with self.open(recover=True, report_model=WRITER) as service:
            hosted = {"host": {"name": "Mira"}}
            made: list[tuple[str, str, dict[str, Any]]] = [
                ("duel-running", "A duel was under way", {"format": "duel"}),
                ("classic-running", "A classic was under way", {"format": "classic"}),
                ("custom-running", "A custom was under way, in a cue", {"format": "custom"}),
                ("ending", "Its summary was under way", hosted),
                ("report-wanted", "Its report was under way", {"format": "duel"}),
            ]
            for label, motion, asked in made:
                self.case(label, (await service.create(motion, **asked)).id)
            station = await service.stations.create({
                "name": "Evening", "motions": ["On air when all went down?"],
                "agents": ["ada", "ben"], "limits": {"max_turns": 2},
            })  # fmt: skip
            self.case("station-on-air", (await service.stations.air(station.id)).id)
            await self.halted(f"turn {made[3][1]}")
            await service.end(self.cases["ending"])
            await self.halted(
                *(f"turn {motion}" for _, motion, _ in made[:3]),
                "turn On air when all went down?",
                "summary Its summary was under way",
                "report Its report was under way",
            )
            async with asyncio.timeout(PATIENCE):
                while self.books.book("halted").count("turn A standard was under way") < 2:
                    await asyncio.sleep(0.01)
                while self.books.book("halted").count("turn A council was under way") < 2:
                    await asyncio.sleep(0.01)
            _die()

    async def filed_council(self) -> None:
        async with self.open() as service:
            asked = {"problem": "Filed, and not decided yet", "outputType": "decision"}
            made = await service.council(asked)
            self.case("council-filed", made.id)
            await service.wait(made.id)

    async def filed_duel(self) -> None:
        async with self.open() as service:
            made = await service.create("Filed, and not noted yet", format="duel")
            self.case("duel-filed", made.id)
            await service.wait(made.id)

    async def not_begun(self) -> None:
        async with self.open() as service:
            queued = await service.create("It was queued", format="duel", start=False)
            self.case("queued", queued.id)
            await service._store.change(queued.id, lambda row: verbs.enqueue(row, row.created_at))
            scheduled = await service.create("It was never started", format="duel", start=False)
            self.case("scheduled", scheduled.id)
            service._advancer._shared = True  # as a worker of a cluster, who lets go what waits
            waits = await service.create("A worker let it wait", format="duel")
            self.case("waiting-to-retry", waits.id)
            async with asyncio.timeout(PATIENCE):
                while not (await service.get(waits.id)).not_before:
                    await asyncio.sleep(0.01)

    # --- what is kept ---

    def dump(self, to: Path) -> None:
        file = self.settings().file
        with closing(sqlite3.connect(file)) as conn:
            conn.row_factory = sqlite3.Row
            tables = [
                row[0]
                for row in conn.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'debate_%'"
                    " AND name NOT LIKE 'debate_search%' AND name != 'debate_schema' ORDER BY name"
                )
            ]
            rows = {name: _rows(conn, name) for name in tables}
            (version,) = conn.execute("SELECT version_num FROM debate_schema").fetchone()
        assert version == SCHEMA
        rows["debate_search"] = [
            {"number": row["number"], "words": " ".join(search.words_of(row))}
            for row in rows["debate_runs"]
        ]
        if to.exists():
            shutil.rmtree(to)
        shutil.copytree(self.home / "records", to / "records")
        head = {"version": VERSION, "schema": SCHEMA, "cases": self.cases}
        said = [f"{_json(name)}: {_json(value)}" for name, value in head.items()]
        for name, found in rows.items():
            lines = ",\n".join(map(_json, found))
            said.append(f"{_json(name)}: [\n{lines}\n]")
        text = "{\n" + ",\n".join(said) + "\n}\n"
        (to / "database.json").write_text(text, "utf-8", newline="\n")


def _die() -> None:
    """With all that is in hand, and with no goodbye."""
    os.kill(os.getpid(), signal.SIGKILL)


def _rows(conn: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    rows = [dict(row) for row in conn.execute(f"SELECT * FROM {table} ORDER BY rowid")]
    return [{k: v for k, v in row.items() if k != NUMBERED.get(table)} for row in rows]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    assert schema.HEAD == SCHEMA, f"run it with the version of schema {SCHEMA}: {VERSION}"
    socket.gethostname = lambda: HOST
    retry.WAITS = (0.01, 0.02, 0.03)
    with tempfile.TemporaryDirectory() as root:
        maker = Maker(Path(root))
        asyncio.run(maker.at_rest())
        maker.killed(maker.first_lost)
        maker.killed(maker.second_lost)
        maker.killed(maker.filed_council, "filed")
        maker.killed(maker.filed_duel, "filed")
        asyncio.run(maker.not_begun())
        maker.dump(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
