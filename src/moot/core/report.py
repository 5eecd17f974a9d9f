"""Turns → report: what was said, by whom, and what it took. As JSON, Markdown and HTML.

Nothing here asks a model: what no speaker summed up is picked from what the speakers said, by a
count of words. The same turns give the same report, to the byte.
"""

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as html_escape
from typing import Any

from moot.core.clean import visible
from moot.core.debate import Debate, Turn
from moot.core.prompts import quote
from moot.core.times import seconds
from moot.core.transcript import escape, label

POINTS = 3  # how many main points a speaker has, at the most
SUMMARY_SENTENCES = 4  # of a summary that nobody spoke
SHORTEST, LONGEST = 6, 35  # words of a sentence that can stand alone
MAX_POINT = 320  # characters; what is longer is cut
MAX_ROWS = 24  # of the plot by round; more rounds than that share rows
HUES = 8  # colours; the ninth speaker has the first one's, paler


# --- the report ---


def report(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """The report of a debate in whatever state it is, from its turns alone.

    Seconds are those of the turns added up: where several speak at once they come to more than
    `durationSeconds`, which is the clock's. A failed turn is a turn, and a failure, with no words.
    """
    turns = sorted(turns, key=lambda turn: turn.seq)
    told = [_Told(turn) for turn in turns]
    totals = _statistics(told, sum(item.words for item in told))
    spoken, words = _sentences(turns), totals["words"]
    speakers = [
        _speaker(debate, actor, [item for item in told if item.turn.actor == actor], words, spoken)
        for actor in _actors(debate, turns)
    ]
    decided = debate.outcome
    return {
        "debate": debate.id,
        "motion": debate.motion,
        "format": debate.format,
        "status": debate.status,
        "stopReason": debate.stop_reason,
        "degraded": debate.degraded,
        "startedAt": debate.started_at,
        "endedAt": debate.ended_at,
        "durationSeconds": _duration(debate, turns),
        "summary": _summary(debate, turns, spoken, speakers),
        "decision": decided
        and {
            "selectedOption": decided.selected_option,
            "consensusScore": decided.consensus_score,
            "confidenceScore": decided.confidence_score,
        },
        "speakers": speakers,
        "totals": totals,
        "rounds": _rounds(told),
        "timeline": [
            {
                "turn": item.turn.seq,
                "speaker": item.turn.actor,
                "seconds": item.seconds,
                "words": item.words,
                "failed": item.failed,
            }
            for item in told
        ],
        "failures": [
            {
                "turn": item.turn.seq,
                "round": item.turn.round,
                "stage": item.turn.stage,
                "speaker": item.turn.actor,
                "model": item.turn.model,
                "errorCode": item.turn.error_code,
            }
            for item in told
            if item.failed
        ],
        "method": "extraction",
    }


class _Told:
    """A turn, measured."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.failed = turn.status == "failed"
        self.words = 0 if self.failed else sum(1 for _ in _WORD.finditer(turn.text))
        self.seconds = round(max(0.0, seconds(turn.committed_at) - seconds(turn.started_at)), 3)


def _statistics(told: Sequence[_Told], all_words: int) -> dict[str, Any]:
    used = [item.turn.usage for item in told]
    words = sum(item.words for item in told)
    return {
        "turns": len(told),
        "words": words,
        "inputTokens": sum(usage.input_tokens for usage in used),
        "outputTokens": sum(usage.output_tokens for usage in used),
        "costUsd": round(math.fsum(usage.cost_usd for usage in used), 8),
        "seconds": round(math.fsum(item.seconds for item in told), 3),
        "retries": sum(max(0, usage.calls - 1) for usage in used),
        "failures": sum(item.failed for item in told),
        "longestTurnWords": max((item.words for item in told), default=0),
        "share": round(words / all_words, 4) if all_words else 0.0,
        "estimated": any(usage.estimated for usage in used),
    }


def _actors(debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """Everyone with a seat, and whoever spoke without one: a person's note."""
    ids = (*(seat.id for seat in debate.seats), *(turn.actor for turn in turns))
    return list(dict.fromkeys(ids))


def _speaker(
    debate: Debate,
    actor: str,
    told: Sequence[_Told],
    all_words: int,
    spoken: "_Spoken",
) -> dict[str, Any]:
    seat = next((seat for seat in debate.seats if seat.id == actor), None)
    own = [item.turn for item in told]
    spoke = [turn.model for turn in own if turn.status == "ok" and turn.model]
    models = list(dict.fromkeys(spoke or [turn.model for turn in own if turn.model]))
    return {
        "id": actor,
        "name": seat.name if seat else own[0].name,
        "role": seat.role if seat else "person",
        "stance": seat.stance if seat else "neutral",
        "models": models or ([seat.model] if seat else []),
        "mainPoints": _stated(own) or spoken.points(actor),
        "statistics": _statistics(told, all_words),
    }


def _duration(debate: Debate, turns: Sequence[Turn]) -> float | None:
    """From the start to the end; of one that has not ended, to its last turn."""
    last = debate.ended_at or (turns[-1].committed_at if turns else None)
    if debate.started_at is None or last is None:
        return None
    return round(max(0.0, seconds(last) - seconds(debate.started_at)), 3)


def _rounds(told: Sequence[_Told]) -> list[dict[str, Any]]:
    groups: dict[tuple[int, str], list[_Told]] = {}
    for item in told:
        groups.setdefault((item.turn.round, item.turn.stage), []).append(item)
    return [
        {
            "round": number,
            "stage": stage,
            "turns": len(group),
            "words": sum(item.words for item in group),
            "seconds": round(math.fsum(item.seconds for item in group), 3),
            "wordsBySpeaker": dict(_by_speaker(group)),
        }
        for (number, stage), group in sorted(groups.items(), key=lambda entry: entry[0][0])
    ]


def _by_speaker(told: Iterable[_Told]) -> Counter[str]:
    words: Counter[str] = Counter()
    for item in told:
        words[item.turn.actor] += item.words
    return words


def _summary(
    debate: Debate,
    turns: Sequence[Turn],
    spoken: "_Spoken",
    speakers: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What the host or the judge closed with; else the sentences the debate turned on."""
    last = _closing(turns)
    if last is None:
        points = {(point["text"], point["turn"]) for who in speakers for point in who["mainPoints"]}
        text = spoken.gist(points, debate.host.id if debate.host else None)
        return {"text": text, "by": "extraction", "turn": None}
    if last.kind == "verdict":
        by = "judge"
    else:  # with no host, a participant closes; of a council without verdict, the Synthesizer
        by = "host" if debate.host and last.actor == debate.host.id else "participant"
    return {"text": last.text, "by": by, "turn": last.seq}


def _closing(turns: Sequence[Turn]) -> Turn | None:
    """The summary or verdict after which nobody took the floor again."""
    for turn in reversed(turns):
        if turn.status == "ok" and turn.kind in ("summary", "verdict"):
            return turn
        if turn.status == "ok" and turn.kind == "speech":
            return None
    return None


def _stated(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """The main points of somebody who gave structured answers: their claims.

    A claim that is repeated, with more or with less, is one point, in its fullest wording.
    """
    claims: dict[str, dict[str, Any]] = {}
    questions: dict[str, dict[str, Any]] = {}
    for turn in turns:
        data: Mapping[str, Any] = turn.data or {}
        if turn.status == "failed" or not data:
            continue
        if (claim := _claim(data)) and not any(_key(claim) in said for said in claims):
            claims = {said: point for said, point in claims.items() if said not in _key(claim)}
            claims[_key(claim)] = {"text": _clip(claim), "turn": turn.seq}
        for item in data.get("challenges") or ():
            asked = " ".join(str(item.get("question", "")).split())
            questions.setdefault(_key(asked), {"text": _clip(asked), "turn": turn.seq})
    points = [*claims.values()] or [point for key, point in questions.items() if key]
    return points if len(points) <= POINTS else [*points[: POINTS - 1], points[-1]]


def _claim(data: Mapping[str, Any]) -> str:
    """What an answer stands for: its option and its claim, or what it decides."""
    option = " ".join(str(data.get("position") or data.get("selectedOption") or "").split())
    claim = " ".join(str(data.get("claim") or "").split())
    for why in data.get("whySelected") or ():
        claim = claim or " ".join(str(why.get("text", "")).split())
    if not claim or _key(option) in _key(claim):
        return claim or option
    return f"{option.rstrip('.!:;, ')}: {claim}"


# --- extraction ---


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}](?:[^\W_{_CJK}]|['’.,\-](?=[^\W_{_CJK}]))*")
_END = re.compile(
    r"[.!?…][\"'”’»)\]*_]{0,3}(?=\s|$)|[\u3002\uff01\uff1f\uff61][\u300d\u300f\uff09”’)]?"
)
_QUOTED = re.compile("[“„«「][^”“»」]{20,}[”“»」]")
_BLOCKS = re.compile(r"\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•>]|\d{1,3}[.)]|#{1,6})[^\S\n])")
_MARK = re.compile(r"(?:(?:[-*+•>]|\d{1,3}[.)]|#{1,6})\s+)+")
_ABBREVIATIONS = _set(
    "mr mrs ms dr prof st sr jr vs cf eg ie e.g i.e viz al no nos fig figs eq sec ch vol pp p art "
    "approx est dept gov gen sen rep inc ltd co corp u.s u.k u.n a.m p.m z.b d.h u.a bzw ca nr "
    "abs bsp vgl sog mme mlle p.ex ej sra"
)
_COMMON = _set(
    "a about after all also am an and any are as at be because been before being but by can could "
    "did do does doing done down each even every for from get gets give given gives had has have "
    "having he her here him his how i if in into is it it's its just let like made make makes many "
    "may me might more most much must my no nor not now of off on once one only or other our out "
    "over own said same say says see she should so some still such take takes than that that's the "
    "their them then there these they this those through to too under up us very was way we well "
    "were what when where which while who whom whose why will with without would yes yet you your "
    "der die das ein eine einen und oder aber nicht ist sind war wird werden mit von zu im auf für "
    "dass sie er es wir ich als auch wie man le la les un une des du de et ou est sont que qui pas "
    "pour dans sur avec ce cette nous vous il elle el los las una y o son por para con se su lo"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Sentence:
    text: str
    turn: int
    actor: str
    name: str
    point: bool  # whether it may be a main point: cues and the closing words are not
    length: float  # in words
    terms: frozenset[str]


class _Spoken:
    """The sentences of a debate, and how telling each word in them is."""

    def __init__(self, sentences: Sequence[_Sentence]) -> None:
        self._by_actor: dict[str, list[_Sentence]] = {}
        self._own: dict[str, Counter[str]] = {}  # in how many sentences of a speaker a term is
        self._all: Counter[str] = Counter()
        self._first: dict[str, int] = {}  # the turn in which a term came up
        self._echoes: set[_Sentence] = set()  # what somebody else had said before
        said: dict[str, str] = {}
        seen: set[tuple[str, str]] = set()
        for sentence in sentences:
            own = self._own.setdefault(sentence.actor, Counter())
            own.update(sentence.terms)
            self._all.update(sentence.terms)
            for term in sentence.terms:
                self._first.setdefault(term, sentence.turn)
            key = _key(sentence.text)
            if not sentence.point or not key or (sentence.actor, key) in seen:
                continue
            seen.add((sentence.actor, key))
            if said.setdefault(key, sentence.actor) != sentence.actor:
                self._echoes.add(sentence)
            self._by_actor.setdefault(sentence.actor, []).append(sentence)
        self._count = len(sentences)

    def points(self, actor: str) -> list[dict[str, Any]]:
        """The sentences that tell a speaker from the others, in the order they were spoken."""
        said = self._by_actor.get(actor, [])
        own = [s for s in said if s not in self._echoes] or said
        chosen = _choose({s: self._telling(s) for s in own}, POINTS)
        return [{"text": _clip(s.text), "turn": s.turn} for s in chosen]

    def gist(self, points: set[tuple[str, int]], host: str | None) -> str:
        """The sentences that hold most of what everyone came back to, each with its speaker."""
        actors = [actor for actor in self._by_actor if actor != host] or [*self._by_actor]
        scores = {
            s: self._central(s) * (0.6 if (_clip(s.text), s.turn) in points else 1.0)
            for actor in actors
            for s in self._by_actor[actor]
        }
        chosen = _choose(scores, SUMMARY_SENTENCES)
        return "\n\n".join(f"{s.name}: {_clip(s.text)}" for s in chosen)

    def _telling(self, sentence: _Sentence) -> float:
        """Words that the speaker uses often, the others seldom, and nobody had before, tell most.

        tf·idf, with the speaker's share of a word's uses and its novelty as further factors.
        """
        own, total = self._own[sentence.actor], 0.0
        for term in sorted(sentence.terms):
            everywhere = self._all[term]
            rarity = math.log(1 + self._count / everywhere)
            new = 1.0 if self._first[term] == sentence.turn else 0.7
            total += math.log1p(own[term]) * rarity * new * own[term] / everywhere
        return total / (len(sentence.terms) + 4) * self._standing(sentence)

    def _central(self, sentence: _Sentence) -> float:
        """Words used often, yet not in every sentence: −p·log p of each, over the sentence."""
        total = 0.0
        for term in sorted(sentence.terms):
            share = self._all[term] / self._count
            total -= share * math.log(share)
        return total / (len(sentence.terms) + 4) * self._standing(sentence)

    def _standing(self, sentence: _Sentence) -> float:
        """How well a sentence stands alone: no scrap, no page, no quotation, no question."""
        fit = 0.5 if sentence in self._echoes else 1.0
        if sentence.length < SHORTEST:
            fit *= 0.1 + 0.4 * sentence.length / SHORTEST
        elif sentence.length > LONGEST:
            fit *= max(0.3, LONGEST / sentence.length)
        if _QUOTED.search(sentence.text):
            fit *= 0.7  # another's words
        asks = sentence.text.rstrip("\"'”’»)」』）").endswith(("?", "？"))
        return fit * (0.6 if asks else 1.0)


def _choose(scores: Mapping[_Sentence, float], most: int) -> list[_Sentence]:
    """The best, one after the other: none much like one chosen before, rather of others."""
    telling = any(score > 0 for score in scores.values())
    left: dict[_Sentence, float] = {s: x for s, x in scores.items() if x > 0 or not telling}
    chosen: list[_Sentence] = []
    while left and len(chosen) < most:
        best = max(left, key=lambda s: (round(left[s], 12), -s.turn))  # a tie: what came first
        chosen.append(best)
        left = {
            s: score * (0.7 if s.turn == best.turn else 0.85 if s.actor == best.actor else 1.0)
            for s, score in left.items()
            if s is not best and not _alike(s.terms, best.terms)
        }
    places = {sentence: place for place, sentence in enumerate(scores)}
    return sorted(chosen, key=lambda s: (s.turn, places[s]))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    both = len(one & other)
    return both > 0.6 * min(len(one), len(other)) if one and other else False


def _sentences(turns: Sequence[Turn]) -> _Spoken:
    last = _closing(turns)
    found: list[_Sentence] = []
    for turn in turns:
        if turn.status == "failed":
            continue
        point = turn.kind != "cue" and turn is not last
        for text in split(_prose(turn)):
            length, terms = _terms(text)
            found.append(_Sentence(text, turn.seq, turn.actor, turn.name, point, length, terms))
    return _Spoken(found)


def _prose(turn: Turn) -> str:
    """What a turn says in sentences; the labels of a structured answer are not the speaker's."""
    data: Mapping[str, Any] = turn.data or {}
    parts = [data.get("claim"), data.get("rationale")]
    parts += [item.get("question") for item in data.get("challenges") or ()]
    return "\n\n".join(str(part) for part in parts if part) or turn.text


def split(text: str) -> list[str]:
    """The sentences of a text, each on one line. Line ends count where there are no full stops."""
    found: list[str] = []
    for block in _BLOCKS.split(text):
        if _END.search(block):
            found += _split_block(" ".join(block.replace("**", "").split()))
        else:
            found += [" ".join(line.replace("**", "").split()) for line in block.split("\n")]
    bare = (_MARK.sub("", sentence, count=1) for sentence in found)
    return [sentence for sentence in bare if _WORD.search(sentence)]


def _split_block(text: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if text[end.start()] != "." or not _abbreviated(text, start, end):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    return [*sentences, text[start:].strip()]


def _abbreviated(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether the sentence goes on behind this full stop."""
    ahead = text[end.end() + 1 : end.end() + 2]
    if not ahead:
        return False
    before = text[max(start, end.start() - 16) : end.start()].split(" ")[-1].lstrip("(\"'“‘«")
    if ahead.islower() or before.lower() in _ABBREVIATIONS:
        return True
    initial = len(before) == 1 and before.isalpha() and before.isupper() and before != "I"
    return initial or (before.isdigit() and not text[start : end.start()].strip("0123456789 "))


def _terms(text: str) -> tuple[float, frozenset[str]]:
    """How long a sentence is, and the words that tell. Of CJK, which has no spaces, the pairs."""
    length, before, ended, terms = 0.0, "", -1, set[str]()
    for found in _WORD.finditer(text):
        word = found[0]
        if _is_cjk(word):
            length += 0.6  # a word has between one and two characters
            if found.start() == ended:
                terms.add(before + word)
            before, ended = word, found.end()
            continue
        length += 1
        word = word.casefold().replace("’", "'")
        if len(word) > 1 and word not in _COMMON:
            terms.add(_stem(word))
    return length, frozenset(terms)


def _is_cjk(word: str) -> bool:
    return len(word) == 1 and word >= "\u3040" and not "\ua000" <= word <= "\uf8ff"


def _stem(word: str) -> str:
    """One form for plain plurals and possessives; nothing that a language could take amiss."""
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 4 and word.endswith("s") and word[-2] not in "su" else word


def _key(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _clip(text: str) -> str:
    if len(text) <= MAX_POINT:
        return text
    cut = text.rfind(" ", MAX_POINT // 2, MAX_POINT)
    return text[: cut if cut > 0 else MAX_POINT].rstrip(" ,;:-–—") + " …"


# --- as Markdown ---

_COLUMNS = (
    "Turns", "Words", "Share", "Longest", "Tokens in", "Tokens out", "Cost", "Time", "Retries",
    "Failures",
)  # fmt: skip
_BY = {
    "host": "The host’s closing words",
    "judge": "The judge’s verdict",
    "participant": "A participant’s closing words",
    "extraction": "Picked from what was said; nobody summed up",
}
_METHOD = (
    "Main points are picked by extraction: the sentences whose words tell a speaker from the "
    "others, word for word. No model wrote this report."
)


def markdown(report: Mapping[str, Any]) -> str:
    """A report as a document. What was said in the debate cannot mark up anything in it."""
    summary, names = report["summary"], _names(report)
    lines = [f"# {_line(report['motion'])}", ""]
    lines += [f"- {name}: {_line(value)}" for name, value in _facts(report)]
    if decided := report.get("decision"):
        lines += ["", "## Decision", "", f"**{_line(decided['selectedOption'])}**", ""]
        lines += [f"- {name}: {value:.0%}" for name, value in _scores(decided)]
    lines += ["", "## Summary", ""]
    if summary["text"]:
        where = f", `turn:{summary['turn']}`" if summary["turn"] else ""
        lines += [quote(escape(visible(summary["text"]))), "", f"*{_BY[summary['by']]}{where}.*"]
    else:
        lines.append("*Nothing was said.*")
    lines += ["", "## Speakers", ""]
    for who in report["speakers"]:
        lines += [f"### {_line(who['name'])}", "", f"*{_line(_seat(who))}*", ""]
        points = [f"- {_line(p['text'])} `turn:{p['turn']}`" for p in who["mainPoints"]]
        lines += [*(points or ["*No main point.*"]), ""]
    rows = [(who["name"], *_figures(who["statistics"])) for who in report["speakers"]]
    lines += ["## Statistics", "", *_table(("Speaker", *_COLUMNS), rows, report["totals"])]
    if report["rounds"]:
        lines += ["", "## Rounds", "", *_table(_ROUND_COLUMNS, _round_rows(report))]
    if report["failures"]:
        lines += ["", "## Failures", "", *_table(_FAILURE_COLUMNS, _failure_rows(report, names))]
    return "\n".join([*lines, "", f"*{_METHOD}*", ""])


def _line(text: Any) -> str:
    """Untrusted text within a line of Markdown."""
    return escape(" ".join(visible(str(text)).split()))


def _table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    totals: Mapping[str, Any] | None = None,
) -> list[str]:
    body = [*rows, ("All", *_figures(totals))] if totals else [*rows]
    cells = [[_line(cell).replace("|", "\\|") for cell in row] for row in body]
    lined = [["---", *["---:" for _ in head[1:]]], *cells]
    return [f"| {' | '.join(row)} |" for row in ([*head], *lined)]


# --- what both show ---

_ROUND_COLUMNS = ("Round", "Turns", "Words", "Time")
_FAILURE_COLUMNS = ("Turn", "Where", "Speaker", "Model", "Code")


def _names(report: Mapping[str, Any]) -> dict[str, str]:
    return {who["id"]: who["name"] for who in report["speakers"]}


def _facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    totals = report["totals"]
    reason = f" ({_plain(report['stopReason'])})" if report["stopReason"] else ""
    lasted = report["durationSeconds"]
    spent = f"{totals['inputTokens']:,} in, {totals['outputTokens']:,} out"
    about = " (in part estimated)" if totals["estimated"] else ""
    return [
        ("Debate", f"{report['debate']}, {report['format']}"),
        ("Status", f"{report['status']}{reason}{', degraded' if report['degraded'] else ''}"),
        ("Began", _moment(report["startedAt"]) or "never"),
        ("Ended", _moment(report["endedAt"]) or "not yet"),
        *([("Lasted", _time(lasted))] if lasted is not None else []),
        ("Tokens", spent + about),
        ("Cost", _money(totals["costUsd"])),
    ]


def _scores(decided: Mapping[str, Any]) -> list[tuple[str, float]]:
    scores = (("Consensus", "consensusScore"), ("Confidence", "confidenceScore"))
    return [(name, float(decided[key])) for name, key in scores]


def _seat(who: Mapping[str, Any]) -> str:
    plain = who["role"] in ("participant", "host", "person") or who["role"] == who["name"]
    roles = [who["role"]] if who["role"] in ("host", "person") or not plain else []
    stance = [who["stance"]] if who["stance"] != "neutral" else []
    return " · ".join([*roles, *stance, *(label(model) for model in who["models"])])


def _figures(statistics: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{statistics['turns']:,}",
        f"{statistics['words']:,}",
        f"{statistics['share']:.0%}",
        f"{statistics['longestTurnWords']:,}",
        f"{statistics['inputTokens']:,}",
        f"{statistics['outputTokens']:,}",
        _money(statistics["costUsd"]),
        _time(statistics["seconds"]),
        f"{statistics['retries']:,}",
        f"{statistics['failures']:,}",
    )


def _round_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (_where(item), f"{item['turns']:,}", f"{item['words']:,}", _time(item["seconds"]))
        for item in report["rounds"]
    ]


def _failure_rows(report: Mapping[str, Any], names: Mapping[str, str]) -> list[tuple[str, ...]]:
    return [
        (
            f"turn:{item['turn']}",
            _where(item),
            names.get(item["speaker"], item["speaker"]),
            label(item["model"]),
            item["errorCode"] or "",
        )
        for item in report["failures"]
    ]


def _where(item: Mapping[str, Any]) -> str:
    stage, number = _plain(item["stage"]), item["round"]
    if number == 0 or stage == f"round{number}":
        return stage.replace("round", "round ")
    return f"{number} · {stage}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _moment(at: str | None) -> str:
    return f"{at[:10]} {at[11:19]} UTC" if at else ""


def _time(value: float) -> str:
    if value >= 3600:
        return f"{value // 3600:.0f} h {value % 3600 // 60:.0f} min"
    if value >= 120:
        return f"{value // 60:.0f} min {value % 60:.0f} s"
    return (
        f"{value:.1f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value:.3f} s"
    )


def _money(value: float) -> str:
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


# --- as HTML ---

_LIGHT = (
    "#2f6fb3", "#c8641b", "#23856b", "#9a4fb0", "#a8860f", "#c2406a", "#4f8a2b", "#6b6bc9",
)  # fmt: skip
_DARK = (
    "#6aa9e9", "#f0965a", "#4fc3a1", "#cf8ee0", "#d9b945", "#f07f9f", "#8cc466", "#a3a3f5",
)  # fmt: skip
_TONES = {
    "light": "--bg:#f6f6f3;--card:#fff;--ink:#1d1f23;--soft:#5c626b;--line:#dcdcd6;--bad:#c02b2b;"
    "--warn:#8a5a00;--warnbg:#fff2d6;--bar:#ebebe6;",
    "dark": "--bg:#14161a;--card:#1d2026;--ink:#e8e8e4;--soft:#a2a8b2;--line:#343942;--bad:#ff7b72;"
    "--warn:#ffd58a;--warnbg:#3a2c0c;--bar:#2a2e36;",
}


def _tones(tone: str, hues: Sequence[str]) -> str:
    return _TONES[tone] + "".join(f"--c{place}:{hue};" for place, hue in enumerate(hues))


def _style() -> str:
    tones = f":root{{color-scheme:light dark;{_tones('light', _LIGHT)}}}"
    dark = f"@media (prefers-color-scheme:dark){{:root{{{_tones('dark', _DARK)}}}}}"
    hues = (
        f".c{place},.c{place + HUES}{{fill:var(--c{place});stroke:var(--c{place})}}"
        f".c{place + HUES}{{opacity:.55}}"
        for place in range(HUES)
    )
    return "".join((tones, dark, *hues, _RULES))


_RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:64rem;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 .8rem;text-wrap:balance}
h2{font-size:1.1rem;margin:0 0 .8rem}
h3{font-size:1rem;margin:0}
h1,h2,h3,p,li,td,th,dd,blockquote,.name{overflow-wrap:anywhere;unicode-bidi:plaintext}
p{margin:.5rem 0}
.kicker,.by,.note,footer,dt,.seat,figcaption,.axis{color:var(--soft);font-size:.85rem}
.kicker{text-transform:capitalize;letter-spacing:.02em;margin:0}
.badge{display:inline-block;border-radius:1rem;padding:.05rem .6rem;margin-inline-start:.4rem;
background:var(--bar);color:var(--ink)}
.warn{background:var(--warnbg);color:var(--warn)}
section{background:var(--card);border:1px solid var(--line);border-radius:.7rem;
padding:1.1rem 1.25rem;margin:1rem 0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.7rem 1.2rem;
margin:0}
dt{margin:0}
dd{margin:0;font-size:1.05rem;font-variant-numeric:tabular-nums}
.facts dd{font-size:.95rem}
.decided{font-size:1.3rem;font-weight:600;margin:0 0 .8rem}
blockquote{margin:0;padding-inline-start:.9rem;border-inline-start:3px solid var(--line)}
.speaker{padding:.9rem 0;border-top:1px solid var(--line)}
.speaker:first-of-type{border-top:0;padding-top:0}
.speaker:last-child{padding-bottom:0}
.seat{margin:0}
ul{margin:.5rem 0 0;padding-inline-start:1.2rem}
li{margin:.35rem 0}
.ref{color:var(--soft);font-size:.8rem;white-space:nowrap}
.swatch{width:.75rem;height:.75rem;border-radius:.2rem;margin-inline-end:.45rem;
vertical-align:-.05em}
figure{margin:0 0 1.6rem}
figure:last-child{margin-bottom:0}
figcaption{margin:0 0 .5rem;color:var(--ink);font-weight:600;font-size:.95rem}
.bars{display:grid;grid-template-columns:minmax(4rem,max-content) 1fr max-content;
gap:.3rem .8rem;align-items:center;font-size:.9rem}
.bars .name{max-width:13rem}
.bars .value{text-align:end;font-variant-numeric:tabular-nums;color:var(--soft)}
.bars svg{display:block;width:100%;height:1.05rem;border-radius:.2rem;background:var(--bar)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.6rem 0 0;padding:0;list-style:none;
font-size:.85rem}
.legend li{margin:0}
.plot{display:grid;grid-template-columns:max-content 1fr;gap:.2rem .6rem}
.plot svg{display:block;width:100%;height:10rem;border-bottom:1px solid var(--line);
border-inline-start:1px solid var(--line);overflow:visible}
.axis{display:flex;justify-content:space-between;font-variant-numeric:tabular-nums}
.up{flex-direction:column;text-align:end}
.dot{stroke-width:7;stroke-linecap:round;fill:none;vector-effect:non-scaling-stroke}
.many .dot{stroke-width:4}
.failed{stroke:var(--bad);stroke-width:2;stroke-dasharray:4 3;fill:none;
vector-effect:non-scaling-stroke}
.grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .45rem;text-align:end;border-bottom:1px solid var(--line);
overflow-wrap:normal}
th{color:var(--soft);font-weight:600;white-space:nowrap}
th:first-child,td:first-child{text-align:start;padding-inline-start:0;min-width:6rem}
td{white-space:nowrap}
td:first-child,.text td{white-space:normal}
th:first-child,td:first-child{position:sticky;left:0;background:var(--card)}
tr.all td{font-weight:600;border-bottom:0}
table.text th,table.text td{text-align:start}
summary{cursor:pointer;font-weight:600}
summary h2{display:inline}
details[open] summary{margin-bottom:.7rem}
footer{margin-top:1.5rem}
@media (max-width:34rem){main{padding:1.1rem .8rem 2rem}h1{font-size:1.35rem}
section{padding:.9rem .9rem}.bars .name{max-width:7.5rem}}
@media print{section{break-inside:avoid}body{background:none}}
rect{stroke:none}
"""
_STYLE = _style()
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
)


def html(report: Mapping[str, Any]) -> str:
    """A report as one document that fetches nothing, runs nothing, and trusts no text in it."""
    title = _text(report["motion"])
    badge = f'<span class="badge">{_text(report["status"])}</span>'
    if report["degraded"]:
        badge += '<span class="badge warn">degraded</span>'
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html_escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<header>",
        f'<p class="kicker">{_text(report["format"])} debate {badge}</p>',
        f'<h1 dir="auto">{title}</h1>\n</header>',
        _html_decision(report),
        _html_summary(report["summary"]),
        _html_totals(report),
        _html_plots(report),
        _html_speakers(report),
        _html_tables(report),
        f"<footer><p>{_text(_METHOD)}</p><p>{_text(report['debate'])}</p></footer>",
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _text(value: Any) -> str:
    """Untrusted text anywhere in the document, attributes included."""
    return html_escape(visible(str(value)), quote=True)


def _html_decision(report: Mapping[str, Any]) -> str:
    decided = report.get("decision")
    if not decided:
        return ""
    bars = "".join(
        _bar_row(_text(name), [(value, "c2", f"{name}: {value:.0%}")], 1.0, f"{value:.0%}")
        for name, value in _scores(decided)
    )
    return (
        f'<section><h2>Decision</h2><p class="decided" dir="auto">'
        f'{_text(decided["selectedOption"])}</p><div class="bars">{bars}</div></section>'
    )


def _html_summary(summary: Mapping[str, Any]) -> str:
    paragraphs = re.split(r"\n\s*\n", visible(summary["text"]))
    said = "".join(
        f'<p dir="auto">{_text(text).replace(chr(10), "<br>")}</p>' for text in paragraphs if text
    )
    if not said:
        return '<section><h2>Summary</h2><p class="note">Nothing was said.</p></section>'
    where = f", {_ref(summary['turn'])}" if summary["turn"] else ""
    return (
        f"<section><h2>Summary</h2><blockquote>{said}</blockquote>"
        f'<p class="by">{_BY[summary["by"]]}{where}.</p></section>'
    )


def _ref(turn: int) -> str:
    return f'<span class="ref">turn {int(turn)}</span>'


def _html_totals(report: Mapping[str, Any]) -> str:
    totals = report["totals"]
    facts = [
        *_facts(report)[1:],
        *(
            (name, f"{totals[key]:,}")
            for name, key in (
                ("Turns", "turns"),
                ("Words", "words"),
                ("Retries", "retries"),
                ("Failures", "failures"),
            )
        ),
    ]
    items = "".join(f"<div><dt>{_text(n)}</dt><dd>{_text(v)}</dd></div>" for n, v in facts)
    return f'<section><h2>At a glance</h2><dl class="facts">{items}</dl></section>'


def _html_speakers(report: Mapping[str, Any]) -> str:
    blocks: list[str] = []
    for place, who in enumerate(report["speakers"]):
        points = "".join(
            f'<li dir="auto">{_text(point["text"])} {_ref(point["turn"])}</li>'
            for point in who["mainPoints"]
        )
        said = f"<ul>{points}</ul>" if points else '<p class="note">No main point.</p>'
        blocks.append(
            f'<div class="speaker"><h3 dir="auto">{_swatch(place)}{_text(who["name"])}</h3>'
            f'<p class="seat">{_text(_seat(who))}</p>{said}</div>'
        )
    return f"<section><h2>Main points</h2>{''.join(blocks)}</section>"


def _swatch(place: int) -> str:
    return (
        '<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">'
        f'<rect class="{_hue(place)}" width="1" height="1"/></svg>'
    )


def _hue(place: int) -> str:
    return f"c{place % (2 * HUES)}"


def _html_tables(report: Mapping[str, Any]) -> str:
    rows = [(who["name"], *_figures(who["statistics"])) for who in report["speakers"]]
    tables = [
        "<section><h2>Statistics</h2>"
        + _html_table(("Speaker", *_COLUMNS), rows, "", _figures(report["totals"]))
        + "</section>"
    ]
    if report["failures"]:
        failed = _failure_rows(report, _names(report))
        tables.append(
            f"<section><h2>Failures</h2>{_html_table(_FAILURE_COLUMNS, failed, 'text')}</section>"
        )
    if report["rounds"]:
        tables.append(
            "<section><details><summary><h2>Rounds</h2></summary>"
            f"{_html_table(_ROUND_COLUMNS, _round_rows(report))}</details></section>"
        )
    return "\n".join(tables)


def _html_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    kind: str = "",
    totals: Sequence[str] = (),
) -> str:
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    last = f'<tr class="all">{_cells(("All", *totals))}</tr>' if totals else ""
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    return (
        f'<div class="wide" tabindex="0"><table class="{kind}"><thead><tr>{names}</tr></thead>'
        f"<tbody>{body}{last}</tbody></table></div>"
    )


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{_text(cell)}</td>" for cell in row)


# --- its plots: the text beside them is the document's own, so that it stays readable ---


def _html_plots(report: Mapping[str, Any]) -> str:
    if not report["timeline"]:
        return ""
    hues = {who["id"]: _hue(place) for place, who in enumerate(report["speakers"])}
    names = _names(report)
    legend = "".join(
        f'<li dir="auto">{_swatch(place)}{_text(who["name"])}</li>'
        for place, who in enumerate(report["speakers"])
    )
    return (
        "<section><h2>In pictures</h2>"
        f"<figure><figcaption>Words by speaker</figcaption>{_by_person(report, hues)}</figure>"
        f"<figure><figcaption>Words by round</figcaption>{_by_round(report, hues, names)}"
        f'<ul class="legend">{legend}</ul></figure>'
        f"<figure><figcaption>Seconds by turn</figcaption>{_by_turn(report, hues, names)}</figure>"
        "</section>"
    )


def _by_person(report: Mapping[str, Any], hues: Mapping[str, str]) -> str:
    most = max((who["statistics"]["words"] for who in report["speakers"]), default=0)
    rows: list[str] = []
    for who in report["speakers"]:
        words, share = who["statistics"]["words"], who["statistics"]["share"]
        title = f"{who['name']}: {words:,} words, {share:.0%}"
        value = f"{words:,} · {share:.0%}"
        rows.append(_bar_row(_text(who["name"]), [(words, hues[who["id"]], title)], most, value))
    return f'<div class="bars">{"".join(rows)}</div>'


def _by_round(report: Mapping[str, Any], hues: Mapping[str, str], names: Mapping[str, str]) -> str:
    rounds = report["rounds"]
    size = -(-len(rounds) // MAX_ROWS)
    groups = [rounds[place : place + size] for place in range(0, len(rounds), size)]
    most = max(sum(item["words"] for item in group) for group in groups)
    rows: list[str] = []
    for group in groups:
        first, last = group[0], group[-1]
        where = _where(first) if len(group) == 1 else f"{first['round']}–{last['round']}"
        words: Counter[str] = Counter()
        for item in group:
            words.update(item["wordsBySpeaker"])
        parts = [
            (words[who], hue, f"{names[who]}: {words[who]:,} words")
            for who, hue in hues.items()
            if words[who]
        ]
        rows.append(_bar_row(_text(where), parts, most, f"{words.total():,}"))
    return f'<div class="bars">{"".join(rows)}</div>'


def _bar_row(name: str, parts: Sequence[tuple[float, str, str]], most: float, value: str) -> str:
    """A name, a bar of coloured parts, and the figure it stands for."""
    rects: list[str] = []
    x = 0.0
    for amount, hue, title in parts:
        width = 1000 * amount / most if most else 0.0
        rects.append(
            f'<rect class="{hue}" x="{x:.1f}" width="{width:.1f}" height="10">'
            f"<title>{_text(title)}</title></rect>"
        )
        x += width
    spoken = "; ".join(title for _, _, title in parts) or "nothing"
    return (
        f'<span class="name" dir="auto">{name}</span>'
        f'<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{_text(spoken)}">{"".join(rects)}</svg>'
        f'<span class="value">{_text(value)}</span>'
    )


def _by_turn(report: Mapping[str, Any], hues: Mapping[str, str], names: Mapping[str, str]) -> str:
    """A dot for each turn; a dashed line from top to bottom where one failed."""
    timeline = report["timeline"]
    most = max(item["seconds"] for item in timeline) or 1.0
    step = 1000 / len(timeline)
    marks: list[str] = []
    for place, item in enumerate(timeline):
        x, y = (place + 0.5) * step, 96 - 92 * item["seconds"] / most
        title = f"Turn {item['turn']}, {names[item['speaker']]}: {_time(item['seconds'])}"
        if item["failed"]:
            marks.append(
                f'<path class="failed" d="M{x:.1f} 0V100"><title>{_text(title)}, failed</title>'
                "</path>"
            )
        marks.append(
            f'<path class="dot {hues[item["speaker"]]}" d="M{x:.1f} {y:.1f}h.01">'
            f"<title>{_text(title)}</title></path>"
        )
    failures = report["totals"]["failures"]
    spoken = (
        f"Seconds of each of {len(timeline)} turns, the longest {_time(most)}; {failures} failed"
    )
    many = " many" if len(timeline) > 80 else ""
    note = '<p class="note">A dashed line marks a turn that failed.</p>' if failures else ""
    return (
        f'<div class="plot{many}"><div class="axis up"><span>{_time(most)}</span><span>0</span>'
        f'</div><svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{_text(spoken)}"><path class="grid" d="M0 4H1000M0 50H1000"/>'
        f"{''.join(marks)}</svg><span></span>"
        f'<div class="axis"><span>turn {timeline[0]["turn"]}</span>'
        f"<span>turn {timeline[-1]['turn']}</span></div></div>{note}"
    )
