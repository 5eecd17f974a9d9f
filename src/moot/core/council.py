"""From what a council said to what it decided: phases, consensus, packet. Documented in
docs/council.md, with the formula and a worked example.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from moot.core.debate import Debate, Phase, Turn
from moot.core.shapes import cited
from moot.errors import StateError

ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
PHASES = (
    "Intake", "Round1", "Round2", "Round3", "Consensus", "Judge", "Packetize", "Writeback",
)  # fmt: skip
STAGE_PHASES: Mapping[str, str] = {
    "round1": "Round1",
    "round2": "Round2",
    "round3": "Round3",
    "consensus": "Consensus",
    "judge": "Judge",
}
_STOPS = re.compile(r"[.,;:!?…]+(?=\s|$)")
_QUOTES = re.compile(r"(?<!\w)[\"'“”„‘’«»]+|[\"'“”„‘’«»]+(?!\w)")
_DASHES = re.compile(r"\s[—–-]+\s")
FIRST, CHALLENGED, LAST, CONSENSUS, JUDGE = 1, 2, 3, 4, 5  # the rounds


def check_phase(before: str | None, after: str) -> None:
    """The guard: each phase follows the one before it, and nothing else does."""
    place = -1 if before is None else PHASES.index(before)
    if after not in PHASES or PHASES.index(after) != place + 1:
        raise StateError(f"A council that is at {before or 'its start'} cannot go to {after}.")


def phases_due(debate: Debate, turns: Sequence[Turn], at: str) -> list[Phase]:
    """The phases that these turns complete, and that the log does not have yet."""
    logged = {phase.state for phase in debate.phases}
    due: list[Phase] = []
    for stage in debate.rules.stages:
        if stage.name == debate.cursor.next_stage:
            break
        state = STAGE_PHASES.get(stage.name, stage.name)
        if state not in logged:
            said = [turn.status for turn in turns if turn.stage == stage.name]
            due.append(Phase(state, at, _how(said)))
    return due


def _how(said: Sequence[str]) -> Literal["ok", "degraded", "failed"]:
    if "ok" not in said:
        return "failed"
    return "degraded" if "failed" in said else "ok"


def silent(turns: Sequence[Turn], phases: Sequence[Phase]) -> bool:
    """Whether the first round is over and nobody stated a position: nothing can be decided.

    In later rounds everybody may fail: then what they said first decides.
    """
    return any(phase.state == STAGE_PHASES["round1"] for phase in phases) and not stands(
        turns, FIRST
    )


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a role stands: the option it names, how sure it is, and the turn that says so."""

    role: str
    option: str
    confidence: float
    turn: int


@dataclass(frozen=True, slots=True)
class Tally:
    """The stands of one round, counted."""

    options: tuple[tuple[str, tuple[Stand, ...], float], ...]  # most supported first
    consensus: float
    confidence: float

    @property
    def leader(self) -> str | None:
        return self.options[0][0] if self.options else None


def weight(confidence: float) -> float:
    """Even somebody unsure counts for half."""
    return 0.5 + confidence / 2


def tally(stands: Sequence[Stand], names: Mapping[str, str]) -> Tally:
    """Count the stands. `names` gives one name to options that differ only in wording.

    consensus = support of the leading option / support of all five roles, a missing role counting
    as one that is unsure and stands elsewhere; confidence = mean confidence of all who stand.
    """
    groups: dict[str, list[Stand]] = {}
    for stand in sorted(stands, key=lambda stand: ROLES.index(stand.role)):
        groups.setdefault(names.get(key(stand.option), stand.option), []).append(stand)
    counted = [
        (option, tuple(group), sum(weight(stand.confidence) for stand in group))
        for option, group in groups.items()
    ]
    counted.sort(key=lambda item: (-round(item[2], 9), -len(item[1]), key(item[0])))
    missing = (len(ROLES) - len(stands)) * weight(0.0)
    whole = sum(support for _, _, support in counted) + missing
    return Tally(
        tuple(counted),
        round(counted[0][2] / whole, 4) if counted else 0.0,
        round(sum(stand.confidence for stand in stands) / len(stands), 4) if stands else 0.0,
    )


def key(option: str) -> str:
    """Options that differ only in case, spacing or the punctuation of sentences are the same.

    Signs that mean something stay: C++ is not C#, and -10% is not +10%.
    """
    plain = _QUOTES.sub("", _DASHES.sub(" ", _STOPS.sub("", option.casefold())))
    return " ".join(plain.split()) or option


