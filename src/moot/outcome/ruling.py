"""What a packet says of an outcome: why, against what, at which risk, and what follows.

A judge's verdict supplies all of that if it chose what was selected. Otherwise the ballots and the
positions do. What was not decided is not dressed up as a decision: its questions come next.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moot.core.answers import UNDECIDED, lines, numbers, tables
from moot.core.debate import Debate, Turn
from moot.core.positions import key
from moot.outcome.count import Count
from moot.outcome.decision import ASKER, Row, Ruling, in_a_week, judge_of
from moot.outcome.findings import Findings
from moot.outcome.verdict import questions

MOST = 8  # reasons, and risks, that are taken from ballots and positions
UNNAMED = "None was named; decide on one before acting."
NOTHING = "No decision"


def ruling(debate: Debate, turns: Sequence[Turn], found: Findings) -> Ruling:
    """The ruling that follows from what was found."""
    made = Ruling(headline(found))
    if found.by != "judge" or found.outcome != "decided":
        made.why = [_how(debate, found, made)]
    if found.selected is None:
        _undecided(debate, turns, found, made)
    elif found.judge and found.judge[1] == found.selected:
        _judged(made, turns, found, found.judge[0])
    else:
        _counted(debate, turns, found, made)
    if found.judge and found.by == "jury" and found.judge[1] != found.selected:
        turn, choice = found.judge
        chose = "would not decide" if choice == UNDECIDED else f"would have chosen “{choice}”"
        made.why.append(made.cite(f"The {turn.name} {chose}.", [turn.number]))
    favoured = found.stood.final.leader
    if found.selected is not None and favoured not in (None, found.selected):
        heads, of = found.stood.final.heads(favoured), found.stood.final.stood
        who = {"jury": "jury", "judge": judge_of(debate) or "judge"}.get(found.by or "", "count")
        made.why.append(
            f"The positions favoured “{favoured}” ({heads} of {of}); the {who} chose otherwise."
        )
    return made


def headline(found: Findings) -> str:
    """The selected option or, in the same place, that there is none and why."""
    if found.selected is not None:
        return found.selected
    if found.outcome == "needs_facts":
        return f"{NOTHING}: facts are missing"
    if found.outcome == "deadlock":
        level = _level(found)
        between = f" between {_listed(level)}" if level else ""
        return f"{NOTHING}: deadlock{between}"
    return f"{NOTHING}: too few votes count" if found.by else f"{NOTHING}: nobody voted"


def _level(found: Findings) -> list[str]:
    """The options between which a deadlock is: those with the most behind them."""
    if found.by == "jury":
        cast = [vote.counts for vote in found.cast if vote.counts != UNDECIDED]
        counted = Count.of(len(cast), cast).split
    else:
        counted = [(option, len(group)) for option, group, _ in found.stood.final.options]
    most = max((votes for _, votes in counted), default=0)
    first = [option for option, votes in counted if votes == most]
    return sorted(first if len(first) > 1 else [option for option, _ in counted])


def _listed(options: Sequence[str]) -> str:
    named = [f"“{option}”" for option in options]
    return " and ".join((", ".join(named[:-1]), named[-1])) if len(named) > 1 else named[0]


def _how(debate: Debate, found: Findings, made: Ruling) -> str:
    """Who decided, and how clearly, in one sentence."""
    stood, selected = found.stood.final, found.selected
    behind = [s.turn for option, group, _ in stood.options if option == selected for s in group]
    if found.by == "jury":
        count = Count.of(len(found.cast), [vote.counts for vote in found.cast])
        ballots = [vote.turn for vote in found.cast if vote.turn is not None]
        return made.cite(_of_the_jury(found, count), ballots)
    if found.by == "judge":
        judge, heads = judge_of(debate) or "judge", stood.heads(selected)
        if selected is None:
            return f"The {judge} cannot decide this yet."
        side = f"{heads} of {stood.stood} who took a position stand for it"
        if not stood.stood and debate.rules.edition > 8:
            side = "nobody else took a position"
        return made.cite(f"The {judge} chose it; {side}.", behind)
    judge = judge_of(debate)
    failed = f"The {judge} gave no verdict. " if judge else ""
    if selected is None:
        most = "Nobody stood for an option at the end."
        if stood.options:
            most = "No option had the support of more than half of those who were asked."
        if found.outcome == "needs_facts":
            most = "At least half of those who took part were undecided."
        return failed + most
    lead = "" if found.outcome == "decided" else " That is not a clear lead."
    said = f"{failed}{stood.heads(selected)} of {len(found.stood.asked)} stood for it at the end."
    return made.cite(said + lead, behind)


def _of_the_jury(found: Findings, count: Count) -> str:
    flips = sum(vote.flipped for vote in found.cast)
    flipped = f" {_many(flips, 'juror')} changed with the order and abstained." if flips else ""
    split = ", ".join(f"“{option}” {votes}" for option, votes in count.split) or "no vote"
    of = f"of {_many(count.asked, 'juror')}"
    match found.outcome:
        case "decided":
            return f"{count.votes[found.selected or '']} {of} chose it.{flipped}"
        case "contested":
            chose = count.votes[found.selected or ""]
            return f"{chose} {of} chose it, which is not a clear lead.{flipped}"
        case "deadlock":
            return f"The jury is deadlocked: {split}.{flipped}"
        case "needs_facts":
            return f"{count.undecided} {of} would not decide without more facts.{flipped}"
        case "no_verdict":
            return f"Only {count.valid} {of} gave a vote that counts.{flipped}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def _judged(made: Ruling, turns: Sequence[Turn], found: Findings, turn: Turn) -> None:
    """What a judge's verdict says."""
    data = turn.data or {}
    heard = {one.number for one in turns if one.status == "ok" and one.round < turn.round}

    def cite(item: Mapping[str, Any], name: str) -> str:
        return made.cite(item[name], [one for one in numbers(item, "turns") if one in heard])

    made.why += [cite(why, "text") for why in tables(data, "whySelected")]
    for item in tables(data, "rejectedOptions"):
        option = found.stood.names.get(key(item["option"]), item["option"])
        if found.selected is None or key(option) != key(found.selected):
            row = {"option": item["option"], "reason": cite(item, "reason")}
            best = item.get("bestCase")
            made.rejected.append(row | ({"bestCase": best} if best else {}))
    for item in tables(data, "risks"):
        severity, mitigation = item["severity"], item["mitigation"]
        made.risks.append(
            {"risk": cite(item, "risk"), "severity": severity, "mitigation": mitigation}
        )
    for item in tables(data, "nextActions"):
        made.act(cite(item, "action"), item["owner"], item["due"])
    made.work = data.get("work") or None


