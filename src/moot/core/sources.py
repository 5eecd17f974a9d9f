"""Sources: documents given to a debate, as numbered passages that a turn can cite and quote.

How a text becomes passages is fixed here, and so is the digest of them: the same text has the same
passages wherever it is read.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

SourceKind = Literal["text", "markdown", "html", "pdf", "docx", "csv", "json", "code"]
HiddenFrom = Literal["judge", "jury"]
MAX_SOURCES = 200
MAX_UPLOADS = 20  # sources of a debate that is asked for over HTTP
MAX_UPLOAD = 25 * 1024 * 1024  # bytes of one
MAX_TEXT = 10 * 1024 * 1024  # characters of one source
MAX_TEXTS = 20 * 1024 * 1024  # characters of all sources of a debate
MAX_TITLE = 200
_LEAST, _USUAL, _MOST = 300, 700, 1000
"""Characters of a passage: paragraphs are joined until it has so many, and a longer one is cut."""
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_HEADING = re.compile(r"#{1,6}\s+\S")
_ENDS = (re.compile(r"\n"), re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]"), re.compile(r"\s+"))
"""Where a long paragraph is cut: at the end of a line, of a sentence, of a word."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source that is short enough to read, and to check a quote against."""

    number: int
    text: str
    page: int | None = None  # of the original, if it has pages


@dataclass(frozen=True, slots=True)
class Source:
    """A document given to a debate. In lists of debates it comes without its text."""

    id: str  # S1, S2 …
    title: str
    origin: str  # the file, the address, or how else it came
    kind: SourceKind
    sha256: str  # of the original
    text_sha256: str  # of the passages
    pages: int | None
    passages: int
    tokens: int
    text: Annotated[tuple[Passage, ...], Field(exclude=True, repr=False)] = ()

    def __hash__(self) -> int:
        return hash((self.id, self.text_sha256))  # cheap; equality tells the rest

    def cited(self, passage: Passage) -> str:
        """What the passage is cited by."""
        return f"{self.id}.{passage.number}"


def split(pages: Iterable[tuple[int | None, str]]) -> tuple[Passage, ...]:
    """The passages of a text: paragraphs, joined if they are short and cut if they are long. None
    goes over the end of a page, and a heading begins a new one."""
    found: list[Passage] = []
    for page, text in pages:
        for piece in _joined(_pieces(text)):
            found.append(Passage(len(found) + 1, piece, page))
    return tuple(found)


def _pieces(text: str) -> Iterator[str]:
    for paragraph in _PARAGRAPH.split(text):
        text = "\n".join(line.rstrip() for line in paragraph.strip("\n").splitlines())
        start = 0
        while len(text) - start > _MOST:
            cut = _cut(text, start)
            yield text[start:cut].rstrip()
            start = cut
            while text.startswith("\n", start):
                start += 1
        if text[start:].strip():
            yield text[start:]


def _cut(text: str, start: int) -> int:
    """Where to cut a text that is too long from there on."""
    for end in _ENDS:
        places = [found.end() for found in end.finditer(text, start + _LEAST, start + _MOST)]
        if places:
            near = [place for place in places if place <= start + _USUAL]
            return near[-1] if near else places[0]
    return start + _MOST


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    passage = ""
    for piece in pieces:
        full = len(passage) >= _LEAST or len(passage) + len(piece) > _USUAL
        if passage and (full or _HEADING.match(piece)):
            yield passage
            passage = ""
        passage = f"{passage}\n\n{piece}" if passage else piece
    if passage:
        yield passage


def digest(passages: Sequence[Passage]) -> str:
    """The SHA-256 of a text: of its passages, each with its page, as JSON."""
    said = [[passage.page, passage.text] for passage in passages]
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def weigh(passages: Sequence[Passage]) -> int:
    """Roughly how many tokens a text takes in a prompt, with its numbers; rather too many."""
    return sum(len(one.text.encode("utf-8", "surrogatepass")) // 3 + 8 for one in passages)


def source(
    title: str,
    origin: str,
    kind: SourceKind,
    sha256: str,
    passages: tuple[Passage, ...],
    *,
    place: int = 1,
) -> Source:
    """A source that was read, as the `place`-th of its debate."""
    paged = [passage.page for passage in passages if passage.page is not None]
    return Source(
        id=f"S{place}",
        title=title,
        origin=origin,
        kind=kind,
        sha256=sha256,
        text_sha256=digest(passages),
        pages=max(paged) if paged else None,
        passages=len(passages),
        tokens=weigh(passages),
        text=passages,
    )
