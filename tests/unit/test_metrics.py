"""Metrics: what Prometheus reads, and that nobody can make it grow without bound."""

import math
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from moot import metrics
from moot.core.debate import NO_USAGE, Usage
from moot.core.status import STATUSES
from moot.metrics import MAX_NAMES, OTHER, Metrics

PROVIDER = "gen_ai_provider_name"
TOKENS = "gen_ai_token_type"
MODEL = "gen_ai_request_model"
DURATION = "gen_ai_client_operation_duration_seconds"
FIRST = "gen_ai_client_operation_time_to_first_chunk_seconds"
REQUESTS = "http_server_request_duration_seconds"


def samples(it: Metrics) -> list[tuple[str, dict[str, str], float]]:
    """Every line, as a real parser reads it."""
    families = text_string_to_metric_families(it.text().decode())
    return [(one.name, one.labels, one.value) for family in families for one in family.samples]


def value(it: Metrics, name: str, **labels: str) -> float:
    found = [v for n, of, v in samples(it) if n == name and labels.items() <= of.items()]
    assert len(found) == 1, found
    return found[0]


def labels(it: Metrics, name: str, label: str) -> set[str]:
    return labels_of(samples(it), name, label)


def labels_of(found: list[tuple[str, dict[str, str], float]], name: str, label: str) -> set[str]:
    return {of[label] for n, of, _ in found if n == name}


def watch(it: Metrics) -> None:
    it.watch(
        counts=lambda: {"running": 3, "completed": 7, "from-the-future": 1},
        queue=lambda: 2,
        in_hand=lambda: 1,
        readers=lambda: 4,
    )


def exercise(it: Metrics) -> None:
    it.called("openai:gpt-5-mini", "ok", 1.5, 0.3, Usage(100, 20, 0.25))
    it.called("openai:gpt-5-mini", "DEBATE_ERR_PROVIDER_TIMEOUT", 35.0, None, Usage(100, 0, 0.1))
    it.called("local", "cancelled", 0.2, 0.1, NO_USAGE)
    it.committed(0.004)
    it.turn("standard", "ok")
    it.turn("standard", "failed")
    it.dropped()
    it.request("/api/debates/{id}", "GET", 200, 0.01)
    watch(it)


def test_the_table_names_what_is_shown_and_its_type() -> None:
    table = set(re.findall(r"^\| `(\w+)` \| (\w+) \|", metrics.__doc__ or "", re.MULTILINE))
    it = Metrics()
    exercise(it)
    shown = set(re.findall(r"^# TYPE (\w+) (\w+)$", it.text().decode(), re.MULTILINE))
    assert shown == table


def test_model_calls() -> None:
    it = Metrics()
    exercise(it)
    ours = {PROVIDER: "openai", MODEL: "gpt-5-mini"}
    assert value(it, "moot_model_calls_total", **ours, outcome="ok") == 1
    failed = value(it, "moot_model_calls_total", **ours, outcome="DEBATE_ERR_PROVIDER_TIMEOUT")
    assert failed == 1
    assert value(it, "moot_model_calls_total", **{PROVIDER: "local", MODEL: "default"}) == 1
    assert value(it, f"{DURATION}_sum", **ours, error_type="") == 1.5
    assert value(it, f"{DURATION}_sum", **ours, error_type="DEBATE_ERR_PROVIDER_TIMEOUT") == 35
    assert value(it, f"{FIRST}_count", **ours) == 1, "the call that said nothing has none"
    tokens = "moot_model_tokens_total"
    assert value(it, tokens, **{PROVIDER: "openai", TOKENS: "input"}) == 200
    assert value(it, tokens, **{PROVIDER: "openai", TOKENS: "output"}) == 20
    assert value(it, "moot_model_cost_usd_total", **{PROVIDER: "openai"}) == pytest.approx(0.35)


