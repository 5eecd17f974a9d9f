"""What a debate is likely to take: low, likely and high, for each model and in sum."""

from dataclasses import replace
from importlib import resources
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.test_schedule_properties import debates

from moot.core import schedule
from moot.core.debate import Debate
from moot.core.forecast import Amounts, Counts, forecast
from moot.core.format import parse
from moot.core.request import build
from moot.ports.model_call import ModelCard

NONE = Counts(0, 0, 0)


def ask(format_: str, **fields: Any) -> Debate:
    text = resources.files("moot.formats").joinpath(f"{format_}.toml").read_text("utf-8")
    return build(
        debate_id="debate_20261115_120000_aaaaaa",
        at="2026-11-15T12:00:00.000Z",
        motion="Should we?",
        rules=parse(text, format_),
        default_model=("openai:a", "claude:b"),
        normalize=lambda model: (model, None),
        **fields,
    )


def card(model: str) -> ModelCard:
    price = None if model.endswith("unpriced") else 1e-6
    return ModelCard(model, 100_000, price, price and 5 * price)


def thinker(model: str) -> ModelCard:
    return replace(card(model), least="none")


def ordered(span: Counts | Amounts) -> bool:
    return 0 <= span.low <= span.likely <= span.high


@settings(max_examples=40, deadline=None)
@given(debates(), st.booleans())
def test_every_step_of_any_debate_is_a_call_and_the_parts_add_up(
    debate: Debate, thinks: bool
) -> None:
    found = forecast(debate, thinker if thinks else card)
    steps = [step for wave in schedule.waves(debate) for step in wave]
    assert found.calls == len(steps) == sum(one.calls for one in found.models)
    assert found.cost_usd is not None
    for span in (found.input_tokens, found.output_tokens, found.seconds, found.cost_usd):
        assert ordered(span)
    most = sum(step.tokens or debate.limits.max_turn_tokens for step in steps)
    assert found.output_tokens.high >= most if thinks else found.output_tokens.high <= most
    assert found.input_tokens.high == sum(one.input_tokens.high for one in found.models)


def test_prompts_grow_with_what_was_said() -> None:
    short, long = (forecast(ask("duel", limits={"max_turns": n}), card) for n in (2, 20))
    each = [one.input_tokens.likely / one.calls for one in (short, long)]
    assert each[1] > 2 * each[0]
    assert long.output_tokens.likely == 10 * short.output_tokens.likely


def test_each_model_has_its_price_and_one_unknown_leaves_the_sum_unknown() -> None:
    seats = [{"name": "Ada", "model": "openai:a"}, {"name": "Ben", "model": "x:unpriced"}]
    found = forecast(ask("duel", participants=seats), card)
    ada, ben = found.models
    assert (ada.model, ada.seats, ada.calls) == ("openai:a", ("Ada",), 3)
    assert ada.cost_usd
    assert ada.cost_usd.likely == round(
        ada.input_tokens.likely * 1e-6 + ada.output_tokens.likely * 5e-6, 6
    )
    assert (ben.cost_usd, found.cost_usd) == (None, None)


def test_a_limit_on_cost_is_a_limit_here_too() -> None:
    found = forecast(ask("duel", limits={"max_cost_usd": 0.005}), card)
    assert found.cost_usd
    assert found.cost_usd.high == 0.005


def test_thoughts_count_where_a_stage_asks_for_them() -> None:
    plain, thoughtful = forecast(ask("council"), card), forecast(ask("council"), thinker)
    assert thoughtful.output_tokens.high - plain.output_tokens.high == 2 * 24_576
    assert forecast(ask("duel"), thinker) == forecast(ask("duel"), card)


def test_the_understudy_takes_nothing() -> None:
    found = forecast(ask("duel"), lambda _: ModelCard("local:understudy", 8_192, 0.0, 0.0))
    assert (found.calls, found.input_tokens, found.output_tokens) == (6, NONE, NONE)
    assert found.cost_usd == Amounts(0.0, 0.0, 0.0)


def test_two_thousand_turns_are_planned_without_reading_each_prompt() -> None:
    found = forecast(ask("standard", options={"rounds": 0}, limits={"max_turns": 2000}), card)
    assert found.calls == 2000
    assert found.input_tokens.high <= 2000 * 100_000, "no prompt exceeds its window"
