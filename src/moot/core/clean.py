"""A model's reply → the text that is committed: one voice, and nothing that hides.

Every step takes away and joins nothing that it parted, so cleaning twice changes nothing; every
pattern is anchored or bounded, so that a hostile reply costs no more than its length.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from moot.core.writing import SENTENCE_END, shortened, whole_words

MAX_DEPTH = 50  # levels of a structured answer; the deepest of ours has four
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,.;!?'\"()$%&/+=-]*")
_TERMINAL = re.compile(r"\x1b\[[0-?]{0,32}[ -/]{0,8}[@-~]")
_LINE_ENDS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls, once the line ends are normal
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"  # invisible on their own
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # zero width, direction
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags: letters that nobody sees
    "\ufdd0-\ufdef\ufffe\uffff"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(1 << 16, 17 << 16, 1 << 16)
    )
    + "]+"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_JOINERS = re.compile("[\u200c\u200d]+")
_VARIANTS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_BLANK = re.compile(r"\n{3,}")

_THOUGHT = re.compile(
    r"<(/?)(?:think|thinking|thought|reasoning|reflection)>|\[(/?)think\]", re.IGNORECASE
)
_FENCE = re.compile(r"```[\w+-]{0,20}\n")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»", "»": "«", "「": "」"}


def clean(text: str, speaker: str, others: Sequence[str], cut: bool = False) -> str:
    """Keep what the speaker said, and nothing else; "" if nothing is left.

    `cut` says that the token limit stopped the model: the text then ends with its last full
    sentence or, where that would cost more than half of it, with its last whole word and an
    ellipsis.
    """
    text = text.strip()
    if not cut and _PLAIN.fullmatch(text):
        return text  # nothing in it could be a label, a tag, a wrapping or a hidden character
    text = _own_words(_without_thoughts(_visible(text)), speaker, others)
    while cut and (ended := _ended(text)) != text:
        text = _own_words(ended, speaker, others)
    return text


def one_line(text: str, limit: int) -> str:
    """A name or a label: visible characters on one line, at most `limit` of them."""
    line = " ".join(_visible(text).split())[:limit]
    return line.rstrip("\u200c\u200d" + " ").rstrip()


def visible(value: Any) -> Any:
    """A structured answer with nothing hidden in any of its texts and names. ValueError if it is
    nested too deep to be one."""
    return _shown(value, MAX_DEPTH)


def _shown(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _visible(value).strip()
    if not isinstance(value, Mapping | list | tuple):
        return value
    if not depth:
        raise ValueError(f"the answer is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        given = cast(Mapping[Any, Any], value)
        return {_shown(key, 1): _shown(part, depth - 1) for key, part in given.items()}
    return [_shown(part, depth - 1) for part in cast(Sequence[Any], value)]


def _visible(text: str) -> str:
    """Take out what a reader cannot see, and make every line end a newline."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text  # most replies are that plain
    if _SURROGATE.search(text):  # halves that belong together are joined, the others go
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    text = _LINE_ENDS.sub("\n", _TERMINAL.sub("", text))
    text = _HIDDEN.sub("", text)
    return _JOINERS.sub(_joiner, _VARIANTS.sub(_variant, text))


def _joiner(run: re.Match[str]) -> str:
    """One joiner stays between two letters of a joining script, or two parts of an emoji."""
    whole, (start, end) = run.string, run.span()
    joins = start > 0 and end < len(whole) and _joinable(whole[start - 1]) and _joinable(whole[end])
    return run[0][0] if joins else ""


def _variant(run: re.Match[str]) -> str:
    """One variation selector stays behind a character that can have variants."""
    before = run.string[run.start() - 1] if run.start() else " "
    return run[0][0] if before in "0123456789#" or _joinable(before) else ""


def _joinable(char: str) -> bool:
    return char > "\x7f" and unicodedata.category(char)[0] in "LMNS"


def _without_thoughts(text: str) -> str:
    """Drop what stands between the tags of a reasoning block.

    A closing tag without its opening takes all that stands before it: some servers swallow the
    opening one. An opening tag that is never closed takes all that follows.
    """
    if "<" not in text and "[" not in text:
        return text.strip(" \t")
    kept: list[str] = []
    start, inside = 0, False
    for tag in _THOUGHT.finditer(text):
        closing = bool(tag[1] or tag[2])
        if not closing and not inside:
            kept.append(text[start : tag.start()])
            inside = True
        elif closing:
            kept = kept if inside else []
            start, inside = tag.end(), False
    if not inside:
        kept.append(text[start:])
    # A space keeps the two sides from forming a new tag.
    return " ".join(part.strip(" \t") for part in kept)


