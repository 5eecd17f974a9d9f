"""What a gate says, as Markdown: for the page of a job, and for a comment."""

import re

from moot.outcome.gate import Ruling
from moot.render.verdict_markdown import line

MARK = "<!-- moot gate -->"
"""By which the comment of an earlier run is found and replaced."""
LONGEST = 60_000
"""Characters: a comment on GitHub holds a little more."""
_CALLED = re.compile(r"@(?=\w)")
_HEADS = {"yes": "✅ Yes", "no": "❌ No", "undecided": "⚠️ Undecided"}


def summary(question: str, ruling: Ruling, answer: str = "", debate_id: str = "") -> str:
    """The answer first, then what the debate came to."""
    lines = [f"## {_HEADS[ruling.answer]}: {line(question)}", "", line(ruling.why), ""]
    if answer:
        lines += [
            "<details><summary>The debate</summary>",
            "",
            answer.strip(),
            "",
            "</details>",
            "",
        ]
    if debate_id:
        lines += [f"`moot show {debate_id}` has every turn.", ""]
    return "\n".join(lines)


def comment(text: str) -> str:
    """The same for a comment: with a mark, no longer than one may be, and calling nobody by name,
    because models write what they like."""
    text = _CALLED.sub("@\N{WORD JOINER}", text)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST].rstrip()}\n\n… It goes on in the job's summary.\n"
    return f"{MARK}\n{text}"