def test_turns_commits_streams_and_requests() -> None:
    it = Metrics()
    assert value(it, "moot_streams_dropped_total") == 0, "a counter begins with a zero"
    exercise(it)
    assert value(it, "moot_turns_total", format="standard", status="ok") == 1
    assert value(it, "moot_turns_total", format="standard", status="failed") == 1
    assert value(it, "moot_commit_duration_seconds_bucket", le="0.0025") == 0
    assert value(it, "moot_commit_duration_seconds_bucket", le="0.005") == 1
    assert value(it, "moot_streams_dropped_total") == 1
    request = {"http_route": "/api/debates/{id}", "http_request_method": "GET"}
    assert value(it, f"{REQUESTS}_count", **request, http_response_status_code="200") == 1


def test_gauges_are_read_when_scraped() -> None:
    it = Metrics()
    assert not labels(it, "moot_debates", "status"), "nothing to read yet"
    watch(it)
    assert labels(it, "moot_debates", "status") == set(STATUSES)
    assert value(it, "moot_debates", status="running") == 3
    assert value(it, "moot_debates", status="failed") == 0
    assert value(it, "moot_debates_waiting") == 2
    assert value(it, "moot_debates_in_hand") == 1
    assert value(it, "moot_stream_readers") == 4
    it.watch(counts=dict, queue=lambda: 9, in_hand=lambda: 0, readers=lambda: 0)
    assert value(it, "moot_debates_waiting") == 9
    assert value(it, "moot_debates", status="running") == 0


