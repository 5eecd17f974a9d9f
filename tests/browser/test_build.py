"""The page as it is built, packed into the wheel, and served."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from moot.api import problems
from moot.api.page import POLICY, add_page, is_public
from tests.browser.browsing import ROOT, STATIC


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    add_page(app)
    problems.install(app)
    return TestClient(app)


@pytest.fixture
def hook() -> ModuleType:
    spec = util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_where_it_is_not_built_it_says_how(tmp_path: Path) -> None:
    app = FastAPI()
    add_page(app, tmp_path)
    answer = TestClient(app).get("/")
    assert answer.status_code == 200
    assert "make web" in answer.text
    assert "/docs" in answer.text


def test_assets_are_kept_for_good_and_the_document_is_not(client: TestClient) -> None:
    assert client.get("/").headers["cache-control"] == "no-cache"
    for file in (STATIC / "assets").iterdir():
        answer = client.get(f"/assets/{file.name}")
        assert answer.content == file.read_bytes()
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-security-policy"] == POLICY  # a worker is under its own
        assert answer.headers["content-encoding"] == "gzip"
        plain = client.get(f"/assets/{file.name}", headers={"Accept-Encoding": "identity"})
        assert plain.content == file.read_bytes()
        assert "content-encoding" not in plain.headers


def test_nothing_but_the_assets_is_given_out(client: TestClient) -> None:
    for name in ("nothing.js", "..%2findex.html", "..%2f..%2fpage.py", "%2e%2e"):
        assert client.get(f"/assets/{name}").status_code == 404


def test_only_the_page_itself_is_public() -> None:
    for path in ("/", "/new", "/d/x", "/d/x/outcome", "/assets/index.js"):
        assert is_public(path)
    for path in ("/studio/agents", "/studio/stations/x", "/air/x", "/air/x/y"):
        assert is_public(path)
    for path in ("/agents", "/stations", "/stations/x", "/airs", "/hooks/x", "/on-air"):
        assert not is_public(path)
    for path in ("/debates", "/events", "/formats", "/docs", "/metrics", "/new/x", "/dx", ""):
        assert not is_public(path)


def test_no_node_is_said_in_a_sentence(
    hook: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hook, "find_node", lambda: None)
    with pytest.raises(SystemExit, match="Node 22"):
        hook.build(tmp_path)


def test_it_is_built_anew_when_a_source_is_newer(hook: ModuleType, tmp_path: Path) -> None:
    assert not hook.is_built(tmp_path)
    index = tmp_path / hook.STATIC / "index.html"
    index.parent.mkdir(parents=True)
    index.touch()
    assert hook.is_built(tmp_path)
    source = tmp_path / "web/src/deep/App.svelte"
    source.parent.mkdir(parents=True)
    source.touch()
    os.utime(source, (1, 1))
    assert hook.is_built(tmp_path)
    os.utime(source, (2e9, 2e9))
    assert not hook.is_built(tmp_path)


def test_the_wheel_carries_the_page(tmp_path: Path) -> None:
    names = ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", ".gitignore")
    for name in names:
        shutil.copy2(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert "moot/api/static/index.html" in held
    for file in (STATIC / "assets").iterdir():
        assert f"moot/api/static/assets/{file.name}" in held
    assert not any("node_modules" in name or name.startswith("web/") for name in held)
