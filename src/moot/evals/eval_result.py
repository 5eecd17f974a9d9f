"""What came of an eval: one document, from which the table, the page and the JSON are made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from moot.evals import statistics
from moot.evals.running import Answered, Run

CLOSE = 0.05
"""Arms whose costs differ by no more than this share are matched."""


def result(run: Run) -> dict[str, Any]:
    """The arms side by side, on the items that all of them have answered."""
    items = [item for item in run.asked.dataset.items if run.complete(item)]
    columns = [[run.answers[item.id, arm.spec] for item in items] for arm in run.asked.arms]
    right = [[one.right for one in column] for column in columns]
    compared = [None, *statistics.compare(right[0], right[1:])]
    target = _target(run, columns)
    arms = [
        {
            **_arm(arm.spec, column),
            "against": {**asdict(against), "significant": against.significant} if against else None,
            "ofTarget": _share(column, target),
        }
        for arm, column, against in zip(run.asked.arms, columns, compared, strict=True)
    ]
    unfinished = [one for one in run.answers.values() if not one.done]
    return {
        "dataset": run.asked.dataset.name,
        "name": run.asked.name,
        "model": run.asked.model,
        "match": run.asked.match,
        "budgetUsd": run.asked.budget,
        "asked": len(run.asked.dataset.items),
        "compared": len(items),
        "stopped": run.stopped,
        "spentUsd": round(run.spent, 6),
        "arms": arms,
        "items": [_row(item.id, [column[n] for column in columns]) for n, item in enumerate(items)],
        "unfinished": [
            {"item": one.item, "arm": one.arm, "debate": one.debate, "why": one.why}
            for one in unfinished
        ],
        "again": again(run),
    }


def again(run: Run) -> dict[str, Any]:
    """What was paid for calls that left no turn: lost in a crash, or made again after a failure."""
    found = run.answers.values()
    return {
        "calls": sum(one.whole.calls - one.usage.calls for one in found),
        "tokens": sum(_tokens(one.whole) - _tokens(one.usage) for one in found),
        "costUsd": round(sum(one.whole.cost_usd - one.usage.cost_usd for one in found), 6),
    }


def _arm(spec: str, column: Sequence[Answered]) -> dict[str, Any]:
    right = [one.right for one in column]
    count = len(column) or 1
    return {
        "arm": spec,
        "right": sum(right),
        "accuracy": asdict(statistics.rate(right)),
        "unanswered": sum(one.answer is None for one in column),
        "brier": statistics.brier([one.confidence for one in column], right),
        "calibration": _calibration(column),
        "perItem": {
            "calls": sum(one.usage.calls for one in column) / count,
            "tokens": sum(_tokens(one.usage) for one in column) / count,
            "costUsd": sum(one.usage.cost_usd for one in column) / count,
        },
        "unpriced": sorted({model for one in column for model in one.unpriced}),
        "local": bool(column) and all(one.local for one in column),
        "depth": _depth(column),
        "votes": dict(sorted(Counter(one.votes for one in column).items())),
    }


def _depth(column: Sequence[Answered]) -> dict[str, int] | None:
    """How often two seats agreed before the debate, and how often a check came to something else;
    None if they never did."""
    checked = [one.same for one in column if one.same is not None]
    early = sum(one.early for one in column)
    if not early and not checked:
        return None
    return {"early": early, "checked": len(checked), "differed": checked.count(False)}


def _calibration(column: Sequence[Answered]) -> list[dict[str, Any]]:
    """How often answers were right, by how sure they were: in five steps."""
    found: list[dict[str, Any]] = []
    for step in range(5):
        within = [
            one
            for one in column
            if one.confidence is not None and min(int(one.confidence * 5), 4) == step
        ]
        if within:
            sure = sum(one.confidence or 0.0 for one in within) / len(within)
            right = sum(one.right for one in within) / len(within)
            found.append({"items": len(within), "confidence": sure, "right": right})
    return found


def _target(run: Run, columns: Sequence[Sequence[Answered]]) -> Sequence[Answered] | None:
    specs = [arm.spec for arm in run.asked.arms]
    return columns[specs.index(run.asked.match)] if run.asked.match in specs else None


def _share(column: Sequence[Answered], target: Sequence[Answered] | None) -> float | None:
    """What an arm cost, as a share of what its target cost: in money, or where there is none, in
    tokens."""
    if not target:
        return None
    money = [sum(one.usage.cost_usd for one in arm) for arm in (column, target)]
    if all(money) and not any(one.unpriced for one in (*column, *target)):
        return money[0] / money[1]
    tokens = [sum(_tokens(one.usage) for one in arm) for arm in (column, target)]
    return tokens[0] / tokens[1] if tokens[1] else None


def _row(item: str, answers: Sequence[Answered]) -> dict[str, Any]:
    """One item: what each arm answered, and in which debate."""
    return {
        "id": item,
        "answers": {
            one.arm: {"answer": one.answer, "right": one.right, "debate": one.debate,
                      "confidence": one.confidence}
            for one in answers
        },
    }  # fmt: skip


def _tokens(usage: Any) -> int:
    return usage.input_tokens + usage.output_tokens
