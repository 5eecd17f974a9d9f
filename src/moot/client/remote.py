"""A moot elsewhere, over HTTP: `Moot`, with the same types and errors as the engine's own."""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar, cast

from pydantic import TypeAdapter

from moot.client.remote_links import RemoteLinks
from moot.client.remote_stations import RemoteAgents, RemoteStations
from moot.client.requests import WRONG, BrokenError, UnreachableError, Wire, form, items
from moot.core.clean import visible
from moot.core.course import Plan
from moot.core.debate import Debate, Turn, Wanted
from moot.core.events import Delta, Event, StatusChanged
from moot.core.followups import Followup
from moot.core.form import Asked
from moot.core.format import Format
from moot.core.ids import check_id
from moot.core.preferences import Preferences
from moot.core.prices import Known
from moot.core.sources import Passage, Source
from moot.core.status import FINAL
from moot.core.templates import Template
from moot.core.templates import check_id as check_template
from moot.errors import ConflictError, InputError, StateError, StorageError
from moot.outcome.calibration import Calibration, Hindsight
from moot.ports.available_models import Offers, ProviderStatus
from moot.ports.debate_store import Once
from moot.ports.entry_point import Moot
from moot.ports.finding import Found, Line, Search
from moot.ports.inputs import FormatProblem
from moot.render import report_text
from moot.render.export import Kind
from moot.sources.reader import Document, Reader, documents_at
from moot.wire import codec, sse

T = TypeVar("T")
FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
TRIES = 5
"""How often a debate that may have been made already is asked for again."""
PAGE = 200
REPORT_SECONDS = 900.0
"""As long as a model may take for a report, with all its tries."""
UPLOAD_SECONDS = 180.0
"""As long as a document may take to be sent and read."""
_PROBLEMS = TypeAdapter(list[FormatProblem])
_PROVIDERS = TypeAdapter(list[ProviderStatus])
_OFFERS = TypeAdapter(list[Offers])

Tell = Callable[[str], None]
"""Takes a sentence for the person who waits: once for each time without a server."""
Lost = Callable[[bool], None]
"""Takes whether the connection is lost, whenever that changes."""


