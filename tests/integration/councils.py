"""Speakers that give each shape of a council's answers, and of a report's, with no model."""

import json
from collections.abc import Callable
from typing import Any

from moot.errors import ProviderError, ProviderRefusedError
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.testing.speaker import ScriptedSpeaker, plain

COUNCIL = {"problem": "Ship it?", "output_type": "decision"}
OPTIONS = {"critic": "Wait a quarter", "analyst": "Ship it in March"}
Answer = Callable[[Call], str | Reply | ProviderError]


def answer(call: Call) -> dict[str, Any] | None:
    """A valid answer to a step that asks for one; None for a step that asks for words."""
    actor, debate = call.step.actor, call.debate
    option = OPTIONS.get(actor, "Ship it")
    cited = [turn.number for turn in call.heard[:3]]
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
                "choice": "Ship it",
                "whySelected": [{"text": "It pays.", "turns": cited}],
                "rejectedOptions": [
                    {"option": "Wait a quarter", "reason": "Slow.", "turns": cited[:1]}
                ],
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

    def script(call: Call) -> str | Reply | ProviderError:
        if (call.step.actor, call.step.round) in failing:
            return ProviderRefusedError("no")
        said = answer(call)
        return plain(call) + " Naïve — “quoted” <i>[x]</i>" if said is None else json.dumps(said)

    return ScriptedSpeaker(script)


def written(call: Call) -> dict[str, Any]:
    """What a good model answers, from what it was asked."""
    assert call.schema
    ids = call.schema["properties"]["points"]["items"]["properties"]["speaker"]["enum"]
    first = {turn.actor: turn.number for turn in reversed(call.heard) if turn.kind != "cue"}
    return {
        "points": [{"speaker": i, "text": f"{i} holds on.", "turns": [first[i]]} for i in ids],
        "conceded": [{"speaker": ids[0], "text": "It costs more.", "turns": [first[ids[0]], 999]}],
        "open": [{"text": "Nobody knows the <i>price</i>.", "turns": [first[ids[-1]], 0]}],
        "at_issue": {"text": "Whether it pays.", "turns": [first[one] for one in ids[:2]]},
        "summary": "They spoke, and “nobody” <b>moved</b>.",
    }


def well(call: Call) -> str:
    return json.dumps(written(call))


class Voices(ScriptedSpeaker):
    """Everyone speaks as in a council; reports are written as the test says."""

    def __init__(self, answer: Answer = well, window: int = 100_000, seconds: float = 0.0) -> None:
        others = council_speaker()

        def script(call: Call) -> str | Reply | ProviderError:
            return answer(call) if call.step.stage == "report" else others._script(call)

        super().__init__(script)
        self.window = window
        self.slow = seconds

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, self.window, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        self._seconds = self.slow if call.step.stage == "report" else 0.0
        return await super().speak(call, say)

    @property
    def reports(self) -> list[Call]:
        return [call for call in self.calls if call.step.stage == "report"]
