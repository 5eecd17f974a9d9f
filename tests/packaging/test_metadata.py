"""The links of a release, and the workflow that makes one; `make stress` installs what is built."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://git.example/us/moot"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(monkeypatch: pytest.MonkeyPatch, address: str) -> dict[str, Any]:
    monkeypatch.setenv("MOOT_REPOSITORY", address)
    told: dict[str, Any] = {"version": "1.2.3"}
    hooks().RepositoryHook(str(ROOT), {}).update(told)
    return told


def test_every_link_of_the_long_description_leads_to_the_tag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = described(monkeypatch, f"{ADDRESS}/")
    text = told["readme"]["text"]
    assert told["urls"]["Homepage"] == ADDRESS
    links = [one for one in re.findall(r"\]\(([^)\s]+)\)", text) if not one.startswith("#")]
    assert len(links) > 20
    for link in links:
        assert link.startswith("https://"), link
        if link.startswith(ADDRESS):
            kind, tag, path = link.removeprefix(f"{ADDRESS}/").split("/", 2)
            assert kind == ("raw" if path.endswith((".png", ".svg")) else "blob")
            assert tag == "v1.2.3"
            assert (ROOT / path.partition("#")[0]).exists()


def test_without_an_address_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    told = described(monkeypatch, "")
    assert "urls" not in told
    assert told["readme"]["text"] == (ROOT / "README.md").read_text()


def jobs(path: Path) -> dict[str, Any]:
    read: Any = yaml.safe_load(path.read_text())
    return read["jobs"]


def test_workflows_pin_each_action_and_may_do_little() -> None:
    assert {path.stem for path in WORKFLOWS} >= {"release"}
    for path in WORKFLOWS:
        used = re.findall(r"uses: (\S+)( # v[\d.]+)?$", path.read_text(), re.MULTILINE)
        assert used
        for action, version in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
            assert version, f"{action}: of which version?"
        whole: Any = yaml.safe_load(path.read_text())
        assert whole["permissions"] in ({}, {"contents": "read"})
        assert "secrets." not in path.read_text()
        for job in jobs(path).values():
            for step in job["steps"]:
                assert "${{" not in step.get("run", ""), "a name is code in a script"


def test_what_is_published_was_tested_and_is_built_once() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    build, publish = release["build"], release["publish"]
    ran = [step.get("run", "") for step in build["steps"]]
    wanted = ("__version__", "make check", "make test", "make dist", "tests/packaging")
    order = [next(at for at, one in enumerate(ran) if part in one) for part in wanted]
    assert order == sorted(order)
    assert publish["needs"] == "build"
    assert publish["if"] == "github.ref_type == 'tag'"
    assert publish["permissions"] == {"id-token": "write"}
    assert not any("run" in step for step in publish["steps"])
    assert "id-token" not in build["permissions"]
