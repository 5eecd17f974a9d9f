"""An eval in words and rows: what the terminal, the page and the docs show of it."""

from collections.abc import Mapping
from typing import Any

from moot.evals.eval_result import CLOSE
from moot.render.cost import about

COLUMNS = ("arm", "right", "accuracy", "95% interval", "right→wrong", "wrong→right", "p (Holm)",
           "power +5", "Brier", "tokens", "cost", "of target")  # fmt: skip

_HOW = (
    "right→wrong counts the items that {first} has right and the arm has wrong; wrong→right those "
    "that it gains. p is McNemar's exact test against {first}, corrected by Holm; * marks p ≤ 0.05."
    " Power is the chance to find a difference of five points with so many items. Tokens and cost "
    "are for one item."
)


def rows(made: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [_row(arm, made["compared"]) for arm in made["arms"]]


def _row(arm: Mapping[str, Any], count: int) -> tuple[str, ...]:
    rate, each, against = arm["accuracy"], arm["perItem"], arm["against"]
    paired = ("–",) * 4
    if against:
        mark = "*" if against["significant"] else ""
        paired = (
            f"{against['lost']}",
            f"{against['won']}",
            f"{against['corrected']:.3f}{mark}",
            f"{against['power']:.0%}",
        )
    return (
        arm["arm"],
        f"{arm['right']}/{count}",
        f"{rate['share']:.1%}",
        f"{rate['low']:.1%} – {rate['high']:.1%}",
        *paired,
        "–" if arm["brier"] is None else f"{arm['brier']:.3f}",
        f"{each['tokens']:,.0f}",
        _cost(arm),
        "–" if arm["ofTarget"] is None else f"{arm['ofTarget']:.2f} ×",
    )


def _cost(arm: Mapping[str, Any]) -> str:
    if arm["unpriced"]:
        return "unknown"
    return "free" if arm["local"] else about(arm["perItem"]["costUsd"])


def notes(made: Mapping[str, Any]) -> list[str]:
    """What must be known to read the table."""
    first = made["arms"][0]["arm"]
    said = [
        f"Every arm has answered {made['compared']} of {made['asked']} items. These are compared.",
        _HOW.format(first=first),
    ]
    if made["match"]:
        off = [arm["arm"] for arm in made["arms"] if abs((arm["ofTarget"] or 1) - 1) > CLOSE]
        said.append(f"The target is what {made['match']} cost. "
                    + (f"Not within 5% of it: {', '.join(off)}." if off
                       else "Every arm is within 5% of it."))  # fmt: skip
    for arm in made["arms"]:
        if arm["unanswered"]:
            said.append(f"{arm['arm']} came to no answer on {arm['unanswered']}: counted as wrong.")
        if found := arm["depth"]:
            said.append(
                f"{arm['arm']}: two seats agreed on {found['early'] + found['checked']}. "
                f"{found['checked']} of these were held in full all the same, to check them, and "
                f"{found['differed']} came to something else."
            )
        if arm["unpriced"]:
            said.append(
                f"{arm['arm']}: nobody published the price of {', '.join(arm['unpriced'])}."
            )
    if made["again"]["calls"] or made["again"]["tokens"]:
        paid = made["again"]
        said.append(
            f"Besides, {paid['calls']:,} calls ({paid['tokens']:,} tokens, "
            f"{about(paid['costUsd'])}) were lost in crashes or made again."
        )
    if made["unfinished"]:
        said.append(f"{len(made['unfinished'])} debates have not ended, the first because: "
                    f"{made['unfinished'][0]['why']} Run the command again to go on.")  # fmt: skip
    if made["stopped"]:
        said.append(made["stopped"])
    return said


def markdown(made: Mapping[str, Any]) -> str:
    head = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows(made))
    return f"{head}\n{body}\n\n" + "\n".join(f"- {note}" for note in notes(made)) + "\n"
