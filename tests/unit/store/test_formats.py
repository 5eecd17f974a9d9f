"""A user's format files, as a process that runs for long sees them."""

import os
from pathlib import Path

import pytest

from moot.errors import InputError, NotFoundError
from moot.store.formats import FormatFiles

TALK = """
name = "talk"
title = "Talk"
description = "They talk."
guidance = "Be brief."
[[stages]]
name = "talk"
ask = "Speak."
"""


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    formats = FormatFiles(tmp_path)
    file = tmp_path / "formats" / "talk.toml"
    file.parent.mkdir()
    file.write_text(TALK)
    before = formats.get("talk")
    assert formats.get("talk") is before, "while it stays, it is read once"
    file.write_text(TALK.replace("Speak.", "Speak now."))
    assert formats.get("talk").stages[0].ask == "Speak now."
    file.write_text(TALK.replace("ask =", "aks ="))
    with pytest.raises(InputError, match="field aks"):
        formats.get("talk")
    assert [problem.file for problem in formats.problems()] == ["talk.toml"]
    file.unlink()
    with pytest.raises(NotFoundError):
        formats.get("talk")


def test_what_cannot_be_a_format_hides_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "formats"
    folder.mkdir()
    os.mkfifo(folder / "pipe.toml")
    (folder / "zero.toml").symlink_to("/dev/zero")
    (folder / "large.toml").write_text("#" * 300_000)
    (folder / "digits.toml").write_text(TALK + f"max_turns = {'9' * 5000}\n")
    (folder / "talk.toml").write_text(TALK)
    formats = FormatFiles(tmp_path)
    wrong = [problem.file for problem in formats.problems()]
    assert wrong == ["digits.toml", "large.toml", "pipe.toml", "zero.toml"]
    assert formats.all()[-1].name == "talk"


@pytest.mark.parametrize("name", ["../talk", "a\0b", "x" * 5000, ""])
def test_a_name_that_is_not_a_file_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "talk.toml").write_text(TALK)
    with pytest.raises(NotFoundError):
        FormatFiles(tmp_path).get(name)