def test_a_gauge_that_fails_takes_no_other_with_it() -> None:
    it = Metrics()
    it.watch(counts=lambda: 1 // 0, queue=lambda: 5, in_hand=lambda: 1, readers=lambda: 1)  # type: ignore[return-value]
    assert value(it, "moot_debates_waiting") == 5
    assert not labels(it, "moot_debates", "status")


def test_models_that_users_make_up_are_bounded() -> None:
    it = Metrics()
    for i in range(3_000):
        it.called(f"openai:made-up-{i}", f"CODE_{i}", 0.1, 0.1, Usage(1, 1, 0.1))
        it.called(f"provider-{i}:x", "ok", 0.1, 0.1, NO_USAGE)
    found = samples(it)  # once: they are many lines
    for name in ("moot_model_calls_total", f"{DURATION}_count", f"{FIRST}_count"):
        assert len(labels_of(found, name, MODEL) - {OTHER}) <= MAX_NAMES
        assert OTHER in labels_of(found, name, MODEL)
        assert len(labels_of(found, name, PROVIDER)) <= 11
    assert len(labels_of(found, "moot_model_calls_total", "outcome")) <= 16
    calls = sum(v for n, _, v in found if n == "moot_model_calls_total")
    assert calls == 6_000, "none is lost"
    before = len(found)
    for i in range(1_000):
        it.called(f"openai:more-{i}", f"MORE_{i}", 0.1, 0.1, NO_USAGE)
    assert len(samples(it)) <= before + 200


def test_the_first_hundred_models_keep_their_names() -> None:
    it = Metrics()
    for i in range(MAX_NAMES + 1):
        it.called(f"openai:m{i}", "ok", 0.1, None, NO_USAGE)
    it.called("openai:m0", "ok", 0.1, None, NO_USAGE)
    names = labels(it, "moot_model_calls_total", MODEL)
    assert names == {f"m{i}" for i in range(MAX_NAMES)} | {OTHER}
    assert value(it, "moot_model_calls_total", **{MODEL: "m0"}) == 2
    assert value(it, "moot_model_calls_total", **{MODEL: OTHER}) == 1


def test_routes_methods_statuses_and_formats_are_bounded() -> None:
    it = Metrics()
    for i in range(1_000):
        it.request(f"/raw/{i}", f"METHOD{i}", 1_000 + i, 0.1)
        it.turn(f"format-{i}", f"status-{i}")
    it.request(None, "GET", 404, 0.1)
    assert len(labels(it, f"{REQUESTS}_count", "http_route")) == MAX_NAMES + 1
    assert labels(it, f"{REQUESTS}_count", "http_request_method") == {OTHER, "GET"}
    assert labels(it, f"{REQUESTS}_count", "http_response_status_code") == {OTHER, "404"}
    assert len(labels(it, "moot_turns_total", "format")) == MAX_NAMES + 1
    assert labels(it, "moot_turns_total", "status") == {"failed"}


@pytest.mark.parametrize("name", ["\ud800", 'a"b\\c\n# TYPE x counter\nx 1', "x" * 5_000, ""])
def test_no_name_breaks_the_text(name: str) -> None:
    it = Metrics()
    it.called(f"openai:{name}", name, 0.1, 0.1, NO_USAGE)
    it.called(name, "ok", 0.1, 0.1, NO_USAGE)
    it.turn(name, "ok")
    it.request(name, name, 200, 0.1)
    assert {n for n, _, _ in samples(it)} >= {"moot_model_calls_total", "moot_turns_total"}
    assert "x" not in {n for n, _, _ in samples(it)}
    assert max(len(of) for _, every, _ in samples(it) for of in every.values()) <= 1_300


@pytest.mark.parametrize("nonsense", [math.nan, math.inf, -1.0])
def test_nonsense_does_not_stay_in_a_sum(nonsense: float) -> None:
    it = Metrics()
    it.called("openai:m", "ok", nonsense, nonsense, Usage(1, -5, nonsense))
    it.committed(nonsense)
    it.called("openai:m", "ok", 1.0, 1.0, Usage(1, 5, 0.5))
    assert value(it, "moot_model_cost_usd_total") == 0.5
    assert value(it, "moot_model_tokens_total", **{TOKENS: "output"}) == 5
    assert all(math.isfinite(v) for _, _, v in samples(it))


def test_two_sets_share_nothing_and_the_global_registry_stays_clean() -> None:
    one, two = Metrics(), Metrics()
    one.turn("duel", "ok")
    assert value(one, "moot_turns_total") == 1
    assert not labels(two, "moot_turns_total", "format")
    assert not any("moot" in family.name for family in REGISTRY.collect())
    assert Metrics.content_type.startswith("text/plain; version=0.0.4")


def test_threads_lose_no_count() -> None:
    it = Metrics()

    def work(_: int) -> None:
        for i in range(300):
            it.called(f"openai:{i}", "ok", 0.1, 0.1, Usage(1, 1, 0.0))
            it.turn("standard", "ok")
            it.committed(0.001)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert value(it, "moot_turns_total") == 2_400
    assert value(it, "moot_commit_duration_seconds_count") == 2_400
    assert value(it, "moot_model_tokens_total", **{TOKENS: "input"}) == 2_400
    assert len(labels(it, "moot_model_calls_total", MODEL)) == MAX_NAMES + 1


def test_scrapes_at_the_same_time_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would wait for the other between the exporter's two steps, if the other got there."""
    it = Metrics()
    exercise(it)
    alone = it.text()
    collector: Any = next(iter(it._registry._collector_to_names))
    both, collect = Barrier(2), collector._callback

    def meet() -> None:
        collect()
        with suppress(BrokenBarrierError):
            both.wait(0.3)

    monkeypatch.setattr(collector, "_callback", meet)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: it.text(), range(2))) == [alone, alone]


def test_a_note_costs_microseconds() -> None:
    """Far from the figure, which is 4 to 17 µs: this catches a note that waits or grows."""
    it = Metrics()
    best = math.inf
    for _ in range(5):
        began = time.thread_time()
        for _ in range(500):
            it.called("openai:gpt-5-mini", "ok", 1.0, 0.2, Usage(10, 5, 0.001))
            it.committed(0.002)
            it.turn("standard", "ok")
        best = min(best, (time.thread_time() - began) / 500)
    assert best < 0.000_5


def test_who_does_not_serve_does_not_import_it() -> None:
    code = (
        "import sys, moot.cli.main, moot.cli.run_commands, moot.bootstrap; "
        "print([n for n in sys.modules if n == 'moot.metrics' or n.startswith('prometheus')"
        " or n.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
