"""Which wordings of options stay apart, whatever a reading says of them.

A reading may say that two wordings are one option. It may not merge a pair that a speaker held
against each other: one that it moved between, one that it rules out while it stands for the other,
or an option and its opposite, as far as their words tell.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise

from moot.core.answers import lines, numbers, tables
from moot.core.debate import Turn
from moot.core.positions import key
from moot.outcome.contraries import contrary

Pair = frozenset[str]
"""Two wordings, by their keys."""
ALIKE = 0.5
"""From this share of common words on, a new wording may be the same option reworded."""
NEAR = 1 / 3
"""From this share of common words on, a wording goes with one of two that stay apart."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SIGNS = re.compile("[+\u2212-]")
_NO = """no not never none without against reject refuse forbid ban avoid stop cannot dont nein
nicht kein keine keinen ohne gegen non pas sans contre sin contra nunca não не нет без против nej
inte ikke nie"""
_YES = """yes for with accept approve allow do does did will should would must can we to the a an be
is it that this ja für mit oui ne pour avec si sí con sim да за jo tak"""
_NOT, _FILLING = frozenset(_NO.split()), frozenset(_YES.split())  # neither says what it is about
_WITHIN = "不别勿非没无"  # negations where words are not spaced


def apart(history: Mapping[str, Sequence[tuple[str, Turn]]], edition: int) -> dict[Pair, str]:
    """The pairs that are never one option, and why. `history` has, for each speaker, the options
    that it stood for in their order, with the turns that say so. Before edition 7, only a plain
    negation was known from the words."""
    found: dict[Pair, str] = {}
    for name in sorted(history):
        for (was, _), (now, turn) in pairwise(history[name]):
            if key(was) != key(now) and (_named(turn) or not reworded(was, now, edition)):
                found.setdefault(_pair(was, now), f"{name} moved from one to the other")
        for option, turn in history[name]:
            for other in lines(turn.data, "rejects"):
                if key(other) != key(option):
                    found.setdefault(_pair(option, other), f"{name} rules one out for the other")
    stated = {key(option): option for held in history.values() for option, _ in held}
    for one, other in combinations(sorted(stated), 2):
        if why := opposed(stated[one], stated[other], edition):
            found.setdefault(frozenset((one, other)), why)
    return found


def _pair(one: str, other: str) -> Pair:
    return frozenset((key(one), key(other)))


def _named(turn: Turn) -> bool:
    """Whether a speaker names turns that changed its mind."""
    return any(numbers(one, "turns") for one in tables(turn.data, "revisions"))


@lru_cache(maxsize=4096)  # each reading of a jury and each view asks about the same options
def opposed(one: str, other: str, edition: int) -> str | None:
    """Why two options are opposites, if their words tell."""
    if negates(one, other):
        return "one is the negation of the other"
    return contrary(one, other) if edition > 6 else None


def negates(one: str, other: str) -> bool:
    """Whether one option is plainly the negation of the other: the same words, and a "not"."""
    first, second = key(one), key(other)
    if first == second:
        return False
    if _SIGNS.sub("", first) == _SIGNS.sub("", second) and _signs(first) != _signs(second):
        return True
    if any(mark in first + second for mark in _WITHIN):
        bare = [re.sub(f"[{_WITHIN}]", "", text) for text in (first, second)]
        odd = [sum(text.count(mark) for mark in _WITHIN) % 2 for text in (first, second)]
        if bare[0] == bare[1] and odd[0] != odd[1]:
            return True
    (about, nots), (other_about, other_nots) = _meaning(first), _meaning(second)
    return about == other_about and nots % 2 != other_nots % 2


def _signs(option: str) -> list[str]:
    return ["-" if sign == "\u2212" else sign for sign in _SIGNS.findall(option)]


def _meaning(option: str) -> tuple[list[str], int]:
    """What an option is about, and how often it says no to that."""
    about: list[str] = []
    nots = 0
    for word in _WORD.findall(option.replace("’", "'")):
        if word in _NOT or word.endswith("n't"):
            nots += 1
        elif word not in _FILLING:
            about.append(word)
    return sorted(about), nots


def reworded(one: str, other: str, edition: int) -> bool:
    """Whether one may be the other in other words: most of the shorter one's words are in both."""
    first, second = set(_WORD.findall(key(one))), set(_WORD.findall(key(other)))
    shorter = min(len(first), len(second))
    alike = bool(shorter) and len(first & second) >= ALIKE * shorter
    return alike and opposed(one, other, edition) is None


def parted(wordings: Iterable[str], pairs: Iterable[Pair]) -> list[list[str]]:
    """The wordings that a reading calls one option, with those that stay apart in parts of their
    own. A wording that nobody holds against another joins the part whose words are most like its
    own; if two are equally like it, or none is, it joins neither."""
    words = sorted(set(wordings))
    within = [pair for pair in pairs if pair <= set(words)]
    alone = [word for word in words if any(word in pair for pair in within)]
    if not alone:
        return [words] if words else []
    parts = {word: [word] for word in alone}
    rest: list[str] = []
    for word in words:
        if word in parts:
            continue
        ranked = sorted(((_likeness(word, one), one) for one in alone), reverse=True)
        near = ranked[0][0] >= NEAR and (len(ranked) == 1 or ranked[0][0] > ranked[1][0])
        (parts[ranked[0][1]] if near else rest).append(word)
    return [*parts.values(), *([rest] if rest else [])]


def _likeness(one: str, other: str) -> float:
    first, second = set(_WORD.findall(one)), set(_WORD.findall(other))
    return len(first & second) / len(first | second) if first | second else 0.0
