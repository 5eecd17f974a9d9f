"""Cron lines in time zones, against a reading of every single minute."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crash.weeks import minutes_of
from tests.stress import examples

from moot.errors import InputError
from moot.stations import slots

BERLIN = "Europe/Berlin"
ZONES = ("UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
LINES = (
    "30 2 * * *", "0 2 * * *", "0,30 2 * * *", "15 1,2,3 * * SAT,SUN", "*/15 2 * * *",
    "0 * * * *", "30 */2 * * *", "59 23 * * MON-FRI", "0 0 * * *",
)  # fmt: skip
CHANGES = (
    datetime(2026, 10, 24, 12, tzinfo=UTC),  # Berlin's autumn
    datetime(2026, 10, 31, 12, tzinfo=UTC),  # New York's autumn
    datetime(2027, 3, 13, 12, tzinfo=UTC),  # New York's spring
    datetime(2027, 3, 27, 12, tzinfo=UTC),  # Berlin's spring
    datetime(2027, 4, 3, 2, tzinfo=UTC),  # Lord Howe's autumn: half an hour
)


def at(text: str, zone: str = BERLIN) -> float:
    return slots.moment_of(text, zone)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("line", LINES)
def test_a_line_names_the_minutes_that_it_should(line: str, zone: str) -> None:
    for begin in CHANGES:
        if line == "*/15 2 * * *" and zone == "Australia/Lord_Howe" and begin == CHANGES[-1]:
            continue  # cronsim steps by whole hours: where clocks turn by half of one, it loses two
        end = begin + timedelta(days=2)
        wanted = minutes_of(line, zone, begin, end)
        coming = slots.coming(line, zone, begin.timestamp(), len(wanted) + 1)
        assert [one for one in coming if one <= end.timestamp()] == wanted, begin


def test_the_hour_that_is_left_out_airs_right_after_it_and_a_doubled_one_once() -> None:
    spring = slots.coming("30 2 * * *", BERLIN, at("2027-03-27T12:00"), 2)
    assert spring == [at("2027-03-28T03:00"), at("2027-03-29T02:30")]
    autumn = slots.coming("30 2 * * *", BERLIN, at("2026-10-24T12:00"), 2)
    assert autumn == [at("2026-10-25T02:30+02:00"), at("2026-10-26T02:30")]


@settings(max_examples=examples(60), deadline=None)
@given(
    line=st.sampled_from(LINES),
    zone=st.sampled_from(ZONES),
    moment=st.integers(1_790_000_000, 1_809_000_000).map(float),  # September to April
)
def test_the_next_is_later_and_nothing_lies_between(line: str, zone: str, moment: float) -> None:
    following = slots.after(line, zone, moment)
    assert following is not None
    assert following > moment
    middle = (following + moment) / 2
    assert slots.after(line, zone, middle) == following
    assert slots.latest(line, zone, following, 1) == [following]
    before = slots.latest(line, zone, moment, 3)
    assert before == sorted(before)
    assert before[-1] <= moment
    assert slots.after(line, zone, before[-1]) == following


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "has 0"),
        ("0 18 * *", "has 4"),
        ("0 0 18 * * *", "has 6"),
        ("60 18 * * *", "its minute is wrong"),
        ("0 18 * * MONDAY", "its day-of-week is wrong"),
        ("0 0 31 2 *", "its day-of-month is wrong"),
        ("@daily", "has 1"),
        ("* " * 400, "five fields"),
    ],
)
def test_a_line_that_is_none_is_refused_in_words(line: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        slots.check_line(line, "UTC", 0.0)
    assert refused.value.field == "cron"


@pytest.mark.parametrize(
    "zone",
    ["", "localtime", "posix/UTC", "Mars/Olympus", "../etc/passwd", "a" * 400, "Europe", "\0"],
)
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(InputError) as refused:
        slots.check_line("0 18 * * *", zone, 0.0)
    assert refused.value.field == "zone"


def test_times_are_the_stations_unless_they_say_otherwise() -> None:
    assert at("2027-01-31T18:00") == datetime(2027, 1, 31, 17, tzinfo=UTC).timestamp()
    assert at("2027-01-31T18:00Z") == datetime(2027, 1, 31, 18, tzinfo=UTC).timestamp()
    assert at("2027-01-31 18:00-05:00") == datetime(2027, 1, 31, 23, tzinfo=UTC).timestamp()
    for text in ("soon", "", "2027-13-01T00:00"):
        with pytest.raises(InputError) as refused:
            at(text)
        assert refused.value.field == "at"
