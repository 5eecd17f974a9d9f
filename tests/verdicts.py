"""Verdicts made by hand, one for each kind of outcome, in the shape of `verdict.json`."""

from typing import Any

from moot.core.voices import UNDERSTUDY

GO, WAIT, SPLIT = "Adopt Postgres", "Stay with MySQL", "Split the database first"
SEATS = [
    ("Proponent", "openai:gpt-5"),
    ("Critic", "claude:opus"),
    ("Analyst", "openai:gpt-5"),
    ("Synthesizer", UNDERSTUDY),
    ("Judge", "claude:opus"),
]
USED = {"inputTokens": 30_000, "outputTokens": 4_100, "costUsd": 0.0312, "calls": 27}


def option(
    name: str, round1: str = "", final: str = "", jury: str = "", wordings: str = ""
) -> dict[str, Any]:
    people = {
        "P": "Proponent", "C": "Critic", "A": "Analyst", "S": "Synthesizer", "J": "Judge",
        "1": "Juror 1", "2": "Juror 2", "3": "Juror 3",
    }  # fmt: skip
    return {
        "name": name,
        "wordings": wordings.split("/") if wordings else [name],
        "round1": [people[one] for one in round1],
        "final": [people[one] for one in final],
        "jury": [people[one] for one in jury],
    }


def juror(
    number: int, alone: str | None, choice: str | None, swapped: str | None, model: str = "gemini:x"
) -> dict[str, Any]:
    agreed = choice is not None and choice == swapped
    return {
        "id": f"juror-{number}",
        "name": f"Juror {number}",
        "model": model,
        "family": model.partition(":")[0],
        "alone": alone,
        "choice": choice,
        "swapped": swapped,
        "flipped": None not in (choice, swapped) and choice != swapped,
        "vote": choice if agreed else None,
        "confidence": 0.7,
        "turn": 20 + number,
    }


def split(**votes: int) -> list[dict[str, Any]]:
    names = {"go": GO, "wait": WAIT, "split": SPLIT, "undecided": "undecided"}
    return [{"option": names[name], "votes": count} for name, count in votes.items()]


def score(name: str, heads: int, weight: float) -> dict[str, Any]:
    return {"option": name, "heads": heads, "weight": weight}


def contested() -> dict[str, Any]:
    """A jury of three, one of which flipped, chose what the speakers do not favour."""
    return {
        "outcome": "contested",
        "selected": GO,
        "decidedBy": "jury",
        "options": [
            option(GO, "PA", "PS", "13", f"{GO}/Move to Postgres"),
            option(WAIT, "CSJ", "CAJ"),
            option(SPLIT),
        ],
        "support": {
            "heads": 2,
            "of": 5,
            "asked": 5,
            "weight": 0.44,
            "favoured": score(WAIT, 3, 0.56),
            "unmapped": {"heads": 1, "weight": 0.22, "favoured": score(WAIT, 3, 0.56)},
        },
        "jury": {
            "asked": 3,
            "valid": 2,
            "split": split(go=2),
            "margin": 1,
            "swapConsistent": 0.6667,
            "agreement": 1.0,
            "jurors": [
                juror(1, WAIT, GO, GO),
                juror(2, "undecided", GO, WAIT, "claude:opus"),
                juror(3, WAIT, GO, GO, UNDERSTUDY),
            ],
            "overlaps": ["claude:opus"],
        },
        "judge": {"name": "Judge", "choice": WAIT, "turn": 30},
        "baseline": {
            "selected": WAIT,
            "split": split(wait=2, undecided=1),
            "changedByDebate": True,
        },
        "moved": [
            {
                "who": "Synthesizer",
                "from": WAIT,
                "to": GO,
                "because": {"text": "Writes are faster.", "turns": [8], "named": True},
                "turn": 15,
            },
            {
                "who": "Analyst",
                "from": GO,
                "to": WAIT,
                "because": {"text": None, "turns": [9], "named": False},
                "turn": 13,
            },
        ],
        "dissent": [
            {"who": "Critic", "option": WAIT, "reason": "Nobody can run it at night.", "turn": 17}
        ],
        "openQuestions": [
            {"text": f"What is the load in year {n}?", "who": "Juror 2", "turn": 22}
            for n in range(1, 9)
        ],
        "wouldChange": [{"text": "A cluster that fails in a day.", "who": "Juror 1", "turn": 21}],
        "quotes": {"checked": 4, "verified": 3, "failed": 1},
        "warnings": [
            "DEBATE_WARN_JURY_OVERLAP: claude:opus debated and sat on the jury.",
            "DEBATE_WARN_QUOTE_UNVERIFIED: Juror 1 quotes “It is free”, which nobody said.",
            "DEBATE_WARN_QUOTE_UNVERIFIED: Juror 3 quotes “It is fast”, which nobody said.",
        ],
        "usage": {**USED, "estimated": True},
    }


