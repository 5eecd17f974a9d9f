"""The docs cannot drift: what is made from the program is compared with the program."""

import importlib.util
import re
from pathlib import Path
from typing import Any

from moot.core.format import parse

ROOT = Path(__file__).parents[2]


def made() -> Any:
    """`docs/make.py`, which makes what is compared here."""
    spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_reference_is_up_to_date() -> None:
    assert (ROOT / "docs" / "commands.md").read_text() == made().commands(), "run `make docs`"


def test_the_prompts_are_shown_as_they_are_sent() -> None:
    page = made().prompts()
    assert (ROOT / "docs" / "prompts.md").read_text() == page, "run `make docs`"
    for kind in ("before it has heard anything", "in one order", "in the other order"):
        assert f"juror, {kind}" in page


def test_the_map_shows_every_module_with_what_it_does() -> None:
    make, page = made(), (ROOT / "ARCHITECTURE.md").read_text()
    assert page == make.architecture(), "run `make docs`"
    folders = {
        path.parent.relative_to(make.SOURCE).as_posix() for path in make.SOURCE.rglob("*.py")
    }
    assert folders - {"."} - set(make.UNLISTED) == make.PACKAGES.keys() - {"moot"}
    assert not re.findall(r"^\| `\w+` \|  \|$", page, re.MULTILINE), (
        "a module says nothing of itself"
    )


def test_the_text_above_the_map_names_only_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("<!-- map -->")[0]
    named = set(re.findall(r"`([a-z_]+[a-z_/]*/[\w.]+\.(?:py|toml|ts|svelte|md|json))`", text))
    assert len(named) > 30
    for name in named - {"formats/NAME.toml"}:
        assert (ROOT / name).exists() or (made().SOURCE / name).exists(), name


def test_the_functions_on_the_path_of_a_turn_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("<!-- map -->")[0]
    named = re.findall(r"`(\w+/\w+)\.(\w+)`", text)
    functions = {
        (module, name) for module, name in named if name not in ("py", "toml", "md", "json")
    }
    assert len(functions) > 10
    for module, name in functions:
        source = (made().SOURCE / f"{module}.py").read_text()
        assert re.search(rf"\b(def|class) {name}\b", source), f"{module}.{name}"


def test_no_module_name_is_used_twice() -> None:
    make = made()
    names = [path.stem for path in make.SOURCE.rglob("*.py") if "migrations" not in path.parts]
    twice = {name for name in names if names.count(name) > 1}
    assert twice == {"__init__", "__main__"}


def test_the_example_format_of_the_docs_is_a_format() -> None:
    text = (ROOT / "docs" / "formats.md").read_text()
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert example
    assert parse(example[1], "panel.toml").name == "panel"


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 560


def test_every_command_of_the_tour_exists() -> None:
    commands = (ROOT / "docs" / "commands.md").read_text()
    for name in re.findall(r"moot (run|list|show|\w+) ID", (ROOT / "docs/tour.md").read_text()):
        assert f"## moot {name}\n" in commands


def test_the_help_names_what_is_given_and_not_how_python_types_it() -> None:
    commands = (ROOT / "docs" / "commands.md").read_text()
    assert "<list" not in commands
    assert "[[" not in commands
