"""The files' JSON is what the standard library would write."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moot.wire.indented import indented

LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(VALUE)
def test_it_is_what_dumps_writes(value: Any) -> None:
    assert indented(value) == json.dumps(value, ensure_ascii=False, indent=1)
