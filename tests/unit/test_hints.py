"""A command that people are told to type is one that they can type."""

import sys
from pathlib import Path

import pytest
from tests.unit.test_screen import DEBATE

from moot.cli.hints import called, typed
from moot.cli.screen import mends

SAID = "Run `moot db upgrade`, or `moot list`. Go on with  moot resume ID"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    made = tmp_path / "my clone" / ".venv" / "bin" / "moot"
    made.parent.mkdir(parents=True)
    for path in (made, made.with_name("python")):
        path.touch(0o755)
    return made


def test_a_program_that_is_on_the_path_is_named_alone(program: Path) -> None:
    there, here = str(program.parent), program.parents[2]
    python = str(program.with_name("python"))
    assert called("moot", "", here, python) == "moot"
    assert called(str(program), f"/usr/bin:{there}", here, python) == "moot"
    assert called(".venv/bin/moot", there, here, python) == "moot"
    assert called("/x/moot/__main__.py", there, here, python) == "python -m moot"
    assert called("/x/pytest", "", here, python) == "moot"


def test_another_is_named_by_its_place(program: Path) -> None:
    here, python = program.parents[2], str(program.with_name("python"))
    for given in (".venv/bin/moot", str(program)):
        assert called(given, "/usr/bin", here, python) == ".venv/bin/moot"
    assert called("bin/moot", "", program.parents[1], python) == "bin/moot"
    assert called("./moot", "", program.parent, python) == "./moot"
    assert called(str(program), "", Path("/usr"), python) == f"'{program}'", "it has a blank"
    assert called("/x/moot/__main__.py", "", here, python) == ".venv/bin/python -m moot"


def test_every_command_in_a_sentence_is_one_to_type(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert typed(SAID) == SAID
    monkeypatch.setattr(sys, "argv", [".venv/bin/moot"])
    monkeypatch.chdir(program.parents[2])
    assert typed(SAID) == SAID.replace("moot", ".venv/bin/moot")
    assert typed("The database of a newer moot is here.") == "The database of a newer moot is here."
    assert all(command.startswith(".venv/bin/moot ") for command, _ in mends(DEBATE))


def test_a_directory_that_is_gone_hides_no_sentence(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert typed(SAID) == SAID
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert typed("`moot list`") == f"`'{program}' list`", "it has a blank"
