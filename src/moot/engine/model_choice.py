"""The models that a request names: how they are spelt, and what is doubtful about them."""

from collections.abc import Mapping
from typing import Any, cast

from moot.core import voices
from moot.core.debate import Debate
from moot.core.effort import bare
from moot.core.request import Normalize
from moot.errors import InputError
from moot.ports.available_models import Voices


async def chosen(model: str, here: Voices) -> tuple[str, list[str]]:
    """The canonical name of what a seat or an answer is to be spoken by, and the models in it, once
    it is known what they can do. Raises InputError if one is misspelt."""
    canonical, _ = here.normalize(model)
    models = [bare(one) for one in voices.choices(canonical)]
    if wrong := await here.wrong(models):
        raise InputError(next(iter(wrong.values())), "model")
    if any(map(_is_local, models)):
        await here.look()
    return canonical, models


async def spelling(
    asked: Mapping[str, Any],
    here: Voices,
    normalize: Normalize | None = None,
    *,
    defaults: bool = False,
) -> Normalize:
    """How models are spelt, once it is known what those that a request names can do. One that is
    known to be misspelt is refused; `defaults`: so is one that seats take if they name none."""
    models, others = _named(asked), here.defaults()
    if any(map(_is_local, (*models, *others))):
        await here.look()  # so that it is known what the model that speaks can do
    wrong = await here.wrong([*models, *others] if defaults else models)
    return _spelt(normalize or here.normalize, wrong)


def doubtful(debate: Debate, model: str, cards: voices.Cards) -> str | None:
    """What is doubtful about another model for the seat that failed."""
    failed = debate.failure.actor if debate.failure else ""
    seat = voices.voiced(debate.seat(failed), model)
    try:
        doubt = voices.check_prices(debate.limits, [seat], cards)
    except InputError as error:
        raise InputError(error.message, "model") from None
    host = seat if debate.host and debate.host.id == failed else None
    doubt = doubt or voices.weak_host(debate.rules, host, cards)
    asked = [seat.model] if (seat.effort or "none") != "none" else []
    return doubt or voices.thoughtless(asked, cards) or voices.untold(asked, cards)


def _spelt(normalize: Normalize, wrong: Mapping[str, str]) -> Normalize:
    """Like `normalize`, but a model that is known to be misspelt is refused."""

    def read(model: str) -> tuple[str, str | None]:
        canonical, warning = normalize(model)
        for one in voices.choices(canonical):
            if sentence := wrong.get(bare(one)):
                raise InputError(sentence, "model")
        return canonical, warning

    return read if wrong else normalize


def _is_local(model: str) -> bool:
    return model.strip().lower().startswith("local")


def _named(asked: Mapping[str, Any]) -> list[str]:
    """The models that a request names."""
    seats = [one for one in (*(asked.get("participants") or ()), asked.get("host")) if one]
    jury = asked.get("jury")
    jurors: Any = cast(Mapping[str, Any], jury).get("models") if isinstance(jury, Mapping) else ()
    models: list[Any] = [seat.get("model") for seat in seats]
    models += jurors if isinstance(jurors, list | tuple) else ()
    return [part for one in models if isinstance(one, str) for part in voices.choices(one)]
