"""Whether the simulation notices anything: guards are taken out of a copy of the source."""

import pytest

from tests.simulation.guards import found, guards


def test_each_guard_stands_where_the_table_says() -> None:
    listed = guards()
    assert len(listed) > 50
    for guard in listed:
        assert guard.source().count(guard.there) == 1, guard.name


@pytest.mark.parametrize("words", ["against its fence", "the files of a deleted debate"])
def test_a_guard_that_is_missing_is_noticed(words: str) -> None:
    """The others are taken out by `make stress`."""
    (guard,) = [one for one in guards() if words in one.name]
    assert found(guard, 300) is not None
