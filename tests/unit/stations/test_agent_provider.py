"""An agent's provider beside its model: derived when shown, taken when given."""

from typing import Any

import pytest

from moot.errors import InputError
from moot.models.providers import VENDORS
from moot.stations.casting import agent
from moot.stations.station import Agent
from moot.wire.codec_station import shown_agent

AT = "2026-11-15T12:00:00.000Z"
TAKEN: list[tuple[dict[str, Any], str, str]] = [
    ({"provider": "openai", "model": "gpt-5"}, "", "openai:gpt-5"),
    ({"provider": "openai", "model": "openai:gpt-5"}, "", "openai:gpt-5"),
    ({"provider": "openai", "model": "openai"}, "", "openai"),
    ({"provider": "openai"}, "", "openai"),
    ({"provider": "openai", "model": ""}, "", "openai"),
    ({"provider": "openai", "model": None}, "", "openai"),
    ({"provider": "anthropic", "model": "claude:opus"}, "", "claude:opus"),
    ({"provider": "claude", "model": "claude-opus-5"}, "", "claude:claude-opus-5"),
    ({"provider": "local", "model": "llama3:8b"}, "", "local:llama3:8b"),
    ({"provider": "local", "model": "mistral:7b"}, "", "local:mistral:7b"),
    ({"provider": "", "model": "gpt-5"}, "", "gpt-5"),
    ({"provider": None, "model": "openai:gpt-5"}, "", "openai:gpt-5"),
    ({"provider": ""}, "openai:gpt-5", ""),
    ({"provider": "openai"}, "openai:gpt-5", "openai:gpt-5"),
    ({"provider": "claude"}, "openai:gpt-5", "claude"),
    ({"model": "claude"}, "openai:gpt-5", "claude"),
    ({"bio": "Bold."}, "openai:gpt-5", "openai:gpt-5"),
]
REFUSED: list[dict[str, Any]] = [
    {"provider": "openai", "model": "claude:opus"},
    {"provider": "openai", "model": "claude"},
    {"provider": "local", "model": "openai:gpt-5"},
    {"provider": "openai:gpt-5"},
    {"provider": 7},
    {"provider": "openai", "model": "x" * 198},
]


@pytest.mark.parametrize(("asked", "before", "model"), TAKEN)
def test_a_provider_and_a_name_are_one_model(asked: Any, before: str, model: str) -> None:
    made = agent(asked, AT, Agent("ada", "Ada", model=before), VENDORS.normalize)
    assert made.model == model
    shown = shown_agent(made)
    assert shown["provider"] == model.partition(":")[0]
    again = {name: shown[name] for name in ("provider", "model")}
    assert (
        agent(again, AT, Agent("ben", "Ben"), VENDORS.normalize).model == model
    )  # what is shown can be given


@pytest.mark.parametrize("asked", REFUSED)
def test_two_providers_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        agent(asked, AT, Agent("ada", "Ada"), VENDORS.normalize)
    assert error.value.field in ("provider", "model")
