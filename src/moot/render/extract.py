"""What of a debate's sentences says most: main points and a summary, by counting words."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from moot.core.answers import Field, tables
from moot.core.debate import Debate, Turn
from moot.core.quoting import collapsed
from moot.render import prose

POINTS = 3  # how many main points a speaker has, at the most
SUMMARY_SENTENCES = 4  # of a summary that nobody spoke
SHORTEST, LONGEST = 6, 35  # words of a sentence that can stand alone
MAX_POINT = 320  # characters; what is longer is cut


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}](?:[^\W_{_CJK}]|['’.,\-](?=[^\W_{_CJK}]))*")
_PLAIN_WORD = re.compile(r"[a-z0-9]+(?:['.,\-][a-z0-9]+)*")
"""The same in a text of lower-case ASCII, three times as fast."""
_END = re.compile(
    r"[.!?…][\"'”’»)\]*_]{0,3}(?=\s|$)|[\u3002\uff01\uff1f\uff61][\u300d\u300f\uff09”’)]?"
)
_QUOTED = re.compile("[“„«「][^”“»」]{20,}[”“»」]")
_BLOCKS = re.compile(r"\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•>]|\d{1,3}[.)]|#{1,6})[^\S\n])")
_MARK = re.compile(r"(?:(?:[-*+•>]|\d{1,3}[.)]|#{1,6})\s+)+")
_ABBREVIATIONS = _set(
    "mr mrs ms dr prof st sr jr vs cf eg ie e.g i.e viz al no nos fig figs eq sec ch vol pp p art "
    "approx est dept gov gen sen rep inc ltd co corp u.s u.k u.n a.m p.m z.b d.h u.a bzw ca nr "
    "abs bsp vgl sog mme mlle p.ex ej sra"
)
_COMMON = _set(
    "a about after all also am an and any are as at be because been before being but by can could "
    "did do does doing done down each even every for from get gets give given gives had has have "
    "having he her here him his how i if in into is it it's its just let like made make makes many "
    "may me might more most much must my no nor not now of off on once one only or other our out "
    "over own said same say says see she should so some still such take takes than that that's the "
    "their them then there these they this those through to too under up us very was way we well "
    "were what when where which while who whom whose why will with without would yes yet you your "
    "der die das ein eine einen und oder aber nicht ist sind war wird werden mit von zu im auf für "
    "dass sie er es wir ich als auch wie man le la les un une des du de et ou est sont que qui pas "
    "pour dans sur avec ce cette nous vous il elle el los las una y o son por para con se su lo"
)


_Measured = tuple[str, float, frozenset[str], int, str, tuple[str, ...]]
"""The first fields of a sentence: those that do not depend on who says it."""


@dataclass(slots=True, eq=False)
class _Sentence:
    text: str
    length: float  # in words
    terms: frozenset[str]
    standing: int  # as in `prose.standing`; before layout 5, it was not asked
    key: str  # its words alone
    quoted: tuple[str, ...]  # the words of each quotation in it
    turn: int
    actor: str
    name: str
    point: bool  # whether it may be a main point: cues and the closing words are not


class Spoken:
    """The sentences of a debate, and how telling each word in them is."""

    def __init__(self, sentences: Sequence[_Sentence]) -> None:
        self._by_actor: dict[str, list[_Sentence]] = {}
        self._own: dict[str, Counter[str]] = {}  # in how many sentences of a speaker a term is
        self._all: Counter[str] = Counter()
        self._first: dict[str, int] = {}  # the turn in which a term came up
        self._echoes: set[_Sentence] = set()  # what somebody else had said before
        self._quoted: dict[str, str] = {}  # what was quoted to be answered, and who did so
        said: dict[str, str] = {}
        seen: set[tuple[str, str]] = set()
        terms: dict[str, list[str]] = {}
        for sentence in reversed(sentences):
            self._first.update(dict.fromkeys(sentence.terms, sentence.turn))
        for sentence in sentences:
            terms.setdefault(sentence.actor, []).extend(sentence.terms)
            self._quoted.update(dict.fromkeys(sentence.quoted, sentence.actor))
            key = sentence.key
            if not sentence.point or not key or (sentence.actor, key) in seen:
                continue
            seen.add((sentence.actor, key))
            if said.setdefault(key, sentence.actor) != sentence.actor:
                self._echoes.add(sentence)
            self._by_actor.setdefault(sentence.actor, []).append(sentence)
        for actor, own in terms.items():
            self._own[actor] = Counter(own)
            self._all.update(self._own[actor])
        self._count = len(sentences)
        self._told: dict[_Sentence, float] = {}  # how telling each is, once it was asked for

    def points(self, actor: str) -> list[dict[str, Any]]:
        """The sentences that tell a speaker from the others, in the order they were spoken."""
        said = self._by_actor.get(actor, [])
        own = [s for s in said if s not in self._echoes] or said
        chosen = _choose({s: self._telling(s) for s in own}, POINTS)
        return [{"text": clip(s.text), "turn": s.turn} for s in chosen]

    def best(self, actor: str, motion: str) -> dict[str, Any] | None:
        """The one sentence that states most of what tells a speaker from the others: a whole one,
        or, if none is, the next best. None if nothing that was said can stand alone."""
        said = [s for s in self._by_actor.get(actor, []) if s not in self._echoes]
        most = max((s.standing for s in said), default=0)
        about, scores = _terms(motion)[1], dict[_Sentence, float]()
        for s in said:
            if s.standing < most or s.length < prose.SHORTEST:
                continue
            # of the speaker's own, and yet about what everyone came back to
            score = self._telling(s) * self._central(s) * prose.weight(s.text)
            answered = self._quoted.get(s.key, actor) != actor
            scores[s] = score * (1.2 if s.terms & about else 1.0) * (2.0 if answered else 1.0)
        chosen = _choose(scores, 1)
        return {"text": clip(chosen[0].text), "turn": chosen[0].turn} if chosen else None

    def gist(self, points: set[tuple[str, int]], host: str | None) -> str:
        """The sentences that hold most of what everyone came back to, each with its speaker."""
        actors = [actor for actor in self._by_actor if actor != host] or [*self._by_actor]
        scores = {
            s: self._central(s) * (0.6 if (clip(s.text), s.turn) in points else 1.0)
            for actor in actors
            for s in self._by_actor[actor]
        }
        chosen = _choose(scores, SUMMARY_SENTENCES)
        return "\n\n".join(f"{s.name}: {clip(s.text)}" for s in chosen)

    def _telling(self, sentence: _Sentence) -> float:
        """Words that the speaker uses often, the others seldom, and nobody had before, tell most.

        tf·idf, with the speaker's share of a word's uses and its novelty as further factors.
        """
        if sentence in self._told:
            return self._told[sentence]
        own, total = self._own[sentence.actor], 0.0
        for term in sorted(sentence.terms):
            everywhere = self._all[term]
            rarity = math.log(1 + self._count / everywhere)
            new = 1.0 if self._first[term] == sentence.turn else 0.7
            total += math.log1p(own[term]) * rarity * new * own[term] / everywhere
        self._told[sentence] = total / (len(sentence.terms) + 4) * self._standing(sentence)
        return self._told[sentence]

    def _central(self, sentence: _Sentence) -> float:
        """Words used often, yet not in every sentence: −p·log p of each, over the sentence."""
        total = 0.0
        for term in sorted(sentence.terms):
            share = self._all[term] / self._count
            total -= share * math.log(share)
        return total / (len(sentence.terms) + 4) * self._standing(sentence)

    def _standing(self, sentence: _Sentence) -> float:
        """How well a sentence stands alone: no scrap, no page, no quotation, no question."""
        fit = 0.5 if sentence in self._echoes else 1.0
        if sentence.length < SHORTEST:
            fit *= 0.1 + 0.4 * sentence.length / SHORTEST
        elif sentence.length > LONGEST:
            fit *= max(0.3, LONGEST / sentence.length)
        if _QUOTED.search(sentence.text):
            fit *= 0.7  # another's words
        asks = sentence.text.rstrip("\"'”’»)」』）").endswith(("?", "？"))
        return fit * (0.6 if asks else 1.0)


def _choose(scores: Mapping[_Sentence, float], most: int) -> list[_Sentence]:
    """The best, one after the other: none much like one chosen before, rather of others."""
    telling = any(score > 0 for score in scores.values())
    left: dict[_Sentence, float] = {s: x for s, x in scores.items() if x > 0 or not telling}
    chosen: list[_Sentence] = []
    while left and len(chosen) < most:
        best = max(left, key=lambda s: (round(left[s], 12), -s.turn))  # a tie: what came first
        chosen.append(best)
        left = {
            s: score * (0.7 if s.turn == best.turn else 0.85 if s.actor == best.actor else 1.0)
            for s, score in left.items()
            if s is not best and not _alike(s.terms, best.terms)
        }
    places = {sentence: place for place, sentence in enumerate(scores)}
    return sorted(chosen, key=lambda s: (s.turn, places[s]))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) > 0.6 * min(len(one), len(other))


def sentences(debate: Debate, turns: Sequence[Turn], layout: int) -> Spoken:
    last = closing(turns)
    found: list[_Sentence] = []
    for turn in turns:
        if turn.status == "failed":
            continue
        point = turn.kind != "cue" and turn is not last
        for one in _measured(_prose(debate, turn, layout), layout):
            may = point and one[3] > 0
            found.append(_Sentence(*one, turn.number, turn.actor, turn.name, may))
    return Spoken(found)


@lru_cache(maxsize=512)  # a debate is filed after each round, with all that was said before
def _measured(text: str, layout: int) -> tuple[_Measured, ...]:
    """The sentences of a turn, each with all that its words alone tell."""
    found: list[_Measured] = []
    for sentence in _sentences(text, layout):
        length, terms = _terms(sentence)
        stands = prose.standing(sentence, length) if layout > 4 else 2
        quoted = tuple(plain_key(words) for words in prose.quotations(sentence))
        found.append((sentence, length, terms, stands, plain_key(sentence), quoted))
    return tuple(found)


def _sentences(text: str, layout: int) -> list[str]:
    """The sentences of a text; since layout 5, those of its prose."""
    text = collapsed(text)
    if layout < 5:
        return split(text)
    return [sentence for part in prose.paragraphs(text) for sentence in split(part)]


def _prose(debate: Debate, turn: Turn, layout: int) -> str:
    """What a turn says in sentences; the labels of a structured answer are not the speaker's."""
    data: Mapping[str, Any] = turn.data or {}
    parts = [data.get("claim"), data.get("rationale")]
    parts += [item.get("question") for item in tables(data, "challenges")]
    if layout > 2 and data and not any(parts):
        asked = next((one.answer for one in debate.rules.stages if one.name == turn.stage), "text")
        parts = [*_texts(debate.rules.shape(asked).fields, data)] if asked != "text" else []
    return "\n\n".join(str(part) for part in parts if part) or turn.text


