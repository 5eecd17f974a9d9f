"""The contract of providers: the whole on every wire format, and the cheap part on every row."""

from moot.models.providers import VENDORS
from moot.testing.provider_calls import Subject
from moot.testing.provider_contract import ProviderContract, RowContract
from moot.testing.wires.dialects import DIALECTS

WIRES = {
    "openai_responses": "openai",
    "anthropic_messages": "claude",
    "google_gemini": "gemini",
    "google_vertex": "vertex",
    "bedrock_converse": "bedrock",
    "openai_chat": "local",
}
"""The format that each module of models/vendors speaks."""


class TestResponses(ProviderContract):
    subject = Subject("openai", "openai", "gpt-5-mini")


class TestMessages(ProviderContract):
    subject = Subject("claude", "claude", "claude-sonnet-4-6")


class TestGenerateContent(ProviderContract):
    subject = Subject("gemini", "gemini", "gemini-2.5-flash")


class TestVertex(ProviderContract):
    subject = Subject("vertex", "vertex", "gemini-2.5-flash")


class TestConverse(ProviderContract):
    subject = Subject(
        "bedrock", "bedrock", "global.anthropic.claude-sonnet-5-5", counts_thoughts=False
    )


class TestChat(ProviderContract):
    subject = Subject("local", "local", "qwen2.5:7b")


class TestOllama(ProviderContract):
    subject = Subject(
        "ollama",
        "ollama",
        "qwen2.5:7b",
        without=frozenset({"refusal"}),  # its models decline in words
        counts_thoughts=False,
        tools=False,  # it is given a grammar instead
    )


WHOLE = {one.subject.provider for one in ProviderContract.__subclasses__()}
CALLED = [row for row in VENDORS if not row.command]  # programs: tests/integration/test_programs.py
ROWS = [row.name for row in CALLED if row.name not in WHOLE]


def _row(name: str) -> type[RowContract]:
    row = VENDORS[name]
    subject = Subject(name, WIRES[row.api], row.model or "gpt-5-mini", apart=name == "xai")
    return type(f"Test_{name.replace('.', '_')}", (RowContract,), {"subject": subject})


globals().update({kind.__name__: kind for kind in map(_row, ROWS)})


def test_every_row_speaks_a_format_that_the_suite_has() -> None:
    assert {row.api for row in CALLED} == set(WIRES)
    assert {one.subject.wire for one in ProviderContract.__subclasses__()} == set(DIALECTS)
    assert len(VENDORS.rows) >= 20
    assert len(ROWS) >= 12
