"""The understudy: speaks where there is no model, so that every format runs on any machine.

What it says follows from the call alone: stock points, put together with words of the motion and
of the turns that it heard. It parses no grammar, so a motion may be in any language.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from math import ceil, floor, inf
from typing import Any, cast

from moot.core.debate import Debate, Participant, Turn, Usage
from moot.core.followups import STAGE as ASK
from moot.core.positions import names_none
from moot.core.schedule import Step
from moot.ports.model_call import Call, ModelCard, Reply, Say

LABEL = "local:understudy"
Table = Mapping[str, Any]
# What can be said for anything, against it and asked of it, and how it is put.
_ROWS = [row.split(" ", 1) for row in """\
+ It is paid for once, while leaving things as they are costs something every month.
- The price is due at once, while the saving is only a forecast.
? What does it cost in the first year, and who has counted it?
+ If it goes wrong, it can be undone while it is still small.
- Once others rely on it, nobody will be able to undo it.
? How would we go back if it fails?
+ Those who live with the result gain from it every day.
- It lands on people who already have enough to do.
? Who has to carry the work, and what may they drop for it?
+ What can be seen so far points this way, and more proof comes only with use.
- The evidence is thin, for hopes and single cases prove nothing.
? Which figure would change your mind, and can we get it?
+ Every month of waiting makes the same step harder.
- It would settle now what we will know better in a year.
? What gets worse if we wait for half a year?
+ The alternatives ask for as much effort and reach less far.
- A smaller change that brings most of the gain would be passed over.
? Which smaller step would bring most of the gain?
+ Its side effects can be seen coming, so they can be dealt with.
- It may set something off elsewhere, and nobody has looked there.
? What does it change for those who are not in this room?
+ It puts the effort where the benefit is, and that is fair.
- Some would pay for it, and others would gain from it.
? Who gains from it, and who pays?
+ It takes away more trouble than it adds, year after year.
- It adds one more thing that somebody has to understand and look after.
? What becomes simpler by it, and for whom?
engage {other} said “{quote}”.
engage Let me answer {other}, who told us “{quote}”.
engage “{quote}”, says {other}.
yes That counts what it takes and leaves out what it gives.
yes That may be so at first, but it is not what lasts.
yes That is a reason to take care, and not a reason to refuse.
no That counts the gain and leaves out the work.
no That sounds well, but it is not what usually happens.
no That is a hope, and somebody else would pay for it.
open That is worth knowing, but saying it does not settle it.
open I would like to see that tried before I rest anything on it.
open That is one half of the matter; the other half is missing.
end So on “{term}” my answer is {answer}.
end With “{term}” in mind, I say {answer}.
end That is why I say {answer}, above all where “{term}” is concerned.""".splitlines()]  # fmt: skip
LINES = {kind: [text for one, text in _ROWS if one == kind] for kind, _ in _ROWS}
_THREE = zip(LINES["+"], LINES["-"], LINES["?"], strict=True)
POINTS = [{"yes": gain, "no": loss, "ask": question} for gain, loss, question in _THREE]
OPTIONS = {"yes": "Yes to “{}”", "no": "No to “{}”", "open": "A trial first for “{}”"}
_ANSWERS = {"yes": "yes", "no": "no", "open": "not yet"}
_LIKED = {"yes": ("yes", "for", "agree", "accept", "support"),
          "no": ("no", "against", "disagree", "reject", "oppose"),
          "open": ("open", "neutral", "undecided", "unsure")}  # fmt: skip
_ROLES = {"propon": "yes", "advoc": "yes", "critic": "no", "oppon": "no", "skept": "no"}
_HINTS = {  # what a field holds, by a word of its name
    "position": "option", "option": "option", "choice": "option", "wording": "option",
    "claim": "claim", "rationale": "why", "reason": "why", "why": "why", "risk": "risk",
    "mitigation": "mitigation", "question": "ask", "response": "response", "change": "change",
    "action": "action", "owner": "who", "role": "who", "speaker": "who", "confidence": "share",
    "turn": "turn", "seq": "turn", "due": "date", "date": "date", "id": "id",
}  # fmt: skip
_LAST = ("conclu", "closing")  # how the names of stages begin in which nothing new is said
_GROUP = re.compile(r"(?:\s*\S+){1,3}\s*")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COMMON = {"should", "would", "could", "must", "have", "what", "which", "this", "that", "with"}
_DEEP = 4  # levels of an answer below which only what is required is filled in


class Understudy:
    """Speaks for a seat that has no model; the label says so wherever it speaks."""

    def __init__(self, pace: float = 0.0) -> None:
        self._pace = pace  # seconds from one group of words to the next

    def card(self, model: str) -> ModelCard:
        return ModelCard(LABEL, 8192, 0.0, 0.0, local=True)

    async def speak(self, call: Call, say: Say) -> Reply:
        text, data = _answer(call)
        groups = _GROUP.findall(text)
        pace = min(self._pace, call.seconds / 2 / max(len(groups), 1))  # the turn ends in time
        for place, group in enumerate(groups):
            if pace > 0 or place % 8 == 0:
                await asyncio.sleep(pace)
            say(group)
        return Reply(text=text, model=LABEL, usage=Usage(calls=1), data=data)


def _answer(call: Call) -> tuple[str, Table | None]:
    """What is said, and as data where that was asked for."""
    if call.schema is None:
        return compose(call.debate, call.step, call.heard), None
    data = _Form(call).value(call.schema, "", {}, 0)
    data = cast(Table, data) if isinstance(data, dict) else {"value": data}
    said = "\n\n".join(text for text in _fields(data) if " " in text)
    return said or compose(call.debate, call.step, call.heard), data


def compose(debate: Debate, step: Step, heard: Sequence[Turn]) -> str:
    """What the step's actor says: nothing that was said before, word for word."""
    said, text = {turn.text for turn in heard}, ""
    for salt in range(64):
        voice = _Voice(debate, step, heard, salt)
        text = f"{voice.speech()} {voice.open()}" if salt else voice.speech()
        if text not in said:
            break
    return text


