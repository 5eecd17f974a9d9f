"""Speakers that also vote, with no model: each juror for the option that it is told to prefer."""

import json
from typing import Any

from moot.errors import ProviderError
from moot.ports.model_call import Call, Reply
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import council_speaker


def ballot(call: Call, prefers: str | None = None) -> dict[str, Any]:
    """A valid ballot, for the option that has these words, or else for the one that sorts first."""
    assert call.schema
    given: list[str] = call.schema["properties"]["choice"]["enum"]
    options = sorted(option for option in given if option != "undecided")
    choice = next((one for one in options if prefers and prefers in one), options[0])
    cited = [turn.number for turn in call.heard if turn.kind == "speech"][:2]
    return {
        "reasons": [{"text": "It holds on its own.", "turns": cited}],
        "against": {"text": "It may cost more.", "turns": cited[:1]},
        "choice": choice,
        "confidence": 0.8,
        "wouldChange": "A bill that says otherwise.",
        "questions": [],
    }


def vote(call: Call) -> str | Reply | ProviderError:
    """As a council speaks, and as a jury votes."""
    if call.step.answer == "ballot":
        return json.dumps(ballot(call))
    return council_speaker()._script(call)


def jury_speaker(seconds: float = 0.0) -> ScriptedSpeaker:
    return ScriptedSpeaker(vote, seconds)
