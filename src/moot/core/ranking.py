"""Which passages fit an ask best: BM25, the same on every machine and at every replay."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from moot.core.sources import Passage, Source

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]+")
"""Scripts without spaces between words: two letters are as good as a word."""
_K, _B = 1.2, 0.75  # the usual constants


def words(text: str) -> Iterator[str]:
    """The words of a text, in one form."""
    for found in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = found[0]
        if word.isascii() or not (run := _UNSPACED.search(word)):
            yield word
        else:
            letters = run[0]
            yield from (letters[at : at + 2] for at in range(max(len(letters) - 1, 1)))


class Index:
    """The words of all passages of some sources, counted once."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.passages: list[tuple[Source, Passage]] = [
            (source, passage) for source in sources for passage in source.text
        ]
        self._holding: dict[str, list[tuple[int, int]]] = {}  # a word: where, and how often
        self._lengths: list[int] = []
        for place, (_, passage) in enumerate(self.passages):
            counted = Counter(words(passage.text))
            self._lengths.append(counted.total())
            for word, times in counted.items():
                self._holding.setdefault(word, []).append((place, times))
        self._usual = sum(self._lengths) / max(len(self._lengths), 1) or 1.0

    def ranked(self, query: str) -> list[int]:
        """The places of the passages that hold words of the query, the best first; of two that are
        as good, the earlier one."""
        scores: dict[int, float] = {}
        count = len(self.passages)
        for word in dict.fromkeys(words(query)):
            holding = self._holding.get(word, ())
            if not holding:
                continue
            rare = math.log(1 + (count - len(holding) + 0.5) / (len(holding) + 0.5))
            for place, times in holding:
                long = 1 - _B + _B * self._lengths[place] / self._usual
                share = times * (_K + 1) / (times + _K * long)
                scores[place] = scores.get(place, 0.0) + rare * share
        return sorted(scores, key=lambda place: (-round(scores[place], 9), place))


@lru_cache(maxsize=16)
def index_of(sources: tuple[Source, ...]) -> Index:
    return Index(sources)
