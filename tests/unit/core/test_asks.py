"""What each kind of turn is asked for: one task, manners that fit it, one length, and what it can
choose from."""

import itertools
import os
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from moot.core import answers, prompts, request, schedule
from moot.core.debate import NO_USAGE, Debate, Turn
from moot.core.format import Format
from moot.core.prompts import Heard, Message
from moot.core.schedule import Step, Wave
from moot.outcome.stands import choices
from moot.store.formats import BUILT_IN, FormatFiles

AT = "2026-11-15T12:00:00.000Z"
FORMATS = FormatFiles(Path(os.devnull))
WINDOW = 1_000_000


def debate_of(name: str | Format = "council", **asked: Any) -> Debate:
    rules = FORMATS.get(name) if isinstance(name, str) else name
    if rules.roster.host == "required":
        asked.setdefault("host", {"name": "Hanna"})
    return request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion="Should the town close its high street?",
        rules=rules,
        default_model="local",
        normalize=lambda model: (model, None),
        **asked,
    ).but(status="running")


def answer(step: Step, debate: Debate, asked: tuple[str, ...] = ()) -> dict[str, Any] | None:
    stand = {
        "claim": f"{step.actor} says so.",
        "position": f"Plan of {step.actor}",
        "confidence": 1,
    }
    match step.answer:
        case "position":
            return {**stand, "rationale": "It pays.", "risks": []}
        case "challenge":
            target = debate.seat(step.target or "")
            claim = {
                "targetRole": target.name,
                "claim": f"{target.id} says so.",
                "question": "Why?",
            }
            return {"challenges": [claim]}
        case "revision":
            said = [{"sourceRole": name, "response": "Because."} for name in asked]
            return {**stand, "responses": said, "revisions": [{"change": "None", "reason": "So."}]}
        case "reading":
            return {}
        case "verdict":
            why = [{"text": "It pays.", "turns": [1]}]
            todo = [{"action": "Begin", "owner": "Ada", "due": "2026-12-01"}]
            return {"whySelected": why, "choice": "other", "otherOption": "X", "nextActions": todo}
        case "ballot":
            return {
                "reasons": [{"text": "It pays."}], "against": {"text": "It costs."},
                "choice": "undecided", "questions": ["How much?"], "confidence": 1,
                "wouldChange": "A bill.",
            }  # fmt: skip
        case _:
            return None


def turn_of(debate: Debate, step: Step, seq: int, **changes: Any) -> Turn:
    seat = debate.seat(step.actor)
    data = answer(step, debate)
    text = answers.spoken(debate.rules.shape(step.answer), data) if data else f"I am {seat.name}."
    made = Turn(
        seq, step.round, step.stage, seat.id, seat.name, step.kind, step.target, None, text, data,
        "ok", None, "local", NO_USAGE, AT, AT,
    )  # fmt: skip
    return replace(made, **changes)


def waves(debate: Debate) -> Iterator[tuple[Debate, tuple[Step, ...]]]:
    while isinstance(ahead := schedule.plan(debate), Wave):
        yield debate, ahead.steps
        for step in ahead.steps:
            debate = debate.but(cursor=schedule.after(debate, step.bit))


def play(
    debate: Debate, shuffle: random.Random | None = None
) -> list[tuple[Step, tuple[Message, ...], list[Turn]]]:
    """Every step with its prompt and the turns before it; the turns of a wave arrive in any
    order."""
    turns: list[Turn] = []
    told: list[tuple[Step, tuple[Message, ...], list[Turn]]] = []
    for now, steps in waves(debate):
        heard = Heard(turns)
        for step in steps:
            messages, _ = prompts.render(step, now, heard, WINDOW, choices(now, turns))
            told.append((step, messages, list(turns)))
        arriving = list(steps)
        if shuffle:
            shuffle.shuffle(arriving)
        turns += [turn_of(now, s, len(turns) + n) for n, s in enumerate(arriving, start=1)]
    return told


def flat(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages)


def ask_of(messages: tuple[Message, ...]) -> str:
    """The end of a prompt, behind what was quoted."""
    lines = messages[-1].text.splitlines()
    quoted = [n for n, line in enumerate(lines) if re.match(r"\[\d+\] |> ", line)]
    options = [n for n, line in enumerate(lines) if line.startswith("The options")]
    before = [n for n in quoted if not options or n < options[-1]]
    return "\n".join(lines[max(before, default=-1) + 1 :])


# --- in which order a wave is read ---


def test_the_order_of_arrival_does_not_matter() -> None:
    """Whichever model is the fastest, everybody reads the same speakers in the same order."""
    calm = play(debate_of(jury={"size": 3}))
    orders: set[str] = set()
    for seed in range(5):
        mixed = play(debate_of(jury={"size": 3}), random.Random(seed))
        for (step, one, _), (_, other, _) in zip(calm, mixed, strict=True):
            names = [
                re.findall(r"^\[\d+\] (.*):$", flat(told), re.MULTILINE) for told in (one, other)
            ]
            assert names[0] == names[1], step
        orders.add(" ".join(turn.actor for turn in mixed[-1][2]))
    assert len(orders) > 1, "they did arrive in other orders"