def decided() -> dict[str, Any]:
    """All three jurors chose it in both orders, and no wordings were merged."""
    jurors = [juror(number, GO, GO, GO) for number in (1, 2, 3)]
    made = contested()
    return made | {
        "outcome": "decided",
        "options": [option(GO, "PA", "PASJ", "123"), option(WAIT, "CSJ", "C")],
        "support": {
            "heads": 4,
            "of": 5,
            "asked": 5,
            "weight": 0.79,
            "favoured": score(GO, 4, 0.79),
            "unmapped": {"heads": 4, "weight": 0.79, "favoured": score(GO, 4, 0.79)},
        },
        "jury": made["jury"]
        | {"valid": 3, "split": split(go=3), "margin": 3, "jurors": jurors, "overlaps": []},
        "judge": {"name": "Judge", "choice": GO, "turn": 30},
        "baseline": {"selected": GO, "split": split(go=3), "changedByDebate": False},
        "quotes": {"checked": 4, "verified": 4, "failed": 0},
        "warnings": [],
    }


def deadlock() -> dict[str, Any]:
    """A duel: nobody states options, and two jurors of two disagree."""
    made = contested()
    return made | {
        "outcome": "deadlock",
        "selected": None,
        "options": [option(GO, jury="1"), option(WAIT, jury="2")],
        "support": {
            "heads": 0,
            "of": 0,
            "asked": 0,
            "weight": 0.0,
            "favoured": None,
            "unmapped": {"heads": 0, "weight": 0.0, "favoured": None},
        },
        "jury": made["jury"]
        | {
            "asked": 2,
            "valid": 2,
            "split": split(go=1, wait=1),
            "margin": 0,
            "jurors": [juror(1, GO, GO, GO), juror(2, WAIT, WAIT, WAIT)],
        },
        "judge": None,
        "baseline": {"selected": None, "split": split(go=1, wait=1), "changedByDebate": False},
        "moved": [],
        "dissent": [],
        "wouldChange": [],
        "openQuestions": [],
        "warnings": [],
    }


def needs_facts() -> dict[str, Any]:
    """A council without a jury, whose Judge cannot decide."""
    made = contested()
    return made | {
        "outcome": "needs_facts",
        "selected": None,
        "decidedBy": "judge",
        "jury": None,
        "baseline": None,
        "judge": {"name": "Judge", "choice": "undecided", "turn": 30},
        "options": [option(GO, "PA", "PS"), option(WAIT, "CSJ", "CAJ")],
        "dissent": [],
        "wouldChange": [],
    }


def no_verdict() -> dict[str, Any]:
    """Of three jurors, one flipped and one gave no ballot at all."""
    made = decided()
    jurors = [juror(1, GO, GO, GO), juror(2, GO, GO, WAIT), juror(3, None, None, None)]
    return made | {
        "outcome": "no_verdict",
        "selected": None,
        "options": [option(GO, "PA", "PASJ", "1"), option(WAIT, "CSJ", "C")],
        "jury": made["jury"] | {"valid": 1, "split": split(go=1), "margin": -1, "jurors": jurors},
        "baseline": {"selected": GO, "split": split(go=2), "changedByDebate": True},
        "dissent": [],
    }


def overruled() -> dict[str, Any]:
    """A Judge chose, in its own words, what nobody stood for."""
    own = "Outsource the whole product"
    made = needs_facts()
    return made | {
        "outcome": "contested",
        "selected": own,
        "options": [option(own), *made["options"]],
        "support": made["support"] | {"heads": 0, "weight": 0.0}
        | {"unmapped": {"heads": 0, "weight": 0.0, "favoured": score(WAIT, 3, 0.56)}},
        "judge": {"name": "Judge", "choice": own, "turn": 30},
    }  # fmt: skip


KINDS = {
    "decided": decided,
    "contested": contested,
    "deadlock": deadlock,
    "needs_facts": needs_facts,
    "no_verdict": no_verdict,
    "overruled": overruled,
}
