"""An eval: every item of every arm is a debate that happens once, whatever interrupts it."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.errors import ConflictError, InputError, ProviderAuthError
from moot.evals.arms import parse
from moot.evals.datasets import Item
from moot.evals.eval_result import result
from moot.evals.generators import Gym
from moot.evals.running import Asked, Run, run
from moot.models.understudy import Understudy
from moot.ports.finding import Search
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.settings import Settings
from moot.testing.skilled import Skill, Skilled
from tests.integration.evals import MODEL, SKILLS, asked
from tests.patience import Patience
from tests.stress import STRESS
from tests.virtual import engine, go

ARMS = ("single", "vote@3", "jury", "council") if STRESS else ("single", "vote@3", "jury")
ITEMS, KILLS = (300, 50) if STRESS else (6, 2)
LONG = "council" if STRESS else "jury"
_context = get_context("forkserver")


def skilled(wanted: Asked, seconds: float = 0.0) -> Skilled:
    return Skilled(wanted.dataset.items, SKILLS, seconds)


def done(
    wanted: Asked, home: Path, speaker: Skilled | None = None, report_model: str | None = None
) -> Run:
    """The eval, run to its end in virtual time."""

    async def work() -> Run:
        settings = Settings(home=home, model=MODEL, report_model=report_model)
        async with engine(settings, speaker or skilled(wanted)) as service:
            return await run(service, wanted)

    return go(work(), within=1e9)


async def debates(home: Path) -> list[str]:
    async with open_service(Settings(home=home, model=MODEL), recover=False) as service:
        page = await service.find(Search(limit=10_000))
        return [one.motion + one.format for one in page.debates]


def table(made: Run) -> dict[str, Any]:
    """What an eval came to, without what depends on chance: ids, and what was lost in crashes."""
    found = result(made)
    for row in found["items"]:
        for answer in row["answers"].values():
            del answer["debate"]
    del found["again"], found["spentUsd"]
    return found


# --- exactly once ---


def test_asking_again_calls_nobody_and_says_the_same(tmp_path: Path) -> None:
    wanted = asked(3, "single", "vote@3", "jury")
    first = done(wanted, tmp_path)
    again = skilled(wanted)
    assert done(wanted, tmp_path, again).answers == first.answers
    assert again.calls == 0
    more = asked(4, "single", "vote@3", "jury", "redteam")
    second = done(more, tmp_path, again)
    assert {key: second.answers[key] for key in first.answers} == first.answers
    added, others = 4 * 5, 1 + 3 + 6
    assert again.calls == added + others, "only what was added is asked"
    other = replace(asked(1, "single", "jury"), name="anew")
    assert {one.debate for one in done(other, tmp_path).answers.values()}.isdisjoint(
        one.debate for one in first.answers.values()
    )


def worker(home: Path, count: int, specs: tuple[str, ...]) -> None:
    async def work() -> None:
        wanted = asked(count, *specs)
        settings = Settings(home=home, model=MODEL)
        async with open_service(settings, speaker=skilled(wanted, 0.002)) as service:
            await run(service, wanted)

    asyncio.run(work())


def killed(home: Path, kills: int, chance: random.Random) -> int:
    """Kill the eval as often as that while it runs; returns how often it was killed."""
    _context.set_forkserver_preload(["tests.integration.test_evals"])
    done = 0
    while done < kills:
        process = _context.Process(target=worker, args=(home, ITEMS, ARMS))
        process.start()
        started = _turns(home)
        patience = Patience()
        while process.is_alive() and _turns(home) < started + chance.randint(3, 40):
            assert not patience.over
            time.sleep(0.02)
        if not process.is_alive():
            break
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        done += 1
    return done


def _turns(home: Path) -> int:
    """How many turns were committed, as the files beside the database tell."""
    import sqlite3
    from contextlib import closing

    file = Settings(home=home).file
    if not file.exists():
        return 0
    try:
        with closing(sqlite3.connect(file)) as conn:
            return int(conn.execute("SELECT count(*) FROM debate_turns").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # it is being made


@pytest.mark.sqlite_only
def test_an_eval_that_is_killed_again_and_again_comes_to_the_same(tmp_path: Path) -> None:
    chance = random.Random(23)
    kills = killed(tmp_path / "killed", KILLS, chance)
    assert kills == KILLS, "it must be killed while it works"
    wanted = asked(ITEMS, *ARMS)

    async def rest() -> Run:
        settings = Settings(home=tmp_path / "killed", model=MODEL)
        async with open_service(settings, speaker=skilled(wanted)) as service:
            return await run(service, wanted)

    made = asyncio.run(rest())
    calm = done(wanted, tmp_path / "calm")
    assert table(made) == table(calm)
    found = asyncio.run(debates(tmp_path / "killed"))
    assert len(found) == len(wanted.dataset.items) * len(ARMS), "none twice, none lost"
    lost = result(made)["again"]["calls"]
    print(f"{kills} kills, {len(found)} debates, {lost} calls lost")
    assert 0 <= lost <= kills * wanted.at_once * 2 * 5


# --- cost ---


def test_votes_cost_what_they_match(tmp_path: Path) -> None:
    wanted = asked(300 if STRESS else 12, "single", LONG, "vote@match", match=LONG)
    made = done(wanted, tmp_path)
    arms = {one["arm"]: one for one in result(made)["arms"]}
    assert arms["vote@match"]["ofTarget"] == pytest.approx(1, abs=0.05)
    assert len(arms["vote@match"]["votes"]) > 1, "a whole number of votes does not match by itself"


def test_sizes_wait_for_what_they_follow_from(tmp_path: Path) -> None:
    wanted = replace(asked(6, "jury", "vote@match", match="jury"), at_once=2)
    refused = wanted.dataset.items[1]
    broken = Refusing(wanted, lambda call: refused.question in call.debate.motion)
    part = done(wanted, tmp_path, broken)
    assert part.of(wanted.dataset.items[4], wanted.arms[1]) is None
    whole = done(wanted, tmp_path)
    assert whole.complete(refused)
    assert table(whole) == table(done(wanted, tmp_path / "calm"))


@pytest.mark.parametrize("budget", [0.03, 0.12, 0.3] if STRESS else [0.12])
def test_a_budget_is_not_exceeded_and_what_fits_is_asked(tmp_path: Path, budget: float) -> None:
    wanted = replace(asked(60, "single", "jury"), budget=budget)
    made = done(wanted, tmp_path)
    found = result(made)
    assert made.spent <= budget
    assert found["stopped"] == "The budget has no room for another item."
    assert 0 < found["compared"] < 60 or budget == 0.03
    assert done(wanted, tmp_path).answers == made.answers, "it stops where it stopped before"


class Paid(Skilled):
    """Adds up what all its calls cost."""

    paid = 0.0

    async def speak(self, call: Call, say: Say) -> Reply:
        reply = await super().speak(call, say)
        self.paid += reply.usage.cost_usd
        return reply


def test_reports_that_a_model_writes_are_paid_from_the_same_budget(tmp_path: Path) -> None:
    wanted = replace(asked(3, "single", "jury"), budget=1.0)
    speaker = Paid(wanted.dataset.items, SKILLS)
    made = done(wanted, tmp_path, speaker, report_model=MODEL)
    assert all(one.report_usd for one in made.answers.values())
    assert made.spent == pytest.approx(speaker.paid)


# --- what fails ---


class Refusing(Skilled):
    """Refuses some calls for good."""

    def __init__(self, wanted: Asked, refuses: Callable[[Call], bool]) -> None:
        super().__init__(wanted.dataset.items, SKILLS)
        self._refuses = refuses

    async def speak(self, call: Call, say: Say) -> Reply:
        if self._refuses(call):
            self.calls += 1
            raise ProviderAuthError("The key was refused.")
        return await super().speak(call, say)


def test_an_outage_is_no_wrong_answer_and_is_tried_again_once_in_each_run(tmp_path: Path) -> None:
    wanted = asked(4, "single", "jury")
    broken = Refusing(wanted, lambda call: "number 2" in call.debate.motion)
    made = done(wanted, tmp_path, broken)
    found = result(made)
    assert found["compared"] == 3
    assert [one["item"] for one in found["unfinished"]] == ["q2", "q2"]
    assert "The key was refused." in found["unfinished"][0]["why"]
    calls = broken.calls
    done(wanted, tmp_path, broken)
    assert broken.calls - calls <= 2 * (1 + 3), "each was tried again once"
    whole = result(done(wanted, tmp_path))
    assert (whole["compared"], whole["unfinished"]) == (4, [])


def test_arms_that_cannot_answer_are_refused_before_any_call(tmp_path: Path) -> None:
    for spec, said in [
        ("duel", "Add a jury"),
        ("duel+jury3", "two sides"),
        ("nothing", "no format"),
        ("council,Nobody=openai", "neither an option nor a role"),
    ]:
        wanted = asked(4, "single", spec)
        speaker = skilled(wanted)
        with pytest.raises(InputError, match=said):
            done(wanted, tmp_path, speaker)
        assert speaker.calls == 0
    for spec in ("vote@0", "vote@x", "single+jury3", "council@3", "jury,seats=99", "Not an arm"):
        with pytest.raises(InputError, match="--arm"):
            parse(spec)


def test_sides_answer_questions_with_two_options(tmp_path: Path) -> None:
    wanted = asked(6, "single", "duel+jury3", options=2)
    sure = Skilled(wanted.dataset.items, {MODEL: Skill(1.0)})
    made = done(wanted, tmp_path, sure)
    answers = [made.of(item, wanted.arms[1]) for item in wanted.dataset.items]
    assert [one and one.answer for one in answers] == ["A", "B"] * 3
    assert all(one and one.right for one in answers)


def test_a_key_that_came_with_another_request_is_not_taken_for_the_same(tmp_path: Path) -> None:
    from moot.ports.debate_store import Once

    async def work() -> None:
        async with engine(Settings(home=tmp_path, model=MODEL), skilled(asked(1))) as service:
            await service.create("m", format="poll", once=Once("k", "1"), start=False)
            with pytest.raises(ConflictError):
                await service.create("n", format="poll", once=Once("k", "2"), start=False)

    go(work())


class Solver:
    """Knows the answers to half of the questions, and writes them in its own way."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = {item.text: (n, item) for n, item in enumerate(items)}
        self._understudy = Understudy()
        self.calls = 0

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 200_000, None, None)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls += 1
        reply = await self._understudy.speak(call, say)
        n, item = self._items[call.debate.motion.partition("\n\nWhoever names")[0]]
        answer = f"  {item.answer}.0 " if n % 2 == 0 else "1e999"
        return replace(reply, data={**(reply.data or {}), "answer": answer, "choice": None})


def test_the_verifier_of_a_generator_marks_the_answers(tmp_path: Path) -> None:
    path = find_spec("reasoning_gym")
    assert path
    assert path.origin
    wheel = Path(path.origin).parents[1]  # unpacked
    gym = Gym(tmp_path / "datasets")
    with closing(gym), pytest.MonkeyPatch.context() as patch:
        patch.setattr(gym, "_wheel", lambda: wheel)
        data = gym.load("gym:chain_sum", 4)
        wanted = Asked(data, (parse("single"), parse("vote@3")), MODEL)
        gym.check(data.items)
        solver = Solver(data.items)

        async def work() -> Run:
            async with engine(Settings(home=tmp_path, model=MODEL), solver) as service:
                return await run(service, wanted, verify=gym.is_right)

        first = table(go(work(), within=1e9))
        called = solver.calls
        assert [one["right"] for one in first["arms"]] == [2, 2]
        assert table(go(work(), within=1e9)) == first
        assert solver.calls == called == 4 * (1 + 3)
        with pytest.raises(ValueError, match="marked by its verifier"):
            done(wanted, tmp_path)
