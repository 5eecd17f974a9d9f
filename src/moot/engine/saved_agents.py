"""Saved agents: made, changed, taken along. A debate keeps them as they were when it began."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from moot.core.request import Normalize
from moot.core.times import iso
from moot.errors import DuplicateError, InputError, NotFoundError
from moot.ports import Clock, StationStore
from moot.stations import casting
from moot.stations.station import Agent, Brought
from moot.wire import codec_station, toml

KEPT = ("created_at", "updated_at")
TRIES = 5
T = TypeVar("T")


class Agents:
    """What a person can do with agents."""

    def __init__(self, store: StationStore, clock: Clock, normalize: Normalize) -> None:
        self._store = store
        self._clock = clock
        self._normalize = normalize

    async def create(self, asked: Mapping[str, Any]) -> Agent:
        """A new one. Its id is given, or made of its name."""
        return await until_free(lambda: self._create(dict(asked)))

    async def _create(self, given: dict[str, Any]) -> Agent:
        wanted = given.pop("id", None)
        taken = {one.id for one in await self._store.agents()}
        if wanted is None:
            wanted = casting.slug(str(given.get("name") or ""), taken)
        elif casting.check_new_slug(wanted, "an agent") in taken:
            raise InputError(f"There is an agent {wanted} already; change that one.", "id")
        new = self._checked(given, self._at(), Agent(wanted, ""))
        return (await self._store.keep_agents([], lambda _: [new]))[0]

    async def get(self, agent_id: str) -> Agent:
        return (await self.some([agent_id]))[0]

    async def all(self) -> list[Agent]:
        return await self._store.agents()

    async def some(self, ids: Sequence[str]) -> list[Agent]:
        """Those, in that order; NotFoundError names one that is not there."""
        for one in ids:
            casting.check_slug(one, "an agent")
        known = {agent.id: agent for agent in await self._store.agents(ids)}
        for one in ids:
            if one not in known:
                raise NotFoundError(
                    f"There is no agent {one}. `moot agents list` shows what there is.", "id"
                )
        return [known[one] for one in ids]

    async def change(self, agent_id: str, asked: Mapping[str, Any]) -> Agent:
        """What is given; the rest stays, and so do debates that have begun."""
        await self.get(agent_id)
        at = self._at()

        def change(known: Mapping[str, Agent]) -> list[Agent]:
            if agent_id not in known:
                raise NotFoundError(f"There is no agent {agent_id} any more.", "id")
            return [self._checked(asked, at, known[agent_id])]

        return (await self._store.keep_agents([agent_id], change))[0]

    async def delete(self, agent_id: str) -> None:
        """Also out of every pool. Debates stay as they are."""
        await self.get(agent_id)
        await self._store.delete_agent(agent_id)

    async def bring(self, text: str) -> Brought:
        """Agents from TOML: new ones are made, those whose id is there are changed, or none is."""
        entries = named(toml.loads(text, "agents"), "agents")
        at = self._at()
        made: list[str] = []

        def change(known: Mapping[str, Agent]) -> list[Agent]:
            made[:] = [one for one in entries if one not in known]
            return [
                entry(f"agents[{place}]", self._checked, asked, at, known.get(one, Agent(one, "")))
                for place, (one, asked) in enumerate(entries.items())
            ]

        kept = await self._store.keep_agents(list(entries), change)
        return Brought(tuple(made), tuple(one.id for one in kept if one.id not in made))

    async def take(self, ids: Sequence[str] = ()) -> str:
        """Those, or all, as TOML."""
        agents = await self.some(ids) if ids else await self.all()
        return toml.dumps("agents", [_bare(codec_station.shown_agent(one)) for one in agents])

    def _checked(self, asked: Mapping[str, Any], at: str, before: Agent) -> Agent:
        """With a model that there can be, if one is named now."""
        agent = casting.agent(asked, at, before)
        if asked.get("model") and agent.model:
            self._normalize(agent.model)
        return agent

    def _at(self) -> str:
        return iso(self._clock.now())


async def until_free(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try again where somebody took the same id in the same moment."""
    for _ in range(TRIES - 1):
        with suppress(DuplicateError):
            return await attempt()
    return await attempt()


def _bare(agent: dict[str, Any]) -> dict[str, Any]:
    """What a file has of it: whose the default model is, it cannot say."""
    kept = {name: value for name, value in agent.items() if name not in KEPT}
    return kept | ({} if kept["provider"] else {"provider": None})


def named(entries: Sequence[Mapping[str, Any]], table: str) -> dict[str, Mapping[str, Any]]:
    """The entries of a file by their ids, given or made of their names."""
    found: dict[str, Mapping[str, Any]] = {}
    for place, asked in enumerate(entries):
        where = f"{table}[{place}]"
        given = asked.get("id")
        one = given if given is not None else casting.slug(str(asked.get("name") or ""))
        entry(where, casting.check_new_slug, one, "an entry")
        if one in found:
            raise InputError(f"{where}: {one} is in the file twice.", f"{where}.id")
        found[one] = {**asked, "id": one}
    return found


def entry(where: str, check: Any, *values: Any) -> Any:
    """What a check says of one entry of a file, with the place it is at."""
    try:
        return check(*values)
    except InputError as error:
        field = f"{where}.{error.field}" if error.field else where
        raise InputError(f"{where}: {error.message}", field) from None
