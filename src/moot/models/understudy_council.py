"""How the understudy speaks in the rounds of a council: positions, challenges, revisions.

Like its speeches, the answers follow from hashes of the problem and from what was said before, and
from nothing else.
"""

from typing import Any

from moot.core import prompts, shapes
from moot.models.understudy_council_lines import Lens, RiskLine, Side, council_lines
from moot.models.understudy_room import Asked, Room, Said
from moot.models.understudy_ruling import reading, verdict
from moot.ports import Call

_LOW, _HIGH = 0.45, 0.85  # how sure a role can be


def answer(call: Call) -> tuple[dict[str, Any], str]:
    """The answer to a step that asks for one of the known shapes, and how it reads."""
    step, room = call.step, Room(call)
    make = {
        "position": position,
        "challenge": challenge,
        "revision": revision,
        "reading": reading,
        "verdict": verdict,
    }[step.answer]
    data = shapes.read(step.answer, make(room), prompts.target(step, call.debate))
    return data, shapes.spoken(step.answer, data)


def position(room: Room) -> dict[str, Any]:
    side, lens, problem = _first_side(room), _lens(room), room.problem
    why = problem.fill(lens.why.of(side))
    constraint = _constraint(room)
    if constraint and room.role in ("Proponent", "Judge"):
        why += " " + problem.fill(council_lines().constraint.why, constraint=constraint)
    return {
        "position": problem.wording(side, room.role),
        "claim": problem.fill(lens.claim.of(side)),
        "rationale": why,
        "risks": _risks(room, side, lens, constraint),
        "confidence": _sure(0.45 + problem.number(room.role, "sure") % 41 / 100),
    }


def challenge(room: Room) -> dict[str, Any]:
    """One question: on what the target claims, or on what the challenger itself looks at."""
    table, problem, target = council_lines().challenge, room.problem, _target(room)
    heard = room.of("position", target)
    if heard is None:
        claim, question = table.unheard_claim.format(target=target), table.unheard
    else:
        side = problem.side(heard.text("position")) or "third"
        theirs = problem.lens(heard.text("claim"))
        direct = room.role in ("Proponent", "Critic", "Judge")
        lens = theirs if theirs and direct else _lens(room)
        lead = problem.pick(table.of(room.role), room.role, "lead")
        question = _led(lead, problem.fill(lens.ask.of(side)))
        claim = room.quote(heard.text("claim"))
    return {"challenges": [{"targetRole": target, "question": question, "claim": claim}]}


def revision(room: Room) -> dict[str, Any]:
    problem, mine = room.problem, room.of("position", room.role)
    asked = room.challenges(room.role)
    old = _stood(room, mine)
    new = _second_side(room, old) if mine and _moved_by(room, asked) else old
    moved = mine is not None and new != old
    lens = (problem.lens(mine.text("claim")) if mine else None) or _lens(room)
    option = mine.text("position") if mine and not moved else problem.wording(new, room.role)
    claim = mine.text("claim") if mine and not moved else problem.fill(lens.claim.of(new))
    if mine and not moved:
        table = council_lines().revision
        held = problem.pick(table.held_asked if asked else table.held, room.role, "held")
        claim = f"{claim[:1200]} {held}"
    before = float(mine.data["confidence"]) if mine else 0.6
    change = (-0.06 + problem.number(room.role, "shift") % 9 / 100) if asked or moved else 0.03
    return {
        "responses": _responses(room, old, option, asked)[:8],
        "revisions": [_changed(room, mine, option, asked, lens, moved=moved)],
        "position": option,
        "claim": claim,
        "confidence": _sure(before + change),
    }


def _first_side(room: Room) -> Side:
    """The Proponent is for it and the Critic against it; the others have a mind of their own."""
    likely: dict[str, tuple[Side, ...]] = {
        "Proponent": ("yes",),
        "Critic": ("no",),
        "Synthesizer": ("third", "third", "third", "yes"),
    }
    sides = likely.get(room.role, ("yes", "third", "no", "third"))
    return sides[room.problem.number(room.role, "side") % len(sides)]


def _second_side(room: Room, old: Side) -> Side:
    """Where a role stands after the challenges: some move to where this council tends. Of the two
    who are set against each other one gives way, and no further than to the middle."""
    problem = room.problem
    leans: tuple[Side, ...] = ("third", "third", "yes", "no")
    lean = leans[problem.number("lean") % len(leans)]
    swayed = {"yes": "Critic", "no": "Proponent"}.get(lean) or problem.pick(
        ("Proponent", "Critic"), "swayed"
    )
    if room.role in ("Proponent", "Critic"):
        return "third" if room.role == swayed else old
    return lean if problem.number(room.role, "moves") % 2 else old


def _moved_by(room: Room, asked: list[Asked]) -> bool:
    """Whether anything could move a role: a challenge, or, where none is foreseen, the others."""
    stages = room.call.debate.rules.stages
    if any(room.role in (stage.targets or {}).values() for stage in stages):
        return bool(asked)
    return any(said.role != room.role for said in room.all("position"))


