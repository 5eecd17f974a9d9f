"""What a debate does without if its budget is too small for all of it.

It goes down a ladder to the first rung that fits: the jury as it was asked for, then without its
vote before the debate, without the second order, and as small as it can be; then the verdict of
whoever judges; and last the positions as they stand, which takes no call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from moot.core.debate import Debate, Jury
from moot.core.legs import Leg, legs_of
from moot.core.schedule import Step, stage_steps

SMALLEST = 3
"""The smallest odd jury that has a majority."""
NO_BASELINE = (
    "The budget has no room for the jury's vote before the debate: the jurors vote only after it."
)
NO_SWAP = "The budget has no room for a second ballot in the other order: each juror votes once."
Fits = Callable[[Debate, Sequence[Step]], bool]
"""Whether the budget has room for these steps of a debate."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way on to the outcome."""

    skips: tuple[str, ...]  # the stages that are left out, or the rest of them
    jury: Jury | None  # who votes, and how often
    words: tuple[str, ...]  # what is left out, and what decides instead: each is told in the log


Rung = tuple[Way, Debate, tuple[Step, ...]]
"""A way, the debate that takes it, and what it needs room for."""


def smaller(jury: Jury) -> list[tuple[Jury, str]]:
    """Each jury that takes less than the one before, and what it does without."""
    found: list[tuple[Jury, str]] = []
    if jury.baseline:
        jury = replace(jury, baseline=False)
        found.append((jury, NO_BASELINE))
    if jury.swap:
        jury = replace(jury, swap=False)
        found.append((jury, NO_SWAP))
    if (size := len(jury.seats)) > SMALLEST:
        jury = replace(jury, seats=jury.seats[:SMALLEST])
        found.append((jury, f"The budget has no room for {size} jurors: {SMALLEST} of them vote."))
    return found


def cheapest(debate: Debate) -> tuple[Debate, tuple[Step, ...]]:
    """The cheapest verdict that may follow the stage that comes next, and the debate that has it:
    of whoever judges or, in a format where nobody does, of the smallest jury."""
    later = _Later(debate)
    if later.verdict and not later.at(later.verdict):
        return debate, stage_steps(debate, later.verdict)
    if debate.jury and later.jury and not later.at(later.jury):
        sizes = smaller(debate.jury)
        small = debate.but(jury=sizes[-1][0]) if sizes else debate
        return small, stage_steps(small, later.jury)
    return debate, ()


def written(debate: Debate) -> tuple[Step, ...]:
    """The verdict that is to be written once a jury has voted, by somebody else."""
    later = _Later(debate)
    return stage_steps(debate, later.verdict) if later.verdict else ()


def way_on(debate: Debate, fits: Fits) -> Way:
    """The highest rung that fits, for a debate whose next wave does not."""
    later = _Later(debate)
    for way, ahead, steps in _rungs(debate, later):
        if fits(ahead, steps):
            return way
    return later.way(None, later.voted, later.last_words())


def _rungs(debate: Debate, later: "_Later") -> Iterator[Rung]:
    """Every rung but the last."""
    ahead, verdict = cheapest(debate)
    for stage in later.summaries():
        yield later.way(stage, debate.jury), ahead, (*stage_steps(debate, stage), *verdict)
    if debate.jury and later.jury and not later.voted:
        yield from _juries(debate, debate.jury, later, later.jury)
    if later.verdict and not later.at(later.verdict):
        without = debate.but(jury=later.voted)
        way = later.way(later.verdict, later.voted, later.no_jury(f"the {later.judge} decides"))
        yield way, without, stage_steps(without, later.verdict)
    for stage in later.summaries():
        yield later.way(stage, debate.jury), debate, stage_steps(debate, stage)


def no_debate(debate: Debate, instead: str) -> Way:
    """To the end: nobody votes on a debate that was not held."""
    later = _Later(debate)
    return later.way(None, None, later.no_jury(instead))


