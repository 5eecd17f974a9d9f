"""OpenAI, by its Responses API."""

from typing import get_args

from httpx2 import AsyncClient
from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from moot.models.providers import Vendor
from moot.models.vendors import Make


def connect(vendor: Vendor, key: str, url: str, http: AsyncClient) -> Make:
    # The SDK would build these types, for 0.4 s, on the loop, when the first event comes.
    for event in get_args(get_args(ResponseStreamEvent)[0]):
        event.model_rebuild()
    client = AsyncOpenAI(api_key=key, base_url=url, http_client=http, max_retries=0)
    provider = OpenAIProvider(openai_client=client)
    return lambda name: OpenAIResponsesModel(name, provider=provider)
