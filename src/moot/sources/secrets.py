"""Whether a text holds what looks like a key: nothing like that leaves the machine unasked."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_LOOKS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        ("a private key", r"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
        ("an AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
        ("an Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
        ("an OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
        ("a Google API key", r"\bAIza[0-9A-Za-z_-]{35}"),
        ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
        ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("a Slack webhook", r"https://hooks\.slack\.com/services/T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/"),
        ("a Stripe key", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        ("a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
        ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("a PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
        ("a signed web token", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
        (
            "a password in an address",
            r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@<>\"']{1,64}:[^\s/:@<>\"'{}$]{3,128}@[A-Za-z0-9]",
        ),
    )
)  # fmt: skip
_ASSIGNED = re.compile(
    r"(?i)[\"']?\b[a-z0-9_.-]{0,40}(?:api[_-]?key|secret|passwd|password|access[_-]?token|auth"
    r"[_-]?token|private[_-]?key)[a-z0-9_.-]{0,20}[\"']?\s{0,4}(?::|=>|=)\s{0,4}"
    r"[\"']?([A-Za-z0-9+/_=.~-]{16,200})"
)
_PLACEHOLDER = re.compile(
    r"(?i)example|changeme|placeholder|your[_-]|xxxx|dummy|redacted|\*{3}|<|\$\{"
)
_LEAST = 3.2  # bits per character of what chance picked, and no word


@dataclass(frozen=True, slots=True)
class Secret:
    """Something that looks like a key, and where."""

    line: int
    what: str


def secrets(text: str) -> Iterator[Secret]:
    """What looks like a key, each line once."""
    for number, line in enumerate(text.split("\n"), start=1):
        if (what := _looks(line)) is not None:
            yield Secret(number, what)


def _looks(line: str) -> str | None:
    for start in range(0, max(len(line), 1), 4000):  # a line may be a whole file
        part = line[max(start - 300, 0) : start + 4000]
        for what, pattern in _LOOKS:
            if pattern.search(part):
                return what
        for found in _ASSIGNED.finditer(part):
            if not _PLACEHOLDER.search(found[0]) and _by_chance(found[1]):
                return "a key or a password"
    return None


def _by_chance(value: str) -> bool:
    """Whether a value is more likely picked by chance than written by somebody."""
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and bits >= _LEAST
