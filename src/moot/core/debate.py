"""The nouns of a debate, frozen: what it is, who speaks, what was said."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from moot.core.answers import unset
from moot.core.effort import BETWEEN, bare, joined, known
from moot.core.format import Effort, Format
from moot.core.sources import HiddenFrom, Source
from moot.core.status import Status, StopReason

Stance = Literal["pro", "con", "neutral"]
Kind = Literal["speech", "cue", "summary", "verdict", "note"]
TurnStatus = Literal["ok", "failed"]
OnFailure = Literal["pause", "degrade"]
Wanted = Literal["stop", "pause"]
OutcomeKind = Literal["decided", "contested", "deadlock", "needs_facts", "no_verdict"]
HUMAN = "human"
"""In place of a model: a person speaks for this seat, and the debate waits for their words."""
PERSON = "@person"
"""The actor of a note. It cannot be the id of a seat."""
UNWRITTEN: Any = Field(exclude_if=unset)
"""Of a field that came later: while it is not set it is not written, as in files from before."""


@dataclass(frozen=True, slots=True)
class Participant:
    """Who speaks. `model` is `provider:name`, or a provider alone for its default model."""

    id: str
    name: str
    _: KW_ONLY
    role: str = "participant"
    stance: Stance = "neutral"
    bio: str = ""
    model: str
    unpriced: Annotated[tuple[str, ...], UNWRITTEN] = ()
    """The models that speak for it, or did, and whose price nobody published."""
    local: Annotated[bool, UNWRITTEN] = False
    """Whether its model runs on this machine, if its provider's name does not say so."""
    effort: Annotated[Effort | None, UNWRITTEN] = None
    """How hard its model thinks, if the seat says so: a stage's own effort goes before it."""
    instead: Annotated[tuple[str, ...], UNWRITTEN] = ()
    """Who speaks if its model cannot, each with its own effort: tried in this order, as its model
    is."""

    @property
    def voice(self) -> str:
        """Its model and effort, and its further choices, as people write them."""
        return BETWEEN.join((joined(self.model, self.effort), *self.instead))

    @property
    def choices(self) -> tuple[str, ...]:
        """All models that may speak for it, the first choice first."""
        return (self.model, *map(bare, self.instead))

    def effort_of(self, choice: int, asked: Effort | None) -> Effort | None:
        """How hard one of its choices thinks in a step for which `asked` is what the first one is
        asked. The effort of a seat is that of its first choice."""
        if not choice:
            return asked
        own = known(self.instead[choice - 1])[1]
        return own or (None if asked == self.effort else asked)

    @property
    def is_human(self) -> bool:
        return self.model == HUMAN


Reading = Literal["alone", "spoken", "swapped"]
"""How a juror comes to a ballot: before it has heard anything, or after the speeches, in one order
or the other."""


@dataclass(frozen=True, slots=True)
class Jury:
    """Who decides from outside the cast, and how often each of them votes."""

    seats: tuple[Participant, ...]
    swap: bool = True
    baseline: bool = True

    @property
    def readings(self) -> tuple[Reading, ...]:
        first: tuple[Reading, ...] = ("alone", "spoken") if self.baseline else ("spoken",)
        return (*first, "swapped") if self.swap else first


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a debate comes from that begins with the log of another one."""

    id: str
    seq: int  # the last entry of the log that both have


@dataclass(frozen=True, slots=True)
class Limits:
    """What one turn and the whole debate may take."""

    max_turns: int
    max_turn_seconds: float = 35.0
    max_turn_tokens: int = 900
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None
    allow_unpriced: Annotated[bool, UNWRITTEN] = False
    """Whether a model whose price is not known may speak under max_cost_usd."""
    raised: Annotated[bool, UNWRITTEN] = False
    """Whether a person raised max_turn_seconds above what a stage allows: it holds there, too."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost, failed and cancelled ones too; `estimated`: a part was not metered."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    calls: int = 0
    estimated: bool = False
    thinking_tokens: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """Those of the output that were thought and not spoken, as far as the provider tells."""

    def with_calls(self, calls: int) -> "Usage":
        return Usage(
            self.input_tokens,
            self.output_tokens,
            self.cost_usd,
            calls,
            self.estimated,
            self.thinking_tokens,
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
            self.calls + other.calls,
            self.estimated or other.estimated,
            self.thinking_tokens + other.thinking_tokens,
        )


NO_USAGE = Usage()


StepKey = tuple[int, str, str | None]
"""What is unique within a debate: round, actor and, of a cue, its target."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a step so far, none of which is a turn."""

    calls: int = 0  # that failed, of the model that is tried now
    choice: int = 0  # which of its seat's models that is: 0 is the first choice


NOT_TRIED = Tried()


@dataclass(frozen=True, slots=True)
class Cursor:
    """The wave that comes next, by its first step; all None once there is nothing more to ask.

    `next_target` tells the host's cues of one round apart. `done` has a bit set for each step of
    the wave whose turn is committed, so that a crash half-way through a wave repeats none of it.
    """

    next_round: int | None = None
    next_stage: str | None = None
    next_actor: str | None = None
    next_target: str | None = None
    done: Annotated[int, Field(exclude=True)] = 0

    @property
    def name(self) -> str:
        """This place in the format, in one word: what a task is queued for."""
        target = f">{self.next_target}" if self.next_target else ""
        return f"{self.next_round}.{self.next_stage}.{self.next_actor}{target}.{self.done}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a debate is paused, for the person who can mend it."""

    code: str
    message: str  # the friendly sentence
    actor: str
    model: str
    attempts: int
    at: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One committed utterance."""

    seq: int  # of its event in the log
    round: int
    stage: str
    actor: str
    name: str
    kind: Kind
    target: str | None
    instruction: str | None  # the system message that a cue was spoken to
    text: str
    data: Mapping[str, Any] | None  # the structured answer, where one was asked for
    status: TurnStatus
    error_code: str | None
    model: str
    usage: Usage
    started_at: str
    committed_at: str
    number: int = 0  # what it is cited by: 1, 2, 3 … in the order of commit

    def __post_init__(self) -> None:
        if not self.number:  # rows and files from before have none: turns were cited by their seq
            object.__setattr__(self, "number", self.seq)


@dataclass(frozen=True, slots=True)
class Phase:
    """A state of the council's machine, when it was left, and how."""

    state: str
    at: str
    outcome: Literal["ok", "degraded", "failed", "skipped"]
    """skipped: it was left out, or the rest of it: the budget had no room, or two seats agreed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What lists and searches show of a decision; the packet has the rest."""

    consensus_score: float
    confidence_score: float
    selected_option: str
    outcome: Annotated[OutcomeKind | None, UNWRITTEN] = None  # None before edition 2