class _Voice:
    """A seat at one step: what it knows, and how it speaks."""

    def __init__(self, debate: Debate, step: Step, heard: Sequence[Turn], salt: int = 0) -> None:
        self.debate, self.step, self.seat = debate, step, debate.seat(step.actor)
        self.heard = [turn for turn in heard if turn.status == "ok" and turn.text.strip()]
        self.mine = [turn.text for turn in self.heard if turn.actor == step.actor]
        self.said = "\n".join(turn.text for turn in self.heard)
        self.sides = {seat.id: _side(seat) for seat in debate.participants}
        self.side = self.sides.get(step.actor, "open")
        seats = [seat.id for seat in (*debate.seats, *(debate.jury.seats if debate.jury else ()))]
        self.place = seats.index(step.actor)
        self.count = step.round + salt + (seats.index(step.target) if step.target else 0)
        self.motion = _clip(_plain(debate.motion), 16, 100)
        words = {word[:24]: 1 for word in _WORD.findall(debate.motion)}
        long = [word for word in words if len(word) > 3 and word.lower() not in _COMMON]
        self.terms = sorted(long or words or [self.motion], key=len, reverse=True)[:4]

    def number(self, *what: object) -> int:
        """A number that follows from the motion and from this alone, in every process."""
        seed = "\x1f".join(map(str, (self.debate.motion, *what)))
        return int.from_bytes(hashlib.sha256(seed.encode("utf-8", "replace")).digest()[:8], "big")

    def line(self, kind: str, nth: int = 0, **words: str) -> str:
        """The next line of a kind, filled in; other seats and rounds begin elsewhere."""
        start = self.place + self.place // len(POINTS) + self.count + nth
        chosen = LINES[kind][(self.number(kind) + start) % len(LINES[kind])]
        words |= {"term": self.terms[start % len(self.terms)], "answer": _ANSWERS[self.side]}
        return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], chosen)

    def point(self, nth: int = 0) -> dict[str, str]:
        """Something to speak about: what nobody has said yet, unless several speak together."""
        start = self.number("point") + 2 * self.place + 3 * self.count
        turned = [POINTS[(start + n) % len(POINTS)] for n in range(len(POINTS))]
        if not self.step.together:
            turned.sort(key=lambda point: point.get(self.side, point["ask"]) in self.said)
        return turned[nth % len(turned)]

    def argue(self, point: Mapping[str, str]) -> str:
        return point.get(self.side) or f"What nobody has answered yet is this: {point['ask']}"

    def open(self) -> str:
        """A question that nobody has asked or answered yet, if there is one."""
        points = sorted(POINTS, key=lambda one: self.number(one["ask"], self.count))
        return min(points, key=lambda one: sum(text in self.said for text in one.values()))["ask"]

    def speech(self) -> str:
        stage, found = self.step.stage, self.to_answer()
        if self.step.kind == "cue":
            return self._cue(stage)
        if stage == ASK:
            return self._recall()
        if self.step.kind != "speech" or (self.seat == self.debate.host and not self.mine):
            return self._overview()
        answer = f"“{self.motion}” with {_ANSWERS[self.side]}."
        if stage.startswith(_LAST) and self.mine:
            parts = [f"I began with “{_phrase(self.mine[0])}”, and I stand by it."]
            parts += [f"The hardest point was {turn.name}'s: “{said}”." for turn, said in found]
            return " ".join([*parts, f"So I still answer {answer}"])
        parts = [f"I am {self.seat.name}, and I answer {answer}"]
        if found and (self.mine or not stage.startswith("opening")):
            parts = [self.line("engage", other=found[0][0].name, quote=found[0][1])]
            if self.sides.get(found[0][0].actor) != self.side or self.side == "open":
                parts.append(self.line(self.side))
        cue = self.heard[-1].text if self.heard and self.heard[-1].kind == "cue" else ""
        asked = [one for one in POINTS if one["ask"] in cue and self.side in one]
        point = next((one for one in asked if one[self.side] not in self.said), self.point())
        return " ".join([*parts, self.argue(point), self.line("end")])

    def to_answer(self) -> list[tuple[Turn, str]]:
        """The turn that this seat would answer, and words of it; first of all the other side's."""
        others = [t for t in self.heard if t.kind == "note" or t.actor in self.sides]
        others = [t for t in others if t.kind in ("note", "speech") and t.actor != self.seat.id]
        if self.step.stage.startswith(_LAST):
            others = [turn for turn in others if turn.stage != self.step.stage]
        across = [t for t in others if {self.side, self.sides.get(t.actor)} == {"yes", "no"}]
        apart = [turn for turn in others if self.sides.get(turn.actor) != self.side]
        own = "\n".join(self.mine)
        return [(t, _phrase(t.text, own)) for t in (across or apart or others)[-1:]]

    def _recall(self) -> str:
        """An answer to a question asked afterwards: whose words come nearest to it."""
        wanted = {word.lower() for word in _WORD.findall(self.step.instruction) if len(word) > 3}
        told = [turn for turn in self.heard if turn.kind != "cue"]
        turn = max(told, key=lambda t: sum(w.lower() in wanted for w in _WORD.findall(t.text)))
        words = _phrase(turn.text).removesuffix(" …")
        quoted = f'[{turn.number} "{words}"]' if len(words) >= 12 else f"[{turn.number}]"
        return f"What {turn.name} said comes nearest: {quoted}."

    def _cue(self, stage: str) -> str:
        target = self.debate.seat(self.step.target_id)
        theirs = Step(self.step.round, stage, target.id, "speech", None, "")
        found = _Voice(self.debate, theirs, self.heard).to_answer()
        if stage.startswith(_LAST):
            return f"{target.name}, please conclude on “{self.motion}”."
        if stage.startswith("opening") or not found:
            return f"{target.name}, you have the floor. The motion is “{self.motion}”."
        ask = "What do you answer?" if stage.startswith("rebut") else self.open()
        return f"{target.name}, {found[0][0].name} said “{found[0][1]}”. {ask}"

    def _overview(self) -> str:
        """How a host begins and ends: who is where, and what they began with."""
        told = {"yes": "speaks for it", "no": "speaks against it", "open": "takes no side"}
        parts = [f"The motion before us is “{self.motion}”."]
        for seat in self.debate.participants:
            spoken = [t.text for t in self.heard if t.actor == seat.id and t.kind == "speech"]
            said = [f"{seat.name} {told[_side(seat)]}", *(f"“{_phrase(t)}”" for t in spoken[:1])]
            parts.append(f"{': '.join(said)}.")
        return f"{' '.join(parts)}\n\nOne question is open: {self.open()}"


