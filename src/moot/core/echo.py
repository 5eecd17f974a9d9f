"""Whether a speech was made before: what small models say in place of something new."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from moot.core.debate import Turn
from moot.core.writing import sentences, words

ALIKE = 0.8
"""From this likeness on, one speech is taken for another."""
_MOST = 400  # words of a speech that are compared
_FEWEST = 6  # words in which something can be repeated


def likeness(one: str, other: str) -> float:
    """How alike two speeches are, word for word: from 0, nothing shared, to 1, the same."""
    return SequenceMatcher(None, _words(one), _words(other), autojunk=False).ratio()


def repeats(text: str, motion: str, turns: Sequence[Turn]) -> bool:
    """Whether a speech is like one that was made before, or holds a sentence of one.

    The words of the motion do not count: whoever argues a motion says them again and again.
    """
    given = frozenset(_words(motion))
    new = [word for word in _words(text) if word not in given]
    if len(new) < _FEWEST:
        return False
    made = [turn.text for turn in turns if turn.kind == "speech" and turn.status == "ok"]
    if any(likeness(text, speech) >= ALIKE for speech in made):
        return True
    for sentence in (part for speech in made for part in sentences(speech)):
        old = [word for word in _words(sentence) if word not in given]
        if len(old) >= _FEWEST and _held(old, new) >= ALIKE:
            return True
    return False


def _held(old: Sequence[str], new: Sequence[str]) -> float:
    """The share of a sentence's words that come again in their order, in runs of three or more."""
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size > 2) / len(old)


def _words(text: str) -> list[str]:
    return words(text)[:_MOST]
