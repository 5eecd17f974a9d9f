"""What `moot run`, `moot council`, `moot say`, `moot rejudge` and `moot replay` do, for a Python
program."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import dataclass
from inspect import getdoc, signature
from pathlib import Path
from typing import Any, ParamSpec

from moot.bootstrap import load_settings, open_service, replay
from moot.bridge import iterate, wait_for
from moot.core.debate import Debate, Turn
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.followups import Followup
from moot.core.seating import as_jury, as_role, as_seat, as_source, seats, with_model
from moot.core.status import Status
from moot.engine.service import Service
from moot.errors import MootError, StateError
from moot.outcome.result import packet_of, verdict_of
from moot.ports.model_call import Speaker
from moot.render import notebook
from moot.settings import Settings
from moot.wire import codec

P = ParamSpec("P")
Seat = str | Mapping[str, Any]
"""Who speaks: a model ("claude"), or its fields ({"name": "Ada", "model": "claude"})."""
Jury = int | Mapping[str, Any]
"""How many jurors (3), or more of them ({"size": 3, "models": ["gemini"]})."""


Document = str | Path | Mapping[str, Any]
"""What a debate reads: a file, a folder or an address, or its fields ({"title": …, "text": …})."""


@dataclass(frozen=True, slots=True, repr=False)
class Finished:
    """A debate that has come to its end, to a pause, or to a human seat (`debate.waiting_for`),
    with all that was said."""

    debate: Debate
    turns: tuple[Turn, ...]
    folder: Path

    @property
    def id(self) -> str:
        return self.debate.id

    @property
    def motion(self) -> str:
        return self.debate.motion

    @property
    def status(self) -> Status:
        return self.debate.status

    @property
    def verdict(self) -> dict[str, Any] | None:
        """The outcome, as `verdict.json` holds it; None if the debate came to none."""
        return verdict_of(self.debate, self.turns)

    @property
    def packet(self) -> dict[str, Any] | None:
        """The decision, as `final-packet.json` holds it; None if the debate made none."""
        made = self.debate.rules.result
        return packet_of(self.debate, self.turns) if made and made.packet else None

    def __repr__(self) -> str:
        debate, count = self.debate, len(self.turns)
        came_to = f", {debate.outcome.outcome}" if debate.outcome else ""
        said = f"{count} turn{'s' * (count != 1)}"
        return f"<moot {debate.format} {debate.id}: {debate.status}{came_to}, {said}>"

    def _repr_html_(self) -> str:
        return notebook.page(self.debate, self.turns, self.verdict)


class Stream:
    """A debate's turns as they are committed: read it with `for`, or in async code `async for`.

    It begins when it is first read. `result` is the whole debate, once it has ended. Whoever stops
    reading before pauses the debate, and `moot resume` continues it.
    """

    def __init__(
        self,
        begin: Callable[[Service], Awaitable[Debate]],
        settings: Settings | None,
        speaker: Speaker | None,
        *,
        new: bool = False,
    ) -> None:
        """`new`: only the turns that follow what `begin` did."""
        self._begin, self._settings, self._speaker = begin, settings, speaker
        self._new = new
        self._is_begun = False
        self._result: Finished | None = None

    @property
    def result(self) -> Finished:
        """The debate as it stood when reading it ended. Raises StateError before that."""
        if self._result is None:
            raise StateError("This debate has not been read yet: `for turn in …` reads it.")
        return self._result

    def __iter__(self) -> Iterator[Turn]:
        return iterate(self._turns())

    def __aiter__(self) -> AsyncIterator[Turn]:
        return self._turns()

    def __repr__(self) -> str:
        if self._result:
            return f"<moot stream of {self._result!r}>"
        return f"<moot stream, {'being read' if self._is_begun else 'not read yet'}>"

    async def _turns(self) -> AsyncGenerator[Turn]:
        if self._result:
            for turn in self._result.turns:
                yield turn
            return
        if self._is_begun:
            raise StateError("This debate is being read already; it can be read once.")
        self._is_begun = True
        async with open_service(self._settings, speaker=self._speaker) as service:
            made = await self._begin(service)
            try:
                seen = made.last_seq if self._new else 0
                async with aclosing(service.follow(made.id, seen)) as events:
                    while not (self._new and made.waiting_for):
                        event = await anext(events, None)
                        if event is None or (
                            isinstance(event, StatusChanged) and event.waiting_for
                        ):
                            break
                        if isinstance(event, TurnCommitted):
                            yield event.turn
                debate = await service.wait(made.id)
            except (GeneratorExit, asyncio.CancelledError):
                with suppress(MootError):  # it is over, or is ending
                    await service.pause(made.id, at_once=True)
                await self._keep(service, await service.get(made.id))
                raise
            await self._keep(service, debate)

    async def _keep(self, service: Service, debate: Debate) -> None:
        turns = await service.turns(debate.id)
        self._result = Finished(debate, tuple(turns), Path(service.folder(debate.id)))

    async def to_the_end(self) -> Finished:
        """Read all of it."""
        async with aclosing(self._turns()) as turns:
            async for _ in turns:
                pass
        return self.result


def debate(
    motion: str,
    *,
    format: str = "standard",  # noqa: A002  the word of the contract
    participants: Sequence[Seat] = (),
    host: Seat | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    on_failure: str | None = None,
    jury: Jury | None = None,
    sources: Sequence[Document] = (),
    hide_sources_from: Sequence[str] = (),
    depth: str | None = None,
    audit: float | None = None,
    allow_secrets: bool = False,
    allow_unpriced: bool = False,
    title: str | None = None,
    tags: Sequence[str] = (),
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Stream:
    """Debate a motion, turn by turn:

        debate = moot.debate("Should we ship on Fridays?", format="duel")
        for turn in debate:
            print(turn.name, turn.text)
        print(debate.result.status)

    `participants` are models, or dicts with a `name`, `stance`, `bio` and `model`, or an `agent`.
    `model` is for every seat that names none. `moot formats` lists what `format` and `options` can
    be. `limits` are `max_turns`, `max_cost_usd` and so on, and `jury` is the number of jurors.
    `sources` are files, folders and addresses, or dicts with a `title` and a `text`. `title` and
    `tags` are what it is found by later. With `depth="auto"`, two seats answer first, and the rest
    is left out if they agree. In async code, read it with `async for`.
    """

    async def begin(service: Service) -> Debate:
        asked: dict[str, Any] = {
            "format": format, "participants": participants, "host": host and as_seat(host),
            "options": options, "limits": limits, "on_failure": on_failure,
            "jury": as_jury(jury), "sources": [as_source(one) for one in sources],
            "hide_sources_from": hide_sources_from, "allow_secrets": allow_secrets,
            "depth": depth, "audit": audit, "allow_unpriced": allow_unpriced,
            "title": title, "tags": tags,
        }  # fmt: skip
        return await service.create(motion, **await _seated(service, asked, model))

    return Stream(begin, settings, speaker)


def _council(
    problem: str,
    *,
    output_type: str = "decision",
    constraints: Sequence[str] = (),
    participants: Sequence[Seat] = (),
    model: str | None = None,
    jury: Jury | None = None,
    sources: Sequence[Document] = (),
    hide_sources_from: Sequence[str] = (),
    allow_secrets: bool = False,
    max_turn_seconds: float | None = None,
    max_turn_tokens: int | None = None,
    writeback_record_type: str | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Stream:
    """A council, turn by turn.

    `participants` are models, one for each role in turn, or dicts with a `role` and a `model`;
    `model` is for every role that names none. `output_type` is decision, writing, architecture,
    planning or evaluation, and `jury` is the number of jurors. `sources` are files, folders and
    addresses, or dicts with a `title` and a `text`.
    """

    async def begin(service: Service) -> Debate:
        asked: dict[str, Any] = {"format": "council", "participants": participants}
        seated = await _seated(service, {**asked, "jury": as_jury(jury)}, model)
        request = {
            "problem": problem, "output_type": output_type, "constraints": list(constraints),
            "participants": [as_role(seat) for seat in seated["participants"]],
            "jury": seated["jury"], "max_turn_seconds": max_turn_seconds,
            "max_turn_tokens": max_turn_tokens, "writeback_record_type": writeback_record_type,
            "sources": [as_source(one) for one in sources] or None,
            "hide_sources_from": list(hide_sources_from) or None,
            "allow_secrets": allow_secrets or None,
        }  # fmt: skip
        return await service.council({k: v for k, v in request.items() if v is not None})

    return Stream(begin, settings, speaker)


def _rejudge(
    debate_id: str,
    *,
    jury: Jury | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Stream:
    """A jury on a debate, turn by turn.

    `debate_id` is the debate's id, the last six characters or the beginning of it, or "last";
    `jury` is the number of jurors, or a dict with their `size` and `models`.
    """

    async def begin(service: Service) -> Debate:
        return await service.rejudge(await service.resolve(debate_id), jury=as_jury(jury))

    return Stream(begin, settings, speaker)


def _say(
    debate_id: str,
    text: str,
    *,
    seat: str | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Stream:
    """What follows a person's words, turn by turn.

    `debate_id` is the debate's id, the last six characters or the beginning of it, or "last";
    `seat` is the id of a human seat that the words are for, and for no other.
    """

    async def begin(service: Service) -> Debate:
        return await service.say(await service.resolve(debate_id), text, seat=seat)

    return Stream(begin, settings, speaker, new=True)


async def _seated(service: Service, asked: dict[str, Any], model: str | None) -> dict[str, Any]:
    """What was asked, with a seat for each model, and that model where none is named."""
    rules = next((one for one in await service.formats() if one.name == asked["format"]), None)
    if rules is None:
        return asked  # `create` says that there is no such format
    asked = {**asked, "participants": seats(asked["participants"], rules)}
    return with_model(asked, rules, model) if model else asked


# --- to the end: the same, waited for or awaited ---


def _waits(stream: Callable[P, Stream], name: str, doc: str) -> Callable[P, Finished]:
    """A function that returns when the debate has ended, in a script or in a notebook."""

    def call(*args: P.args, **kwargs: P.kwargs) -> Finished:
        return wait_for(stream(*args, **kwargs).to_the_end())

    return _named(call, stream, name, doc)


def _awaits(
    stream: Callable[P, Stream], name: str, doc: str
) -> Callable[P, Coroutine[Any, Any, Finished]]:
    """The same for async code."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> Finished:
        return await stream(*args, **kwargs).to_the_end()

    return _named(call, stream, name, doc)


