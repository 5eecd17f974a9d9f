"""The benchmark's quick form runs, so that it cannot rot."""

import subprocess
import sys
from pathlib import Path

from bench import machines, streams

ROOT = Path(__file__).resolve().parents[2]


def test_the_quick_benchmark_runs_and_keeps_its_loose_promises() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.run", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT KEPT" not in done.stdout
    assert "turns/s" in done.stdout


def test_the_quick_benchmark_of_the_stream_keeps_its_loose_promises() -> None:
    rows = streams.quick()
    assert rows
    assert all(row.kept for row in rows), rows


def test_the_quick_benchmark_of_many_machines_runs() -> None:
    rows = machines.quick()
    assert all(row.kept for row in rows), rows
