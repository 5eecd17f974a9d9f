"""Debates with juries whose votes are written down, for the tests of the page."""

import json
from typing import Any

from moot.errors import ProviderError, ProviderRefusedError
from moot.ports.model_call import Call
from tests.browser.browsing import line
from tests.integration.councils import answer
from tests.served import Served

SHIP, WAIT, UNDECIDED = "Ship it", "Wait a quarter", "undecided"
FOR, AGAINST = "For the motion", "Against the motion"
READINGS = ("alone", "spoken", "swapped")

VOTES: dict[str, list[tuple[str, str, str]]] = {
    "decided": [(WAIT, SHIP, SHIP), (WAIT, SHIP, SHIP), (SHIP, SHIP, SHIP)],
    "contested": [(SHIP, SHIP, SHIP), (WAIT, SHIP, SHIP), (WAIT, WAIT, WAIT)],
    "deadlock": [(SHIP, SHIP, SHIP), (WAIT, WAIT, WAIT), (SHIP, UNDECIDED, UNDECIDED)],
    "facts": [(SHIP, UNDECIDED, UNDECIDED), (UNDECIDED, UNDECIDED, UNDECIDED), (WAIT, WAIT, WAIT)],
    "flips": [(SHIP, SHIP, WAIT), (WAIT, SHIP, SHIP), (SHIP, SHIP, SHIP), (WAIT, SHIP, SHIP),
              (SHIP, SHIP, SHIP)],
    "nobody": [(SHIP, SHIP, WAIT), (WAIT, WAIT, SHIP), (SHIP, "", "")],
    "duel": [(FOR, AGAINST, AGAINST), (FOR, AGAINST, AGAINST), (AGAINST, AGAINST, AGAINST)],
    "overruled": [(SHIP, WAIT, WAIT), (SHIP, WAIT, WAIT), (WAIT, WAIT, WAIT)],
}  # fmt: skip
"""What each juror says alone, in one order and in the other, by the first word of the motion."""


def motion(name: str) -> str:
    return f"{name.capitalize()}: shall we ship it now, or wait a quarter?"


def says(call: Call) -> str | ProviderError:
    """A council or a duel in which the motion's first word says how the jury votes."""
    step, votes = call.step, VOTES.get(call.debate.motion.partition(":")[0].lower(), [])
    if step.reading:
        vote = votes[int(step.actor.rpartition("-")[2]) - 1][READINGS.index(step.reading)]
        return json.dumps(ballot(call, vote)) if vote else ProviderRefusedError("It declined.")
    said = answer(call)
    if said is None:
        return f"{line(call)} We should ship because the sums say so."
    if (
        step.actor == "critic"
        and step.answer == "revision"
        and "overruled" not in call.debate.motion
    ):
        said |= {
            "position": SHIP,
            "revisions": [
                {"change": "I no longer ask to wait.", "reason": "The sums hold.", "turns": [1]}
            ],
        }
    return json.dumps(said)


def ballot(call: Call, vote: str) -> dict[str, Any]:
    cited = [turn.number for turn in call.heard if turn.kind == "speech"][:2]
    unsure = vote == UNDECIDED
    return {
        "reasons": [
            {"text": f"What counts is what {vote.lower()} costs.", "turns": cited, "quotes": []}
        ],
        "against": {"text": "Nobody has measured it.", "turns": cited[:1]},
        "choice": vote,
        "confidence": 0.4 if unsure else 0.8,
        "wouldChange": "A quarter with two outages.",
        "questions": ["How many customers are waiting?", "What does a week of delay cost?"]
        if unsure
        else [],
    }


def hold(moot: Served, name: str, **asked: Any) -> str:
    """A debate of that name with its jury, once it has ended."""
    asked = {"format": "council", "jury": {"size": len(VOTES[name])}, **asked}
    debate_id = moot.create(motion(name), **asked)["id"]
    moot.wait(debate_id)
    return debate_id
