"""Bedrock and Vertex AI: which of the many variables they are called with, and what is said if one
is missing."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from moot import bootstrap
from moot.errors import ProviderAbsentError, ProviderAuthError, ProviderError
from moot.models.providers import VENDORS, Providers
from moot.models.router import Router
from moot.settings import Settings
from moot.testing.provider_calls import Understudy, call, nothing, service_account
from moot.testing.wires import wire_server as wire
from moot.testing.wires.wire_server import Wire

PAIR = {"AWS_ACCESS_KEY_ID": "AKIACANARY", "AWS_SECRET_ACCESS_KEY": "canary-secret"}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine's own."""
    for row in VENDORS:
        for name in (*row.keys, *row.reads):
            monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))


def run(work: Callable[[Wire], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with Wire() as server:
            await work(server)

    asyncio.run(main())


async def failed(known: Providers, model: str) -> ProviderError:
    router = Router(known, Understudy())
    try:
        with pytest.raises(ProviderError) as caught:
            await router.speak(call(model), nothing)
        return caught.value
    finally:
        await router.aclose()


def test_a_pair_of_keys_signs_and_stays_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def signed(server: Wire) -> None:
        given = PAIR | {"AWS_SESSION_TOKEN": "token-1", "AWS_DEFAULT_REGION": "eu-west-1"}
        given["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = server.url("bedrock")
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        settings = Settings(home=tmp_path)
        assert {"AKIACANARY", "canary-secret", "token-1"} <= set(settings.secrets())
        assert "eu-west-1" not in settings.secrets()
        assert "canary" not in repr(settings).lower()
        router = bootstrap.router(settings)
        assert router.defaults() == ("local",), "the pair may be there for other purposes"
        status = next(one for one in await router.describe() if one.provider == "bedrock")
        assert (status.works, status.detail) == (True, "AWS_ACCESS_KEY_ID is set.")
        reply = await router.speak(call("aws"), nothing)
        assert reply.model == "bedrock:global.anthropic.claude-sonnet-5-5"
        await router.aclose()
        (request,) = server.requests
        told = request.headers["authorization"]
        assert told.startswith("AWS4-HMAC-SHA256 Credential=AKIACANARY/")
        assert "/eu-west-1/bedrock/aws4_request" in told
        assert request.headers["x-amz-security-token"] == "token-1"
        assert "canary-secret" not in str(request)

    run(signed)


def test_a_key_of_bedrock_goes_before_a_pair_and_is_taken_by_seats_that_name_no_model() -> None:
    async def borne(server: Wire) -> None:
        url = {"bedrock": server.url("bedrock")}
        known = Providers({"bedrock": "key-1"}, url, more={"bedrock": PAIR})
        assert known.defaults()[0] == "bedrock:global.anthropic.claude-sonnet-5-5"
        router = Router(known, Understudy())
        await router.speak(call("bedrock"), nothing)
        await router.aclose()
        (request,) = server.requests
        assert request.headers["authorization"] == "Bearer key-1"
        assert "AKIACANARY" not in str(request)

    run(borne)


@pytest.mark.parametrize(
    ("provider", "more", "sentence"),
    [
        ("bedrock", {}, "There is no key for Bedrock. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_"),
        ("bedrock", {"AWS_ACCESS_KEY_ID": "x"}, "There is no key for Bedrock. Set "),
        ("bedrock", {"AWS_PROFILE": "nobody"}, "There is no key for Bedrock. Set "),
        ("bedrock", {"AWS_SECRET_ACCESS_KEY": "x"}, "There is no key for Bedrock. Set "),
        ("bedrock", PAIR, "There is no region for Bedrock. Set AWS_REGION, then restart"),
        ("vertex", {}, "There are no credentials for Vertex AI. Run `gcloud auth "),
        (
            "vertex",
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": "/none"},
            "There are no credentials for Vertex AI. Run `gcloud auth ",
        ),
    ],
)
def test_what_is_missing_is_named(provider: str, more: dict[str, str], sentence: str) -> None:
    error = asyncio.run(failed(Providers(more={provider: more}), provider))
    assert isinstance(error, ProviderAuthError)
    assert error.message.startswith(sentence)
    assert error.message.endswith(", then restart the speaker.")


def test_vertex_asks_for_a_token_and_calls_its_project(tmp_path: Path) -> None:
    async def called(server: Wire) -> None:
        file = service_account(tmp_path, f"{server.url('vertex')}/token")
        more = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "GOOGLE_CLOUD_LOCATION": "eu"}
        known = Providers({}, {"vertex": server.url("vertex")}, more={"vertex": more})
        assert known.defaults() == ("local",)
        router = Router(known, Understudy())
        await router.speak(call("vertex:gemini-2.5-flash"), nothing)
        await router.speak(call("vertex:gemini-2.5-flash"), nothing)
        await router.aclose()
        assert len(server.signed) == 1, "one token serves many calls"
        first, _ = server.requests
        place = "/projects/project-of-the-file/locations/eu/publishers/google/models/"
        assert place in first.path
        assert first.headers["authorization"] == f"Bearer {wire.ACCESS}"
        secret = json.loads(file.read_text())["private_key"][40:80]
        assert secret not in str(server.requests) + str(server.signed)

    run(called)


def test_a_package_that_is_missing_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.delitem(sys.modules, "moot.models.vendors.bedrock_converse", raising=False)
    error = asyncio.run(failed(Providers({"bedrock": "k"}), "bedrock"))
    assert isinstance(error, ProviderAbsentError)
    assert error.message == (
        "Bedrock needs a package that is not installed. Install it with: "
        "pip install 'boto3<2,>=1.44', then restart the speaker."
    )
