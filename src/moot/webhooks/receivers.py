"""`<home>/hooks.toml`: who is told of what. A secret is named by its variable and never stands in
the file, and nothing but this file names an address: no request can."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from moot.errors import InputError

FILE = "hooks.toml"
Told = Literal["completed", "failed", "stopped", "paused"]
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def _address(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and names a host")
    if parts.username or parts.password:
        raise ValueError("an address holds no user and no password")
    return url.strip()


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("this is the name of the variable with the secret, not the secret itself")
    return name


class Receiver(BaseModel):
    """One entry of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    url: Annotated[str, AfterValidator(_address)]
    secret_env: Annotated[str, AfterValidator(_variable)]
    events: tuple[Told, ...] = Field(default=get_args(Told), min_length=1)
    """The statuses that it is told of."""


def load(home: Path) -> list[Receiver]:
    """The receivers of this home. Raises InputError, which names the entry and the field."""
    path = home / FILE
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.", FILE) from None
    return [_receiver(path, name, entry) for name, entry in given.items()]


def _receiver(path: Path, name: str, entry: Any) -> Receiver:
    if not _NAME.fullmatch(name) or not isinstance(entry, dict):
        raise InputError(
            f"{path}: {name!r} is not an entry; write [name] in lower case, with url and "
            "secret_env below it.",
            name,
        )
    try:
        return Receiver.model_validate({**cast(dict[str, Any], entry), "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}, [{name}], {field}: {said}.", field) from None


def secret_names(home: Path) -> list[str]:
    """The variables that hold secrets; none if the file cannot be read, which others say."""
    try:
        return [one.secret_env for one in load(home)]
    except InputError:
        return []