class Remote(Moot):
    """The moot at a URL. Use it as an async context manager."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        tell: Tell = lambda _: None,
        lost: Lost = lambda _: None,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._tell, self._lost = tell, lost
        self._first_wait = first_wait
        self._closed = asyncio.Event()
        self._wire = Wire(url, token)
        self.url = self._wire.url
        self._agents = RemoteAgents(self._wire)
        self._stations = RemoteStations(self._wire)
        self._links = RemoteLinks(self._wire)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        await self._wire.close()

    async def close(self) -> None:
        self._closed.set()

    @property
    def agents(self) -> RemoteAgents:
        return self._agents

    @property
    def stations(self) -> RemoteStations:
        return self._stations

    @property
    def links(self) -> RemoteLinks:
        return self._links

    # --- begin ---

    async def create(
        self,
        motion: str,
        *,
        format: str = "standard",  # noqa: A002  the word of the contract
        participants: Sequence[Mapping[str, Any]] = (),
        host: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        on_failure: str | None = None,
        brief: Mapping[str, Any] | None = None,
        jury: Mapping[str, Any] | None = None,
        sources: Sequence[Mapping[str, Any]] = (),
        hide_sources_from: Sequence[str] = (),
        depth: str | None = None,
        audit: float | None = None,
        allow_secrets: bool = False,
        allow_unpriced: bool = False,
        title: str | None = None,
        tags: Sequence[str] = (),
        start: bool = True,
        once: Once | None = None,
    ) -> Debate:
        sent = await self._sent(sources, allow_secrets=allow_secrets)
        asked = {
            "motion": motion, "format": format, "participants": participants, "host": host,
            "options": options, "limits": limits, "on_failure": on_failure, "brief": brief,
            "jury": jury, "sources": sent or None,
            "hide_sources_from": list(hide_sources_from) or None,
            "depth": depth, "audit": audit,
            "allow_secrets": allow_secrets or None, "allow_unpriced": allow_unpriced or None,
            "title": title or None, "tags": list(tags) or None, "start": start,
        }  # fmt: skip
        given = {name: value for name, value in asked.items() if value is not None}
        return await self._make("/debates", given, once)

    async def council(self, asked: Mapping[str, Any], *, once: Once | None = None) -> Debate:
        return await self._make("/debates/council", await self._with_sources(asked), once)

    async def plan(self, asked: Mapping[str, Any]) -> Plan:
        return await self._wire.call(_plan, "POST", "/plan", await self._with_sources(asked))

    async def plan_of(self, debate_id: str) -> Plan:
        return await self._wire.call(_plan, "GET", f"{_path(debate_id)}/plan")

    async def _with_sources(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        given = asked.get("sources") if isinstance(asked, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance]  from outside
        if not isinstance(given, list | tuple):
            return dict(asked)
        allowed = bool(asked.get("allow_secrets"))
        return {
            **asked,
            "sources": await self._sent(cast("Sequence[Any]", given), allow_secrets=allowed),
        }

    async def _sent(self, sources: Sequence[Any], *, allow_secrets: bool) -> list[Any]:
        """The sources as the server takes them. What lies on this machine is read here; all of it
        is looked through for keys before any of it is sent."""
        found: list[Any] = []
        for place, one in enumerate(sources):
            asked, field = cast("Mapping[str, Any]", one), f"sources[{place}]"
            known = isinstance(one, Mapping)
            if known and asked.get("path") is not None:
                path, title = str(asked["path"]), str(asked.get("title") or "")
                documents = await asyncio.to_thread(documents_at, path, title, field)
                await Reader().documents(documents, field, allow_secrets=allow_secrets)
                found += documents
            else:
                if known and asked.get("text") is not None:
                    await Reader().read(asked, field, allow_secrets=allow_secrets)
                found.append(one)
        made: list[Any] = []
        for one in found:
            if isinstance(one, Document):
                upload, _ = await self.upload(
                    one.origin, one.data, title=one.title, allow_secrets=allow_secrets
                )
                made.append({"upload": upload})
            else:
                made.append(one)
        return made

    async def upload(
        self, name: str, data: bytes, *, title: str = "", allow_secrets: bool = False
    ) -> tuple[str, Source]:
        fields = {"title": title, "allow_secrets": "true" if allow_secrets else ""}
        content, kind = form({k: v for k, v in fields.items() if v}, "file", name, data)
        said = await self._wire.call(
            _object, "POST", "/sources", content=content, headers={"Content-Type": kind},
            seconds=UPLOAD_SECONDS,
        )  # fmt: skip
        read = codec.adapter(Source).validate_python({**said, "id": "S1"})
        return str(said["upload"]), read

    async def sources(self, debate_id: str) -> tuple[Source, ...]:
        listed = await self._wire.call(_object, "GET", f"{_path(debate_id)}/sources")
        found: list[Source] = []
        for one in listed["items"]:
            path = f"{_path(debate_id)}/sources/{one['id']}"
            found.append(await self._wire.call(_source, "GET", path))
        return tuple(found)

    async def _make(self, path: str, asked: Mapping[str, Any], once: Once | None) -> Debate:
        return await self._asked(_debate, path, asked, once)

    async def _asked(
        self,
        reader: Callable[[Any], T],
        path: str,
        asked: Mapping[str, Any],
        once: Once | None,
        seconds: float | None = None,
    ) -> T:
        """Make a debate, a turn of one or an answer, once: if the connection breaks, the same key
        asks for the same one."""
        headers = {"Idempotency-Key": once.key if once else str(uuid.uuid4())}
        broke, wait = False, self._first_wait
        for left in reversed(range(TRIES)):
            try:
                return await self._wire.call(
                    reader, "POST", path, asked, headers=headers, seconds=seconds
                )
            except StateError as error:
                if "Idempotency-Key" in error.message:
                    raise ConflictError(error.message) from None
                raise
            except UnreachableError as error:
                broke = broke or isinstance(error, BrokenError)
                if not broke or not left:
                    raise
                await asyncio.sleep(wait)
                wait *= 2
        raise AssertionError

    # --- verbs ---

    async def start(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "start")

    async def stop(self, debate_id: str) -> Debate:
        return _wanting("stop", await self._verb(debate_id, "stop"))

    async def pause(self, debate_id: str, *, at_once: bool = False) -> Debate:
        asked = {"at_once": True} if at_once else None
        return _wanting("pause", await self._verb(debate_id, "pause", asked))

    async def resume(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "resume")

    async def end(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "end")

    async def retry(
        self, debate_id: str, model: str | None = None, *, max_turn_seconds: float | None = None
    ) -> Debate:
        given = {"model": model or None, "max_turn_seconds": max_turn_seconds}
        asked = {name: value for name, value in given.items() if value is not None}
        return await self._verb(debate_id, "retry", asked or None)

    async def skip(self, debate_id: str) -> Debate:
        return await self._verb(debate_id, "skip")

    async def say(
        self,
        debate_id: str,
        text: str = "",
        *,
        answer: Mapping[str, Any] | None = None,
        seat: str | None = None,
        step: str | None = None,
        note: bool = False,
        once: Once | None = None,
    ) -> Debate:
        given = {
            "text": text or None,
            "answer": answer and dict(answer),
            "seat": seat,
            "step": step,
            "note": note or None,
        }
        asked = {name: one for name, one in given.items() if one is not None}
        return await self._make(f"{_path(debate_id)}/say", asked, once)

    async def asked(self, debate_id: str, *, seat: str | None = None) -> Asked | None:
        params = {"seat": seat} if seat is not None else None
        return await self._wire.call(_asked, "GET", f"{_path(debate_id)}/asked", params=params)

    async def rejudge(
        self,
        debate_id: str,
        *,
        jury: Mapping[str, Any] | None = None,
        once: Once | None = None,
    ) -> Debate:
        asked = {} if jury is None else {"jury": dict(jury)}
        return await self._make(f"{_path(debate_id)}/rejudge", asked, once)

    async def fork(
        self,
        debate_id: str,
        after: int,
        *,
        changes: Mapping[str, Any] | None = None,
        once: Once | None = None,
    ) -> Debate:
        asked = {"after": after, "changes": await self._with_sources(changes or {})}
        return await self._make(f"{_path(debate_id)}/fork", asked, once)

    async def ask(
        self,
        debate_id: str,
        question: str,
        *,
        model: str | None = None,
        once: Once | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> Followup:
        asked = {"question": question} if model is None else {"question": question, "model": model}
        path = f"{_path(debate_id)}/ask"
        return await self._asked(_followup, path, asked, once, seconds=REPORT_SECONDS)

    async def followups(self, debate_id: str) -> list[Followup]:
        path = f"{_path(debate_id)}/followups"
        return await self._wire.call(items(codec.read_followup), "GET", path)

    async def rerun(self, debate_id: str, *, once: Once | None = None) -> Debate:
        return await self._make(f"{_path(debate_id)}/rerun", {}, once)

    async def label(
        self,
        debate_id: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> Debate:
        given = {"title": title, "tags": None if tags is None else list(tags), "archived": archived}
        asked = {name: value for name, value in given.items() if value is not None}
        return await self._wire.call(_debate, "PATCH", _path(debate_id), asked)

    async def tags(self) -> list[str]:
        return await self._wire.call(
            lambda said: [visible(str(tag)) for tag in said["items"]], "GET", "/debates/tags"
        )

    async def delete(self, debate_id: str, *, record: bool = False) -> None:
        params = {"record": "true"} if record else None
        await self._wire.ask("DELETE", _path(debate_id), params=params)

    async def _verb(self, debate_id: str, verb: str, asked: dict[str, Any] | None = None) -> Debate:
        return await self._wire.call(_debate, "POST", f"{_path(debate_id)}/{verb}", asked)

    def recover(self, found: Callable[[str], None]) -> None:
        pass

    # --- reads ---

    async def get(self, debate_id: str) -> Debate:
        return await self._wire.call(_debate, "GET", _path(debate_id))

    async def find(self, search: Search | None = None) -> Found:
        search = search or Search()
        params: dict[str, Any] = {
            "status": [*search.statuses, *(["broadcasting"] if search.broadcasting else [])],
            "format": search.format,
            "q": search.words or None,
            "id": search.id or None,
            "limit": min(search.limit, PAGE),
            "cursor": search.before,
            "outcome": list(search.outcomes),
            "model": search.model,
            "tag": list(search.tags),
            "archived": {False: None, True: "yes", None: "all"}[search.archived],
            "min_cost": search.min_cost,
            "max_cost": search.max_cost,
        }
        return await self._wire.call(_found, "GET", "/debates", params=params)

    async def models(self) -> list[str]:
        return await self._wire.call(
            lambda said: [visible(str(model)) for model in said["items"]], "GET", "/debates/models"
        )

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]:
        path, params = f"{_path(debate_id)}/turns", {"after": after}
        return await self._wire.call(items(codec.read_turn), "GET", path, params=params)

    async def packet(self, debate_id: str) -> dict[str, Any]:
        return await self._wire.call(_object, "GET", f"{_path(debate_id)}/packet")

    async def verdict(self, debate_id: str) -> dict[str, Any]:
        return await self._wire.call(_object, "GET", f"{_path(debate_id)}/verdict")

    async def note_outcome(self, debate_id: str, hindsight: Hindsight | None) -> Hindsight | None:
        path, asked = f"{_path(debate_id)}/outcome", {"outcome": hindsight}
        return await self._wire.call(_noted, "PUT", path, asked)

    async def noted_outcome(self, debate_id: str) -> Hindsight | None:
        return await self._wire.call(_noted, "GET", f"{_path(debate_id)}/outcome")

    async def calibration(self) -> Calibration:
        return await self._wire.call(
            lambda said: codec.adapter(Calibration).validate_python(visible(said)),
            "GET",
            "/calibration",
        )

    async def report(self, debate_id: str) -> dict[str, Any]:
        return await self._wire.call(_report, "GET", f"{_path(debate_id)}/report")

    async def remake_report(self, debate_id: str, model: str | None = None) -> dict[str, Any]:
        path, asked = f"{_path(debate_id)}/report", {"model": model} if model else {}
        return await self._wire.call(_report, "POST", path, asked, seconds=REPORT_SECONDS)

    async def export(self, debate_id: str, kind: Kind) -> str:
        path = f"{_path(debate_id)}/export"
        content = await self._wire.ask("GET", path, params={"as": kind})
        return content.decode("utf-8", "replace")

    async def export_folder(self, debate_id: str) -> bytes:
        return await self._wire.ask("GET", f"{_path(debate_id)}/export", params={"as": "zip"})

    async def import_folder(self, data: bytes) -> Debate:
        content, kind = form({}, "file", "debate.zip", data)
        return await self._wire.call(
            _debate, "POST", "/debates/import", content=content, headers={"Content-Type": kind},
            seconds=UPLOAD_SECONDS,
        )  # fmt: skip

    async def replay(self, debate_id: str) -> dict[str, Any]:
        return await self._wire.call(_replay, "GET", f"{_path(debate_id)}/replay")

    async def records(self, words: str = "", limit: int = 50) -> list[dict[str, Any]]:
        if limit > PAGE:
            raise InputError(f"A server gives at most {PAGE} records, not {limit:,}.", "limit")
        params = {"q": words, "limit": limit}
        return await self._wire.call(
            lambda said: [dict(item) for item in said["items"]], "GET", "/records", params=params
        )

    async def formats(self) -> list[Format]:
        return await self._wire.call(
            lambda said: [codec.read_rules(rules) for rules in said["items"]], "GET", "/formats"
        )

    async def format_problems(self) -> list[FormatProblem]:
        return await self._wire.call(
            lambda said: _PROBLEMS.validate_python(visible(said["problems"])), "GET", "/formats"
        )

    async def providers(self) -> list[ProviderStatus]:
        return await self._wire.call(
            lambda said: _PROVIDERS.validate_python(visible(said["items"])), "GET", "/providers"
        )

    async def templates(self) -> list[Template]:
        return await self._wire.call(items(_template), "GET", "/templates")

    async def template(self, template_id: str) -> Template:
        path = f"/templates/{check_template(template_id)}"
        return await self._wire.call(_template, "GET", path)

    async def keep_template(self, template_id: str, asked: Mapping[str, Any]) -> Template:
        path = f"/templates/{check_template(template_id)}"
        return await self._wire.call(_template, "PUT", path, asked)

    async def delete_template(self, template_id: str) -> None:
        await self._wire.ask("DELETE", f"/templates/{check_template(template_id)}")

    async def offers(self, provider: str | None = None) -> list[Offers]:
        params = {} if provider is None else {"provider": provider}
        return await self._wire.call(
            lambda said: _OFFERS.validate_python(visible(said["items"])),
            "GET",
            "/models",
            params=params,
        )

    async def default_models(self) -> tuple[str, ...]:
        return await self._wire.call(_defaults, "GET", "/providers")

    async def preferences(self) -> Preferences:
        return await self._wire.call(_preferences, "GET", "/settings")

    async def prefer(self, given: Mapping[str, Any]) -> Preferences:
        return await self._wire.call(_preferences, "PUT", "/settings", given)

    async def checks(self) -> dict[str, str]:
        """What the server says of itself. Raises StorageError if it is not ready."""
        return await self._wire.call(
            lambda said: _object(visible(said["checks"])), "GET", "/readyz"
        )

    def folder(self, debate_id: str) -> str:
        return f"{self.url}{_path(debate_id)}"

    def left_behind(self, debate: Debate) -> bool:
        return False

    # --- follow ---

    async def follow(self, debate_id: str, after: int = 0) -> AsyncGenerator[Event | Delta]:
        """However often the connection breaks, it goes on from the last seq. If the log was
        replaced by a shorter one, it comes from the start."""
        place, outage = Place(after), self._outage()
        known = await self._get_surely(debate_id, outage)
        while not place.is_end_of(known):
            try:
                async with aclosing(self._connection(debate_id, place, outage)) as events:
                    async for event in events:
                        outage.over()
                        yield event
                        if _is_pause(event) and place.after >= known.last_seq:
                            known = await self.get(debate_id)
                            if place.is_end_of(known):
                                return
                if place.ended:
                    return
                outage.begins(f"The stream of {self.url} ended early.")
            except (UnreachableError, StorageError) as error:
                outage.begins(error.message)
            known = await self._get_surely(debate_id, outage)

    async def _connection(
        self, debate_id: str, place: "Place", outage: "Outage"
    ) -> AsyncGenerator[Event | Delta]:
        """What one connection gives that was not heard yet."""
        path = f"{_path(debate_id)}/events"
        async with aclosing(self._wire.listen(path, place.after, outage.connected)) as messages:
            async for message in messages:
                if message.event == "end":
                    place.ended = True
                    return
                if message.event == "reset":
                    place.after = 0
                elif event := self._next(debate_id, message, place):
                    yield event

    def _next(self, debate_id: str, message: sse.Message, place: "Place") -> Event | Delta | None:
        """The event that a message is, if it is the one that comes next, or a delta."""
        if message.id is None:
            return _delta(debate_id, message)
        seq = self._wire.read(int, message.id)
        if seq <= place.after:
            return None  # heard already
        if seq > place.after + 1:
            raise UnreachableError(f"The stream of {self.url} left something out.")
        event = self._wire.read(_event, debate_id, message, seq)
        place.after = seq
        return event

    async def wait(self, debate_id: str) -> Debate:
        known = await self._get_surely(debate_id, self._outage())
        resting = asyncio.create_task(self._rest(known))
        closed = asyncio.create_task(self._closed.wait())
        try:
            await asyncio.wait((resting, closed), return_when=asyncio.FIRST_COMPLETED)
            return resting.result() if resting.done() else known
        finally:
            resting.cancel()
            closed.cancel()
            await asyncio.gather(resting, closed, return_exceptions=True)

    async def _rest(self, known: Debate) -> Debate:
        while not _at_rest(known) and not known.waiting_for:
            async with aclosing(self.follow(known.id, known.last_seq)) as events:
                async for event in events:
                    if isinstance(event, StatusChanged) and event.waiting_for:
                        break
            known = await self._get_surely(known.id, self._outage())
        return known

    async def _get_surely(self, debate_id: str, outage: "Outage") -> Debate:
        """The debate, however long the server is away; unless it was never there."""
        while True:
            await outage.rest()
            try:
                debate = await self.get(debate_id)
            except (UnreachableError, StorageError) as error:
                if not self._wire.answered:
                    raise
                outage.begins(error.message)
            else:
                outage.connected()
                return debate

    def _outage(self) -> "Outage":
        return Outage(self._tell, self._first_wait, self._lost)


@dataclass(slots=True)
class Place:
    """How far a debate was heard."""

    after: int
    ended: bool = False

    def is_end_of(self, debate: Debate) -> bool:
        return _at_rest(debate) and debate.last_seq == self.after


class Outage:
    """The time without a server: told of once, waited out in growing steps."""

    def __init__(self, tell: Tell, first_wait: float, lost: Lost = lambda _: None) -> None:
        self._tell, self._lost = tell, lost
        self._first = self._wait = first_wait
        self._told = self._is_lost = False

    def begins(self, what: str) -> None:
        if not self._told:
            self._tell(f"{what} Trying again …")
        if not self._is_lost:
            self._lost(True)
        self._told = self._is_lost = True

    def connected(self) -> None:
        """There is a connection; whether it is good for anything is seen by what comes."""
        if self._is_lost:
            self._lost(False)
        self._is_lost = False

    def over(self) -> None:
        self.connected()
        self._wait, self._told = self._first, False

    async def rest(self) -> None:
        """Wait, if there is something to wait for."""
        if self._told:
            await asyncio.sleep(self._wait)
            self._wait = min(self._wait * 2, LONGEST_WAIT)


def _plan(said: Any) -> Plan:
    return codec.adapter(Plan).validate_python(said)


def _source(said: Any) -> Source:
    read = codec.adapter(Source).validate_python({**said, "text": ()})
    text = tuple(Passage(one["number"], one["text"], one["page"]) for one in said["text"])
    return replace(read, text=text)


def _noted(said: Any) -> Hindsight | None:
    return codec.adapter(Hindsight | None).validate_python(said["outcome"])


def _path(debate_id: str) -> str:
    return f"/debates/{check_id(debate_id)}"


def _asked(said: Any) -> Asked | None:
    given = visible(said["asked"])
    return None if given is None else codec.adapter(Asked).validate_python(given)


def _object(said: Any) -> dict[str, Any]:
    return {str(name): value for name, value in said.items()}


def _template(said: Any) -> Template:
    return Template(str(said["id"]), _object(visible(said["asked"])))


def _followup(said: Any) -> Followup:
    return codec.read_followup(visible(said))


def _debate(said: Any) -> Debate:
    rules = said["rules"]  # not cleaned: its texts are compared
    return codec.read_debate(visible({**said, "rules": None}), rules)


def _found(said: Any) -> Found:
    after = said["next"]
    lines = {str(item["id"]): _line(item) for item in said["items"]}
    return Found(items(codec.read_listed)(said), None if after is None else int(after), lines)


def _line(said: Any) -> Line:
    """An older server tells of none of it."""
    models, unpriced = (
        tuple(visible(str(one)) for one in said.get(name, ())) for name in ("models", "unpriced")
    )
    known = Known(unpriced, bool(said.get("local")))
    return Line(visible(str(said.get("result", ""))), models, known)


def _defaults(said: Any) -> tuple[str, ...]:
    default = visible(said["default"])
    return (default,) if isinstance(default, str) else tuple(map(str, default))  # str: an older one


def _preferences(said: Any) -> Preferences:
    seen = visible(said)
    return Preferences(tuple(map(str, seen["models"])), _object(seen["limits"]))


def _report(said: Any) -> dict[str, Any]:
    report_text.markdown(said)  # raises if it is not a report
    return dict(said)


def _replay(said: Any) -> dict[str, Any]:
    _ = [*said["consistency"]["issues"], said["consistency"]["indexed"]]  # raises if it is not one
    return _object(said)


def _event(debate_id: str, message: sse.Message, seq: int) -> Event | None:
    if message.event not in ("turn", "status"):
        return None  # of a newer moot
    data = visible(json.loads(message.data))
    return codec.read_event(message.event, debate_id, seq, data)


def _delta(debate_id: str, message: sse.Message) -> Delta | None:
    try:
        return codec.read_delta(debate_id, json.loads(message.data))
    except WRONG:
        return None  # it is not needed, whatever it was


def _wanting(wish: Wanted, debate: Debate) -> Debate:
    """The wish is not on the wire; whoever uttered it knows it."""
    return debate if _at_rest(debate) else debate.but(wanted=wish)


def _at_rest(debate: Debate) -> bool:
    return debate.status in FINAL or debate.status == "paused"


def _is_pause(event: Event | Delta) -> bool:
    return isinstance(event, StatusChanged) and event.status == "paused"
