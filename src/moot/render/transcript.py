"""A debate as a document to read."""

from collections.abc import Sequence

from moot.core import schedule
from moot.core.clean import escape
from moot.core.debate import Debate, Turn
from moot.core.prompts import quote
from moot.core.voices import label
from moot.render.ballots import Ballot, ballots, in_order
from moot.render.cost import of_debate
from moot.render.layout import LAYOUT


def markdown(debate: Debate, turns: Sequence[Turn], layout: int = LAYOUT) -> str:
    """The whole debate."""
    motion = " ".join(debate.motion.split())
    lines = [f"# {escape(motion)}", "", *_facts(debate, layout), ""]
    place: tuple[int, str] | None = None
    cast = ballots(debate, turns) if layout > 3 else {}
    for turn in in_order(debate, turns) if layout > 3 else turns:
        if (turn.round, turn.stage) != place:
            place = (turn.round, turn.stage)
            lines += [f"## {_heading(debate, turn, layout)}", ""]
        lines += [*_turn(turn, cast.get(turn.seq)), ""]
    return "\n".join(lines)


def _heading(debate: Debate, turn: Turn, layout: int) -> str:
    if layout > 1:
        return escape(schedule.label(debate, turn.round, turn.stage))
    where = "" if turn.round == 0 else f", round {turn.round}"
    return f"{turn.stage.capitalize()}{where}"


def _facts(debate: Debate, layout: int) -> list[str]:
    sides = {seat.id: "host" if seat.role == "host" else seat.stance for seat in debate.seats}
    seats = ", ".join(
        escape(seat.name)
        if layout > 2 and sides[seat.id] == "neutral"
        else f"{escape(seat.name)} ({sides[seat.id]})"
        for seat in debate.seats
    )
    reason = f" ({debate.stop_reason})" if debate.stop_reason else ""
    spent = f"${debate.usage.cost_usd:.4f}" if debate.rules.edition < 4 else of_debate(debate)
    own = "cost of these calls" if layout > 6 else "cost"  # those for the report come later
    return [
        f"- Debate: `{debate.id}`, {debate.format}",
        f"- Status: {debate.status}{reason}{', degraded' if debate.degraded else ''}",
        f"- Seats: {seats}",
        *_jury(debate, layout),
        (
            f"- Turns: {debate.turn_count}, calls: {debate.usage.calls}, "
            f"tokens: {debate.usage.input_tokens} in, {debate.usage.output_tokens} out, "
            f"{own}: {spent}"
        ),
        f"- From {debate.started_at or debate.created_at} to {debate.ended_at or '…'}",
    ]


def _jury(debate: Debate, layout: int) -> list[str]:
    if layout < 4 or debate.jury is None or not debate.jury.seats:
        return []
    seats = ", ".join(
        f"{escape(one.name)} ({label(one.model, one.effort)})" for one in debate.jury.seats
    )
    return [f"- Jury: {seats}"]


def _turn(turn: Turn, ballot: Ballot | None) -> list[str]:
    lines = [quote(f"*{escape(turn.instruction)}*"), ""] if turn.instruction else []
    said = f"*No answer: {turn.error_code}.*" if turn.status == "failed" else escape(turn.text)
    who = "a note" if turn.kind == "note" else label(turn.model)
    head = f"**{escape(turn.name)}** · {who} · `turn:{turn.number}`"
    vote = [f"*{escape(ballot.told)}*", ""] if ballot else []
    return [*lines, head, "", *vote, said]
