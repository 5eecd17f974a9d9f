"""The council's machine, its consensus on hand-made positions, and its packet."""

# ruff: noqa: E501  a table reads best with one case a line

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.answers import find, read, spoken
from moot.core.built_in import BUILT_IN
from moot.core.debate import NO_USAGE, Debate, Turn
from moot.core.phases import check_phase, phases
from moot.core.request import build
from moot.core.request import council as council_request
from moot.errors import InputError, PacketError, StateError
from moot.outcome import packet
from moot.outcome.consensus import consensus
from moot.outcome.names import one_name
from moot.outcome.record import record_path
from moot.outcome.result import result as result_of
from moot.outcome.stands import Stand, Tally, key
from moot.outcome.stands import tally as tally_of
from moot.render import packet_text
from moot.store.formats import FormatFiles

AT = "2026-11-15T12:00:00.000Z"
ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
PHASES = ("Intake", "Round1", "Round2", "Round3", "Consensus", "Judge", "Packetize", "Writeback")


def tally(stands: Sequence[Stand], names: Mapping[str, str]) -> Tally:
    return tally_of(stands, names, ROLES)


def decided(debate: Debate, turns: Sequence[Turn]) -> tuple[dict[str, Any], dict[str, Any]]:
    came_to = result_of(debate, turns)
    assert came_to.consensus is not None
    assert came_to.packet is not None
    return came_to.consensus, came_to.packet


@pytest.mark.parametrize(("before", "after"), list(product([None, *PHASES], PHASES)))
def test_every_pair_of_phases(before: str | None, after: str) -> None:
    follows = PHASES.index(after) == (-1 if before is None else PHASES.index(before)) + 1
    if follows:
        check_phase(ask(), before, after)
    else:
        with pytest.raises(StateError, match=f"cannot go to {after}"):
            check_phase(ask(), before, after)


def test_the_phases_follow_the_stages() -> None:
    assert phases(ask()) == PHASES


