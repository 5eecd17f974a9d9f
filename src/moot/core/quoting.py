"""Quotes in what is said: `[S1.14 "…"]` of a source, `[12 "…"]` of a turn. Each is checked before
its turn is committed; one that fails is marked, and its reference is not kept.

Apart from white space, Unicode form, and how quotation marks and dashes are drawn, a quote is one
run of what it cites, and at least twelve characters long.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, cast

from moot.core.answers import numbers
from moot.core.sources import Source
from moot.core.spellings import LONGEST, SHORTEST, UNVERIFIED, unified

MAX_TOLD = 6  # quotes that failed and that their speaker is told of
_MARKS = re.compile("^[\"“”„«»‘’']+|[\"“”„«»‘’']+$")
_S = r"S[0-9]{1,3}\.[0-9]{1,6}"
_TURN = r"(?:[Tt]urn[: ]{0,2})?[0-9]{1,6}"
_LIST = rf"{_S}(?:\s{{0,3}}[,;]\s{{0,3}}{_S}){{0,5}}"
_BETWEEN = r"(?:\s|[:,;–—-]|\b(?:p|pp|page)\.?\s?[0-9]{1,5}\b|\b(?:says|said|states)\b){0,8}"
_OPEN = re.compile(
    rf"(?:\[\s{{0,8}}(?P<turn>{_TURN})|[\[(]\s{{0,8}}(?P<refs>{_LIST})){_BETWEEN}[\"“”„«‘']"
)
_SHUT = re.compile("[\"“”»’']\\s{0,8}[\\])]")
_SIGNS = re.compile(r"[\[\]\"“”„«»]|\((?=[\s\[(]{0,8}S[0-9])")
_MARKED = re.compile(rf"\[{UNVERIFIED} \"(.*?)\"\]", re.DOTALL)
_COPIED = re.compile(r"(?:>+\s*)?(?:\[\d{1,6}\]\s*)?(?:[^:>\[\]\"\n]{1,60}:\s+)?(?:>+\s*)?")
"""How a prompt begins somebody's words: with a number, who it is, and a mark at each line."""
_LINE_MARK = re.compile(r"\n[ \t]*>+[ \t]?")
_REF = re.compile(r"[Ss][0-9]{1,3}\.[0-9]|\([Tt]urn")
_DRAWN = str.maketrans(
    dict.fromkeys("‘’‚‛′`", "'") | dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
)
_CITED = re.compile(r"\[\s{0,8}(S[0-9]{1,3}\.[0-9]{1,6})(?=[\]\s:,])")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote as it stands in a text."""

    start: int
    end: int
    refs: tuple[str, ...]  # "S1.14", or the number of a turn; of several, one must hold it
    words: str
    whole: bool = True  # False: its end is missing
    stands: str = ""  # of one that failed: another passage that does hold the words

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


def _is_short(words: str) -> bool:
    """By the characters that were written: ½ is one, though its normal form has three."""
    return len(" ".join(unicodedata.normalize("NFC", words).split())) < SHORTEST


def _forms(words: str) -> Iterator[str]:
    """Words as they were quoted, and without what a prompt set before them."""
    yield words
    if (told := _LINE_MARK.sub("\n", _COPIED.sub("", words, count=1))) != words:
        yield told


def bare(text: str) -> str:
    """A text without what a copy may change: white space, Unicode form, and how quotation marks and
    dashes are drawn, which models and PDFs draw as they like."""
    text = unicodedata.normalize("NFKC", text).translate(_DRAWN)
    return "".join(text.split())


@lru_cache(maxsize=8192)
def _bare(text: str) -> str:
    return bare(text)


def may_quote(text: str) -> bool:
    """Whether a text may hold quotes that name what they are of. Most hold none."""
    return "[" in text or _REF.search(text) is not None


def quotes(text: str) -> Iterator[Quote]:
    """The quotes of a text, in order. One whose end is missing goes to the end of its line."""
    if not may_quote(text):
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


class _Passages:
    """The passages of some sources, to find words in."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.text = {one.cited(passage): passage.text for one in sources for passage in one.text}
        self._refs = list(self.text)
        self._ids = {source.id for source in sources}
        self._starts: list[int] = []
        self._all = ""

    def knows(self, source: str) -> bool:
        return source in self._ids

    def place_of(self, wanted: str, source: str = "") -> str | None:
        """The first passage, perhaps of that source, that holds the words."""
        if not self._starts:
            self._join()
        at = -1
        while (at := self._all.find(wanted, at + 1)) >= 0:
            ref = self._refs[bisect_right(self._starts, at) - 1]
            if not source or ref.startswith(f"{source}."):
                return ref
        return None

    def _join(self) -> None:
        parts = [bare(text) for text in self.text.values()]
        self._all = "\n".join(parts)
        self._starts = list(accumulate((len(part) + 1 for part in parts[:-1]), initial=0))


