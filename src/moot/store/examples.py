"""The agents and stations that come with moot: something good to begin with, and to copy."""

from importlib import resources


def agents() -> str:
    """TOML, as it is brought in."""
    return _read("agents")


def stations() -> str:
    """TOML, as it is brought in; their agents are those of `agents()`."""
    return _read("stations")


def _read(name: str) -> str:
    return resources.files("moot").joinpath(f"{name}.toml").read_text("utf-8")