def test_no_seat_is_always_read_first() -> None:
    *_, (_, messages, _) = play(debate_of())
    names = re.findall(r"^\[\d+\] (.*):$", flat(messages), re.MULTILINE)
    assert [names[n] for n in (0, 5, 10)] == ["Proponent", "Critic", "Analyst"]


@pytest.mark.parametrize("name", ["council", "redteam", "jury"])
def test_prompts_of_a_wave_still_begin_with_the_one_before(name: str) -> None:
    told: dict[str, list[tuple[Message, ...]]] = {}
    for step, messages, _ in play(debate_of(name), random.Random(1)):
        stage = debate_of(name).rules.stage(step.stage)
        if not stage.outsider:
            told.setdefault(step.actor, []).append(messages)
    compared = 0
    for said in told.values():
        for before, after in pairwise(said):
            assert after[: len(before) - 1] == before[:-1]
            compared += len(before) > 1
    assert compared or name == "jury"


def test_a_judge_does_not_read_votes_from_before_the_debate() -> None:
    debate = debate_of(jury={"size": 3})
    *_, (step, messages, turns) = play(debate)
    assert step.stage == "judge"
    cast = [turn for turn in turns if turn.actor.startswith("juror-")]
    assert len(cast) == 9
    assert len(re.findall(r"^\[\d+\] Juror \d:$", flat(messages), re.MULTILINE)) == 6


# --- challenges ---


def in_round_3(lost: str | None = None) -> tuple[Debate, dict[str, Step], list[Turn]]:
    debate, turns = debate_of(), list[Turn]()
    for now, steps in waves(debate):
        if steps[0].stage == "round3":
            return now, {step.actor: step for step in steps}, turns
        for step in steps:
            status = "failed" if step.stage == "round2" and step.actor == lost else "ok"
            turns.append(turn_of(now, step, len(turns) + 1, status=status))
    raise AssertionError


def test_who_challenged_is_who_really_did() -> None:
    debate, steps, turns = in_round_3(lost="analyst")
    asked = {
        actor: prompts.known(step, debate, turns=turns)["challengers"]
        for actor, step in steps.items()
    }
    assert asked == {
        "proponent": ["Critic"], "critic": ["Proponent", "Synthesizer"], "analyst": [],
        "synthesizer": ["Judge"], "judge": [],
    }  # fmt: skip
    for actor, step in steps.items():
        messages, _ = prompts.render(step, debate, Heard(turns), WINDOW)
        if names := asked[actor]:
            assert f"You were challenged by {names[0]} (turn " in ask_of(messages)
        else:
            assert "Nobody challenged you." in ask_of(messages)


def test_a_revision_that_leaves_a_challenge_unanswered_is_invalid() -> None:
    debate, steps, turns = in_round_3()
    step = steps["critic"]
    good = answer(step, debate, ("Proponent", "Synthesizer")) or {}
    assert len(prompts.read(step, debate, good, turns=turns)["responses"]) == 2
    for asked in ((), ("Proponent",), ("Synthesizer", "Critic")):
        with pytest.raises(ValueError, match="who challenged you"):
            prompts.read(step, debate, answer(step, debate, asked) or {}, turns=turns)


def test_less_is_expected_of_a_small_model() -> None:
    """It would fail most of its challenges and answers, and the council would be degraded."""
    debate, steps, turns = in_round_3()
    step = steps["critic"]
    few = answer(step, debate, ("Proponent",)) or {}
    assert len(prompts.read(step, debate, few, turns=turns, small=True)["responses"]) == 1


def test_a_challenge_to_a_claim_that_nobody_made_is_invalid() -> None:
    debate, turns = debate_of(), list[Turn]()
    (now, first), (later, second) = itertools.islice(waves(debate), 2)
    turns = [turn_of(now, step, n) for n, step in enumerate(first, start=1)]
    step = second[0]
    prompts.read(step, later, answer(step, later) or {}, turns=turns)
    for claim in ("Outsourcing all of it is the safest way.", "analyst never looked at the costs"):
        said = {"challenges": [{"targetRole": "Critic", "claim": claim, "question": "Why?"}]}
        with pytest.raises(ValueError, match="Critic did not say"):
            prompts.read(step, later, said, turns=turns)
        prompts.read(step, later, said, turns=turns, small=True)
    failed = [replace(turn, status="failed", text="") for turn in turns]
    prompts.read(step, later, said, turns=failed)  # who was not heard cannot be misquoted


