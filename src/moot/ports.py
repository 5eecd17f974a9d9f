"""The protocols: what the engine needs of the world, and Moot, the single entry point."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from moot.core import ids, prompts
from moot.core.change import Change, Ended
from moot.core.course import Plan
from moot.core.debate import NO_USAGE, Debate, OutcomeKind, Turn, Usage
from moot.core.events import Delta, Event, Speech
from moot.core.followups import Followup
from moot.core.form import Asked
from moot.core.format import Effort, Format
from moot.core.limits import WHOLE
from moot.core.link import Link
from moot.core.preferences import Preferences
from moot.core.prices import NOT_KNOWN, Known
from moot.core.prompts import Message
from moot.core.request import Normalize
from moot.core.schedule import Step
from moot.core.sources import Source
from moot.core.status import Status
from moot.core.templates import Template
from moot.core.voices import UNDERSTUDY
from moot.errors import NotFoundError, StateError
from moot.outcome.calibration import Calibration, Hindsight, Noted
from moot.render.answer import answer
from moot.render.export import Kind
from moot.render.reading import Read, Reading
from moot.stations.airing import Board, StationChange
from moot.stations.station import Agent, Brought, Conversation, Programme, Station

Noun = TypeVar("Noun")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model before it is called."""

    model: str  # "provider:name", as it will be called
    window: int  # tokens of prompt and answer together
    input_price: float | None  # USD per token; None if nobody published one
    output_price: float | None
    small: bool = False  # it needs short asks, and repeats itself
    least: Effort | None = None
    """The least that it thinks: "none" if it does only what is asked for. None: it cannot."""
    local: bool = False  # it runs on this machine, or on a server that the user runs
    languages: tuple[str, ...] = ()  # in which it can debate (ISO 639-1), if that is known
    steered: bool = True  # it can be told how hard to think


def _as_given(seconds: float) -> None:
    """Nobody keeps the time of this call but its speaker."""


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, all that it needs."""

    model: str  # "provider:name"
    messages: tuple[Message, ...]
    max_tokens: int
    seconds: float  # the longest silence, before the first word and between two words
    debate: Debate  # the scene, for a speaker that reads no prompt (the understudy)
    step: Step
    heard: tuple[Turn, ...]  # the turns this step may see, oldest first
    schema: Mapping[str, Any] | None = None  # JSON Schema of a structured answer
    effort: Effort | None = None  # how hard the model thinks, if the stage says so
    again: bool = False  # the last answer could not be used: it had not its shape, or was an echo
    longest: float | None = None  # from the call to its last word; None: WHOLE times `seconds`
    allow: Callable[[float], None] = _as_given
    """Told by a speaker: from now on it may be silent for these seconds (inf while the call waits
    to be made, `seconds` when it is made and with every word, said or not; more before the first
    word if the model thinks)."""

    @property
    def whole(self) -> float:
        """The seconds that all of it may take, from when it is made."""
        return self.seconds * WHOLE if self.longest is None else self.longest

    def guess(self, card: ModelCard, said: str = "") -> Usage:
        """What the call used, as far as one can tell, if nobody metered it."""
        if card.model == UNDERSTUDY:
            return Usage(estimated=True)
        asked, told = prompts.size(self.messages), prompts.estimate(said) if said else 0
        cost = asked * (card.input_price or 0.0) + told * (card.output_price or 0.0)
        return Usage(asked, told, cost, estimated=True)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, before it is cleaned."""

    text: str
    model: str  # who really spoke
    usage: Usage
    data: Mapping[str, Any] | None = None
    cut: bool = False  # stopped by the token limit
    cached: int = 0  # tokens of the prompt that the provider keeps, or had kept


Say = Callable[[str], None]
"""Takes each piece of text as it is spoken."""