def _stood(room: Room, mine: Said | None) -> Side:
    """The side of one's own first position; somebody else may have spoken for this seat then."""
    if mine is None:
        return _first_side(room)
    return room.problem.side(mine.text("position")) or _first_side(room)


def _lens(room: Room) -> Lens:
    """Each role looks through a lens of its own."""
    lenses = room.problem.lenses
    return lenses[room.place % len(lenses)]


def _risks(room: Room, side: Side, lens: Lens, constraint: str | None) -> list[str]:
    problem, lenses = room.problem, room.problem.lenses
    shared = lenses[5 % len(lenses)]  # what several roles see
    kinds: dict[Side, tuple[RiskLine, ...]] = {
        "yes": (lens.do, shared.wait),
        "no": (lens.do, shared.do),
        "third": (lens.do, shared.do) if room.place % 2 else (lens.do, shared.wait),
    }
    risks = [problem.fill(line.text) for line in kinds[side]]
    if problem.number(room.role, "risks") % 3 == 0:
        risks = risks[:1]
    if constraint and room.role in ("Critic", "Analyst"):
        risks.append(problem.fill(council_lines().constraint.text, constraint=constraint))
    return list(dict.fromkeys(risks))


def _constraint(room: Room) -> str | None:
    """The constraint that a role has in mind; they share them out."""
    all_ = room.problem.constraints
    return all_[room.place % len(all_)] if all_ else None


def _target(room: Room) -> str:
    target = room.call.step.target
    return room.call.debate.seat(target).role if target else room.role


def _responses(room: Room, side: Side, option: str, asked: list[Asked]) -> list[dict[str, str]]:
    problem, table = room.problem, council_lines().revision
    said: list[dict[str, str]] = []
    for place, one in enumerate(asked):
        lens = problem.lens(one.question)
        general = table.general(side)
        start = problem.number(room.role, "general") + place
        text = problem.fill(lens.answer.of(side)) if lens else general[start % len(general)]
        if place == 0 and one.question == council_lines().challenge.unheard:
            risk = problem.fill(_lens(room).do.text)
            line = council_lines().challenge.unheard_answer
            text = problem.fill(line, option=option, risk=risk)
        said.append({"sourceRole": one.source, "response": text})
    return said


def _changed(
    room: Room, mine: Said | None, option: str, asked: list[Asked], lens: Lens, *, moved: bool
) -> dict[str, str]:
    """What changed, and why."""
    problem, table = room.problem, council_lines().revision
    if mine is None:
        return {"change": table.late.format(new=option), "reason": table.late_why}
    against = problem.side(mine.text("position")) == "no"
    mitigation = lens.wait.mitigation if against else lens.do.mitigation
    condition = mitigation[:1].lower() + mitigation[1:]
    words = {"old": mine.text("position"), "new": option, "condition": condition}
    if moved:
        change = problem.pick(table.move, room.role, "move")
        return {"change": problem.fill(change, **words), "reason": _why_moved(room, option, asked)}
    narrow = bool(asked) and problem.number(room.role, "narrow") % 2 == 0
    change = problem.pick(table.narrow if narrow else table.stay, room.role, "stay")
    reason = _why_stayed(room, mine, asked, narrow=narrow)
    return {"change": problem.fill(change, **words), "reason": reason}


def _why_moved(room: Room, option: str, asked: list[Asked]) -> str:
    problem, table = room.problem, council_lines().revision
    if asked and problem.side(option) == "third":
        words = _question(room, asked[0])
        return problem.fill(table.to_third, **words)
    if there := _ally(room, option):
        quote = room.quote(there.text("claim"))
        return problem.fill(table.to_side, source=there.role, quote=quote)
    return table.to_any


def _why_stayed(room: Room, mine: Said, asked: list[Asked], *, narrow: bool) -> str:
    problem, table = room.problem, council_lines().revision
    if asked:
        words = _question(room, asked[0])
        return problem.fill(table.conditioned if narrow else table.kept, **words)
    others = [said for said in room.all("position") if said.role != room.role]
    side = problem.side(mine.text("position"))
    across = [said for said in others if problem.side(said.text("position")) != side]
    if not across:
        return table.quiet
    one = across[problem.number(room.role, "across") % len(across)]
    quote = room.quote(one.text("claim"))
    return problem.fill(table.unchallenged, source=one.role, quote=quote)


def _question(room: Room, asked: Asked) -> dict[str, str]:
    lens = room.problem.lens(asked.question)
    return {"source": asked.source, "label": lens.label if lens else council_lines().revision.theme}


def _ally(room: Room, option: str) -> Said | None:
    """Somebody else who stood at the option at the start."""
    side = room.problem.side(option)
    there = (s for s in room.all("position") if room.problem.side(s.text("position")) == side)
    return next((said for said in there if said.role != room.role), None)


def _led(lead: str, question: str) -> str:
    """After a colon the question goes on in lower case."""
    return f"{lead} {question[:1].lower()}{question[1:]}" if lead else question


def _sure(confidence: float) -> float:
    return round(min(max(confidence, _LOW), _HIGH), 2)
