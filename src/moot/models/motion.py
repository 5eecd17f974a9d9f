"""A motion in words that fit into a sentence: as something one does, as something one claims.

There is no parser here, only the few shapes that motions mostly have. Whatever has none of them,
in any language, is quoted as it stands, which is always grammatical.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from moot.models.listed import Listed, listed
from moot.models.understudy_lines import lines

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_MODAL = r"should|must|ought to|need to|needs to|has to|have to|had better|shall"
_SHOULD = re.compile(rf"^(?P<who>.+?) (?P<modal>{_MODAL}) (?P<what>.+)$", re.IGNORECASE)
_ASKED = re.compile(
    r"^(?P<aux>should|must|shall|can|could|will|would|does|do|did|is|are|was|were|has|have) "
    r"(?P<rest>.+)$",
    re.IGNORECASE,
)
_BEING = re.compile(r"^(?P<who>.+?) (?P<aux>is|are) (?P<what>.+)$")
_OPEN = re.compile(
    r"^(?:what|which) (?!of\b)(?P<noun>[^\W\d_]+(?: [^\W\d_]+){0,2}?) "
    r"(?:should|must|shall|do|is|are) ",
    re.IGNORECASE,
)
_WH = re.compile(r"^(?:what|which|who|whom|whose|how|why|when|where)\b", re.IGNORECASE)
_EITHER = re.compile(r"^(?P<one>[\w' -]{1,40}?),? (?:or|vs\.?|versus) (?P<two>[\w' -]{1,40})$")
_LAST_OR = re.compile(r" or ((?:\S+ ){0,2}\S+)$")
_NAMED = re.compile(r" ?[:\u2013\u2014] *([^:]+)$")
_BETTER = re.compile(r"^(?:better|worse|more|less)\b")
_IF_SO = re.compile(r",? (?:and )?if so\b.*$", re.IGNORECASE)
_AFTER_PRONOUN = re.compile(r"\b(before|after|while|when) (?:it|they|we|he|she|you|I) ([a-z]+)")

_RATHER = re.compile(r"(?<=\brather than )[a-z]+")
_PLAIN = re.compile(r"[A-Za-z]+\b")

_WORDS = lines().english
_PRONOUNS = frozenset(_WORDS.pronouns.split())
_DETERMINERS = frozenset(_WORDS.determiners.split())
_ADVERBS = frozenset(_WORDS.adverbs.split())
_VERBS = frozenset(_WORDS.verbs.split())
_DOUBLED = frozenset(_WORDS.doubled.split())
_BESIDE = re.compile(  # what may follow the subject of "is X …?"
    r"^(?:a|an|the|better|worse|more|less|too|good|bad|best|worth|wrong|right|dead|fair|safe|evil|art|"
    r"overrated|underrated|here|over|still|just|really|ever|always|never|not|in|on|at|to|possible|"
    r"\w{3,}(?:ful|able|ible|ous|ive|less|ical|ary|ed|ing)|\w{2,}ier)$"
)

_OUGHT = re.compile(r"\b(?:should|must|shall)\b")
_AUXILIARY = re.compile(r"\b(?:can|could|will|would|does|do|did|is|are|was|were|has|have)\b")
_NEGATED = re.compile(
    r"^(?:no|nobody|nothing|none|few|any|anyone|anybody)\b|\b(?:not|never)\b", re.IGNORECASE
)

Kind = Literal["policy", "view", "choice", "open", "answer"]


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion in words that fit into a sentence."""

    text: str  # as it was put, on one line, without marks that would clash with quotation marks
    thing: str  # takes a singular verb: "banning cars"
    claim: str  # a clause: "cities should ban cars"
    kind: Kind  # the shape it has
    act: str  # what it asks for, as a bare verb: "ban cars"; "" if it has none
    options: tuple[str, ...]  # a claim for each thing that it lists to choose from
    words: frozenset[str]  # its words in lower case, to tell other words from

    @property
    def aliases(self) -> tuple[str, ...]:
        """What to call it at the second mention and on."""
        return _ALIASES[self.kind]


def read(motion: str) -> Motion:
    """Find the shape of a motion."""
    text = " ".join(motion.split()).translate(str.maketrans({"“": "‘", "”": "’", '"': "’"}))
    words = frozenset(word.casefold() for word in _WORD.findall(text))
    body = _IF_SO.sub("", text.rstrip(" .!?"))
    shape = _shape(body, text.endswith("?")) or _quoted(text)
    longest = (shape.thing, shape.claim)
    if max(len(part.split()) for part in longest) > 14 or max(map(len, longest)) > 110:
        shape = _quoted(text)
    return Motion(clip(text, 24, 200), *shape, words)