@lru_cache(maxsize=4)
def _passages(sources: tuple[Source, ...]) -> _Passages:
    return _Passages(sources)


class Shelf:
    """All that can be quoted at a step: the sources, and the turns as the speaker read them."""

    def __init__(self, sources: Sequence[Source], said: Mapping[int, Sequence[str]]) -> None:
        self._passages = _passages(tuple(sources))
        self._said = said

    def _texts(self, number: int) -> list[str]:
        # what failed in one turn does not become a quote because another repeats it
        return [_MARKED.sub("", text) for text in self._said.get(number, ())]

    def holds(self, ref: str, words: str) -> bool:
        words = _MARKS.sub("", words.strip())
        if _is_short(words):
            return False
        of_source = ref.startswith("S")
        texts = [self._passages.text.get(ref, "")] if of_source else self._texts(int(ref))
        wanted = bare(words)
        return any(wanted in _bare(text) for text in texts)

    def _held(self, refs: Sequence[str], words: str) -> tuple[str, str] | None:
        """Which of these holds the words, and the words as they stand there."""
        found = ((ref, form) for form in _forms(words) for ref in refs if self.holds(ref, form))
        return next(found, None)

    def place_of(self, words: str, source: str = "") -> str | None:
        """The first passage that holds the words, if any does."""
        words = _MARKS.sub("", words.strip())
        if _is_short(words):
            return None
        return self._passages.place_of(bare(words), source)

    def _pick(self, refs: Sequence[str], words: str) -> tuple[str, Sequence[str]] | None:
        """Of the references of a quote the one that holds it, and the others. None if they are
        those of a turn or a source that there is not."""
        if refs[0].isdigit():
            return (str(int(refs[0])), ()) if int(refs[0]) in self._said else None
        if "." not in refs[0]:
            if not self._passages.knows(refs[0]):
                return None
            return self.place_of(words, refs[0]) or f"{refs[0]}.0", ()
        held = next((ref for ref in refs if self.holds(ref, words)), None)
        return held or refs[0], [ref for ref in refs if held and ref != held]

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
        if not may_quote(text):
            return text
        text = unified(text, self._pick)
        kept: list[str] = []
        start = 0
        for quote in quotes(text):
            words = _MARKS.sub("", quote.words.strip())
            held = self._held(quote.refs, words) if quote.whole else None
            if held is None:
                failed.append(self._told(quote, words, len(failed)))
            kept += (text[start : quote.start], _written(*(held or (None, words))))
            start = quote.end
        return "".join((*kept, text[start:]))

    def _told(self, quote: Quote, words: str, before: int) -> Quote:
        """A quote that failed, with where its words do stand, if its speaker will be told."""
        stands = self.place_of(words) if before < MAX_TOLD else None
        return replace(quote, stands=stands or "")

    def _copied(self, turns: Sequence[str], words: str) -> str | None:
        """The words as they stand in one of those turns. What holds without naming its turn is
        counted by `outcome.quotes`, which knows no other drawing of a dash."""
        said = [text for number in turns for text in self._texts(int(number))]
        return next((form for form in _forms(words) if within(form, said)), None)

    def _listed(self, part: Mapping[str, Any], failed: list[Quote]) -> list[Any]:
        """The quotes of a reason: each says itself what it is of, or is of a turn that the reason
        cites, or of a source."""
        made: list[Any] = []
        turns = [str(number) for number in numbers(part, "turns")]
        for given in cast("list[Any]", part["quotes"]):
            if not isinstance(given, str):
                made.append(given)
                continue
            given = given if is_marked(given) else unified(given, self._pick)
            own = next(quotes(given), None)
            words = _MARKS.sub("", (own.words if own else given).strip())
            if is_marked(given):
                made.append(given)
            elif own and own.whole and (held := self._held(own.refs, words)):
                made.append(_written(*held))
            elif not own and (form := self._copied(turns, words)):
                made.append(given if form == words else form)
            elif not own and (ref := self.place_of(words)):
                made.append(_written(ref, words))
            else:
                failed.append(own or Quote(0, len(given), (), words))
                made.append(_written(None, words))
        return made


def collapsed(text: str) -> str:
    """A text whose sentences can be taken apart: no piece of a quote loses its mark."""
    if not may_quote(text):
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
        + (f" but in {_place(quote.stands)}" if quote.stands else "")
        for quote in failed[:MAX_TOLD]
    ]
    return (
        f"{'; '.join(told)}. A quote must be copied word for word, in one piece, without an "
        f"ellipsis, and be at least {SHORTEST} characters long. Copy it again, cite the passage "
        "without quoting it, or leave it out"
    )


def _place(ref: str) -> str:
    if not ref:
        return "what it cites"
    if ref.endswith(".0"):
        return f"source {ref.removesuffix('.0')}"
    return f"passage {ref}" if ref.startswith("S") else f"turn {ref}"
