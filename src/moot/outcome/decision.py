"""What a debate decided: by a verdict, by the positions or, if nobody holds one, not yet.

Each way to a decision makes a Ruling. The packet and the record are written from it, whichever
way it was. `rule` makes it as before edition 2, and stays as it is: old packets are made by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from moot.core import positions
from moot.core.answers import cited, lines
from moot.core.debate import Debate, Turn
from moot.outcome.stands import Standing, answer, key, standing

Row = dict[str, str]
ASKER = "whoever asked"


@dataclass(slots=True)
class Ruling:
    """What was decided, why, against what, and what follows. Texts carry their citations."""

    selected: str
    why: list[str] = field(default_factory=list[str])
    rejected: list[Row] = field(default_factory=list[Row])
    risks: list[Row] = field(default_factory=list[Row])
    actions: list[Row] = field(default_factory=list[Row])
    refs: set[int] = field(default_factory=set[int])  # the turns that all of it rests on
    work: str | None = None  # the text, plan or architecture that was asked for

    def cite(self, text: str, turns: Sequence[int]) -> str:
        self.refs.update(turns)
        return cited(text, turns)

    def act(self, action: str, owner: str, due: str) -> None:
        number = len(self.actions) + 1
        self.actions.append({"id": f"A{number}", "action": action, "owner": owner, "due": due})


def rule(debate: Debate, turns: Sequence[Turn]) -> Ruling:
    """The verdict or, without one, what the positions favour."""
    result, stood = debate.rules.result, standing(debate, turns)
    verdict, heard = answer(turns, result.verdict if result else None)
    if verdict:
        return _judged(debate, verdict, heard, stood)
    return _favoured(debate, turns, stood) if stood.final.options else _open(debate, turns)


def _judged(debate: Debate, verdict: Mapping[str, Any], heard: set[int], stood: Standing) -> Ruling:
    favoured = stood.final.leader
    selected = positions.selected(verdict) or favoured or "Undecided"
    made = Ruling(selected)

    def cite(item: Mapping[str, Any], name: str) -> str:
        return made.cite(item[name], [turn for turn in item["turns"] if turn in heard])

    made.why = [cite(why, "text") for why in verdict["whySelected"]]
    if favoured is not None and key(stood.names.get(key(selected), selected)) != key(favoured):
        made.why.append(
            f"The positions favoured “{favoured}”; the {judge_of(debate)} chose otherwise."
        )
    made.rejected = [
        {"option": item["option"], "reason": cite(item, "reason")}
        for item in verdict["rejectedOptions"]
        if key(item["option"]) != key(selected)
    ]
    made.risks = [
        {
            "risk": cite(item, "risk"),
            "severity": item["severity"],
            "mitigation": item["mitigation"],
        }
        for item in verdict["risks"]
    ]
    for item in verdict["nextActions"]:
        made.act(cite(item, "action"), item["owner"], item["due"])
    return made


def _favoured(debate: Debate, turns: Sequence[Turn], stood: Standing) -> Ruling:
    """Without a verdict, the option that the positions favour stands, and the packet says so."""
    (option, leading, _), *others = stood.final.options
    made = Ruling(option)
    behind = [stand.turn for stand in leading]
    roles = ", ".join(stand.role for stand in leading)
    judge = judge_of(debate)
    made.why = [
        f"The {judge} gave no verdict; the option that the positions favour stands."
        if judge
        else f"{len(leading)} of {len(stood.asked)} stood for it at the end.",
        made.cite(f"It is where {roles} stood at the end.", behind),
    ]
    made.rejected = [
        {
            "option": other,
            "reason": made.cite("It had less support at the end.", [s.turn for s in group]),
        }
        for other, group, _ in others
    ]
    first = debate.rules.result.stands[-1] if debate.rules.result else None
    made.risks = [
        {
            "risk": made.cite(risk, [turn.number]),
            "severity": "medium",
            "mitigation": "None was named; decide on one before acting.",
        }
        for turn in turns
        if turn.stage == first and turn.status == "ok"
        for risk in lines(turn.data, "risks")
    ]
    confirm = made.cite(f"Confirm or overrule: {option}.", behind)
    made.act(confirm, ASKER, in_a_week(debate))
    return made


def _open(debate: Debate, turns: Sequence[Turn]) -> Ruling:
    """Nobody stands for anything at the end: what must be known first comes next."""
    made = Ruling("No decision")
    asked = [
        (question, turn.number)
        for turn in turns
        if turn.status == "ok"
        for question in lines(turn.data, "questions")
    ][:10]
    made.why = [made.cite("Nobody stood for an option at the end.", [n for _, n in asked])]
    questions = [made.cite(f"Find out: {question}", [n]) for question, n in asked]
    for action in questions or ["Say what must be known to decide."]:
        made.act(action, ASKER, in_a_week(debate))
    return made


def judge_of(debate: Debate) -> str | None:
    """Who speaks the verdict, if the format has one."""
    result = debate.rules.result
    if not (result and result.verdict):
        return None
    speakers = debate.rules.stage(result.verdict).speakers
    return speakers[0] if isinstance(speakers, tuple) else "judge"


def in_a_week(debate: Debate) -> str:
    begun = date.fromisoformat((debate.started_at or debate.created_at)[:10])
    return (begun + timedelta(days=7)).isoformat()