@dataclass(frozen=True, slots=True)
class Writing:
    """What the report of a debate took, if a model was called for it."""

    usage: Usage  # of all those calls
    unpriced: tuple[str, ...] = ()  # the models among them that nobody published a price for
    local: bool = False  # whether they ran on this machine


@dataclass(frozen=True)
class Debate:
    """One run. Times are ISO 8601 in UTC."""

    id: str
    motion: str
    rules: Format  # the format as it was when the debate began
    participants: tuple[Participant, ...]
    host: Participant | None
    options: Mapping[str, int]
    limits: Limits
    on_failure: OnFailure
    status: Status
    cursor: Cursor
    created_at: str
    updated_at: str
    brief: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what a council is asked for
    jury: Jury | None = None  # if one is to vote; a small budget may make it smaller
    forked_from: Fork | None = None  # if its log begins with another debate's
    sources: tuple[Source, ...] = ()  # the documents that it is about
    hide_sources_from: tuple[HiddenFrom, ...] = ()  # who decides without having read them
    received: Mapping[str, Any] | None = None  # the request as it came, if it had a form of its own
    phases: tuple[Phase, ...] = ()  # the states that a council has been through
    outcome: Decision | None = None  # what was decided, once it is
    degraded: bool = False
    warnings: tuple[str, ...] = ()
    stop_reason: StopReason | None = None
    stop_requested_at: str | None = None
    wanted: Wanted | None = None  # what happens once the step in flight is kept
    failure: Failure | None = None
    round: int | None = None  # where the last committed turn stands; None before the first
    stage: str | None = None
    turn_count: int = 0  # how many are committed
    total: int = 0  # how many there will be, as far as can be known
    last_seq: int = 0
    fence: int = 0  # grows with every claim; a writer with an older one is refused
    lease_owner: str | None = None
    lease_until: float = 0.0  # seconds since the epoch
    open_calls: int = 0  # attempts of this fence that have not ended
    losses: int = 0  # workers lost in the wave that comes next, since its last turn
    deaths: int = 0  # those of them that were speaking nothing else
    stalls: int = 0  # times that it was advanced and came no further, since its last turn
    tries: tuple[tuple[StepKey, Tried], ...] = ()  # of the steps of that wave whose calls failed
    not_before: float = 0.0  # seconds since the epoch; until then it waits to try again
    waiting_for: str | None = None  # the human seat whose words are all that it waits for
    files_seq: int = 0  # the last seq that the files on disk show; 0 once they are outdated
    title: str = ""  # what people call it. This and what follows is in no file of it
    tags: tuple[str, ...] = ()
    archived: bool = False  # lists leave it out unless they are asked for it
    writing: Writing | None = None  # of its report; only of a debate that is shown
    usage: Usage = NO_USAGE  # of its own calls, also those that failed
    started_at: str | None = None
    ended_at: str | None = None

    def but(self, **changes: Any) -> "Debate":
        """The same debate with some fields changed: `dataclasses.replace`, eight times as fast."""
        changed = object.__new__(Debate)
        changed.__dict__.update(self.__dict__)
        changed.__dict__.update(changes)
        return changed

    @property
    def format(self) -> str:
        return self.rules.name

    @property
    def spent(self) -> Usage:
        """What all calls took: its own, and those for its report."""
        return self.usage + self.writing.usage if self.writing else self.usage

    @property
    def seats(self) -> tuple[Participant, ...]:
        """Everyone who may speak, the host first."""
        return (self.host, *self.participants) if self.host else self.participants

    @property
    def everybody(self) -> tuple[Participant, ...]:
        """All seats, the jury's too."""
        return (*self.seats, *self.jury.seats) if self.jury else self.seats

    @property
    def people(self) -> tuple[str, ...]:
        """The ids of the seats that people speak for."""
        return tuple(seat.id for seat in self.everybody if seat.is_human)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of all seats, the jury's too, each once."""
        return tuple(dict.fromkeys(seat.model for seat in self.everybody))

    def seat(self, participant_id: str) -> Participant:
        for seat in self.everybody:
            if seat.id == participant_id:
                return seat
        raise KeyError(participant_id)

    def tried(self, key: StepKey) -> Tried:
        """What came of a step of the next wave so far."""
        return next((tried for step, tried in self.tries if step == key), NOT_TRIED)

    def effort(self, key: StepKey, asked: Effort | None) -> Effort | None:
        """How hard that model thinks in a step, for which `asked` is what the first is asked."""
        return self.seat(key[1]).effort_of(self.tried(key).choice, asked)

    def voice(self, key: StepKey) -> str:
        """The model that speaks a step now: of its seat's choices, the one that is being tried."""
        choices = self.seat(key[1]).choices
        return choices[min(self.tried(key).choice, len(choices) - 1)]