@lru_cache(maxsize=256)
def thesis(motion: str, stance: str) -> str:
    """What a side says, as a clause: "zoos should be closed", "zoos should not be closed"."""
    shape = _stated(motion)
    claim, kind = shape.claim, shape.kind
    if stance == "pro":
        return claim
    claim = shape.options[0] if shape.options else claim
    if kind == "answer":  # it is quoted as it stands
        return claim.removesuffix("yes") + "no"
    if kind == "open":
        return claim.replace("it is time", "it is not time", 1)
    found = _OUGHT.search(claim) or _AUXILIARY.search(claim)
    if found is None or _NEGATED.search(claim):
        return f"it is wrong to say that {claim}"
    return f"{claim[: found.end()]} not{claim[found.end() :]}"


def is_deed(motion: str) -> bool:
    """Whether its theses are about something to be done."""
    return _stated(motion).kind in ("policy", "choice")


def _stated(motion: str) -> "Motion | _Shape":
    """What it claims; quoted where more than one thing is asked."""
    shape = read(motion)
    if "?" in shape.claim or (shape.kind != "open" and len(_OUGHT.findall(shape.claim)) > 1):
        return _quoted(shape.text)
    return shape


def answers(motion: str) -> list[str]:
    """The positions that a motion leaves: what it lists, or yes and no; none where it is open."""
    shape = _stated(motion)
    if shape.kind in ("open", "answer"):
        return []
    if shape.options:
        return list(shape.options)
    return [thesis(motion, "pro"), thesis(motion, "con")]


def clip(text: str, words: int, chars: int) -> str:
    """The beginning of a text, with an ellipsis if it is not all of it."""
    short = " ".join(text.split()[:words])
    short = short if len(short) <= chars else short[:chars].rsplit(" ", 1)[0]
    return short if short == text else short.rstrip(" ,;:.") + " …"


class _Shape(NamedTuple):
    thing: str
    claim: str
    kind: Kind
    act: str = ""
    options: tuple[str, ...] = ()


_ALIASES: dict[Kind, tuple[str, ...]] = {
    "policy": ("the proposal", "this step", "the idea"),
    "view": ("that view", "this reading", "the idea"),
    "choice": ("that choice", "settling it now", "an early choice"),
    "open": ("that choice", "settling it now", "an early choice"),
    "answer": ("a yes", "that answer", "a yes here"),
}


def _shape(body: str, question: bool) -> _Shape | None:
    if not _ASKED.match(body):
        if either := _EITHER.match(body):
            one, two = either["one"], either["two"]
            one = one[0].lower() + one[1:] if two[0].islower() else one
            if one != two and len(one.split()) <= 3 and len(two.split()) <= 3:
                return _choice(Listed("", (one, two)))
        elif (found := listed(body)) and found.bare and not _WH.match(body):
            return _choice(found)
    if question and _WH.match(body):
        named = _NAMED.search(body)  # "which database: …"
        found = listed(named[1]) if named else None
        return _choice(found) if found and found.bare else _open(body)
    if asked := _ASKED.match(body):
        return _inverted(asked["aux"].lower(), asked["rest"].split())
    if question:
        return None
    if stated := _SHOULD.match(body):
        return _policy(_lower(stated["who"]), stated["modal"].lower(), stated["what"])
    if being := _BEING.match(body):
        return _view(_lower(being["who"]), being["aux"], being["what"])
    return None


def _choice(found: Listed) -> _Shape:
    choice = found.first("over")
    options = tuple(f"we should choose {found.one(item)}" for item in found.items)
    return _Shape(f"choosing {choice}", f"we should choose {choice}", "choice", options=options)


def _open(body: str) -> _Shape:
    """An open question has no side to take, but whether to settle it now has two."""
    noun = _OPEN.match(body)
    if noun is None:
        question = f"“{clip(body, 9, 70)}”"
        now, claim = f"settling {question} now", f"it is time to settle {question}"
        return _Shape(now, claim, "open", "settle it")
    name = noun["noun"]
    article = "" if name.endswith("s") else "an " if name[0] in "aeiouAEIOU" else "a "
    choice = f"settle on {article}{name}"
    return _Shape(f"{gerund(choice)} now", f"it is time to {choice}", "open", choice)


