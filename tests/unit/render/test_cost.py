"""What was spent, and what is expected, in words: an unknown price is never zero."""

import pytest

from moot.core.forecast import Amounts, Counts, Forecast, ModelForecast
from moot.render import cost

NONE = Counts(0, 0, 0)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "$0.00"), (0.00004, "less than $0.0001"), (0.0123, "$0.0123"), (1234.5, "$1,234.50")],
)
def test_what_was_spent_has_four_digits_below_a_dollar(value: float, said: str) -> None:
    assert cost.spent(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.00004, "less than $0.0001"), (0.00123, "$0.0012"), (0.0812, "$0.08"), (0.312, "$0.31"),
     (12.345, "$12.35")],
)  # fmt: skip
def test_what_is_expected_is_said_in_cents(value: float, said: str) -> None:
    assert cost.about(value) == said


def test_what_is_not_known_is_said() -> None:
    assert cost.spent(0.0, ["openai:new"]) == "price unknown"
    assert cost.spent(0.12, ["openai:new"]) == "at least $0.1200; price of openai:new unknown"
    assert cost.spent(0.12, ["a:b", "c:d"]).endswith("; price of a:b and c:d unknown")
    assert cost.spent(0.12, ["a:b", "c:d", "e:f"]).endswith("; price of 3 models unknown")
    assert cost.spent(0.0, local=True) == "free, on this machine"
    assert cost.spent(0.0) == "$0.00", "a vendor's call that used nothing, or is still in flight"
    assert cost.spent(0.5, local=True) == "$0.5000", "by a model that left its seat"


def forecast(*models: tuple[str, float | None], most: float | None = None) -> Forecast:
    said = tuple(
        ModelForecast(
            name,
            ("Ada",),
            3,
            NONE,
            NONE,
            None if usd is None else Amounts(0, usd, 4 * usd),
            local=name.startswith(("local", "ollama")),
        )
        for name, usd in models
    )
    known = [one.cost_usd for one in said if one.cost_usd]
    whole = sum(known, Amounts(0, 0, 0)) if len(known) == len(said) else None
    if whole and most:
        whole = Amounts(whole.low, whole.likely, most)
    return Forecast(3 * len(said), NONE, NONE, whole, Amounts(1, 2, 3), said)


def test_what_is_expected_is_one_line() -> None:
    assert (
        cost.outlook(forecast(("openai:x", 0.08)))
        == "3 calls · about $0.08, at most $0.32 without retries"
    )
    assert cost.outlook(forecast(("openai:x", 0.08), most=0.1)).endswith(
        "at most $0.10 without retries"
    )
    assert cost.outlook(forecast(("local:x", 0.0))) == "3 calls · free, on this machine"
    assert cost.outlook(forecast(("openai:new", None))) == "3 calls · price unknown"
    both = forecast(("openai:x", 0.08), ("openai:new", None))
    assert cost.outlook(both) == "6 calls · at least $0.08; price of openai:new unknown"
