"""How the understudy ends a council: the Synthesizer's reading and the Judge's verdict."""

from datetime import date, timedelta
from typing import Any

from moot.core.council import Stand, key
from moot.models.understudy_council_lines import ActionLine, council_lines
from moot.models.understudy_room import Room, Said, joined

Point = dict[str, Any]


def reading(room: Room) -> dict[str, Any]:
    """Where they agree, where they do not, and which wordings are one option."""
    groups = [group for group in room.groups() if group[1]]
    agreements = [*_together(room, groups), *_moves(room), *_shared_risks(room)]
    disagreements = [*_apart(room, groups), *_open(room)]
    if not agreements and not disagreements:
        disagreements.append({"text": council_lines().reading.nobody, "turns": []})
    return {
        "agreements": agreements[:8],
        "disagreements": disagreements[:8],
        "same": room.same(),
    }


def verdict(room: Room) -> dict[str, Any]:
    """The option that has most support at the end, and what follows from it."""
    groups = room.groups()
    selected = groups[0][0] if groups else room.problem.options["third"][0]
    return {
        "selectedOption": selected,
        "whySelected": _why(room, groups[0][1] if groups else [])[:8],
        "rejectedOptions": [_rejected(room, *group) for group in groups[1:9]],
        "risks": _risks(room),
        "nextActions": _actions(room, selected),
    }


def _together(room: Room, groups: list[tuple[str, list[Stand]]]) -> list[Point]:
    table = council_lines().reading
    line = table.together_all if len(groups) == 1 else table.together
    return [
        _point(
            room, line, _turns(stands),
            roles=_roles(stands), option=option, count=str(len(stands)),
        )
        for option, stands in groups[:1]
        if len(stands) > 1
    ]  # fmt: skip


def _moves(room: Room) -> list[Point]:
    """Who came over, and after whose challenge."""
    table, names, points = council_lines().reading, room.names(), list[Point]()
    ends = {stand.role: stand for stand in room.final()}
    for before in room.stands("position"):
        after = ends[before.role]
        option = names[key(after.option)]
        if names[key(before.option)] == option:
            continue
        asked = room.challenges(before.role)
        line = table.moved_after if asked else table.moved
        words = {"role": before.role, "option": option, "source": asked[0].source if asked else ""}
        turns = [before.turn, *(one.seq for one in asked[:1]), after.turn]
        points.append(_point(room, line, turns, **words))
    return points


def _shared_risks(room: Room) -> list[Point]:
    named: dict[str, list[Said]] = {}
    for said in room.all("position"):
        for risk in dict.fromkeys(map(str, said.data.get("risks") or ())):
            named.setdefault(risk, []).append(said)
    return [
        _point(
            room, council_lines().reading.risk, [said.seq for said in by],
            roles=joined([said.role for said in by]), risk=risk,
        )
        for risk, by in named.items()
        if len(by) > 1
    ]  # fmt: skip


def _apart(room: Room, groups: list[tuple[str, list[Stand]]]) -> list[Point]:
    """Each option that is still held against the leading one."""
    points: list[Point] = []
    for option, stands in groups[1:]:
        leader, others = groups[0]
        words = {
            "roles": _roles(stands), "hold": "holds" if len(stands) == 1 else "hold",
            "others": _roles(others), "hold2": "holds" if len(others) == 1 else "hold",
            "option": option, "leader": leader, "claim": _claim(room, _surest(stands)),
        }  # fmt: skip
        turns = _turns([*stands, *others])
        points.append(_point(room, council_lines().reading.apart, turns, **words))
    return points


def _open(room: Room) -> list[Point]:
    """Challenges after which the target stayed where it was."""
    names, points = room.names(), list[Point]()
    first = {stand.role: stand for stand in room.stands("position")}
    for after in room.stands("revision"):
        before = first.get(after.role)
        if before is None or names[key(before.option)] != names[key(after.option)]:
            continue
        for asked in room.challenges(after.role)[:1]:
            words = {"source": asked.source, "target": after.role, "option": after.option}
            words["question"] = room.problem.question(asked.question)
            turns = [asked.seq, after.turn]
            points.append(_point(room, council_lines().reading.question, turns, **words))
    return points


