"""How votes become an outcome. The same rules count the ballots of a jury and, where neither a jury
nor a judge decides, the positions of the speakers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from moot.core.answers import UNDECIDED
from moot.core.debate import OutcomeKind


@dataclass(frozen=True, slots=True)
class Count:
    """Votes, by what they are for. Whoever was asked and has no vote that counts is absent."""

    asked: int
    votes: Mapping[str, int]  # by option; without those who are undecided
    undecided: int = 0

    @classmethod
    def of(cls, asked: int, cast: Iterable[str | None]) -> "Count":
        """Count what each voted for; None has no vote that counts."""
        found: dict[str, int] = {}
        for vote in cast:
            if vote is not None:
                found[vote] = found.get(vote, 0) + 1
        undecided = found.pop(UNDECIDED, 0)
        return cls(asked, found, undecided)

    @property
    def valid(self) -> int:
        return sum(self.votes.values()) + self.undecided

    @property
    def absent(self) -> int:
        return self.asked - self.valid

    @property
    def leader(self) -> str | None:
        """The option with the most votes; None if two are level: nothing else settles that."""
        most = max(self.votes.values(), default=0)
        first = [option for option, votes in self.votes.items() if votes == most]
        return first[0] if len(first) == 1 else None

    @property
    def margin(self) -> int:
        """The lead of the first over the next, be that an option or `undecided`. Whoever has no
        vote that counts is counted as a vote against the first."""
        first, *others = sorted(self.votes.values(), reverse=True) or [0]
        return first - max([*others[:1], self.undecided]) - self.absent

    @property
    def outcome(self) -> OutcomeKind:
        if 2 * self.valid < self.asked or not self.valid:
            return "no_verdict"
        if 2 * self.undecided >= self.valid:
            return "needs_facts"
        first = self.votes[self.leader] if self.leader is not None else 0
        if first == self.asked or (2 * first > self.asked and self.margin >= 2):
            return "decided"
        return "contested" if 2 * first > self.valid else "deadlock"

    @property
    def selected(self) -> str | None:
        """The option that was chosen, clearly or not."""
        return self.leader if self.outcome in ("decided", "contested") else None

    @property
    def split(self) -> list[tuple[str, int]]:
        """What got how many votes, the most first; options that are level by their names."""
        ranked = sorted(self.votes.items(), key=lambda item: (-item[1], item[0]))
        return [*ranked, (UNDECIDED, self.undecided)] if self.undecided else ranked
