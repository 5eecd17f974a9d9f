"""The simulation on the code before "Hold": each defect that it mended, and a seed that finds it.

`python -m tests.simulation.before` takes that source out of the history, gives it the places where
tests put their own parts, and runs schedules until no new rule is broken.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.simulation.guards import SOURCE

COMMIT = "c5d8982"
PARTS = ("testing/simulation", "testing/virtual.py", "testing/inline.py")


def lay_out(folder: Path) -> Path:
    """The source of then, with the simulation of today."""
    root = SOURCE.parent
    packed = subprocess.run(
        ["git", "-C", str(root), "archive", COMMIT, "src"], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "x", "-C", str(folder)], input=packed, check=True)
    there = folder / "src" / "moot"
    for part in PARTS:
        today = SOURCE / "moot" / part
        if today.is_dir():
            shutil.copytree(today, there / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(today, there / part)
    for edit in tomllib.loads(Path(__file__).with_name("before.toml").read_text())["edit"]:
        path = there / edit["file"]
        text, old = path.read_text(), edit["there"]
        if text.count(old) != 1:
            raise SystemExit(f"{edit['file']} of {COMMIT} has {text.count(old)} of: {old}")
        path.write_text(text.replace(old, edit["instead"]))
    return folder / "src"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.before")
    parser.add_argument("--seeds", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = lay_out(Path(folder))
        command = [sys.executable, "-m", "moot.testing.simulation", "--keep-going"]
        done = subprocess.run(
            [*command, "--seeds", str(asked.seeds)], env={**os.environ, "PYTHONPATH": str(source)},
            check=False, capture_output=True, text=True,
        )  # fmt: skip
    if done.stderr:
        print(done.stderr[-2000:])
    print("| rule | seeds | the first | what it found |\n| --- | --- | --- | --- |")
    for line in done.stdout.splitlines():
        if match := re.match(r"BROKEN (.+?): (\d+) seeds \((\d+)[^)]*\); (.*)", line):
            print(f"| {match[1]} | {match[2]} | {match[3]} | {match[4][:160]} |")


if __name__ == "__main__":
    main()