def stands(turns: Iterable[Turn], number: int) -> list[Stand]:
    """Who stood where in a round; a role whose turn failed is not among them."""
    return [
        Stand(turn.name, turn.data["position"], float(turn.data["confidence"]), turn.seq)
        for turn in turns
        if turn.round == number and turn.status == "ok" and turn.data
    ]


def final_stands(turns: Sequence[Turn]) -> list[Stand]:
    """Where each role stood last: a role that never revised stands where it stood."""
    first = {stand.role: stand for stand in stands(turns, FIRST)}
    return list({**first, **{stand.role: stand for stand in stands(turns, LAST)}}.values())


def one_name(options: Iterable[str], reading: Mapping[str, Any] | None) -> dict[str, str]:
    """One name for each option: what the Synthesizer maps, of what was really stated."""
    stated: dict[str, str] = {}
    for option in sorted(options, key=lambda option: (key(option), option)):
        stated.setdefault(key(option), option)
    names = dict(stated)
    called: dict[str, str] = {}  # one spelling for each name that the mapping gives
    taken: set[str] = set()
    for same in (reading or {}).get("same", ()):
        words = {key(word) for word in same["wordings"]} & (stated.keys() - taken)
        named = key(same["option"])
        name = called.setdefault(named, stated.get(named) or str(same["option"]))
        if len(words) > 1 or key(name) in words:
            names.update(dict.fromkeys(words, name))
            taken |= words  # a wording that is claimed twice stays with the first
    return names


def consensus(turns: Sequence[Turn]) -> dict[str, Any]:
    """Everything that `consensus.json` holds, from the turns alone."""
    reading = _answer(turns, CONSENSUS)
    first, final = stands(turns, FIRST), final_stands(turns)
    names = one_name((stand.option for stand in (*first, *final)), reading)
    before, after = tally(first, names), tally(final, names)
    known = _before(turns, CONSENSUS)
    bare = tally(final, one_name((stand.option for stand in (*first, *final)), None))
    agreements = _points((reading or {}).get("agreements", ()), known)
    disagreements = _points((reading or {}).get("disagreements", ()), known)
    if not agreements and not disagreements:
        agreements, disagreements = _plain_points(after)
    return {
        "consensusScore": after.consensus,
        "confidenceScore": after.confidence,
        "keyAgreements": agreements,
        "keyDisagreements": disagreements,
        "favoured": after.leader,
        "withoutMapping": {"consensusScore": bare.consensus, "favoured": bare.leader},
        "tally": {"round1": _table(before), "final": _table(after)},
        "moved": _moved(turns, first, final, names),
        "names": names,
        "droppedCitations": dropped_citations(turns),
        "missing": [
            {
                "role": turn.name,
                "stage": turn.stage,
                "turn": turn.seq,
                "errorCode": turn.error_code,
                "errorMessage": (turn.data or {}).get("errorMessage"),
            }
            for turn in turns
            if turn.status == "failed"
        ],
    }


def packet(debate: Debate, turns: Sequence[Turn], consensus_: Mapping[str, Any]) -> dict[str, Any]:
    """The decision: the Judge's, or what the positions favour where the Judge gave none."""
    verdict = _answer(turns, JUDGE)
    if verdict:
        made = _judged(verdict, _before(turns, JUDGE), consensus_)
    else:
        made = _favoured(debate, turns, consensus_)
    failed = [turn for turn in turns if turn.status == "failed"]
    refs = sorted({*made["refs"], *_cited(consensus_)})
    return {
        "runId": debate.id,
        "mode": "debate-v0.1",
        "problem": debate.motion,
        "constraints": list(debate.brief.get("constraints", ())),
        "outputType": debate.brief.get("output_type", "decision"),
        "participants": [
            _participant(seat.role, _voice(turns, seat.id) or seat.model)
            for seat in debate.participants
        ],
        "consensus": {
            "consensusScore": consensus_["consensusScore"],
            "confidenceScore": consensus_["confidenceScore"],
            "keyAgreements": [cited(p["text"], p["turns"]) for p in consensus_["keyAgreements"]],
            "keyDisagreements": [
                cited(p["text"], p["turns"]) for p in consensus_["keyDisagreements"]
            ],
        },
        "decision": made["decision"],
        "risks": made["risks"],
        "nextActions": made["actions"],
        "trace": {
            "roundRefs": [f"rounds/round-{n}.json" for n in sorted({t.round for t in turns})],
            "evidenceRefs": [f"turn:{seq}" for seq in refs],
        },
        "timestamps": {
            "startedAt": debate.started_at or debate.created_at,
            "finishedAt": max((turn.committed_at for turn in turns), default=debate.created_at),
        },
        "degraded": bool(failed),
        "errorCodes": list(dict.fromkeys(str(turn.error_code) for turn in failed)),
    }


