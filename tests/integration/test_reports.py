"""Reports of every format, by extraction and by a model: paid once, never in a debate's way."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import load_settings
from moot.core import prompts
from moot.core.debate import Debate, Usage
from moot.engine import failpoints, reporting
from moot.engine.service import Service
from moot.errors import (
    InputError,
    ProviderContextError,
    ProviderError,
    ProviderUnavailableError,
    StateError,
)
from moot.ports.debate_store import ReportRow
from moot.ports.model_call import Call, ModelCard, Reply
from moot.render import reading, report, report_text
from moot.settings import Settings
from moot.store import files
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import Voices, council_speaker, well, written
from tests.integration.reporting import (
    DEAD,
    WRITER,
    a_home,
    filed,
    hold,
    issues,
    row_of,
    run,
    run_without_a_speaker,
    wanted,
)
from tests.virtual import engine, go, until

FORMATS = ("standard", "classic", "custom", "duel", "council")


# --- each format ---


@pytest.mark.parametrize("format_", FORMATS)
def test_a_model_writes_the_report_once_and_replay_is_clean(tmp_path: Path, format_: str) -> None:
    settings, voices = a_home(tmp_path), Voices()

    async def work(service: Service) -> tuple[Debate, ReportRow, dict[str, Any]]:
        debate = await hold(service, format_)
        return debate, await row_of(service, debate.id), await service.report(debate.id)

    debate, row, told = run(settings, voices, work)
    assert (debate.status, len(voices.reports)) == ("completed", 1)
    assert (row.state, row.method, row.model, row.tries) == ("made", "model", WRITER, 1)
    assert row.summary == told["summary"]["text"] == written(voices.reports[0])["summary"]
    assert (row.usage.input_tokens, row.usage.cost_usd) == (10, 0.001)
    assert filed(settings, debate.id) == told
    assert (told["method"], told["summary"]["by"]) == ("model", "model")
    assert told["writer"]["costUsd"] == 0.001
    spoke = [
        who for who in told["speakers"] if who["statistics"]["words"] and who["role"] != "host"
    ]
    assert spoke
    for who in spoke:
        (point,) = who["mainPoints"]
        assert point["text"] == f"{who['id']} holds on."
    closes = {"classic": "host", "custom": "host", "council": "judge"}
    assert (told["closing"] or {}).get("by") == closes.get(format_)
    folder = settings.home / "records" / "debates" / debate.id
    for name in ("report.md", "report.html"):
        assert f"written by a model, {WRITER}" in (folder / name).read_text()
        assert "<b>moved" not in (folder / name).read_text()
    assert issues(settings, debate.id) == ()
    if isinstance(settings.database, Path):
        for path in settings.file.parent.iterdir():
            path.unlink()
        assert issues(settings, debate.id) == (), "the files alone hold what the model wrote"


@pytest.mark.parametrize("format_", FORMATS)
def test_without_a_model_every_format_has_a_report_by_extraction(
    tmp_path: Path, format_: str
) -> None:
    settings, voices = a_home(tmp_path, None), Voices()

    async def work(service: Service) -> tuple[Debate, ReportRow]:
        debate = await hold(service, format_)
        assert await service.remake_report(debate.id) == await service.report(debate.id)
        return debate, await row_of(service, debate.id)

    debate, row = run(settings, voices, work)
    assert voices.reports == []
    assert (row.state, row.method, row.model, row.read) == ("made", "extraction", None, None)
    assert (row.tries, row.usage) == (0, Usage())
    told = filed(settings, debate.id)
    assert told["method"] == "extraction"
    assert row.summary == report.brief(told) != ""
    assert "No model wrote this report" in report_text.markdown(told)
    assert issues(settings, debate.id) == ()


def test_a_degraded_debate_has_its_report_with_its_gaps(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path), Voices()
    said = voices._script
    gap = ("critic", 1)
    failing = council_speaker(frozenset({gap}))._script

    def script(call: Call) -> str | Reply | ProviderError:
        return (failing if (call.step.actor, call.step.round) == gap else said)(call)

    voices._script = script
    debate = run(settings, voices, lambda service: hold(service, "council"))
    told = filed(settings, debate.id)
    assert (debate.status, debate.degraded, told["degraded"]) == ("completed", True, True)
    assert [failure["speaker"] for failure in told["failures"]] == ["critic"]
    assert told["method"] == "model"
    assert issues(settings, debate.id) == ()


def test_five_hundred_turns_fit_into_a_small_window(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path), Voices(window=8192)
    seats = [{"name": f"N{number}"} for number in range(10)]

    async def work(service: Service) -> Debate:
        return await hold(service, "standard", participants=seats, options={"rounds": 50},
                          limits={"max_turns": 500})  # fmt: skip

    debate = run(settings, voices, work)
    (call,) = voices.reports
    told = filed(settings, debate.id)
    assert (debate.turn_count, told["totals"]["turns"], told["method"]) == (500, 500, "model")
    assert prompts.size(call.messages) + call.max_tokens <= 8192
    text = call.messages[-1].text
    last = max(turn["turn"] for turn in told["timeline"])
    assert f"turn {last})" in text, "the end is not lost"
    for number in range(10):
        assert text.count(f"N{number} (n{number}, ") > 3, "everyone is heard"
    page = (settings.home / "records" / "debates" / debate.id / "report.html").read_text()
    assert page.count('class="dot') == 500
    assert issues(settings, debate.id) == ()


# --- by a debate's own model ---

SEATS = [{"name": "Ada", "model": "openai:a"}, {"name": "Ben", "model": "claude:b"}]
OWN: dict[str, dict[str, Any]] = {
    "duel": {"participants": SEATS},
    "standard": {"participants": SEATS, "options": {"rounds": 2}},
    "classic": {"participants": SEATS, "host": {"name": "Hanna", "model": "gemini:h"}},
}


@pytest.mark.parametrize("format_", OWN)
def test_every_format_ends_with_what_it_comes_to_by_its_own_model(
    tmp_path: Path, format_: str
) -> None:
    settings, voices = a_home(tmp_path, "own"), Voices()
    debate = run(settings, voices, lambda service: hold(service, format_, **OWN[format_]))
    (call,) = voices.reports
    assert call.model == ("gemini:h" if format_ == "classic" else "openai:a")
    assert len(voices.calls) == debate.turn_count + 1
    told = filed(settings, debate.id)
    spoke = [turn for turn in call.heard if turn.kind == "speech"]
    ada, ben = (next(t.number for t in spoke if t.actor == who) for who in ("ada", "ben"))
    assert told["takeaways"] == {
        "by": "model",
        "atIssue": {"text": "Whether it pays.", "turns": [ada, ben]},
        "best": [
            {"speaker": "ada", "text": "ada holds on.", "turns": [ada]},
            {"speaker": "ben", "text": "ben holds on.", "turns": [ben]},
        ],
        "conceded": [{"speaker": "ada", "text": "It costs more.", "turns": [ada]}],
        "open": [{"text": "Nobody knows the <i>price</i>.", "turns": [ben]}],
    }
    assert issues(settings, debate.id) == ()
    folder = settings.home / "records" / "debates" / debate.id
    text, page = ((folder / f"report.{kind}").read_text() for kind in ("md", "html"))
    for part in (
        f"## At issue\n\nWhether it pays. `turn:{ada}` `turn:{ben}`\n",
        f"## Best points\n\n- **Ada** (pro): ada holds on. `turn:{ada}`\n- **Ben** (con): ben",
        f"## Conceded\n\n- **Ada** (pro): It costs more. `turn:{ada}`\n",
        f"## Still open\n\nNobody knows the &lt;i>price&lt;/i>. `turn:{ben}`\n",
        "[transcript.md](transcript.md)",
    ):
        assert part in text
    order = ["At issue", "Best points", "Conceded", "Still open", "Summary"]
    heads = [page.index(f"<h2>{title}</h2>") for title in order]
    assert heads == sorted(heads) < [page.index('<details class="figures">')]
    assert page.index('<a href="transcript.md">') < page.index("<figure>")
    assert text.index("</details>") > text.index("## Statistics") > text.index("<details>")


def test_what_decides_has_it_from_its_verdict_and_pays_nobody(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path, "own"), Voices()
    debate = run(settings, voices, lambda service: hold(service, "council"))
    assert voices.reports == []
    told = filed(settings, debate.id)["takeaways"]
    assert told["by"] == "verdict"
    assert [one["speaker"] for one in told["best"]] == [seat.id for seat in debate.seats]
    assert all(one["turns"] and "picked" not in one for one in told["best"])
    assert isinstance(told["conceded"], list)
    assert isinstance(told["open"], list)


def test_a_debate_that_was_stopped_makes_no_further_call(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path, "own"), ScriptedSpeaker(seconds=1)

    async def work(service: Service) -> Debate:
        made = await service.create("Ship it?", format="duel")
        await until(lambda: len(voices.calls) > 1)
        await service.stop(made.id)
        return await service.wait(made.id)

    debate = run(settings, voices, work)
    assert (debate.status, len(voices.calls)) == ("stopped", debate.turn_count)
    assert filed(settings, debate.id)["takeaways"]["by"] == "extraction"


@pytest.mark.parametrize(("small", "writer"), [(SEATS[:1], ["claude:b"]), (SEATS, [])])
def test_a_small_model_writes_no_report_unasked(
    tmp_path: Path, small: list[dict[str, str]], writer: list[str]
) -> None:
    class Small(Voices):
        def card(self, model: str) -> ModelCard:
            return replace(super().card(model), small=any(model == one["model"] for one in small))

    settings, voices = a_home(tmp_path, "own"), Small()
    debate = run(settings, voices, lambda service: hold(service, **OWN["duel"]))
    assert [call.model for call in voices.reports] == writer
    assert filed(settings, debate.id)["method"] == ("model" if writer else "extraction")


def test_a_debate_s_own_model_is_not_paid_to_write_twice(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path, "own"), Voices(lambda _: DEAD)

    async def twice(service: Service) -> tuple[Debate, ReportRow]:
        debate = await hold(service)
        return debate, await row_of(service, debate.id)

    debate, row = run(settings, voices, twice)
    assert (row.state, row.tries) == ("failed", 4)
    told = filed(settings, debate.id)
    assert (told["method"], told["unread"]) == ("extraction", "failed")
    folder = settings.home / "records" / "debates" / debate.id
    for name in ("report.md", "report.html"):
        assert "A model was to write it, and could not." in (folder / name).read_text()
    assert issues(settings, debate.id) == ()

    async def again(service: Service) -> None:
        for _ in range(2):
            assert (await service.remake_report(debate.id))["takeaways"]["by"] == "model"

    later = Voices()
    run(settings, later, again)
    assert len(later.reports) == 1
    assert issues(settings, debate.id) == ()


def test_only_who_runs_moot_pays_for_reports_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOOT_REPORT_MODEL", raising=False)
    assert load_settings().report_model == "own"
    assert Settings(home=tmp_path).report_model is None
    monkeypatch.setenv("MOOT_REPORT_MODEL", "none")
    voices = Voices()
    run(a_home(tmp_path, load_settings().report_model), voices, hold)
    assert voices.reports == []


# --- what can go wrong ---


def test_a_dead_provider_leaves_the_debate_and_the_report_can_be_made_later(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path), Voices(lambda _: DEAD)

    async def dead(service: Service) -> tuple[Debate, ReportRow]:
        debate = await hold(service)
        row = await row_of(service, debate.id)
        with pytest.raises(ProviderUnavailableError, match="then make the report again"):
            await service.remake_report(debate.id)
        return await service.get(debate.id), row

    debate, row = run(settings, voices, dead)
    assert (debate.status, debate.degraded, debate.failure) == ("completed", False, None)
    assert (row.state, row.method, row.tries) == ("failed", "extraction", 4)
    assert row.error == "The line to OpenAI is dead. Wait, then make the report again."
    assert row.summary == report.brief(filed(settings, debate.id))
    assert filed(settings, debate.id)["method"] == "extraction"
    assert issues(settings, debate.id) == ()

    async def later(service: Service) -> ReportRow:
        await service.supervisor.sweep()
        assert again.reports == [], "what has failed is left to a person"
        assert (await service.remake_report(debate.id))["method"] == "model"
        return await row_of(service, debate.id)

    again = Voices()
    row = run(settings, again, later)
    assert (row.state, row.method, row.error, row.tries) == ("made", "model", None, 9)
    assert filed(settings, debate.id)["method"] == "model"
    assert issues(settings, debate.id) == ()


def test_a_model_that_fails_later_does_not_cost_the_reading_there_is(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path), Voices()
    debate = run(settings, voices, hold)
    before = filed(settings, debate.id)

    async def work(service: Service) -> dict[str, Any]:
        with pytest.raises(ProviderUnavailableError):
            await service.remake_report(debate.id)
        return await service.report(debate.id)

    dead = Voices(lambda _: DEAD)
    after = run(settings, dead, work)
    assert after == filed(settings, debate.id)
    assert after | {key: before[key] for key in ("writer", "spent")} == before
    assert after["writer"]["calls"] == before["writer"]["calls"] + len(dead.reports)
    plain = run(a_home(tmp_path, None), Voices(), lambda service: service.remake_report(debate.id))
    assert plain == after, "nor does asking without a model"
    nobody = run_without_a_speaker(
        a_home(tmp_path, "local"), lambda service: service.remake_report(debate.id)
    )
    assert nobody == after, "nor where the model is only the understudy"
    assert issues(settings, debate.id) == ()


def test_an_answer_without_its_shape_is_shown_to_the_model_once(tmp_path: Path) -> None:
    answers: list[str] = []

    def answer(call: Call) -> str:
        said = written(call)
        answers.append(call.messages[-1].text)
        if len(answers) == 1:
            return json.dumps({**said, "points": said["points"][:1]})
        return f"Here it is:\n```json\n{json.dumps(said)}\n```"

    settings, voices = a_home(tmp_path), Voices(answer)
    debate = run(settings, voices, hold)
    assert "there is no point of ben" in answers[1]
    wrote = filed(settings, debate.id)["writer"]
    assert (wrote["calls"], wrote["inputTokens"]) == (2, 20)

    settings, voices = a_home(tmp_path / "other"), Voices(lambda _: "I would rather not.")

    async def never(service: Service) -> tuple[Debate, ReportRow]:
        debate = await hold(service)
        return debate, await row_of(service, debate.id)

    debate, row = run(settings, voices, never)
    assert (row.state, row.tries, len(voices.reports)) == ("failed", 2, 2)
    assert row.usage.input_tokens == 20, "what was paid is on record"
    assert filed(settings, debate.id)["method"] == "extraction"


@pytest.mark.parametrize("depth", [500, 100_000])
def test_an_answer_that_breaks_its_reader_is_paid_and_given_up(tmp_path: Path, depth: int) -> None:
    deep = '{"summary": ' + "[" * depth + "]" * depth + "}"
    settings, voices = a_home(tmp_path), Voices(lambda _: deep)

    async def work(service: Service) -> ReportRow:
        return await row_of(service, (await hold(service)).id)

    row = run(settings, voices, work)
    assert (row.state, row.tries, len(voices.reports)) == ("failed", 2, 2)
    assert row.usage.input_tokens == 20


def test_a_fault_of_ours_in_reading_a_report_is_paid_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("secret-key-123")

    monkeypatch.setattr(reading, "read", broken)
    settings, voices = a_home(tmp_path), Voices()

    async def work(service: Service) -> ReportRow:
        return await row_of(service, (await hold(service)).id)

    row = run(settings, voices, work)
    assert (row.state, row.tries) == ("failed", 4)
    assert row.usage.input_tokens == 10 * len(voices.reports) == 40
    assert "secret-key-123" not in (row.error or "")


def test_a_window_that_proves_smaller_gets_a_shorter_prompt(tmp_path: Path) -> None:
    def answer(call: Call) -> str | ProviderError:
        if prompts.size(call.messages) > 3000:
            return ProviderContextError("too long")
        return well(call)

    settings, voices = a_home(tmp_path), Voices(answer)

    def talk(call: Call) -> str | ProviderError:
        return (
            answer(call) if call.step.stage == "report" else f"{call.step.round}: " + "word " * 500
        )

    voices._script = talk
    debate = run(settings, voices, hold)
    assert filed(settings, debate.id)["method"] == "model"
    first, *_, last = (prompts.size(call.messages) for call in voices.reports)
    assert first > 3000 >= last


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def at(place: str) -> None:
        def hook(reached: str) -> None:
            if reached == place:
                raise Killed

        monkeypatch.setattr(failpoints, "hook", hook)

    return at


def test_a_crash_between_the_record_and_the_files_costs_no_second_call(
    tmp_path: Path, killed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, settings, voices = a_home(tmp_path, None), a_home(tmp_path), Voices()
    debate = run(plain, voices, hold)
    killed("read")
    with pytest.raises(Killed):
        run(settings, voices, lambda service: service.remake_report(debate.id))
    monkeypatch.setattr(failpoints, "hook", None)
    assert filed(settings, debate.id)["method"] == "extraction"
    assert issues(settings, debate.id) == (
        "report.json and debate_reports disagree on reading.",
    ), "until somebody looks, it is said"
    run(plain, voices, lambda service: service.supervisor.sweep())
    assert filed(settings, debate.id)["method"] == "model"
    assert len(voices.reports) == 1
    assert issues(settings, debate.id) == ()


def test_a_report_whose_process_died_is_made_by_the_next(tmp_path: Path) -> None:
    plain, voices = a_home(tmp_path, None), Voices()
    debate = run(plain, voices, hold)

    async def died(service: Service) -> None:
        store = service._store
        now = service._clock.now()
        await store.change_report(debate.id, wanted(until=now + 60, tries=1))
        await service.supervisor.sweep()
        with pytest.raises(StateError, match="being made right now"):
            await service.remake_report(debate.id)
        assert voices.reports == [], "it may be alive"
        await store.change_report(debate.id, wanted(until=now - 1, tries=1))
        await service.supervisor.sweep()
        await service._reporter.idle(debate.id)

    run(plain, voices, died)
    assert [call.model for call in voices.reports] == [WRITER], "the one that it was wanted of"
    assert filed(plain, debate.id)["method"] == "model"


def test_what_a_lost_process_paid_for_another_report_is_counted(tmp_path: Path) -> None:
    """One is written; whoever is asked for another pays for a try that fails, and dies."""
    settings, voices = a_home(tmp_path), Voices()

    async def work(service: Service) -> None:
        before = await hold(service)
        row, more = await row_of(service, before.id), Usage(10, 5, 0.25, 1)
        lost = wanted(usage=row.usage + more, tries=row.tries + 1)
        await service._store.change_report(before.id, lost)
        await service.supervisor.sweep()
        await service._reporter.idle(before.id)
        assert (await row_of(service, before.id)).state == "made"
        assert (await service.get(before.id)).spent == before.spent + more
        told = filed(settings, before.id)
        assert told["spent"]["costUsd"] == pytest.approx(before.spent.cost_usd + 0.25)
        assert issues(settings, before.id) == ()

    run(settings, voices, work)
    assert len(voices.reports) == 1, "the one that there is stands"


def test_what_comes_after_another_has_written_it_is_in_its_cost(tmp_path: Path) -> None:
    """A process stands still for longer than it may: another makes the report meanwhile."""
    settings, slow, fast = a_home(tmp_path), Voices(seconds=60), Voices()

    async def both() -> None:
        async with (
            engine(settings, slow, recover=False) as one,
            engine(settings, fast, recover=False) as other,
        ):
            made = await one.create("Ship it?", format="duel")
            held = asyncio.create_task(one.wait(made.id))
            await until(lambda: slow.reports)
            row = await row_of(one, made.id)
            await one._store.change_report(made.id, wanted(tries=row.tries))
            await other.supervisor.sweep()
            await other._reporter.idle(made.id)
            await held
            await other.supervisor.sweep()
            spent = (await other.get(made.id)).spent
            assert (len(slow.reports), len(fast.reports)) == (1, 1)
            assert spent.calls == len(slow.calls) + len(fast.calls)
            assert filed(settings, made.id)["spent"]["calls"] == spent.calls
            assert issues(settings, made.id) == ()

    go(both())


def test_what_kills_whoever_makes_it_is_given_up(tmp_path: Path) -> None:
    plain, voices = a_home(tmp_path, None), Voices()

    async def work(service: Service) -> ReportRow:
        debate = await hold(service)
        tries = reporting.MOST_TRIES
        await service._store.change_report(debate.id, wanted(tries=tries))
        await service.supervisor.sweep()
        await service._reporter.idle(debate.id)
        return await row_of(service, debate.id)

    row = run(plain, voices, work)
    assert (row.state, voices.reports) == ("failed", [])


def test_two_at_once_pay_once(tmp_path: Path) -> None:
    plain, settings, voices = a_home(tmp_path, None), a_home(tmp_path), Voices(seconds=20)
    debate = run(plain, voices, hold)

    async def both() -> list[Any]:
        async with (
            engine(settings, voices, recover=False) as one,
            engine(settings, voices, recover=False) as other,
        ):
            await one._store.change_report(debate.id, wanted())
            await asyncio.gather(*(service.supervisor.sweep() for service in (one, other)))
            await asyncio.gather(*(s._reporter.idle(debate.id) for s in (one, other)))
            asked = [service.remake_report(debate.id) for service in (one, other, one, other)]
            return await asyncio.gather(*asked, return_exceptions=True)

    results = go(both())
    refused = [result for result in results if isinstance(result, StateError)]
    assert len(refused) == 3
    assert len(voices.reports) == 2, "one that was wanted, one that was asked for"
    assert issues(settings, debate.id) == ()


@pytest.mark.sqlite_only
def test_closing_lets_go_of_it_at_once_and_the_next_start_makes_it(tmp_path: Path) -> None:
    settings, voices = a_home(tmp_path), Voices(seconds=3600)

    async def closed_and_opened_again() -> tuple[str, ReportRow]:
        async with engine(settings, voices, recover=False) as service:
            made = await service.create("Ship it?", format="duel")
            await until(lambda: voices.reports)
            assert (await service.report(made.id))["pending"] == WRITER
            await asyncio.sleep(10)
            loop = asyncio.get_running_loop()
            began = loop.time()
        assert (voices.cancelled, loop.time() - began < 0.1) == (1, True)
        async with engine(settings, Voices()) as service:

            async def done() -> ReportRow | None:
                row = await row_of(service, made.id)
                return row if row.state == "made" else None

            row = await until(done)
            await service._reporter.idle(made.id)
        return made.id, row

    debate_id, row = go(closed_and_opened_again())
    assert (row.method, row.tries) == ("model", 2)
    assert row.usage.input_tokens > 10, "the call that was called off is counted too"
    assert filed(settings, debate_id)["method"] == "model"


def test_a_fault_in_the_report_costs_nothing_but_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, voices = a_home(tmp_path, None), Voices()

    def fault(*_: Any) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(report, "report", fault)

        async def work(service: Service) -> tuple[Debate, ReportRow]:
            debate = await hold(service, "council")
            with pytest.raises(Exception, match=r"ZeroDivisionError.*as it was"):
                await service.remake_report(debate.id)
            return await service.get(debate.id), await row_of(service, debate.id)

        debate, row = run(settings, voices, work)
    assert (debate.status, debate.files_seq) == ("completed", debate.last_seq)
    assert row.state == "failed"
    assert "ZeroDivisionError" in (row.error or "")
    folder = settings.home / "records" / "debates" / debate.id
    assert (folder / "final-packet.json").exists()
    assert (folder / "transcript.md").exists()
    assert not list(folder.glob("report.*"))
    missing = [f"{name}: it is missing." for name in files.REPORT]
    assert sorted(issues(settings, debate.id)) == sorted(missing)
    run(settings, voices, lambda service: service.remake_report(debate.id))
    assert issues(settings, debate.id) == ()


# --- limits, and models that are none ---


@pytest.mark.parametrize("writer", [WRITER, "own"])
def test_a_budget_without_room_gives_extraction_and_says_so(tmp_path: Path, writer: str) -> None:
    settings, voices = a_home(tmp_path, writer), Voices()
    limits = {"max_cost_usd": 0.0125}

    async def work(service: Service) -> tuple[Debate, ReportRow]:
        debate = await hold(service, limits=limits)
        return debate, await row_of(service, debate.id)

    debate, row = run(settings, voices, work)
    assert (debate.status, debate.stop_reason) == ("completed", "max_turns")
    assert voices.reports != []
    assert filed(settings, debate.id)["method"] == "model", "there is room for it"

    limits["max_cost_usd"] = 0.0087
    settings, voices = a_home(tmp_path / "other", writer), Voices()
    debate, row = run(settings, voices, work)
    assert (debate.status, debate.stop_reason, debate.turn_count) == ("completed", "max_turns", 6)
    assert voices.reports == []
    assert (row.state, row.method) == ("made", "extraction")
    told = filed(settings, debate.id)
    assert (told["method"], told["unread"]) == ("extraction", "budget")
    folder = settings.home / "records" / "debates" / debate.id
    for name in ("report.md", "report.html"):
        assert "was not asked: the budget" in (folder / name).read_text()
    assert issues(settings, debate.id) == ()


def test_the_understudy_writes_no_report(tmp_path: Path) -> None:
    for model in ("local", "local:understudy"):
        settings = a_home(tmp_path / model.replace(":", "-"), model)

        async def work(service: Service) -> tuple[Debate, ReportRow]:
            debate = await hold(service)
            return debate, await row_of(service, debate.id)

        debate, row = run_without_a_speaker(settings, work)
        assert (row.state, row.method, row.error) == ("made", "extraction", None)
        assert filed(settings, debate.id)["method"] == "extraction"
        assert issues(settings, debate.id) == ()


def test_a_model_that_cannot_be_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='MOOT_REPORT_MODEL: There is no provider "gtp"'):
        run(a_home(tmp_path, "gtp:5"), Voices(), hold)


def test_a_debate_that_has_not_ended_is_reported_but_not_filed(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        made = await service.create("Ship it?", format="duel", start=False)
        assert (await service.report(made.id))["status"] == "scheduled"
        with pytest.raises(StateError, match="once a debate has ended; this one is scheduled"):
            await service.remake_report(made.id)
        assert await service.reports([made.id]) == {}

    run(a_home(tmp_path), Voices(), work)
