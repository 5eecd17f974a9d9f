"""How each API is called. A row of `providers.toml` names one of these modules: its function
`connect(vendor, key, url, http)` gives a `Make`."""

from collections.abc import Callable
from typing import Any

from pydantic_ai.models import Model

Make = Callable[[str], Model[Any]]
"""Gives the model of a name."""