def ask(**fields: Any) -> Debate:
    from pathlib import Path

    spelled = {} if "outputType" in fields else {"output_type": "decision"}
    request = {"problem": "Should we?", **spelled, **fields}
    return build(
        debate_id="debate_20261115_120000_aaaaaa",
        at=AT,
        rules=FormatFiles(Path("/nowhere")).get("council"),
        default_model="local",
        normalize=lambda model: (model, None),
        **council_request(request),
    )


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "blank": ({"problem": " "}, "problem"),
    "long": ({"problem": "x" * 4001}, "motion"),
    "kind": ({"output_type": "poem"}, "output_type"),
    "no kind": ({"output_type": None}, "output_type"),
    "seconds 4": ({"maxTurnSeconds": 4}, "limits.max_turn_seconds"),
    "seconds 121": ({"max_turn_seconds": 121}, "limits.max_turn_seconds"),
    "tokens 127": ({"maxTurnTokens": 127}, "limits.max_turn_tokens"),
    "tokens 4097": ({"max_turn_tokens": 4097}, "limits.max_turn_tokens"),
    "record": ({"writebackRecordType": "diary"}, "writeback_record_type"),
    "constraints": ({"constraints": "none"}, "constraints"),
    "blank constraint": ({"constraints": [" "]}, "constraints"),
    "participants": ({"participants": "all"}, "participants"),
    "twice": ({"participants": [{"role": "Judge"}, {"role": "judge"}]}, "participants[1].role"),
    "base url": ({"participants": [{"role": "Judge", "baseUrl": "x"}]}, "participants[0].base_url"),
    "unknown": ({"colour": "red"}, "colour"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_request_names_the_field(case: str) -> None:
    fields, field = BAD[case]
    with pytest.raises(InputError) as error:
        ask(**fields)
    assert error.value.field == field


@pytest.mark.parametrize("kind", ["decision", "writing", "architecture", "planning", "evaluation"])
@pytest.mark.parametrize("edge", [{"maxTurnSeconds": 5}, {"max_turn_seconds": 120},
                                  {"maxTurnTokens": 128}, {"max_turn_tokens": 4096}])  # fmt: skip
def test_the_edges_are_taken_in_both_spellings(kind: str, edge: dict[str, Any]) -> None:
    camel = any(name != name.lower() for name in edge)
    debate = ask(**{"outputType" if camel else "output_type": kind}, **edge)
    assert [seat.role for seat in debate.participants] == list(ROLES)
    assert debate.total == 17
    folder = "decisions" if kind == "decision" else "worklogs"
    assert record_path(debate) == f"records/{folder}/{debate.id}.json"


def test_roles_and_models() -> None:
    debate = ask(
        participants=[
            {"role": "critic", "modelProvider": "claude", "modelName": "opus"},
            {"role": "Clown", "model_provider": "openai"},
            {"role": "Judge", "model_provider": "gemini"},
        ]
    )
    models = {seat.role: seat.model for seat in debate.participants}
    assert models["Critic"] == "claude:opus"
    assert models["Judge"] == "gemini"
    assert models["Analyst"] == "local"
    assert [w.split(":")[0] for w in debate.warnings] == ["DEBATE_WARN_ROLE_IGNORED"]


# --- consensus ---


def stands(*options: tuple[str, float]) -> list[Stand]:
    return [
        Stand(role, option, confidence, seq)
        for seq, (role, (option, confidence)) in enumerate(zip(ROLES, options, strict=False), 1)
    ]


def counted(*options: tuple[str, float]) -> tuple[str | None, float, float]:
    made = stands(*options)
    result = tally(made, one_name((stand.option for stand in made), None))
    return result.leader, result.consensus, result.confidence


def test_unanimous() -> None:
    assert counted(*[("A", 0.8)] * 5) == ("A", 1.0, 0.8)


def test_split_three_to_two() -> None:
    assert counted(("A", 0.6), ("B", 0.6), ("A", 0.6), ("B", 0.6), ("A", 0.6)) == ("A", 0.6, 0.6)


def test_confidence_weighs() -> None:
    # weights 0.5 + c/2: A has 3 × 0.5, B has 2 × 1.0
    leader, score, _ = counted(("A", 0.0), ("A", 0.0), ("A", 0.0), ("B", 1.0), ("B", 1.0))
    assert (leader, score) == ("B", round(2 / 3.5, 4))


def test_five_ways() -> None:
    assert counted(*[(name, 0.5) for name in "EDCBA"]) == ("A", 0.2, 0.5)


def test_all_unsure() -> None:
    assert counted(*[("A", 0.0)] * 5) == ("A", 1.0, 0.0)


def test_one_role_missing() -> None:
    # four of A at full weight, and the missing fifth counts 0.5 elsewhere
    assert counted(*[("A", 1.0)] * 4) == ("A", round(4 / 4.5, 4), 1.0)


def test_nobody() -> None:
    assert counted() == (None, 0.0, 0.0)


def test_wording_does_not_split() -> None:
    assert counted(("Do it!", 0.5), ("do  it", 0.5), ("DO IT.", 0.5))[0] == "DO IT."
    made = stands(("A trial", 0.5), ("Try it first", 0.5), ("No", 0.5))
    reading = {"same": [{"option": "Trial", "wordings": ["a trial", "Try it first!", "Maybe"]}]}
    names = one_name((stand.option for stand in made), reading)
    assert names == {"a trial": "Trial", "try it first": "Trial", "no": "No"}
    assert tally(made, names).leader == "Trial"


STANDS = st.lists(
    st.tuples(st.sampled_from("ABCDE"), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=5
)


@given(STANDS, st.randoms(use_true_random=False))
def test_the_order_of_roles_never_matters(options: list[tuple[str, float]], chance: Any) -> None:
    made = stands(*options)
    names = one_name((stand.option for stand in made), None)
    shuffled = list(made)
    chance.shuffle(shuffled)
    assert tally(shuffled, names) == tally(made, names)
    roles = list(ROLES)
    chance.shuffle(roles)
    swapped = [replace(s, role=roles[ROLES.index(s.role)]) for s in made]
    assert tally(swapped, names).consensus == tally(made, names).consensus
    assert tally(swapped, names).leader == tally(made, names).leader


@given(STANDS, st.integers(0, 4))
def test_more_agreement_never_lowers_the_score(options: list[tuple[str, float]], who: int) -> None:
    made = stands(*options)
    names = one_name("ABCDE", None)
    before = tally(made, names)
    place = who % len(made)
    assert before.leader
    joined = [*made[:place], replace(made[place], option=before.leader), *made[place + 1 :]]
    assert tally(joined, names).consensus >= before.consensus


# --- the packet ---


def answer(shape: str, role: str, **fields: Any) -> dict[str, Any]:
    base: dict[str, dict[str, Any]] = {
        "position": {"position": "Do it", "claim": "It pays.", "rationale": "Sums.",
                     "risks": ["Cost"], "confidence": 0.7},
        "challenge": {"challenges": [{"targetRole": TARGETS[role], "question": "Why?",
                                      "claim": "It pays."}]},
        "revision": {"responses": [], "revisions": [{"change": "None.", "reason": "None."}],
                     "position": "Do it", "claim": "It still pays.", "confidence": 0.8},
        "reading": {"agreements": [{"text": "It pays.", "turns": [1, 99]}], "disagreements": [],
                    "same": []},
        "verdict": {"choice": "Do it", "whySelected": [{"text": "It pays.", "turns": [1]}],
                    "rejectedOptions": [{"option": "Wait", "reason": "Slow.", "turns": [2, 77]}],
                    "risks": [{"risk": "Cost", "severity": "low", "mitigation": "Cap it."}],
                    "nextActions": [{"action": "Begin", "owner": "Ada", "due": "2026-12-01"}]},
    }  # fmt: skip
    return read(shape, BUILT_IN[shape], {**base[shape], **fields}, {"target": [TARGETS[role]]})


TARGETS = {"Proponent": "Critic", "Critic": "Proponent", "Analyst": "Proponent",
           "Synthesizer": "Critic", "Judge": "Synthesizer"}  # fmt: skip


def turn(seq: int, number: int, role: str, shape: str, data: dict[str, Any] | None) -> Turn:
    stage = {1: "round1", 2: "round2", 3: "round3", 4: "consensus", 5: "judge"}[number]
    return Turn(
        seq=seq, round=number, stage=stage, actor=role.lower(), name=role, kind="speech",
        target=TARGETS[role].lower() if number == 2 else None, instruction=None,
        text=spoken(BUILT_IN[shape], data) if data else "", data=data, status="ok" if data else "failed",
        error_code=None if data else "DEBATE_ERR_PROVIDER_TIMEOUT", model="local:x",
        usage=NO_USAGE, started_at=AT, committed_at=AT,
    )  # fmt: skip


def a_council(**changes: dict[str, Any] | None) -> list[Turn]:
    """All turns of a council; `Critic3={...}` changes one, `Critic3=None` lets it fail."""
    turns: list[Turn] = []
    plan = [(n, role) for n in (1, 2, 3) for role in ROLES] + [(4, "Synthesizer"), (5, "Judge")]
    for seq, (number, role) in enumerate(plan, start=1):
        shape = ["position", "challenge", "revision", "reading", "verdict"][number - 1]
        name = f"{role}{number}"
        fields = changes.get(name, {})
        data = None if fields is None else answer(shape, role, **fields)
        turns.append(turn(seq, number, role, shape, data))
    return turns


def test_the_packet_of_a_whole_council() -> None:
    debate = ask(constraints=["cheap"])
    made, sealed = decided(debate, a_council())
    packet.validate(sealed)
    assert sealed["decision"]["selectedOption"] == "Do it"
    assert sealed["decision"]["whySelected"] == ["It pays. [turn:1]"]
    assert sealed["consensus"]["consensusScore"] == 1.0
    assert sealed["constraints"] == ["cheap"]
    assert sealed["nextActions"][0]["id"] == "A1"
    refs = sealed["trace"]["evidenceRefs"]
    assert refs == ["turn:1", "turn:2", f"writeback:records/decisions/{debate.id}.json"]
    assert made["droppedCitations"] == 2, "of turns 99 and 77, which nobody spoke"
    assert not sealed["degraded"]


def test_who_moved_and_after_whom() -> None:
    turns = a_council(Critic1={"position": "Wait"}, Critic3={"position": "do it"})
    made = consensus(ask(), turns)
    assert [row["option"] for row in made["tally"]["round1"]] == ["Do it", "Wait"]
    assert [row["option"] for row in made["tally"]["final"]] == ["Do it"]
    (moved,) = made["moved"]
    assert (moved["role"], moved["from"], moved["to"]) == ("Critic", "Wait", "Do it")
    assert moved["after"] == [{"role": "Proponent", "turn": 6}, {"role": "Synthesizer", "turn": 9}]


def test_without_a_verdict_the_positions_decide_and_the_packet_says_so() -> None:
    turns = a_council(Judge5=None, Critic1={"position": "Wait"}, Critic3={"position": "Wait"})
    _, sealed = decided(ask(), turns)
    packet.validate(sealed)
    assert sealed["decision"]["selectedOption"] == "Do it"
    assert "Judge gave no verdict" in sealed["decision"]["whySelected"][0]
    assert sealed["decision"]["rejectedOptions"][0]["option"] == "Wait"
    assert sealed["degraded"]
    assert sealed["errorCodes"] == ["DEBATE_ERR_PROVIDER_TIMEOUT"]


def test_without_a_reading_the_stands_speak() -> None:
    made, sealed = decided(ask(), a_council(Synthesizer4=None))
    packet.validate(sealed)
    assert sealed["consensus"]["keyAgreements"][0].startswith("Proponent, Critic, Analyst")
    assert made["missing"] == [
        {"role": "Synthesizer", "stage": "consensus", "turn": 16,
         "errorCode": "DEBATE_ERR_PROVIDER_TIMEOUT", "errorMessage": None},
    ]  # fmt: skip


BROKEN = {
    "score": ("consensus", "consensusScore", 1.5),
    "score type": ("consensus", "confidenceScore", "high"),
    "no option": ("decision", "selectedOption", " "),
    "no actions": (None, "nextActions", []),
    "bad date": (None, "nextActions", [{"id": "A1", "action": "x", "owner": "y", "due": "2026-02-30"}]),
    "bad id": (None, "nextActions", [{"id": "1", "action": "x", "owner": "y", "due": "2026-02-03"}]),
    "empty owner": (None, "nextActions", [{"id": "A1", "action": "x", "owner": "", "due": "2026-02-03"}]),
    "severity": (None, "risks", [{"risk": "x", "severity": "huge", "mitigation": "y"}]),
    "four roles": (None, "participants", []),
    "mode": (None, "mode", "debate-v2"),
    "evidence": ("trace", "evidenceRefs", ["page:3"]),
    "kind": (None, "outputType", "poem"),
    "run": (None, "runId", "../../etc"),
    "unknown": (None, "extra", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_packet_that_does_not_validate(case: str) -> None:
    _, sealed = decided(ask(), a_council())
    part, name, value = BROKEN[case]
    (sealed[part] if part else sealed)[name] = value
    with pytest.raises(PacketError, match="not valid"):
        packet.validate(sealed)


def test_the_same_role_twice_is_no_council() -> None:
    _, sealed = decided(ask(), a_council())
    sealed["participants"][0]["role"] = "Judge"
    with pytest.raises(PacketError, match="each role once"):
        packet.validate(sealed)


# --- shapes ---

GOOD = '{"position": "Yes", "claim": "c", "rationale": "r", "risks": [], "confidence": 0.5}'


@pytest.mark.parametrize(
    "wrapped",
    [
        GOOD,
        f"Here you are:\n{GOOD}\nI hope it helps.",
        f"```json\n{GOOD}\n```",
        f"First a {{brace}} then {GOOD}",
        f'{{"note": "small"}} and {GOOD}',
    ],
)
def test_an_object_is_found_in_what_wraps_it(wrapped: str) -> None:
    assert find(wrapped)["position"] == "Yes"


@pytest.mark.parametrize("text", ["", "no", GOOD[:-5], "[1, 2]", "{" * 5000])
def test_a_cut_or_absent_object_is_said_to_be_absent(text: str) -> None:
    with pytest.raises(ValueError, match="no complete JSON object"):
        find(text)


@pytest.mark.parametrize(("given", "taken"), [(80, 0.8), ("70%", 0.7), ("0.5", 0.5), (1, 1.0)])
def test_confidence_is_taken_as_models_write_it(given: object, taken: float) -> None:
    assert answer("position", "Judge", confidence=given)["confidence"] == taken


def test_a_challenge_must_be_aimed_at_its_target() -> None:
    with pytest.raises(ValueError, match="aimed at Proponent"):
        answer("challenge", "Critic", challenges=[
            {"targetRole": "Judge", "question": "Why?", "claim": "x"}])  # fmt: skip


def test_a_revision_without_revisions_is_invalid() -> None:
    with pytest.raises(ValueError, match="revisions"):
        answer("revision", "Critic", revisions=[])


def test_keys_forget_case_and_punctuation() -> None:
    assert key(" Do it — now! ") == key("do it, now")
    assert key("50% off") != key("50 off")


def test_the_worked_example_of_the_docs() -> None:
    made = [
        Stand("Proponent", "trial", 0.8, 1),
        Stand("Critic", "wait", 0.9, 2),
        Stand("Analyst", "trial", 0.6, 3),
        Stand("Judge", "trial", 0.7, 4),
    ]
    counted = tally(made, one_name(["trial", "wait"], None))
    assert (counted.leader, counted.consensus, counted.confidence) == ("trial", 0.6375, 0.75)


@pytest.mark.parametrize(
    ("one", "other"), [("Use C++", "Use C#"), ("-10%", "+10%"), ("👍", "👎"), (".NET", "net")]
)
def test_signs_that_mean_something_are_kept_apart(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_a_wording_that_is_claimed_twice_stays_with_the_first() -> None:
    same = [
        {"option": "Stay", "wordings": ["Wait", "Not yet"]},
        {"option": "stay!", "wordings": ["Not yet", "Later", "Never"]},
    ]
    names = one_name(["Wait", "Not yet", "Later", "Never", "Go"], {"same": same})
    assert names == {
        "wait": "Stay",
        "not yet": "Stay",
        "later": "Stay",
        "never": "Stay",
        "go": "Go",
    }


def test_a_judge_who_overrules_the_positions_is_said_to() -> None:
    fields = {
        "choice": "Buy a boat",
        "rejectedOptions": [
            {"option": "buy a boat!", "reason": "Also rejected.", "turns": []},
            {"option": "Do it", "reason": "Dull.", "turns": [1]},
        ],
    }
    made, sealed = decided(ask(), a_council(Judge5=fields))
    packet.validate(sealed)
    assert made["favoured"] == "Do it"
    assert "The positions favoured “Do it”" in sealed["decision"]["whySelected"][-1]
    assert [item["option"] for item in sealed["decision"]["rejectedOptions"]] == ["Do it"]


def test_only_what_was_spoken_before_can_be_cited() -> None:
    reading = {"agreements": [{"text": "It pays [turn:3].", "turns": [1, 1, 16, 17]}]}
    verdict = {"whySelected": [{"text": "So be it.", "turns": [17]}]}
    made, sealed = decided(ask(), a_council(Synthesizer4=reading, Judge5=verdict))
    assert sealed["consensus"]["keyAgreements"] == ["It pays. [turn:1]"]
    assert sealed["decision"]["whySelected"] == ["So be it. [no turn cited]"]
    assert made["droppedCitations"] == 2 + 1 + 1, "16, 17; 17; and 77 of the rejected option"


def test_where_no_model_spoke_the_packet_says_so() -> None:
    turns = [replace(turn, model="local:understudy") for turn in a_council()]
    _, sealed = decided(ask(), turns)
    assert {seat["modelName"] for seat in sealed["participants"]} == {"understudy"}
    assert "No model spoke" in packet_text.markdown(sealed)
