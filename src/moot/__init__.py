"""moot: debates between language models, carried to their end.

import moot

debate = moot.debate("Should we ship on Fridays?", format="duel")
for turn in debate:  # as they are committed
    print(turn.name, turn.text)
print(debate.result.status)

moot.run(…) does the same to its end, moot.council(…) comes to a decision, moot.judge(…) answers yes
or no, and all work in a script and in a notebook; async code awaits moot.arun(…), moot.acouncil(…)
and moot.ajudge(…). With moot.open() there is everything that can be done to debates:

async with moot.open() as service:
    debate = await service.create("Should we ship on Fridays?", format="classic")
    async for event in service.follow(debate.id):
        ...
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moot.bootstrap import open_service as open  # noqa: A004  the word people expect
    from moot.core.debate import Debate, Failure, Limits, Participant, Turn, Usage
    from moot.core.events import Delta, Event, StatusChanged, TurnCommitted
    from moot.core.followups import Followup
    from moot.core.format import Format
    from moot.engine.service import Service
    from moot.errors import InputError, MootError, NotFoundError, ProviderError, StateError
    from moot.judging import Judged, ajudge, judge
    from moot.ports.entry_point import Moot
    from moot.ports.model_call import Call, ModelCard, Reply, Speaker
    from moot.python import (
        Finished,
        Stream,
        aask,
        acouncil,
        arejudge,
        arun,
        asay,
        ask,
        council,
        debate,
        rejudge,
        replay_debate_mode,
        run,
        run_debate_mode,
        say,
    )
    from moot.settings import Settings

__version__ = "0.1.0"

_HOMES = {
    name: module
    for module, names in {
        "moot.python": (
            "Finished", "Stream", "aask", "acouncil", "arejudge", "arun", "asay", "ask", "council",
            "debate", "rejudge", "replay_debate_mode", "run", "run_debate_mode", "say",
        ),
        "moot.judging": ("Judged", "ajudge", "judge"),
        "moot.settings": ("Settings",),
        "moot.engine.service": ("Service",),
        "moot.core.followups": ("Followup",),
        "moot.core.format": ("Format",),
        "moot.core.debate": ("Debate", "Failure", "Limits", "Participant", "Turn", "Usage"),
        "moot.core.events": ("Delta", "Event", "StatusChanged", "TurnCommitted"),
        "moot.errors": ("InputError", "MootError", "NotFoundError", "ProviderError", "StateError"),
        "moot.ports.entry_point": ("Moot",),
        "moot.ports.model_call": ("Call", "ModelCard", "Reply", "Speaker"),
    }.items()
    for name in names
}  # fmt: skip

__all__ = [
    "Call", "Debate", "Delta", "Event", "Failure", "Finished", "Followup", "Format", "InputError",
    "Judged", "Limits", "ModelCard", "Moot", "MootError", "NotFoundError", "Participant",
    "ProviderError", "Reply", "Service", "Settings", "Speaker", "StateError", "StatusChanged",
    "Stream", "Turn", "TurnCommitted", "Usage", "__version__", "aask", "acouncil", "ajudge",
    "arejudge", "arun", "asay", "ask", "council", "debate", "judge", "open", "rejudge",
    "replay_debate_mode", "run", "run_debate_mode", "say",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names are fetched when they are first used: `import moot` and `moot --help` stay quick."""
    if name == "open":
        return import_module("moot.bootstrap").open_service
    if name not in _HOMES:
        raise AttributeError(f"module 'moot' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