def _texts(fields: Mapping[str, Field], data: Mapping[str, Any]) -> Iterator[str]:
    """The prose in an answer: its fields of type text, in their order."""
    for name, field in fields.items():
        value = data.get(name)  # an answer may be older than one of its fields, or leave it out
        for part in (value or []) if field.list else [value]:
            if field.type == "text" and part:
                yield part
            elif field.type == "table" and part:
                yield from _texts(field.fields, part)


def split(text: str) -> list[str]:
    """The sentences of a text, each on one line. Line ends count if there are no full stops."""
    found: list[str] = []
    for block in _BLOCKS.split(text):
        if _END.search(block):
            found += _split_block(" ".join(block.replace("**", "").split()))
        else:
            found += [" ".join(line.replace("**", "").split()) for line in block.split("\n")]
    bare = (_MARK.sub("", sentence, count=1) for sentence in found)
    return [sentence for sentence in bare if WORD.search(sentence)]


def _split_block(text: str) -> list[str]:
    sentences, start = list[str](), 0
    for end in _END.finditer(text):
        if text[end.start()] != "." or not _abbreviated(text, start, end):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    return [*sentences, text[start:].strip()]


def _abbreviated(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether the sentence goes on behind this full stop."""
    ahead = text[end.end() + 1 : end.end() + 2]
    if not ahead:
        return False
    before = text[max(start, end.start() - 16) : end.start()].split(" ")[-1].lstrip("(\"'“‘«")
    if ahead.islower() or before.lower() in _ABBREVIATIONS:
        return True
    initial = len(before) == 1 and before.isalpha() and before.isupper() and before != "I"
    return initial or (before.isdigit() and not text[start : end.start()].strip("0123456789 "))


def _terms(text: str) -> tuple[float, frozenset[str]]:
    """How long a sentence is, and the words that tell. Of CJK, which has no spaces, the pairs."""
    if text.isascii():
        words = _plain_words(text)
        return float(len(words)), frozenset(filter(None, map(_term, words)))
    length, before, ended, terms = 0.0, "", -1, set[str]()
    for found in WORD.finditer(text):
        word = found[0]
        if len(word) == 1 and word >= "\u3040" and not "\ua000" <= word <= "\uf8ff":  # CJK
            length += 0.6  # a word has between one and two characters
            if found.start() == ended:
                terms.add(before + word)
            before, ended = word, found.end()
            continue
        length += 1
        if term := _term(word.casefold().replace("’", "'")):
            terms.add(term)
    return length, frozenset(terms)


@lru_cache(maxsize=8192)
def _term(word: str) -> str:
    """One form for plain plurals and possessives; nothing that a language could take amiss. "" for
    a word that tells nothing."""
    if len(word) < 2 or word in _COMMON:
        return ""
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 4 and word.endswith("s") and word[-2] not in "su" else word


@lru_cache(maxsize=512)
def words_in(text: str) -> int:
    return len(_plain_words(text) if text.isascii() else WORD.findall(text))


def plain_key(text: str) -> str:
    return " ".join(_plain_words(text))


def _plain_words(text: str) -> list[str]:
    """The words without case."""
    text = text.casefold()
    return (_PLAIN_WORD if text.isascii() else WORD).findall(text)


def clip(text: str, most: int = MAX_POINT) -> str:
    if len(text) <= most:
        return text
    cut = text.rfind(" ", most // 2, most)
    return text[: cut if cut > 0 else most].rstrip(" ,;:-–—") + " …"


def closing(turns: Sequence[Turn]) -> Turn | None:
    """The summary or verdict after which nobody took the floor again."""
    for turn in reversed(turns):
        if turn.status == "ok" and turn.kind in ("summary", "verdict"):
            return turn
        if turn.status == "ok" and turn.kind == "speech":
            return None
    return None
