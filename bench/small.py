"""What a small model makes of moot's formats, with and without the care that is taken of it.

`python -m bench.small duel --out after.json` holds ten duels with the model of this machine, on ten
motions; `--plain` asks it as large models are asked, and `--jury 3` has a jury judge each debate.
What was said is written to the file, with the time that it took and the calls that failed. A file
that is there is continued: no motion is debated twice.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from bench import stage
from moot.bootstrap import load_settings, open_service, router
from moot.core.debate import Turn
from moot.engine.service import Service
from moot.models import cards
from moot.settings import Settings

MOTIONS = (
    "Should a small town replace its weekly bus service with on-demand minibuses?",
    "Should schools ban smartphones during lessons?",
    "Should a small team write tests before it writes code?",
    "Should cities close their centres to private cars?",
    "Should remote work be the default for office jobs?",
    "Should state museums charge for admission?",
    "Should voting in national elections be compulsory?",
    "Should homework be abolished in primary schools?",
    "Should companies adopt a four-day week?",
    "Should zoos be closed?",
)


@contextmanager
def _home() -> Generator[Settings]:
    """A home of its own that has the user's models."""
    mine = load_settings()
    with stage.home() as path:
        (path / "models").symlink_to((mine.home / "models").resolve())
        yield mine.model_copy(update={"home": path, "model": "local", "local_base_url": None})


async def _hold(service: Service, motion: str, asked: argparse.Namespace) -> dict[str, Any]:
    began = perf_counter()
    made = await service.create(
        motion,
        format=asked.format,
        limits={"max_turn_seconds": asked.seconds} if asked.seconds else None,
        brief={"output_type": "decision"} if asked.format == "council" else None,
        jury={"size": asked.jury} if asked.jury else None,
    )
    debate = await service.wait(made.id)
    took = perf_counter() - began
    turns = await service.turns(debate.id)
    tries = await service.attempts(debate.id)
    return {
        "motion": motion,
        "format": asked.format,
        **(await _judged(service, debate.id, turns) if asked.jury else {}),
        "status": debate.status,
        "degraded": debate.degraded,
        "seconds": round(took, 1),
        "calls": debate.usage.calls,
        "output_tokens": debate.usage.output_tokens,
        "failed": [one["error_code"] for one in tries if one["outcome"] == "failed"],
        **({"failure": debate.failure.message} if debate.failure else {}),
        "turns": [_turn(turn, debate.seat(turn.actor).stance) for turn in turns],
    }


async def _judged(service: Service, debate_id: str, turns: Sequence[Turn]) -> dict[str, Any]:
    """The verdict, and how many of the jury's ballots are valid. One that paused has none."""
    ended = (await service.get(debate_id)).outcome is not None
    made = await service.verdict(debate_id) if ended else None
    cast = [turn for turn in turns if turn.stage == "jury"]
    valid = sum(turn.status == "ok" for turn in cast)
    return {"ballots": {"asked": len(cast), "valid": valid}, "verdict": made}


def _turn(turn: Turn, stance: str) -> dict[str, Any]:
    return {
        "seq": turn.seq,
        "name": turn.name,
        "stance": stance,
        "kind": turn.kind,
        "status": turn.status,
        "text": turn.text,
        "usage": asdict(turn.usage),
        "started_at": turn.started_at,
    }


def _write(path: Path, held: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _line(held: Mapping[str, Any]) -> str:
    """One debate in figures. A repair is a structured answer that had not its shape."""
    state = f"{held['status']}{', degraded' if held['degraded'] else ''}"
    failed = Counter(code.removeprefix("DEBATE_ERR_PROVIDER_").lower() for code in held["failed"])
    tries = ", ".join(f"{count} {code}" for code, count in failed.items()) or "none failed"
    speed = held["output_tokens"] / held["seconds"]
    judged = ""
    if made := held.get("verdict"):
        ballots, jury = held["ballots"], made["jury"] or {}
        judged = (
            f", {ballots['valid']} of {ballots['asked']} ballots valid, {jury.get('valid', 0)} of "
            f"{jury.get('asked', 0)} votes count, {made['outcome']}"
        )
    return (
        f"{held['format']}, {state}, {held['seconds']:.0f} s, {len(held['turns'])} turns, "
        f"{held['calls']} calls ({tries}), {speed:.1f} tokens a second in all{judged}: "
        f"{held['motion']}"
    )


async def _main(asked: argparse.Namespace) -> None:
    held: list[dict[str, Any]] = []
    if asked.out.exists():
        held = json.loads(asked.out.read_text("utf-8"))
    done = {one["motion"] for one in held}
    wanted = [one for one in MOTIONS[asked.first :][: asked.count] if one not in done]
    if asked.plain:
        cards.SMALL_BYTES = 0  # no model is small then
    with _home() as settings:
        voices = router(settings)
        async with open_service(settings, speaker=voices) as service:
            for motion in wanted:
                held.append(await _hold(service, motion, asked))
                _write(asked.out, held)
                print(_line(held[-1]))
        if status := voices.embedded.describe():
            print(status.detail)
        await voices.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.small", description=__doc__)
    parser.add_argument("format", choices=("duel", "classic", "council"))
    parser.add_argument("--count", type=int, default=len(MOTIONS))
    parser.add_argument("--first", type=int, default=0, help="how many motions to leave out")
    parser.add_argument("--jury", type=int, default=0, help="how many jurors judge each debate")
    parser.add_argument("--seconds", type=int, help="how long a speaker may be silent")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    asyncio.run(_main(parser.parse_args()))
