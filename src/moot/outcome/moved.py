"""Who moved and why, who dissents, and in whose words."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from moot.core.answers import numbers, tables
from moot.core.debate import Debate, Turn
from moot.core.positions import key
from moot.outcome.ballot import Vote
from moot.outcome.stands import Standing, history

Row = dict[str, Any]
_TEXTS = ("claim", "rationale", "reason", "text")


def moves(debate: Debate, turns: Sequence[Turn], stood: Standing) -> list[Row]:
    """Every change from one option to another. Its cause are the turns that the speaker names; if
    it names none, the challenges to it in between are shown, and it counts as without a reason."""
    past = history(debate.rules, turns)
    found: list[Row] = []
    for name in (name for name in stood.asked if name in past):
        for (was, start), (now, turn) in pairwise(past[name]):
            before, after = (stood.names.get(key(option), option) for option in (was, now))
            if before != after:
                cause = _because(turns, start, turn)
                row = {"who": name, "from": before, "to": after, "because": cause}
                found.append({**row, "turn": turn.number})
    return found


def _because(turns: Sequence[Turn], start: Turn, turn: Turn) -> Row:
    given = tables(turn.data, "revisions") or tables(turn.data, "reasons")
    heard = {
        one.number: one
        for one in turns
        if one.status == "ok" and one.round < turn.round and one.actor != turn.actor
    }
    named = [n for part in given for n in numbers(part, "turns") if n in heard]
    between = [
        one.number
        for one in heard.values()
        if start.round < one.round and one.target == turn.actor and one.kind == "speech"
    ]
    told = next((part for part in given if numbers(part, "turns")), given[0] if given else None)
    text = str((told or {}).get("reason") or (told or {}).get("text") or "") or None
    return {"text": text, "turns": sorted(set(named or between)), "named": bool(named)}


def dissent(
    turns: Sequence[Turn], stood: Standing, cast: Sequence[Vote], selected: str | None
) -> list[Row]:
    """Who stands, or votes, for another option than the selected one, and why, in its own words."""
    if selected is None:
        return []
    said = {turn.number: turn for turn in turns}
    held = [
        (stand.role, option, said[stand.turn])
        for option, group, _ in stood.final.options
        for stand in group
        if option != selected
    ]
    held.sort(key=lambda item: stood.asked.index(item[0]))
    held += [
        (vote.name, vote.counts, vote.ballots[0])
        for vote in cast
        if vote.counts not in (None, "undecided", selected) and vote.ballots
    ]
    return [
        {"who": who, "option": option, "reason": in_its_words(turn), "turn": turn.number}
        for who, option, turn in held
    ]


def in_its_words(turn: Turn) -> str:
    """What a turn gives as its main reason."""
    data: Mapping[str, Any] = turn.data or {}
    for part in (data, *tables(data, "reasons")):
        for name in _TEXTS:
            if isinstance(text := part.get(name), str) and text.strip():
                return text
    return turn.text.strip() or "It gave no reason."