def _named(call: Any, like: Callable[..., Any], name: str, doc: str) -> Any:
    """For `help`: its own name, and the parameters of what it calls."""
    call.__name__ = call.__qualname__ = name
    parameters = (getdoc(like) or "").rpartition("\n\n")[2]
    call.__doc__ = f"{doc}\n\n{parameters}\n"
    call.__signature__ = signature(like).replace(return_annotation=Finished)
    return call


_RUN = """Debate a motion to its end, and return the whole debate.

    debate = moot.run("Should we ship on Fridays?", participants=["claude", "openai"])
    print(debate.verdict or debate.turns[-1].text)

It works in a script and in a notebook; `await moot.arun(…)` is for async code."""
_COUNCIL = """Let five roles debate a problem, and return the debate with its decision.

    council = moot.council("Should we move to Postgres?", constraints=["no downtime"], jury=3)
    print(council.packet["decision"]["selectedOption"])

It works in a script and in a notebook; `await moot.acouncil(…)` is for async code."""
_REJUDGE = """Have a jury judge a debate that has ended, with 2 calls for each juror.

Returns the new debate in which it voted; the judged one stays as it is. It works in a script and in
a notebook; `await moot.arejudge(…)` is for async code."""
_SAY = """Speak in a debate, as a person, and go on with it until it ends or waits for one again.

    debate = moot.run("Is it so?", participants=[{"name": "Me", "model": "human"}, "claude"])
    while debate.debate.waiting_for:
        debate = moot.say(debate.id, input("Me: "))

If it is not the turn of a human seat, the words are a note. It works in a script and in a notebook;
`await moot.asay(…)` is for async code."""
run = _waits(debate, "run", _RUN)
arun = _awaits(debate, "arun", "`moot.run` for async code.")
council = _waits(_council, "council", _COUNCIL)
acouncil = _awaits(_council, "acouncil", "`moot.council` for async code.")
rejudge = _waits(_rejudge, "rejudge", _REJUDGE)
say = _waits(_say, "say", _SAY)
asay = _awaits(_say, "asay", "`moot.say` for async code.")
arejudge = _awaits(_rejudge, "arejudge", "`moot.rejudge` for async code.")


