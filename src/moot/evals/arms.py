"""Arms: the ways in which each question is answered, and the debate that each of them is.

`single` asks once, `vote@7` asks seven times and counts, `vote@match` asks as often as costs what
another arm costs. Anything else is a format: `council`, `duel+jury3`, `jury,seats=5`. What follows
commas sets a model (`model=claude@high`), a seat's own (`Critic=openai`), an option of the format
(`rounds=2`), `juror=`, `seats=` or `tokens=`, and `depth=auto` with the share `audit=0.05`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.depth import AUDIT
from moot.core.format import Format
from moot.core.request import NAMES
from moot.core.seating import with_model
from moot.errors import InputError
from moot.evals.datasets import LETTERS, Item

POLL = "poll"
MOST_VOTES = 150  # the most that the format poll takes
_ARM = re.compile(r"^([a-z0-9-]+)(?:@(\w+))?(?:\+jury(\d+)?)?$")


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to answer a question."""

    spec: str  # as it was given; it names the arm
    format: str
    votes: int | None = None  # how often a poll is taken; None: as often as matches
    jury: int | None = None
    model: str | None = None
    jurors: tuple[str, ...] = ()
    seats: int | None = None
    tokens: int | None = None
    audit: float | None = None  # with depth=auto: the share that is held in full all the same
    named: tuple[tuple[str, str], ...] = ()  # seats by role, and options of the format

    @property
    def polls(self) -> bool:
        return self.format == POLL

    @property
    def matched(self) -> bool:
        """Whether its size follows from what another arm costs."""
        return self.polls and self.votes is None


def parse(spec: str) -> Arm:
    """An arm from its words. Raises InputError with how to write it."""
    head, *rest = (part.strip() for part in spec.split(","))
    found = _ARM.match(head)
    if not found:
        raise InputError(f"--arm {spec}: write it as single, vote@5 or FORMAT+juryN.", "arm")
    name, count, jury = found[1], found[2], found[3]
    votes: int | None = 1
    if name == "vote":
        votes = None if count == "match" else _number(spec, "vote@", count, MOST_VOTES)
    elif count:
        raise InputError(f"--arm {spec}: only a vote has a number after @.", "arm")
    polls = name in ("single", "vote")
    if polls and "+jury" in head:
        raise InputError(f"--arm {spec}: nothing is debated there that a jury could judge.", "arm")
    size = _number(spec, "+jury", jury or "3", 12) if "+jury" in head else None
    fields: dict[str, Any] = {"jurors": (), "named": ()}
    for part in rest:
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or not key or not value:
            raise InputError(f"--arm {spec}: write {part!r} as NAME=VALUE.", "arm")
        if key == "model":
            fields["model"] = value
        elif key == "juror":
            fields["jurors"] += (value,)
        elif key == "depth" and value == "auto":
            fields["audit"] = fields.get("audit", AUDIT)
        elif key == "audit":
            fields["audit"] = _share(spec, value)
        elif key in ("seats", "tokens"):
            fields[key] = _number(spec, f"{key}=", value, 12 if key == "seats" else 4096)
        else:
            fields["named"] += ((key, value),)
    if "audit" in fields and (polls or "depth=auto" not in {one.replace(" ", "") for one in rest}):
        raise InputError(f"--arm {spec}: audit is for a format with depth=auto.", "arm")
    return Arm(spec, POLL if polls else name, votes, size, **fields)


def _number(spec: str, name: str, given: str | None, most: int) -> int:
    if given is None or not given.isdigit() or not 1 <= int(given) <= most:
        raise InputError(f"--arm {spec}: {name} takes a number from 1 to {most}.", "arm")
    return int(given)


def _share(spec: str, given: str) -> float:
    try:
        share = float(given)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"--arm {spec}: audit= takes a share from 0 to 1.", "arm")
    return share


def check(arm: Arm, rules: Mapping[str, Format], items: Sequence[Item]) -> None:
    """Refuse an arm that could not answer these questions."""
    known = rules.get(arm.format)
    if known is None:
        listed = ", ".join(sorted(rules))
        raise InputError(f"--arm {arm.spec}: there is no format {arm.format!r}: {listed}.", "arm")
    roles = {role.casefold() for role in known.roster.names}
    for key, value in arm.named:
        if key in known.options and not value.isdigit():
            raise InputError(f"--arm {arm.spec}: {key} takes a number.", "arm")
        if key not in known.options and key.casefold() not in roles:
            said = f"--arm {arm.spec}: {known.name} has neither an option nor a role {key!r}."
            raise InputError(said, "arm")
    if arm.polls or known.result is not None:
        return
    if arm.jury is None:
        raise InputError(
            f"--arm {arm.spec}: a {arm.format} comes to no decision by itself. Add a jury: "
            f"{arm.format}+jury3.",
            "arm",
        )
    if odd := next((item for item in items if len(item.options) != 2), None):
        raise InputError(
            f"--arm {arm.spec}: a {arm.format} has two sides, and {odd.id!r} has "
            f"{len(odd.options) or 'no'} options. Use a format that makes its own options, such as "
            "jury or council.",
            "arm",
        )


def request(arm: Arm, item: Item, rules: Format, model: str, votes: int) -> dict[str, Any]:
    """The debate that answers a question in an arm, as `Moot.create` takes it."""
    sided = not arm.polls and rules.result is None
    options = {key: int(value) for key, value in arm.named if key in rules.options}
    asked: dict[str, Any] = {
        "motion": _motion(item, sided),
        "format": rules.name,
        "participants": _seats(arm, rules, sided),
        "options": {"rounds": votes} if arm.polls else options,
        "limits": {"max_turn_tokens": arm.tokens} if arm.tokens else {},
        "on_failure": "pause",  # an outage is no wrong answer
        "sources": [source.model_dump() for source in item.sources],
    }
    if arm.audit is not None:
        asked |= {"depth": "auto", "audit": arm.audit}
    if arm.jury:
        asked["jury"] = {"size": max(arm.jury, len(arm.jurors)), "models": list(arm.jurors)}
    return with_model(asked, rules, arm.model or model)


def _motion(item: Item, sided: bool) -> str:
    """What is debated. In a format with two sides, they argue for the first option and against."""
    if sided:
        return f"{item.text}\n\nThe motion is that the right answer is {LETTERS[0]}."
    if item.options:
        return f"{item.text}\n\nWhoever names an option or a position writes its letter alone."
    return f"{item.text}\n\nWhoever names an option or a position writes the answer alone."


def _seats(arm: Arm, rules: Format, sided: bool) -> list[dict[str, Any]]:
    if rules.roster.roles:
        own = [(key, value) for key, value in arm.named if key not in rules.options]
        return [{"role": role, "model": model} for role, model in own]
    count = arm.seats or (1 if arm.polls else max(rules.roster.min, 2 if sided else 3))
    stances = ("pro", "con") if sided else (None,)
    return [
        {"name": NAMES[place], "stance": stances[place % len(stances)]} for place in range(count)
    ]