def _counted(debate: Debate, turns: Sequence[Turn], found: Findings, made: Ruling) -> None:
    """Without a judge's word for it: what the ballots and the positions say."""
    said = list(_reasons(found, turns))
    made.why += [made.cite(text, cited) for text, cited in said[:MOST]]
    for option, group, _ in found.stood.final.options:
        if option != found.selected:
            heads = f"{len(group)} of {len(found.stood.asked)} stood for it at the end."
            reason = made.cite(heads, [stand.turn for stand in group])
            made.rejected.append({"option": option, "reason": reason})
    held = {key(row["option"]) for row in made.rejected}
    count = Count.of(len(found.cast), [vote.counts for vote in found.cast])
    for option, votes in count.split:
        if option not in (found.selected, UNDECIDED) and key(option) not in held:
            reason = f"{votes} of {_many(count.asked, 'juror')} chose it."
            made.rejected.append({"option": option, "reason": reason})
    made.risks = _risks(debate, turns, found, made)
    behind = [
        stand.turn
        for option, group, _ in found.stood.final.options
        for stand in group
        if option == found.selected
    ]
    confirm = f"Confirm or overrule: {found.selected}."
    made.act(made.cite(confirm, behind), ASKER, in_a_week(debate))


def _reasons(found: Findings, turns: Sequence[Turn]) -> Iterator[tuple[str, list[int]]]:
    """The reasons of the ballots for the selected option, each once, with the quotes that hold; of
    the ballots of one juror, those of the first. Without ballots, the claims of its holders."""
    seen: set[str] = set()
    heard = {turn.number: turn for turn in turns if turn.status == "ok"}
    for vote in found.cast:
        if vote.counts != found.selected or not vote.ballots:
            continue
        ballot = vote.ballots[0]
        for reason in tables(ballot.data, "reasons"):
            text = str(reason.get("text") or "")
            if text and key(text) not in seen:
                seen.add(key(text))
                quoted = [
                    words if words.startswith("[") else f"“{words}”"
                    for words in found.quotes.kept(ballot, reason)
                ]
                cited = [n for n in numbers(reason, "turns") if n in heard and n < ballot.number]
                yield " ".join([text, *quoted]), cited
    if not found.cast:
        for option, group, _ in found.stood.final.options:
            for stand in group if option == found.selected else ():
                claim = (heard[stand.turn].data or {}).get("claim")
                if isinstance(claim, str) and claim.strip() and key(claim) not in seen:
                    seen.add(key(claim))
                    yield claim, [stand.turn]


def _risks(debate: Debate, turns: Sequence[Turn], found: Findings, made: Ruling) -> list[Row]:
    """The best reasons against it that jurors named, then the risks that speakers named."""
    before = {turn.number for turn in turns if turn.status == "ok" and turn.kind == "speech"}
    against: list[tuple[str, list[int]]] = [
        (str(part.get("text") or ""), [n for n in numbers(part, "turns") if n in before])
        for vote in found.cast
        if vote.counts == found.selected and found.selected is not None
        for turn in vote.ballots[:1]
        for part in tables({"against": [(turn.data or {}).get("against")]}, "against")
    ]
    first = debate.rules.result.stands[-1:] if debate.rules.result else ()
    named: list[tuple[str, list[int]]] = [
        (risk, [turn.number])
        for turn in sorted(turns, key=lambda turn: (turn.round, turn.actor))
        if turn.stage in first and turn.status == "ok"
        for risk in lines(turn.data, "risks")
    ]
    once = {
        key(text): (text, cited) for text, cited in reversed([*against, *named]) if text.strip()
    }
    return [
        {"risk": made.cite(text, cited), "severity": "medium", "mitigation": UNNAMED}
        for text, cited in reversed(list(once.values()))
    ][:MOST]


def _undecided(debate: Debate, turns: Sequence[Turn], found: Findings, made: Ruling) -> None:
    """Nothing was decided: what must be known, or settled, comes next."""
    for row in questions(turns, found)[:10]:
        made.act(made.cite(f"Find out: {row['text']}", [row["turn"]]), ASKER, in_a_week(debate))
    if found.judge and found.judge[1] == UNDECIDED:
        _judged(made, turns, found, found.judge[0])
    if not made.risks:
        made.risks = _risks(debate, turns, found, made)
    if not made.actions:
        level, action = _level(found), "Say what must be known to decide."
        if found.outcome == "deadlock" and len(level) > 1:
            action = f"Choose between {_listed(level)}, or say what would settle it."
        made.act(action, ASKER, in_a_week(debate))
