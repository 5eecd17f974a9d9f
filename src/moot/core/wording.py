"""Whether a field of an answer is language, and where it may end: what small models get wrong when
a grammar holds them to a shape."""

import re
from collections import Counter
from functools import lru_cache
from unicodedata import category, name

_NEAR = 40  # characters in which the end of a word is looked for; some scripts have no spaces
_GLUED = 16  # letters from which on words that run together are not one long word
_LONGEST = 45  # letters of one word, in scripts that set words apart
_FEWEST = 8  # characters of which half must be words
_PARTS = 3
_BINDING = frozenset({"and", "for", "not", "of", "that", "the", "with", "would"})
_COMMON = _BINDING | {"a", "as", "at", "be", "by", "in", "is", "it", "no", "on", "or", "to", "we"}
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"[\\/{}<>=()\[\]|`@#$%&*+~_\d]|\w\.\w")
_RUN_ON = re.compile(r"[^\W\d_][,;!?][^\W\d_]")
_STUTTER = re.compile(r"([^\W\d_])\1{7,}|\b(\w+)(?:\W+\2\b){5,}")
_SENTENCE = re.compile(r".*[.!?。！？।؟](?=\s)", re.DOTALL)


def shortened(text: str, most: int) -> str:
    """At most that many characters, the last of them no part of a word."""
    return ended(text[: most - 1]) if len(text) > most else text


def ended(text: str) -> str:
    """What was cut off behind the last letter of `text`: its last word may be a part of one."""
    if (sentence := _SENTENCE.match(text)) and 2 * len(sentence[0]) > len(text):
        return sentence[0]
    words, near = text, text[-_NEAR:]
    if any(letter.isspace() for letter in near):
        words = text[: len(text) - len(near.split()[-1])] if not near[-1].isspace() else text
    return words.rstrip().rstrip(",;:-–—").rstrip() + "…"


def unreadable(text: str, known: tuple[str, ...] = ()) -> str | None:
    """Why a text is not language, in words for its model; None if it is. `known` are texts that
    were read before: words of theirs that run together are found, and whoever copies what is no
    language there is not to blame for it."""
    if all(map(_has_words, known)):
        if not any(letter.isalnum() for letter in text):
            return "it has no words"
        if not _has_words(text):
            return "it is signs and hardly any words"
    stutter = _STUTTER.search(text)
    if stutter and not any(stutter[0] in one for one in known):
        return f"it repeats {stutter[1] or stutter[2]!r} without an end"
    for token in text.split():
        if _runs_together(token, known):
            return f"the words of {token[:60]!r} run together: set a space between words"
    return None


@lru_cache(maxsize=64)  # the same known texts are looked at for each field of an answer
def _has_words(text: str) -> bool:
    counts = Counter(text).items()  # each letter is looked up once, however long the text is
    words = sum(count for letter, count in counts if category(letter)[0] in "LMNZ")
    return words > 0 and (len(text) < _FEWEST or 2 * words >= len(text))


def _runs_together(token: str, known: tuple[str, ...]) -> bool:
    letters = sum(letter.isalpha() for letter in token)
    if letters < _GLUED or _CODE.search(token) or _is_unspaced(token):
        return False
    if _RUN_ON.search(token):
        return True
    whole = max(_WORD.findall(token), key=len)
    if any(whole in one for one in known):
        return False
    return len(whole) > _LONGEST or (len(whole) >= _GLUED and _falls_apart(whole, known))


def _is_unspaced(token: str) -> bool:
    """Whether it is of a script that sets no spaces between words."""
    return any(name(letter, "").startswith(_UNSPACED) for letter in token if letter > "\u0e00")


def _falls_apart(whole: str, known: tuple[str, ...]) -> bool:
    """Whether a long word is several that are known, one of them a word that only binds others: a
    compound has none of those."""
    words, folded = _vocabulary(known), whole.casefold()
    ways: dict[int, tuple[str, ...]] = {0: ()}
    for end in range(1, len(folded) + 1):
        for start in [place for place in ways if folded[place:end] in words]:
            parts = (*ways[start], folded[start:end])
            if end not in ways or len(parts) < len(ways[end]):
                ways[end] = parts
    found = ways.get(len(folded), ())
    return len(found) >= _PARTS and not _BINDING.isdisjoint(found)


@lru_cache(maxsize=4)
def _vocabulary(known: tuple[str, ...]) -> frozenset[str]:
    heard = (word.casefold() for text in known for word in _WORD.findall(text))
    return _COMMON.union(word for word in heard if len(word) > 1)
