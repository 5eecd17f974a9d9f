"""Who speaks for a seat that names no model, and what is doubtful about those who do."""

from dataclasses import dataclass
from importlib import resources
from typing import Any

import pytest

from moot.core.debate import Debate, Failure, Jury, Participant
from moot.core.format import Effort, parse
from moot.core.prices import is_local, unpriced
from moot.core.request import build, recast
from moot.core.verbs import retry
from moot.core.voices import family, partial_jury
from moot.errors import InputError
from moot.wire import codec

THREE = ("claude:s", "openai:g", "gemini:f")
TWO = THREE[:2]


@dataclass(frozen=True)
class Known:
    model: str
    input_price: float | None = 0.0
    output_price: float | None = 0.0
    small: bool = False
    local: bool = False
    least: Effort | None = None
    steered: bool = True


def card(model: str) -> Known:
    price = None if model.endswith("unpriced") else 0.0
    real = "local:understudy" if model == "local" else model
    here = model.startswith(("local", "ollama"))
    return Known(real, price, price, small=model.endswith("small"), local=here)


def ask(format_: str, ring: tuple[str, ...] | str, **fields: Any) -> Debate:
    text = resources.files("moot.formats").joinpath(f"{format_}.toml").read_text("utf-8")
    return build(
        debate_id="debate_20261115_120000_aaaaaa",
        at="2026-11-15T12:00:00.000Z",
        motion="Should we?",
        rules=parse(text, format_),
        default_model=ring,
        normalize=lambda model: (model, None),
        **fields,
    )


def cast(debate: Debate) -> dict[str, str]:
    return {seat.id: family(seat.model) for seat in debate.seats}


def test_vendors_are_spread_so_that_opponents_and_host_differ() -> None:
    assert cast(ask("classic", THREE)) == {"ada": "claude", "ben": "openai", "host": "gemini"}
    assert cast(ask("duel", TWO)) == {"ada": "claude", "ben": "openai"}
    assert cast(ask("classic", TWO)) == {"ada": "claude", "ben": "openai", "host": "claude"}
    assert cast(ask("duel", TWO[:1])) == {"ada": "claude", "ben": "claude"}
    assert cast(ask("duel", "local")) == {"ada": "local", "ben": "local"}


@pytest.mark.parametrize(
    ("named", "host", "other"),
    [
        ("claude:x", None, "openai"),
        ("openai:x", None, "claude"),
        ("local:x", None, "claude"),
        ("claude:x", "openai:y", "openai"),  # rather like the host than like the opponent
        ("openai:x", "claude:y", "claude"),
    ],
)
def test_named_models_count(named: str, host: str | None, other: str) -> None:
    seats = [{"name": "Ada", "model": named}, {"name": "Ben"}]
    debate = ask("standard", TWO, participants=seats, host={"model": host} if host else None)
    assert family(debate.seat("ben").model) == other


@pytest.mark.parametrize("ring", [TWO, THREE])
@pytest.mark.parametrize("named", [[], ["Critic", "Analyst", "Synthesizer"], ["Critic"]])
def test_the_judge_differs_from_the_proponent(ring: tuple[str, ...], named: list[str]) -> None:
    seats = [{"role": role, "model": "openai:x"} for role in named]
    families = cast(ask("council", ring, participants=seats))
    assert families["judge"] != families["proponent"]
    if not named:
        assert set(families.values()) == set(map(family, ring))


def test_others_in_the_seats_are_spread_beside_the_host() -> None:
    debate = ask("classic", TWO, host={"model": "claude:x"})
    seats = [{"name": "Cleo"}, {"name": "Dov", "model": "claude:x"}]
    assert cast(recast(debate, seats, TWO, lambda model: (model, None), card)) == {
        "cleo": "openai", "dov": "claude", "host": "claude",
    }  # fmt: skip


# --- prices ---


def test_a_limit_on_cost_needs_prices() -> None:
    seats = [{"name": "Ada", "model": "openai:free"}, {"name": "Ben", "model": "openai:unpriced"}]
    asked: dict[str, Any] = {"participants": seats, "limits": {"max_cost_usd": 0}, "cards": card}
    with pytest.raises(InputError, match="Ben speaks with openai:unpriced") as caught:
        ask("duel", "local", **asked)
    assert caught.value.field == "limits.max_cost_usd"
    assert "allow_unpriced" in str(caught.value)
    assert ask("duel", "local", participants=seats, cards=card).warnings == ()
    priced = ask("duel", "local", limits={"max_cost_usd": 0}, cards=card)
    assert priced.warnings == ()
    assert "allow_unpriced" not in codec.plain(priced.limits)


