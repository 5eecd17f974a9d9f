"""The optional packages of moot, and the command that installs them."""

import re
from importlib.metadata import PackageNotFoundError, requires

_REQUIREMENT = re.compile(r"""^([^;]+?)\s*;.*extra\s*==\s*["']([\w-]+)["']""")


def install(extra: str) -> str:
    """The sentence without its end: how to install what an extra brings, by the packages' own
    names, for these are found wherever moot itself came from."""
    try:
        listed = [_REQUIREMENT.match(line) for line in requires("moot") or ()]
    except PackageNotFoundError:  # run from its folder
        listed = []
    found = [one[1].replace(" ", "") for one in listed if one and one[2] == extra]
    named = " ".join(f"'{one}'" for one in found) or f"'moot[{extra}]'"
    return f"Install it with: pip install {named}"
