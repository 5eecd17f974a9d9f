"""A format file with a mistake: the error names the file, the stage and the field."""

# ruff: noqa: E501  a table reads best with one case a line

import json
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core import answers
from moot.core.clean import visible
from moot.core.format import digest, from_json, parse, to_json
from moot.errors import InputError
from moot.store.formats import BUILT_IN

GOOD = """
name = "mine"
title = "Mine"
description = "A format of mine."
rules = "Speak."
max_turns = 10

[roster]
min = 2
max = 4
host = "required"

[options.rounds]
default = 2
min = 1
max = 5
help = "How many."

[[stages]]
name = "intro"
speakers = "host"
prelude = true
ask = "Open."

[[stages]]
name = "talk"
rounds = "rounds"
cued = true
cue = "Give {target} the floor."
ask = "Speak, {name}."
"""

MISTAKES = {
    "not TOML": ("name =", 'name = "mine"', "not valid TOML"),
    "unknown field": ('ask = "Open."\ncolour = "red"', 'ask = "Open."', "stage 'intro', field colour"),
    "missing ask": ("", 'ask = "Open."', "stage 'intro', field ask: Field required"),
    "bad placeholder": ("{targt}", "{target}", "stage 'talk', field cue: {targt} is not"),
    "open brace": ("{name", "{name}", "stage 'talk', field ask: a brace"),
    "unknown option": ('rounds = "laps"', 'rounds = "rounds"', "stage 'talk', rounds: there is no option"),
    "name twice": ('name = "intro"', 'name = "talk"', "stage 'intro': the name is taken"),
    "cue without cued": ("", "cued = true", "stage 'talk': a cue is only spoken"),
    "cued without cue": ("", 'cue = "Give {target} the floor."', "stage 'talk': cued = true needs a cue"),
    "cued together": ("cued = true\ntogether = true", "cued = true", "stage 'talk': cued and together"),
    "no host": ('host = "none"', 'host = "required"', "stage 'intro' needs a host"),
    "optional host": ('host = "optional"', 'host = "required"', "stage 'intro' needs a host, who is opt"),
    "bounds": ("default = 9", "default = 2", "field options.rounds: default 9 lies outside 1..5"),
    "roster": ("min = 5", "min = 2", "field roster: min is 5"),
    "a word for a number": ('max = "four"', "max = 4", "field roster.max"),
    "no stages": ("", GOOD[GOOD.index("[[stages]]") :], "field stages"),
    "bad name": ('name = "My Format"', 'name = "mine"', "field name"),
    "long purpose": (f'title = "Mine"\npurpose = "{"x" * 61}"', 'title = "Mine"', "field purpose"),
    "prelude late": ("prelude = true\ncued = true", "cued = true", "stage 'talk': a prelude"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake: str) -> None:
    new, old, words = MISTAKES[mistake]
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parse(GOOD.replace(old, new, 1), "mine.toml")
    assert error.value.message.startswith("mine.toml: ")
    assert words in error.value.message
    assert "\n" not in error.value.message


def test_an_endless_stage_needs_a_default() -> None:
    endless = GOOD.replace("max_turns = 10", "").replace("min = 1", "min = 0")
    with pytest.raises(InputError, match="max_turns"):
        parse(endless, "mine.toml")


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_ones_are_right_and_survive_json(name: str) -> None:
    text = resources.files("moot.formats").joinpath(f"{name}.toml").read_text("utf-8")
    rules = parse(text, f"{name}.toml")
    assert rules.name == name
    again = from_json(to_json(rules))
    assert again == rules
    assert digest(again) == digest(rules)


OWN = """
[answers.pick.fields.choice]
type = "choice"
choices = ["Go", "Wait"]
help = "Which."

[outcome]
stands = ["talk"]
"""
MISSPELT = {
    "of the format": ('titel = "Mine"', 'title = "Mine"', "field titel", "title"),
    "of a stage": ('aks = "Open."', 'ask = "Open."', "stage 'intro', field aks", "ask"),
    "of the roster": ("mim = 2", "min = 2", "field roster.mim", "min"),
    "of an option": ("defualt = 2", "default = 2", "field options.rounds.defualt", "default"),
    "of the outcome": ("stand =", "stands =", "field outcome.stand", "stands"),
    "of a field": ("choises =", "choices =", "field answers.pick.fields.choice.choises", "choices"),
}


@pytest.mark.parametrize("where", MISSPELT)
def test_a_misspelt_field_is_named_and_not_what_is_missing(where: str) -> None:
    new, old, place, meant = MISSPELT[where]
    assert old in GOOD + OWN
    with pytest.raises(InputError) as error:
        parse((GOOD + OWN).replace(old, new, 1), "mine.toml")
    said = f"mine.toml: {place}: There is no such field. Did you mean {meant}?"
    assert error.value.message == said


def test_a_field_that_resembles_none_is_named_alone() -> None:
    with pytest.raises(InputError, match=r"field colour: There is no such field\.$"):
        parse(f'colour = "red"\n{GOOD}', "mine.toml")


@pytest.mark.parametrize("line", ["", "packet = true", "packet = false\nrecord = false"])
def test_an_outcome_without_stands_says_what_to_write(line: str) -> None:
    with pytest.raises(InputError, match=r"field outcome\.stands: name the stages in which"):
        parse(f"{GOOD}\n[outcome]\n{line}\n", "mine.toml")


def test_an_outcome_of_the_wrong_kind_is_named_by_its_own_field() -> None:
    with pytest.raises(InputError, match=r"mine\.toml: field outcome\.stands: "):
        parse(f'{GOOD}\n[outcome]\nstands = "talk"\n', "mine.toml")


CHOICES = {
    "a blank at the end": (["Go ", "Wait"], "'Go ' has blanks"),
    "two blanks": (["Go  on", "Wait"], "'Go  on' has blanks"),
    "nothing but a blank": ([" ", "Wait"], "' ' has blanks"),
    "a line": (["Go\non", "Wait"], "'Go\\non' has blanks"),
    "a hidden character": (["Go\u200bon", "Wait"], "characters that nobody sees"),
    "a soft hyphen": (["Wait", "Go\u00adon"], "characters that nobody sees"),
    "case": (["Go", "GO"], "'Go' and 'GO' differ only in case"),
    "case in other scripts": (["Ждать", "ждать"], "differ only in case"),
    "a letter in two encodings": (["Café", "Cafe\u0301"], "differ only in case or encoding"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_choices_that_nobody_could_make_or_tell_apart_are_refused(case: str) -> None:
    choices, words = CHOICES[case]
    with pytest.raises(InputError) as error:
        parse(_choosing(choices), "mine.toml")
    assert error.value.message.startswith("mine.toml: field answers.pick.fields.choice.choices: ")
    assert words in error.value.message


_SIGNS = st.sampled_from(" aAbBßſİıẞée\u0301\u200b\u00ad\u3000\t.+#-待Ж\n\u202e")


@given(st.lists(st.text(_SIGNS, min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
def test_every_choice_that_is_accepted_can_be_made_as_models_write_it(choices: list[str]) -> None:
    try:
        rules = parse(_choosing(choices), "mine.toml")
    except InputError:
        return
    shape = rules.answers["pick"]
    for choice in choices:
        for written in (choice, f" {choice}\n", choice.lower()):
            said = visible({"choice": written})
            assert answers.read("pick", shape, said, {})["choice"] == choice


def _choosing(choices: list[str]) -> str:
    return GOOD + OWN[: OWN.index("[outcome]")].replace('["Go", "Wait"]', json.dumps(choices))


def test_the_fields_of_an_answer_keep_their_order_beside_a_debate() -> None:
    """A model fills them in one after the other: the reasons come before the conclusion."""
    text = resources.files("moot.formats").joinpath("poll.toml").read_text("utf-8")
    rules = parse(text, "poll.toml")
    fields = rules.shape("answer").fields
    assert list(fields) == ["reasons", "choice", "answer", "confidence"]
    assert list(from_json(to_json(rules)).shape("answer").fields) == list(fields)
    turned = from_json(json.dumps(json.loads(to_json(rules)), sort_keys=True))
    assert list(turned.shape("answer").fields) == sorted(fields), "as homes from before have it"
    assert digest(turned) == digest(rules), "their files name it as they did"
    assert to_json(turned) != to_json(rules)
