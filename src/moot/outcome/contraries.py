"""Whether two options are opposites by their words alone, beyond a plain "not": by a word and its
opposite, by a number, by an order, or by the yes or no that they begin with."""

import re
from collections import Counter
from collections.abc import Iterator

from moot.core.positions import key

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NO = """no not never none nothing neither nor without against reject refuse forbid ban avoid stop
cannot dont prohibit prevent decline oppose disapprove disallow cancel abandon abolish scrap
postpone delay defer later remove drop nein nicht nichts nie kein keine keinen keiner keinem ohne
gegen verbieten ablehnen non pas sans contre jamais interdire refuser sin contra nunca jamás
prohibir rechazar não nem sem proibir recusar senza contro mai vietare не нет без против никогда
запретить nej inte ikke nee niet geen zonder لا لن ليس بدون"""
_YES = """yes for with in on now yet still accept approve support allow permit unban keep retain
something anything do does did will should would must can we to the a an be is it that this them of
ja für mit erlauben oui ne pour avec permettre autoriser si sí con permitir sim com da за jo tak
نعم"""
_NOT, _FILLING = frozenset(_NO.split()), frozenset(_YES.split())  # neither says what it is about
_OPPOSED = """
remain stay / leave quit
increase raise expand grow extend more / decrease lower reduce cut shrink shorten less fewer
before early earlier / after late
open / close closed shut
start begin / end finish
buy purchase / sell
hire / fire
public / private
free / paid
up / down
insource / outsource
above over / below under
first / last
slow slower / fast faster
erhöhen / senken
öffnen / schließen
augmenter / diminuer réduire baisser
ouvrir / fermer
aumentar subir / reducir bajar disminuir
abrir / cerrar
повысить увеличить / снизить уменьшить
"""
_SIDES = {
    word: (line.split("/")[0].split()[0], place)
    for line in reversed(_OPPOSED.strip().splitlines())
    for place, side in enumerate(line.split("/"))
    for word in side.split()
}
"""For each word, what it stands for, and whether it is the opposite of that."""
_EITHER = (("build", "buy"), ("make", "buy"))
_SWAPPED = {"in": "out", "out": "in", "on": "off", "off": "on"}
_PREFIXES = ("dis", "un", "de", "non", "anti", "il", "im", "in", "ir")
_WITHIN = (
    ("允许", "禁止"), ("支持", "反对"), ("增加", "减少"), ("提高", "降低"), ("する", "しない"),
    ("賛成", "反対"), ("はい", "いいえ"),
)  # fmt: skip
"""Where words are not spaced."""
_TURNS = "not over than then before after from instead vs versus"
_TURNING = frozenset(_TURNS.split())
"""What follows one of these is the other side."""
_GROUPED = re.compile(r"(?<=\d)[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_ARTICLES = frozenset(("of", "the", "a", "an", "to"))
_ANSWER = re.compile(r"\s*([^\W\d_]+)\s*(?:[,.:;!–—]|-\s|$)")
_YESES = frozenset(("yes", "ja", "oui", "sí", "si", "sim", "да", "tak", "jo", "sì"))
_NOES = frozenset(("no", "nein", "non", "não", "нет", "nie", "nej", "nee"))


def contrary(one: str, other: str) -> str | None:
    """Why two options, as they were worded, cannot be the same; None if their words do not say."""
    first, second = (_GROUPED.sub("", key(text)) for text in (one, other))
    answers = (_answer(one), _answer(other))
    if first == second:
        return None
    if None not in answers and answers[0] != answers[1]:
        return "one says yes, and the other no"
    (about, nots), (other_about, other_nots) = _meaning(first), _meaning(second)
    mine, theirs, odd = about - other_about, other_about - about, (nots + other_nots) % 2
    said = bool(about and other_about) or answers[0] is None
    if _exchanged(first, second) or (odd and said and not mine and not theirs):
        return "one is the opposite of the other"
    if not odd and _pair(mine, theirs):
        return "one is the opposite of the other"
    if _same_words(first, second) and _turned(first) != _turned(second):
        return "one is the other the other way round"
    if mine and all(map(_numbered, (*mine, *theirs))) and _bare(mine) == _bare(theirs):
        return "they name different numbers"
    return None


def _exchanged(one: str, other: str) -> bool:
    """Whether one becomes the other if "in" becomes "out", or 允许 becomes 禁止."""
    if any(other in (one.replace(a, b), one.replace(b, a)) for a, b in _WITHIN):
        return True
    first, second = _WORD.findall(one), _WORD.findall(other)
    return first != second and [_SWAPPED.get(word, word) for word in first] == second


def _answer(option: str) -> bool | None:
    """Whether an option begins with a yes or with a no; None if with neither."""
    found = _ANSWER.match(option.casefold())
    word = found[1] if found else ""
    return word in _YESES if word in _YESES | _NOES else None


def _meaning(option: str) -> tuple[Counter[str], int]:
    """What an option is about, and how often it says no to that."""
    about, nots = Counter[str](), 0
    for word in _WORD.findall(option.replace("’", "'")):
        base, opposite = _SIDES.get(word, (word, 0))
        if word in _SIDES:
            about[base] += 1
            nots += opposite
        elif word in _NOT or word.endswith("n't"):
            nots += 1
        elif word not in _FILLING:
            about[word.removeprefix("n'")] += 1
    return about, nots


def _turned(option: str) -> set[tuple[str, str]]:
    """The words that turn to another side, each with what follows."""
    return set(_after(_WORD.findall(option)))


def _after(words: list[str]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(words):
        if word in _TURNING:
            rest = [one for one in words[place + 1 :] if one not in _ARTICLES]
            yield word, rest[0] if rest else ""


def _same_words(one: str, other: str) -> bool:
    return sorted(_WORD.findall(one)) == sorted(_WORD.findall(other))


def _pair(mine: Counter[str], theirs: Counter[str]) -> bool:
    """Whether all that differs is a word and its opposite: build and buy, legal and illegal."""
    if mine.total() != 1 or theirs.total() != 1:
        return False
    short, long = sorted((*mine, *theirs), key=len)
    if any({short, long} == {*pair} for pair in _EITHER):
        return True
    return len(short) > 3 and any(long == prefix + short for prefix in _PREFIXES)


def _numbered(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def _bare(words: Counter[str]) -> list[str]:
    """The words without their numbers: v1 and v2 are alike, 10k and 10 are not."""
    return sorted(re.sub(r"\d+", "", word) for word in words.elements())
