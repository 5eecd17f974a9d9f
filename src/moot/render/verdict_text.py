"""A verdict in words: what stands first wherever people read how a debate came out.

`tell` turns `verdict.json` into headed lines and tables, all of them plain text. The terminal, the
report, its page, the packet and the record each set the same words in their own way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.answers import UNDECIDED
from moot.core.debate import Debate, Turn
from moot.core.voices import UNDERSTUDY, caution, label
from moot.errors import WARN_SMALL_MODEL
from moot.render.cost import of_document
from moot.render.extract import clip
from moot.render.layout import LAYOUT

MOST = 6  # lines of what is open and what would change it; verdict.json has all of them
NAMES = {
    "decided": "Decided",
    "contested": "Contested",
    "deadlock": "Deadlock",
    "needs_facts": "Needs facts",
    "no_verdict": "No verdict",
}
"""The kinds of outcome, as people read them."""
_FACTS = "facts are missing. The open questions come first."
_SENTENCES: dict[str | None, dict[str, str]] = {
    "jury": {
        "decided": "The jury chose this with a clear lead.",
        "contested": "More than half of the votes that count are for this, but not clearly enough "
        "to call it decided.",
        "deadlock": "No option has more than half of the jury's votes.",
        "needs_facts": f"At least half of the jury's votes say that {_FACTS}",
        "no_verdict": "Fewer than half of the jurors gave a vote that counts.",
    },
    "judge": {
        "decided": "The {judge} chose this, and at least half of those who took a position stand "
        "for it.",
        "contested": "The {judge} chose this, but fewer than half of those who took a position "
        "stand for it.",
        "deadlock": "The {judge} chose nothing, and no option has more than half of the support.",
        "needs_facts": f"The {{judge}} cannot decide this yet: {_FACTS}",
        "no_verdict": "The {judge} gave no verdict.",
    },
    "positions": {
        "decided": "The speakers decided this themselves: they stand for it with a clear lead.",
        "contested": "More than half of those who took a position stand for this, but not clearly "
        "enough to call it decided.",
        "deadlock": "No option has more than half of the speakers behind it.",
        "needs_facts": "At least half of the speakers who were heard are undecided. What is open "
        "comes first.",
        "no_verdict": "None of the speakers took a position.",
    },
    None: dict.fromkeys(NAMES, "Nobody gave a verdict, and nobody took a position."),
}
_BEFORE_6 = {
    ("jury", "contested"): "More than half of the votes are for this, but the lead is too small to "
    "call it decided.",
    ("positions", "contested"): "The speakers decided this themselves. More than half stand for "
    "it, but the lead is too small to call it decided.",
    ("positions", "needs_facts"): f"At least half of the speakers say that {_FACTS}",
    ("positions", "no_verdict"): "Too few of the speakers took a position.",
}
"""What older layouts said."""
_INNER = str.maketrans("“”", "‘’")
Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Lines under a heading, or a table with its head first and lines below."""

    title: str
    lines: tuple[str, ...] = ()
    rows: Rows = ()
    warns: bool = False  # whether it says that something is doubtful


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict as people read it."""

    kind: str  # as in verdict.json
    name: str  # of the kind, in words
    sentence: str  # what that means
    option: str | None  # what was selected, if anything was
    parts: tuple[Part, ...]  # what it rests on, what speaks against it, and what it cost
    tables: tuple[Part, ...]  # the options and the jurors
    caution: str | None = None  # what stands above all of it, if small models spoke

    @property
    def headline(self) -> str:
        return f"{self.name}: {self.option}" if self.option else self.name


def tell(
    verdict: Mapping[str, Any], seats: Iterable[tuple[str, str]], layout: int = LAYOUT
) -> Told:
    """A verdict in words. `seats` are the names and models of those who debated."""
    kind, by = str(verdict["outcome"]), verdict["decidedBy"]
    sentence = (_BEFORE_6.get((by, kind)) if layout < 6 else None) or _SENTENCES[by][kind]
    judge = verdict["judge"]["name"] if verdict["judge"] else "judge"
    parts = (
        Part("Support", _support(verdict)),
        Part("Jury", _jury(verdict)),
        Part("Flipped", _flips(verdict), warns=True),
        Part("Before the debate", _alone(verdict)),
        Part(judge.capitalize(), _judge(verdict)),
        Part("Moved", _moved(verdict)),
        Part("Dissent", _dissent(verdict)),
        Part("Would change it", _said(verdict["wouldChange"])),
        Part("Open questions", _said(verdict["openQuestions"])),
        Part("Quotes", _quotes(verdict, layout), warns=bool(verdict["quotes"]["failed"])),
        Part("Warnings", _warnings(verdict), warns=True),
        Part("Cost", _cost(verdict)),
        Part("Models", _models(verdict, seats)),
    )
    tables = (
        Part("Favoured and selected", (), _compared(verdict)),
        Part("Options", _merged(verdict), _options(verdict)),
        Part("Jurors", (), _jurors(verdict)),
    )
    return Told(
        kind,
        NAMES[kind],
        sentence.format(judge=judge),
        verdict["selected"],
        tuple(part for part in parts if part.lines),
        tuple(part for part in tables if part.rows),
        caution(verdict["warnings"]),
    )


def voices(debate: Debate, turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Who debated, and the model that spoke for each: the last one, if there were several."""
    spoke = {turn.actor: turn.model for turn in turns if turn.status == "ok" and turn.model}
    return [(seat.name, spoke.get(seat.id) or seat.model) for seat in debate.seats]


