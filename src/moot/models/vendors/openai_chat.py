"""Any service with OpenAI's chat completions: local servers, and most other vendors."""

from collections.abc import AsyncGenerator
from typing import Any

from httpx2 import AsyncClient
from openai import AsyncOpenAI, omit
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIStreamedResponse,
)
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from moot.models.connection import current
from moot.models.payload import UNCOUNTED
from moot.models.providers import Vendor
from moot.models.vendors import Make

_LATEST = OpenAIChatModelSettings(openai_continuous_usage_stats=True)
"""Some services tell the tokens so far with every piece: the latest count holds, not their sum."""


class _Stream(OpenAIStreamedResponse):
    async def _validate_response(self) -> AsyncGenerator[ChatCompletionChunk]:
        """The chunks, with what some services leave out of the last: its delta, or why it ended.
        Whoever says `[DONE]` has said all; a stream that ends without either was cut."""
        ended, chunk = False, None
        async for chunk in self._response:
            for choice in chunk.choices or ():
                ended = ended or bool(choice.finish_reason)
                if choice.delta is None:  # pyright: ignore[reportUnnecessaryComparison]
                    choice.delta = ChoiceDelta()
            yield chunk
        if chunk and not ended and current().done:
            last = Choice(index=0, delta=ChoiceDelta(), finish_reason="stop")
            yield chunk.model_copy(update={"choices": [last], "usage": None})


class _Chat(OpenAIChatModel):
    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _Stream

    def _get_stream_options(self, model_settings: Any) -> Any:
        """What asks for the tokens that a stream took; some services refuse a call with it, and
        none is asked to count with every piece."""
        return omit if model_settings.get(UNCOUNTED) else {"include_usage": True}


def connect(vendor: Vendor, key: str, url: str, http: AsyncClient) -> Make:
    # Blank, not None: for None the SDK would send the person's OpenAI organization along.
    client = AsyncOpenAI(
        api_key=key, organization="", project="", base_url=url, http_client=http, max_retries=0
    )
    profile = OpenAIModelProfile(
        supports_json_schema_output=vendor.structured,  # llama.cpp, Ollama and vLLM: by grammar
        openai_chat_supports_max_completion_tokens=False,  # they know `max_tokens`
        openai_chat_streaming_requires_finish_reason=True,  # else a stream cut half-way looks whole
    )
    provider = OpenAICompatibleProvider(vendor.name, openai_client=client, profile=profile)
    return lambda name: _Chat(name, provider=provider, settings=_LATEST)