class Speaker(Protocol):
    """Calls a model. Raises ProviderError and nothing else; cancelling the task calls it off."""

    def card(self, model: str) -> ModelCard: ...

    async def speak(self, call: Call, say: Say) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Held:
    """What the row says of a debate that somebody has in hand."""

    fence: int
    wanted: str | None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A debate that somebody should be advancing, or one that paused with calls still open."""

    id: str
    state: tuple[int, int]  # fence and last seq: as long as they stay, nothing has happened to it
    lease_owner: str | None
    lease_until: float
    waited: bool  # until now, to try again: nobody has been told that it may


@dataclass(frozen=True, slots=True)
class Once:
    """A request that may come twice and shall be carried out once."""

    key: str
    digest: str  # of all that was asked for
    seconds: float | None = None  # how long the key holds from then on; None: for good


@dataclass(frozen=True, slots=True)
class Search:
    """Which debates a list is to show."""

    statuses: tuple[Status, ...] = ()  # any of these; none given: all
    format: str | None = None
    words: str = ""
    """Each of them, or the beginning of one, in the motion, the names of seats, models and the
    format or, once the debate has ended or paused, in what was said."""
    hidden: tuple[str, ...] = ()  # formats that are switched off
    limit: int = 50
    before: int | None = None  # a page's `next`
    broadcasting: bool = False  # beside `statuses`: what stations air now
    id: str = ""  # the beginning of an id, or its last six characters
    outcomes: tuple[OutcomeKind, ...] = ()  # any of these
    model: str | None = None  # the beginning of a model that sits or spoke there, or of its name
    tags: tuple[str, ...] = ()  # all of these
    archived: bool | None = False  # None: those too
    min_cost: float | None = None  # USD that the debate cost at least, and at most
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """What lists show of a debate beside it."""

    result: str = ""  # what came of it, in one line
    models: tuple[str, ...] = ()  # of all seats
    prices: Known = NOT_KNOWN


@dataclass(frozen=True, slots=True)
class Found:
    """A page of debates. It may hold fewer than asked for, even none, and still have a next."""

    debates: list[Debate]
    next: int | None
    lines: Mapping[str, Line] = field(default_factory=dict[str, Line], compare=False)  # by id


@dataclass(frozen=True, slots=True)
class Logged:
    """One entry of the log of all debates."""

    position: int  # grows with every commit, whichever debate it is of
    debate_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """What is known of one provider, its key aside."""

    provider: str
    works: bool  # whether a seat may use it here
    model: str  # what the bare provider means, as "provider:name"
    detail: str  # one or two sentences; what to set when it does not work
    small: bool = False  # that model is small, or is not one at all: it moderates badly
    label: str = ""  # what people call it
    models: tuple[str, ...] = ()  # that can be chosen, the strongest first, the cheapest last
    fix: str = ""  # one line for a shell that lets it speak; empty if it needs none


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be chosen, and what is known of it."""

    model: str  # "provider:name"
    window: int | None  # tokens of prompt and answer together; None: not known
    input_price: float | None  # USD per million tokens; None: not known
    output_price: float | None
    structured: bool  # it holds an answer to a JSON Schema
    thinking: bool
    caching: bool  # what it has read before costs less


@dataclass(frozen=True, slots=True)
class Offers:
    """What a provider offers."""

    provider: str
    label: str  # what people call it
    live: bool  # whether it told so itself, just now
    detail: str  # if not: why, in a sentence
    models: tuple[Offer, ...]


async def _no_offers(provider: str | None = None) -> list[Offers]:
    return []


async def _none_wrong(models: Iterable[str]) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Voices:
    """The models of this machine: how their names are read, and what is known of them."""

    describe: Callable[[], Awaitable[list[ProviderStatus]]]
    normalize: Normalize  # the canonical "provider:name"; raises InputError if it is not a model
    bend: Callable[[str], Awaitable[tuple[str, str | None]]]
    """Like `normalize`, but an unknown provider becomes `local`, with a warning."""
    look: Callable[[], Awaitable[None]]  # finds the local server, so that cards tell of it
    card: Callable[[str], ModelCard]
    defaults: Callable[[], tuple[str, ...]]  # what seats without a model take now, in turn
    writer: str | None  # the model that writes reports, if any
    offers: Callable[[str | None], Awaitable[list[Offers]]] = _no_offers
    wrong: Callable[[Iterable[str]], Awaitable[dict[str, str]]] = _none_wrong
    """Which of these models seem misspelt, and what may be meant."""


class SourceReader(Protocol):
    """Reads documents into passages. Raises InputError if one cannot be read, or holds keys."""

    async def read(
        self, asked: Mapping[str, Any], field: str, *, allow_secrets: bool = False
    ) -> list[Source]:
        """The document that is asked for by `text`, `path` or `url`; all documents of a folder."""
        ...

    async def upload(
        self, name: str, data: bytes, title: str = "", *, allow_secrets: bool = False
    ) -> Source: ...


class TemplateStore(Protocol):
    """Keeps saved set-ups."""

    def all(self) -> list[Template]: ...

    def get(self, id_: str) -> Template: ...

    def put(self, id_: str, asked: Mapping[str, Any]) -> Template: ...

    def delete(self, id_: str) -> None: ...


class PreferencesStore(Protocol):
    """Keeps what the user prefers."""

    def get(self) -> Preferences: ...

    def put(self, given: Mapping[str, Any]) -> Preferences: ...


ReportState = Literal["making", "made", "failed"]


