"""The same debate once more: a new one with the request of another."""

from dataclasses import replace

from moot.core import request
from moot.core.debate import Cursor, Debate
from moot.core.format import EDITION


def again(known: Debate, *, debate_id: str, at: str) -> Debate:
    """A debate that has not begun, with the motion, the rules, the seats and the limits of another
    that began from nothing."""
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
