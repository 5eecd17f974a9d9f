"""What a debate comes to, in words: the first sections of a report, wherever people read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.voices import label

_TITLES = {"best": "Best points", "conceded": "Conceded", "open": "Still open"}
_NOTHING = {"conceded": "Nobody conceded a point.", "open": "Nothing was left open."}


@dataclass(frozen=True, slots=True)
class Line:
    """One finding: whose it is, if it is somebody's, and the turns that it rests on."""

    text: str
    who: str = ""
    side: str = ""
    turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    lines: tuple[Line, ...]
    nothing: str = ""  # what is said if there are no lines


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The sections of a report that was made in layout 5; of an older one, none.

    What a verdict above them tells already, the motion, the moves and the open questions, is left
    out.
    """
    told = report.get("takeaways")
    if not told:
        return []
    people = {who["id"]: who for who in report["speakers"]}

    def line(one: Mapping[str, Any]) -> Line:
        who = people.get(one.get("speaker", ""), {"name": "", "stance": "neutral"})
        side = "" if who["stance"] == "neutral" else str(who["stance"])
        return Line(one["text"], who["name"], side, tuple(one["turns"]))

    if told["by"] == "verdict":
        names: Sequence[str] = ("best",)
        found: list[Section] = []
    else:
        names = ("best", "conceded", "open")
        found = [Section("At issue", (line(told["atIssue"]),))]
    for name in names:
        if told[name] is not None:
            lines = tuple(line(one) for one in told[name])
            found.append(Section(_TITLES[name], lines, _NOTHING.get(name, "")))
    return [one for one in found if one.lines or one.nothing]


def origin(report: Mapping[str, Any]) -> str:
    """Who says so: a model, the speakers, or a count of words."""
    told = report["takeaways"]
    if told["by"] == "model":
        return f"Written by {label(report['writer']['model'])} after the debate, from its turns."
    if not any(one.get("picked") for one in told["best"]):
        return "From the answers that the speakers gave." if told["best"] else ""
    picked = "The best points are picked out by counting words, and quoted."
    if told["by"] == "verdict":
        return picked
    return f"{picked} Only a model could tell what was conceded and what stays open."
