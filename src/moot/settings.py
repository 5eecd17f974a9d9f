"""The only reader of the environment."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Settings(BaseSettings):
    """Everything that the environment can set. Keys are kept so that they cannot be printed."""

    model_config = SettingsConfigDict(
        env_prefix="MOOT_", extra="ignore", frozen=True, env_ignore_empty=True
    )

    home: Path = Field(default=Path("~/.moot"), validate_default=True)
    model: str = "local"
    local_base_url: str | None = None
    disabled_formats: Annotated[tuple[str, ...], NoDecode] = ()
    lease_seconds: float = Field(default=15.0, gt=0)
    sweep_seconds: float = Field(default=2.0, gt=0)

    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    anthropic_base_url: str | None = Field(default=None, validation_alias="ANTHROPIC_BASE_URL")
    gemini_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("GEMINI_API_KEY", "GOOGLE_API_KEY")
    )
    gemini_base_url: str | None = Field(default=None, validation_alias="GOOGLE_GEMINI_BASE_URL")

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("local_base_url", "openai_base_url", "anthropic_base_url", "gemini_base_url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("an address begins with http:// or https://")
        return url

    @field_validator("disabled_formats", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @property
    def database(self) -> Path:
        return self.home / ".agentic" / "kofnote_search.sqlite"


def secret(value: SecretStr | None) -> str | None:
    """A key, for the one place that hands it to a vendor's client."""
    return value.get_secret_value() if value and value.get_secret_value() else None
