"""What a debate cost, with its report that a model wrote: one figure, wherever it is shown."""

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from moot.bootstrap import open_service
from moot.cli import live, target
from moot.cli.main import app
from moot.core.debate import Debate, Usage
from moot.engine.service import Service
from moot.errors import BudgetError, NotFoundError, ProviderError, StateError
from moot.ports.debate_store import FollowupRow, Once, ReportRow
from moot.ports.finding import Search
from moot.ports.model_call import Call, Reply
from moot.render import report_text
from moot.settings import Settings
from tests.integration.councils import Voices, written
from tests.integration.reporting import WRITER, a_home, filed, hold, issues, run
from tests.virtual import MODEL, until

CALL = 0.001  # what each costs
AMOUNT = re.compile(r"\$\d+\.\d+")


def dollars(calls: int) -> str:
    return f"${calls * CALL:.4f}"


@pytest.mark.parametrize("format_", ["duel", "council"])
def test_the_report_is_in_the_one_figure_of_every_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    voices = Voices()
    monkeypatch.setattr(target, "open_service", partial(open_service, speaker=voices))
    home = {"MOOT_HOME": str(tmp_path), "MOOT_MODEL": MODEL, "MOOT_REPORT_MODEL": WRITER}
    for name, value in home.items():
        monkeypatch.setenv(name, value)

    def said(*command: str) -> str:
        done = CliRunner().invoke(app, list(command), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    told = said("run", "Ship <it>?", "-f", format_)
    calls = len(voices.calls)
    assert (len(voices.reports), calls > 2) == (1, True)
    whole, own, wrote = dollars(calls), dollars(calls - 1), dollars(1)
    ends = rf"{calls} calls, [\d,]+ tokens, \{whole}; of that 1 call, 15 tokens, \{wrote} for the"
    assert re.search(ends, " ".join(told.split()))
    assert own not in told
    shown = " ".join(said("show", "last").split())
    assert re.search(ends, shown)
    assert own not in shown
    for command in (["show", "last"], ["run", "Ship <it>?", "-f", format_]):
        document = json.loads(said(*command, "--json"))
        assert document["spent"]["cost_usd"] == pytest.approx(calls * CALL)
        assert document["spent"]["calls"] == calls
        assert document["writing"]["usage"]["cost_usd"] == CALL
        assert document["usage"]["cost_usd"] == pytest.approx((calls - 1) * CALL)
    assert len(voices.reports) == 2, "the second run waited for its report, too"
    for row in said("list").splitlines():
        assert AMOUNT.findall(row) == [whole]
    for row in json.loads(said("list", "--json")):
        assert row["spent"]["cost_usd"] == pytest.approx(calls * CALL)
    between = ["--min-cost", str((calls - 0.5) * CALL)]
    assert len(said("list", *between).splitlines()) == 2
    assert said("list", "--max-cost", between[1]) == "No debates match.\n"

    id_ = json.loads(said("show", "last", "--json"))["id"]
    folder = tmp_path / "records" / "debates" / id_
    document = json.loads((folder / "report.json").read_text())
    assert document["spent"]["costUsd"] == pytest.approx(calls * CALL)
    for name in ("report.md", "report.html"):
        text = (folder / name).read_text()
        assert f"{whole}, of which {wrote} for this report" in text
        assert own not in text
    transcript = (folder / "transcript.md").read_text()
    assert f"cost of these calls: {own}" in transcript, "it is written first, and says so"
    settings = Settings(home=tmp_path, model=MODEL, report_model=WRITER)
    assert issues(settings, id_) == ()


def test_calls_for_a_report_that_failed_are_in_it_too(tmp_path: Path) -> None:
    """None is written, then one is, then no other: each call is counted."""
    good = False

    def answer(call: Call) -> Reply:
        text = json.dumps(written(call)) if good else "No."
        return Reply(text, call.model, Usage(10, 5, CALL))

    settings, voices = a_home(tmp_path), Voices(answer)

    async def work(service: Service) -> None:
        nonlocal good
        made = await hold(service)
        tries = len(voices.reports)
        (debate,) = (await service.find(Search())).debates
        own, told = len(voices.calls) - tries, filed(settings, made.id)
        assert (made.usage.calls, made.spent.calls, tries > 1) == (own, own + tries, True)
        assert debate.spent == made.spent == (await service.get(made.id)).spent
        assert told["spent"]["costUsd"] == pytest.approx(made.spent.cost_usd)
        assert (told["unread"], told["tried"]["calls"]) == ("failed", tries)
        ends = f"of which {dollars(tries)} for tries to have this report written"
        assert f"Cost: {dollars(own + tries)}, {ends}" in report_text.markdown(told)
        assert issues(settings, made.id) == ()
        for asked in (tries + 1, 2 * tries + 1):
            good = asked == tries + 1
            with suppress(ProviderError):
                await service.remake_report(made.id)
            told, spent = filed(settings, made.id), (await service.get(made.id)).spent
            assert told == await service.report(made.id)
            assert told["writer"]["calls"] == told["spent"]["calls"] - own == asked
            assert spent.cost_usd == pytest.approx(told["spent"]["costUsd"])
            assert spent.calls == told["spent"]["calls"]
            assert issues(settings, made.id) == ()

    run(settings, voices, work)


def test_a_report_by_a_worker_of_an_older_version_is_in_it_too(tmp_path: Path) -> None:
    """It knows of no column that counts calls."""
    settings, voices = a_home(tmp_path), Voices()

    async def work(service: Service) -> None:
        made = await hold(service)

        def as_before(row: ReportRow | None) -> ReportRow:
            assert row
            return replace(row, usage=row.usage.with_calls(0))

        await service._store.change_report(made.id, as_before)
        (listed,) = (await service.find(Search(min_cost=made.spent.cost_usd))).debates
        assert listed.spent == (await service.get(made.id)).spent == made.spent != made.usage

    run(settings, voices, work)


def test_a_request_that_comes_again_is_answered_with_it_too(tmp_path: Path) -> None:
    """Unless the format of what it made is switched off: then there is no such debate."""
    settings = a_home(tmp_path)
    key, other = Once("k", "1"), Once("other", "1")

    async def work(service: Service) -> None:
        made = await service.create("Ship it?", format="duel", once=key)
        await service.say(made.id, "Mind the cost.", once=Once("said", "1"))
        ended = await service.wait(made.id)
        assert ended.writing
        again = await service.say(made.id, "Mind the cost.", once=Once("said", "1"))
        assert again.spent == ended.spent
        forked = await service.wait((await service.fork(made.id, 3, once=other)).id)
        assert (await service.create("Ship it?", format="duel", once=key)).spent == ended.spent
        assert (await service.fork(made.id, 3, once=other)).spent == forked.spent

    async def switched_off(service: Service) -> None:
        for again in (service.create("Ship it?", format="duel", once=key),
                      service.fork("debate_20260101_000000_aaaaaa", 1, once=other)):  # fmt: skip
            with pytest.raises(NotFoundError, match="duel"):
                await again

    run(settings, Voices(), work)
    run(settings.model_copy(update={"disabled_formats": ("duel",)}), Voices(), switched_off)


@pytest.mark.parametrize("first", ["report", "question"])
def test_reports_and_questions_share_the_budget_of_a_debate(tmp_path: Path, first: str) -> None:
    tokens = 90_000 if first == "report" else 10

    def answer(call: Call) -> Reply:
        return Reply(json.dumps(written(call)), call.model, Usage(tokens, 5, CALL))

    settings, voices = a_home(tmp_path), Voices(answer)

    def asked_much(row: FollowupRow) -> FollowupRow:
        return replace(row, followup=replace(row.followup, usage=Usage(90_000, 5, CALL, 1)))

    async def work(service: Service) -> None:
        made = await hold(service, limits={"max_total_tokens": 80_000})
        assert made.writing
        if first == "report":
            with pytest.raises(BudgetError, match="no room for an answer"):
                await service.ask(made.id, "Why?")
            return
        await service.ask(made.id, "Why?")
        await service.remake_report(made.id)
        await service._store.change_followup(made.id, 1, asked_much)
        with pytest.raises(StateError, match="no room for another report"):
            await service.remake_report(made.id)

    run(settings, voices, work)
    assert len(voices.reports) == (1 if first == "report" else 2)


def test_ctrl_c_lets_a_report_be_written_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, voices = a_home(tmp_path), Voices(seconds=30.0)

    async def work(service: Service) -> Debate:
        made = await service.create("Ship it?", format="duel")
        waiting = asyncio.create_task(service.wait(made.id))
        await until(lambda: voices.reports)
        assert await live._pause(service, made.id)
        assert not waiting.done()
        return await waiting

    ended = run(settings, voices, work)
    assert "Ctrl-C again leaves at once" in capsys.readouterr().err
    assert (voices.cancelled, ended.writing and ended.writing.usage.calls) == (0, 1)
