"""compose.yaml, the Dockerfile and docs/machines.md name only what there is, and no secret."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pydantic import AliasChoices

from moot.cli.main import app
from moot.core.voices import OWN
from moot.models.providers import VENDORS
from moot.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE, DOCKERFILE, PAGE = (
    ROOT / "compose.yaml",
    ROOT / "Dockerfile",
    ROOT / "docs" / "machines.md",
)
FILES = [COMPOSE, DOCKERFILE, PAGE]
SECRET = re.compile(r"PASSWORD|TOKEN|KEY|SECRET")
SERVERS = {"postgres", "valkey"}


def names() -> dict[str, str]:
    """Every variable that the settings read, with the field it sets."""
    found: dict[str, str] = {}
    for vendor in VENDORS:
        found |= dict.fromkeys(vendor.keys, "provider_keys")
        found |= {vendor.url: "provider_urls"} if vendor.url else {}
    for field, info in Settings.model_fields.items():
        alias = info.validation_alias
        if isinstance(alias, AliasChoices):
            found |= {str(choice): field for choice in alias.choices}
        else:
            found[str(alias) if alias else f"MOOT_{field.upper()}"] = field
    return found


def services() -> dict[str, dict[str, Any]]:
    return yaml.safe_load(COMPOSE.read_text())["services"]


def ours() -> dict[str, dict[str, Any]]:
    return {name: said for name, said in services().items() if name not in SERVERS}


def is_command(words: list[str]) -> bool:
    """Whether `moot` followed by these words is a command; options and arguments may follow."""
    found: Any = typer.main.get_command(app)
    for word in words:
        if not hasattr(found, "commands"):
            break
        if word not in found.commands:
            return False
        found = found.commands[word]
    return not hasattr(found, "commands")


def spoken(page: str) -> list[list[str]]:
    """The commands that a text names, in its code and its blocks of code."""
    code = re.findall(r"```sh\n(.*?)```", page, re.DOTALL) + re.findall(r"`([^`\n]+)`", page)
    lines = [line for block in code for line in block.splitlines()]
    said = [re.match(r"moot((?: [a-z]+)+)", line.strip()) for line in lines]
    return [match[1].split() for match in said if match]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_is_a_setting(path: Path) -> None:
    found = set(re.findall(r"\bMOOT_[A-Z_]+", path.read_text()))
    assert found
    assert found <= set(names()), "no such setting"


def test_every_process_is_given_variables_that_it_reads() -> None:
    for name, said in ours().items():
        unread = set(said["environment"]) - set(names()) - {"PGPASSWORD"}  # that one libpq reads
        assert not unread, name


def test_keys_of_models_are_given_to_workers_alone() -> None:
    keys = {name for name in names() if name.endswith("_API_KEY")}
    for name, said in ours().items():
        given = {key: said["environment"][key] for key in keys & set(said["environment"])}
        if name == "worker":
            assert given == dict.fromkeys(keys)
        elif name == "upgrade":
            assert given == {}
        else:  # they give seats their models: they know which keys there are, and none of them
            assert given == {key: f"${{{key}:+held-by-the-workers}}" for key in keys}


def test_every_service_is_a_command() -> None:
    assert set(ours()) == {"upgrade", "serve", "worker", "supervisor"}
    for said in ours().values():
        assert is_command(said["command"])
    assert '\nENTRYPOINT ["moot"]\n' in DOCKERFILE.read_text()


def test_every_command_that_is_named_exists() -> None:
    page = spoken(PAGE.read_text())
    assert ["db", "upgrade"] in page
    assert ["worker"] in page
    comments = re.findall(r"moot ([a-z]+(?: upgrade)?)\b(?=[,.])", DOCKERFILE.read_text())
    for words in [*page, *(said.split() for said in comments)]:
        assert is_command(words), f"moot {' '.join(words)}"
    assert not is_command(["db", "downgrade"])
    assert not is_command(["db"])
    assert not is_command(["workers"])


def test_every_setting_of_the_page_has_its_default() -> None:
    rows = re.findall(r"^\| `(MOOT_[A-Z_]+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)
    known = names()
    assert len(rows) == len(dict(rows))
    for name, said in rows:
        default = Settings.model_fields[known[name]].default
        if name == "MOOT_REPORT_MODEL":  # where people run moot; a program pays for turns alone
            default = f"`{OWN}`"
        shown = "none" if default in (None, ()) else str(default)
        assert said == shown.removesuffix(".0"), name
    source = (ROOT / "src" / "moot" / "settings.py").read_text()
    profile = source.partition("# many machines\n")[2].partition("\n\n")[0]
    fields = re.findall(r"^    (\w+):", profile, re.MULTILINE)
    assert {f"MOOT_{field.upper()}" for field in fields} <= set(dict(rows)), "not on the page"


def test_no_secret_stands_in_compose() -> None:
    checked = 0
    for name, said in services().items():
        for variable, value in said.get("environment", {}).items():
            if SECRET.search(variable) and value is not None:
                told = r"\$\{[A-Z_]+:(\?[^}]+|\+held-by-the-workers)\}"
                assert re.fullmatch(told, value), f"{name}: {variable}"
                checked += 1
    assert checked


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_password_stands_in_an_address_or_a_command(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"://[^/\s@`]*:[^/\s@`]+@", text)
    for variable, value in re.findall(r"\b([A-Z_]+)=(\S+)", text):
        if SECRET.search(variable):
            assert value.startswith(("$(", "…")), f"{variable}={value}"


def test_the_image_is_built_from_what_the_build_may_see() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE.read_text(), re.MULTILINE)
    sources = {source for line in copied for source in line.split()}
    assert sources == {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / source).exists() for source in sources)