@dataclass(frozen=True, slots=True)
class ReportRow:
    """How the report of a debate that has ended stands."""

    debate_id: str
    state: ReportState  # of the last try; making, and not until later: wanted
    method: Literal["extraction", "model"]  # of the report that there is
    model: str | None  # that is to write it, or wrote it
    summary: str = ""  # its beginning, for lists
    read: Read = None  # what a model wrote, of whichever try
    error: str | None = None  # why the last try failed
    tries: int = 0  # calls that were begun: whoever ends one says which
    until: float = 0.0  # of making: when another may try
    usage: Usage = NO_USAGE  # of all calls for it
    made_at: str = ""

    @staticmethod
    def written(debate_id: str, read: Reading, summary: str) -> "ReportRow":
        """A report that a model has written."""
        return ReportRow(
            debate_id, "made", "model", read.model, summary, read,
            tries=read.usage.calls, usage=read.usage, made_at=read.made_at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FollowupRow:
    """A question about a debate that has ended, and who is at it."""

    debate_id: str
    followup: Followup
    attempt: int = 0  # its last call, among the attempts of the debate
    tries: int = 0  # calls that were begun
    until: float = 0.0  # of asking: when another process may try
    owner: str | None = None  # the process that asks
    key: str | None = None  # that it came with
    filed: bool = False  # whether the debate's file shows it
    began: str = ""  # its last call; not kept


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of the report among a debate's files."""

    summary: str
    error: str | None = None  # why there is none


class Store(Protocol):
    """The truth. Each method is one transaction; a method that raises has changed nothing."""

    async def create(
        self, debate: Debate, change: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        """Make a debate or, if `once` is known already, return the one it made.

        Raises ConflictError if the same key came with something else.
        """
        ...

    async def change(
        self, debate_id: str, move: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        """Ask a move for the change, under the debate's lock, and write all of it.

        If `once` is known already, nothing is written, and the debate returned as it is. Raises
        ConflictError if the same key came with something else.
        """
        ...

    async def claim(
        self, debate_id: str, move: Callable[[Debate, int], Change], known: Debate | None = None
    ) -> tuple[Change, list[Turn] | None]:
        """The same, and what was said before: whoever takes a debate has to hear it.

        The move is also told how many calls of other steps were lost with the debate's open ones.
        No turns are returned if the debate still stands as it is `known`: nothing was said since.
        """
        ...

    async def load(self, debate_id: str) -> Debate: ...

    async def find(self, search: Search) -> Found:
        """A page of debates, newest first. What it costs does not grow with their number."""
        ...

    async def lines(self, debates: Sequence[Debate]) -> dict[str, Line]:
        """What lists show of those debates beside them."""
        ...

    async def models(self) -> list[str]:
        """The models that sit or spoke in any debate."""
        ...

    async def label(self, debate_id: str, move: Callable[[Debate], Debate]) -> Debate:
        """Change title, tags and whether it is archived, under the debate's lock."""
        ...

    async def tags(self) -> list[str]: ...

    async def index(self) -> list[str] | None:
        """Add some of what was said since to what can be searched. Returns the debates of which
        lists show more now, or None if nothing was left to add."""
        ...

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]: ...

    async def events(self, debate_id: str, after: int = 0, limit: int = 500) -> list[Event]: ...

    async def last_seq(self, debate_id: str) -> int:
        """The last seq of the log itself, whatever the debate's row says."""
        ...

    async def reached(self, debate_ids: Sequence[str]) -> dict[str, int]:
        """The last seq of each of those debates, as their rows say."""
        ...

    async def logged(self, after: int) -> list[Logged]:
        """What any process added to any debate's log, in the order of commit."""
        ...

    async def last_logged(self) -> int:
        """Where the log of all debates ends now."""
        ...

    async def counts(self) -> dict[str, int]:
        """How many debates there are, by status."""
        ...

    async def ping(self) -> None:
        """Raises StorageError if nothing could be written now."""
        ...

    async def attempts(self, debate_id: str) -> list[dict[str, Any]]: ...

    async def actions(self, debate_id: str) -> list[dict[str, Any]]: ...

    async def records(
        self, words: str, limit: int, hidden: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """The records that contain every word, newest first."""
        ...

    async def hindsight_of(self, debate_id: str) -> Noted | None:
        """What somebody noted of a decision later."""
        ...

    async def hindsights(self) -> list[Noted]: ...

    async def keep_hindsight(self, note: Noted) -> None: ...

    async def forget_hindsight(self, debate_id: str) -> None: ...

    async def keep_link(self, link: Link, token_hash: str) -> None:
        """Raises StateError if the debate has too many already."""
        ...

    async def links(self, debate_id: str) -> list[Link]: ...

    async def link_of(self, token_hash: str) -> Link | None: ...

    async def living_links(self, ids: Sequence[str]) -> set[str]:
        """Those of the links that nobody has revoked."""
        ...

    async def forget_link(self, debate_id: str, link_id: str) -> bool:
        """Returns whether the debate had that link."""
        ...

    async def keep_upload(self, upload: str, source: Source, at: str) -> None:
        """Keep a document that was sent, for a debate that may name it."""
        ...

    async def upload_of(self, upload: str) -> Source | None: ...

    async def sweep_uploads(self, before: str) -> None:
        """Forget uploads from before that time, and the texts that no debate reads."""
        ...

    async def unfinished(self, now: float) -> list[Unfinished]:
        """Debates that somebody should be advancing by now, and those that paused with calls still
        open."""
        ...

    async def unfiled(self) -> list[str]:
        """Debates that have ended and whose files do not show it yet, and those that were deleted
        and whose files may still be there."""
        ...

    async def filed(
        self, debate: Debate, report: ReportRow | None = None, read: Read = None
    ) -> None:
        """Note that the files show a debate as it was then, with what a model had `read` in it;
        and its report, if there is no note of one yet, or if it could not be made before.

        Nothing is noted if more was counted or written of it since: the files are to be made again.
        """
        ...

    async def reports(self, debate_ids: Sequence[str]) -> dict[str, ReportRow]:
        """How the reports of those debates stand, of those that have ended."""
        ...

    async def change_report(
        self,
        debate_id: str,
        move: Callable[[ReportRow | None], ReportRow],
        *,
        refile: bool = False,
    ) -> ReportRow:
        """Change how a report stands, under the debate's lock; `refile`: its files are outdated."""
        ...

    async def wanted_reports(self, now: float) -> list[str]:
        """Debates whose report is to be made, and nobody is at it."""
        ...

    async def ask(
        self,
        debate_id: str,
        make: Callable[[Debate, Sequence[FollowupRow]], FollowupRow],
        once: Once | None = None,
    ) -> tuple[FollowupRow, bool]:
        """Put a question and its first call on record, under the debate's lock; `make` is told
        which were asked before. If `once` is known, returns what came of it. Says whether it is
        new."""
        ...

    async def followups(self, debate_id: str) -> list[FollowupRow]: ...

    async def followups_left(self) -> list[FollowupRow]:
        """Those that are being answered, and those that the files do not show yet."""
        ...

    async def change_followup(
        self,
        debate_id: str,
        number: int,
        move: Callable[[FollowupRow], FollowupRow],
        ended: Ended | None = None,
        *,
        call: bool = False,
    ) -> FollowupRow:
        """Change how a question stands, with the end of a call; `call`: and its next one."""
        ...

    async def followups_filed(self, debate_id: str, numbers: Sequence[int]) -> None: ...

    async def held(self, owner: str) -> dict[str, Held]: ...

    async def delete(
        self, debate_id: str, check: Callable[[Debate], None], at: str, *, record: bool
    ) -> None:
        """Delete all rows of a debate that `check` does not refuse, but its record unless that is
        asked for; and note that its files are to go. Deleted before, it stays so."""
        ...

    async def deleted(self) -> list[tuple[str, str, bool]]:
        """Debates whose files may still be there: since when, and whether their record goes."""
        ...

    async def is_deleted(self, debate_id: str) -> bool: ...

    async def removed(self, debate_id: str) -> None:
        """The files of a deleted debate are gone, and nobody can write them any more."""
        ...

    async def renew(self, owner: str, debate_ids: Sequence[str], until: float) -> None:
        """Keep those leases alive, of those that the owner still has."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one program elsewhere is told, and how that went."""

    id: str  # of the message: the same at every try
    hook: str  # the entry of hooks.toml
    debate_id: str  # "" of a test
    type: str
    body: str  # JSON, as it is signed and sent
    state: Literal["waiting", "delivered", "given_up"] = "waiting"
    tries: int = 0
    status: int | None = None  # of the last answer
    error: str | None = None  # of the last try
    created_at: str = ""
    delivered_at: str | None = None
    next_at: float = 0.0  # seconds since the epoch


class Deliveries(Protocol):
    """What is told to programs elsewhere: each method one transaction."""

    async def collect(self, wanted: Mapping[str, Sequence[str]]) -> int:
        """Put on record what each hook wants to hear of since the last look; says how many entries
        of the log were looked at."""
        ...

    async def add(self, delivery: Delivery) -> None: ...

    async def take(self, now: float, until: float) -> list[Delivery]:
        """Those that are due, each for one process, which counts as a try."""
        ...

    async def note(self, delivery: Delivery) -> None:
        """How that try went."""
        ...

    async def again(self, id_: str, until: float) -> Delivery:
        """Take it for one process, to be tried anew, whatever became of it."""
        ...

    async def get(self, id_: str) -> Delivery: ...

    async def newest(self, limit: int) -> list[Delivery]: ...


class StationStore(Protocol):
    """Agents, stations and what they air: the same truth, and each method one transaction."""

    async def agents(self, ids: Sequence[str] | None = None) -> list[Agent]:
        """Those of them that are there, by name; or all."""
        ...

    async def keep_agents(
        self, ids: Sequence[str], change: Callable[[Mapping[str, Agent]], Sequence[Agent]]
    ) -> list[Agent]:
        """Give the agents of those ids to `change`, and keep what it makes of them."""
        ...

    async def delete_agent(self, agent_id: str) -> None:
        """Also out of every station's pool."""
        ...

    async def stations(self, ids: Sequence[str] | None = None) -> list[Station]:
        """Those of them that are there, by name; or all."""
        ...

    async def keep_stations(
        self, ids: Sequence[str], change: Callable[[Mapping[str, Station]], Sequence[Station]]
    ) -> list[Station]:
        """Give the stations of those ids to `change`, under their locks, and keep what it makes."""
        ...

    async def delete_station(
        self, station_id: str, move: Callable[[Debate], Change]
    ) -> list[Change]:
        """With `move` for each debate that waits on it; debates stay."""
        ...

    async def due(self, now: float) -> list[str]:
        """Stations on which there is something to do."""
        ...

    async def board(self, station_id: str) -> Board: ...

    async def on(
        self, station_id: str, move: Callable[[Board], StationChange]
    ) -> tuple[StationChange, list[Change]]:
        """Ask a move for the change, under the station's lock, and write all of it."""
        ...

    async def conversation(self, debate_id: str) -> Conversation: ...

    async def aired(self, station_id: str, limit: int) -> list[Conversation]:
        """What had the air, newest first."""
        ...

    async def use(self, key: str, debate_id: str, at: str) -> None:
        """Use a key, once: raises ConflictError if it was used before."""
        ...


GONE_SECONDS = 600.0
"""How long after a debate was deleted files of it may still turn up."""


class Bundles(Protocol):
    """Debates as zips of their folders."""

    async def pack(self, debate: Debate) -> bytes: ...

    async def bring(self, data: bytes, at: str) -> Debate:
        """The debate of a zip, once its files and rows are here: all or nothing. Raises InputError
        if it is not one, and StateError if its id is taken."""
        ...


class Records(Protocol):
    """The files beside the database."""

    def file(
        self,
        debate: Debate,
        turns: Sequence[Turn],
        events: Sequence[Event] = (),
        read: Read = None,
        *,
        ahead: bool = False,
    ) -> Filed | None:
        """Write all files of a debate, each whole or not at all. Blocking.

        `events` is what the log holds beside the turns. A report that cannot be made is left out.
        Returns None if somebody filed what came later. `ahead` of its commit, a decision is filed
        only if there is none: of two workers, the first one's stands.
        """
        ...

    def folder(self, debate_id: str) -> str: ...

    def keep_followups(self, debate_id: str, asked: Sequence[Followup]) -> None:
        """Write what was asked about a debate beside its files, which stay. Blocking."""
        ...

    def remove(self, debate_id: str, *, record: bool) -> None:
        """Remove all files of a debate, and its record if asked for. Blocking."""
        ...

    def last_seq(self, debate_id: str) -> int:
        """Up to which entry of the log the files go; 0 if there are none. Blocking."""
        ...

    def reading(self, debate: Debate) -> Reading | None:
        """What a model wrote of the debate as it stands, if its files hold that. Blocking."""
        ...

    def ended_at(self, debate: Debate) -> str | None:
        """When the debate was decided by its files, if they go that one entry further than the
        database. Blocking."""
        ...

    def check(self) -> None:
        """Raises StorageError if the files of a debate could not be written now. Blocking."""
        ...


Listener = Callable[[Event | Delta], None]
"""Takes what is said, at once and without waiting; whoever needs time puts it aside."""

Forget = Callable[[], None]
"""Ends what it was given for. Called twice, it does nothing more."""


class Bus(Protocol):
    """Tells listeners at once what the log will tell them anyway; and the deltas it will not."""

    def publish(self, event: Event | Delta) -> None:
        """Said here: tell those who listen in this process, and those in others."""
        ...

    def relay(self, event: Event | Delta) -> None:
        """Said in another process: tell those who listen in this one."""
        ...

    def touch(self, debate_id: str) -> None:
        """Something of that debate was committed: tell those who watch all of them."""
        ...

    def listen(self, debate_id: str, listener: Listener) -> Forget: ...

    def watch(self, watcher: Callable[[str], None]) -> Forget:
        """Hear of every debate that changed, by its id."""
        ...

    def listened(self, debate_id: str, *, here: bool = False) -> bool:
        """Whether what is said of that debate would reach anybody; `here`: in this process."""
        ...

    def listening(self) -> list[str]:
        """The debates that somebody listens to in this process."""
        ...

    def begin(self, speech: Speech) -> None:
        """Somebody has begun to speak: whoever joins hears it from its beginning."""
        ...

    def cease(self, speech: Speech) -> None: ...

    def speeches(self, debate_id: str) -> list[Speech]:
        """What is being said right now."""
        ...

    def on_hint(self, hint: Callable[[Mapping[str, int]], None]) -> None:
        """Whom to tell when another process says that it has committed something.

        The hint has the debates and the first seq of what is new in each, as far as they fit.
        """
        ...

    def nudge(self, debate_id: str) -> None:
        """Something is wanted of that debate: whoever has it in hand elsewhere should look now."""
        ...

    def on_nudge(self, look: Callable[[str], None]) -> None:
        """Whom to tell when another process wants something of a debate."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Dispatcher(Protocol):
    """Gets somebody to advance a debate. It may do so twice, late or never: the store decides."""

    @property
    def here(self) -> bool:
        """Whether it is this process that advances what it dispatches."""
        ...

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None: ...

    def dispatch(self, debate: Debate) -> None:
        """Have the wave at the debate's cursor spoken."""
        ...

    async def waiting(self) -> int | None:
        """How many waves wait for a worker; None if that cannot be known."""
        ...

    async def idle(self, debate_id: str) -> None:
        """Wait until nothing of this debate is under way here; raises what ended it, if so."""
        ...

    async def close(self) -> None: ...


class Meter(Protocol):
    """Counts what happens, for whoever operates it."""

    def called(
        self, model: str, outcome: str, seconds: float, first_token: float | None, usage: Usage
    ) -> None: ...

    def committed(self, seconds: float) -> None: ...

    def turn(self, format: str, status: str) -> None: ...  # noqa: A002  the word of the contract


class Clock(Protocol):
    """Seconds since the epoch."""

    def now(self) -> float: ...


@dataclass(frozen=True, slots=True)
class FormatProblem:
    """A file of the user's own that is not a format, and why."""

    file: str  # its name in the folder
    detail: str


class Formats(Protocol):
    """Which formats there are."""

    @property
    def disabled(self) -> tuple[str, ...]:
        """Those that are switched off: their debates are neither run nor seen here."""
        ...

    def enabled(self, name: str) -> bool: ...

    def get(self, name: str) -> Format: ...

    def all(self) -> list[Format]:
        """Those that can be used; of the others `problems` says why not."""
        ...

    def problems(self) -> list[FormatProblem]: ...


class Library(Protocol[Noun]):
    """Agents or stations: what is kept under an id of its own."""

    async def create(self, asked: Mapping[str, Any], /) -> Noun:
        """Make one. Its id is given, or follows from its name."""
        ...

    async def get(self, id_: str, /) -> Noun: ...

    async def all(self) -> list[Noun]:
        """All of them, by name."""
        ...

    async def change(self, id_: str, asked: Mapping[str, Any], /) -> Noun:
        """Change what is given, and leave the rest."""
        ...

    async def delete(self, id_: str, /) -> None: ...

    async def bring(self, text: str, /) -> Brought:
        """Import TOML: what is new is made, an id that exists is changed; all of it or nothing."""
        ...

    async def take(self, ids: Sequence[str] = (), /) -> str:
        """Export those, or all, as TOML."""
        ...


class Stations(Library[Station], Protocol):
    """The stations, and what they air."""

    async def schedule(
        self,
        station_id: str,
        *,
        motion: str | None = None,
        agents: Sequence[str] = (),
        at: str | None = None,
    ) -> Conversation:
        """Add a conversation. What is not given comes from the pool, and airs when it can."""
        ...

    async def air(self, station_id: str) -> Conversation:
        """Air what waits first, or the pool's next; returns what is on air already, if any."""
        ...

    async def run(self, conversation_id: str) -> Conversation:
        """Air this one now, or next if another is on air."""
        ...

    async def cancel(self, conversation_id: str) -> Conversation:
        """Take a conversation that waits off the programme."""
        ...

    async def conversation(self, conversation_id: str) -> Conversation: ...

    async def reorder(self, station_id: str, ids: Sequence[str]) -> list[Conversation]:
        """Give what waits another order; the times stay."""
        ...

    async def programme(self, station_id: str, past: int = 20) -> Programme: ...


class Links(Protocol):
    """Links to debates, for guests."""

    async def make(self, debate_id: str, *, seat: str | None = None) -> tuple[Link, str]:
        """A link to a debate, and its token, which is shown this once. Whoever holds the token can
        read the debate and, with a `seat`, speak for that human seat; and nothing else."""
        ...

    async def of(self, debate_id: str) -> list[Link]:
        """The links of a debate that are not revoked, oldest first."""
        ...

    async def revoke(self, debate_id: str, link_id: str) -> None:
        """End a link: whoever holds it is refused from now on. Raises NotFoundError if the debate
        has no such link."""
        ...


class Moot(Protocol):
    """The single entry point: every verb and every read, of this home or of a server.

    `engine.service.Service` and `client.remote.Remote` pass one contract suite
    (`testing.moot_contract`): the same results, and errors of the same class, code and field.
    """

    @property
    def agents(self) -> Library[Agent]: ...

    @property
    def stations(self) -> Stations: ...

    @property
    def links(self) -> Links: ...

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
        """Make a debate and, unless told otherwise, start it. Bad input raises InputError.

        With the depth `auto`, two seats answer alone, and the debate is only held if they do not
        agree; or to check them, in a share `audit` of the debates.

        A source has a `title` and one of `text`, `path` (a file or a folder), `url` and `upload`.

        With `once`, a request that comes again returns the debate that it made before.
        """
        ...

    async def council(self, asked: Mapping[str, Any], *, once: Once | None = None) -> Debate:
        """Start a council by its own request: `problem`, `output_type` and the rest."""
        ...

    async def plan(self, asked: Mapping[str, Any]) -> Plan:
        """What would happen if this were asked of `create`: the same errors, and nothing made."""
        ...

    async def plan_of(self, debate_id: str) -> Plan:
        """The plan of a debate from its beginning, wherever it stands."""
        ...

    async def start(self, debate_id: str) -> Debate:
        """Start a debate that was made to wait; one of a station airs as soon as it can."""
        ...

    async def stop(self, debate_id: str) -> Debate:
        """Keep the step in flight, then stop."""
        ...

    async def pause(self, debate_id: str, *, at_once: bool = False) -> Debate:
        """Keep the step in flight, then pause; `at_once` cancels that step instead."""
        ...

    async def resume(self, debate_id: str) -> Debate:
        """Continue from the cursor."""
        ...

    async def end(self, debate_id: str) -> Debate:
        """Cancel the step in flight, and go to the closing summary."""
        ...

    async def retry(
        self, debate_id: str, model: str | None = None, *, max_turn_seconds: float | None = None
    ) -> Debate:
        """Restart the speaker that failed, with another model or other limits if they are given.
        The limit is the debate's from then on."""
        ...

    async def skip(self, debate_id: str) -> Debate:
        """Continue without the turn that failed, or that a person has not spoken."""
        ...

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
        """Speak, as a person. If the debate is at a human seat, that is the seat's turn; otherwise
        it is a note, which everyone hears who speaks after it.

        A seat that is `asked` for fields, as a juror is, gives them as its `answer`. With `seat`,
        the words are for that seat alone, and with `step`, as `asked` names it, for that step of it
        alone: StateError if it is not its turn. A `note` is never a seat's turn. With `once`, words
        that come again are said once.
        """
        ...

    async def asked(self, debate_id: str, *, seat: str | None = None) -> Asked | None:
        """What a human seat is asked for now: that one or, without it, the first that is. None if
        the debate asks no person for anything."""
        ...

    async def rejudge(
        self,
        debate_id: str,
        *,
        jury: Mapping[str, Any] | None = None,
        once: Once | None = None,
    ) -> Debate:
        """Have a jury judge a debate that has ended, with 2 calls for each juror: its `size` and
        `models`. Returns the new debate in which it votes; the judged one stays as it is."""
        ...

    async def fork(
        self,
        debate_id: str,
        after: int,
        *,
        changes: Mapping[str, Any] | None = None,
        once: Once | None = None,
    ) -> Debate:
        """Begin a new debate with the turns of this one up to the turn whose seq is `after`. It
        goes on from there with `changes`: `participants` by their `id` and `host` (model, bio,
        effort), `options`, `limits`, `jury`, and `sources` beside those that there are."""
        ...

    async def ask(
        self,
        debate_id: str,
        question: str,
        *,
        model: str | None = None,
        once: Once | None = None,
        say: Say = lambda _: None,
    ) -> Followup:
        """Ask about a debate that has ended. The answer comes from its transcript and sources, with
        what it cites checked, and is kept beside the debate, which stays as it is. `model` answers,
        otherwise one of the debate's own.

        If the model fails, the answer is `failed` and says why. With `once`, a question that comes
        again is answered once. `say` hears the answer as it is written, where that is possible.
        """
        ...

    async def followups(self, debate_id: str) -> list[Followup]:
        """What was asked about a debate after its end, and what was answered."""
        ...

    async def rerun(self, debate_id: str, *, once: Once | None = None) -> Debate:
        """Begin a new debate with the same request, by the rules that this one keeps."""
        ...

    async def delete(self, debate_id: str, *, record: bool = False) -> None:
        """Delete a debate that is paused or has ended: its rows and files. The record that was
        written back stays, unless `record`. Asked twice, it does nothing more."""
        ...

    async def get(self, debate_id: str) -> Debate: ...

    async def find(self, search: Search | None = None) -> Found:
        """A page of debates, newest first, as lists show them; `next` is `before` of the next."""
        ...

    async def resolve(self, given: str) -> str:
        """The id of the debate that is meant: by its id, the last six characters or the beginning
        of it, or by `last`, the newest. Raises InputError with the candidates if it is several."""
        if ids.is_id(given):
            return given
        newest = given == ids.LAST
        search = Search(limit=1) if newest else Search(id=ids.check_part(given), archived=None)
        page = await self.find(search)
        found = page.debates
        while page.next is not None and len(found) < (1 if newest else 2):
            page = await self.find(replace(search, before=page.next))
            found = [*found, *page.debates]
        return ids.meant(given, {debate.id: debate.motion for debate in found})

    async def models(self) -> list[str]:
        """The models that sit or spoke in any debate, for `Search.model`."""
        ...

    async def label(
        self,
        debate_id: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> Debate:
        """Give a debate a title or tags, or put it away: lists leave out what is archived. What is
        not given stays. The debate itself and its files stay as they are."""
        ...

    async def tags(self) -> list[str]:
        """The tags of all debates, for `Search.tags`."""
        ...

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]: ...

    async def upload(
        self, name: str, data: bytes, *, title: str = "", allow_secrets: bool = False
    ) -> tuple[str, Source]:
        """Send a document. Returns what `sources` of a debate names as `upload`, and what was read;
        it is forgotten a day later unless a debate reads it."""
        ...

    async def sources(self, debate_id: str) -> tuple[Source, ...]:
        """The documents that a debate has read, with their texts."""
        ...

    async def packet(self, debate_id: str) -> dict[str, Any]:
        """The decision packet. Raises NotFoundError if the format makes none, and StateError if
        the debate has not decided."""
        ...

    async def verdict(self, debate_id: str) -> dict[str, Any]:
        """The outcome: what `verdict.json` holds. Raises NotFoundError if there is none (yet)."""
        ...

    async def note_outcome(self, debate_id: str, hindsight: Hindsight | None) -> Hindsight | None:
        """Note what came of a decision: right, wrong or mixed; None takes that back. The debate and
        its files stay as they are. Raises StateError if nothing was decided."""
        ...

    async def noted_outcome(self, debate_id: str) -> Hindsight | None:
        """What was noted of a decision, if anything was."""
        ...

    async def calibration(self) -> Calibration:
        """How right the sure were: a score for each model and each jury, once enough was noted."""
        ...

    async def report(self, debate_id: str) -> dict[str, Any]:
        """The report, of a debate that has not ended so far."""
        ...

    async def remake_report(self, debate_id: str, model: str | None = None) -> dict[str, Any]:
        """Make the report of a debate that has ended again, and its files: by this model, or by
        the one that is set, or by extraction."""
        ...

    async def export(self, debate_id: str, kind: Kind) -> str:
        """The debate as one document to keep."""
        ...

    async def export_folder(self, debate_id: str) -> bytes:
        """The debate's whole folder as a zip, for `import_folder`."""
        ...

    async def import_folder(self, data: bytes) -> Debate:
        """The debate of such a zip, under its own id: its files to the byte, and its rows. Raises
        InputError if anything in the zip is not as it was written, and StateError if the id is
        taken."""
        ...

    async def answer(self, debate_id: str, link: str = "") -> str:
        """What the debate comes to, as Markdown: its outcome or, if it has none, its report."""
        debate, turns = await self.get(debate_id), await self.turns(debate_id)
        verdict = await _if_any(self.verdict(debate_id))
        packet = await _if_any(self.packet(debate_id)) if verdict else None
        report = await self.report(debate_id)
        return answer(debate, turns, verdict, packet, report, link)

    async def replay(self, debate_id: str) -> dict[str, Any]:
        """The debate from its files alone, and where these and the database disagree."""
        ...

    async def records(self, words: str = "", limit: int = 50) -> list[dict[str, Any]]:
        """The records that contain every word, newest first."""
        ...

    async def formats(self) -> list[Format]: ...

    async def format_problems(self) -> list[FormatProblem]:
        """The user's own files that are not formats, and why."""
        ...

    async def providers(self) -> list[ProviderStatus]:
        """Which providers work there, and what to set for those that do not."""
        ...

    async def offers(self, provider: str | None = None) -> list[Offers]:
        """The models of each provider that is set up there, or of one of all that there are: as the
        provider tells them within a few seconds, else as moot knows them."""
        ...

    async def default_models(self) -> tuple[str, ...]:
        """What seats without a model take, in turn."""
        ...

    async def preferences(self) -> Preferences:
        """The models and limits of debates that name none, as the settings have them."""
        ...

    async def prefer(self, given: Mapping[str, Any]) -> Preferences:
        """Replace them: `models` and `limits`. Raises InputError, which names the field."""
        ...

    async def templates(self) -> list[Template]:
        """The saved set-ups, by name."""
        ...

    async def template(self, template_id: str) -> Template: ...

    async def keep_template(self, template_id: str, asked: Mapping[str, Any]) -> Template:
        """Save what a debate is asked for with, under a name, in the place of what had it. It is
        checked like a debate's; the motion may be left out."""
        ...

    async def delete_template(self, template_id: str) -> None: ...

    def follow(self, debate_id: str, after: int = 0) -> AsyncGenerator[Event | Delta]:
        """Every event with seq > after, in order, none missed or doubled; deltas in between.

        It ends with the last event of a debate that is over or paused.
        """
        ...

    async def wait(self, debate_id: str) -> Debate:
        """Wait until the debate has ended, is paused or waits for a person, whoever runs it.

        If this moot is closed meanwhile, it returns the debate as it stands.
        """
        ...

    def folder(self, debate_id: str) -> str:
        """Where its files are; on a server, its URL."""
        ...

    def left_behind(self, debate: Debate) -> bool:
        """Whether the process that ran it is gone, and nobody else will continue it."""
        ...

    def recover(self, found: Callable[[str], None]) -> None:
        """Continue what a dead process left, and tell `found` of each; a server does by itself."""
        ...

    async def close(self) -> None:
        """Let go of every debate; those under way continue at the next start, or on the server."""
        ...


async def _if_any(document: Awaitable[T]) -> T | None:
    """The document, or None if the debate leaves none."""
    try:
        return await document
    except (NotFoundError, StateError):
        return None