def _judged(
    verdict: Mapping[str, Any], known: set[int], consensus_: Mapping[str, Any]
) -> dict[str, Any]:
    refs: set[int] = set()
    selected, names = verdict["selectedOption"], consensus_["names"]
    favoured = consensus_["favoured"]
    chosen = names.get(key(selected), selected)
    overruled = favoured is not None and key(chosen) != key(favoured)

    def rest(item: Mapping[str, Any]) -> list[int]:
        real = [turn for turn in item["turns"] if turn in known]
        refs.update(real)
        return real

    return {
        "decision": {
            "selectedOption": selected,
            "whySelected": [
                *(cited(why["text"], rest(why)) for why in verdict["whySelected"]),
                *([f"The positions favoured “{favoured}”; the Judge chose otherwise."] * overruled),
            ],
            "rejectedOptions": [
                {"option": item["option"], "reason": cited(item["reason"], rest(item))}
                for item in verdict["rejectedOptions"]
                if key(item["option"]) != key(selected)
            ],
        },
        "risks": [
            {
                "risk": cited(item["risk"], rest(item)),
                "severity": item["severity"],
                "mitigation": item["mitigation"],
            }
            for item in verdict["risks"]
        ],
        "actions": [
            {
                "id": f"A{number}",
                "action": cited(item["action"], rest(item)),
                "owner": item["owner"],
                "due": item["due"],
            }
            for number, item in enumerate(verdict["nextActions"], start=1)
        ],
        "refs": refs,
    }


def _favoured(
    debate: Debate, turns: Sequence[Turn], consensus_: Mapping[str, Any]
) -> dict[str, Any]:
    """No verdict: the option that the positions favour stands, and the packet says so."""
    final = consensus_["tally"]["final"]
    leader, others = final[0], final[1:]
    behind = [stand["turn"] for stand in leader["stands"]]
    risks = [
        (risk, turn.seq)
        for turn in turns
        if turn.round == FIRST and turn.status == "ok" and turn.data
        for risk in turn.data["risks"]
    ]
    due = date.fromisoformat((debate.started_at or debate.created_at)[:10]) + timedelta(days=7)
    roles = ", ".join(stand["role"] for stand in leader["stands"])
    return {
        "decision": {
            "selectedOption": leader["option"],
            "whySelected": [
                "The Judge gave no verdict; the option that the positions favour stands.",
                cited(f"It is where {roles} stood at the end.", behind),
            ],
            "rejectedOptions": [
                {
                    "option": other["option"],
                    "reason": cited(
                        "It had less support at the end.", [s["turn"] for s in other["stands"]]
                    ),
                }
                for other in others
            ],
        },
        "risks": [
            {
                "risk": cited(risk, [seq]),
                "severity": "medium",
                "mitigation": "None was named; decide on one before acting.",
            }
            for risk, seq in risks
        ],
        "actions": [
            {
                "id": "A1",
                "action": cited(f"Confirm or overrule: {leader['option']}.", behind),
                "owner": "whoever asked",
                "due": due.isoformat(),
            }
        ],
        "refs": {
            *behind,
            *(seq for _, seq in risks),
            *(s["turn"] for o in others for s in o["stands"]),
        },
    }


def _answer(turns: Sequence[Turn], number: int) -> Mapping[str, Any] | None:
    return next((t.data for t in turns if t.round == number and t.status == "ok" and t.data), None)


def _points(points: Iterable[Mapping[str, Any]], known: set[int]) -> list[dict[str, Any]]:
    """Points with those of their citations that exist."""
    return [
        {"text": point["text"], "turns": [turn for turn in point["turns"] if turn in known]}
        for point in points
    ]


def dropped_citations(turns: Sequence[Turn]) -> int:
    """How many citations of the reading and the verdict name a turn that does not exist."""
    return sum(
        turn not in _before(turns, number)
        for number in (CONSENSUS, JUDGE)
        for turn in _citations(_answer(turns, number) or {})
    )


