"""The guards of the engine, each taken out of a copy of the source: the simulation must notice.

`python -m tests.simulation.guards` prints a table of them, with the first seed that breaks a rule
without each. A guard that nothing misses is listed, too, and makes the command fail.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Guard:
    """What stands in the source, and what stands there without the guard."""

    name: str
    file: str  # below src/moot
    there: str
    without: str
    seed: int = -1  # that found it missing last: tried first

    def source(self) -> str:
        return (SOURCE / "moot" / self.file).read_text()


def guards() -> list[Guard]:
    """Those that guards.toml lists."""
    listed = tomllib.loads(Path(__file__).with_name("guards.toml").read_text())["guard"]
    return [Guard(**one) for one in listed]


def without(guard: Guard, folder: Path) -> Path:
    """A copy of the source in which the guard is missing."""
    shutil.copytree(SOURCE, folder / "src", ignore=shutil.ignore_patterns("static", "__pycache__"))
    source = guard.source()
    if source.count(guard.there) != 1:
        raise SystemExit(
            f"{guard.name}: its text is in {guard.file} {source.count(guard.there)} times"
        )
    (folder / "src" / "moot" / guard.file).write_text(source.replace(guard.there, guard.without))
    return folder / "src"


def found(guard: Guard, seeds: int = SEEDS) -> tuple[int, str] | None:
    """The first seed that breaks a rule without the guard, and which rule."""
    with tempfile.TemporaryDirectory() as folder:
        source = without(guard, Path(folder))
        asked = [sys.executable, "-m", "moot.testing.simulation", "--jobs", "1"]
        runs = [[*asked, "--first", str(guard.seed), "--seeds", "1"]] if guard.seed >= 0 else []
        runs.append([*asked, "--seeds", str(seeds)])
        for command in runs:
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": str(source)}, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                last = [line for line in done.stderr.splitlines() if line.startswith("seed ")]
                if not last:  # it did not even begin: that finds nothing
                    raise SystemExit(f"{guard.name}: {done.stderr}")
                seed, rule = last[-1].removeprefix("seed ").split(": ", 1)
                return int(seed), rule
    return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.guards")
    parser.add_argument("--only", default="", help="guards with these words in their name")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    chosen = [guard for guard in guards() if asked.only in guard.name]
    missed = 0
    print("| guard taken out | seed | rule it breaks |\n| --- | --- | --- |")
    with ThreadPoolExecutor(asked.jobs) as pool:
        for guard, result in zip(
            chosen, pool.map(lambda one: found(one, asked.seeds), chosen), strict=True
        ):
            missed += result is None
            seed, rule = result or ("", f"not found in {asked.seeds} seeds")
            print(f"| {guard.name} | {seed} | {rule.split(': ')[0]} |", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} found")
    if missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