# --- what it rests on, and what speaks against it ---


def _support(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Heads first, then weight: how many speakers stood for it at the end."""
    support, selected, favoured = verdict["support"], verdict["selected"], _favoured(verdict)
    if not support["asked"]:
        return ()
    lines: list[str] = []
    if selected is not None:
        lines.append(f"{_heads(support, support['of'])} stood for it at the end.")
    if favoured and favoured["option"] != selected:
        most = _heads(favoured, support["of"])
        lines.append(f"The positions favour {quoted(favoured['option'])}: {most}.")
    elif selected is None:
        lines.append("No option had the most speakers behind it at the end.")
    if silent := support["asked"] - support["of"]:
        lines.append(f"{silent} of {support['asked']} took no position at the end.")
    return (*lines, *_unmerged(verdict))


def _unmerged(verdict: Mapping[str, Any]) -> list[str]:
    """What the count would be if no two wordings were read as one option."""
    if not any(len(option["wordings"]) > 1 for option in verdict["options"]):
        return []
    support, of = verdict["support"]["unmapped"], verdict["support"]["of"]
    first = support["favoured"]
    leads = "no wording leads" if first is None else f"{quoted(first['option'])} leads"
    count = "" if first is None else f" with {_heads(first, of)}"
    own = f"{_heads(support, of)} for it; " if verdict["selected"] is not None else ""
    return [f"If no wordings were merged: {own}{leads}{count}."]


def _jury(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    jury = verdict["jury"]
    if not jury:
        return ()
    asked, valid = jury["asked"], jury["valid"]
    lines = [f"{_split(jury['split'], asked)}."]
    if valid < asked:
        lines.append(
            f"1 vote of {asked} does not count, and stands against the leader."
            if asked - valid == 1
            else f"{asked - valid} votes of {asked} do not count, and stand against the leader."
        )
    return tuple(lines)


def _flips(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Jurors whose choice changed with the order in which they read."""
    return tuple(
        f"{one['name']} ({label(one['model'])}): {_choice(one['choice'])} in one order, "
        f"{_choice(one['swapped'])} in the other."
        for one in _bench(verdict)
        if one["flipped"]
    )


def _alone(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """What the jurors said before they heard anything, and whether the debate changed it."""
    baseline = verdict["baseline"]
    if not baseline:
        return ()
    before, after = baseline["selected"], verdict["selected"]
    if not baseline["changedByDebate"]:
        changed = "The debate did not change the result."
    elif before is None:
        changed = "The debate changed the result: there was none before."
    elif after is None:
        changed = f"The debate changed the result: before, it was {_choice(before)}."
    else:
        changed = f"The debate changed the result, from {_choice(before)}."
    return (f"The jurors alone: {_split(baseline['split'], verdict['jury']['asked'])}. {changed}",)


def _judge(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """What a judge said whose word did not decide."""
    judge = verdict["judge"]
    if not judge or verdict["decidedBy"] == "judge":
        return ()
    if judge["choice"] == UNDECIDED:
        return (f"The {judge['name']} would not decide{_ref(judge['turn'])}.",)
    same = judge["choice"] == verdict["selected"]
    chose = "chose the same" if same else f"would have chosen {quoted(judge['choice'])}"
    return (f"The {judge['name']} {chose}{_ref(judge['turn'])}.",)


def _moved(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{one['who']}: from {quoted(one['from'])} to {quoted(one['to'])}{_ref(one['turn'])}, "
        f"{_cause(one['because'])}"
        for one in verdict["moved"]
    )


def _cause(because: Mapping[str, Any]) -> str:
    """Why somebody moved. A move that names nothing new is marked as such."""
    text, turns = clip(because["text"] or ""), "".join(_ref(turn) for turn in because["turns"])
    if because["named"]:
        return f"because of{turns}: {text}" if text else f"because of{turns}."
    after = f", after it was challenged{turns}" if turns else ""
    return f"without a new reason{after}." + (f" It said: {text}" if text else "")


def _dissent(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{one['who']}, for {quoted(one['option'])}: {clip(one['reason'])}{_ref(one['turn'])}"
        for one in verdict["dissent"]
    )


def _said(items: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    lines = [f"{clip(one['text'])} ({one['who']}{_ref(one['turn'])})" for one in items[:MOST]]
    left = len(items) - len(lines)
    return (*lines, f"And {left} more, in verdict.json.") if left else tuple(lines)


def _quotes(verdict: Mapping[str, Any], layout: int) -> tuple[str, ...]:
    quotes = verdict["quotes"]
    if not quotes["checked"]:
        return ()
    right, gone = f"{quotes['verified']} of {quotes['checked']} are word for word", quotes["failed"]
    if layout < 6:
        return (f"{right}." + (f" Nobody said the other {gone}." if gone else ""),)
    failed = f", {gone} {'is' if gone == 1 else 'are'} not" if gone else ""
    return (f"{right} in what they cite{failed}.",)


def _warnings(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Each kind of doubt once, with its first case; the codes are for programs."""
    kinds: dict[str, list[str]] = {}
    for warning in verdict["warnings"]:
        code, _, words = str(warning).partition(": ")
        if code == WARN_SMALL_MODEL:
            continue  # it stands above all
        kinds.setdefault(code, []).append(words or code)
    return tuple(
        f"{first} And {len(more)} more like this, in verdict.json." if more else first
        for first, *more in kinds.values()
    )


def _cost(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    used = verdict["usage"]
    tokens = used["inputTokens"] + used["outputTokens"]
    about = " (in part estimated)" if used["estimated"] else ""
    spent = f"{tokens:,} tokens, {used['calls']} call{'s' if used['calls'] != 1 else ''}"
    cost, apart = of_document(used), "; " if used.get("unpriced") else ", "
    return (f"{cost[:1].upper()}{cost[1:]}{apart}{spent}{about}.",)


def _models(verdict: Mapping[str, Any], seats: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return who_spoke((*seats, *((one["name"], str(one["model"])) for one in _bench(verdict))))


def who_spoke(seats: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Who spoke for whom. The understudy is not a model: that is said wherever it speaks."""
    spoke: dict[str, list[str]] = {}
    for name, model in seats:
        spoke.setdefault(model, []).append(name)
    return tuple(
        f"No model spoke for {', '.join(names)}: the understudy did."
        if model == UNDERSTUDY
        else f"{model}: {', '.join(names)}."
        for model, names in spoke.items()
    )


# --- tables ---


def _compared(verdict: Mapping[str, Any]) -> Rows:
    """The favoured and the selected option side by side, with every score of each."""
    support, selected, favoured = verdict["support"], verdict["selected"], _favoured(verdict)
    if selected is None or not favoured or favoured["option"] == selected:
        return ()
    of, plain = support["of"], support["unmapped"]
    both = [_option(verdict, name) for name in (favoured["option"], selected)]
    first: Mapping[str, Any] = plain["favoured"] or {}
    leads = first.get("option") in both[0]["wordings"]
    rows = [
        ("", "Favoured", "Selected"),
        ("Option", favoured["option"], selected),
        ("First", *(_people(one["round1"]) for one in both)),
        ("Final", *(_people(one["final"]) for one in both)),
        ("Heads and weight", _heads(favoured, of), _heads(support, of)),
        ("Without merging", _heads(first, of) if leads else "–", _heads(plain, of)),
    ]
    if verdict["jury"]:
        rows.append(("Jury", *(_people(one["jury"]) for one in both)))
    if verdict["judge"]:
        judge, chosen = verdict["judge"]["name"], verdict["judge"]["choice"]
        rows.append((judge, *("yes" if one["name"] == chosen else "no" for one in both)))
    return tuple(rows)


def _options(verdict: Mapping[str, Any]) -> Rows:
    """Each option with who was for it: first, at the end, and on the jury."""
    columns = [("First", "round1"), ("Final", "final")] if verdict["support"]["asked"] else []
    columns += [("Jury", "jury")] if verdict["jury"] else []
    rows = [
        (option["name"], *(_people(option[key]) for _, key in columns))
        for option in verdict["options"]
    ]
    return (("Option", *(title for title, _ in columns)), *rows) if rows else ()


def _merged(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Which wordings were read as one option."""
    return tuple(
        f"{quoted(option['name'])} counts these as one: {', '.join(map(quoted, wordings))}."
        for option in verdict["options"]
        if len(wordings := option["wordings"]) > 1
    )


def _jurors(verdict: Mapping[str, Any]) -> Rows:
    """How each juror voted: alone, in one order, and in the other."""
    bench = _bench(verdict)
    if not bench:
        return ()
    columns = [("Alone", "alone")] if verdict["baseline"] else []
    columns += [("After the debate", "choice")]
    columns += [("Other order", "swapped")] if any(one["swapped"] for one in bench) else []
    return (
        ("Juror", "Model", *(title for title, _ in columns), "Counts"),
        *(
            (
                one["name"],
                label(one["model"]),
                *(_ballot(one, key) for _, key in columns),
                "yes" if one["vote"] is not None else "no: flipped" if one["flipped"] else "no",
            )
            for one in bench
        ),
    )


def _ballot(juror: Mapping[str, Any], key: str) -> str:
    if juror[key] is None:
        return "no valid ballot"
    return "the same" if key == "swapped" and juror[key] == juror["choice"] else str(juror[key])


# --- words ---


def _bench(verdict: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return verdict["jury"]["jurors"] if verdict["jury"] else ()


def _favoured(verdict: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return verdict["support"]["favoured"]


def _option(verdict: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    nothing = {"name": name, "wordings": [name], "round1": [], "final": [], "jury": []}
    return next((one for one in verdict["options"] if one["name"] == name), nothing)


def _heads(count: Mapping[str, Any], of: int) -> str:
    return f"{count['heads']} of {of} (weight {count['weight']:.2f})"


def _split(split: Sequence[Mapping[str, Any]], asked: int) -> str:
    """How votes were spread: 2 of 3 for “Go”, 1 of 3 undecided."""
    said = [
        f"{one['votes']} of {asked} "
        + ("undecided" if one["option"] == UNDECIDED else f"for {quoted(one['option'])}")
        for one in split
    ]
    return ", ".join(said) or f"0 of {asked} with a vote that counts"


def _choice(option: str | None) -> str:
    return UNDECIDED if option is None or option == UNDECIDED else quoted(option)


def _people(names: Sequence[str]) -> str:
    return f"{len(names)}: {', '.join(names)}" if names else "0"


def quoted(option: str) -> str:
    """An option within a sentence; marks inside it become single ones."""
    return f"“{option.translate(_INNER)}”"


def _ref(turn: int | None) -> str:
    return f" [turn:{turn}]" if turn else ""
