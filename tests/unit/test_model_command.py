"""`moot model`, as a person types it."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import tiny_gguf
from tests.mirror import Mirror

from moot.cli import model_work
from moot.cli.main import main
from moot.models.local import catalog
from moot.models.local.weights import Shelf
from moot.settings import Settings

FILE = "/maker/tiny/resolve/main/tiny.gguf"
CATALOG = """
[[model]]
name = "tiny"
title = "Tiny"
licence = "MIT"
quantisation = "F32"
size = {size}
sha256 = "{sha256}"
context = 32768
memory = 1
cores = 1
good_for = "Tests."
[[model.source]]
kind = "hub"
repository = "maker/tiny"
file = "tiny.gguf"
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """A hub with the one model that the catalog lists, and a home of its own."""
    data = tiny_gguf.write(tmp_path / "made.gguf").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    (tmp_path / "catalog.toml").write_text(CATALOG.format(size=len(data), sha256=digest))
    monkeypatch.setattr(catalog, "files", lambda _: tmp_path)
    for name in ("MOOT_MODEL", "MOOT_URL", "MOOT_DEMO_MODEL", "OPENAI_API_KEY",
                 "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOOT_HOME", str(tmp_path / "home"))
    catalog.catalog.cache_clear()
    with Mirror() as made:
        monkeypatch.setenv("MOOT_HUB_URL", made.url)
        made.files[FILE] = data
        yield made
    catalog.catalog.cache_clear()


@pytest.fixture
def moot(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["moot", "model", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with llama.cpp, and with no server on the usual ports."""

    async def nobody(_: Settings) -> bool:
        return False

    monkeypatch.setattr(model_work, "_speaks", nobody)
    monkeypatch.setattr(model_work, "find_spec", lambda _: object())


def test_a_model_is_fetched_listed_used_and_removed(moot: Run, tmp_path: Path) -> None:
    assert "tiny  can be fetched" in moot("list")[1]
    code, out, err = moot("fetch")
    assert (code, out) == (0, "tiny is here and in use.\n")
    assert "tiny: 100%, 0 of 0 MB" in err
    (row,) = json.loads(moot("list", "--json")[1])
    assert (row["name"], row["here"], row["inUse"], row["licence"]) == ("tiny", True, True, "MIT")
    assert row["path"] == str(tmp_path / "home/models/tiny.gguf")
    assert json.loads(moot("use", "none", "--json")[1]) is None
    assert "tiny  here" in moot("list")[1]
    assert moot("fetch")[1] == "tiny is here. Put it in use:  moot model use tiny\n"
    assert moot("use", "tiny")[1].startswith("tiny is in use")
    own = tiny_gguf.write(tmp_path / "own.gguf", context=777)
    assert json.loads(moot("use", str(own), "--json")[1])["context"] == 777
    assert f"{own}  in use" in moot("list")[1]
    own.unlink()
    assert f"In use is {own}, which is gone" in moot("list")[2]
    assert json.loads(moot("remove", "tiny", "--json")[1]) == {"deleted": "tiny"}
    assert moot("remove", "tiny")[::2] == (
        2, "moot: There is no model 'tiny' here; `moot model list` shows them.\n"
    )  # fmt: skip


def test_what_goes_wrong_is_a_sentence_each(moot: Run, mirror: Mirror) -> None:
    assert moot("fetch", "gpt-2")[::2] == (
        2, "moot: There is no model 'gpt-2' to fetch; there are tiny.\n"
    )  # fmt: skip
    mirror.files.clear()
    code, out, err = moot("fetch", "--json")
    assert (code, out) == (1, "")
    assert err.endswith(
        "moot: tiny could not be fetched.\n"
        "  The publisher's hub: 127.0.0.1 answers 404 for tiny.gguf.\n"
    )
    assert "Traceback" not in err


def test_on_a_server_it_says_that_it_needs_a_home(
    moot: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_URL", "http://127.0.0.1:1")
    assert moot("fetch")[0] == 2
    assert moot("fetch", "--if-needed") == (0, "", "")
    assert moot("fetch", "--if-needed", "--json") == (0, "null\n", "")


@pytest.mark.usefixtures("alone")
def test_make_run_gets_a_model_once(moot: Run, mirror: Mirror) -> None:
    assert moot("fetch", "--if-needed")[:2] == (0, "tiny is here and in use.\n")
    sent = mirror.sent[FILE]
    assert moot("fetch", "--if-needed") == (0, "", "")
    assert mirror.sent[FILE] == sent


@pytest.mark.usefixtures("alone")
def test_make_run_uses_what_it_fetched_for_one_that_is_gone(moot: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    tiny_gguf.write(mine)
    assert moot("use", str(mine))[0] == 0
    mine.unlink()
    assert moot("fetch", "--if-needed")[:2] == (0, "tiny is here and in use.\n")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("MOOT_DEMO_MODEL", "none", ""),
        ("MOOT_MODEL", "claude", ""),
        ("MOOT_MODEL", "local:understudy", ""),
        ("ANTHROPIC_API_KEY", "k", "ANTHROPIC_API_KEY is set, so no model is fetched."),
        ("MOOT_DEMO_MODEL", "gpt-2", "there are tiny.\nThe understudy speaks instead."),
        ("MOOT_HUB_URL", "http://127.0.0.1:1", "refused).\nThe understudy speaks instead."),
    ],
)
def test_make_run_goes_on_without_one(
    moot: Run, mirror: Mirror, monkeypatch: pytest.MonkeyPatch,
    variable: str, value: str, said: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(variable, value)
    code, out, err = moot("fetch", "--if-needed")
    assert (code, out) == (0, "")
    assert said in err
    assert bool(said) == bool(err)
    assert not mirror.sent
    assert Shelf(Settings().home).chosen() is None


@pytest.mark.usefixtures("alone")
def test_make_run_says_that_llama_cpp_is_missing_or_that_the_machine_is_small(
    moot: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_work, "machine", lambda: (0, 1))
    assert "small for a model, so the understudy speaks" in moot("fetch", "--if-needed")[2]
    monkeypatch.setattr(model_work, "find_spec", lambda _: None)
    assert "pip install 'huggingface-hub" in moot("fetch", "--if-needed")[2]


def test_a_server_that_was_set_is_better_than_a_model_to_fetch(
    moot: Run, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_LOCAL_BASE_URL", mirror.url)  # whether it answers or not
    assert moot("fetch", "--if-needed") == (0, "", "")
    assert not mirror.sent
