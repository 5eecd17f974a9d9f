"""What is known of a vendor's model before it is called: its window and its prices, offline."""

from functools import lru_cache
from pathlib import Path

from moot.models.providers import LOCAL, VENDORS
from moot.ports import ModelCard

UNKNOWN_WINDOW = 128_000  # of a vendor's model that the price list does not have
LOCAL_WINDOW = 8_192  # of a local server that does not tell
SMALL_BYTES = 4 << 30  # of weights; a model with fewer needs care, see models/local/small.py
_SAMPLE = 1_000  # tokens to price, so that tiers for long prompts stay out
_BY_TOKEN = {"input_mtok", "output_mtok"}


@lru_cache(maxsize=512)
def vendor_card(vendor: str, name: str) -> ModelCard:
    """The card of a vendor's model. Prices are None if nobody published any."""
    model = f"{vendor}:{name}"
    provider = VENDORS[vendor].prices
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


def small_file(path: Path) -> bool:
    """Whether the weights in a file are those of a small model."""
    try:
        return path.stat().st_size < SMALL_BYTES
    except OSError:
        return True  # gone: whoever speaks next will tell


def local_card(name: str, window: int | None = None, small: bool = False) -> ModelCard:
    """The card of a local server's model: free, with a small window unless the server tells."""
    return ModelCard(f"{LOCAL}:{name}" if name else LOCAL, window or LOCAL_WINDOW, 0.0, 0.0, small)
