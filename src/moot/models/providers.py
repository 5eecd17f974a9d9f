"""Who can speak: the providers, what people call them, and how this machine reaches them."""

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

LONGER = "Restart the speaker, or allow longer turns."
Place = Literal["server", "worker", "command"]
"""The process that makes the calls: what is set elsewhere does not reach it."""
VendorId = Literal["openai", "claude", "gemini", "local"]


@dataclass(frozen=True, slots=True)
class Vendor:
    """One provider, as people and prices know it."""

    id: VendorId
    name: str  # as it stands inside a sentence
    default: str  # the model that a bare provider means
    key: str | None  # the variable that holds its key
    url: str  # the variable that holds its address
    prices: str  # how the price list calls it

    @property
    def opening(self) -> str:
        """The name as it stands at the start of a sentence."""
        return self.name[0].upper() + self.name[1:]

    def silent(self, seconds: float) -> str:
        """What to tell a person when no word came for so long."""
        return f"{self.opening} said nothing for {seconds:g} seconds. {LONGER}"

    def endless(self, seconds: float) -> str:
        """What to tell a person when the time of a whole turn is up."""
        return f"{self.opening} was still speaking after {seconds:g} seconds. {LONGER}"


VENDORS: dict[VendorId, Vendor] = {
    "openai": Vendor(
        "openai", "OpenAI", "gpt-6.1-terra", "OPENAI_API_KEY", "OPENAI_BASE_URL", "openai"
    ),
    "claude": Vendor(
        "claude",
        "Claude",
        "claude-sonnet-5-5",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "anthropic",
    ),
    "gemini": Vendor(
        "gemini",
        "Gemini",
        "gemini-flash-latest",
        "GEMINI_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "google",
    ),
    "local": Vendor("local", "the local server", "", None, "MOOT_LOCAL_BASE_URL", ""),
}


def then(place: Place | None, debate_id: str) -> str:
    """What follows "Set SOME_KEY" in a sentence: where, and what to do after that. Keys are read
    when a process starts."""
    if place == "command":
        return f", then `moot retry {debate_id}`."
    if place is None:
        return ", then restart the speaker."
    process = "moot serve" if place == "server" else "moot worker"
    return f" in the environment of `{process}`, restart it, then restart the speaker."


@dataclass(frozen=True, slots=True)
class Providers:
    """What the composition root knows of the providers. Keys never show."""

    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str | None = field(default=None, repr=False)  # may hold a password
    anthropic_api_key: str | None = field(default=None, repr=False)
    anthropic_base_url: str | None = field(default=None, repr=False)
    gemini_api_key: str | None = field(default=None, repr=False)
    gemini_base_url: str | None = field(default=None, repr=False)
    local_base_url: str | None = field(default=None, repr=False)
    default_model: str | None = None  # for a seat that names none; unset: by the keys
    place: Place | None = None  # None: a program of somebody's own

    def key(self, vendor: VendorId) -> str | None:
        """The key, or None where there is none or it is blank."""
        keys = {
            "openai": self.openai_api_key,
            "claude": self.anthropic_api_key,
            "gemini": self.gemini_api_key,
        }
        return (keys.get(vendor) or "").strip() or None

    def base_url(self, vendor: VendorId) -> str | None:
        """The address that was set, if one was."""
        urls = {
            "openai": self.openai_base_url,
            "claude": self.anthropic_base_url,
            "gemini": self.gemini_base_url,
            "local": self.local_base_url,
        }
        return (urls[vendor] or "").strip() or None


def shown(url: str) -> str:
    """An address without the user and password that may stand in it."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