def test_it_may_be_allowed_and_is_warned_of() -> None:
    limits = {"max_cost_usd": 1.5, "allow_unpriced": True}
    debate = ask("duel", "openai:unpriced", limits=limits, cards=card)
    (warning,) = debate.warnings
    assert warning.startswith("DEBATE_WARN_UNPRICED: the price of openai:unpriced is not known")
    assert "Ada, Ben" in warning
    told = codec.plain(debate.limits)
    assert told["allow_unpriced"] is True
    assert codec.read_limits(codec.dumps(told)) == debate.limits
    with pytest.raises(InputError, match="true or false"):
        ask("duel", "local", limits={"allow_unpriced": 1})


def test_the_report_and_others_in_the_seats_need_prices_too() -> None:
    limits = {"max_cost_usd": 1}
    with pytest.raises(InputError, match="MOOT_REPORT_MODEL lets openai:unpriced write") as caught:
        ask("duel", "local", limits=limits, cards=card, writer="openai:unpriced")
    assert caught.value.field == "limits.max_cost_usd"
    debate = ask("duel", "local", limits=limits, cards=card)
    seats = [{"name": "Cleo"}, {"name": "Dov", "model": "x:unpriced"}]
    with pytest.raises(InputError, match="Dov speaks with x:unpriced"):
        recast(debate, seats, "local", lambda model: (model, None), card)


# --- the host ---


@pytest.mark.parametrize(
    ("format_", "model", "said"),
    [
        ("classic", "local", "the host is the understudy, which is not a model"),
        ("custom", "local:small", "the host is local:small, which is a small model"),
        ("classic", "openai:large", None),
        ("standard", "local", None),  # nothing is cued
    ],
)
def test_a_weak_host_is_warned_of(format_: str, model: str, said: str | None) -> None:
    debate = ask(format_, "openai:large", host={"model": model}, cards=card)
    if said is None:
        assert debate.warnings == ()
        return
    warning, *others = debate.warnings
    assert warning.startswith(f"DEBATE_WARN_WEAK_HOST: {said}")
    assert all(other.startswith("DEBATE_WARN_SMALL_MODEL: ") for other in others)


def test_what_is_known_of_prices_stays_with_the_seat() -> None:
    """Another model may take the seat; what the first one has cost stays unknown."""
    seats = [{"name": "Ada", "model": "openai:unpriced"}, {"name": "Ben", "model": "ollama:q"}]
    made = ask("duel", "local", participants=seats, cards=card)
    ada, ben = made.participants
    assert (ada.unpriced, ada.local) == (("openai:unpriced",), False)
    assert (ben.unpriced, ben.local) == ((), True)
    assert (unpriced(made), is_local(made)) == (("openai:unpriced",), False)
    failure = Failure("CODE", "It failed.", "ada", "openai:unpriced", 4, made.created_at)
    paused = made.but(status="paused", failure=failure)
    later = retry(paused, "local:q", None, made.created_at, None, card).debate
    assert (later.participants[0].model, unpriced(later)) == ("local:q", ("openai:unpriced",))
    assert is_local(later)
    free = ask("duel", "local", cards=card)
    assert (unpriced(free), is_local(free)) == ((), True)
    assert "unpriced" not in codec.request(free)["participants"][0], "as files were before"
    again = codec.read_participants(codec.dumps(codec.request(made)["participants"]))
    assert again == made.participants


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (("claude:x", "openai:y"), "claude:x and openai:y debate and sit on the jury."),
        (("claude:x", "gemini:z"), "claude:x debates and sits on the jury."),
    ],
)
def test_jurors_that_also_debate_are_named(models: tuple[str, ...], said: str) -> None:
    seats = [
        Participant(f"seat-{nth}", f"Seat {nth}", model=model)
        for nth, model in enumerate(("claude:x", "openai:y"))
    ]
    jurors = (Participant(f"juror-{one}", one, model=one) for one in models)
    assert said in partial_jury(Jury(tuple(jurors)), seats)[0]
