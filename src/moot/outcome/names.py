"""One name for each option, however it was worded."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from moot.core.answers import lines, tables
from moot.core.positions import key
from moot.outcome.opposites import Pair, parted


def one_name(options: Iterable[str], reading: Mapping[str, Any] | None) -> dict[str, str]:
    """One name for each option: what the Synthesizer maps, of what was really stated."""
    stated: dict[str, str] = {}
    for option in sorted(options, key=lambda option: (key(option), option)):
        stated.setdefault(key(option), option)
    names = dict(stated)
    called: dict[str, str] = {}  # one spelling for each name that the mapping gives
    taken: set[str] = set()
    for same in (reading or {}).get("same", ()):
        words = {key(word) for word in same["wordings"]} & (stated.keys() - taken)
        named = key(same["option"])
        name = called.setdefault(named, stated.get(named) or str(same["option"]))
        if len(words) > 1 or key(name) in words:
            names.update(dict.fromkeys(words, name))
            taken |= words  # a wording that is claimed twice stays with the first
    return names


def grouped(
    options: Iterable[str],
    reading: Mapping[str, Any] | None,
    opposites: Mapping[Pair, str],
    final: Iterable[str],
) -> tuple[dict[str, str], tuple[tuple[str, str, str], ...]]:
    """One name for each option, which is always one of its wordings: the one that the reading
    gives, or else the one that most hold at the end. With it, the pairs that the reading merged
    although they are opposites: these stay two."""
    names, kept = one_name(options, None), list[tuple[str, str, str]]()
    spelled, held = dict(names), Counter(key(option) for option in final)
    groups: dict[str, set[str]] = {}  # by the reading's name for each
    claimed: set[str] = set()  # a wording that is claimed twice stays with the first
    for same in tables(reading, "same"):
        named = key(str(same.get("option", "")))
        words = {named, *map(key, lines(same, "wordings"))} & (spelled.keys() - claimed)
        groups.setdefault(named, set()).update(words)
        claimed |= words
    for named, words in groups.items():
        within = [pair for pair in opposites if pair <= words]
        for pair in sorted(within, key=sorted):
            one, other = sorted(pair)
            kept.append((spelled[one], spelled[other], opposites[pair]))
        for part in parted(words, within):
            name = named if named in part else min(part, key=lambda word: (-held[word], word))
            names.update(dict.fromkeys(part, spelled[name]))
    return names, tuple(kept)
