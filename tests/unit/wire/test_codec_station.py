"""What another moot says of its stations, read back: the very same, or refused."""

from typing import Any

import pytest

from moot.wire import codec_station as codec

AGENT: dict[str, Any] = {
    "id": "ada", "name": "Ada", "bio": "A baker.", "provider": "local", "model": "local",
    "stance": "pro",
    "voice": {"lang": "en-GB", "name": "", "rate": 1.2, "pitch": 1.0},
    "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
}  # fmt: skip
STATION: dict[str, Any] = {
    "id": "morning", "name": "Morning", "about": "", "public": False, "format": "custom",
    "options": {"rounds": 2}, "limits": {"max_turns": 4}, "on_failure": "pause",
    "zone": "Europe/Berlin", "cron": "0 9 * * *", "missed": "skip", "motions": ["A?", "B?"],
    "agents": ["ada"], "seats": None, "on_air": "debate_20260101_000000_aaaaaa",
    "next_slot": "2026-01-02T08:00:00.000Z", "skipped": 3, "trouble": "None is there.",
    "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
}  # fmt: skip
CONVERSATION: dict[str, Any] = {
    "id": "debate_20260101_000000_aaaaaa", "station": "morning", "motion": "A?",
    "format": "custom", "status": "broadcasting", "due": "2026-01-01T08:00:00.000Z",
    "called": False, "started_at": "2026-01-01T08:00:00.100Z", "ended_at": None,
    "stop_reason": None, "degraded": True, "progress": {"done": 1, "total": 4},
    "agents": [{**AGENT, "seat": "p1"}, {**AGENT, "id": "ben", "name": "Ben", "seat": "p2"}],
}  # fmt: skip
WAITING = CONVERSATION | {"status": "scheduled", "called": True, "started_at": None}
PROGRAMME: dict[str, Any] = {
    "station": STATION, "now": CONVERSATION, "waiting": [WAITING],
    "slots": [{"due": "2026-01-02T08:00:00.000Z", "motion": "B?", "agents": ["ada", "ben"]}],
    "past": [CONVERSATION | {"status": "stopped", "stop_reason": "stopped_by_user"}],
}  # fmt: skip


def test_a_programme_comes_back_as_it_was_said() -> None:
    assert codec.programme(codec.read_programme(PROGRAMME)) == PROGRAMME
    quiet = PROGRAMME | {"now": None, "station": STATION | {"next_slot": None, "cron": None}}
    assert codec.programme(codec.read_programme(quiet)) == quiet
    assert codec.shown_agent(codec.read_agent(AGENT)) == AGENT


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "singing"}, {"due": "soon"}, {"due": 3}, {"agents": None}, {"progress": {}},
        {"agents": [AGENT]}, {"agents": [{**AGENT, "stance": "sideways", "seat": "p1"}]},
        {"degraded": "perhaps"}, {"id": None},
    ],
)  # fmt: skip
def test_another_shape_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        codec.read_conversation(CONVERSATION | wrong)
