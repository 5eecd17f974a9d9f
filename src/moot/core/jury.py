"""A jury that joins a format: the stage that it adds, and how it reads a debate.

Jurors read blind. Neutral labels replace the names of seats, roles and models; turn numbers stay,
so that citations hold. What the speakers said of their own confidence is left out.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, cast

from moot.core import answers
from moot.core.debate import Debate, Participant, Reading, Turn
from moot.core.format import Format, Outcome, Stage, mixed_up
from moot.core.naming import Name, key, names_of, spelled
from moot.errors import InputError

SIDES = ("For the motion", "Against the motion")
"""What a jury chooses from if nobody names options."""
NOTE = "A person who listens, in a note"
"""Whose words a note is, in place of a speaker's name."""
_FILE = resources.files("moot.core").joinpath("jury.toml").read_text("utf-8")
STAGE = Stage.model_validate(tomllib.loads(_FILE), strict=False)


@dataclass(frozen=True, slots=True)
class Choices:
    """The options to choose from, in the order in which they were stated, and who holds which."""

    options: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict[str, str])  # by the id of a seat


NO_CHOICES = Choices()


def joined(rules: Format) -> Format:
    """The format with a stage in which a jury votes: before its verdict if it has one, so that
    whoever writes that has read the ballots, and at its end otherwise."""
    if unclear := mixed_up(rules):
        raise InputError(f"A jury cannot join the format {rules.name}: {unclear}.", "jury")
    stages, result = list(rules.stages), rules.result
    if rules.jury is None:
        taken = {stage.name for stage in stages}
        name = next(n for n in ("jury", *(f"jury-{n}" for n in range(2, 99))) if n not in taken)
        verdict = result.verdict if result else None
        place = next((n for n, one in enumerate(stages) if one.name == verdict), len(stages))
        stages.insert(place, STAGE.model_copy(update={"name": name}))
    outcome = rules.outcome if result else Outcome(packet=False, record=False)
    return rules.model_copy(update={"stages": tuple(stages), "outcome": outcome})


def turned(items: Sequence[Any], by: int) -> list[Any]:
    """The same in another order: begun further on, and carried round. Two are reversed by one."""
    start = by % len(items) if items else 0
    return [*items[start:], *items[:start]]


def order(debate: Debate, juror: str, reading: Reading | None, choices: Choices) -> list[str]:
    """The options as a juror reads them. Each juror begins with another one, and reads them in the
    next order when it votes again, so that a choice by place alone changes with the order."""
    ids = [seat.id for seat in debate.jury.seats] if debate.jury else []
    place = ids.index(juror) if juror in ids else 0
    return turned(choices.options, place + (reading == "swapped"))


def seated(debate: Debate, options: Sequence[str], choices: Choices) -> list[Participant]:
    """The participants as a juror reads them in each round: by the option that they hold."""
    rank = {option: place for place, option in enumerate(options)}
    return sorted(
        debate.participants,
        key=lambda seat: rank.get(choices.held.get(seat.id, ""), len(options)),
    )


@dataclass(frozen=True, slots=True)
class Blind:
    """What one juror may know in one reading: labels in place of the names of seats, roles and
    models."""

    seats: tuple[Participant, ...]  # in the order in which they are read in each round
    options: tuple[str, ...]  # in the order in which they are read
    labels: Mapping[str, str]  # by the id of a seat
    names: Mapping[str, tuple[Name, str]]  # with the label of each

    @property
    def shown(self) -> list[str]:
        """The options as they were stated, each another."""
        made: list[str] = []
        for option in self.options:
            text = " ".join(option.split())
            same = sum(text.casefold() == other.casefold() for other in made)
            made.append(f"{text} ({same + 1})" if same else text)
        return made

    def hide(self, text: str) -> str:
        """Labels in place of names."""
        if not self.names:
            return text

        def label(found: re.Match[str]) -> str:
            named = self.names.get(found[0]) or self.names.get(key(found[0]))
            return named[1] if named and named[0].meant(text, *found.span()) else found[0]

        return _any_of(tuple(name.text for name, _ in self.names.values())).sub(label, text)

    def reveal(self, value: Any) -> Any:
        """A ballot as others can read it: with the option as it was stated, and names for labels,
        which mean another speaker in each reading. Quotes stay as they were read."""
        if isinstance(value, Mapping):
            parts = cast("Mapping[str, Any]", value).items()
            return {key: part if key == "quotes" else self.reveal(part) for key, part in parts}
        if isinstance(value, list):
            return [self.reveal(part) for part in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        for shown, option in zip(self.shown, self.options, strict=True):
            if value == shown:
                return option
        names = {self.labels[seat.id]: seat.name for seat in self.seats}
        labels = "|".join(map(re.escape, names))
        return re.sub(rf"\b(?:{labels})\b", lambda found: names[found[0]], value)


@lru_cache(maxsize=64)  # for each turn that each juror reads
def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """The longest first, where one begins with another."""
    known = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(spelled, known)), re.IGNORECASE)


def blindfold(
    debate: Debate, juror: str, reading: Reading | None, choices: Choices = NO_CHOICES
) -> Blind:
    """What a juror may know in a reading, and in which order it reads."""
    options = order(debate, juror, reading, choices)
    seats = seated(debate, options, choices)
    labels = {seat.id: f"Speaker {chr(ord('A') + n)}" for n, seat in enumerate(seats)}
    return Blind(tuple(seats), tuple(options), labels, _names(debate, labels, options))


def speeches(debate: Debate, turns: Sequence[Turn], blind: Blind) -> list[tuple[str, Turn, str]]:
    """What a juror reads: a label, a turn and its words, round by round in the order of its seats.

    Only speeches and people's notes, which stand at the end of their round: a host's cues,
    summaries and other verdicts would tell a juror what to think.
    """
    place = {seat.id: n for n, seat in enumerate(blind.seats)}
    spoken = [
        turn
        for turn in turns
        if turn.kind == "note"
        or (
            turn.kind == "speech"
            and turn.status == "ok"
            and turn.actor in place
            and turn.stage not in debate.rules.unheard
        )
    ]
    last = len(place)
    spoken.sort(
        key=lambda turn: (turn.round, last if turn.kind == "note" else place[turn.actor], turn.seq)
    )
    return [
        (NOTE if one.kind == "note" else blind.labels[one.actor], one,
         blind.hide(_unsure(debate, one)))
        for one in spoken
    ]  # fmt: skip


def _unsure(debate: Debate, turn: Turn) -> str:
    """The words of a turn without how sure its speaker says it is."""
    stage = next((one for one in debate.rules.stages if one.name == turn.stage), None)
    if not turn.data or stage is None or stage.answer == "text":
        return turn.text
    try:
        return answers.spoken(debate.rules.shape(stage.answer), turn.data, sure=False)
    except (KeyError, TypeError, ValueError):  # its shape has changed since
        return turn.text


def _names(
    debate: Debate, labels: Mapping[str, str], options: Sequence[str]
) -> dict[str, tuple[Name, str]]:
    """The names of seats, roles and models, each with its label. What the motion or an option names
    stays: it is what the debate is about. So does a model that a constraint names."""
    limits: Sequence[str] = debate.brief.get("constraints", ())
    found: dict[str, tuple[Name, str]] = {}
    for seat, name in names_of(debate.seats):
        about = (debate.motion, *options, *(limits if name.kind == "model" else ()))
        if not any(name.stands_in(text) for text in about):
            found.setdefault(name.key, (name, labels.get(seat.id, "the host")))
    return found
