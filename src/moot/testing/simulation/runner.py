"""Runs schedules, one or thousands, and says what came of them."""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from moot.testing.simulation.world import Result, World

MEMORY = Path("/dev/shm")  # noqa: S108  a disk in memory, if there is one


def simulate(seed: int, url: str | None = None) -> Result:
    """One schedule, in a folder of its own that is gone afterwards; on a file, or that Postgres."""
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="moot-sim-", dir=place) as folder:
        disabled = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            return World(seed, Path(folder).resolve(), url).run()
        finally:
            logging.disable(disabled)


def short(seed: int) -> Result:
    """The same without its trace: thousands of them would not fit into memory."""
    result = simulate(seed)
    return result if result.broken else replace(result, trace=())


def simulate_all(seeds: Iterable[int], jobs: int = 1) -> Iterator[Result]:
    if jobs == 1:
        yield from map(short, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(short, seeds, chunksize=8)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def replay_hint(result: Result) -> str:
    return f"python -m moot.testing.simulation {result.seed}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m moot.testing.simulation")
    parser.add_argument("seed", type=int, nargs="*", help="run these, and show what happened")
    parser.add_argument("--seeds", type=int, default=0, help="run so many, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep-going", action="store_true", help="count all that break")
    asked = parser.parse_args()
    for seed in asked.seed:
        result = simulate(seed)
        _say("\n".join(result.trace))
        _say(f"digest {result.digest}")
        if result.broken:
            sys.exit(f"seed {seed}: {result.broken}")
    if asked.seeds:
        many(range(asked.first, asked.first + asked.seeds), asked.jobs, keep_going=asked.keep_going)


def many(seeds: range, jobs: int, *, keep_going: bool) -> None:
    began = time.monotonic()
    counts: Counter[str] = Counter()
    broken: dict[str, list[Result]] = {}
    done = steps = commits = calls = 0
    for result in simulate_all(seeds, jobs):
        done += 1
        counts += result.counts
        steps, commits, calls = steps + result.steps, commits + result.commits, calls + result.calls
        if result.broken:
            broken.setdefault(result.broken.rule, []).append(result)
            if not keep_going:
                _say("\n".join(result.trace[-40:]))
                sys.exit(f"seed {result.seed}: {result.broken}\n{replay_hint(result)}")
    _say(f"{done} schedules, {steps:,} steps, {commits:,} commits, {calls:,} calls, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    for what, number in sorted(counts.items()):
        _say(f"  {number:>8,} {what}")
    for rule, results in sorted(broken.items(), key=lambda item: -len(item[1])):
        seeds_ = ", ".join(str(one.seed) for one in results[:8])
        _say(f"BROKEN {rule}: {len(results)} seeds ({seeds_}); {results[0].broken}")
    if broken:
        sys.exit(1)
