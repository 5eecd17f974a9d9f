"""The only reader of the environment."""

import base64
import binascii
import re
from collections.abc import Mapping
from os import environ
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from moot.models.endpoints import load
from moot.models.providers import LOCAL
from moot.webhooks.receivers import secret_names

SCHEMES = {
    "database_url": ("postgresql", "postgres"),
    "broker_url": ("redis", "rediss", "amqp", "amqps"),
    "bus_url": ("redis", "rediss"),
}
MIN_HOOK_SECRET = 16
_SECRET = re.compile("KEY|SECRET|TOKEN")  # in the names of variables that hold one
HOOK_PREFIX = "whsec_"
"""Before the Base64 of a secret, as Standard Webhooks writes it."""


def _check_port(parts: SplitResult) -> None:
    try:
        parts.port  # noqa: B018  it is read here, and not before
    except ValueError:
        raise ValueError("the port of an address is a number from 0 to 65535") from None


def _address(url: str) -> str:
    """One that can be asked, without the spaces around it."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https"):
        raise ValueError("an address begins with http:// or https://")
    _check_port(parts)
    return url.strip()


Address = Annotated[str, AfterValidator(_address)]


class Settings(BaseSettings):
    """Everything that the environment can set. Keys are kept so that they cannot be printed."""

    model_config = SettingsConfigDict(
        env_prefix="MOOT_", extra="ignore", frozen=True, env_ignore_empty=True
    )

    home: Path = Field(default=Path("~/.moot"), validate_default=True)
    model: str | None = None  # of a seat that names none; unset: by the keys, else local
    report_model: str | None = None
    """What writes reports: a model, "own" (one of the debate's), or "none" (they are made by
    extraction). Unset, it is "own" for the commands and servers, and "none" for a program."""
    local_base_url: Address | None = None
    disabled_formats: Annotated[tuple[str, ...], NoDecode] = ()
    fetch: bool = False  # whether those who ask over HTTP may have sources fetched
    lease_seconds: float = Field(default=15.0, gt=0)
    sweep_seconds: float = Field(default=2.0, gt=0)

    # many machines
    database_url: SecretStr | None = None  # postgresql://…; unset: the file in the home
    connections: int = Field(default=8, ge=2)  # to Postgres, of each process
    broker_url: SecretStr | None = None  # redis://… or amqp://…; unset: debates run in this process
    bus_url: SecretStr | None = None  # redis://…, where the broker is none
    queue: str = Field(default="moot", pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    visibility_seconds: float = Field(default=1200.0, gt=0)  # before Redis repeats a message
    concurrency: int = Field(default=100, ge=1)  # waves that one worker carries at once
    deaths: int = Field(default=3, ge=1)  # of workers in one step, before it is given up
    metrics_port: int | None = Field(default=None, ge=1, le=65535)  # of a worker

    # the service
    host: str = "127.0.0.1"
    port: int = Field(default=8420, ge=0, le=65535)
    token: SecretStr | None = None  # what every call must bring, and the command line sends
    hook_secret: SecretStr | None = None  # what calls of the webhook are signed with
    hosts: Annotated[tuple[str, ...], NoDecode] = ()  # further names that it may be called by
    trusted_proxies: str | None = None  # addresses whose X-Forwarded-For is believed
    rate_per_second: float = Field(default=100.0, ge=0)  # of one client; 0: as many as it likes
    streams_per_client: int = Field(default=256, ge=1)
    pace: float = Field(default=0.03, ge=0)  # seconds between the understudy's words
    log: Literal["text", "json"] | None = None  # unset: text on a terminal, else json
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    # the command line
    url: Address | None = None  # a service that the commands speak to, in place of the home
    pager: str = Field(default="less", validation_alias=AliasChoices("MOOT_PAGER", "PAGER"))

    # where models are fetched from: as the tools are set that usually do so
    hub_url: str | None = Field(
        default=None, validation_alias=AliasChoices("MOOT_HUB_URL", "HF_ENDPOINT")
    )
    index_url: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices(
            "MOOT_INDEX_URL", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"
        ),
    )
    pip_config_file: Path | None = Field(default=None, validation_alias="PIP_CONFIG_FILE")
    demo_model: str | None = None  # what `make run` fetches; none: nothing

    # what command-line programs that speak for seats get to see
    program_environment: Mapping[str, str] = Field(default={}, repr=False)

    # of the providers, by the variables that their rows name
    provider_keys: Mapping[str, SecretStr] = {}
    provider_urls: Mapping[str, Address] = {}
    provider_more: Mapping[str, SecretStr] = {}  # what their rows `reads` besides

    @model_validator(mode="before")
    @classmethod
    def _of_providers(cls, given: dict[str, Any]) -> dict[str, Any]:
        values = {**environ, **given}
        table = load(Path(given.get("home") or "~/.moot").expanduser())
        keys = {name: values[name] for one in table for name in one.keys if values.get(name)}
        named = [one.url for one in table if one.url and one.name != LOCAL]
        urls = {name: values[name] for name in named if values.get(name)}
        more = {name: values[name] for one in table for name in one.reads if values.get(name)}
        seen = {name: value for name, value in environ.items() if _is_seen(name)}
        told = {"provider_keys": keys, "provider_urls": urls, "provider_more": more}
        return {**told, "program_environment": seen, **given}

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("database_url", "broker_url", "bus_url")
    @classmethod
    def _reachable(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """One whose kind is known. What it is stays out of the sentence: it may hold a password."""
        if url is None:
            return None
        kinds = SCHEMES[str(info.field_name)]
        parts = urlsplit(url.get_secret_value().strip())
        if parts.scheme not in kinds:
            raise ValueError(f"the address begins with {' or '.join(f'{k}://' for k in kinds)}")
        if parts.netloc.count("@") > 1:
            raise ValueError("an @ in a name or a password is written %40 in an address")
        _check_port(parts)
        number = parts.path.strip("/")
        if parts.scheme.startswith("redis") and number and not number.isdigit():
            raise ValueError("what follows the last / is the number of a Redis database, like 0")
        return SecretStr(url.get_secret_value().strip())

    @field_validator("hook_secret")
    @classmethod
    def _signing(cls, given: SecretStr | None) -> SecretStr | None:
        """One that nobody guesses. What it is stays out of the sentence."""
        text = secret(given)
        if text is None:
            return None
        if len(_key(text)) < MIN_HOOK_SECRET:
            raise ValueError(
                f"a secret has at least {MIN_HOOK_SECRET} characters, or is {HOOK_PREFIX} and the "
                f"Base64 of at least {MIN_HOOK_SECRET} bytes; `openssl rand -hex 24` makes one"
            )
        return given

    @field_validator("disabled_formats", "hosts", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @property
    def database(self) -> Path | str:
        """Where the debates are: the file in the home, or a Postgres by its URL."""
        return secret(self.database_url) or self.file

    @property
    def file(self) -> Path:
        """The embedded database."""
        return self.home / ".agentic" / "kofnote_search.sqlite"

    @property
    def bus(self) -> str | None:
        """The Redis that carries what is live between machines."""
        url = secret(self.bus_url) or secret(self.broker_url)
        return url if url and urlsplit(url).scheme in SCHEMES["bus_url"] else None

    @property
    def hook_key(self) -> bytes | None:
        """The bytes that calls of the webhook are signed with; None: they need no signature."""
        text = secret(self.hook_secret)
        return _key(text) if text else None

    def secrets(self) -> list[str]:
        """All that must not appear in a log."""
        more = (value for name, value in self.provider_more.items() if _SECRET.search(name))
        values = (self.token, self.hook_secret, *self.provider_keys.values(), *more)
        urls = (self.database_url, self.broker_url, self.bus_url)
        passwords = [urlsplit(url.get_secret_value()).password for url in urls if url]
        hooks = [environ.get(name) for name in secret_names(self.home)]
        known = [key for value in values if (key := secret(value))]
        return [*known, *filter(None, passwords), *filter(None, hooks)]


def webhook_key(variable: str) -> bytes | None:
    """What calls to a receiver are signed with, by the variable that hooks.toml names; None if it
    is not set, or is not a secret."""
    try:
        key = _key(environ.get(variable, ""))
    except ValueError:
        return None
    return key if len(key) >= MIN_HOOK_SECRET else None


_SEEN = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TERM",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ]
)
"""What a program may know of the environment: no vendor's key, so that its subscription is used."""


def _is_seen(name: str) -> bool:
    return name.upper() in _SEEN or name.startswith(("LC_", "XDG_"))


def _key(text: str) -> bytes:
    """A secret's bytes: those of its Base64 after `whsec_`, else those of the text itself."""
    if not text.startswith(HOOK_PREFIX):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(HOOK_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"what follows {HOOK_PREFIX} is Base64") from None


def secret(value: SecretStr | None) -> str | None:
    """A key, for the one place that hands it to a vendor's client."""
    return value.get_secret_value() if value and value.get_secret_value() else None
