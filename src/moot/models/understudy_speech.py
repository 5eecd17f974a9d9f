"""How the understudy composes a turn from the motion and from what was said before it.

Choices come from hashes of the motion, the seat, the round and the stage, never from a clock, an id
or a random number: the same debate gives the same words.
"""

import hashlib
import re
from collections.abc import Sequence

from moot.core.debate import Debate, Stance, Turn
from moot.core.schedule import Step
from moot.models import understudy_ear as ear
from moot.models.motion import read
from moot.models.understudy_lines import Consideration, Lines, lines

_SPEECH_WORDS = 60  # at least
_CUE_WORDS = 35  # at most
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_TWICE_ENDED = re.compile(r"([?!]”)\.")


def compose(debate: Debate, step: Step, heard: Sequence[Turn]) -> str:
    """What the step's actor says: nothing that it said before, word for word."""
    said = {turn.text for turn in heard if turn.actor == step.actor}
    text = ""
    for salt in range(64):
        text = _Voice(debate, step, heard, salt).speak()
        if text not in said:
            break
    return text


def number(*seed: object) -> int:
    """A number that follows from the seed alone, on every machine and in every process."""
    digest = hashlib.sha256("\x1f".join(map(str, seed)).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big")


class _Voice:
    """One turn in the making; it keeps track of what this turn has mentioned already."""

    def __init__(self, debate: Debate, step: Step, heard: Sequence[Turn], salt: int) -> None:
        self.debate, self.step, self.salt = debate, step, salt
        self.heard = [turn for turn in heard if turn.text.strip()]
        self.motion = read(debate.motion)
        self.seat = debate.seat(step.actor)
        self.hosting = debate.host is not None and self.seat.id == debate.host.id
        self.stance: Stance = "neutral" if self.hosting else self.seat.stance
        mine = [turn for turn in self.heard if turn.actor == self.seat.id]
        self.own = "\n".join(turn.text for turn in mine)
        self.said = "\n".join(turn.text for turn in self.heard)
        self.count = sum(turn.kind == step.kind for turn in mine) if heard else step.round
        self.count += salt
        self.mentions = 0  # of the motion, in this turn
        self.claimed = False

    def speak(self) -> str:
        stage = self.step.stage
        if self.step.kind == "cue":
            return self._cue()
        if self.step.kind in ("summary", "verdict"):
            return self._summary()
        if stage.startswith("intro"):
            return self._introduction()
        if _concludes(stage) and self.own:
            return self._conclusion()
        if stage.startswith("opening"):
            return self._opening()
        return self._exchange()

    # The turns.

    def _opening(self) -> str:
        parts = [self._say(lines().opener.of(self.stance), "opener")]
        one = self._weigh(None, None)
        parts += [self._say(lines().lead.first, "first", label=one.label), self._point(one)]
        return self._ended(parts)

    def _exchange(self) -> str:
        """Answer somebody, then make a point; or first the point, if the host asked for it."""
        found = self._answered()
        if found is None:
            return self._opening()
        turn, quote, around = found
        cue, host = self._asked(), self.debate.host
        quoted = cue and ear.quotes(cue.text, self.motion.words)
        asked = ear.about(cue.text) if cue and not quoted else None
        theirs = ear.about(around)
        one = self._weigh(asked, theirs)
        engage = self._engage(turn, quote, theirs)
        if host and one is asked:
            lead = self._say(lines().lead.cued, "cued", label=one.label, host=host.name)
            return self._ended([lead, self._point(one), engage])
        lead = self._say(lines().lead.lines, "lead", label=one.label)
        return self._ended([engage, lead, self._point(one)])

    def _engage(self, turn: Turn, quote: str, theirs: Consideration | None) -> str:
        """Name the point, and answer it."""
        table, words = lines().engage, {"name": turn.name, "quote": quote}
        allied = self._side(turn) == self.stance != "neutral"
        if allied:
            return self._say(table.allied, "allied", **words)
        naming = table.weighing if self.stance == "neutral" else table.lines
        general = lines().general.of(self.stance)
        answers = theirs.answer(self.stance) if theirs else general
        unsaid = tuple(line for line in answers if self._last(line) < 0)
        named = self._say(naming, "engage", **words)
        return f"{named} {self._say(unsaid or answers, 'answer')}"

    def _conclusion(self) -> str:
        table = lines().conclusion
        parts: list[str] = []
        spoken = [t.text for t in self.heard if t.actor == self.seat.id and t.kind == "speech"]
        if own := next((p for text in spoken if (p := ear.phrase(text, self.motion.words))), None):
            parts.append(self._say(table.own, "own", own=own[0]))
        if found := self._answered():
            turn, quote, _ = found
            parts.append(self._say(table.other, "other", name=turn.name, quote=quote))
        parts.append(self._say(table.of(self.stance), "end"))
        if _words(parts) < _SPEECH_WORDS:
            parts.insert(-1, self._say(lines().aside.of(self.stance), "aside"))
        return " ".join(parts)

    def _introduction(self) -> str:
        table, order = lines().introduction, self._order("introduction")
        labels = {"label": order[0].label, "label2": order[1].label}
        parts = [self._say(table.lines, "introduction", motion=self.motion.text, **labels)]
        sides = {"pro": table.for_, "con": table.against, "neutral": table.open}
        many = {"pro": table.many_for, "con": table.many_against, "neutral": table.many_open}
        seats = [seat for seat in self.debate.participants if seat.id != self.seat.id]
        if len(seats) <= 4:
            parts += [self._fill(sides[seat.stance], name=seat.name) for seat in seats]
        else:
            for stance, line in many.items():
                if names := [seat.name for seat in seats if seat.stance == stance]:
                    parts.append(self._fill(line, names=_joined(names)))
        return " ".join([*parts, table.end])

    def _cue(self) -> str:
        target = self.debate.seat(self.step.target_id)
        table, stage, words = lines().cue, self.step.stage, {"target": target.name}
        theirs = Step(self.step.round, stage, target.id, "speech", None, "")
        found = _Voice(self.debate, theirs, self.heard, self.salt).to_answer()
        rebuts = stage.startswith("rebut")
        if stage.startswith("opening"):
            openings = {"pro": table.opening_pro, "con": table.opening_con}
            options = openings.get(target.stance, table.opening_neutral)
        elif _concludes(stage):
            options = table.conclusion
        elif found and (rebuts or (stage != "free" and self.step.round % 2 == 0)):
            options = table.rebuttal if rebuts else table.quoting
            words |= {"name": found[0].name, "quote": found[1]}
        else:
            options = table.asking
            words["ask"] = self._question(target.id)
        cue = self._say(options, "cue", **words)
        if len(cue.split()) > _CUE_WORDS:  # a long motion: its short name will do
            self.mentions = 1
            if "ask" in words:
                words["ask"] = self._question(target.id)
            cue = self._say(options, "cue", **words)
        return cue

    def _question(self, target: str) -> str:
        """A question that nobody was asked before, if there is one left."""
        asks = [one.ask[place] for place in (0, 1) for one in self._order(target)]
        fresh = (ask for ask in asks if ear.fingerprint(ask) not in self.own)
        return self._fill(next(fresh, asks[self.count % len(asks)]))

    def _summary(self) -> str:
        """For each speaker the main point, then what they shared, then what stays open."""
        table = lines().summary
        sides = {"pro": table.for_, "con": table.against, "neutral": table.open}
        parts = [self._fill(table.begin, motion=self.motion.text)]
        raised: dict[Stance, list[Consideration]] = {"pro": [], "con": [], "neutral": []}
        for seat in self.debate.participants:
            texts = [t.text for t in self.heard if t.actor == seat.id and t.kind == "speech"]
            main = ear.main_sentence(texts, self.motion.words)
            line = sides[seat.stance] if main else table.silent
            parts.append(self._fill(line, name=seat.name, quote=main or ""))
            plain = (s for text in texts for s in ear.sentences(text) if "“" not in s)
            raised[seat.stance] += [one for s in plain if (one := ear.about(s, least=2))]
        both = _once([one for one in raised["pro"] if one in raised["con"]])
        alone = [one for side in raised.values() for one in side if one not in both]
        left = _once([*alone, *both[2:], *self._order("left")])
        end = [table.apart]
        if both:
            end = [self._fill(table.shared, label=_joined([one.label for one in both[:2]]))]
        open_ = {"left": self._fill(left[0].left), "left2": self._fill(left[1].left)}
        end += [self._fill(table.left, **open_), table.end]
        return f"{' '.join(parts)}\n\n{' '.join(end)}"

    # What they answer, and what they are about.

    def to_answer(self) -> tuple[Turn, str, str] | None:
        """Whom this seat would answer: the turn, its phrase, the sentence around the phrase."""
        across: dict[Stance, Stance] = {"pro": "con", "con": "pro"}
        seats = {seat.id for seat in self.debate.participants}
        others = [
            turn
            for turn in self.heard
            if turn.actor != self.seat.id
            and ((turn.kind == "speech" and turn.actor in seats) or turn.kind == "note")
            and not (_concludes(self.step.stage) and _concludes(turn.stage))
        ]
        against = [turn for turn in others if self._side(turn) == across.get(self.stance)]
        apart = [turn for turn in others if self._side(turn) != self.stance]
        turns = against or apart or others
        if not turns:
            return None
        found = ear.phrase(turns[-1].text, self.motion.words, self.own)
        return (turns[-1], *found) if found else None

    def _answered(self) -> tuple[Turn, str, str] | None:
        """What the host's cue quotes, if it does, else what this seat finds to answer."""
        cue, seats = self._asked(), {seat.id for seat in self.debate.participants}
        for quote in ear.quotes(cue.text, self.motion.words) if cue else ():
            for turn in self.heard:  # whoever said it first; later turns may quote it too
                theirs = turn.kind == "speech" and turn.actor in seats - {self.seat.id}
                if theirs and quote in turn.text:
                    around = (s for s in ear.sentences(turn.text) if quote in s)
                    return turn, quote, next(around, quote)
        return self.to_answer()

    def _asked(self) -> Turn | None:
        """The cue that this speech follows."""
        last = self.heard[-1] if self.heard else None
        return last if last and last.kind == "cue" and last.target == self.seat.id else None

    def _side(self, turn: Turn) -> Stance:
        for seat in self.debate.participants:
            if seat.id == turn.actor:
                return seat.stance
        return "neutral"

    def _order(self, whom: str) -> list[Consideration]:
        """The considerations in an order of somebody's own."""
        key = (self.debate.motion, whom, self.salt)
        return sorted(lines().considerations, key=lambda one: number(*key, one.label))

    def _weigh(self, asked: Consideration | None, but: Consideration | None) -> Consideration:
        """What to speak about: what was asked, else what this seat and the others used least."""
        if asked is not None:
            return asked
        rest = [one for one in self._order(self.seat.id) if one is not but]
        return min(
            rest,
            key=lambda one: (
                self._uses(one, self.own),
                self._uses(one, self.said),
                max(self._last(line) for line in one.of(self.stance)),
            ),
        )

    def _uses(self, one: Consideration, text: str) -> int:
        return sum(ear.fingerprint(line) in text for line in one.of(self.stance))

    def _last(self, line: str) -> int:
        """How far back this seat said a line; -1 if never."""
        return self.own.rfind(ear.fingerprint(line))

    def _point(self, one: Consideration) -> str:
        """A consideration's point that nobody has made yet, or at least not this seat."""
        options = one.of(self.stance)
        start = number(self.debate.motion, one.label) + self.count // len(lines().considerations)
        turned = [options[(start + place) % len(options)] for place in range(len(options))]
        unheard = (line for line in turned if ear.fingerprint(line) not in self.said)
        return self._fill(next(unheard, min(turned, key=self._last)))

    # How they are worded.

    def _ended(self, parts: list[str]) -> str:
        """A speech with its last sentence; an aside fills up a short one."""
        closer = self._say(lines().closer.of(self.stance), "closer")
        if _words([*parts, closer]) < _SPEECH_WORDS:
            parts.append(self._say(lines().aside.of(self.stance), "aside"))
        return " ".join([*parts, closer])

    def _say(self, options: Lines, what: str, **words: str) -> str:
        """The next sentence of a kind, filled in: each seat goes its own way through them, and
        steps around what was said a moment ago."""
        if self.claimed:
            options = tuple(line for line in options if "{claim" not in line.lower()) or options
        start = number(self.debate.motion, self.seat.id, what, self.salt) + self.count
        turned = [options[(start + place) % len(options)] for place in range(len(options))]
        recent = "\n".join(turn.text for turn in self.heard[-6:])
        fresh = (line for line in turned if ear.fingerprint(line) not in recent)
        return self._fill(next(fresh, turned[0]), **words)

    def _fill(self, line: str, **words: str) -> str:
        """Put words into a sentence in one go: what is put in is never itself filled in."""

        def word(found: re.Match[str]) -> str:
            name = found[1]
            if name in words:
                return words[name]
            text = self._thing() if name.lower() == "thing" else self._claim()
            return text[:1].upper() + text[1:] if name[0].isupper() else text

        return _TWICE_ENDED.sub(r"\1", _PLACEHOLDER.sub(word, line))

    def _thing(self) -> str:
        self.mentions += 1
        if self.mentions == 1:
            return self.motion.thing
        aliases = self.motion.aliases
        return aliases[(self.count + self.mentions) % len(aliases)]

    def _claim(self) -> str:
        self.mentions += 1
        self.claimed = True
        return self.motion.claim


def _concludes(stage: str) -> bool:
    return stage.startswith(("conclu", "closing"))


def _words(parts: Sequence[str]) -> int:
    return sum(len(part.split()) for part in parts)


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _once(found: Sequence[Consideration]) -> list[Consideration]:
    return list({one.label: one for one in found}.values())
