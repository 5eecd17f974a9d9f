"""What the understudy makes of a council's problem: its options, and words to speak about it."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from moot.core.council import key
from moot.models.motion import Motion, clip, gerund, read
from moot.models.understudy_council_lines import Lens, Lines, RiskLine, Side, council_lines
from moot.models.understudy_speech import number

SIDES: tuple[Side, ...] = ("yes", "no", "third")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_TWICE_ENDED = re.compile(r"([.?!…]”)\.")
_LONG = 9  # words; an option's label is short


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with its options, and everything that can be said about it."""

    motion: Motion
    noun: str  # the third way, within a sentence
    options: dict[Side, Lines]  # the wordings of each
    lenses: tuple[Lens, ...]  # in an order of this problem's own
    stepwise: bool  # something one does, not something one claims
    constraints: Lines

    def fill(self, line: str, **words: str) -> str:
        """Put words into a sentence in one go: what is put in is never itself filled in."""
        known = {"thing": self.motion.thing, "third": self.noun, **words}
        return _filled(line, known)

    def side(self, option: str) -> Side | None:
        """Which of our own options a wording is; None for anybody else's."""
        return next((s for s in SIDES if key(option) in map(key, self.options[s])), None)

    def wording(self, side: Side, role: str) -> str:
        """The words that a role has for an option."""
        wordings = self.options[side]
        return wordings[self.number(role, "wording", side) % len(wordings)]

    def lens(self, text: str) -> Lens | None:
        """Which lens a text of our own looks through."""
        text = text.casefold()
        for lens in self.lenses:
            known = [part.of(side) for part in (lens.claim, lens.ask) for side in SIDES]
            if any(self.fill(line).casefold() in text for line in known):
                return lens
        return None

    def question(self, text: str) -> str:
        """A question without what led up to it."""
        asks = (self.fill(lens.ask.of(side)) for lens in self.lenses for side in SIDES)
        found = (ask for ask in asks if ask.casefold() in text.casefold())
        return quotable(next(found, text), 240)

    def risk(self, text: str) -> RiskLine | None:
        """A risk of our own, with its severity and what to do about it."""
        table = council_lines()
        for line in (risk for lens in self.lenses for risk in (lens.do, lens.wait)):
            if self.fill(line.text) == text:
                return line
        named = (self.fill(table.constraint.text, constraint=text_) for text_ in self.constraints)
        return table.constraint if text in named else None

    def pick(self, lines: Lines, *seed: object) -> str:
        return lines[self.number(*seed) % len(lines)]

    def number(self, *seed: object) -> int:
        return number(self.motion.text, *seed)


@lru_cache(maxsize=64)
def problem(text: str, constraints: Lines) -> Problem:
    motion, kind, words = _shape(read(text), text)
    table = council_lines()
    options = table.kinds[kind]
    words |= {"act": motion.act or motion.claim, "claim": motion.claim}
    views = kind in ("view", "answer")
    fitting = [lens for lens in table.lenses if (lens.views if views else lens.steps)]
    if kind not in ("policy", "task") or not motion.claim.startswith("we "):
        fitting = [lens for lens in fitting if not lens.ours]
    return Problem(
        motion=motion,
        noun=options.noun,
        options={side: _wordings(options.of(side), words) for side in SIDES},
        lenses=tuple(sorted(fitting, key=lambda lens: number(motion.text, lens.label))),
        stepwise=not views,
        constraints=tuple(quotable(one, 100) for one in constraints if one.strip()),
    )


def quotable(text: str, chars: int) -> str:
    """Somebody's words, short enough and fit to stand between quotation marks."""
    plain = " ".join(text.split()).translate(str.maketrans({"“": "‘", "”": "’", '"': "’"}))
    return clip(plain, 60, chars)


def _shape(motion: Motion, text: str) -> tuple[Motion, str, dict[str, str]]:
    """The kind of a problem, and the words that its options are made of."""
    body = " ".join(text.split()).rstrip(" .!?")
    first, _, rest = body.partition(" ")
    if motion.kind == "choice":
        one, _, two = motion.thing.removeprefix("choosing ").partition(" over ")
        return motion, "choice", {"one": one, "two": _last(two)}
    if motion.kind == "policy" and " rather than " in motion.act:
        one, _, two = motion.act.partition(" rather than ")
        return motion, "rather", {"one": one.partition(",")[0], "two": _last(two)}
    if motion.kind == "answer" and rest and first.lower() in council_lines().english.tasks.split():
        act = f"{first.lower()} {clip(rest.partition('. ')[0], 9, 70)}"
        thing = gerund(act) if not act.endswith("…") else "this task"
        return replace(motion, thing=thing, claim=f"we should {act}", act=act), "task", {}
    return motion, motion.kind, {}


def _last(things: str) -> str:
    """Of several, one that can be chosen."""
    return things.rpartition(" or ")[2]


def _wordings(lines: Lines, words: dict[str, str]) -> Lines:
    """Short labels; where all would be long, the beginning of one has to do."""
    made = [_filled(line, words) for line in lines]
    short = [label for label in made if len(label.split()) <= _LONG and len(label) <= 80]
    return tuple(short) or (clip(made[0].partition(", ")[0], _LONG, 80),)


def _filled(line: str, words: dict[str, str]) -> str:
    def word(found: re.Match[str]) -> str:
        name = found[1]
        text = words.get(name, words.get(name.lower(), ""))
        return text[:1].upper() + text[1:] if name[0].isupper() else text

    return _TWICE_ENDED.sub(r"\1", _PLACEHOLDER.sub(word, line))
