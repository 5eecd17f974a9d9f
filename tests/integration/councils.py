"""A speaker that gives each shape of a council's answers, with no model."""

import json
from typing import Any

from moot.errors import ProviderError, ProviderRefusedError
from moot.ports import Call
from moot.testing.speaker import ScriptedSpeaker, plain

OPTIONS = {"critic": "Wait a quarter", "analyst": "Ship it in March"}


def answer(call: Call) -> dict[str, Any] | None:
    """A valid answer to a step that asks for one; None for a step that asks for words."""
    actor, debate = call.step.actor, call.debate
    option = OPTIONS.get(actor, "Ship it")
    cited = [turn.seq for turn in call.heard[:3]]
    match call.step.answer:
        case "position":
            return {
                "position": option, "claim": f"{actor}: it “pays” <b>now</b>.",
                "rationale": "The sums say so. [1]", "risks": ["Cost & time"], "confidence": 0.7,
            }  # fmt: skip
        case "challenge":
            target = debate.seat(call.step.target or "").role
            return {
                "challenges": [{"targetRole": target, "question": "Why now?", "claim": "It pays."}]
            }
        case "revision":
            asked = [t.name for t in call.heard if t.round == 2 and t.target == actor]
            return {
                "responses": [{"sourceRole": name, "response": "Because."} for name in asked],
                "revisions": [{"change": "Nothing.", "reason": "Nobody moved me — yet."}],
                "position": "Ship it" if actor == "analyst" else option,
                "claim": "It still pays.", "confidence": 0.8,
            }  # fmt: skip
        case "reading":
            return {
                "agreements": [{"text": "It pays.", "turns": cited}],
                "disagreements": [{"text": "When.", "turns": [*cited, 999]}],
                "same": [{"option": "Ship it", "wordings": ["Ship it", "Ship it in March"]}],
            }
        case "verdict":
            return {
                "selectedOption": "Ship it",
                "whySelected": [{"text": "It pays.", "turns": cited}],
                "rejectedOptions": [{"option": "Wait", "reason": "Slow.", "turns": cited[:1]}],
                "risks": [{"risk": "Cost", "severity": "low", "mitigation": "Cap it."}],
                "nextActions": [
                    {"action": "Begin", "owner": "Ada", "due": "2026-12-01", "turns": cited[:1]},
                    {"action": "Measure", "owner": "Ben", "due": "2027-01-15"},
                ],
            }
        case _:
            return None


def council_speaker(failing: frozenset[tuple[str, int]] = frozenset()) -> ScriptedSpeaker:
    """Speaks in every format; in a council, those of (actor, round) in `failing` cannot."""

    def script(call: Call) -> str | ProviderError:
        if (call.step.actor, call.step.round) in failing:
            return ProviderRefusedError("no")
        said = answer(call)
        return plain(call) + " Naïve — “quoted” <i>[x]</i>" if said is None else json.dumps(said)

    return ScriptedSpeaker(script)
