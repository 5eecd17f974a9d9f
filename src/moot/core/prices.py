"""Whose prices are known: what a debate costs is shown with what nobody can know of it."""

from dataclasses import dataclass, replace

from moot.core.debate import Debate, Participant
from moot.core.legs import legs_of
from moot.core.voices import Cards, priced

HERE = "local"
"""The provider whose models run on this machine, and cost nothing, as those of others may."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the prices of a debate's models, its report's too."""

    unpriced: tuple[str, ...] = ()  # those that nobody published
    local: bool = False  # whether all of them run on this machine


NOT_KNOWN = Known()


def known(debate: Debate) -> Known:
    wrote = debate.writing
    if wrote is None:
        return Known(unpriced(debate), is_local(debate))
    names = dict.fromkeys((*unpriced(debate), *wrote.unpriced))
    return Known(tuple(names), is_local(debate) and wrote.local)


def marked(seat: Participant, cards: Cards, speaks: str = "") -> Participant:
    """The same seat, with what is known of the price of the model that `speaks` for it: its first
    choice, unless said. One that nobody published stays unknown when another takes the seat."""
    if seat.is_human:
        return seat
    card = cards(speaks or seat.model)
    local = all(cards(one).local for one in seat.choices) and not _here(seat)
    unpriced = seat.unpriced
    if not priced(card) and card.model not in unpriced:
        unpriced = (*unpriced, card.model)
    if (unpriced, local) == (seat.unpriced, seat.local):
        return seat
    return replace(seat, unpriced=unpriced, local=local)


def speakers(debate: Debate) -> tuple[Participant, ...]:
    """Everyone whom the debate calls, people aside: of one that only judges another, the jury
    alone."""
    legs = [leg for leg in legs_of(debate) if not leg.stage.past]
    found = [seat for leg in legs for seat in leg.speakers]
    if debate.host and any(leg.stage.cued for leg in legs):
        found.insert(0, debate.host)
    return tuple({seat.id: seat for seat in found if not seat.is_human}.values())


def unpriced(debate: Debate) -> tuple[str, ...]:
    """The models that speak in a debate, or did, and whose price nobody published."""
    return tuple(dict.fromkeys(name for seat in speakers(debate) for name in seat.unpriced))


def is_local(debate: Debate) -> bool:
    """Whether every model of a debate runs on this machine, and costs nothing."""
    return all(runs_here(seat) for seat in speakers(debate))


def runs_here(seat: Participant) -> bool:
    return seat.local or seat.is_human or _here(seat)


def _here(seat: Participant) -> bool:
    return all(map(runs_on, seat.choices))


def runs_on(model: str) -> bool:
    """Whether its name alone says that a model runs on this machine."""
    return model.partition(":")[0] == HERE
