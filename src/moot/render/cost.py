"""What a debate cost, in words: the one place where an amount, or what is not known of it, is put
into a sentence. `costWords` in web/src/text/cost.ts is its twin for the page."""

from collections.abc import Mapping, Sequence
from typing import Any

from moot.core.debate import Debate
from moot.core.forecast import Forecast
from moot.core.prices import is_local, known, unpriced

UNKNOWN = "price unknown"
FREE = "free, on this machine"


def dollars(value: float) -> str:
    """An amount that was spent."""
    if 0 < value < 0.0001:
        return "less than $0.0001"
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def about(value: float) -> str:
    """An amount that was not spent yet: cents say all that is known of it, if it has any."""
    return f"${value:,.2f}" if value >= 0.01 else dollars(value)


def spent(cost_usd: float, unknown: Sequence[str] = (), *, local: bool = False) -> str:
    """What calls cost. `unknown` are the models among them that have no published price; `local`
    says that all of them ran on this machine."""
    if unknown:
        return f"at least {dollars(cost_usd)}; {price_of(unknown)}" if cost_usd else UNKNOWN
    return FREE if local and not cost_usd else dollars(cost_usd)


def briefly(cost_usd: float, unknown: Sequence[str] = (), *, local: bool = False) -> str:
    """The same in a word or two, for a table."""
    if unknown:
        return f"at least {dollars(cost_usd)}" if cost_usd else "unknown"
    return "free" if local and not cost_usd else dollars(cost_usd)


def price_of(unknown: Sequence[str]) -> str:
    named = " and ".join(unknown) if len(unknown) < 3 else f"{len(unknown)} models"
    return f"price of {named} unknown"


def of_all(debate: Debate) -> str:
    """What a debate has cost so far: every call counts, also those that failed, and those for its
    report."""
    prices = known(debate)
    return spent(debate.spent.cost_usd, prices.unpriced, local=prices.local)


def of_debate(debate: Debate) -> str:
    """The same without its report: what its own files say, which are written before that."""
    return spent(debate.usage.cost_usd, unpriced(debate), local=is_local(debate))


def of_document(used: Mapping[str, Any]) -> str:
    """What a report or a verdict says that was spent. Documents of debates that began before
    edition 4 do not say whose price is unknown."""
    if "unpriced" not in used:
        return before(used["costUsd"])
    return spent(used["costUsd"], used["unpriced"], local=used["local"])


def in_table(used: Mapping[str, Any]) -> str:
    """The same in a word or two."""
    if "unpriced" not in used:
        return before(used["costUsd"])
    return briefly(used["costUsd"], used["unpriced"], local=used["local"])


def before(value: float) -> str:
    """An amount as it was written before edition 4."""
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def expected(forecast: Forecast) -> str:
    """What a debate is likely to cost, before its first call."""
    known = [one.cost_usd for one in forecast.models if one.cost_usd]
    unknown = [one.model for one in forecast.models if one.cost_usd is None]
    likely, high = (sum(getattr(one, name) for one in known) for name in ("likely", "high"))
    if unknown:
        return f"at least {about(likely)}; {price_of(unknown)}" if likely else UNKNOWN
    if not high:
        return FREE if all(one.local for one in forecast.models) else dollars(0)
    if forecast.cost_usd:
        likely, high = forecast.cost_usd.likely, forecast.cost_usd.high
    return f"about {about(likely)}, at most {about(high)} without retries"


def outlook(forecast: Forecast) -> str:
    """The same with the number of calls: what stands beside who will speak."""
    calls = f"{forecast.calls:,} call{'s' if forecast.calls != 1 else ''}"
    return f"{calls} · {expected(forecast)}"
