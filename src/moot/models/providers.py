"""Who can speak: the providers of `providers.toml`, and how this machine reaches them."""

import difflib
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field

from moot.core.effort import BETWEEN, joined, parted
from moot.core.voices import check_choices, choices
from moot.errors import InputError

LOCAL = "local"
"""The provider that needs no key: a server of this machine, its own model, or the understudy."""
MAX_NAME = 200
Part = Literal["schema", "tool", "stream_options", "max_tokens", "effort"]
"""A part of a request that some services do not take, and without which moot can ask all the same:
see `payload`."""
Place = Literal["server", "worker", "command"]
"""The process that makes the calls: keys must be set in its environment."""


class Price(BaseModel):
    """What a model costs, in USD per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Vendor(BaseModel):
    """One row of `providers.toml`, which explains its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    aliases: tuple[str, ...] = ()
    label: str
    api: str
    keys: tuple[str, ...] = ()
    url: str = ""
    address: str = ""
    path: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    prices: str = ""
    priced: Mapping[str, Price] = {}
    window: int | None = None
    preference: int = 0
    inline_system: bool = False
    thinks: str = ""
    structured: bool = True
    effort: bool = False
    efforts: Mapping[str, str] = {}
    strict: bool = False
    cache_key: str = ""
    reads: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    asks: str = ""
    extra: str = ""
    command: str = ""
    install: str = ""
    login: str = ""
    settings: Mapping[str, Any] = {}

    @property
    def key(self) -> str | None:
        """The variable that holds its key, as sentences name it."""
        return self.asks or (self.keys[0] if self.keys else None)

    @property
    def offered(self) -> tuple[str, ...]:
        """The models to choose from, as "provider:name"."""
        names = self.offers or self.models or (self.model,)
        return tuple(f"{self.name}:{name}" for name in names if name)

    @property
    def opening(self) -> str:
        """The label as it stands at the start of a sentence."""
        article, _, rest = self.label.partition(" ")
        return f"The {rest}" if article == "the" else self.label

    @property
    def local(self) -> bool:
        """Whether it is a server that somebody runs, and that needs neither a key nor money."""
        return not (self.keys or self.reads or self.priced or self.command)

    @property
    def open(self) -> bool:
        """Whether it costs money and is called without a key."""
        return bool(self.priced) and not self.keys


@dataclass(frozen=True, slots=True)
class Table:
    """The providers by their names, and those of the user's own that cannot be used."""

    rows: Mapping[str, Vendor]
    problems: Mapping[str, str] = field(default_factory=dict[str, str])  # by name: what is wrong

    def __iter__(self) -> Iterator[Vendor]:
        return iter(self.rows.values())

    def __getitem__(self, name: str) -> Vendor:
        return self.rows[name]

    def find(self, provider: str) -> Vendor | None:
        """The provider of that name or alias."""
        wanted = provider.lower()
        return next((one for one in self if wanted in (one.name, *one.aliases)), None)

    def normalize(self, model: str) -> tuple[str, str | None]:
        """The canonical "provider:name@effort", or "first|second" of them; there is never a
        warning, see `Router.bend`.

        A bare provider gives its default model. A bare `local` stays: what it means is found out
        when it speaks. An unknown provider is an InputError that names the nearest one.
        """
        named = [self._canonical(one) for one in choices(model)]
        check_choices(named)
        return BETWEEN.join(named), None

    def _canonical(self, model: str) -> str:
        bare, effort = parted(model)
        vendor, name = self.resolve(bare)
        return joined(f"{vendor.name}:{name}" if name else vendor.name, effort)

    def resolve(self, model: str) -> tuple[Vendor, str]:
        """Whose a "provider:name" is, and the name: that of the default model if there is none."""
        provider, name = split(model)
        vendor = self.find(provider)
        if vendor is None:
            raise InputError(self._unknown(provider), field="model")
        return vendor, name or vendor.model

    def _unknown(self, provider: str) -> str:
        if wrong := self.problems.get(provider.lower()):
            return wrong
        known = [one for row in self for one in (row.name, *row.aliases)]
        nearest = difflib.get_close_matches(provider.lower(), known, 1, cutoff=0.0)[0]
        said = f'There is no provider "{provider}"; the nearest is {nearest}. '
        if maker := self._maker(provider):
            said = f'There is no provider "{provider}". Do you mean {maker.name}:{provider}? '
        rest = "".join(f" {wrong}" for name, wrong in self.problems.items() if "." in name)
        providers = ", ".join(self.rows)
        return f'{said}A model is "provider:name", and the providers are {providers}.{rest}'

    def _maker(self, name: str) -> Vendor | None:
        """Whose model a name without a provider may be: gpt-5 is like gpt-6-luna."""
        kind, dash, _ = name.lower().partition("-")
        offered = ((row, one.partition(":")[2]) for row in self for one in row.offered if dash)
        return next((row for row, one in offered if one.lower().startswith(f"{kind}-")), None)


