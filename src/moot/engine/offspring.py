"""Debates that begin from others: they are judged again, forked, or run again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core import fitness, fork, rejudge, request, verbs
from moot.core.change import Change
from moot.core.debate import Debate, Turn
from moot.core.events import Event, TurnCommitted
from moot.core.rerun import again
from moot.core.times import iso
from moot.engine.budget import check_budget
from moot.engine.making import Maker, named_sources
from moot.engine.model_choice import spelling
from moot.errors import StateError, StorageError
from moot.outcome.stands import choices
from moot.ports.debate_store import Once


@dataclass(frozen=True, slots=True)
class Offspring:
    """Makes debates from others, which stay as they are."""

    maker: Maker

    async def rejudge(
        self, judged: Debate, jury: Mapping[str, Any] | None, once: Once | None
    ) -> Debate:
        events = await self._whole_log(judged)
        said = rejudge.heard(judged, _turns(events))
        normalize = await spelling({"jury": jury}, self.maker.voices)

        async def build() -> Debate:
            now = self.maker.clock.now()
            made = rejudge.rejudged(
                judged, said, jury, debate_id=self.maker.new_id(now), at=iso(now),
                default_model=self.maker.voices.defaults(), normalize=normalize,
                cards=self.maker.voices.card,
            )  # fmt: skip
            if not choices(made, said).options:
                raise StateError("Nobody took a position in this debate: there is no choice.")
            fitness.check(made, self.maker.voices.card)
            return made

        def open_(row: Debate) -> Change:
            return rejudge.open_(row, said, events, row.created_at)

        return await self.maker.make(build, open_, start=True, once=once)

    async def fork(
        self, known: Debate, after: int, changes: Mapping[str, Any] | None, once: Once | None
    ) -> Debate:
        wanted = dict(changes or {})
        more = await self.maker.documents.read(
            wanted.get("sources") or (),
            allow_secrets=request.allowed(wanted.pop("allow_secrets", None), "allow_secrets"),
        )
        wanted |= named_sources(wanted)
        normalize = await spelling(wanted, self.maker.voices)

        def make(said: Sequence[Turn], **new: Any) -> Debate:
            made = fork.forked(known, said, wanted, sources=more, normalize=normalize, **new)
            return made.but(tags=known.tags)

        return await self._part(known, after, make, once)

    async def rerun(self, known: Debate, once: Once | None) -> Debate:
        if known.forked_from:

            def make(said: Sequence[Turn], **new: Any) -> Debate:
                made = fork.again(known, said, normalize=self.maker.voices.normalize, **new)
                return made.but(title=known.title, tags=known.tags)

            return await self._part(known, known.forked_from.seq, make, once)

        async def build() -> Debate:
            now = self.maker.clock.now()
            made = again(known, debate_id=self.maker.new_id(now), at=iso(now))
            return made.but(title=known.title, tags=known.tags)

        def open_(row: Debate) -> Change:
            return verbs.open_(row, True, row.created_at)

        return await self.maker.make(build, open_, start=True, once=once)

    async def _part(
        self, known: Debate, after: int, make: Callable[..., Debate], once: Once | None
    ) -> Debate:
        """A debate that `make` begins with the first turns of another."""
        events = await self._whole_log(known)
        said = fork.shared(_turns(events), after)

        async def build() -> Debate:
            now = self.maker.clock.now()
            made = make(
                said, debate_id=self.maker.new_id(now), at=iso(now),
                default_model=self.maker.voices.defaults(), cards=self.maker.voices.card,
            )  # fmt: skip
            check_budget(made, self.maker.voices.card)
            fitness.check(made, self.maker.voices.card)
            return made

        def open_(row: Debate) -> Change:
            return fork.open_(row, said, events, row.created_at)

        return await self.maker.make(build, open_, start=True, once=once)

    async def _whole_log(self, debate: Debate) -> list[Event]:
        """Its log as far as it went at least when it was read. Raises NotFoundError if the debate
        was deleted meanwhile."""
        found: list[Event] = []
        while events := await self.maker.store.events(debate.id, found[-1].seq if found else 0):
            found += events
        if len(found) < debate.last_seq:
            await self.maker.store.load(debate.id)
            raise StorageError(
                f"The log of {debate.id} has gaps. `moot replay` says what is wrong."
            )
        return found


def _turns(events: Sequence[Event]) -> list[Turn]:
    return [event.turn for event in events if isinstance(event, TurnCommitted)]
