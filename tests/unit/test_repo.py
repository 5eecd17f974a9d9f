"""What the repository itself must keep to."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.split()]


def test_no_lock_or_config_file_holds_a_registry_address() -> None:
    files = tracked("*.lock", "*lock.json", "*.npmrc", "*.cfg", "*.ini", "*.toml", "*.conf")
    assert any(path.name == "requirements.lock" for path in files)
    for path in files:
        if path.name == "providers.toml":
            continue  # where the vendors are
        found = re.search(r"https?://|--(extra-)?index-url|--find-links|file:/", path.read_text())
        assert not found, f"{path} holds {found}"


def test_every_dependency_is_locked_with_its_hash() -> None:
    for path in tracked("*requirements.lock"):
        blocks = re.split(r"\n(?=[a-z0-9])", path.read_text())
        for block in blocks:
            assert "--hash=sha256:" in block, f"{path}: {block.splitlines()[0]} has no hash"


def test_no_function_is_longer_than_sixty_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in tracked("src/*.py")
        if "migrations" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert not long, "Split these."


def test_the_understudy_stays_small() -> None:
    text = (ROOT / "src/moot/models/understudy.py").read_text()
    assert len(text.splitlines()) <= 500


def test_make_run_says_what_to_do_with_a_debate_that_was_paused(tmp_path: Path) -> None:
    program = tmp_path / "moot"
    program.write_text('#!/bin/sh\n[ "$1" != run ] || exit 3\n')
    program.chmod(0o755)
    command = ("make", "-o", "setup", "run", f"BIN={tmp_path}")
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr
    assert "The debate is paused" in told
    assert f"{program} retry last --max-turn-seconds 120" in told
