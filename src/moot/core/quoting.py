"""Quotes in what is said: `[S1.14 "…"]` of a source, `[12 "…"]` of a turn. Each is checked before
its turn is committed; one that fails is marked, and its reference is not kept.

Apart from white space and Unicode form, a quote is one run of what it cites, and at least twelve
characters long.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from moot.core.answers import numbers
from moot.core.sources import Source

SHORTEST = 12
LONGEST = 4000
UNVERIFIED = "unverified"
_MARKS = re.compile("^[\"“”„«»‘’']+|[\"“”„«»‘’']+$")
_S = r"S[0-9]{1,3}\.[0-9]{1,6}"
_TURN = r"(?:[Tt]urn[: ]{0,2})?[0-9]{1,6}"
_LIST = rf"{_S}(?:\s{{0,3}}[,;]\s{{0,3}}{_S}){{0,5}}"
_BETWEEN = r"(?:\s|[:,;–—-]|\b(?:p|pp|page)\.?\s?[0-9]{1,5}\b|\b(?:says|said|states)\b){0,8}"
_OPEN = re.compile(
    rf"(?:\[\s{{0,8}}(?P<turn>{_TURN})|[\[(]\s{{0,8}}(?P<refs>{_LIST})){_BETWEEN}[\"“”„«‘']"
)
_SHUT = re.compile("[\"“”»’']\\s{0,8}[\\])]")
_NO_OTHER = rf"(?![^\"“”„«»\n]*\[(?:{UNVERIFIED}|{_S}|{_TURN}))(?!\s*[\])])"  # between two quotes
_WORDS = rf"[\"“„«]{_NO_OTHER}(?P<words>[^\"“”„«»\n]{{{SHORTEST},{LONGEST}}})[\"”“»]"
_BEHIND = re.compile(rf"{_WORDS}\s{{0,4}}[\[(](?P<refs>{_LIST})[\])]")
_AHEAD = re.compile(rf"[\[(](?P<refs>{_LIST})[\])][\s:,–—-]{{0,3}}{_WORDS}")
_SIGNS = re.compile(r"[\[\]\"“”„«»]")
_MARKED = re.compile(rf"\[{UNVERIFIED} \"(.*?)\"\]", re.DOTALL)
_COPIED = re.compile(r"(?:>+\s*)?(?:\[\d{1,6}\]\s*)?(?:[^:>\[\]\"\n]{1,60}:\s+)?(?:>+\s*)?")
"""How a prompt begins somebody's words: with a number, who it is, and a mark at each line."""
_LINE_MARK = re.compile(r"\n[ \t]*>+[ \t]?")
_CITED = re.compile(r"\[\s{0,8}(S[0-9]{1,3}\.[0-9]{1,6})(?=[\]\s:,])")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote as it stands in a text."""

    start: int
    end: int
    refs: tuple[str, ...]  # "S1.14", or the number of a turn; of several, one must hold it
    words: str
    whole: bool = True  # False: its end is missing

    @property
    def ref(self) -> str:
        return self.refs[0] if self.refs else ""


def normal(text: str) -> str:
    """A text without what copying may change: its white space and its Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


@lru_cache(maxsize=8192)
def _normal(text: str) -> str:
    return normal(text)


def within(words: str, texts: Sequence[str]) -> bool:
    """Whether words are a run of one of the texts, and long enough to be a quote."""
    wanted = normal(_MARKS.sub("", words.strip()))
    return len(wanted) >= SHORTEST and any(wanted in _normal(text) for text in texts)


def _forms(words: str) -> Iterator[str]:
    """Words as they were quoted, and without what a prompt set before them."""
    yield words
    if (bare := _LINE_MARK.sub("\n", _COPIED.sub("", words, count=1))) != words:
        yield bare


def _may_quote(text: str) -> bool:
    return "[" in text or "(S" in text


def quotes(text: str) -> Iterator[Quote]:
    """The quotes of a text, in order. One whose end is missing goes to the end of its line."""
    if not _may_quote(text):
        return
    start = 0
    while opened := _OPEN.search(text, start):
        begin = opened.end()
        following = _OPEN.search(text, begin)
        bound = min(begin + LONGEST, following.start() if following else len(text))
        shut = _SHUT.search(text, begin, bound)
        if shut:
            end, words = shut.end(), text[begin : shut.start()]
        else:
            line = text.find("\n", begin, bound)
            end = bound if line < 0 else line
            words = text[begin:end]
        yield Quote(opened.start(), end, _refs(opened), words, bool(shut))
        start = max(end, begin)


def _refs(found: re.Match[str]) -> tuple[str, ...]:
    if found["refs"]:
        return tuple(dict.fromkeys(re.findall(_S, found["refs"])))
    return (str(int(re.sub(r"\D", "", found["turn"]))),)


def cited(text: str) -> list[str]:
    """The passages that a text cites or quotes, each once."""
    return list(dict.fromkeys(_CITED.findall(text)))


def marked(text: str) -> list[str]:
    """The quotes of a text that are marked as unverified."""
    return _MARKED.findall(text)


def is_marked(words: str) -> bool:
    return words.startswith(f"[{UNVERIFIED} ")


@dataclass(slots=True)
class Checked:
    """What is left of a text or an answer, and the quotes in it that failed."""

    value: Any
    failed: list[Quote] = field(default_factory=list[Quote])