def read(text: str) -> dict[str, Vendor]:
    """The rows of a table, by name."""
    rows = [Vendor.model_validate(row) for row in tomllib.loads(text)["provider"]]
    return {row.name: row for row in rows}


VENDORS = Table(read(files("moot.models").joinpath("providers.toml").read_text("utf-8")))
"""The providers that moot knows."""


def split(model: str) -> tuple[str, str]:
    """The provider and the name in "provider:name"; the name may be empty."""
    if not model.strip() or len(model) > MAX_NAME or not model.isprintable():
        raise InputError(
            f'A model is "provider:name", up to {MAX_NAME} printable characters, '
            'for example "claude" or "openai:gpt-5-mini".',
            field="model",
        )
    provider, _, name = (part.strip() for part in model.partition(":"))
    return provider, name


def then(place: Place | None, debate_id: str) -> str:
    """What follows "Set SOME_KEY" in a sentence: where, and what to do after that. A process reads
    keys when it starts."""
    if place == "command":
        return f", then `moot retry {debate_id}`."
    if place is None:
        return ", then restart the speaker."
    process = "moot serve" if place == "server" else "moot worker"
    return f" in the environment of `{process}`, restart it, then restart the speaker."


@dataclass(frozen=True, slots=True)
class Providers:
    """What the composition root knows of the providers, by their names. Keys never show."""

    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    urls: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False
    )  # may hold passwords
    default_model: str | None = None  # for a seat that names none; unset: by the keys
    table: Table = VENDORS
    place: Place | None = None  # None: a program of somebody's own
    preferred: Callable[[], Sequence[str]] = tuple  # by the user's settings, as they are now
    more: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]], repr=False
    )  # what its row `reads`, by provider
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What command-line programs get to see: no key is in it."""

    def key(self, vendor: str) -> str | None:
        """The key, or None if there is none or it is blank."""
        return self.keys.get(vendor, "").strip() or None

    def reachable(self, vendor: Vendor) -> bool:
        """Whether it has a key, or what stands for one; of a program, whether it is installed."""
        if vendor.command:
            return shutil.which(vendor.command, path=self.environment.get("PATH", "")) is not None
        told = self.more.get(vendor.name, {})
        return self.key(vendor.name) is not None or any(told.get(name) for name in vendor.instead)

    def base_url(self, vendor: str) -> str | None:
        """The address that was set, if one was."""
        return self.urls.get(vendor, "").strip() or None

    def defaults(self) -> tuple[str, ...]:
        """The models of seats that name none, to be taken in turn: the one that was set, else
        the user's preferred ones, else those of the vendors that have a key, else `local`."""
        if chosen := (self.default_model,) if self.default_model else self.preferred():
            return tuple(self.table.normalize(model)[0] for model in chosen)
        ring = sorted(self.table, key=lambda vendor: vendor.preference)
        keyed = [one for one in ring if one.preference and self.key(one.name)]
        found = [f"{one.name}:{name}" for one in keyed for name in one.models or (one.model,)]
        return tuple(found) or (LOCAL,)


def with_path(url: str, path: str = "/v1") -> str:
    """The address of an API: a bare host, as Ollama prints it, means its `/v1`."""
    parts = urlsplit(url.strip().rstrip("/"))
    return urlunsplit(parts if parts.path else parts._replace(path=path))


def shown(url: str) -> str:
    """An address without the user and password that may stand in it."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
