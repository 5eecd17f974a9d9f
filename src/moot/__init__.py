"""moot: debates between language models, carried to their end.

import moot

debate = moot.run("Should we ship on Fridays?", format="duel")
for turn in debate.turns:
    print(turn.name, turn.text)

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
    from moot.core.format import Format
    from moot.engine.service import Service
    from moot.errors import InputError, MootError, NotFoundError, ProviderError, StateError
    from moot.ports import Call, ModelCard, Reply, Speaker
    from moot.python import Finished, replay_debate_mode, run, run_debate_mode
    from moot.settings import Settings

__version__ = "0.1.0"

_HOMES = {
    "open": ("moot.bootstrap", "open_service"),
    **dict.fromkeys(
        ("run", "Finished", "run_debate_mode", "replay_debate_mode"), ("moot.python", "")
    ),
    "Settings": ("moot.settings", "Settings"),
    "Service": ("moot.engine.service", "Service"),
    "Format": ("moot.core.format", "Format"),
    **dict.fromkeys(
        ("Debate", "Failure", "Limits", "Participant", "Turn", "Usage"), ("moot.core.debate", "")
    ),
    **dict.fromkeys(("Delta", "Event", "StatusChanged", "TurnCommitted"), ("moot.core.events", "")),
    **dict.fromkeys(
        ("InputError", "MootError", "NotFoundError", "ProviderError", "StateError"),
        ("moot.errors", ""),
    ),
    **dict.fromkeys(("Call", "ModelCard", "Reply", "Speaker"), ("moot.ports", "")),
}

__all__ = [
    "Call", "Debate", "Delta", "Event", "Failure", "Finished", "Format", "InputError", "Limits",
    "ModelCard", "MootError", "NotFoundError", "Participant", "ProviderError", "Reply", "Service",
    "Settings", "Speaker", "StateError", "StatusChanged", "Turn", "TurnCommitted", "Usage",
    "__version__", "open", "replay_debate_mode", "run", "run_debate_mode",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names are fetched when they are first used: `import moot` and `moot --help` stay quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'moot' has no attribute {name!r}")
    module, original = _HOMES[name]
    return getattr(import_module(module), original or name)