def _juries(debate: Debate, jury: Jury, later: "_Later", stage: str) -> Iterator[Rung]:
    """A jury, ever smaller, with the verdict that somebody writes beside it; then without that."""
    words: tuple[str, ...] = ()
    verdict = later.verdict if later.verdict and not later.at(later.verdict) else None
    first = verdict if verdict and later.precedes(verdict, stage) else stage
    for size, told in [(jury, ""), *smaller(jury)]:
        jury, words = size, (*words, told) if told else words
        if told or not later.at(stage):  # as it was asked for, it did not fit
            ahead = debate.but(jury=jury)
            ballots = stage_steps(ahead, stage)
            spoken = stage_steps(ahead, verdict) if verdict else ()
            yield later.way(first, jury, words), ahead, (*ballots, *spoken)
    if verdict and (words or not later.at(stage)):
        small = debate.but(jury=jury)
        yield later.way(stage, jury, words), small, stage_steps(small, stage)


class _Later:
    """What is still to come of a debate, from the stage that is next."""

    def __init__(self, debate: Debate) -> None:
        self._debate = debate
        self._here = debate.cursor.next_stage
        legs = legs_of(debate)
        start = next((n for n, leg in enumerate(legs) if leg.stage.name == self._here), len(legs))
        self._legs = legs[start:]
        self._names = [leg.stage.name for leg in self._legs]
        result, jury = debate.rules.result, debate.rules.jury
        verdict = result.verdict if result else None
        self.verdict = verdict if verdict in self._names else None
        self.jury = jury.name if jury and jury.name in self._names else None

    @property
    def voted(self) -> Jury | None:
        """The jury, if it has voted or begun to: then it stays as it is."""
        begun = self.jury is None or (self.at(self.jury) and self._debate.cursor.done)
        return self._debate.jury if begun else None

    @property
    def judge(self) -> str:
        """Who speaks the verdict."""
        speakers = self._debate.rules.stage(self.verdict).speakers if self.verdict else ""
        return speakers[0] if isinstance(speakers, tuple) else "judge"

    def at(self, stage: str) -> bool:
        return stage == self._here

    def precedes(self, one: str, other: str) -> bool:
        return self._names.index(one) < self._names.index(other)

    def summaries(self) -> list[str]:
        """Stages that sum up before anybody decides: they help more than further speeches."""
        found: list[str] = []
        for leg in self._legs:
            if leg.stage.name in (self.jury, self.verdict):
                break
            if leg.stage.kind == "summary" and leg.waves and not self.at(leg.stage.name):
                found.append(leg.stage.name)
        return found

    def way(self, to: str | None, jury: Jury | None, words: Sequence[str] = ()) -> Way:
        """Straight to that stage, or to the end."""
        gone = self._legs[: self._names.index(to)] if to else self._legs
        if jury is None:
            gone = [leg for leg in gone if leg.stage.name != self.jury]
        return Way(tuple(leg.stage.name for leg in gone), jury, (*self._unsaid(gone), *words))

    def _unsaid(self, gone: Sequence[Leg]) -> tuple[str, ...]:
        """What is left out of the debate itself. Who decides is told apart from that."""
        named: list[str] = []
        for leg in gone:
            name, heading = leg.stage.name, leg.stage.heading
            if name == self.jury and self.at(name):
                named.append("the ballots that are missing")
            elif name not in (self.jury, self.verdict) and leg.waves:
                named.append(f"the rest of {heading}" if name == self._debate.stage else heading)
        if not named:
            return ()
        listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        return (f"The budget has no room for {listed}: what was said so far decides.",)

    def no_jury(self, instead: str | None = None) -> tuple[str, ...]:
        if self.jury is None or self.voted:
            return ()
        told = f": {instead}" if instead else ""
        return (f"The budget has no room for a jury, however small{told}.",)

    def last_words(self) -> tuple[str, ...]:
        """What decides if nobody is asked any more."""
        result = self._debate.rules.result
        stand = "the positions decide as they stand"
        if not (result and result.stands):
            stand = "there is no verdict"
        if not self.verdict:
            return self.no_jury(stand)
        votes = "the jury's votes decide" if self.voted else stand
        lost = f"The budget has no room for the {self.judge}'s verdict: {votes}."
        return (*self.no_jury(), lost)
