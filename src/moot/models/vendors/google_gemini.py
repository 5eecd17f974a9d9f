"""Google, by the Gemini API."""

from google.genai import Client
from google.genai.types import HttpOptions
from httpx2 import AsyncClient
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from moot.models.providers import Vendor
from moot.models.vendors import Make


def connect(vendor: Vendor, key: str, url: str, http: AsyncClient) -> Make:
    options = HttpOptions(  # it retries nothing
        base_url=url,
        httpx_async_client=http,
        timeout=int((http.timeout.read or 600) * 1000),
        extra_body={"store": False},  # pydantic-ai has no setting for it
    )
    client = Client(vertexai=False, api_key=key, http_options=options)
    provider = GoogleProvider(client=client)
    return lambda name: GoogleModel(name, provider=provider)
