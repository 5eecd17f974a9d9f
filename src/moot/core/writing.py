"""How people write, in whichever script: where words and sentences end."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
"""Scripts that put no space between words: Chinese and Japanese."""
RUNNING = f"{CJK}\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Those, and Thai, Lao, Tibetan, Burmese and Khmer."""
_CLOSING = "\"'”’»)\\]*_」』）》】"
_ABBREVIATED = "".join(
    rf"(?<!\b{short})"  # a letter alone is one: "e.g.", "z. B.", "J. Smith"
    for short in (
        r"[^\W\d_]", "vs", "cf", "Dr", "Mr", "Mrs", "Prof", "Nr", "ca", "bzw", "Sr", "Sra",
        "ex", "ej",
    )
)  # fmt: skip
SENTENCE_END = re.compile(
    rf"(?:(?:{_ABBREVIATED}(?<!\s\d)(?<!\s\d\d)(?<!^\d)\.|[!?…؟])[.!?…؟]*[{_CLOSING}]{{0,3}}(?=\s|$)"
    rf"|[!?…]+[{_CLOSING}]{{0,3}}(?=[{CJK}])"
    # the full stops of other scripts, which end a sentence wherever they stand
    rf"|[\u3002\uff01\uff1f\uff0e\uff61\u0964\u0965\u06d4\u0589\u1362\u1367\u17d4\u104b\u0f0d]"
    rf"[{_CLOSING}]{{0,3}})"
)
"""An end of a sentence. A number with a full stop ends none: "am 3. Mai", "1. First"."""
_TOKEN = re.compile(rf"[{RUNNING}]+|[^\W_{RUNNING}](?:[^\W_{RUNNING}]|['’](?=[^\W_{RUNNING}]))*")
_UNIT = re.compile(rf"[{RUNNING}]|[^\s{RUNNING}]+")
_RUNS = re.compile(f"[{RUNNING}]")
_LAST_WORD = re.compile(r"(?<=\S)\s+\S+$")
_OPEN = " \t\n,;:،、，；：-–—("
_SHARE = 0.6  # of a word that a character of a script without spaces takes


def words(text: str) -> list[str]:
    """The words of a text, without their marks; where nothing parts words, as in Chinese, the pairs
    of characters that stand side by side."""
    text = text.casefold()
    if not text.isascii():
        # vowel signs are no letters to a regular expression, and would part the word
        text = "".join(char for char in text if unicodedata.category(char)[0] != "M")
    return [part for found in _TOKEN.findall(text) for part in _pairs(found)]


def _pairs(token: str) -> Iterator[str]:
    if len(token) == 1 or not _running(token[0]):
        yield token
    else:
        yield from (token[at : at + 2] for at in range(len(token) - 1))


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with its end."""
    ends = [0, *(found.end() for found in SENTENCE_END.finditer(text)), len(text)]
    parts = (text[start:end].strip() for start, end in pairwise(ends))
    return [part for part in parts if part]


def clipped(text: str, count: int) -> str:
    """The beginning of a text, of about that many words, with an ellipsis if it is not all of it.
    It ends between words, or between characters where nothing parts words."""
    taken = 0.0
    for unit in _UNIT.finditer(text):
        alone = _running(unit[0])
        # what has no space for long, such as a link, counts as the words that it could be
        taken += _SHARE if alone else max(len(unit[0]) / 24, 1.0)
        if taken > count:
            return shortened(text[: unit.start()])
    return text


def shortened(text: str) -> str:
    """A text that goes on, without what is begun at its end."""
    text = text.rstrip(_OPEN)
    return f"{text}…" if _running(text[-1:]) else f"{text} …".lstrip()


def whole_words(text: str) -> str:
    """A text that was cut off anywhere, up to its last whole word, if it has spaces to tell."""
    text = text.rstrip("\ufffd")
    if not text or text[-1].isspace() or _running(text[-1]) or text[-1] in _OPEN:
        return text.rstrip()
    return _LAST_WORD.sub("", text)


def _running(char: str) -> bool:
    return _RUNS.match(char) is not None
