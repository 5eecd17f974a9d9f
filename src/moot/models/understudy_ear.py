"""What the understudy hears in a text: a phrase worth quoting, and what it is about."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from moot.models.understudy_lines import Consideration, lines

_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_CLAUSE = re.compile(r"[,;:()\u2013\u2014]\s|[.!?…\u3002\uff01\uff1f\uff0c\uff1b\n]+")
_LEADING = re.compile(r"^(?:and|but|so|because|since|yet|then|perhaps)\s+", re.IGNORECASE)
_TORN = re.compile(  # a clause that says little without the one before it
    r"(?:which|who|whom|whose|that|is|are|was|be|namely|for|of|with|to|or|if|when|while|as|"
    r"whatever|including|without|i|my|let|above|on|under)\b",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"[\"“”„«»]+")
_QUOTED = re.compile(r"“([^“”]*)”")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FIRST_PERSON = frozenset({"i", "me", "my", "mine", "myself"})
_MARKUP = " \t*_#>`|-"


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def quotes(text: str, known: Collection[str]) -> list[str]:
    """What a text puts between quotation marks, but for the motion itself."""
    return [quote for quote in _QUOTED.findall(text) if not _spoken(quote) <= set(known)]


def phrase(text: str, known: Collection[str], used: str = "") -> tuple[str, str] | None:
    """A short, telling phrase of a text, word for word, and the sentence it stands in.

    `known` are the motion's words, which everybody uses; `used` is where it should not stand yet.
    """
    best: tuple[float, str, str] | None = None
    reply = False  # whether the sentence answers words that were quoted just before
    for sentence in sentences(text):
        if _cites(sentence, known):
            reply = True
            continue
        loss = 3 * reply + 6 * any(line in sentence for line in _scaffold())
        reply = False
        for clause in _clauses(sentence):
            if 5 <= len(clause.split()) <= 13 and not _QUOTES.search(clause):
                poor = 5 * bool(_TORN.match(clause)) + 4 * (clause in used)
                score = _weight(clause, known) - loss - poor
                if best is None or score > best[0]:
                    best = (score, clause, sentence)
    if best is not None:
        return best[1], best[2]
    pieces = [_LEADING.sub("", p).strip(_MARKUP) for p in _QUOTES.split(text)]
    longest = max((piece for block in pieces for piece in block.split("\n")), key=len, default="")
    short = " ".join(longest.split(" ")[:10])[:60].strip(_MARKUP + ",;:.")
    return (short, longest) if short else None


def main_sentence(texts: Iterable[str], known: Collection[str]) -> str | None:
    """The sentence that says most, of all that somebody said."""
    best: tuple[float, str] | None = None
    for text in texts:
        for sentence in sentences(text):
            if _QUOTES.search(sentence) or not 7 <= len(sentence.split()) <= 30:
                continue
            score = _weight(sentence, known) - 2 * sentence.endswith("?")
            score -= 6 * any(line in sentence for line in _scaffold())
            if best is None or score > best[0]:
                best = (score, sentence.strip(_MARKUP))
    if best is None:
        found = next((found for text in texts if (found := phrase(text, known))), None)
        return found[0] if found else None
    return best[1]


def about(text: str, least: int = 1) -> Consideration | None:
    """Which consideration a text speaks to: known sentences first, then words that give it away."""
    for print_, consideration in _fingerprints():
        if print_ in text:
            return consideration
    spoken = [word.casefold() for word in _WORD.findall(text)]
    best, most = None, least - 1
    for consideration in lines().considerations:
        keys = tuple(key.strip() for key in consideration.keys if " " not in key.strip())
        hits = sum(word.startswith(keys) for word in spoken)
        if hits > most:
            best, most = consideration, hits
    return best


def fingerprint(template: str) -> str:
    """The longest stretch of a phrase that is the same whatever the motion."""
    return max(re.split(r"\{\w+\}", template), key=len).strip()


@lru_cache(maxsize=1)
def _fingerprints() -> tuple[tuple[str, Consideration], ...]:
    return tuple(
        (fingerprint(sentence), one)
        for one in lines().considerations
        for line in one.every
        for sentence in sentences(line)
    )


@lru_cache(maxsize=1)
def _scaffold() -> tuple[str, ...]:
    """Sentences of our own that hold a speech together and say nothing on their own."""
    table = lines()
    groups = [table.lead.first, table.lead.lines, table.lead.cued]
    for sides in (table.opener, table.closer, table.general, table.aside, table.conclusion):
        groups += [sides.pro, sides.con, sides.neutral]
    return tuple(fingerprint(s) for group in groups for line in group for s in sentences(line))


@lru_cache(maxsize=1)
def _plain() -> frozenset[str]:
    return frozenset(lines().english.plain.split())


def _cites(sentence: str, known: Collection[str]) -> bool:
    """Whether a sentence holds somebody's words; the motion's own are nobody's."""
    rest = _QUOTED.sub(lambda m: "" if _spoken(m[1]) <= set(known) else m[0], sentence)
    return bool(_QUOTES.search(rest))


def _spoken(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _clauses(sentence: str) -> Iterator[str]:
    for clause in _CLAUSE.split(sentence):
        yield _LEADING.sub("", clause.strip(_MARKUP)).strip(_MARKUP)


def _weight(text: str, known: Collection[str]) -> float:
    """How much a stretch of text says: telling words count, the motion's own and "I" do not."""
    spoken = [word.casefold() for word in _WORD.findall(text)]
    telling = sum(len(w) > 3 and w not in _plain() and w not in known for w in spoken)
    return (
        telling
        - 1.0 * sum(word in known and len(word) > 3 for word in spoken)
        - 2.0 * sum(word in _FIRST_PERSON for word in spoken)
        + (2.0 if about(text) else 0.0)
    )