def _before(turns: Sequence[Turn], number: int) -> set[int]:
    """What the speaker of a round could cite: turns that were spoken before it."""
    return {turn.seq for turn in turns if turn.status == "ok" and turn.round < number}


def _voice(turns: Sequence[Turn], actor: str) -> str | None:
    """Who really spoke for a seat, last."""
    spoke = [turn.model for turn in turns if turn.actor == actor and turn.status == "ok"]
    return spoke[-1] if spoke else None


def _citations(value: Any) -> Iterable[int]:
    if isinstance(value, Mapping):
        for name, part in value.items():  # pyright: ignore[reportUnknownVariableType]
            if name == "turns":
                yield from part  # pyright: ignore[reportUnknownVariableType]
            else:
                yield from _citations(part)
    elif isinstance(value, list | tuple):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _citations(part)


def _plain_points(after: Tally) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Without a reading: what the stands themselves show."""
    said = [
        {
            "text": f"{', '.join(stand.role for stand in group)}: {option}",
            "turns": [stand.turn for stand in group],
        }
        for option, group, _ in after.options
    ]
    return said[:1], said[1:]


def _table(counted: Tally) -> list[dict[str, Any]]:
    return [
        {
            "option": option,
            "support": round(support, 4),
            "stands": [
                {"role": s.role, "option": s.option, "confidence": s.confidence, "turn": s.turn}
                for s in group
            ],
        }
        for option, group, support in counted.options
    ]


def _moved(
    turns: Sequence[Turn], first: Sequence[Stand], final: Sequence[Stand], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Who changed its option, and which challenges stood between."""
    before = {stand.role: stand for stand in first}
    moved: list[dict[str, Any]] = []
    for stand in sorted(final, key=lambda stand: ROLES.index(stand.role)):
        was = before.get(stand.role)
        if was is None or names[key(was.option)] == names[key(stand.option)]:
            continue
        challenged = [
            turn
            for turn in turns
            if turn.round == CHALLENGED
            and turn.status == "ok"
            and turn.target == stand.role.lower()
        ]
        moved.append(
            {
                "role": stand.role,
                "from": names[key(was.option)],
                "to": names[key(stand.option)],
                "turns": [was.turn, stand.turn],
                "after": [{"role": turn.name, "turn": turn.seq} for turn in challenged],
            }
        )
    return moved


def _cited(consensus_: Mapping[str, Any]) -> set[int]:
    points = [*consensus_["keyAgreements"], *consensus_["keyDisagreements"]]
    return {turn for point in points for turn in point["turns"]}


def _participant(role: str, model: str) -> dict[str, str]:
    provider, _, name = model.partition(":")
    return {"role": role, "modelProvider": provider, "modelName": name or "default"}


# --- the record that is written back ---


def record_type(debate: Debate) -> str:
    """`decision` for decisions, else `worklog`, unless the request says which."""
    asked = debate.brief.get("writeback_record_type")
    kind = debate.brief.get("output_type", "decision")
    return str(asked or ("decision" if kind == "decision" else "worklog"))


def record_path(debate: Debate) -> str:
    """Where the record lies, below the home."""
    return f"records/{record_type(debate)}s/{debate.id}.json"


def record(debate: Debate, packet_: Mapping[str, Any]) -> dict[str, Any]:
    """The note among the user's own records, naming the run and its packet."""
    decision = packet_["decision"]
    return {
        "id": debate.id,
        "type": record_type(debate),
        "title": decision["selectedOption"],
        "problem": debate.motion,
        "runId": debate.id,
        "packet": f"records/debates/{debate.id}/final-packet.json",
        "createdAt": packet_["timestamps"]["finishedAt"],
        "summary": decision["whySelected"],
        "nextActions": packet_["nextActions"],
        "consensusScore": packet_["consensus"]["consensusScore"],
        "confidenceScore": packet_["consensus"]["confidenceScore"],
        "degraded": packet_["degraded"],
        "participants": packet_["participants"],
    }


def with_writeback(debate: Debate, packet_: Mapping[str, Any]) -> dict[str, Any]:
    """The packet whose trace names the record that was written."""
    trace = packet_["trace"]
    refs = [*trace["evidenceRefs"], f"writeback:{record_path(debate)}"]
    return {**packet_, "trace": {**trace, "evidenceRefs": refs}}


def decided(debate: Debate, turns: Sequence[Turn]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The consensus and the packet of a council, as its files show them."""
    made = consensus(turns)
    return made, with_writeback(debate, packet(debate, turns, made))
