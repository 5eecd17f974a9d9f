"""`MODEL@EFFORT`: how it is read, and whose effort counts."""

from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import pytest

from moot.core import schedule
from moot.core.debate import Debate, Failure, Participant
from moot.core.effort import bare, joined, parted
from moot.core.format import Effort, Format, parse
from moot.core.request import build, council, recast
from moot.core.schedule import Step
from moot.core.verbs import retry
from moot.core.voices import family
from moot.errors import WARN_EFFORT_UNTOLD, WARN_NO_THINKING, InputError
from moot.models.providers import VENDORS
from moot.wire import codec


@dataclass(frozen=True)
class Known:
    model: str
    input_price: float | None = 0.0
    output_price: float | None = 0.0
    small: bool = False
    local: bool = False
    least: Effort | None = None
    steered: bool = True


def thinker(model: str) -> Known:
    return Known(model, least="none")


def dunce(model: str) -> Known:
    return Known(model)


def rules(name: str, **stage: Any) -> Format:
    """A format of the package; `stage` is changed in its last stage."""
    text = resources.files("moot.formats").joinpath(f"{name}.toml").read_text("utf-8")
    found = parse(text, name)
    last = found.stages[-1].model_copy(update=stage)
    return found.model_copy(update={"stages": (*found.stages[:-1], last)})


def ask(format_: str | Format = "duel", **fields: Any) -> Debate:
    given: dict[str, Any] = {
        "debate_id": "debate_20261115_120000_aaaaaa",
        "at": "2026-11-15T12:00:00.000Z",
        "motion": "Should we?",
        "rules": rules(format_) if isinstance(format_, str) else format_,
        "default_model": "claude",
        "normalize": VENDORS.normalize,
    }
    return build(**{**given, **fields})


def cast(*models: str) -> list[dict[str, Any]]:
    names = ("Ada", "Ben", "Cleo")
    return [{"name": name, "model": model} for name, model in zip(names, models, strict=False)]


def voices(debate: Debate) -> list[str]:
    jurors = debate.jury.seats if debate.jury else ()
    return [seat.voice for seat in (*debate.seats, *jurors)]


def steps(debate: Debate) -> list[Step]:
    """All steps that the format asks for."""
    return [step for wave in schedule.waves(debate) for step in wave]


READ: dict[str, tuple[str, Effort | None]] = {
    "claude@high": ("claude", "high"),
    "openai:gpt-6@none": ("openai:gpt-6", "none"),
    " openai:gpt-6 @ Low ": ("openai:gpt-6", "low"),
    "claude": ("claude", None),
    "ollama:qwen3:8b@medium": ("ollama:qwen3:8b", "medium"),
    "vertex:claude-opus@20260929": ("vertex:claude-opus@20260929", None),
    "vertex:claude-opus@20260929@high": ("vertex:claude-opus@20260929", "high"),
    "vertex:claude-opus@default": ("vertex:claude-opus@default", None),
    "corp:@cf/meta/llama-4": ("corp:@cf/meta/llama-4", None),
}


@pytest.mark.parametrize("text", READ)
def test_an_effort_stands_behind_a_model(text: str) -> None:
    assert parted(text) == READ[text]
    assert parted(joined(*parted(text))) == READ[text]
    assert bare(joined(*READ[text])) == READ[text][0]


@pytest.mark.parametrize("text", ["claude@hihg", "claude@", "@high", "openai:gpt-6@max", "a@1"])
def test_an_effort_that_there_is_not_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(InputError, match="none, low, medium, high"):
        parted(text)
    with pytest.raises(InputError):
        VENDORS.normalize(text)


def test_the_canonical_model_keeps_its_effort() -> None:
    assert VENDORS.normalize("anthropic:x@high") == ("claude:x@high", None)
    model, _ = VENDORS.normalize("anthropic@low")
    assert model == f"claude:{VENDORS['claude'].model}@low"
    assert family("local@high") == "local"


def test_it_may_be_named_wherever_a_model_may() -> None:
    jury = {"models": ["openai:j@high"], "size": 2}
    ring = ["gemini:d@low"]
    host = {"model": "openai:h@none"}
    made = ask("duel", participants=cast("claude:a@high", ""), jury=jury, default_model=ring)
    assert voices(made) == ["claude:a@high", "gemini:d@low", "openai:j@high", "gemini:d@low"]
    assert made.seat("ada").model == "claude:a"  # what is called is the model alone
    hosted = ask("classic", participants=cast("claude:a", "claude:b"), host=host)
    assert hosted.host is not None
    assert hosted.host.voice == "openai:h@none"
    beside = [{"name": "Ada", "model": "claude:a", "effort": "low"}, {"name": "Ben"}]
    assert ask("duel", participants=beside).seat("ada").voice == "claude:a@low"
    with pytest.raises(InputError, match=r"participants\[0\].effort is one of none, low"):
        ask("duel", participants=[{**beside[0], "effort": "utmost"}, beside[1]])


