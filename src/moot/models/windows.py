"""The window of a model, as servers and vendors tell it, each in its way."""

from collections.abc import Mapping
from typing import Any, cast

_KEYS = (
    "max_model_len",  # vLLM
    "loaded_context_length",  # LM Studio
    "n_ctx",  # llama.cpp, in `meta`
    "context_length",  # OpenRouter, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral
    "max_input_tokens",  # Anthropic
    "inputTokenLimit",  # Google
)


def window_in(told: Mapping[str, Any]) -> int | None:
    """The window in force, if a row of a list tells it."""
    meta = told.get("meta")
    places = {**told, **(cast(dict[str, Any], meta) if isinstance(meta, dict) else {})}
    for key in _KEYS:
        window = places.get(key)
        if isinstance(window, int) and 512 <= window <= 100_000_000:
            return window
    return None
