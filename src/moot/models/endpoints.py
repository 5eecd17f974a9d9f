"""The user's own endpoints: `<home>/providers.toml`, one table for each.

A key is named by its variable and never stands in the file. An entry that cannot be used hides no
other: whoever names it is told what is wrong.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from moot.models.providers import VENDORS, Price, Table, Vendor, with_path

FILE = "providers.toml"
_MOST_BYTES = 256 << 10
_LAST = 100  # seats that name no model take moot's own providers before
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def _address(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and names a host")
    if parts.username or parts.password:
        raise ValueError("an address holds no user and no password; name the key by key_env")
    return with_path(url)


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("this is the name of the variable that holds the key, not the key itself")
    return name


class Endpoint(BaseModel):
    """One entry of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Annotated[str, AfterValidator(_address)]  # of an OpenAI-compatible API
    key_env: Annotated[str, AfterValidator(_variable)] | None = None  # without one: no key is sent
    models: tuple[Annotated[str, Field(min_length=1, max_length=150)], ...] = ()
    """The first is what the bare name means. Without any, the server is asked what it has."""
    prices: Mapping[str, Price] = {}  # by model; of one that is not named, they are unknown
    window: int | None = Field(default=None, ge=512, le=100_000_000)  # tokens
    label: str = Field(default="", max_length=60)


def load(home: Path) -> Table:
    """moot's own providers, and those of this home."""
    path = home / FILE
    try:
        if not path.is_file():
            return VENDORS
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError("it is too large")
        given = tomllib.loads(text.decode())
    except (OSError, ValueError) as error:  # UnicodeDecodeError and TOMLDecodeError are ones
        return Table(VENDORS.rows, {FILE: f"{path} cannot be read: {error}"})
    return _added(given, path)


def _added(given: Mapping[str, Any], path: Path) -> Table:
    rows, problems = dict(VENDORS.rows), dict[str, str]()
    for name, entry in given.items():
        try:
            rows[name] = _row(name, entry)
        except ValueError as error:
            problems[name.lower()] = f"{path}: [{name}] {_said(error)}"
    return Table(rows, problems)


def _row(name: str, entry: object) -> Vendor:
    if not _NAME.fullmatch(name):
        raise ValueError(
            "a name is lower-case letters, digits, dots, dashes, and begins with a letter"
        )
    if VENDORS.find(name):
        raise ValueError(f"{name} is a provider that moot knows; choose another name")
    if not isinstance(entry, dict):
        raise ValueError("an endpoint is a table with base_url and, if it needs a key, key_env")
    own = Endpoint.model_validate(cast(dict[str, Any], entry))
    return Vendor(
        name=name,
        label=own.label or name,
        api="openai_chat",
        keys=(own.key_env,) if own.key_env else (),
        address=own.base_url,
        model=own.models[0] if own.models else "",
        offers=own.models,
        priced=own.prices,
        window=own.window,
        preference=_LAST if own.models else 0,
    )


def _said(error: ValueError) -> str:
    """The first thing that is wrong, with the field it is about."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    words = first["msg"].removeprefix("Value error, ")
    return f"{field}: {words[0].lower()}{words[1:]}"
