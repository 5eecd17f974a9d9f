"""What `make dist` builds, installed as people install it: with pip, pipx and uvx, with each extra,
in an environment that has nothing else. MOOT_DIST names a folder that has been built already."""

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from tests import clients, patience

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = clients.BIN
UV = ROOT / ".venv" / "bin" / "uv"
ADDRESS = "https://git.example/us/moot"
MOTION = "Should we ship on Fridays?"
pytestmark = pytest.mark.stress("test_metadata.py")
EXTRAS = {
    "cluster": ("celery", "redis", "psycopg"),
    "bedrock": ("boto3",),
    "evals": ("scipy", "statsmodels"),
    "llama": ("huggingface_hub", "xllamacpp"),
}


def run(*command: str | Path, home: Path, **told: str) -> str:
    """As in a new shell of a user who has that home, in a folder of no project."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MOOT_", "VIRTUAL_ENV", "PYTHON"))
    }
    environment = {**inherited, "HOME": str(home), "MOOT_HOME": str(home / ".moot"), **told}
    home.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        list(map(str, command)), cwd=home, env=environment, capture_output=True, text=True,
        timeout=patience.seconds(600),
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if named := os.environ.get("MOOT_DIST"):
        return ROOT / named
    folder = tmp_path_factory.mktemp("dist")
    build = [UV, "build", "-q", "-p", sys.executable, "--no-build-isolation", "-o", folder]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "MOOT_REPOSITORY": ADDRESS})
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`pip install WHEEL` in a new environment; returns its programs."""
    home = tmp_path_factory.mktemp("pip")
    run(sys.executable, "-m", "venv", home / "venv", home=home)
    run(home / "venv" / "bin" / "pip", "install", "-q", wheel, home=home)
    return home / "venv" / "bin"


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [one for one in packed.namelist() if one.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(packed.read(name))


def debates(moot: Path, home: Path) -> None:
    """It has its formats, its migrations and its understudy, and keeps the debate."""
    said = run(moot, "run", MOTION, "-f", "duel", "-m", "local:understudy", "--json", home=home)
    assert json.loads(said)["status"] == "completed"
    assert MOTION in run(moot, "list", home=home)


def test_the_wheel_holds_the_page_and_nothing_of_the_workshop(wheel: Path, dist: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    for wanted in (
        "moot/py.typed", "moot/api/static/index.html", "moot/formats/council.toml",
        "moot/models/providers.toml", "moot/testing/store_contract.py",
    ):  # fmt: skip
        assert wanted in names
    assert any(name.startswith("moot/store/migrations/versions/0001") for name in names)
    assert any(re.fullmatch(r"moot/api/static/assets/index-.*\.js", name) for name in names)
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"moot"}
    (packed_sources,) = dist.glob("*.tar.gz")
    with tarfile.open(packed_sources) as sources:
        held = {name.partition("/")[2] for name in sources.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "web/package.json"} <= held
    assert not [name for name in held if "node_modules" in name or name.startswith(".venv")]


def test_the_metadata_is_what_an_index_wants(wheel: Path, dist: Path, tmp_path: Path) -> None:
    run(CLIENTS / "twine", "check", "--strict", *dist.glob("moot-*"), home=tmp_path)
    said = metadata(wheel)
    links = dict(line.split(", ", 1) for line in said.get_all("Project-URL") or [])
    assert links.keys() == {"Homepage", "Documentation", "Changelog", "Issues", "Source"}
    assert said["License-Expression"] == "MIT"
    assert said["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in (said.get_all("Classifier") or [])
    assert set(said.get_all("Provides-Extra") or []) == set(EXTRAS)
    text = str(said.get_payload())
    assert f"({links['Homepage']}/raw/v{said['Version']}/docs/shots/example.png)" in text
    assert not re.search(r"\]\((?!https://|#)", text), "a link that leads nowhere on the index"


def test_pip(installed: Path, tmp_path: Path) -> None:
    version = metadata_version(installed)
    assert version in run(installed / "moot", "--version", home=tmp_path)
    debates(installed / "moot", tmp_path)
    said = run(installed / "python", "-m", "moot", "doctor", home=tmp_path)
    assert "Traceback" not in said


def metadata_version(installed: Path) -> str:
    code = "from importlib.metadata import version; print(version('moot'))"
    return run(installed / "python", "-c", code, home=installed.parent).strip()


def test_the_page_is_served_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = """
import re, subprocess, sys, urllib.request
server = subprocess.Popen([sys.argv[1], "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
try:
    url = re.search(r"http://\\S+:\\d+", server.stdout.readline())[0]
    page = urllib.request.urlopen(url + "/").read().decode()
    script = re.search(r'src="(/assets/[^"]+\\.js)"', page)[1]
    assert len(urllib.request.urlopen(url + script).read()) > 10_000
    models = urllib.request.urlopen(url + "/v1/models").read().decode()
    assert "moot/council" in models
finally:
    server.terminate()
    server.wait()
"""
    run(installed / "python", "-c", code, installed / "moot", home=tmp_path)


def test_uvx(wheel: Path, tmp_path: Path) -> None:
    uvx = [UV, "tool", "run", "-p", sys.executable, "--from", wheel, "moot"]
    assert "moot" in run(*uvx, "--version", home=tmp_path)
    said = run(*uvx, "run", MOTION, "-f", "duel", "-m", "local:understudy", "--json", home=tmp_path)
    assert json.loads(said)["status"] == "completed"


def test_pipx(wheel: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    run(CLIENTS / "pipx", "install", wheel, "--python", sys.executable, home=tmp_path, **places)
    debates(tmp_path / "bin" / "moot", tmp_path)


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra(wheel: Path, tmp_path: Path, extra: str) -> None:
    run(UV, "venv", "-q", "-p", sys.executable, "venv", home=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(UV, "pip", "install", "-q", "-p", python, f"{wheel}[{extra}]", home=tmp_path)
    run(python, "-c", f"import {', '.join(EXTRAS[extra])}", home=tmp_path)
    debates(python.with_name("moot"), tmp_path)
    others = {name for key, names in EXTRAS.items() if key != extra for name in names}
    listed = json.loads(run(UV, "pip", "list", "-p", python, "--format", "json", home=tmp_path))
    named = {one["name"].replace("-", "_").lower() for one in listed}
    assert not named & (others - {"huggingface_hub"}), "an extra brings what another is for"


PROJECT = """
from pathlib import Path

import moot


def decide(problem: str) -> str | None:
    council: moot.Finished = moot.council(problem, jury=3, constraints=["no downtime"])
    verdict = council.verdict
    return str(verdict["selected"]) if verdict else None


def may_ship(note: Path) -> bool:
    judged = moot.judge("Is it safe?", sources=[note], passes=["decided"])
    return judged.answer == "yes"


async def words(motion: str) -> int:
    async with moot.open() as service:
        made: moot.Debate = await service.create(motion, format="duel")
        said = 0
        async for event in service.follow(made.id):
            if isinstance(event, moot.TurnCommitted):
                said += len(event.turn.text.split())
            elif isinstance(event, moot.Delta):
                continue
        return said
"""
WRONG = """import moot

moot.council(3)
if moot.judge("Why?").answer == "maybe":
    print()
"""


def test_a_strict_type_checker_accepts_it_in_a_users_project(
    installed: Path, tmp_path: Path
) -> None:
    """It sees the installed wheel and its types, and nothing of this repository."""
    (tmp_path / "right.py").write_text(PROJECT)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "pyproject.toml").write_text('[tool.pyright]\ntypeCheckingMode = "strict"\n')
    pyright = [str(Path(sys.executable).with_name("pyright")), "--outputjson", "--pythonpath"]
    done = subprocess.run(
        [*pyright, str(installed / "python")], cwd=tmp_path, capture_output=True, text=True,
        timeout=patience.seconds(),
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in found]
    assert errors == [("wrong.py", 3), ("wrong.py", 4)], done.stdout
