"""The phases of a debate that comes to a decision: they follow its stages."""

from collections.abc import Sequence
from typing import Literal

from moot.core.debate import Debate, Phase, Turn
from moot.core.format import Stage
from moot.core.legs import present
from moot.errors import StateError


def phase_of(stage: str) -> str:
    """A stage's phase: `round1` is Round1, `open-floor` OpenFloor."""
    return "".join(word[:1].upper() + word[1:] for word in stage.replace("_", "-").split("-"))


def phases(debate: Debate) -> tuple[str, ...]:
    """All phases, in their order."""
    stages = [phase_of(stage.name) for stage in held(debate)]
    result = debate.rules.result
    packed = ("Packetize",) if result and result.packet else ()
    written = ("Writeback",) if result and result.record else ()
    return ("Intake", *stages, *packed, *written)


def check_phase(debate: Debate, before: str | None, after: str) -> None:
    """The guard: each phase follows the one before it, and nothing else does."""
    order = phases(debate)
    place = -1 if before is None else order.index(before)
    if after not in order or order.index(after) != place + 1:
        raise StateError(f"A debate that is at {before or 'its start'} cannot go to {after}.")


def phases_due(debate: Debate, turns: Sequence[Turn], at: str) -> list[Phase]:
    """The phases that these turns complete, and that the log does not have yet."""
    logged = {phase.state for phase in debate.phases}
    return [
        phase_over(name, turns, at) for name in stages_over(debate) if phase_of(name) not in logged
    ]


def phase_over(stage: str, turns: Sequence[Turn], at: str) -> Phase:
    """The phase of a stage that is over, with how it went."""
    return Phase(phase_of(stage), at, _how(_said_in(stage, turns)))


def skipped(debate: Debate) -> frozenset[str]:
    """The stages that were left out, or the rest of them: the budget had no room, or two seats
    agreed before the debate."""
    left_out = {phase.state for phase in debate.phases if phase.outcome == "skipped"}
    if not left_out:
        return frozenset()
    return frozenset(one.name for one in debate.rules.stages if phase_of(one.name) in left_out)


def stages_over(debate: Debate) -> list[str]:
    """The stages that come before the one that is next."""
    over: list[str] = []
    for stage in held(debate):
        if stage.name == debate.cursor.next_stage:
            break
        over.append(stage.name)
    return over


def held(debate: Debate) -> list[Stage]:
    """The stages of a debate: some formats have one for a host, or for a jury."""
    return present(debate.rules, debate.host, debate.jury)


def _said_in(stage: str, turns: Sequence[Turn]) -> list[str]:
    return [turn.status for turn in turns if turn.stage == stage and turn.kind != "note"]


def _how(said: Sequence[str]) -> Literal["ok", "degraded", "failed"]:
    if "ok" not in said:
        return "failed"
    return "degraded" if "failed" in said else "ok"
