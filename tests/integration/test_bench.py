"""The benchmark's quick form runs, so that it cannot rot. What it measures, `make bench` judges."""

import sys
from pathlib import Path

import pytest
from bench import machines, streams

from tests import patience

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.stress("test_the_quick_benchmark_of_the_stream_delivers_all")
def test_the_quick_benchmark_runs() -> None:
    done = patience.run([sys.executable, "-m", "bench.run", "--quick"], cwd=ROOT)
    assert "Traceback" not in done.stderr, done.stderr
    assert "turns/s" in done.stdout
    assert "promises kept" in done.stdout


def test_the_quick_benchmark_of_the_stream_delivers_all() -> None:
    delivered = streams.quick()[0]
    assert "readers" in delivered.what
    assert delivered.kept, delivered


@pytest.mark.stress("test_the_quick_benchmark_runs")
def test_the_quick_benchmark_of_many_machines_runs() -> None:
    assert len(machines.quick()) == 2
