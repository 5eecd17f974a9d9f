"""Models that cannot hold a debate are named before it begins, with what would suit."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.unit.core.test_prompts import debate_of

from moot.core import fitness, prompts, schedule
from moot.core.debate import HUMAN, Debate
from moot.core.format import Effort
from moot.core.prompts import Heard
from moot.core.voices import UNDERSTUDY
from moot.errors import InputError
from moot.ports.model_call import ModelCard

HINDI = "क्या स्कूलों को स्मार्टफ़ोन पर प्रतिबंध लगाना चाहिए?"
DUEL = debate_of("duel", "Ada Ben")


def cards(
    window: int = 8_192, least: Effort | None = None, languages: tuple[str, ...] = ()
) -> Callable[[str], ModelCard]:
    """Of models that are all alike."""
    return lambda model: ModelCard(model, window, 0.0, 0.0, least=least, languages=languages)


def refused(debate: Debate, known: Callable[[str], ModelCard], actor: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        fitness.check(debate, known, actor)
    assert caught.value.field == "model"
    return caught.value.message


def test_a_model_that_does_not_know_the_language_is_named() -> None:
    said = refused(DUEL.but(motion=HINDI), cards(languages=("en", "de")))
    assert "Ada speaks with local, which cannot debate in Hindi" in said
    assert "it knows English and German" in said
    assert "Give Ada a larger model" in said


@pytest.mark.parametrize("known", [(), ("en", "hi"), ("mr",)])
def test_one_that_knows_it_or_of_which_nothing_is_known_may_speak(known: tuple[str, ...]) -> None:
    fitness.check(DUEL.but(motion=HINDI), cards(languages=known))


def test_a_motion_whose_language_is_not_clear_is_not_refused() -> None:
    fitness.check(DUEL.but(motion="Rust vs Go"), cards(languages=("zh",)))


def test_the_understudy_and_people_are_asked_nothing() -> None:
    fitness.check(DUEL.but(motion=HINDI), lambda _: cards(languages=("en",), window=1)(UNDERSTUDY))
    one, other = DUEL.participants
    people = (one, replace(other, model=HUMAN))
    debate = DUEL.but(motion=HINDI, participants=people)

    def known(model: str) -> ModelCard:
        assert model != HUMAN
        return cards()(model)

    fitness.check(debate, known)


def test_a_second_choice_and_one_seat_alone_are_looked_at() -> None:
    first, second = DUEL.participants
    seat = replace(first, instead=("corp:small",))
    debate = DUEL.but(motion=HINDI, participants=(seat, second))

    def known(model: str) -> ModelCard:
        return cards(languages=("en",) if model == "corp:small" else ())(model)

    assert "corp:small" in refused(debate, known)
    fitness.check(debate, known, "ben")


@pytest.mark.parametrize("least", [None, "low"])
@pytest.mark.parametrize("name", ["standard", "classic", "custom", "duel"])
def test_a_window_that_is_too_small_is_named_with_one_that_suits(
    name: str, least: Effort | None
) -> None:
    debate = debate_of(name, "Ada Ben", host=name in ("classic", "custom"))
    window, told = 1_000, ""
    for _ in range(3):
        try:
            fitness.check(debate, cards(window=window, least=least))
        except InputError as error:
            told = error.message
            window = int(told.partition("a window of ")[2].split()[0].replace(",", ""))
    fitness.check(debate, cards(window=window, least=least))
    assert "whose window of " in told
    assert "too small for this" in told


@pytest.mark.parametrize("name", ["duel", "classic"])
def test_what_is_let_through_fits(name: str) -> None:
    """In the smallest window that is let through, every first prompt and its answer have room."""
    debate = debate_of(name, "Ada Ben", host=name == "classic")
    window = next(size for size in range(500, 9_000, 50) if _fits(debate, size))
    for steps in schedule.waves(debate):
        for step in steps:
            messages, _ = prompts.render(step, debate, Heard(), window)
            answer = prompts.tokens_of(step, debate, window)
            assert prompts.size(messages) + answer + fitness.HEARD <= window


def _fits(debate: Debate, window: int) -> bool:
    try:
        fitness.check(debate, cards(window=window))
    except InputError:
        return False
    return True
