"""A debate on a terminal: what was said stays, what is being said moves, a line says how far."""

import asyncio
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from moot.cli import markdown_view, takeaways_view, verdict_view
from moot.cli.ask import counted, flat
from moot.cli.hints import typed
from moot.core import prices, schedule, verbs
from moot.core.clean import clean
from moot.core.debate import HUMAN, Debate, Turn, Usage
from moot.core.events import CutOff, Delta, Event, StatusChanged, TurnCommitted
from moot.core.forecast import Amounts
from moot.core.voices import UNDERSTUDY, label
from moot.render import cost
from moot.render.ballots import Ballot, ballots, in_order, jurors

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")
LOST = "Connection lost; trying again …"
CUT_OFF = {  # why, by the code of the error
    "DEBATE_ERR_PROVIDER_TIMEOUT": "the model took too long",
    "DEBATE_ERR_PROVIDER_UNAVAILABLE": "the connection to the model failed",
    "DEBATE_ERR_PROVIDER_RATE_LIMIT": "the provider asks for slower calls",
    "DEBATE_ERR_PROVIDER_CONTEXT": "the debate is too long for the model",
}
REASONS = {
    "finished": "the format has run its course",
    "max_rounds": "all rounds were spoken",
    "max_turns": "the last turn was spoken",
    "agreement": "they agreed",
    "ended_by_user": "you ended it",
    "stopped_by_user": "you stopped it",
    "budget": "the budget is used up",
    "provider_failed": "no provider could speak",
    "structural_failure": "its outcome could not be written",
}


Place = tuple[int, str]
"""Who speaks, in which round: a juror may cast several ballots at once."""


class View:
    """Shows nothing, for `--json`. The others show debates on a terminal."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def live(self) -> bool:
        """Whether a part of it moves, and says itself whether the connection is lost."""
        return False

    def lost(self, is_lost: bool) -> None:
        """Whether the connection is lost."""

    def show(self, event: Event | Delta) -> None:
        """What is said."""

    @property
    def asks(self) -> bool:
        """Whether a person who looks on can be asked to speak."""
        return False

    @contextmanager
    def still(self) -> Generator[None]:
        """Nothing moves meanwhile: somebody types."""
        yield

    async def shown(self, seq: int) -> None:
        """Wait until all is shown up to that entry of the log."""

    def outcome(
        self,
        debate: Debate,
        folder: str,
        turns: Sequence[Turn],
        report: Mapping[str, Any] | None = None,
    ) -> None:
        """How it ended, what it comes to, where its files are (if any), and what can be done next.
        `turns` are all that was said, if it has an outcome; `report` is there once it is over."""


class Lines(View):
    """Several debates on one terminal: a line for each turn, with how it begins."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._console = Console(highlight=False)
        self._names = names
        self._styles = {id_: COLOURS[place % len(COLOURS)] for place, id_ in enumerate(self._names)}

    def show(self, event: Event | Delta) -> None:
        if isinstance(event, TurnCommitted):
            self._line(event.debate_id, _said(event.turn))
        elif isinstance(event, StatusChanged) and event.notice:
            self._line(event.debate_id, Text(flat(event.notice), style="yellow"))

    def _line(self, debate_id: str, said: Text) -> None:
        name = (f"{self._names[debate_id]}: ", self._styles[debate_id])
        self._console.print(Text.assemble(name, said), overflow="ellipsis", no_wrap=True)