def _own_words(text: str, speaker: str, others: Sequence[str]) -> str:
    """Take off labels, lines of others and wrappings, until none of them uncovers another.

    A wrapping comes off only if its mark is nowhere inside: each kind can do so once.
    """
    labels = _labels(speaker, tuple(others))
    while True:
        text = _tidy(text)
        if labels:
            voiced = _one_voice(text, *labels)
            text = text if voiced == text else _tidy(voiced)
        bare = _unwrapped(text)
        if bare == text:
            return text
        text = bare


def _tidy(text: str) -> str:
    if "\n" not in text:
        return text.strip()
    lines = "\n".join([line.rstrip() for line in text.split("\n")])
    return (_BLANK.sub("\n\n", lines) if "\n\n\n" in lines else lines).strip()


@lru_cache(maxsize=1024)
def _labels(own: str, others: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]] | None:
    """How a line says who speaks: at the beginning of any line, and right here."""
    names = [one_line(name, 200) for name in (own, *others)]
    mine, known = _pattern(names[:1]), _pattern(names)
    if not known:
        return None
    mark, gap = r"[*_]{0,3}", r"[^\S\n]{0,8}"
    aside = rf"(?:{gap}\([^()\n]{{0,60}}\)(?:{gap}said)?)?"
    number = rf"(?:\[\d{{1,6}}\]{gap})?"  # of a turn, as prompts quote it
    name = rf"(?:(?P<own>{mine})|{known})" if mine else f"(?P<own>(?!))?(?:{known})"
    label = (
        rf"[^\S\n]*(?P<head>#{{1,6}}{gap})?(?P<open>{mark}){number}(?P<box>\[?){name}\]?"
        rf"(?P<shut>{mark}){aside}(?P<shut2>{mark}){gap}"
        rf"(?:[:\uff1a](?P<shut3>{mark})|(?P<bare>$))"
    )
    flags = re.IGNORECASE | re.MULTILINE
    return re.compile("^" + label, flags), re.compile(label, flags)


def _pattern(names: Sequence[str]) -> str:
    spoken = sorted((name for name in names if any(map(str.isalnum, name))), key=len)
    return "|".join(re.escape(name).replace(r"\ ", r"[^\S\n]{1,8}") for name in reversed(spoken))


def _one_voice(text: str, at_line: re.Pattern[str], here: re.Pattern[str]) -> str:
    """Strip the speaker's labels; from another's label on, drop all up to the speaker's next."""
    kept: list[str] = []
    position, mine = 0, True
    for found in _at_lines(text, at_line):
        if not _is_label(found):
            continue
        if mine:
            kept.append(text[position : found.start()])
        end = text.find("\n", found.end())
        position = end = len(text) if end < 0 else end
        label, last = found, found
        while label and _is_label(label):  # one label may follow another: the last one decides
            last = label
            closed = label["shut"] or label["shut2"] or label["shut3"]
            if not closed and text.endswith(label["open"], label.end(), end):
                end -= len(label["open"])
            label = here.match(text, label.end(), end)
        was_mine, mine = mine, last["own"] is not None
        if mine:
            kept.append(("" if was_mine else "\n\n") + text[last.end() : end].strip())
    if mine:
        kept.append(text[position:])
    return "".join(kept)


def _at_lines(text: str, at_line: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """What `finditer` gives for a pattern of one line, without trying every character."""
    start = 0
    while True:
        if found := at_line.match(text, start):
            yield found
        start = text.find("\n", start) + 1
        if not start:
            return


def _is_label(label: re.Match[str]) -> bool:
    """Without a colon, only a heading or a marked-up name alone on its line is a label."""
    return label["bare"] is None or bool(label["head"] or label["open"] or label["box"])


def _unwrapped(text: str) -> str:
    """Take off a code fence or a pair of quotation marks around the whole."""
    if (fence := _FENCE.match(text)) and text.endswith("\n```"):
        inner = text[fence.end() : -3]
        return text if "```" in inner else inner.strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        inner = text[1:-1]
        return text if text[0] in inner or text[-1] in inner else inner.strip()
    return text


def _ended(text: str) -> str:
    """End a text that was cut off: at its last full sentence, if that is in the latter half."""
    ends = [found.end() for found in SENTENCE_END.finditer(text, len(text) // 2)]
    if not text or (ends and ends[-1] == len(text)):
        return text
    return text[: ends[-1]] if ends else shortened(whole_words(text))


def escape(text: str) -> str:
    """Model text in Markdown is untrusted: no raw HTML, no image, no link of its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("[", "\\[")
