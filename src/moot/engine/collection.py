"""What agents and stations have in common: people make, change and carry them in files."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from moot.errors import DuplicateError, InputError, NotFoundError
from moot.stations import casting
from moot.stations.station import Agent, Brought, Station
from moot.wire import toml

TRIES = 5
R = TypeVar("R")
T = TypeVar("T", Agent, Station)
Check = Callable[[Mapping[str, Any], T], T]
"""What is asked for and how it was → how it is then. Raises InputError."""


class Collection(Generic[T]):
    """All agents, or all stations. `noun` is what one of them is called, `new` makes one of an id
    and a name."""

    def __init__(
        self,
        noun: str,
        new: Callable[[str, str], T],
        find: Callable[[Sequence[str] | None], Awaitable[list[T]]],
        keep: Callable[
            [Sequence[str], Callable[[Mapping[str, T]], Sequence[T]]], Awaitable[list[T]]
        ],
    ) -> None:
        self._noun = noun
        self._one = f"{'an' if noun == 'agent' else 'a'} {noun}"
        self._new = new
        self._find = find
        self._keep = keep

    async def _checks(self, *, strict: bool = True) -> Check[T]:
        """How one is checked. What comes from a file is not checked so strictly."""
        raise NotImplementedError

    def _filed(self, one: T) -> dict[str, Any]:
        """What a file holds of it."""
        raise NotImplementedError

    async def create(self, asked: Mapping[str, Any]) -> T:
        """Make a new one. Its id is given, or made of its name."""
        return await until_free(lambda: self._create(dict(asked)))

    async def _create(self, given: dict[str, Any]) -> T:
        wanted = given.pop("id", None)
        taken = {one.id for one in await self.all()}
        if wanted is None:
            wanted = casting.slug(str(given.get("name") or ""), taken)
        elif casting.check_slug(wanted, self._one, new=True) in taken:
            raise InputError(f"There is {self._one} {wanted} already; change that one.", "id")
        check = await self._checks()
        new = check(given, self._new(wanted, ""))
        return (await self._keep([], lambda _: [new]))[0]

    async def get(self, id_: str, /) -> T:
        return (await self.some([id_]))[0]

    async def all(self) -> list[T]:
        return await self._find(None)

    async def some(self, ids: Sequence[str]) -> list[T]:
        """Those, in that order. NotFoundError names one that does not exist."""
        for one in ids:
            casting.check_slug(one, self._one)
        known = {one.id: one for one in await self._find(ids)}
        return [self._known(known, one) for one in ids]

    def _known(self, known: Mapping[str, T], id_: str) -> T:
        if id_ not in known:
            raise NotFoundError(
                f"There is no {self._noun} {id_}. `moot {self._noun}s list` shows what there is.",
                "id",
            )
        return known[id_]

    async def change(self, id_: str, asked: Mapping[str, Any], /) -> T:
        """Change what is given. Debates that were made of it stay as they are."""
        await self.get(id_)
        check = await self._checks()
        kept = await self._keep([id_], lambda known: [check(asked, self._known(known, id_))])
        return kept[0]

    async def bring(self, text: str) -> Brought:
        """Read a TOML file: new ones are made, those whose id exists are changed. All, or none."""
        entries = self._entries(text)
        check = await self._checks(strict=False)
        made: list[str] = []

        def change(known: Mapping[str, T]) -> list[T]:
            made[:] = [one for one in entries if one not in known]
            changed: list[T] = []
            for place, (one, asked) in enumerate(entries.items()):
                with self._in_entry(place):
                    changed.append(check(asked, known.get(one) or self._new(one, "")))
            return changed

        kept = await self._keep(list(entries), change)
        return Brought(tuple(made), tuple(one.id for one in kept if one.id not in made))

    def _entries(self, text: str) -> dict[str, Mapping[str, Any]]:
        """The entries of a file by their ids, given or made of their names."""
        found: dict[str, Mapping[str, Any]] = {}
        for place, asked in enumerate(toml.loads(text, f"{self._noun}s")):
            given = asked.get("id")
            one = given if given is not None else casting.slug(str(asked.get("name") or ""))
            with self._in_entry(place):
                if casting.check_slug(one, self._one, new=True) in found:
                    raise InputError(f"{one} is in the file twice.", "id")
            found[one] = {**asked, "id": one}
        return found

    @contextmanager
    def _in_entry(self, place: int) -> Generator[None]:
        """Let an error say which entry of the file it is about."""
        try:
            yield
        except InputError as error:
            where = f"{self._noun}s[{place}]"
            field = f"{where}.{error.field}" if error.field else where
            raise InputError(f"{where}: {error.message}", field) from None

    async def take(self, ids: Sequence[str] = ()) -> str:
        """Those, or all, as TOML."""
        chosen = await self.some(ids) if ids else await self.all()
        return toml.dumps(f"{self._noun}s", [self._filed(one) for one in chosen])


async def until_free(attempt: Callable[[], Awaitable[R]]) -> R:
    """Try again if somebody took the same id in the same moment."""
    for _ in range(TRIES - 1):
        with suppress(DuplicateError):
            return await attempt()
    return await attempt()
