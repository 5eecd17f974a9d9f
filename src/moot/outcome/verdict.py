"""The outcome of a debate: all that `verdict.json` holds, from the turns alone.

Documented in docs/verdict.md, field by field.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from moot.core import depth
from moot.core.answers import lines
from moot.core.debate import NO_USAGE, Debate, Turn, Usage
from moot.core.positions import key
from moot.core.prices import Known, is_local, unpriced
from moot.core.voices import family
from moot.outcome.ballot import Vote
from moot.outcome.count import Count
from moot.outcome.doubts import doubts, overlaps
from moot.outcome.findings import Findings, find
from moot.outcome.moved import dissent
from moot.outcome.stands import Standing, Tally, history

Row = dict[str, Any]


def verdict(
    debate: Debate, turns: Sequence[Turn], found: Findings | None = None
) -> dict[str, Any] | None:
    """The verdict of a debate; None of one that began before there were any."""
    if debate.rules.edition < 2 or debate.rules.result is None:
        return None
    found = found or find(debate, turns)
    return {
        "outcome": found.outcome,
        "selected": found.selected,
        "decidedBy": found.by,
        "options": _options(debate, turns, found),
        "support": support(found.stood, found.selected),
        "jury": _jury(debate, turns, found.cast),
        "judge": _said(found.judge),
        "baseline": _baseline(found.cast, found.selected),
        "moved": list(found.moved),
        "dissent": dissent(turns, found.stood, found.cast, found.selected),
        "openQuestions": questions(turns, found),
        "wouldChange": _would_change(found.cast),
        "quotes": {
            "checked": found.quotes.checked,
            "verified": found.quotes.checked - len(found.quotes.failed),
            "failed": len(found.quotes.failed),
        },
        "warnings": doubts(
            debate, turns, found.stood, found.cast, found.options, found.moved, found.quotes
        ),
        **_depth(debate, turns, found.selected),
        "usage": _usage(debate, turns),
    }


def _depth(debate: Debate, turns: Sequence[Turn], selected: str | None) -> Row:
    """How far the debate went, if that was to be found out."""
    screen = debate.rules.screen
    if screen is None:
        return {}
    agreed, gone = depth.agreement(debate, turns), depth.left_out(debate, turns)
    audited = agreed is not None and gone is None and depth.has_begun(debate, turns)
    same = None
    if audited and agreed:
        same = selected is not None and key(selected) == key(agreed.option)
    ids = debate.rules.stage(screen.stages[0]).seats
    row = {
        "seats": [seat.name for seat in debate.participants if seat.id in ids],
        "agreed": agreed and {"stage": agreed.stage, "option": agreed.option,
                              "turns": sorted(turn.number for turn in agreed.turns)},
        "leftOut": list(gone.stages) if gone else [],
        "why": gone and gone.words,
        "audited": audited,
        "same": same,
    }  # fmt: skip
    return {"depth": row}


def _options(debate: Debate, turns: Sequence[Turn], found: Findings) -> list[Row]:
    """Every option, the one with the most behind it first; those that are level by their names."""
    stood = found.stood
    spelled: dict[str, list[str]] = {option: [] for option in found.options.options}
    for held in history(debate.rules, turns).values():
        for option, _ in held:
            wordings = spelled.setdefault(stood.names.get(key(option), option), [])
            if option not in wordings:
                wordings.append(option)
    if found.selected is not None:
        spelled.setdefault(found.selected, [])  # in the judge's own words
    rows = [
        {
            "name": name,
            "wordings": sorted(wordings) or [name],
            "round1": _holders(stood.first, name),
            "final": _holders(stood.final, name),
            "jury": [vote.name for vote in found.cast if vote.counts == name],
        }
        for name, wordings in spelled.items()
    ]
    return sorted(
        rows,
        key=lambda row: (
            row["name"] != found.selected,
            -len(row["jury"]),
            -len(row["final"]),
            -len(row["round1"]),
            key(row["name"]),
        ),
    )


def _holders(counted: Tally, option: str) -> list[str]:
    groups = [group for name, group, _ in counted.options if name == option]
    return [stand.role for group in groups for stand in group]


def support(stood: Standing, selected: str | None) -> Row:
    """How the speakers stand to what was selected, beside what they favour."""
    final, plain = stood.final, stood.unmapped
    of = final.leader if selected is None else selected
    wordings = [name for name, _, _ in plain.options if stood.names.get(key(name), name) == of]
    best = max(wordings, key=lambda name: (plain.heads(name), plain.share(name)), default=None)
    return {
        "heads": final.heads(of),
        "of": final.stood,
        "asked": len(stood.asked),
        "weight": final.share(of),
        "favoured": _score(final),
        "unmapped": {
            "heads": plain.heads(best),
            "weight": plain.share(best),
            "favoured": _score(plain),
        },
    }


def _score(counted: Tally) -> Row | None:
    option = counted.leader
    if option is None:
        return None
    return {"option": option, "heads": counted.heads(option), "weight": counted.share(option)}


def _jury(debate: Debate, turns: Sequence[Turn], cast: Sequence[Vote]) -> Row | None:
    if not cast:
        return None
    count = Count.of(len(cast), [vote.counts for vote in cast])
    twice = [vote for vote in cast if vote.choice is not None and vote.swapped is not None]
    most = max((votes for _, votes in count.split), default=0)
    return {
        "asked": count.asked,
        "valid": count.valid,
        "split": _split(count),
        "margin": count.margin,
        "swapConsistent": _share(sum(not vote.flipped for vote in twice), len(twice)),
        "agreement": _share(most, count.valid),
        "jurors": [_juror(vote, debate.rules.edition) for vote in cast],
        "overlaps": overlaps(debate, turns, cast),
    }


def _juror(vote: Vote, edition: int) -> Row:
    return {
        "id": vote.juror,
        "name": vote.name,
        "model": vote.model,
        "family": family(vote.model, edition),
        "alone": vote.alone,
        "choice": vote.choice,
        "swapped": vote.swapped,
        "flipped": vote.flipped,
        "vote": vote.counts,
        "confidence": vote.confidence,
        "turn": vote.turn,
    }


def _split(count: Count) -> list[Row]:
    return [{"option": option, "votes": votes} for option, votes in count.split]


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _said(judge: tuple[Turn, str] | None) -> Row | None:
    if judge is None:
        return None
    return {"name": judge[0].name, "choice": judge[1], "turn": judge[0].number}


def _baseline(cast: Sequence[Vote], selected: str | None) -> Row | None:
    """What the jury said before it had heard anything, by the same rules."""
    if not any(vote.asked_alone for vote in cast):
        return None
    count = Count.of(len(cast), [vote.alone for vote in cast])
    return {
        "selected": count.selected,
        "split": _split(count),
        "changedByDebate": count.selected != selected,
    }


def questions(turns: Sequence[Turn], found: Findings) -> list[Row]:
    """What was left open: by the judge, by jurors who heard the debate, and by the speakers."""
    ballots = [turn for vote in found.cast for turn in vote.ballots]
    stages = {turn.stage for turn in ballots}
    asked = [found.judge[0]] if found.judge else []
    seen = {turn.number for turn in (*asked, *ballots)}
    others = [
        turn
        for turn in sorted(turns, key=lambda turn: (turn.round, turn.actor))
        if turn.status == "ok" and turn.number not in seen and turn.stage not in stages
    ]
    said = [(turn, text) for turn in (*asked, *ballots, *others) for text in _open(turn)]
    return _once(said)


def _open(turn: Turn) -> list[str]:
    return lines(turn.data, "questions")


def _would_change(cast: Sequence[Vote]) -> list[Row]:
    """The facts that would change a juror's vote."""
    said = [
        (turn, str(text))
        for vote in cast
        if vote.counts is not None
        for turn in vote.ballots
        if (text := (turn.data or {}).get("wouldChange"))
    ]
    return _once(said)


def _once(said: Iterable[tuple[Turn, str]]) -> list[Row]:
    found: dict[str, Row] = {}
    for turn, text in said:
        if text.strip():
            found.setdefault(key(text), {"text": text, "who": turn.name, "turn": turn.number})
    return list(found.values())


def _usage(debate: Debate, turns: Sequence[Turn]) -> Mapping[str, Any]:
    """What all calls of the debate took; before edition 4, those that led to a turn."""
    whole = debate.rules.edition > 3
    used = debate.usage if whole else reduce(add, (turn.usage for turn in turns), NO_USAGE)
    return usage_of(used, Known(unpriced(debate), is_local(debate)) if whole else None)


def usage_of(used: Usage, prices: Known | None) -> Mapping[str, Any]:
    """What calls took, as a verdict tells it."""
    known = {"unpriced": list(prices.unpriced), "local": prices.local} if prices else {}
    return {
        "inputTokens": used.input_tokens,
        "outputTokens": used.output_tokens,
        "costUsd": round(used.cost_usd, 6),
        "calls": used.calls,
        "estimated": used.estimated,
        **known,
    }
