"""A juror reads blind: no name of a seat, a role or a model reaches it, and nobody's confidence."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stress import examples

from moot.core import answers, jury, prompts, request, schedule
from moot.core.built_in import BUILT_IN
from moot.core.debate import NO_USAGE, Debate, Reading, Turn
from moot.core.jury import Choices, blindfold
from moot.core.prompts import Heard
from moot.core.schedule import Step
from moot.errors import InputError
from moot.outcome.stands import choices
from moot.store.formats import FormatFiles

AT = "2026-11-15T12:00:00.000Z"
FORMATS = FormatFiles(Path(os.devnull))
MODELS = ("openai:gpt-5", "claude:claude-opus-4-5", "gemini:gemini-3-pro")
READINGS: tuple[Reading, ...] = ("alone", "spoken", "swapped")


def debate_of(
    name: str = "council", motion: str = "Should we move the shop?", size: int = 3, **asked: Any
) -> Debate:
    built = request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion=motion,
        rules=FORMATS.get(name),
        default_model=MODELS,
        normalize=lambda model: (model, None),
        jury={"size": size},
        **asked,
    ).but(status="running")
    seats = [replace(s, model=MODELS[n % 3]) for n, s in enumerate(built.participants)]
    return built.but(participants=tuple(seats))


def ballots(debate: Debate) -> dict[Reading, Step]:
    wave = next(wave for wave in schedule.waves(debate) if wave[0].reading)
    return {step.reading: step for step in wave if step.reading and step.actor == "juror-1"}


def turns_of(debate: Debate, said: str, sure: float = 0.37, held: str = "") -> list[Turn]:
    """What everybody said before the jury votes: the same words, wherever words can stand; of the
    options, `held` if it is given."""
    made: list[Turn] = []
    for wave in schedule.waves(debate):
        if wave[0].reading:
            break
        for step in wave:
            fields: dict[str, Any] = {
                "position": {
                    "claim": said, "rationale": said, "risks": [said], "position": held or said,
                },
                "challenge": {"challenges": [{"targetRole": "x", "claim": said, "question": said}]},
                "revision": {
                    "responses": [], "revisions": [{"change": said, "reason": said, "turns": []}],
                    "claim": said, "rejects": [said], "position": held or said,
                },
            }  # fmt: skip
            data = fields.get(step.answer)
            if data and "position" in data:
                data["confidence"] = sure
            seat = debate.seat(step.actor)
            text = answers.spoken(debate.rules.shape(step.answer), data) if data else said
            made.append(
                Turn(
                    len(made) + 1, step.round, step.stage, seat.id, seat.name, step.kind,
                    step.target, None, text, data, "ok", None, seat.model, NO_USAGE, AT, AT,
                )
            )  # fmt: skip
    return made


def read_by_a_juror(debate: Debate, turns: list[Turn], reading: Reading) -> str:
    step = ballots(debate)[reading]
    given_ = choices(debate, turns)
    messages, _ = prompts.render(step, debate, Heard(turns), 1_000_000, given_)
    schema = prompts.schema(step, debate, given_, turns)
    return "\n".join(message.text for message in messages) + str(schema)


def names(debate: Debate) -> set[str]:
    found: set[str] = set()
    for seat in debate.seats:
        provider, _, model = seat.model.partition(":")
        found |= {seat.name, seat.role, seat.model, model, provider}
    return found - {"participant", "host", "local"}


def leaks(text: str, name: str, roles: set[str]) -> bool:
    """Whether a name stands there; of a role or a person, in a way that means a seat and not just
    a word."""
    forms = [name, name.upper(), *([f"the {name.lower()}"] if name in roles else [])]
    flags = 0 if name in roles or name.istitle() else re.IGNORECASE
    return any(re.search(rf"(?<![^\W_]){re.escape(one)}(?![^\W_])", text, flags) for one in forms)


WORDS = st.sampled_from(
    ["I", "agree with", "the plan of", "(", "“", "\n", "is 80% sure:", "同意", "."]
)


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.data(), st.sampled_from(["council", "duel", "redteam", "jury"]))
def test_no_name_reaches_a_juror(data: st.DataObject, format_: str) -> None:
    debate = debate_of(format_)
    known, roles = sorted(names(debate)), {seat.role for seat in debate.participants}
    spelled = st.sampled_from(known).flatmap(
        lambda name: st.sampled_from([name, name.upper(), f"{name}'s", f"the {name.lower()}"])
    )
    said = data.draw(st.lists(st.one_of(WORDS, spelled), min_size=1, max_size=8).map(" ".join))
    turns = turns_of(debate, said, held="Stay")
    for reading in READINGS:
        text = read_by_a_juror(debate, turns, reading)
        assert not [name for name in known if leaks(text, name, roles)]
        assert "0.37" not in text
        assert "confidence 0" not in text


def test_a_position_is_read_without_how_sure_its_speaker_is() -> None:
    debate = debate_of()
    text = read_by_a_juror(debate, turns_of(debate, "Move it in May"), "spoken")
    assert "> Position: Move it in May\n" in text
    assert "> Position now: Move it in May\n" in text
    assert "0.37" not in text


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("I judge that the critic is wrong.", "I judge that the Speaker B is wrong."),
        ("A critic would object.", "A critic would object."),
        ("Critic's plan fails", "Speaker B's plan fails"),
        ("同意Critic的看法", "同意Speaker B的看法"),
        ("Criticism is cheap.", "Criticism is cheap."),
        ("Ask gpt-5 or GPT-5.", "Ask Speaker A or Speaker A."),
    ],
)
def test_words_of_the_language_stay(said: str, read: str) -> None:
    blind = blindfold(debate_of(), "juror-1", "spoken")
    assert blind.hide(said) == read


def test_what_the_motion_names_is_what_the_debate_is_about() -> None:
    debate = debate_of("duel", "Is Gemini better than Claude?")
    blind = blindfold(debate, "juror-1", "spoken")
    assert blind.hide("Claude is faster than Gemini.") == "Claude is faster than Gemini."
    assert blind.hide("gpt-5 said so") != "gpt-5 said so"


def test_options_that_name_somebody_are_shown_as_they_were_stated() -> None:
    debate = debate_of()
    held = Choices(("Do as the Critic says", "Do as the Judge says"), {})
    for reading in READINGS:
        step = ballots(debate)[reading]
        shown = prompts.known(step, debate, held)["options"]
        assert sorted(shown) == sorted(held.options)
        ballot = {
            "reasons": [{"text": "Speaker A is right.", "quotes": ["Speaker A is right."]}],
            "against": {"text": "It costs."},
            "choice": shown[0],
            "confidence": 0.5,
            "wouldChange": "A fact.",
        }
        made = prompts.read(step, debate, ballot, held)
        blind = blindfold(debate, "juror-1", reading, held)
        assert made["choice"] == blind.options[0]
        assert made["choice"] in held.options
        first = blind.seats[0].name
        assert made["reasons"][0]["text"] == f"{first} is right."
        assert made["reasons"][0]["quotes"] == ["Speaker A is right."], "as it was read"


def blind_to(
    *named: tuple[str, str], options: tuple[str, ...] = (), motion: str = "Move?", **brief: Any
) -> jury.Blind:
    """What a juror may know of a debate among seats with these names and models."""
    debate = debate_of("duel", motion, participants=[{"name": name} for name, _ in named])
    seats = zip(debate.participants, named, strict=True)
    debate = debate.but(
        participants=tuple(replace(seat, model=model) for seat, (_, model) in seats), brief=brief
    )
    return blindfold(debate, "juror-1", "spoken", Choices(options, {}))


def test_what_an_option_names_is_what_the_debate_is_about() -> None:
    seats = ("Ada", "openai:gpt-5"), ("Ben", "claude:claude-opus-4-5")
    blind = blind_to(*seats, options=("Use OpenAI", "Use Claude"))
    assert blind.shown == ["Use OpenAI", "Use Claude"]
    assert blind.hide("OpenAI is cheaper than Claude.") == "OpenAI is cheaper than Claude."
    assert blind.hide("I am gpt-5 by OpenAI.") == "I am Speaker A by OpenAI."
    assert blind.reveal({"choice": "Use Claude"}) == {"choice": "Use Claude"}
    blind = blind_to(("Will", "local:x-1"), ("May", "local:x-1"), options=("We will move in may",))
    assert blind.hide("Will and May agree.") == "Speaker A and Speaker B agree."


@pytest.mark.parametrize(
    "said",
    ["Ada Lovelace", "Ada  Lovelace", "Ada_Lovelace", "ada_lovelace", "Ada-Lovelace",
     "ADA LOVELACE", "Ada", "Lovelace"],
)  # fmt: skip
def test_a_part_of_a_name_names_its_seat(said: str) -> None:
    seats = ("Ada Lovelace", "local:x-1"), ("The Ben of Kent", "local:x-1")
    blind = blind_to(*seats)
    assert blind.hide(f"As {said}’s plan says.") == "As Speaker A’s plan says."
    assert blind.hide("The plan of Kent") == "The plan of Speaker B"
    whole = blind_to(("Ada Lovelace", "local:x-1"), ("Ada", "local:x-1"))
    assert whole.hide("Ada is right.") == "Speaker B is right.", "a whole name before a part"


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("openai:gpt-5", ["OpenAI", "openai", "ChatGPT", "chatgpt", "GPT", "GPT 5"]),
        ("claude:claude-opus-4-5", ["Anthropic", "anthropic", "Claude", "Opus"]),
        ("gemini:pro", ["Google", "Gemini", "gemini"]),
        ("openrouter:mistralai/mistral-large-2", ["Mistral"]),
    ],
)
def test_what_people_call_a_vendor_is_hidden_if_it_debates(model: str, names: list[str]) -> None:
    blind = blind_to(("Ada", model), ("Ben", "local:x-1"))
    other = blind_to(("Ada", "local:x-1"), ("Ben", "local:x-1"))
    for name in names:
        assert blind.hide(f"As {name} says.") == "As Speaker A says."
        assert other.hide(f"As {name} says.") == f"As {name} says."


def test_a_constraint_names_no_speaker() -> None:
    limits = ["Ada must agree.", "No data may go to OpenAI.", "The critic signs."]
    debate = debate_of(
        "council", brief={"output_type": "decision", "constraints": [*limits, "Ask the Critic."]}
    )
    seats = (replace(debate.participants[0], name="Ada"), *debate.participants[1:])
    debate = debate.but(participants=seats)
    step = ballots(debate)["spoken"]
    system = prompts.render(step, debate, Heard([]), 1_000_000)[0][0].text
    assert "- Speaker A must agree." in system
    assert "- No data may go to OpenAI." in system, "what it is about stays"
    assert "- The Speaker B signs." in system
    assert "- Ask the Speaker B." in system
    blind = blindfold(debate, "juror-1", "spoken")
    assert blind.hide("OpenAI is out.") == "OpenAI is out."


@pytest.mark.parametrize(
    "said",
    ["We will see, and we may move.", "Ask a pro.", "By default, so.", "A PRO and a Pro."],
)
def test_words_that_are_spelled_like_a_name_stay(said: str) -> None:
    blind = blind_to(("Will", "gemini:pro"), ("May", "local:default"))
    assert blind.hide(said) == said
    assert blind.hide("Will asks MAY.") == "Speaker A asks Speaker B."
    assert blind.hide("gemini:pro and Local:Default") == "Speaker A and Speaker B"


def test_labels_become_names_in_one_pass() -> None:
    """Such names are refused, but debates from before can be judged again."""
    blind = blind_to(("Ada", "local:x-1"), ("Ben", "local:x-1"))
    one, other = blind.seats
    blind = replace(blind, seats=(replace(one, name="Speaker B"), replace(other, name="Speaker A")))
    assert blind.reveal(["Speaker A beats Speaker B."]) == ["Speaker B beats Speaker A."]


@pytest.mark.parametrize("name", ["Speaker A", "speaker z", "SPEAKER  B", "Juror 1", "juror 12"])
def test_nobody_is_called_as_a_jury_calls_somebody(name: str) -> None:
    with pytest.raises(InputError, match="with a jury") as caught:
        debate_of("duel", participants=[{"name": "Ada"}, {"name": name}])
    assert caught.value.field == "participants[1].name"
    with pytest.raises(InputError, match="with a jury") as caught:
        debate_of("classic", host={"name": name})
    assert caught.value.field == "host.name"
    assert debate_of("duel", participants=[{"name": "Speaker AB"}, {"name": "Jurors"}])
    free = debate_of("duel", participants=[{"name": "Ada"}, {"name": name}], size=0)
    assert free.jury is None


def test_the_two_orders_differ_in_options_and_speakers() -> None:
    debate = debate_of("duel")
    turns = turns_of(debate, "So it is.")
    given_ = choices(debate, turns)
    one, other = (blindfold(debate, "juror-1", how, given_) for how in ("spoken", "swapped"))
    assert one.options == other.options[::-1]
    assert [seat.id for seat in one.seats] == [seat.id for seat in other.seats][::-1]
    first = [next(iter(jury.speeches(debate, turns, blind)))[1].actor for blind in (one, other)]
    assert first == [one.seats[0].id, other.seats[0].id]


def test_a_juror_hears_nobody_but_the_speakers() -> None:
    debate = debate_of("classic", host={"name": "Hanna"})
    turns = turns_of(debate, "So it is.")
    hosted = [turn.seq for turn in turns if turn.actor == "host"]
    _, heard = prompts.render(ballots(debate)["spoken"], debate, Heard(turns), 1_000_000)
    assert heard
    assert not {turn.seq for turn in heard} & set(hosted)
    assert prompts.render(ballots(debate)["alone"], debate, Heard(turns), 1_000_000)[1] == ()


def test_the_shape_of_a_ballot_asks_for_reasons_first() -> None:
    assert list(BUILT_IN["ballot"].fields)[:3] == ["reasons", "against", "choice"]
