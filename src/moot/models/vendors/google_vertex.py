"""Gemini on Google Cloud (Vertex AI), with the credentials of the project."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import google.auth
from google.auth.exceptions import GoogleAuthError
from google.genai import Client
from google.genai.types import HttpOptions
from google.oauth2 import credentials as users
from google.oauth2 import service_account
from httpx2 import AsyncClient
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google_cloud import GoogleCloudProvider

from moot.errors import ProviderAuthError
from moot.models.providers import Vendor
from moot.models.vendors import Make

_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_EVERYWHERE = "global"


def connect(vendor: Vendor, key: str, url: str, http: AsyncClient, more: Mapping[str, str]) -> Make:
    credentials, project = _credentials(vendor, more)
    options = HttpOptions(
        base_url=url or None,
        httpx_async_client=http,
        timeout=int((http.timeout.read or 600) * 1000),
    )
    client = Client(
        vertexai=True,
        credentials=credentials,
        project=project,
        location=more.get("GOOGLE_CLOUD_LOCATION") or _EVERYWHERE,
        http_options=options,
    )
    provider = GoogleCloudProvider(client=client)
    return lambda name: GoogleModel(name, provider=provider)


def _credentials(vendor: Vendor, more: Mapping[str, str]) -> tuple[Any, str]:
    """Those of the file that was named, else what `gcloud` left or the machine itself has."""
    found = None
    with suppress(GoogleAuthError, OSError, ValueError):  # whose words may quote the file
        found = _of_file(more.get("GOOGLE_APPLICATION_CREDENTIALS"))
    if not found:
        raise ProviderAuthError(
            f"There are no credentials for {vendor.label}. Run "
            "`gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
        )
    credentials, project = found
    project = more.get("GOOGLE_CLOUD_PROJECT") or project
    if not project:
        raise ProviderAuthError(f"There is no project for {vendor.label}. Set GOOGLE_CLOUD_PROJECT")
    return credentials, project


def _of_file(path: str | None) -> tuple[Any, str | None]:
    """The credentials, and the project that they name. The library looks at the same variable for
    kinds of files that are rare."""
    info: dict[str, Any] = json.loads(Path(path).read_text("utf-8")) if path else {}
    accounts: Any = service_account.Credentials  # these functions have no types
    people: Any = users.Credentials
    if info.get("type") == "service_account":
        made = accounts.from_service_account_info(info, scopes=_SCOPES)
        return made, info.get("project_id")
    if info.get("type") == "authorized_user":
        return people.from_authorized_user_info(info, scopes=_SCOPES), info.get("quota_project_id")
    rest: Any = google.auth
    return rest.default(scopes=_SCOPES)