def test_a_council_takes_it_in_its_own_request_and_in_a_role_of_its_file() -> None:
    asked = council(
        {
            "problem": "Which?",
            "outputType": "decision",
            "participants": [
                {"role": "Critic", "modelProvider": "openai", "modelName": "c@low"},
                {"role": "Analyst", "modelProvider": "claude@high"},
            ],
        }
    )
    made = ask("council", **{**asked, "default_model": "claude:x"})
    assert made.seat("critic").voice == "openai:c@low"
    assert made.seat("analyst").effort == "high"
    assert made.seat("judge").effort is None
    council_rules = rules("council")
    roles = tuple(
        role.model_copy(update={"model": "gemini:r@medium"}) if role.name == "Judge" else role
        for role in council_rules.roster.roles
        if not isinstance(role, str)
    )
    roster = council_rules.roster.model_copy(update={"roles": roles})
    seated = ask(council_rules.model_copy(update={"roster": roster}))
    assert seated.seat("judge").voice == "gemini:r@medium"


def efforts(debate: Debate, actor: str) -> dict[str, Effort | None]:
    return {step.stage: step.effort for step in steps(debate) if step.actor == actor}


def test_a_stages_own_effort_goes_before_the_seats_and_the_seats_before_a_default() -> None:
    plain = ask("council")
    deciding = {step.stage for step in steps(plain) if step.effort == "high"}
    assert deciding
    quick = ask("council", participants=[{"role": "Judge", "model": "claude:j@low"}])
    assert set(efforts(quick, "judge").values()) == {"low"}  # its verdict, too
    own = rules("council", effort="medium")
    assert own.stages[-1].kind == "verdict"
    staged = ask(own, participants=[{"role": "Judge", "model": "claude:j@low"}])
    assert efforts(staged, "judge")[own.stages[-1].name] == "medium"
    idle = ask("council", participants=[{"role": "Judge", "model": "claude:j@none"}])
    assert set(efforts(idle, "judge").values()) == {"none"}


def test_a_cue_is_spoken_without_thinking_and_the_closing_summary_with() -> None:
    made = ask("classic", participants=cast("claude:a", "claude:b"), host={"model": "claude@high"})
    asked = [step for step in steps(made) if step.actor == "host"]
    assert {step.effort for step in asked if step.kind == "cue"} == {None}
    assert {step.effort for step in asked if step.kind != "cue"} == {"high"}
    closing = schedule.plan(made.but(status="ending", cursor=schedule.closing(made)))
    assert isinstance(closing, schedule.Wave)
    assert closing.steps[0].effort == "high"


def test_models_that_cannot_think_are_told_of_once() -> None:
    seats = cast("openai:a@high", "openai:a@low")
    warned = ask("duel", participants=seats, cards=dunce)
    assert len([one for one in warned.warnings if one.startswith(WARN_NO_THINKING)]) == 1
    assert "openai:a cannot think" in warned.warnings[-1]
    assert not ask("duel", participants=seats, cards=thinker).warnings
    assert not ask("duel", participants=cast("openai:a@none", "openai:b"), cards=dunce).warnings
    decides = ask("council", default_model=["openai:a", "claude:b"], cards=dunce)
    assert not [one for one in decides.warnings if WARN_NO_THINKING in one]  # nobody asked for it
    staged = ask(rules("duel", effort="low"), participants=cast("openai:a", "x:b"), cards=dunce,
                 normalize=lambda model: (model, None))  # fmt: skip
    assert "openai:a, x:b cannot think" in staged.warnings[-1]


def test_models_that_cannot_be_told_how_hard_to_think_are_told_of_once() -> None:
    def deaf(model: str) -> Known:
        return Known(model, least="low", steered=False)

    (warning,) = ask("duel", participants=cast("openai:a@high", "claude:b"), cards=deaf).warnings
    assert warning.startswith(f"{WARN_EFFORT_UNTOLD}: moot cannot tell openai:a how hard")
    assert not ask("duel", participants=cast("openai:a@none", "openai:b"), cards=deaf).warnings


def test_rows_and_files_from_before_have_no_effort_and_stay_as_they_are() -> None:
    before = Participant("ada", "Ada", model="claude:a")
    assert "effort" not in codec.plain(before)
    seat = replace(before, effort="high")
    assert codec.read_participants(codec.dumps([codec.plain(seat)])) == (seat,)
    old = '[{"id":"ada","name":"Ada","role":"x","stance":"pro","bio":"","model":"vertex:x@prod"}]'
    assert codec.read_participants(old)[0].model == "vertex:x@prod"


def test_another_model_in_a_seat_brings_its_effort_or_keeps_the_seats() -> None:
    made = ask("duel", participants=cast("claude:a@high", "claude:b"))
    failure = Failure("X", "", "ada", "claude:a", 1, made.created_at)
    paused = made.but(status="paused", failure=failure)
    assert retry(paused, "openai:g", None, "").debate.seat("ada").voice == "openai:g@high"
    assert retry(paused, "openai:g@none", None, "").debate.seat("ada").voice == "openai:g@none"
    other = recast(made, cast("openai:c@low", "openai:d"), "claude", VENDORS.normalize)
    assert voices(other) == ["openai:c@low", "openai:d"]
