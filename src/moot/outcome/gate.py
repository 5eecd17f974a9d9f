"""A gate: a question with yes or no for an answer, by whom it is decided, and what passes."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from moot.core.debate import Debate, Turn
from moot.core.format import Format
from moot.core.jury import SIDES
from moot.core.seating import as_source
from moot.core.voices import UNDERSTUDY
from moot.errors import InputError

Answer = Literal["yes", "no", "undecided"]
EXIT_CODES: dict[Answer, int] = {"yes": 0, "no": 1, "undecided": 2}
PASSING = ("decided", "contested")
JURY = 3
FORMAT = "duel"
SEATS = ({"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"})
_FIELDS: dict[str, tuple[type, ...]] = {
    "question": (str,),
    "sources": (list,),
    "format": (str,),
    "jury": (int,),
    "jurors": (list,),
    "passes": (list,),
    "max_cost_usd": (int, float),
    "max_total_tokens": (int,),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """What a gate asks, and what it takes for a yes."""

    question: str
    sources: tuple[str, ...] = ()  # files, folders and addresses that all may cite
    format: str = FORMAT
    jury: int = JURY
    jurors: tuple[str, ...] = ()  # their models; the others take defaults
    passes: tuple[str, ...] = ("decided",)
    max_cost_usd: float | None = None
    max_total_tokens: int | None = None

    def asked(self) -> dict[str, Any]:
        """The debate that it needs, as `Moot.create` takes it: a side for yes, one for no, and a
        jury that chooses between them."""
        budget = {"max_cost_usd": self.max_cost_usd, "max_total_tokens": self.max_total_tokens}
        return {
            "format": self.format,
            "participants": list(SEATS),
            "jury": {"size": self.jury, "models": list(self.jurors)},
            "limits": {name: most for name, most in budget.items() if most is not None},
            "sources": [as_source(one) for one in self.sources],
        }


def read(text: str, where: str) -> dict[str, Any]:
    """The fields of a policy file. Raises InputError, which names the file and the field."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}.", "policy") from None
    for name, value in given.items():
        kinds = _FIELDS.get(name)
        if kinds is None:
            known = ", ".join(_FIELDS)
            raise InputError(f"{where} has no field {name!r}; a policy has {known}.", name)
        if not isinstance(value, kinds) or isinstance(value, bool):
            kind = " or ".join(one.__name__ for one in kinds)
            raise InputError(f"{where}, {name}: a {kind} is wanted, not {value!r}.", name)
        if isinstance(value, list):
            _check_texts(cast(list[Any], value), where, name)
    return given


def _check_texts(values: Sequence[Any], where: str, name: str) -> None:
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{where}, {name}: a list of texts is wanted, not {value!r}.", name)


def policy(given: Mapping[str, Any]) -> Policy:
    """A policy from its fields, checked."""
    question = str(given.get("question") or "").strip()
    if not question:
        raise InputError("A gate needs a question that yes or no answers.", "question")
    passes = _texts(given, "passes") or ("decided",)
    if unknown := [name for name in passes if name not in PASSING]:
        raise InputError(f"passes: {unknown[0]!r} is not one of {', '.join(PASSING)}.", "passes")
    jurors = _texts(given, "jurors")
    jury = int(given.get("jury") or max(JURY, len(jurors)))
    if jury < 1:
        raise InputError("jury: a gate is decided by a jury of at least one.", "jury")
    fields = {name: given[name] for name in ("format", "max_cost_usd", "max_total_tokens")
              if given.get(name) is not None}  # fmt: skip
    return Policy(
        question, _texts(given, "sources"), jury=jury, jurors=jurors, passes=passes, **fields
    )


def _texts(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(map(str, cast(Sequence[Any], given.get(name) or ())))


def format_of(wanted: Policy, formats: Sequence[Format]) -> Format | None:
    """The format that is wanted; None if there is none, which `create` says. Raises InputError if
    it has no two sides."""
    rules = next((one for one in formats if one.name == wanted.format), None)
    if rules and rules.result is not None:
        raise InputError(
            f"A {wanted.format} makes its own options; a gate needs two sides: duel, classic, "
            "custom or standard.",
            "format",
        )
    return rules


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a gate says."""

    answer: Answer
    why: str  # in a sentence

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.answer]


def ruling(debate: Debate, turns: Sequence[Turn], wanted: Policy) -> Ruling:
    """Yes or no if the jury said so as the policy wants it; everything else is undecided."""
    if any(turn.model == UNDERSTUDY for turn in turns):
        return Ruling("undecided", "No model spoke: the understudy did. Set a key, or a model.")
    if debate.failure:
        return Ruling("undecided", f"A model failed. {debate.failure.message}")
    if debate.stop_reason == "budget":
        return Ruling("undecided", "The budget ran out before everybody was heard.")
    decided = debate.outcome
    if debate.status != "completed" or decided is None or decided.outcome is None:
        return Ruling("undecided", f"The debate is {debate.status} and came to no verdict.")
    if decided.outcome not in PASSING or decided.selected_option not in SIDES:
        return Ruling("undecided", _UNDECIDED.get(decided.outcome, "The jury chose no side."))
    yes = decided.selected_option == SIDES[0]
    if decided.outcome in wanted.passes:
        said = "The jury decided it." if decided.outcome == "decided" else _UNDECIDED["contested"]
        return Ruling("yes" if yes else "no", said)
    return Ruling("undecided", f"{_UNDECIDED['contested']} The policy wants a clear lead.")


_UNDECIDED = {
    "contested": "A majority of the jury chose a side, but without a clear lead.",
    "deadlock": "The jury is split: no side has a majority.",
    "needs_facts": "The jury needs facts that nobody gave.",
    "no_verdict": "Too few jurors gave a vote that counts.",
}
