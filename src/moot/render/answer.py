"""What a debate comes to, as the Markdown answer to whoever asked for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from moot.core.clean import escape, visible
from moot.core.debate import Debate, Turn
from moot.core.status import FINAL
from moot.render import packet_text, verdict_markdown
from moot.render.takeaways_text import Section, origin, sections
from moot.render.verdict_markdown import line
from moot.render.verdict_text import tell, voices, who_spoke


def answer(
    debate: Debate,
    turns: Sequence[Turn],
    verdict: Mapping[str, Any] | None,
    packet: Mapping[str, Any] | None,
    report: Mapping[str, Any],
    link: str = "",
) -> str:
    """The outcome first, then what it rests on and who disagrees; of a debate without an outcome,
    what its report says. `link` leads to the page."""
    lines = _standing(debate)
    if verdict:
        told = tell(verdict, voices(debate, turns))
        lines += [f"**{line(told.headline)}**", "", *verdict_markdown.first(told)]
        lines += packet_text.decision(packet) if packet else verdict_markdown.tables(told)
    else:
        lines += _reported(report)
        lines += [f"*{line(said)}*" for said in who_spoke(voices(debate, turns))]
    if link:
        lines += ["", f"[The whole debate]({link})"]
    return "\n".join(lines).strip() + "\n"


def unanswered(debate: Debate, link: str = "") -> str | None:
    """Why a debate that rests has no answer, and what helps; None if it has one."""
    where = f" {link}" if link else f" Its id is {debate.id}."
    if debate.status == "completed":
        return None
    if debate.failure:
        return f"The debate is {debate.status}. {debate.failure.message}{where}"
    if debate.status == "paused":
        return f"A person paused the debate before its end; it can be resumed.{where}"
    if debate.waiting_for:
        return f"The debate waits for {debate.seat(debate.waiting_for).name}, a person.{where}"
    if debate.status in FINAL:
        return f"The debate was {debate.status} before its end.{where}"
    return f"The debate is still {debate.status}.{where}"


def _standing(debate: Debate) -> list[str]:
    if debate.status == "completed":
        return []
    return [f"*{line(unanswered(debate) or '')}*", ""]


def _reported(report: Mapping[str, Any]) -> list[str]:
    text = str(report["summary"]["text"]).strip()
    said = report.get("caution")
    lines = [verdict_markdown.warning(said), ""] if said else []
    lines += [escape(visible(text)), ""] if text else []
    for section in sections(report):
        lines += [f"## {section.title}", "", *_lines(section), ""]
    if report.get("takeaways") and (said := origin(report)):
        lines += [f"*{line(said)}*", ""]
    return lines


def _lines(section: Section) -> list[str]:
    if not section.lines:
        return [section.nothing]
    found: list[str] = []
    for one in section.lines:
        side = f" ({one.side})" if one.side else ""
        who = f"**{line(one.who)}{side}**: " if one.who else ""
        cited = "".join(f" [turn:{turn}]" for turn in one.turns)
        found.append(f"- {who}{line(one.text + cited)}")
    return found