def _inverted(aux: str, rest: list[str]) -> _Shape | None:
    being = aux in ("is", "are", "was", "were")
    for place in range(1, min(len(rest), 8)):
        word, before = rest[place].lower(), rest[place - 1].lower()
        fits = bool(_BESIDE.match(word)) if being else word in _VERBS or word in _ADVERBS
        after = " ".join(rest[place + 1 : place + 2])
        if not being and word in _VERBS - {"be"} and after in _VERBS:
            fits = False  # "does remote work improve …": the first is a noun here
        if before in _PRONOUNS and place == 1:
            fits = True
        if fits and before not in _DETERMINERS:
            who, what = " ".join(rest[:place]), " ".join(rest[place:])
            if aux in ("should", "must", "shall"):
                return _policy(who, aux, what)
            return _view(who, aux, what)
    return None


def _policy(who: str, modal: str, what: str) -> _Shape:
    what = what.removesuffix(" or not")
    options: tuple[str, ...] = ()
    nobody = _NEGATED.search(who)
    found = None if nobody else listed(what)
    if found and not found.bare:
        options = tuple(f"{who} {modal} {found.one(item)}" for item in found.items)
        what = found.first("rather than")
    elif not nobody:
        what = _LAST_OR.sub(r" rather than \1", what)
    claim = f"{who} {modal} {what}"
    if what.startswith("be "):
        return _Shape(f"the rule that {claim}", claim, "policy", options=options)
    if nobody or not _PLAIN.match(what):
        return _Shape(f"accepting that {claim}", claim, "view", options=options)
    what = re.sub(r"^stop (?=\w+ing\b)", "give up ", what)
    doing = _AFTER_PRONOUN.sub(lambda m: f"{m[1]} {gerund(_base(m[2]))}", what)
    thing = _RATHER.sub(lambda m: gerund(m[0]) if m[0] in _VERBS else m[0], gerund(doing))
    return _Shape(thing, claim, "policy", doing, options)


def _view(who: str, aux: str, what: str) -> _Shape:
    if _BETTER.match(what):
        what = " than ".join(what.rsplit(" or ", 1))
    found = listed(who)
    if found and found.bare:
        options = tuple(f"{found.one(item)} {aux} {what}" for item in found.items)
        return _Shape(f"accepting that {options[0]}", options[0], "view", options=options)
    claim = f"{who} {aux} {what}"
    if aux in ("is", "are") and who.lower() not in _PRONOUNS | {"there", "this", "that"}:
        return _Shape(f"treating {who} as {what}", claim, "view")
    return _Shape(f"accepting that {claim}", claim, "view")


def _quoted(text: str) -> _Shape:
    quote = f"“{clip(text, 9, 70)}”"
    return _Shape(f"a yes to {quote}", f"the answer to {quote} is yes", "answer")


def _lower(subject: str) -> str:
    """Begin a subject in lower case, unless it may be a name: "Cities", but "Python" and "AI"."""
    first, _, rest = subject.partition(" ")
    if not first.istitle() or first == "I":
        return subject
    common = first.lower() in _DETERMINERS | _PRONOUNS or _NEGATED.match(first)
    common = common or first.endswith("s") or rest[:1].islower()
    return first.lower() + subject[len(first) :] if common else subject


def gerund(phrase: str) -> str:
    """ "write tests" → "writing tests", "not ban cars" → "not banning cars"."""
    words = phrase.split(" ")
    place = next((i for i, word in enumerate(words) if word.lower() not in _ADVERBS), 0)
    verb = words[place]
    if verb.endswith("ie"):
        verb = verb[:-2] + "y"
    elif verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        verb = verb[:-1]
    elif verb in _DOUBLED:
        verb += verb[-1]
    return " ".join([*words[:place], verb + "ing", *words[place + 1 :]])


def _base(verb: str) -> str:
    """ "writes" → "write"; irregular ones stay as they are."""
    if verb in _VERBS or not verb.endswith("s"):
        return {"has": "have", "is": "be", "are": "be", "does": "do"}.get(verb, verb)
    if verb[:-1] in _VERBS:
        return verb[:-1]
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith("es") and verb[:-2] in _VERBS else verb[:-1]
