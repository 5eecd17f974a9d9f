"""What tests of the engine begin with."""

from pathlib import Path

import pytest

from moot.core import retry
from moot.settings import Settings
from tests.virtual import MODEL, REAL


@pytest.fixture
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits between retries, for tests that run in real time."""
    monkeypatch.setattr(retry, "WAITS", (0.01, 0.02, 0.03))


@pytest.fixture
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """A home of the test's own."""
    if REAL:
        request.getfixturevalue("quick_waits")
    return Settings(home=tmp_path / "home", model=MODEL, lease_seconds=2.0, sweep_seconds=0.1)
