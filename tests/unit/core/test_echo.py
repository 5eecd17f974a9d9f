"""Speeches that were made before are known again, and new ones are left alone."""

import pytest
from tests.unit.core.test_prompts import debate_of, steps_of, turn_of

from moot.core.debate import Turn
from moot.core.echo import likeness, repeats

MOTION = "Should the town close its high street to cars at the weekend?"
SPEECH = (
    "Closing the street costs the shops their Saturday, which is the day they live from. "
    "The council has no plan for what the bakers should do instead."
)
ANSWER = "Fewer cars make room for tables, and tables sell more coffee than parking ever did."


def made(*texts: str, **changes: str) -> list[Turn]:
    steps = [(now, wave.steps[0]) for now, wave in steps_of(debate_of("duel", "Ada Ben", turns=20))]
    return [turn_of(*at, text, **changes) for at, text in zip(steps, texts, strict=False)]


@pytest.mark.parametrize(
    "again",
    [
        SPEECH,
        SPEECH.upper(),
        "As I said before: " + SPEECH,
        SPEECH.replace("costs", "takes from").replace("bakers", "butchers"),
        f"I do not agree. {SPEECH.split('. ')[1]}",  # one sentence of it, behind something new
        "It should not be done, because the council has no plan for what bakers should do instead!",
    ],
)
def test_a_speech_that_was_made_before_is_known_again(again: str) -> None:
    assert repeats(again, MOTION, made(SPEECH, ANSWER))
    assert repeats(again, MOTION, made(ANSWER, SPEECH))  # another's words are no new point either


@pytest.mark.parametrize(
    "new",
    [
        "What the shops lose on Saturday they win on Sunday, as three other towns have found.",
        "The town should close its high street to cars at the weekend, because buses need room.",
        "The town should not close its high street to cars at the weekend, because Ada is wrong.",
        "No.",
        "",
    ],
)
def test_a_new_one_is_not(new: str) -> None:
    thesis = "The town should close its high street to cars at the weekend, because it is loud."
    assert not repeats(new, MOTION, made(SPEECH, ANSWER, thesis))


def test_only_what_was_said_as_a_speech_counts() -> None:
    assert not repeats(SPEECH, MOTION, made(SPEECH, status="failed"))
    assert not repeats(SPEECH, MOTION, made(SPEECH, kind="cue"))
    assert not repeats(SPEECH, MOTION, [])


def test_likeness_is_a_share() -> None:
    assert likeness(SPEECH, SPEECH) == 1.0
    assert likeness(SPEECH, "zebra quagga") == 0.0
    assert likeness("a b c d", "a, b! x y") == 0.5
    assert likeness("word " * 100_000, "word " * 100_000) == 1.0  # and at once
