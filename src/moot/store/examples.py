"""The agents and stations that come with moot: something good to begin with, and to copy."""

from importlib import resources


def agents() -> str:
    """TOML, as it is brought in."""
    return resources.files("moot").joinpath("agents.toml").read_text("utf-8")


def stations() -> str:
    """TOML, as it is brought in; their agents are those of `agents()`."""
    return resources.files("moot").joinpath("stations.toml").read_text("utf-8")
