"""The vendors' clients: made once, on first use, and shared by all calls.

Each SDK costs half a second or more to import, so each is imported where it is first needed, in a
thread, and never by importing this package.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any, get_args

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile

from moot.errors import ProviderAuthError
from moot.models.connection import http_client
from moot.models.providers import VENDORS, Providers, VendorId
from moot.models.vendors.ollama import Translator

_MODELS_KEPT = 128  # names come from requests, so they must not pile up
_importing = threading.Lock()  # two threads inside one package's imports can meet half-made modules

_LOCAL = OpenAIModelProfile(
    supports_json_schema_output=True,  # by grammar; llama.cpp, Ollama and vLLM all have it
    openai_chat_supports_max_completion_tokens=False,  # they know `max_tokens`
    openai_chat_streaming_requires_finish_reason=True,  # else a stream cut half-way looks whole
)

Make = Callable[[str], Model[Any]]


class Clients:
    """One HTTP client for the vendors, one for local servers, one SDK client per vendor."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._http: dict[bool, httpx2.AsyncClient] = {}
        self._opening = threading.Lock()
        self._make: dict[str, Make] = {}
        self._models: dict[tuple[str, str], Model[Any]] = {}

    def http(self, vendor: VendorId) -> httpx2.AsyncClient:
        """The client for that vendor. A local server is never reached through a proxy, and over a
        new connection each time: llama.cpp closes one that it has kept just when it is used again,
        and a new one costs nothing there."""
        outside = vendor != "local"
        with self._opening:
            if outside not in self._http:
                self._http[outside] = http_client(trust_env=outside, kept=100 if outside else 0)
            return self._http[outside]

    async def model(
        self,
        vendor: VendorId,
        name: str,
        base_url: str | None = None,
        key: str = "none",
        windows: Mapping[str, int] | None = None,
    ) -> Model[Any]:
        """The model to call; `base_url` and `key` are a local server's, `windows` an Ollama's."""
        place = f"{vendor} {base_url or ''}"
        if (place, name) not in self._models:
            if place not in self._make:
                while len(self._make) >= _MODELS_KEPT:  # a child listens elsewhere each time
                    del self._make[next(iter(self._make))]
                await asyncio.to_thread(self._prepare, place, vendor, base_url, key, windows)
            while len(self._models) >= _MODELS_KEPT:
                del self._models[next(iter(self._models))]
            self._models[place, name] = self._make[place](name)
        return self._models[place, name]

    async def aclose(self) -> None:
        """Close every connection."""
        self._models.clear()
        self._make.clear()
        clients, self._http = list(self._http.values()), {}
        for client in clients:
            await client.aclose()

    def _prepare(
        self,
        place: str,
        vendor: VendorId,
        base_url: str | None,
        key: str,
        windows: Mapping[str, int] | None,
    ) -> None:
        with _importing:
            if place in self._make:
                return
            if vendor == "local":
                http, url = self.http(vendor), base_url or ""
                if windows is not None:
                    http = http_client(trust_env=False, transport=Translator(http, url, windows))
                self._make[place] = _local(url, http, key)
                return
            key = _key(self._providers, vendor)
            url = self._providers.base_url(vendor)
            make = {"openai": _openai, "claude": _claude, "gemini": _gemini}[vendor]
            self._make[place] = make(key, url, self.http(vendor))


def _key(providers: Providers, vendor_id: VendorId) -> str:
    """The key, or an error that names the variable; its sentence is ended by the router. A key that
    no header can hold is refused here: the HTTP library would put it into its message."""
    vendor = VENDORS[vendor_id]
    key = providers.key(vendor_id)
    if key is None:
        raise ProviderAuthError(f"There is no key for {vendor.name}. Set {vendor.key}")
    if not (key.isascii() and key.isprintable()):
        raise ProviderAuthError(
            f"The key for {vendor.name} holds characters that no key has. Set {vendor.key} anew"
        )
    return key


def _openai(key: str, url: str | None, http: httpx2.AsyncClient) -> Make:
    from openai import AsyncOpenAI
    from openai.types.responses import ResponseStreamEvent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    # The SDK would build these types, for 0.4 s, on the loop, when the first event comes.
    for event in get_args(get_args(ResponseStreamEvent)[0]):
        event.model_rebuild()
    client = AsyncOpenAI(
        api_key=key, base_url=url or "https://api.openai.com/v1", http_client=http, max_retries=0
    )
    provider = OpenAIProvider(openai_client=client)
    return lambda name: OpenAIResponsesModel(name, provider=provider)


def _claude(key: str, url: str | None, http: httpx2.AsyncClient) -> Make:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=key, base_url=url or "https://api.anthropic.com", http_client=http, max_retries=0
    )
    provider = AnthropicProvider(anthropic_client=client)
    return lambda name: AnthropicModel(name, provider=provider)


def _gemini(key: str, url: str | None, http: httpx2.AsyncClient) -> Make:
    from google.genai import Client
    from google.genai.types import HttpOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    options = HttpOptions(  # it retries nothing
        base_url=url or "https://generativelanguage.googleapis.com",
        httpx_async_client=http,
        timeout=int((http.timeout.read or 600) * 1000),
        extra_body={"store": False},  # the library has no setting for it
    )
    client = Client(vertexai=False, api_key=key, http_options=options)
    provider = GoogleProvider(client=client)
    return lambda name: GoogleModel(name, provider=provider)


def _local(url: str, http: httpx2.AsyncClient, key: str) -> Make:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # Blank, not None: for None the SDK would send the person's OpenAI organization along.
    client = AsyncOpenAI(
        api_key=key, organization="", project="", base_url=url, http_client=http, max_retries=0
    )
    provider = OpenAICompatibleProvider("local", openai_client=client, profile=_LOCAL)
    return lambda name: OpenAIChatModel(name, provider=provider)
