"""What is known of a model before it is called, offline: its window, its prices, and whether it
can think."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from moot.core.format import Effort
from moot.models.providers import LOCAL, Vendor
from moot.ports.model_call import ModelCard

importing = threading.RLock()
"""Held while a part of pydantic-ai is imported: two threads inside one package's imports can meet
half-made modules."""
UNKNOWN_WINDOW = 128_000  # of a vendor's model that the price list does not have
LOCAL_WINDOW = 8_192  # of a local server that does not tell
SMALL_BYTES = 4 << 30  # of weights; a model with fewer needs care, see models/local/small.py
_SAMPLE = 1_000  # tokens to price, so that tiers for long prompts stay out
_BY_TOKEN = {"input_mtok", "output_mtok"}
_LEAST: tuple[tuple[str, Effort], ...] = (
    ("none", "none"),
    ("minimal", "none"),
    ("low", "low"),
    ("medium", "medium"),
    ("high", "high"),
)  # the efforts that a vendor may take, and ours for each
_BY_NAME = "*"
_MAKER = re.compile(
    r"(?:.*/)?(?:[a-z-]+\.)?(anthropic|openai)\.(?!gpt-oss)(.+?)(?:-v\d+(?::\d+)?)?$"
)  # in "us.anthropic.claude-…-v1:0"
_THINKERS = re.compile(
    r"gpt-(?:oss|[5-9])|\bo[134]\b|deepseek-(?:r\d|v[4-9]|flash)|qwq|qwen3(?!.*(?:instruct|coder))"
    r"|magistral|thinking|(?<!non-)reason|grok-[4-9](?!.*non-reason)|kimi-k(?:[3-9]|2\.[5-9])"
    r"|glm-(?:[5-9]|4\.[5-9])|gemini-(?:[3-9]|2\.5-pro)|minimax-m\d"
    r"|claude-(?:fable|mythos|opus-5[.-]5)",
    re.IGNORECASE,
)


def vendor_card(row: Vendor, name: str) -> ModelCard:
    """The card of a vendor's model. Prices are None if nobody published any."""
    card = _priced(f"{row.name}:{name}", row.prices, name)
    if own := row.priced.get(name):
        card = replace(card, input_price=own.input / 1e6, output_price=own.output / 1e6)
    return replace(
        card,
        window=row.window or card.window,
        least=_least(row, name),
        steered=bool(row.thinks or row.effort or row.command),
    )


def _least(row: Vendor, name: str) -> Effort | None:
    """The least that a model of that name thinks, as the library knows it."""
    if row.command:
        return "low"
    maker = row.thinks
    if maker == _BY_NAME:
        found = _MAKER.match(name)
        maker, name = (found[1], found[2]) if found else ("", name)
    if not maker:
        return _thinker(name)
    profile: dict[str, Any] = _profiles(maker)(name)
    if not profile.get("supports_thinking"):
        return None
    if not profile.get("thinking_always_enabled"):
        return "none"
    efforts = profile.get("openai_reasoning_efforts", {"low"})
    taken: list[Effort] = [ours for theirs, ours in _LEAST if theirs in efforts]
    return taken[0] if taken else "high"


@cache
def _profiles(maker: str) -> Callable[[str], dict[str, Any]]:
    """What the library knows of a maker's models."""
    with importing:
        known = import_module(f"pydantic_ai.profiles.{maker}")
    return getattr(known, f"{maker}_model_profile")


def _thinker(name: str) -> Effort | None:
    """Servers do not tell whether a model thinks, and cannot be told how hard: those that are known
    to think get room for it in every turn."""
    return "low" if _THINKERS.search(name) else None


@lru_cache(maxsize=512)
def _priced(model: str, provider: str, name: str) -> ModelCard:
    if not provider:
        return ModelCard(model, UNKNOWN_WINDOW, None, None)
    from genai_prices import Usage, calc_price  # a tenth of a second, and only vendors need it

    try:
        asked = calc_price(Usage(input_tokens=_SAMPLE), name, provider_id=provider)
        told = calc_price(Usage(output_tokens=_SAMPLE), name, provider_id=provider)
    except (LookupError, ValueError):
        return ModelCard(model, UNKNOWN_WINDOW, None, None)
    window = asked.model.context_window or UNKNOWN_WINDOW
    prices = {name for name, price in vars(asked.model_price).items() if price is not None}
    if prices and not prices >= _BY_TOKEN:  # by the hour, say; no price at all: it is free
        return ModelCard(model, window, None, None)
    return ModelCard(
        model, window, float(asked.total_price) / _SAMPLE, float(told.total_price) / _SAMPLE
    )


def known_names(row: Vendor) -> tuple[str, ...]:
    """The models of a provider that are known offline: those that moot suggests, and those of the
    price list."""
    names = [name.partition(":")[2] for name in row.offered]
    if row.prices:
        from genai_prices.data_snapshot import get_snapshot

        listed = [one for one in get_snapshot().providers if one.id == row.prices]
        names += [model.id for one in listed for model in one.models if not model.deprecated]
    return tuple(dict.fromkeys(names))


def caches(row: Vendor, name: str) -> bool:
    """Whether what a model has read before costs less, or moot asks for that."""
    if row.cache_key or row.settings.get("cache"):
        return True
    if not row.prices:
        return False
    from genai_prices import Usage, calc_price

    try:
        price = calc_price(Usage(input_tokens=_SAMPLE), name, provider_id=row.prices).model_price
    except (LookupError, ValueError):
        return False
    return getattr(price, "cache_read_mtok", None) is not None


def small_file(path: Path) -> bool:
    """Whether the weights in a file are those of a small model."""
    try:
        return path.stat().st_size < SMALL_BYTES
    except OSError:
        return True  # gone: whoever speaks next will tell


def local_card(
    name: str, window: int | None = None, small: bool = False, provider: str = LOCAL
) -> ModelCard:
    """The card of a local server's model: free, with a small window unless the server tells."""
    model = f"{provider}:{name}" if name else provider
    return ModelCard(
        model, window or LOCAL_WINDOW, 0.0, 0.0, small, _thinker(name), local=True, steered=False
    )
