"""How a schedule that breaks a rule is told: its last steps, its seed, and how to run it again."""

import pytest

from moot.testing.simulation.runner import replay_hint
from moot.testing.simulation.world import Result


def check(result: Result) -> None:
    if result.broken:
        story = "\n".join(result.trace[-60:])
        pytest.fail(f"{story}\n\nseed {result.seed}: {result.broken}\n{replay_hint(result)}")