class Shelf:
    """All that can be quoted at a step: the sources, and the turns as the speaker read them."""

    def __init__(self, sources: Sequence[Source], said: Mapping[int, Sequence[str]]) -> None:
        self._sources = sources
        self._passages = {
            source.cited(passage): passage.text for source in sources for passage in source.text
        }
        # what failed in one turn does not become a quote because another repeats it
        self._said = {number: [_MARKED.sub("", text) for text in texts]
                      for number, texts in said.items()}  # fmt: skip

    def holds(self, ref: str, words: str) -> bool:
        if ref.startswith("S"):
            return ref in self._passages and within(words, [self._passages[ref]])
        return within(words, self._said.get(int(ref), ()))

    def _held(self, refs: Sequence[str], words: str) -> tuple[str, str] | None:
        """Which of these holds the words, and the words as they stand there."""
        found = ((ref, form) for form in _forms(words) for ref in refs if self.holds(ref, form))
        return next(found, None)

    def place_of(self, words: str) -> str | None:
        """The first passage that holds the words, if any does."""
        wanted = normal(_MARKS.sub("", words.strip()))
        if len(wanted) < SHORTEST:
            return None
        found = (ref for ref, text in self._passages.items() if wanted in _normal(text))
        return next(found, None)

    # --- whole answers ---

    def checked(self, value: Any) -> Checked:
        """A text or a structured answer, with each quote that fails marked as such."""
        made = Checked(None)
        made.value = self._value(value, made.failed)
        return made

    def _value(self, value: Any, failed: list[Quote]) -> Any:
        if isinstance(value, str):
            return self._text(value, failed)
        if isinstance(value, list):
            return [self._value(one, failed) for one in cast("list[Any]", value)]
        if not isinstance(value, Mapping):
            return value
        part = cast("Mapping[str, Any]", value)
        return {
            key: self._listed(part, failed)
            if key == "quotes" and isinstance(one, list)
            else self._value(one, failed)
            for key, one in part.items()
        }

    def _text(self, text: str, failed: list[Quote]) -> str:
        if not _may_quote(text):
            return text
        text = _AHEAD.sub(self._inside, _BEHIND.sub(self._inside, text))
        kept: list[str] = []
        start = 0
        for quote in quotes(text):
            words = _MARKS.sub("", quote.words.strip())
            held = self._held(quote.refs, words) if quote.whole else None
            if held is None:
                failed.append(quote)
            kept += (text[start : quote.start], _written(*(held or (None, words))))
            start = quote.end
        return "".join((*kept, text[start:]))

    def _inside(self, said: re.Match[str]) -> str:
        """A quote that stands before or behind its citation, in the one form that turns have."""
        refs = re.findall(_S, said["refs"])
        held = next((ref for ref in refs if self.holds(ref, said["words"])), refs[0])
        others = "".join(f" [{ref}]" for ref in dict.fromkeys(refs) if ref != held)
        return f'[{held} "{said["words"]}"]{others}'

    def _listed(self, part: Mapping[str, Any], failed: list[Quote]) -> list[Any]:
        """The quotes of a reason: each says itself what it is of, or is of a turn that the reason
        cites, or of a source."""
        made: list[Any] = []
        turns = [str(number) for number in numbers(part, "turns")]
        for given in cast("list[Any]", part["quotes"]):
            if not isinstance(given, str):
                made.append(given)
                continue
            own = next(quotes(given), None)
            words = _MARKS.sub("", (own.words if own else given).strip())
            if is_marked(given):
                made.append(given)
            elif own and own.whole and (held := self._held(own.refs, words)):
                made.append(_written(*held))
            elif not own and (held := self._held(turns, words)):
                made.append(given if held[1] == words else held[1])
            elif not own and (ref := self.place_of(words)):
                made.append(_written(ref, words))
            else:
                failed.append(own or Quote(0, len(given), (), words))
                made.append(_written(None, words))
        return made


def collapsed(text: str) -> str:
    """A text whose sentences can be taken apart: no piece of a quote loses its mark."""
    if not _may_quote(text):
        return text
    text = _MARKED.sub(f"[{UNVERIFIED} quote]", text)
    kept: list[str] = []
    start = 0
    for quote in quotes(text):
        if re.search(r"[.!?…。！？]", quote.words):
            kept += (text[start : quote.start], f"[{quote.ref}]")
            start = quote.end
    return "".join((*kept, text[start:]))


def _written(ref: str | None, words: str) -> str:
    """In one line: a view that breaks texts at their lines must not tear a quote from its mark."""
    line = " ".join(words.split())
    if ref:
        return f'[{ref} "{line}"]'
    return f'[{UNVERIFIED} "{_SIGNS.sub("", line).strip()}"]'  # no reference is kept in it either


def problem(failed: Sequence[Quote]) -> str:
    """What is wrong with quotes, in words for the one who gave them."""
    told = [
        f"“{' '.join(quote.words.split())[:120]}” is not in {_place(quote.ref)}"
        for quote in failed[:6]
    ]
    return (
        f"{'; '.join(told)}. A quote must be copied word for word, in one piece, without an "
        f"ellipsis, and be at least {SHORTEST} characters long. Copy it again, cite the passage "
        "without quoting it, or leave it out"
    )


def _place(ref: str) -> str:
    if not ref:
        return "what it cites"
    return f"passage {ref}" if ref.startswith("S") else f"turn {ref}"
