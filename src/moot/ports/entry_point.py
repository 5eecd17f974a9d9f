"""Moot, the single entry point: every verb and every read."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from moot.core import ids
from moot.core.course import Plan
from moot.core.debate import Debate, Turn
from moot.core.events import Delta, Event
from moot.core.followups import Followup
from moot.core.form import Asked
from moot.core.format import Format
from moot.core.preferences import Preferences
from moot.core.sources import Source
from moot.core.templates import Template
from moot.errors import NotFoundError, StateError
from moot.outcome.calibration import Calibration, Hindsight
from moot.ports.available_models import Offers, ProviderStatus
from moot.ports.debate_store import Once
from moot.ports.entry_parts import Library, Links, Stations
from moot.ports.finding import Found, Search
from moot.ports.inputs import FormatProblem
from moot.ports.model_call import Say
from moot.render.answer import answer
from moot.render.export import Kind
from moot.stations.station import Agent

T = TypeVar("T")


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