class Screen(View):
    """A terminal, or a pipe: there only what is committed is printed."""

    def __init__(
        self,
        debate: Debate,
        console: Console | None = None,
        heard: Sequence[Turn] = (),
        expected: Amounts | None = None,
    ) -> None:
        """`heard` was said before what is shown; `expected` is what it is likely to cost."""
        self._console = console or Console(highlight=False, soft_wrap=False)
        self._debate = debate
        self._jurors = jurors(debate)
        self._heard = {turn.seq: turn for turn in heard}
        self._colours = {
            seat.id: COLOURS[place % len(COLOURS)] for place, seat in enumerate(debate.participants)
        }
        self._speaking: dict[Place, tuple[int, str]] = {}  # from which character on, and what
        self._asked: dict[Place, str] = {}  # of those who are asked, and said nothing yet
        self._cut: dict[Place, CutOff] = {}  # of those who are tried again
        self._seq = 0
        self._place: tuple[int | None, str] | None = None
        self._where = schedule.label(debate, *schedule.here(debate))
        self._done, self._cost = debate.turn_count, debate.usage.cost_usd
        self._expected = expected.likely if expected else 0.0
        self._total = debate.total
        self._is_lost = False
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self.head()
        if self._console.is_terminal:
            # It asks for what moves when it draws, not for every piece of text.
            self._live = Live(
                get_renderable=self._now,
                console=self._console,
                refresh_per_second=12,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    @property
    def live(self) -> bool:
        return self._live is not None

    def lost(self, is_lost: bool) -> None:
        self._is_lost = is_lost
        self._refresh()

    @property
    def asks(self) -> bool:
        return self._live is not None

    @contextmanager
    def still(self) -> Generator[None]:
        live = self._live
        if live:
            live.stop()
        try:
            yield
        finally:
            if live and self._live is live:
                live.start()

    async def shown(self, seq: int) -> None:
        while self._seq < seq:  # noqa: ASYNC110  whoever shows it does not tell
            await asyncio.sleep(0.02)

    def _refresh(self) -> None:
        if self._live:
            self._live.refresh()

    def show(self, event: Event | Delta) -> None:
        if isinstance(event, Delta):
            self._hear(event)
            self._where = schedule.label(self._debate, event.round, event.stage)
            return
        self._check_order(event.seq)
        if isinstance(event, TurnCommitted):
            self._turn(event.turn)
        else:
            self._status(event)
        self._refresh()

    def outcome(
        self,
        debate: Debate,
        folder: str,
        turns: Sequence[Turn],
        report: Mapping[str, Any] | None = None,
    ) -> None:
        out = self._console
        out.print(Rule(style="dim"))
        out.print(Text.assemble((ending(debate), "bold"), (_bill(debate), "dim")))
        if not verdict_view.show(out, debate, turns) and debate.outcome:
            decision = debate.outcome
            out.print(
                Text.assemble(("Decision: ", "dim"), (decision.selected_option, "bold green"))
            )
            out.print(
                f"[dim]Consensus {decision.consensus_score:.2f}, "
                f"confidence {decision.confidence_score:.2f}; see final-packet.md[/dim]"
            )
        if report:
            takeaways_view.show(out, report)
        if debate.failure and debate.status == "failed":
            out.print(f"[red]{escape(typed(debate.failure.message))}[/red]")
        elif debate.failure:
            seat = debate.seat(debate.failure.actor)
            said = typed(debate.failure.message)
            out.print(f"[red]{escape(seat.name)}: {escape(said)}[/red]")
            ways = mends(debate)
            width = max(len(command) for command, _ in ways) + 3
            for command, what in ways:
                out.print(f"  {command:<{width}}{what}", soft_wrap=True)
        elif debate.status == "paused":
            out.print(typed(f"Go on with  moot resume {debate.id}"), soft_wrap=True)
        elif debate.waiting_for:
            out.print(typed(f'Speak with  moot say {debate.id} "…"'), soft_wrap=True)
        if "://" in folder:
            out.print(f"[dim]On the server: {escape(folder)}[/dim]", soft_wrap=True)
        elif folder:
            out.print(f"[dim]Files: {escape(folder)}[/dim]", soft_wrap=True)

    def head(self) -> None:
        """The motion and who is here."""
        debate, out = self._debate, self._console
        out.print(Rule(Text(debate.rules.title, style="dim"), style="dim"))
        out.print(Text(flat(debate.motion), style="bold"))
        has_sides = any(seat.stance != "neutral" for seat in debate.participants)
        for seat in debate.seats:
            side = "host, " if seat.role == "host" else f"{seat.stance}, " if has_sides else ""
            out.print(
                Text.assemble(
                    ("  ● ", self._colours.get(seat.id, "white")),
                    seat.name,
                    (f"  {side}{label(seat.model, seat.effort)}", "dim"),
                )
            )
        for seat in debate.jury.seats if debate.jury else ():
            tag = (f"  juror, {label(seat.model, seat.effort)}", "dim")
            out.print(Text.assemble(("  ○ ", "white"), seat.name, tag))
        out.print(Text(f"  {debate.id}", style="dim"))
        for warning in debate.warnings:
            code, _, said = warning.partition(": ")
            words = [(f"  ⚠ {said or code}", "yellow"), (f"  {code}" if said else "", "dim")]
            out.print(Text.assemble(*words))

    def _hear(self, delta: Delta) -> None:
        """What is being said: a delta at 0 begins it anew, one that does not fit shows the rest,
        an empty one takes it back, or tells what the host is asked or that it was cut off."""
        place = (delta.round, delta.actor)
        self._asked.pop(place, None)
        if delta.instruction:
            self._asked[place] = delta.instruction
        if delta.cut_off:
            self._cut[place] = delta.cut_off
        elif not (delta.text or delta.offset or delta.instruction):
            self._forget(place)
            return
        start, said = self._speaking.get(place, (delta.offset, ""))
        if delta.offset and delta.offset == start + len(said):
            self._speaking[place] = (start, said + delta.text)
        elif delta.text:
            self._speaking[place] = (delta.offset, delta.text)
        elif delta.offset == 0:
            self._speaking[place] = (0, "")

    def _forget(self, place: Place) -> None:
        for kept in (self._speaking, self._asked, self._cut):
            kept.pop(place, None)

    def _check_order(self, seq: int) -> None:
        """The log only grows, unless somebody put another one in its place."""
        if seq <= self._seq:
            self._console.print(Text("The log was replaced; from its beginning:", style="yellow"))
            self._speaking.clear()
            self._cut.clear()
            self._heard.clear()
            self._done, self._cost, self._place = 0, 0.0, None
        self._seq = seq

    def read(self, turns: Sequence[Turn]) -> Iterator[Turn]:
        """Show what was said, a turn at a time, with the ballots of a jury in the order of its
        seats."""
        self._heard |= {turn.seq: turn for turn in turns}
        for turn in in_order(self._debate, turns):
            self._turn(turn)
            yield turn

    def _turn(self, turn: Turn) -> None:
        self._forget((turn.round, turn.actor))
        self._heard[turn.seq] = turn
        self._done += 1
        self._cost += turn.usage.cost_usd
        self._refresh()  # what was being said goes before its turn stands there
        out, votes = self._console, turn.actor in self._jurors
        # jurors vote all at once, in several rounds: one line stands above all of their ballots
        place = (None if votes else turn.round, turn.stage)
        if place != self._place:
            self._place = place
            self._where = self._title(turn)
            out.print()
            out.print(Rule(Text(self._where, style="dim"), style="dim", align="left"))
        out.print()
        out.print(self._heading(turn.actor, turn.name, turn.model, turn.number, turn.kind))
        if votes and (ballot := self._ballot(turn)):
            out.print(Padding(_vote(ballot), (0, 0, 0, 2)))
        if turn.status == "failed":
            out.print(Padding(Text(f"no answer ({turn.error_code})", style="red"), (0, 0, 0, 2)))
        else:
            style = "italic" if turn.kind == "cue" else ""
            out.print(Padding(markdown_view.said(turn.text, out, style), (0, 0, 0, 2)))

    def _title(self, turn: Turn) -> str:
        """What stands above a turn, and those that follow it in the same place."""
        stage = self._debate.rules.jury
        if stage and turn.actor in self._jurors:
            return stage.heading
        return schedule.label(self._debate, turn.round, turn.stage)

    def _ballot(self, turn: Turn) -> Ballot | None:
        return ballots(self._debate, list(self._heard.values())).get(turn.seq)

    def _heading(
        self, actor: str, name: str, model: str, number: int | None = None, kind: str = ""
    ) -> Text:
        shown = model in (UNDERSTUDY, HUMAN) or (model and actor in self._jurors)
        tag = f"  {'a note' if kind == 'note' else label(model)}" if shown else ""
        tag += f"  turn {number}" if number else ""
        return Text.assemble((name, f"bold {self._colours.get(actor, 'white')}"), (tag, "dim"))

    def _status(self, event: StatusChanged) -> None:
        self._total = event.total
        self._where = schedule.label(self._debate, event.round, event.stage) or self._where
        if event.status != "running":
            self._speaking.clear()  # nobody speaks, or what is said was called off
            self._cut.clear()
        if event.notice:
            self._console.print(Text(event.notice, style="yellow"))
        elif event.status == "ending":
            self._console.print(Text("Ending: the closing summary follows.", style="yellow"))

    def _now(self) -> RenderableType:
        """What is being said, and the line that says how far the debate is."""
        parts: list[RenderableType] = []
        room = max(self._console.height // max(len(self._speaking), 1) - 5, 3)
        for (number, actor), (start, text) in list(self._speaking.items()):  # drawn by a thread
            seat = self._debate.seat(actor)
            cut = None if text else self._cut.get((number, actor))
            heard = cut.text if cut else text
            words = ("… " if start else "") + clean(heard, seat.name, [])
            asked = "" if cut else self._asked.get((number, actor), "")
            seen = "\n".join(words.split("\n")[-room:])  # each is a line or more
            said = Text(seen, style="dim" if cut else "") if heard else Text(asked, style="dim")
            lines = said.wrap(self._console, max(self._console.width - 4, 20))
            parts += [Text(), self._heading(actor, seat.name, "")]
            parts += [Padding(line, (0, 0, 0, 2)) for line in lines[-room:]]
            if cut:
                parts.append(Padding(Text(cut_words(cut), style="yellow"), (0, 0, 0, 2)))
        row = Table.grid(padding=(0, 1))
        row.add_row(
            ProgressBar(total=max(self._total, 1), completed=self._done, width=20),
            Text(f"{self._done}/{self._total}"),
            Text(LOST, style="yellow") if self._is_lost else Text(self._where, style="dim"),
            Text(self._spent(), style="dim"),
        )
        return Group(*parts, Text(), row)

    def _spent(self) -> str:
        """What was spent so far, and what is expected while that is more."""
        unknown = prices.unpriced(self._debate)
        if not self._cost and not unknown:
            return ""
        spent = cost.spent(self._cost, unknown)
        more = self._expected > self._cost and not unknown
        return f"{spent} of about {cost.about(self._expected)}" if more else spent


def mends(debate: Debate) -> list[tuple[str, str]]:
    """The commands that go on with a debate whose speaker failed, and what each does."""
    longer = verbs.longer_seconds(debate)
    allow = f"moot retry {debate.id} --max-turn-seconds {longer:g}" if longer else ""
    ways = [
        (f"moot retry {debate.id}", "restart the speaker"),
        *([(allow, "and give it more time")] if longer else []),
        (f"moot retry {debate.id} --model M", "with another model"),
        (f"moot skip {debate.id}", "go on without this turn"),
    ]
    return [(typed(command), what) for command, what in ways]


def cut_words(cut: CutOff) -> str:
    """What became of a try, and which one follows."""
    why = CUT_OFF.get(cut.code, "the answer could not be used")
    what = "Cut off" if cut.text else "No answer"
    return f"{what}, trying again ({cut.attempt} of {cut.attempts}): {why}."


def _vote(ballot: Ballot) -> Text:
    """How a juror came to its vote, what it is, and whether it flipped."""
    parts = ((ballot.read, "dim"), (ballot.vote, "bold"), (ballot.flip, "bold yellow"))
    return Text(" ").join(Text(said, style) for said, style in parts if said)


def _said(turn: Turn) -> Text:
    if turn.status == "failed":
        return Text.assemble((turn.name, "bold"), (f": no answer ({turn.error_code})", "red"))
    tag = f" ({label(turn.model)})" if turn.model == UNDERSTUDY else ""
    return Text.assemble((turn.name, "bold"), (tag, "dim"), f": {flat(turn.text)}")


def ending(debate: Debate) -> str:
    if debate.status == "paused":
        return "Paused"
    if debate.waiting_for:
        return f"Waits for {debate.seat(debate.waiting_for).name}"
    reason = f": {REASONS[debate.stop_reason]}" if debate.stop_reason else ""
    return f"{debate.status.capitalize()}{', degraded' if debate.degraded else ''}{reason}"


def _bill(debate: Debate) -> str:
    """What all calls took; and what of that its report took, if a model was called for it."""
    spent = f", {cost.of_all(debate)}" if debate.spent.calls else ""
    turns = counted(debate.turn_count, "turn")
    return f"  {turns}, {_used(debate.spent)}{spent}{_report(debate)}"


def _report(debate: Debate) -> str:
    wrote = debate.writing
    if wrote is None:
        return ""
    spent = cost.spent(wrote.usage.cost_usd, wrote.unpriced, local=wrote.local)
    return f"; of that {_used(wrote.usage)}, {spent} for the report"


def _used(usage: Usage) -> str:
    tokens = usage.input_tokens + usage.output_tokens
    about = " (partly estimated)" if usage.estimated else ""
    return counted(usage.calls, "call") + (f", {tokens:,} tokens{about}" if tokens else "")
