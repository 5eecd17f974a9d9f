"""A format file with a mistake: the error names the file, the stage and the field."""

# ruff: noqa: E501  a table reads best with one case a line

from importlib import resources

import pytest

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
