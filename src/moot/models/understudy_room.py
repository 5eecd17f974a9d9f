"""What the understudy knows in a council: the problem, who said what, and who stands where."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.council import ROLES, Stand, key, one_name, weight
from moot.core.debate import Turn
from moot.models import understudy_ear as ear
from moot.models.understudy_council_lines import Side
from moot.models.understudy_problem import SIDES, Problem, problem, quotable
from moot.ports import Call

_CLAUSE = re.compile(r"[,;:] ")
_LEADING = re.compile(r"^(?:and|but|so|because|while|yet) ")


@dataclass(frozen=True, slots=True)
class Said:
    """A structured answer that was heard."""

    role: str
    seq: int
    target: str | None
    data: Mapping[str, Any]

    def text(self, name: str) -> str:
        return str(self.data.get(name) or "")

    @property
    def claim(self) -> str:
        """Its claim as one can quote it."""
        return quotable(self.text("claim"), 240)


@dataclass(frozen=True, slots=True)
class Asked:
    """A challenge, and who put it."""

    source: str
    seq: int
    question: str


class Room:
    """The council as one of its roles knows it. Answers stand in the order of the roles: which of
    them was committed first is chance."""

    def __init__(self, call: Call) -> None:
        self.call = call
        brief = call.debate.brief
        texts = tuple(str(text) for text in brief.get("constraints") or ())
        self.problem: Problem = problem(call.debate.motion, texts)
        self.output = str(brief.get("output_type") or "decision")
        self.role = call.debate.seat(call.step.actor).role
        self._shapes = {stage.name: stage.answer for stage in call.debate.rules.stages}
        self._roles = {seat.id: seat.role for seat in call.debate.seats}
        order = [*ROLES, *sorted({seat.role for seat in call.debate.seats} - set(ROLES))]
        self.place = order.index(self.role)
        heard = [said for turn in call.heard if (said := self._said(turn))]
        heard.sort(key=lambda item: (order.index(item[1].role), item[1].seq))
        self._heard = heard

    def _said(self, turn: Turn) -> tuple[str, Said] | None:
        shape, role = self._shapes.get(turn.stage), self._roles.get(turn.actor)
        if turn.status != "ok" or not turn.data or shape is None or role is None:
            return None
        return shape, Said(role, turn.seq, turn.target, turn.data)

    def all(self, shape: str) -> list[Said]:
        return [said for name, said in self._heard if name == shape]

    def of(self, shape: str, role: str) -> Said | None:
        return next((said for said in self.all(shape) if said.role == role), None)

    def challenges(self, role: str) -> list[Asked]:
        """What a role was asked, and by whom."""
        return [
            Asked(said.role, said.seq, str(item.get("question") or ""))
            for said in self.all("challenge")
            for item in said.data.get("challenges") or ()
            if str(item.get("targetRole")).casefold() == role.casefold()
        ]

    def stands(self, shape: str) -> list[Stand]:
        return [
            Stand(said.role, said.text("position"), float(said.data["confidence"]), said.seq)
            for said in self.all(shape)
        ]

    def final(self) -> list[Stand]:
        """Where each role stood last."""
        last = [*self.stands("position"), *self.stands("revision")]
        return list({stand.role: stand for stand in last}.values())

    def names(self) -> dict[str, str]:
        """One name for each stated option, as the Synthesizer maps them, or as we would."""
        stated = self.stated()
        heard = self.all("reading")
        return one_name(stated, heard[0].data if heard else {"same": self.same()})

    def stated(self) -> list[str]:
        stands = [*self.stands("position"), *self.stands("revision")]
        return list(dict.fromkeys(stand.option for stand in stands))

    def same(self) -> list[dict[str, Any]]:
        """Options that were stated in several wordings."""
        found: list[dict[str, Any]] = []
        for side in SIDES:
            wordings = {key(o): o for o in self.stated() if self.problem.side(o) == side}
            if len(wordings) > 1:
                known = next(o for o in self.problem.options[side] if key(o) in wordings)
                found.append({"option": known, "wordings": list(wordings.values())[:10]})
        return found

    def groups(self) -> list[tuple[str, list[Stand]]]:
        """The options as they stand at the end, most supported first; then those given up."""
        names, groups = self.names(), dict[str, list[Stand]]()
        for stand in self.final():
            groups.setdefault(names[key(stand.option)], []).append(stand)
        held = sorted(groups.items(), key=lambda item: _support(*item))
        gone = dict.fromkeys(names[key(o)] for o in self.stated())
        return [*held, *((name, list[Stand]()) for name in gone if name not in groups)]

    def side(self, option: str) -> Side | None:
        """The side of an option, by whatever name it goes now."""
        names = self.names()
        called = (o for o in self.stated() if names[key(o)] == option)
        found = [self.problem.side(o) for o in (option, *called)]
        return next((side for side in SIDES if side in found), None)

    def quote(self, text: str) -> str:
        """A short phrase of a text, word for word: the clause of its first sentence that says
        most."""
        first = next(iter(ear.sentences(text)), "")
        clauses = [_LEADING.sub("", part.strip()) for part in _CLAUSE.split(first)]
        fitting = [part for part in clauses if len(part.split()) >= 4 and len(part) <= 110]
        if fitting:
            return quotable(max(fitting, key=len).rstrip(" .!?"), 120)
        found = ear.phrase(text, self.problem.motion.words)
        return quotable(found[0] if found else text, 120)


def _support(option: str, stands: Sequence[Stand]) -> tuple[float, int, str]:
    support = sum(weight(stand.confidence) for stand in stands)
    return (-round(support, 9), -len(stands), key(option))


def joined(names: Sequence[str]) -> str:
    """ "the Critic and the Judge"."""
    the = [f"the {name}" for name in names]
    return the[0] if len(the) == 1 else f"{', '.join(the[:-1])} and {the[-1]}"
