"""What is written as TOML is read back to the character; what is no such file is refused."""

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from moot.errors import InputError
from moot.wire.toml import MAX_BYTES, MAX_ITEMS, dumps, loads

PIECES = st.sampled_from(['"', '""', '"""', "'''", "\\", "\n", "\r\n", "\t", "\x7f", "\x00", "#"])
TEXT = st.text(max_size=12) | st.lists(PIECES, max_size=8).map("".join)
SIMPLE = TEXT | st.booleans() | st.integers() | st.floats(allow_nan=False)
VALUES = SIMPLE | st.lists(TEXT, max_size=3) | st.dictionaries(TEXT, SIMPLE, max_size=2)
ITEMS = st.lists(st.dictionaries(TEXT, VALUES, max_size=3), max_size=2)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ITEMS, TEXT)
@example([{"bio": 'ends in quotes"""'}, {}, {"bio": '\n"\n""\n"""\n""""\r\n \\ '}], "agents")
@example([{"voice": {}, "agents": [], "": "", "a.b": -0.0, "on": True, "n": 10**30}], "stations")
@example([{"motions": ["x" * 120, '"\\\n'], "": {"": '"""\n'}}], "a list of many lines")
@example([{"bio": "\ufeff a.b" + ".c" * 100 + " = {"}], "agents")
def test_it_comes_back_the_same(items: list[dict[str, Any]], table: str) -> None:
    text = dumps(table, items)
    text.encode()
    back = loads(text, table)
    assert back == items
    for item, read in zip(items, back, strict=True):
        plain = [name for name, value in item.items() if not isinstance(value, dict)]
        assert [name for name in read if name in plain] == plain  # in the same order
        assert all(type(read[name]) is type(value) for name, value in item.items())  # 1: not True


def test_it_reads_well() -> None:
    ada = {
        "id": "ada",
        "bio": 'Counts.\nThen "speaks".',
        "model": None,
        "voice": {"lang": "en-GB", "rate": 0.9, "name": None},
        "likes": ["a", "b"],
    }
    assert dumps("agents", [ada, {"id": "ben"}]) == (
        '[[agents]]\nid = "ada"\nbio = """\nCounts.\nThen \\"speaks\\"."""\n'
        'likes = [\n    "a",\n    "b",\n]\n\n[agents.voice]\nlang = "en-GB"\nrate = 0.9\n\n'
        '[[agents]]\nid = "ben"\n'
    )
    assert loads(dumps("agents", []), "agents") == []


@pytest.mark.parametrize("item", [{"bio": "\ud83d"}, {"bio": "\n\udc00"}, {"\ud800": 1}])
def test_half_a_character_is_not_written(item: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="half a character") as error:
        dumps("agents", [item])
    assert error.value.field == next(iter(item))


@pytest.mark.parametrize("value", [b"a", object(), [b"a"]])
def test_what_has_no_place_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        dumps("agents", [{"voice": value}])


MISTAKES = {
    "nothing": ("", "Begin each of the agents with a line [[agents]]"),
    "one table": ('[agents]\nname = "Ada"', "Begin each of the agents with a line [[agents]]"),
    "a list of texts": ('agents = ["Ada"]', "Begin each of the agents with a line [[agents]]"),
    "a text": ('agents = "Ada"', "Begin each of the agents with a line [[agents]]"),
    "something before": ('name = "Ada"\n[[agents]]', "'name' at its top"),
    "another kind": ("[[agents]]\n[[stations]]", "'stations' at its top"),
    "an empty key": ('"" = 1\n[[agents]]', "'' at its top"),
    "no value": ("[[agents]]\nname =", "not valid TOML: Invalid value (at end of document)"),
    "no quotes": ("[[agents]]\nname = Ada", "(at line 2, column 8)"),
    "twice": ('[[agents]]\nid = "a"\nid = "b"\n', "(at line 3, column 9)"),
    "deep lists": ("agents = " + "[" * 100_000, "nested too deeply"),
    "a long number": ("[[agents]]\nn = " + "9" * 5000, "not valid TOML: Exceeds the limit"),
    "half a character": ('[[agents]]\nname = "\ud83d"', "save the file as UTF-8"),
    "too large": ("#" * (MAX_BYTES + 1), "262,145 bytes; 262,144 is the most"),
    "too large in bytes": ("#" + "é" * (MAX_BYTES // 2), "262,145 bytes"),
    "too many": ("[[agents]]\n" * (MAX_ITEMS + 1), "501 agents; 500 at once is the most"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake: str) -> None:
    text, words = MISTAKES[mistake]
    with pytest.raises(InputError) as error:
        loads(text, "agents")
    assert words in error.value.message
    assert "\n" not in error.value.message
    assert error.value.field == "toml"


@pytest.mark.parametrize(
    "before",
    [
        "",
        '[[agents]]\nbio = """a"""""\n',
        "a='''b'''''\n",
        '[[agents]]\nb = "\\\\"#"\n',
        "x = {",
        'x = ["""a"""", {',
    ],
)
@pytest.mark.parametrize("part", ["a.", '"a" . ', "'a'\t."])
def test_a_key_of_many_parts_costs_nothing(before: str, part: str) -> None:
    """The parser alone takes a minute for one, and would hold up everybody."""
    started = time.process_time()
    with pytest.raises(InputError, match="parts"):
        loads(f"{before}{part * (MAX_BYTES // len(part) - 20)}a = 1", "agents")
    with pytest.raises(InputError, match="parts"):
        loads(f"[[agents]]\n[agents.{part * 40_000}a]", "agents")
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    "piece", ['"', '"""', '"""\\', "'", "'''", "''", '\\"', "\\", "#", "a", "a\n", "[", '"\n', "."]
)
def test_a_full_file_is_read_at_once(piece: str) -> None:
    text = piece * (MAX_BYTES // len(piece))
    started = time.process_time()
    with pytest.raises(InputError):
        loads(text, "agents")
    assert time.process_time() - started < 2.0  # quadratic work would take minutes


def test_the_mark_that_some_editors_put_first_is_no_mistake() -> None:
    assert loads('\ufeff[[agents]]\r\nname = "Ada"\r\n', "agents") == [{"name": "Ada"}]
