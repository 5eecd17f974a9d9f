"""A source as its file in the debate's folder: `sources/S1.md`, written and read back the same."""

import json
import re

from moot.core.sources import Passage, Source

_HEAD = re.compile(r"## S[0-9]+\.([0-9]+)(?: · page ([0-9]+))?")
_LIKE_HEAD = re.compile(r"^(\\*)(## S[0-9])", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*## S[0-9])", re.MULTILINE)


def name(source: Source) -> str:
    return f"sources/{source.id}.md"


def document(source: Source) -> str:
    """What it is and where it came from, then its passages, each under its number."""
    paged = [f"pages: {source.pages}"] if source.pages is not None else []
    head = [
        "---",
        f"source: {source.id}",
        f"title: {json.dumps(source.title, ensure_ascii=False)}",
        f"origin: {json.dumps(source.origin, ensure_ascii=False)}",
        f"kind: {source.kind}",
        *paged,
        f"sha256: {source.sha256}",
        f"text_sha256: {source.text_sha256}",
        f"passages: {source.passages}",
        f"tokens: {source.tokens}",
        "---",
    ]
    parts = ["\n".join(head)]
    for passage in source.text:
        page = f" · page {passage.page}" if passage.page is not None else ""
        parts.append(f"## {source.cited(passage)}{page}")
        parts.append(_LIKE_HEAD.sub(r"\\\1\2", passage.text))
    return "\n\n".join(parts) + "\n"


def passages(text: str) -> tuple[Passage, ...]:
    """The passages of such a file. Raises ValueError if it does not have their form."""
    _, _, body = text.removeprefix("---\n").partition("\n---\n")
    found: list[Passage] = []
    head: re.Match[str] | None = None
    lines: list[str] = []

    def close() -> None:
        if head is not None:
            said = "\n".join(lines).removeprefix("\n").removesuffix("\n")
            page = int(head[2]) if head[2] else None
            found.append(Passage(int(head[1]), _ESCAPED.sub(r"\1", said), page))

    for line in body.removesuffix("\n").split("\n"):
        if begun := _HEAD.fullmatch(line):
            if head is not None and lines and not lines[-1]:
                lines.pop()  # the blank line before this heading
            close()
            head, lines = begun, []
        elif head is not None:
            lines.append(line)
        elif line.strip():
            raise ValueError("there is text before its first passage")
    close()
    if [one.number for one in found] != list(range(1, len(found) + 1)):
        raise ValueError("its passages are not numbered one after the other")
    return tuple(found)