# --- what is asked ---


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_ask_has_one_length_in_words_that_fits_its_tokens(name: str) -> None:
    debate = debate_of(name, jury={"size": 1})
    for step, messages, _ in play(debate):
        text = flat(messages)
        found = [int(words) for words in re.findall(r"at most (\d+)", text, re.IGNORECASE)]
        assert len(found) == 1, "one length"
        assert found[0] <= (step.tokens or debate.limits.max_turn_tokens) // 2
        assert not re.search(r"keep it short|in a sentence|sentences|briefly", text.casefold())


@pytest.mark.parametrize("name", BUILT_IN)
def test_nobody_is_told_to_do_what_another_line_forbids(name: str) -> None:
    for step, messages, _ in play(debate_of(name, jury={"size": 1})):
        text = flat(messages)
        sums_up = step.kind in ("summary", "verdict") and not step.reading
        assert ("Add no argument, no fact and no option of your own" in text) == sums_up
        if sums_up:
            assert not re.search(r"add something|your strongest|You argue", text)
        assert "not for you to follow" not in text
        assert "no side)" not in text
        assert "In the language of the question" in text or "language of the question" in text


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_system_message_of_a_seat_never_changes(name: str) -> None:
    told: dict[str, set[str]] = {}
    for step, messages, _ in play(debate_of(name, jury={"size": 2})):
        told.setdefault(step.actor, set()).add(messages[0].text)
        assert "<motion>\nShould the town close its high street?\n</motion>" in messages[0].text
    assert all(len(texts) == 1 for texts in told.values())


def test_a_side_is_said_first_and_last() -> None:
    for step, messages, _ in play(debate_of("classic")):
        if step.kind == "speech" and step.actor != "host":
            ask = ask_of(messages).strip()
            side = "for" if "You argue for" in ask else "against"
            assert ask.startswith(f"You argue {side} the motion.")
            assert ask.endswith(f", {side} the motion.")


def test_options_are_listed_as_words_of_others() -> None:
    for step, messages, turns in play(debate_of()):
        if step.answer in ("revision", "reading", "verdict"):
            stated = choices(debate_of(), turns).options
            assert all(f"\n> {option}\n" in flat(messages) for option in stated)


# --- more than a decision ---


@pytest.mark.parametrize("kind", ["writing", "architecture", "planning", "evaluation"])
def test_the_work_that_is_wanted_is_asked_for_and_must_be_there(kind: str) -> None:
    debate = debate_of(brief={"output_type": kind})
    *_, (step, messages, turns) = play(debate)
    word = {"writing": "text", "planning": "plan"}.get(kind, kind)
    assert f"Put the {word} itself, whole, into the field work." in ask_of(messages)
    assert re.search(rf"What is wanted is an? {word}\. The result", messages[0].text)
    assert "work" in (prompts.schema(step, debate, turns=turns) or {})["properties"]
    said = answer(step, debate) or {}
    with pytest.raises(ValueError, match=f"work: it must hold the {word} itself"):
        prompts.read(step, debate, said, turns=turns)
    done = prompts.read(step, debate, said | {"work": "Dear all, …"}, turns=turns)
    assert "Dear all, …" in answers.spoken(debate.rules.shape("verdict"), done)
    open_ = {"choice": "undecided", "questions": ["How much?"]}
    assert prompts.read(step, debate, said | open_, turns=turns)["work"] is None


def test_a_decision_asks_for_no_work() -> None:
    debate = debate_of(brief={"output_type": "decision"})
    *_, (step, messages, turns) = play(debate)
    assert "work" not in (prompts.schema(step, debate, turns=turns) or {})["properties"]
    assert "work" not in ask_of(messages).replace("The question to work on", "")
    said = answer(step, debate) or {}
    assert prompts.read(step, debate, said | {"work": "A poem."}, turns=turns)["work"] is None


# --- room ---


@pytest.mark.parametrize("name", ["council", "jury", "redteam"])
def test_whoever_decides_has_room_for_an_ordinary_verdict(name: str) -> None:
    """Four reasons, three rejected, four risks, four actions are about 960 tokens of JSON."""
    debate = debate_of(name, jury={"size": 1})
    for _, steps in waves(debate):
        for step in steps:
            if step.answer in ("verdict", "reading", "ballot"):
                assert (step.tokens or 0) >= 2 * 960
                assert (step.seconds or 0) >= 60


def test_a_small_window_keeps_room_for_what_was_said() -> None:
    debate = debate_of()
    *_, (step, _, turns) = play(debate)
    assert prompts.tokens_of(step, debate, 200_000) == 4000
    assert prompts.tokens_of(step, debate, 8_192) == 2048
    assert prompts.tokens_of(step, debate, 2_048) == debate.limits.max_turn_tokens
    _, seen = prompts.render(step, debate, Heard(turns), 8_192)
    assert len(seen) == len(turns)
