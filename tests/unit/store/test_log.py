"""The log of a debate, by the types of its entries."""

import pytest

from moot.errors import StorageError
from moot.store.log import _event


def test_an_entry_of_a_newer_version_is_not_taken_for_another() -> None:
    with pytest.raises(StorageError, match="'vote', which this version of moot does not know"):
        _event(
            "debate_20261115_120000_abcdef", {"type": "vote", "event_seq": 1, "event_data": "{}"}
        )
