"""What the tools take and return; their schemas are made from these."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

Id = Annotated[
    str,
    Field(
        description="The debate's id, its last six characters, or `last` for the newest.",
        examples=["debate_20261118_181500_x7k2ab"],
        max_length=100,
    ),
]


_STRICT = ConfigDict(extra="forbid")


class Seat(TypedDict, total=False):
    """Who speaks."""

    __pydantic_config__ = _STRICT  # pyright: ignore[reportGeneralTypeIssues]  pydantic reads it

    name: str
    model: Annotated[str, Field(description="`provider:name`, or a provider alone.")]
    stance: Annotated[str, Field(description="pro, con or neutral.")]
    role: str
    bio: str


class Document(TypedDict, total=False):
    """What the speakers read and cite."""

    __pydantic_config__ = _STRICT  # pyright: ignore[reportGeneralTypeIssues]  pydantic reads it

    title: str
    text: Annotated[str, Field(description="The document itself.")]
    url: Annotated[str, Field(description="Or its address, if this moot fetches any.")]
    upload: Annotated[str, Field(description="Or what `POST /sources` answered.")]


class Standing(TypedDict):
    """A debate as it stands."""

    id: str
    motion: str
    format: str
    status: Annotated[
        str, Field(description="queued, running, paused, ending, completed, stopped or failed.")
    ]
    rests: Annotated[bool, Field(description="Whether it has ended, or is paused.")]
    waiting_for: Annotated[
        str | None, Field(description="The human seat whose words it waits for, if any.")
    ]
    turns_done: int
    turns_total: Annotated[int, Field(description="As far as can be known; 0: not known.")]
    outcome: Annotated[
        str | None,
        Field(description="decided, contested, deadlock, needs_facts or no_verdict, once known."),
    ]
    selected: Annotated[str | None, Field(description="The option that was selected, if any.")]
    degraded: bool
    problem: Annotated[str | None, Field(description="What went wrong, and what helps.")]
    warnings: list[str]
    where: Annotated[str, Field(description="Its page, or the folder with its files.")]


class Waited(Standing):
    """A debate after a while, and what it came to if that is known."""

    answer: Annotated[
        str | None, Field(description="What it came to, as Markdown; null while it goes on.")
    ]
    asked: Annotated[
        dict[str, Any] | None,
        Field(description="What the human seat is asked for, and its `fields` if it has any."),
    ]
    next: Annotated[str, Field(description="What to do now.")]


class Answered(TypedDict):
    """A question about a debate that has ended, and what was answered."""

    number: Annotated[int, Field(description="1, 2, 3 … in its debate.")]
    status: Annotated[str, Field(description="answered, failed, or asking: ask the same again.")]
    answer: Annotated[str, Field(description="With [12] for turn 12, [S1.14] for a passage.")]
    model: str
    verified: Annotated[int, Field(description="Citations and quotes that hold.")]
    failed: Annotated[int, Field(description="And those that do not, which are marked.")]
    problem: Annotated[str | None, Field(description="Why there is no answer.")]


class Result(Standing):
    """What a debate came to."""

    answer: Annotated[str, Field(description="As Markdown: outcome, reasons, dissent, citations.")]
    verdict: Annotated[dict[str, Any] | None, Field(description="`verdict.json`, if it has one.")]
    packet: Annotated[dict[str, Any] | None, Field(description="`final-packet.json` of a council.")]


class Listed(TypedDict):
    """A debate in a list."""

    id: str
    motion: str
    format: str
    status: str
    outcome: str | None
    result: Annotated[str, Field(description="What came of it, in one line.")]
    created_at: str


class Debates(TypedDict):
    debates: list[Listed]


class Record(TypedDict):
    """A note that a council wrote back."""

    title: str
    type: str
    debate: str
    path: str
    created_at: str
    uri: Annotated[str, Field(description="The resource that holds all of it.")]


class Records(TypedDict):
    records: list[Record]


class CouncilRun(TypedDict):
    """A council that was begun by its own request."""

    runId: str
    status: str
    stopReason: str | None
    degraded: bool
    packet: Annotated[dict[str, Any] | None, Field(description="Null while it goes on.")]
    warnings: list[str]
    failure: str | None
    next: Annotated[str, Field(description="What to do now.")]


class Replayed(TypedDict):
    """A debate from its files alone."""

    replay: dict[str, Any]
