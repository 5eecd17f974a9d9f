"""A whole council over every vendor's wire, with a server that keeps the token limits it is given.

Its models think hard where they are asked to, answer at an ordinary length, and give verdicts of
2,000 characters.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from moot.bootstrap import open_service
from moot.core import limits, retry
from moot.core.debate import Debate, Turn
from moot.core.limits import Thinking
from moot.engine.speaking import Run
from moot.models import speak
from moot.models.providers import Providers
from moot.models.router import Router
from moot.models.understudy import Understudy
from moot.settings import Settings
from moot.testing.wires.wire_server import THOUGHT, Answer, Request, Wire
from tests.integration.reporting import issues
from tests.integration.test_vendors import KEYS, VENDORS, found

MODELS = {
    "openai": "openai:gpt-6.1-terra",
    "claude": "claude:claude-sonnet-5-5",
    "gemini": "gemini:gemini-2.5-flash",
    "local": "local:deepseek-r1:32b",  # thinks whether or not it is asked to
    "plain": "openai:gpt-4o",  # cannot think
}
ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
HARD, LITTLE = 6_000, 1_500  # tokens of thoughts
WINDOW = 32_768
LENGTH = 2_000  # characters of a verdict's texts
OPTIONS = (
    "Move the ledger to Postgres in two steps",
    "Stay on SQLite and archive old years",
    "Rent a managed database",
    "Split the ledger by region",
)
COUNCIL = {"problem": "Which database should hold the ledger?", "output_type": "decision"}


def text(length: int) -> str:
    words = "The ledger holds nine million rows and grows by a tenth each month, so that "
    return (words * (length // len(words) + 1))[: length - 1].rstrip() + "."


def verdict(body: Any) -> dict[str, Any]:
    """4 reasons, 3 rejected options, 4 risks, 4 actions: an ordinary one."""
    each = LENGTH // 16
    options = [one for one in enum(body, "choice") if one in OPTIONS]
    return {
        "whySelected": [{"text": text(each), "turns": [1, 6, 11]} for _ in range(4)],
        "rejectedOptions": [
            {"option": one, "bestCase": None, "reason": text(each), "turns": [2]}
            for one in options[1:]
        ],
        "choice": options[0],
        "otherOption": None,
        "work": None,
        "risks": [
            {"risk": text(each), "severity": "low", "mitigation": text(each), "turns": [3]}
            for _ in range(4)
        ],
        "nextActions": [
            {"action": text(each), "owner": "Ada", "due": "2027-01-15", "turns": []}
            for _ in range(4)
        ],
        "questions": [],
    }


def enum(body: Any, name: str) -> list[str]:
    return [one for field in found(body, name) for one in field.get("enum", [])]


def said(body: Any, number: int) -> dict[str, Any]:
    """What a model answers to the `number`-th request, by the schema that it was sent."""
    if found(body, "whySelected"):
        return verdict(body)
    if found(body, "agreements"):
        line = {"text": text(150), "turns": [1, 2, 3]}
        return {"agreements": [line] * 4, "disagreements": [line] * 3, "same": []}
    if found(body, "challenges"):
        target = enum(body, "targetRole")[0]
        asked = {"targetRole": target, "claim": text(200), "question": text(200)}
        return {"challenges": [asked]}
    stand = {"claim": text(200), "position": OPTIONS[number % len(OPTIONS)], "confidence": 0.7}
    if found(body, "revisions"):
        answers = [{"sourceRole": one, "response": text(250)} for one in enum(body, "sourceRole")]
        changed = [{"change": text(120), "reason": text(200), "turns": []}]
        return {"responses": answers, "revisions": changed, "rejects": [], **stand}
    return {**stand, "rationale": text(700), "risks": [text(100)] * 3}


def thoughts(request: Request) -> int:
    """How much a model thinks, as it was told."""
    body = request.body
    if request.vendor == "local":
        return LITTLE
    if request.vendor == "openai":
        effort = body.get("reasoning", {}).get("effort", "none")
    elif request.vendor == "claude":
        told = cast(dict[str, Any], body.get("thinking", {}))
        effort = "high" if told.get("type") in ("adaptive", "enabled") else "none"
    else:
        (budget,) = found(body, "thinking_budget")
        effort = "high" if budget else "none"
    return HARD if effort == "high" else 0


class Model:
    """Answers one request after the other."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Request) -> Answer:
        self.asked += 1
        whole = json.dumps(said(request.body, self.asked))
        return Answer(whole, len(whole) * 2 // 7, thoughts(request))


def held(settings: Settings, model: str, **more: Any) -> tuple[Debate, list[Turn], list[Request]]:
    """A council of that model, and what was sent to it."""

    async def hold() -> tuple[Debate, list[Turn], list[Request]]:
        provider, _, name = model.partition(":")
        seats = [{"role": role, "model_provider": provider, "model_name": name} for role in ROLES]
        async with Wire(answers=Model()) as server:
            server.models = [{"id": name, "meta": {"n_ctx": WINDOW}}]
            router = Router(
                Providers(KEYS, {one: server.url(one) for one in VENDORS}), Understudy()
            )
            await router.look()
            try:
                async with open_service(settings, speaker=router) as service:
                    made = await service.council({**COUNCIL, "participants": seats, **more})
                    done = await service.wait(made.id)
                    return done, await service.turns(made.id), list(server.requests)
            finally:
                await router.aclose()

    return asyncio.run(hold())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", sweep_seconds=0.1)


@pytest.fixture(autouse=True)
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAITS", (0.01, 0.01, 0.01))


@pytest.mark.parametrize("who", MODELS)
def test_a_council_completes_undegraded_at_default_limits(settings: Settings, who: str) -> None:
    done, turns, requests = held(settings, MODELS[who])
    assert (done.status, done.degraded, done.warnings) == ("completed", False, ())
    assert {turn.status for turn in turns} == {"ok"}
    assert len(requests) == len(turns) == 17, "nobody was cut, or asked twice"
    decided = turns[-1]
    assert (decided.data or {})["choice"] in OPTIONS
    assert len((decided.data or {})["rejectedOptions"]) == 3
    assert len(decided.text) >= LENGTH
    told = [turn.usage for turn in turns]
    thought = [usage.thinking_tokens for usage in told]
    assert thought == {"local": [LITTLE] * 17, "plain": [0] * 17}.get(who, [0] * 15 + [HARD] * 2)
    assert done.usage.thinking_tokens == sum(thought)
    assert all(usage.output_tokens > usage.thinking_tokens for usage in told)
    assert not any(usage.estimated for usage in told)
    assert issues(settings, done.id) == ()
    kept = [file.read_bytes() for file in settings.home.rglob("*") if file.is_file()]
    assert not any(THOUGHT.strip().encode() in file for file in kept), "what is thought stays so"


@pytest.mark.parametrize("who", MODELS)
def test_the_limits_of_before_were_too_small_for_it(
    settings: Settings, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """900 tokens for everything, thoughts included, and no more of them for who was cut."""
    monkeypatch.setattr(limits, "WIDER", 1)
    monkeypatch.setattr(speak, "thinking", lambda *_: Thinking(0, 60.0))
    monkeypatch.setattr(Run, "tokens", lambda run, *_: run.debate.limits.max_turn_tokens)
    done, turns, _ = held(settings, MODELS[who])
    assert done.degraded
    assert turns[-1].status == "failed"


RFC = "# RFC 12\n\nThe ledger moves before winter, and Ada owns it.\n\nIt costs 12,000 euros."
GOOD, FAKE = '[S1.1 "The ledger moves before winter"]', "The ledger stays as it is"


def test_a_judge_decides_by_what_was_quoted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the wire: the sources reach the debaters alone; the Judge reads speeches with
    their quotes, and what failed stands marked in them. The packet cites
    the passage beside the turns."""
    plain = text

    def quoting(length: int) -> str:
        return f'We go, as {GOOD} says, not [S1.1 "{FAKE}"]: {plain(length)}'

    monkeypatch.setattr("tests.integration.test_council_wires.text", quoting)
    done, turns, requests = held(
        settings, MODELS["plain"], sources=[{"title": "RFC", "text": RFC}],
        hideSourcesFrom=["judge"],
    )  # fmt: skip
    assert done.status == "completed"
    assert issues(settings, done.id) == ()
    bodies = [json.dumps(one.body, ensure_ascii=False) for one in requests]
    judge = [body for body in bodies if "whySelected" in body]
    read = [body for body in bodies if "12,000 euros" in body]
    assert judge
    assert read
    assert not set(judge) & set(read)
    for body in judge:
        assert "The ledger moves before winter" in body
    for turn in turns:
        assert f'[S1.1 \\"{FAKE}' not in json.dumps(turn.data)
        assert turn.text.count(FAKE) == turn.text.count(f'[unverified "{FAKE}"]')
    folder = settings.home / "records" / "debates" / done.id
    packet = json.loads((folder / "final-packet.json").read_text())
    refs = packet["trace"]["evidenceRefs"]
    assert "S1.1" in refs
    assert any(ref.startswith("turn:") for ref in refs)
    verdict_ = json.loads((folder / "verdict.json").read_text())
    assert verdict_["quotes"]["verified"]
    assert verdict_["quotes"]["failed"]
    for file in ("report.md", "report.html", "transcript.md", "report.json", "final-packet.json"):
        said = (folder / file).read_text().replace("\\", "").replace("&quot;", '"')
        for place in said.split(FAKE)[:-1]:
            assert place.endswith(('[unverified "', "“", "“\\")), f"{file}: {place[-60:]}"
