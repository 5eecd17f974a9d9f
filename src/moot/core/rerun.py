"""The same debate once more: a new one with the request of another."""

from dataclasses import replace

from moot.core import request
from moot.core.debate import Cursor, Debate
from moot.core.format import EDITION
from moot.errors import StateError


def again(known: Debate, *, debate_id: str, at: str) -> Debate:
    """A debate that has not begun, with the motion, the rules, the seats and the limits of another.
    Raises StateError if that one began with the turns of a third."""
    if known.forked_from:
        raise StateError(
            f"This debate began with the turns of {known.forked_from.id}, so it cannot be run from "
            "its beginning. Rerun that one, or have it judged again."
        )
    return request.placed(
        Debate(
            id=debate_id,
            motion=known.motion,
            rules=known.rules.model_copy(update={"edition": EDITION}),
            participants=known.participants,
            host=known.host,
            options=known.options,
            limits=replace(known.limits, raised=False),
            on_failure=known.on_failure,
            status="scheduled",
            cursor=Cursor(),
            created_at=at,
            updated_at=at,
            brief=known.brief,
            sources=known.sources,
            hide_sources_from=known.hide_sources_from,
            jury=known.jury,
            received=known.received,
            warnings=known.warnings,
        )
    )
