"""What the files of debates take, beside the floor: the same bytes, written and synced as safely.

`python -m bench.filing` alone; `--quick` with few debates.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from bench.stage import home
from bench.table import Row, at_most, beside, show
from bench.throughput import run_debates
from moot.store import files

RUNS = 5


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of all cores, and of the clock."""

    cpu: float
    clock: float


def rows(debates: int = 100, turns: int = 20, runs: int = RUNS) -> list[Row]:
    asked = _filed(debates, turns)
    said = len(asked) * turns
    ours: list[Took] = []
    floor: list[Took] = []
    for _ in range(runs):  # in turns, so that a busy moment of the machine hits both alike
        took, written = _of_moot(asked)
        ours.append(took)
        with home() as path:
            floor.append(_measured(partial(_write_all, path, written)))
    cpu = [one.cpu / said * 1e6 for one in ours]
    ground = [one.cpu / said * 1e6 for one in floor]
    ratio = median(a / b for a, b in zip(cpu, ground, strict=True))
    one_by_one = said / min(one.clock for one in ours)
    return [
        at_most("files of a debate over their floor, CPU", ratio, 2, "times"),
        beside("CPU, a turn", median(cpu), "µs", _each(cpu)),
        beside("floor: the same bytes, written and synced", median(ground), "µs", _each(ground)),
        beside("one debate after another", one_by_one, "turns/s"),
        beside("floor", said / min(one.clock for one in floor), "turns/s"),
    ]


def _filed(debates: int, turns: int) -> list[tuple[Any, ...]]:
    """What the engine gives to be filed when debates of that many turns have ended."""
    plain, asked = files.Folder.file, dict[str, tuple[Any, ...]]()

    def note(self: files.Folder, *given: Any, **more: Any) -> Any:
        asked[given[0].id] = given
        return plain(self, *given, **more)

    files.Folder.file = note
    try:
        with home() as path:
            asyncio.run(run_debates(path, debates, turns))
    finally:
        files.Folder.file = plain
    return list(asked.values())


def _of_moot(asked: Sequence[tuple[Any, ...]]) -> tuple[Took, list[dict[str, bytes]]]:
    """What filing them takes, and what it writes."""
    with home() as path:
        folder = files.Folder(path)
        took = _measured(lambda: [folder.file(*one) for one in asked])
        return took, [_read(Path(folder.folder(one[0].id))) for one in asked]


def _measured(work: Callable[[], object]) -> Took:
    cpu, clock = process_time(), perf_counter()
    work()
    return Took(process_time() - cpu, perf_counter() - clock)


def _read(root: Path) -> dict[str, bytes]:
    return {str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*.*")}


def _write_all(path: Path, written: Sequence[dict[str, bytes]]) -> None:
    """Each file under another name, synced, renamed; then the names: as few steps as are safe."""
    with ThreadPoolExecutor(files.SYNCS) as pool:
        for number, contents in enumerate(written):
            root = path / str(number)
            (root / "rounds").mkdir(parents=True)
            for name, data in contents.items():
                (root / f"{name}.tmp").write_bytes(data)
            list(pool.map(_sync, [root / f"{name}.tmp" for name in contents]))
            for name in contents:
                (root / f"{name}.tmp").rename(root / name)
            list(pool.map(_sync, (root, root / "rounds")))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _each(values: list[float]) -> str:
    return "median of " + ", ".join(f"{value:,.0f}" for value in values)


if __name__ == "__main__":
    show(rows(10, 6, 1) if "--quick" in sys.argv else rows())