def _why(room: Room, stands: list[Stand]) -> list[Point]:
    table, constraints = council_lines().verdict, room.problem.constraints
    if not stands:
        return [{"text": table.none, "turns": []}]
    best, all_ = _surest(stands), len(room.final())
    words = {"roles": _roles(stands), "count": str(len(stands)), "all": str(all_)}
    most = table.most_all if len(stands) == all_ else table.most
    most = table.most_one if len(stands) == 1 else most
    points = [_point(room, most, _turns(stands), **words)]
    claim = _claim(room, best)
    points.append(_point(room, table.best, [best.turn], role=best.role, claim=claim))
    names, first = room.names(), {stand.role: stand for stand in room.stands("position")}
    for stand in stands:
        was = first.get(stand.role)
        if was and names[key(was.option)] != names[key(stand.option)]:
            turns = [was.turn, stand.turn]
            option = names[key(was.option)]
            points.append(_point(room, table.won, turns, role=stand.role, option=option))
    for text in constraints[:2]:
        by = [said.seq for said in room.all("position") if _names(said, text)]
        points.append(_point(room, council_lines().constraint.kept, by, constraint=text))
    return points


def _rejected(room: Room, option: str, stands: list[Stand]) -> dict[str, Any]:
    table, names = council_lines().verdict, room.names()
    first = room.stands("position")
    if not stands:
        left = [stand for stand in first if names[key(stand.option)] == option]
        ends = {stand.role: stand.turn for stand in room.final()}
        turns = [turn for stand in left for turn in (stand.turn, ends[stand.role])]
        reason = room.problem.fill(table.left, roles=_roles(left))
        return {"option": option, "reason": _begun(reason), "turns": sorted(set(turns))[:20]}
    unheard = council_lines().challenge.unheard
    asked = [one for stand in stands for one in room.challenges(stand.role)]
    asked = [one for one in asked if one.question != unheard]
    question = room.problem.question(asked[0].question) if asked else ""
    words = {"roles": _roles(stands), "stand": "stands" if len(stands) == 1 else "stand"}
    line = table.held if asked else table.held_plain
    turns = [*_turns(stands), *(one.seq for one in asked[:1])]
    if not asked:
        best = _surest(room.groups()[0][1])
        words |= {"best": best.role, "claim": _claim(room, best)}
        turns.append(best.turn)
    reason = room.problem.fill(line, question=question, **words)
    return {"option": option, "reason": _begun(reason), "turns": sorted(set(turns))[:20]}


def _risks(room: Room) -> list[dict[str, Any]]:
    """The risks that were stated, the heavy ones first."""
    table, named = council_lines().verdict, dict[str, list[int]]()
    for said in room.all("position"):
        for risk in dict.fromkeys(map(str, said.data.get("risks") or ())):
            named.setdefault(risk, []).append(said.seq)
    risks: list[dict[str, Any]] = []
    for text, turns in named.items():
        known = room.problem.risk(text)
        risks.append({
            "risk": text,
            "severity": known.severity if known else table.severity,
            "mitigation": known.mitigation if known else table.mitigation,
            "turns": sorted(turns)[:20],
        })  # fmt: skip
    risks.sort(
        key=lambda risk: (("high", "medium", "low").index(risk["severity"]), -len(risk["turns"]))
    )
    return risks[:6]


def _actions(room: Room, selected: str) -> list[dict[str, Any]]:
    table, side = council_lines(), room.side(selected)
    sides = table.actions.steps if room.problem.stepwise else table.actions.views
    chosen = sides.of(side) if side else table.actions.other
    last = table.output.get(room.output, table.output["decision"])
    return [_action(room, line, selected) for line in (*chosen, last)]


def _action(room: Room, line: ActionLine, selected: str) -> dict[str, Any]:
    text = room.problem.fill(line.text, option=selected)
    mine = [
        said.seq for said in room.all("revision") or room.all("position") if said.role == line.owner
    ]
    due = (began(room.call.debate.created_at) + timedelta(days=line.days)).isoformat()
    return {"action": text, "owner": line.owner, "due": due, "turns": mine}


def began(created_at: str) -> date:
    """The day on which a debate began: the one thing here that follows a date."""
    try:
        return date.fromisoformat(created_at[:10])
    except ValueError:
        return date(2030, 1, 1)


def _names(said: Said, text: str) -> bool:
    return text in " ".join([said.text("rationale"), *map(str, said.data.get("risks") or ())])


def _claim(room: Room, stand: Stand) -> str:
    """What a role claims: in the words it began with, if it still uses them."""
    first, last = room.of("position", stand.role), room.of("revision", stand.role)
    if first and (last is None or last.text("claim").startswith(first.text("claim"))):
        return first.claim
    return last.claim if last else ""


def _surest(stands: list[Stand]) -> Stand:
    return max(stands, key=lambda stand: stand.confidence)


def _roles(stands: list[Stand]) -> str:
    return joined([stand.role for stand in stands])


def _turns(stands: list[Stand]) -> list[int]:
    return sorted(stand.turn for stand in stands)


def _point(room: Room, line: str, turns: list[int], **words: str) -> Point:
    return {"text": _begun(room.problem.fill(line, **words)), "turns": sorted(set(turns))[:20]}


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]
