"""Whether a text holds what looks like a key: nothing like that leaves the machine unasked."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Look = tuple[str, re.Pattern[str]]
_LOOKS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (what, tuple(parts.split()), re.compile(pattern))
    for what, parts, pattern in (
        ("a private key", "PRIVATE",
         r"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
        ("an AWS access key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
        ("an Anthropic key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
        ("an OpenAI key", "sk-", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
        ("a Google API key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}"),
        ("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
         r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
        ("a GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("a Slack token", "xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("a Slack webhook", "hooks.slack.com",
         r"https://hooks\.slack\.com/services/T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/"),
        ("a Stripe key", "k_live_ k_test_", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        ("a SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        ("a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
        ("an npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("a PyPI token", "pypi-", r"\bpypi-[A-Za-z0-9_-]{50,}"),
        ("a signed web token", "eyJ", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
        (
            "a password in an address", "://",
            r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@<>\"']{1,64}:[^\s/:@<>\"'{}$]{3,128}@[A-Za-z0-9]",
        ),
    )
)  # fmt: skip
"""What it is, what of it is always there, and how all of it looks. Most texts hold nothing of what
is always there, and are done."""
_NAMES = ("key", "secret", "passw", "token")
_ASSIGNED = re.compile(
    r"(?i)(?:api[_-]?key|secret|passwd|password|access[_-]?token|auth[_-]?token|private[_-]?key)"
    r"[a-z0-9_.-]{0,20}[\"']?\s{0,4}(?::|=>|=)\s{0,4}"
    r"[\"']?([A-Za-z0-9+/_=.~-]{16,200})"
)
_NAME = re.compile(r"[\w.-]+$")  # the beginning of what it is assigned to
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
    looks = [(what, pattern) for what, always, pattern in _LOOKS if any(a in text for a in always)]
    low = text.lower()
    assigned = any(name in low for name in _NAMES)
    if not looks and not assigned:
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if (what := _looks(line, looks, assigned)) is not None:
            yield Secret(number, what)


def _looks(line: str, looks: Sequence[Look], assigned: bool) -> str | None:
    for start in range(0, max(len(line), 1), 4000):  # a line may be a whole file
        part = line[max(start - 300, 0) : start + 4000]
        for what, pattern in looks:
            if pattern.search(part):
                return what
        for found in _ASSIGNED.finditer(part) if assigned else ():
            named = _NAME.search(part, max(found.start() - 40, 0), found.start())
            whole = (named[0] if named else "") + found[0]
            if not _PLACEHOLDER.search(whole) and _by_chance(found[1]):
                return "a key or a password"
    return None


def _by_chance(value: str) -> bool:
    """Whether a value is more likely picked by chance than written by somebody."""
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and bits >= _LEAST
