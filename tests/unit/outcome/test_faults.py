"""Planted faults, a hundred scripted debates each; `make bench` holds a thousand."""

import pytest
from bench.juries import ACCUSED, CAUGHT, FAULTS, Fault, first_slot_juries, measure

DEBATES = 100


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_and_clean_debates_are_not_accused(fault: Fault) -> None:
    found = measure(fault, DEBATES)
    assert found.caught_percent >= CAUGHT, found
    assert found.accused_percent <= ACCUSED, found


def test_a_jury_that_takes_the_first_option_decides_nothing() -> None:
    assert first_slot_juries(DEBATES) == 0