class _Form:
    """Fills in any JSON Schema; `about` is what an entry is about, by the kinds of `_HINTS`."""

    def __init__(self, call: Call) -> None:
        self.step, self.root = call.step, call.schema or {}
        self.voice = voice = _Voice(call.debate, call.step, call.heard)
        self.used: dict[str, int] = {}
        order = {seat.id: place for place, seat in enumerate(call.debate.seats)}
        # Those who speak together are heard in any order.
        self.turns = sorted(voice.heard, key=lambda t: (t.round, order.get(t.actor, 99), t.seq))
        stands = [t for t in self.turns if t.kind == "speech" and _of(t) and not names_none(_of(t))]
        self.last = {turn.actor: turn for turn in stands}
        held = {_of(one): [t for t in self.last.values() if _of(t) == _of(one)] for one in stands}
        self.groups = sorted(held.items(), key=lambda one: (-sum(map(_weight, one[1])), one[0]))
        if voice.side == "open":  # whoever has no side takes one of the three options
            voice.side = [*OPTIONS][(voice.number("option") + voice.place) % 3]
        options = {side: option.format(voice.motion) for side, option in OPTIONS.items()}
        self.option = self._chosen(options[voice.side])
        voice.side = next((s for s, full in options.items() if full == self.option), voice.side)
        self.base = self._revised()

    def _chosen(self, own: str) -> str:
        """One's own at first; later some come over to another's; who decides takes the leader."""
        voice, stand = self.voice, self.last.get(self.step.actor)
        if self.groups and self.step.kind != "speech":
            return self.groups[0][0]
        if stand and _side(voice.seat) == "open" and (voice.number("moves") + voice.place) % 3:
            return self.groups[voice.number("lean") % len(self.groups)][0]
        return _of(stand) if stand else own

    def _named(self, option: str) -> str:
        return f"“{_clip(_plain(option.replace(f'“{self.voice.motion}”', 'it')), 12, 80)}”"

    def _revised(self) -> dict[str, Any]:
        """What has changed since this seat took its stand, and on whose word."""
        stand = self.last.get(self.step.actor)
        if stand is None or self.step.kind != "speech":
            return {}
        old, new = self._named(_of(stand)), self._named(self.option)
        said: dict[str, Any] = {"change": f"I move from {old} to {new}.", "turn": []}
        end = "I have no answer to that."
        if _of(stand) == self.option:
            said["change"], end = f"I still stand for {old}.", "My own point weighs more."
            said["claim"] = f"{_of(stand, 'claim') or _claim(stand)} I stand by that."
        others = [turn for turn in self.last.values() if turn is not stand]
        there = [turn for turn in others if _of(turn) == self.option]
        heard = there if "claim" not in said else [turn for turn in others if turn not in there]
        if heard:
            turn = heard[self.voice.number(self.step.actor) % len(heard)]
            said |= {"why": f"{turn.name} said “{_claim(turn)}”. {end}", "turn": [turn.number]}
        return said

    def entries(self, name: str) -> Sequence[Table] | None:
        """What was said that belongs into a list of that name; None if that is not known."""
        words, decides = set(_words(name)), self.step.kind != "speech"
        groups = [self._entry(*group) for group in self.groups]
        held = [one for one, (_, by) in zip(groups, self.groups, strict=True) if by]
        if words & {"agreement", "disagreement"}:
            return held[1:] if "disagreement" in words else [o for o in held[:1] if o["turn"][1:]]
        if "rejected" in words:
            return [one for one in groups if one["option"] != self.option]
        if words & {"why", "reason"} and groups and decides:
            best = max(self.groups[0][1], key=_weight)
            text = f"{best.name} gave the reason that weighs most: “{_claim(best)}”."
            return [groups[0], {"text": text, "turn": [best.number]}]
        if "risk" in words and decides:
            risks = {text: one.number for one in self.turns for text in _fields(one.data, "risk")}
            cures = {one["no"]: f"Settle this first: {one['ask']}" for one in POINTS}
            return [{"risk": r, "turn": [risks[r]], "mitigation": cures.get(r)} for r in risks][:6]
        if "challenge" in words:
            return [self._challenge()]
        if "response" in words:
            return self._responses()
        if "action" in words:
            return [{"turn": one["turn"]} for one in groups[:1]] * 3 or [{}]
        return [self.base] if "revision" in words else [] if words & {"same", "reject"} else None

    def _entry(self, option: str, held: Sequence[Turn]) -> Table:
        turns = held or [turn for turn in self.turns if _of(turn) == option]
        names = ", ".join(turn.name for turn in turns)
        text = f"{self._named(option)} has {len(held)} of {len(self.last)} behind it: {names}."
        text = text if held else f"{self._named(option)} was given up by {names}."
        return {"text": text, "option": option, "turn": sorted(turn.number for turn in turns)}

    def _challenge(self) -> Table:
        target = self.voice.debate.seat(self.step.target_id)
        heard = [turn for turn in self.turns if turn.actor == target.id != self.step.actor]
        said = {"claim": _claim(heard[-1]), "turn": [heard[-1].number]} if heard else {}
        return {"who": target.name, "claim": f"{target.name} was not heard.", **said}

    def _responses(self) -> list[Table]:
        found: list[Table] = []
        for turn in (turn for turn in self.turns if turn.target == self.step.actor):
            for ask in _fields(turn.data, "ask"):
                known = [one.get(self.voice.side) for one in POINTS if one["ask"] in ask]
                says = (known and known[0]) or self.voice.line("open", len(found))
                text = f"You ask: “{_clip(_plain(ask), 24, 200)}” {says}"
                found.append({"who": turn.name, "response": text, "turn": [turn.number]})
        return found

    def value(self, schema: Table, name: str, about: Table, depth: int) -> Any:
        schema = self._resolved(schema, depth)
        kind = schema.get("type") or ("object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((k for k in cast("list[str]", kind) if k != "null"), "null")
        few = {"boolean": [True, False], "null": [None]}.get(kind)
        if options := [schema["const"]] if "const" in schema else schema.get("enum", few):
            liked = [o for o in options if str(o).lower().startswith(_LIKED[self.voice.side])]
            known = [o for o in (about.get(_hint(name)), self.option, *liked) if o in options]
            return known[0] if known else self._pick(options, name)
        make = {"object": self._object, "array": self._array, "string": self._string}
        return make.get(kind, self._number)(schema, name, about, depth)

    def _resolved(self, schema: Table, depth: int) -> Table:
        """Follow references; of several branches take the first that is not null."""
        while branches := schema.get("anyOf") or schema.get("oneOf") or schema.get("$ref"):
            if isinstance(branches, str):
                found: Any = self.root
                for part in filter(None, branches.strip("#").split("/")):
                    found = found[part]
            else:
                null = [branch for branch in branches if branch.get("type") == "null"]
                full = [branch for branch in branches if branch not in null]
                found = (null if depth > _DEEP and null else full or null)[0]
            schema = {**found, **{k: schema[k] for k in schema.keys() - {"anyOf", "oneOf", "$ref"}}}
        return schema

    def _object(self, schema: Table, _: str, about: Table, depth: int) -> dict[str, Any]:
        wanted: set[str] = set(schema.get("required", ()))
        parts = cast("Mapping[str, Table]", schema.get("properties", {}))
        return {
            name: self.value(parts.get(name, {}), name, about or self.base, depth + 1)
            for name in (*parts, *sorted(wanted - parts.keys()))
            if name in wanted or depth < _DEEP
        }

    def _array(self, schema: Table, name: str, about: Table, depth: int) -> list[Any]:
        kind, found, least = _hint(name), self.entries(name), int(schema.get("minItems", 0))
        if isinstance(about.get(kind), list):
            found = [{kind: one} for one in about[kind]]
        elif kind == "turn":
            found = [{kind: turn.number} for turn in self.turns[-2:]]
        elif found is None:
            found = [about] * (2 if depth < _DEEP and name != "quotes" else 0)
        found = [*found, *[about] * (least - len(found))][: int(schema.get("maxItems", least + 20))]
        items = schema.get("items", {})
        return [self.value(items, name, {**about, **one}, depth + 1) for one in found]

    def _number(self, schema: Table, name: str, about: Table, _: int) -> float:
        whole = "integer" in schema["type"]
        low = schema.get("minimum", schema.get("exclusiveMinimum", -inf) + whole)
        high = schema.get("maximum", schema.get("exclusiveMaximum", inf) - whole)
        for number in (about.get("turn"), *(turn.number for turn in reversed(self.turns))):
            if _hint(name) == "turn" and isinstance(number, int) and low <= number <= high:
                return number
        low = low if low > -inf else min(0, high - 10)
        high = high if high < inf else low + (10 if whole else 1)
        value = low + (high - low) * self._pick(range(45, 86), f"{name} {self.step.round}") / 100
        near = round(value, 2) if high - low >= 1 else value
        return max(floor(value), ceil(low)) if whole else near

    def _string(self, schema: Table, name: str, about: Table, _: int) -> str:
        kind, form = _hint(name), schema.get("format", "")
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 4000))
        if form.startswith("date") or (kind == "date" and least <= 10 <= most):
            began = date.fromisoformat(self.voice.debate.created_at[:10])
            day = began + timedelta(days=7 * (1 + self._nth("date")))
            return f"{day.isoformat()}{'T12:00:00Z' if form == 'date-time' else ''}"
        given = about.get(kind) or (about.get("text") if kind in ("", "why", "claim") else None)
        text = given if isinstance(given, str) else self._line(kind)
        if pattern := schema.get("pattern"):
            runs = [" ".join(re.findall("[A-Za-z]+", text)[:n]) for n in range(1, 13)]
            runs += [run.lower().replace(" ", "-") for run in runs] + [f"{run}." for run in runs]
            runs += ["A1", "2030-01-01", *(char * n for n in range(1, 41) for char in "1aA")]
            fits = (s for s in (text, *runs) if least <= len(s) <= most and re.search(pattern, s))
            return next(fits, text)
        text = " ".join([text] * (least // len(text) + 1))
        cut = text if len(text) <= most else text[:most].rsplit(" ", 1)[0]
        return cut if len(cut) >= least else text[:most]

    def _line(self, kind: str) -> str:
        """Words for a field of a kind, others at each time."""
        voice, seats, nth = self.voice, self.voice.debate.participants, self._nth(kind)
        return {
            "option": self.option, "who": seats[nth % len(seats)].name, "id": f"A{nth + 1}",
            "claim": voice.argue(voice.point(nth)), "ask": voice.point(nth)["ask"],
            "why": f"{voice.argue(voice.point(nth + 1))} {voice.line('end', nth)}",
            "risk": voice.point(nth + 2)["no"], "change": "Nothing has changed.",
            "mitigation": f"Settle this first: {voice.point(nth + 2)['ask']}",
            "action": ("Tell everyone concerned what was decided, and why.",
                       f"Answer what is still open: {voice.open()}",
                       "Look at the result together, and decide whether to go on.")[nth % 3],
        }.get(kind, voice.argue(voice.point(nth + 3)))  # fmt: skip

    def _pick(self, options: Sequence[Any], name: str) -> Any:
        return options[(self.voice.number(self.step.actor, name) + self._nth(name)) % len(options)]

    def _nth(self, what: str) -> int:
        self.used[what] = self.used.get(what, -1) + 1
        return self.used[what]


def _side(seat: Participant) -> str:
    found = (side for begin, side in _ROLES.items() if seat.role.lower().startswith(begin))
    return {"pro": "yes", "con": "no"}.get(seat.stance) or next(found, "open")


def _words(name: str) -> list[str]:
    """The words of a field's name: nextActions → next, action."""
    return [part.lower().removesuffix("s") for part in _PART.findall(name)]


def _hint(name: str) -> str:
    return next((_HINTS[word] for word in reversed(_words(name)) if word in _HINTS), "")


def _fields(data: Any, kind: str | None = None, name: str = "") -> Iterator[str]:
    if isinstance(data, str) and kind in (None, _hint(name)):
        yield data
    named = cast(Table, data).items() if isinstance(data, Mapping) else ()
    listed = cast("Sequence[Any]", data) if isinstance(data, list | tuple) else ()
    for key, part in (*named, *((name, part) for part in listed)):
        yield from _fields(part, kind, key)


def _of(turn: Turn, kind: str = "option") -> str:
    """What a turn's answer says in a field of a kind; "" if it has none."""
    found = ((_hint(name), part) for name, part in (turn.data or {}).items())
    return next((part for hint, part in found if hint == kind and isinstance(part, str)), "")


def _weight(turn: Turn) -> float:
    shares = [part for name, part in (turn.data or {}).items() if _hint(name) == "share"]
    return 0.5 + sum(part for part in shares[:1] if isinstance(part, int | float)) / 2


def _claim(turn: Turn) -> str:
    return _phrase(_of(turn, "claim") or turn.text)


def _plain(text: str) -> str:
    """On one line, and without marks that would end its quotation."""
    return " ".join(text.split()).translate(str.maketrans('“”"', "‘’’"))


def _clip(text: str, words: int, chars: int) -> str:
    short = " ".join(text.split()[:words])
    short = short if len(short) <= chars else short[:chars].rsplit(" ", 1)[0]
    return short if short == text else f"{short} …"


def _phrase(text: str, but: str = "") -> str:
    """Some words of a turn that can be quoted: a whole sentence, if there is one that fits."""
    said = [one.strip() for one in _SENTENCE.split(text) if one]
    whole = [one for one in said if len(one.encode()) >= 24 and not set('“”"') & set(one)]
    fresh = [one for one in whole if one.rstrip(".") not in but]
    return _clip((fresh or whole or [_plain(text)])[-1].rstrip(". ") or "…", 24, 140)
