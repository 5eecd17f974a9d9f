"""Anthropic, by its Messages API."""

from anthropic import AsyncAnthropic
from httpx2 import AsyncClient
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from moot.models.providers import Vendor
from moot.models.vendors import Make


def connect(vendor: Vendor, key: str, url: str, http: AsyncClient) -> Make:
    client = AsyncAnthropic(api_key=key, base_url=url, http_client=http, max_retries=0)
    provider = AnthropicProvider(anthropic_client=client)
    return lambda name: AnthropicModel(name, provider=provider)