# --- questions afterwards ---


def ask(
    debate_id: str,
    question: str,
    *,
    model: str | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Followup:
    """Ask about a debate that has ended, and return the answer, which cites what was said.

    `debate_id` is the debate's id, the last six characters or the beginning of it, or "last";
    `model` answers, otherwise one of the debate's own. `await moot.aask(…)` is for async code.
    """
    return wait_for(aask(debate_id, question, model=model, settings=settings, speaker=speaker))


async def aask(
    debate_id: str,
    question: str,
    *,
    model: str | None = None,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Followup:
    """`moot.ask` for async code."""
    async with open_service(settings, speaker=speaker) as service:
        return await service.ask(await service.resolve(debate_id), question, model=model)


# --- by the council's own request ---


def run_debate_mode(
    request: Mapping[str, Any],
    *,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> dict[str, Any]:
    """Hold a council, by its own request, to its end. `packet` is None if it did not decide."""
    held = wait_for(
        Stream(lambda service: service.council(request), settings, speaker).to_the_end()
    )
    debate = held.debate
    return {
        "runId": debate.id,
        "status": debate.status,
        "stopReason": debate.stop_reason,
        "degraded": debate.degraded,
        "packet": held.packet if debate.outcome else None,
        "verdict": held.verdict if debate.outcome else None,
        "warnings": list(debate.warnings),
        "failure": codec.plain(debate.failure) if debate.failure else None,
        "folder": str(held.folder),
    }


def replay_debate_mode(run_id: str, *, settings: Settings | None = None) -> dict[str, Any]:
    """A debate from its files alone, and where they and the database disagree. Changes nothing."""
    return replay(settings or load_settings(), run_id)
