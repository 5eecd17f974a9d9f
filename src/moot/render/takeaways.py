"""What a debate comes to: what is at issue, the best points, what was conceded, what stays open.

A model writes it once the debate is over, and is held to what was said. Otherwise it is taken from
the verdict or, with no verdict either, picked from the speeches by counting words.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import Field

from moot.render.extract import Spoken, clip
from moot.render.verdict_text import quoted

MOST = 4  # of what was conceded, and of what stays open
CITED = 6  # turns that one finding rests on
LONGEST = 500  # characters of a finding; what is longer is cut


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is true of a debate, and the turns that show it."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST + 2)]
    turns: Annotated[tuple[int, ...], Field(max_length=CITED)]
    speaker: str | None = None  # whose it is, if it is somebody's


Findings = Annotated[tuple[Finding, ...], Field(max_length=MOST)]


class Held:
    """What a model says, held to what was said: nobody else is told of, and no other turn cited."""

    def __init__(self, names: Mapping[str, str], said: Mapping[int, str]) -> None:
        """The names of the speakers by their ids, and who spoke in which turn."""
        self._ids = {name.casefold(): actor for actor, name in names.items()} | {
            actor: actor for actor in names
        }
        self._said = said

    def best(self, given: Any) -> dict[str, Finding]:
        """The first point of each speaker."""
        found: dict[str, Finding] = {}
        for one in self._of_speakers(given):
            found.setdefault(one.speaker or "", one)
        return found

    def conceded(self, given: Any) -> tuple[Finding, ...]:
        """Only what its speaker said: nobody concedes in another's turn."""
        return tuple(one for one in self._of_speakers(given) if one.turns)[:MOST]

    def open(self, given: Any) -> tuple[Finding, ...]:
        return tuple(one for item in _objects(given) if (one := self._finding(item)))[:MOST]

    def at_issue(self, given: Any) -> Finding | None:
        return self._finding({"text": given} if isinstance(given, str) else given)

    def _of_speakers(self, given: Any) -> Iterator[Finding]:
        for item in _objects(given):
            who = item.get("speaker")
            if not isinstance(who, str):
                continue
            actor = self._ids.get(who) or self._ids.get(who.casefold())
            if actor and (one := self._finding(item, actor)):
                yield one

    def _finding(self, given: Any, speaker: str | None = None) -> Finding | None:
        item = cast(dict[str, Any], given) if isinstance(given, dict) else {}
        text, cited = item.get("text"), item.get("turns")
        text = " ".join(text.split()) if isinstance(text, str) else ""
        numbers = cast(list[Any], cited) if isinstance(cited, list) else [cited]
        turns = [
            turn
            for turn in dict.fromkeys(one for one in numbers if type(one) is int)
            if turn in self._said and speaker in (None, self._said[turn])
        ]
        return Finding(clip(text, LONGEST), tuple(turns[:CITED]), speaker) if text else None


def _objects(value: Any) -> Iterable[dict[str, Any]]:
    items = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], item) for item in items if isinstance(item, dict)]


# --- in a report ---


def as_read(
    at_issue: Finding,
    best: Iterable[Finding],
    conceded: Iterable[Finding],
    open_: Iterable[Finding],
) -> dict[str, Any]:
    """By a model."""
    return {
        "by": "model",
        "atIssue": _told(at_issue),
        "best": [_told(one) for one in best],
        "conceded": [_told(one) for one in conceded],
        "open": [_told(one) for one in open_],
    }


def fields_of(told: Any) -> dict[str, Any]:
    """What a model wrote, by the names of a reading's fields; nothing if it wrote none of it."""
    if not told or told["by"] != "model":
        return {}
    return {
        "at_issue": told["atIssue"],
        **{name: told[name] for name in ("best", "conceded", "open")},
    }


def _told(one: Finding) -> dict[str, Any]:
    who = {} if one.speaker is None else {"speaker": one.speaker}
    return {**who, "text": one.text, "turns": list(one.turns)}


def without_a_model(
    motion: str,
    speakers: Sequence[Mapping[str, Any]],
    spoken: Spoken,
    stated: Mapping[str, Sequence[Mapping[str, Any]]],
    verdict: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Without a model: from the verdict and the structured answers, which `stated` has the claims
    of, by speaker; otherwise a sentence of each, picked by counting words."""
    best: list[dict[str, Any]] = []
    for who in speakers:
        if who["role"] in ("host", "juror", "person"):
            continue
        claims = stated.get(who["id"])
        point = claims[-1] if claims else spoken.best(who["id"], motion)
        if point:
            told = {"speaker": who["id"], "text": point["text"], "turns": [point["turn"]]}
            best.append(told if claims else {**told, "picked": True})
    found = {"by": "verdict" if verdict else "extraction", "atIssue": _motion(motion), "best": best}
    if verdict is None:
        return {**found, "conceded": None, "open": None}
    ids = {who["name"]: who["id"] for who in speakers}
    return {**found, "conceded": _moved(verdict, ids), "open": _asked(verdict, ids)}


def _motion(motion: str) -> dict[str, Any]:
    return {"text": " ".join(motion.split()), "turns": []}


def _moved(verdict: Mapping[str, Any], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Who gave up a position, for another and because of what."""
    found: list[dict[str, Any]] = []
    for one in verdict["moved"]:
        why = one["because"]["text"]
        text = f"Moved from {quoted(one['from'])} to {quoted(one['to'])}" + (
            f": {why}" if why else "."
        )
        turns = [turn for turn in (one["turn"], *one["because"]["turns"]) if turn]
        found.append(_of(ids, one["who"], text, turns))
    return found


def _asked(verdict: Mapping[str, Any], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        _of(ids, one["who"], one["text"], [one["turn"]] if one["turn"] else [])
        for one in verdict["openQuestions"]
    ]


def _of(ids: Mapping[str, str], who: str, text: str, turns: Sequence[int]) -> dict[str, Any]:
    speaker = {"speaker": ids[who]} if who in ids else {}
    cited = list(dict.fromkeys(turns))[:CITED]
    return {**speaker, "text": clip(" ".join(text.split()), LONGEST), "turns": cited}
