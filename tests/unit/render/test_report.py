"""Every format's report: it adds up, it says who said what, and no text in it does anything."""

import asyncio
import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from html.parser import HTMLParser
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.work import growth

from moot.bootstrap import open_service
from moot.core import request, retry
from moot.core.clean import visible
from moot.core.debate import NO_USAGE, Debate, Decision, Participant, Turn, Usage
from moot.core.times import iso
from moot.engine.service import Service
from moot.errors import ProviderUnavailableError
from moot.ports.model_call import Call
from moot.render import transcript
from moot.render.extract import plain_key, split, words_in
from moot.render.report import report
from moot.render.report_page import html
from moot.render.report_text import markdown
from moot.settings import Settings
from moot.store.formats import FormatFiles
from moot.testing.speaker import ScriptedSpeaker, plain

MOTION = "Should the town close its high street to cars at the weekend?"
BEGAN = 1_790_000_000.0
FORMATS = FormatFiles(Path(os.devnull))
SUMS = (
    "turns",
    "words",
    "inputTokens",
    "outputTokens",
    "costUsd",
    "seconds",
    "retries",
    "failures",
)
HOSTED = {"standard": False, "classic": True, "custom": True, "duel": False}
VOID = {"meta", "br", "rect", "path"}
_TAGS = """
html head title style body main header section footer figure figcaption details summary div
span p h1 h2 h3 ul li dl dt dd blockquote table thead tbody tr th td svg
"""
_ATTRIBUTES = """
class dir lang charset http-equiv content name scope tabindex role aria-label aria-hidden
viewbox preserveaspectratio x width height d
"""
TAGS = VOID | set(_TAGS.split())
ATTRIBUTES = set(_ATTRIBUTES.split())


class Document(HTMLParser):
    """What a browser would make of a page: its tags, and the text outside of them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.style = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID or (tag in ("rect", "path") and not self._closed()):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.text += data

    def _closed(self) -> bool:
        return (self.get_starttag_text() or "").endswith("/>")


def check_html(page: str) -> Document:
    """One document that fetches nothing and runs nothing, whatever was said in the debate."""
    document = Document(page)
    for tag, attributes in document.tags:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
    assert sum(tag == "style" for tag, _ in document.tags) == 1
    assert not re.search(r"url\(|@import|expression\(|https?:", document.style)
    policies = [a["content"] for _, a in document.tags if "http-equiv" in a]
    digest = base64.b64encode(hashlib.sha256(document.style.encode()).digest()).decode()
    assert policies == [
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    ]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", page)
    return document


def check(debate: Debate, turns: list[Turn]) -> dict[str, Any]:
    """A report that adds up, stays the same, and can be shown."""
    made = report(debate, turns)
    assert made == report(debate, list(reversed(turns)))
    assert json.loads(json.dumps(made)) == made
    totals, by_number = made["totals"], {turn.number: turn for turn in turns}
    for name in SUMS:
        assert totals[name] == pytest.approx(
            sum(who["statistics"][name] for who in made["speakers"])
        )
    for name in ("turns", "words", "seconds"):
        assert totals[name] == pytest.approx(sum(item[name] for item in made["rounds"]))
    for item in made["rounds"]:
        assert sum(item["wordsBySpeaker"].values()) == item["words"]
    assert totals["turns"] == len(turns) == len(made["timeline"])
    assert totals["failures"] == len(made["failures"])
    assert totals["failures"] == sum(turn.status == "failed" for turn in turns)
    if totals["words"]:
        assert sum(w["statistics"]["share"] for w in made["speakers"]) == pytest.approx(1, abs=0.01)
    for who in made["speakers"]:
        check_points(who, by_number)
    for one in made["takeaways"]["best"]:
        cited = [by_number[number] for number in one["turns"]]
        assert {(turn.actor, turn.status) for turn in cited} == {(one["speaker"], "ok")}
    assert made["method"] == "extraction"
    text, page = markdown(made), check_html(html(made))
    for who in made["speakers"]:
        assert who["name"] in page.text
        assert f"### {who['name']}" in text
    return made


def unfolded(text: str) -> str:
    """A report in Markdown without the one fold in it, which is moot's own."""
    for tag in ("\n<details>\n", "<summary>Statistics</summary>\n", "\n</details>\n"):
        assert text.count(tag) == 1
        text = text.replace(tag, "\n")
    return text


def check_points(who: Mapping[str, Any], by_number: Mapping[int, Turn]) -> None:
    points = who["mainPoints"]
    texts = [point["text"] for point in points]
    assert len(set(texts)) == len(texts) <= 3
    assert [point["turn"] for point in points] == sorted(point["turn"] for point in points)
    for point in points:
        turn = by_number[point["turn"]]
        assert (turn.actor, turn.status) == (who["id"], "ok")
        if not turn.data:
            said = " ".join(turn.text.replace("**", "").split())
            assert point["text"].removesuffix(" …") in said


def debate_of(format: str = "duel", **changes: Any) -> Debate:  # noqa: A002
    host = {"name": "Hanna"} if HOSTED.get(format) else None
    council = format == "council"
    return request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=iso(BEGAN),
        motion=MOTION,
        rules=FORMATS.get(format),
        default_model="local",
        normalize=lambda model: (model, None),
        participants=() if council else [{"name": "Ada"}, {"name": "Ben", "stance": "con"}],
        host=host,
    ).but(**({"status": "completed", "started_at": iso(BEGAN)} | changes))


def turn_of(seq: int, actor: str, text: str, **changes: Any) -> Turn:
    values: dict[str, Any] = {
        "seq": seq, "round": 1 + (seq - 1) // 2, "stage": "duel", "actor": actor,
        "name": actor.capitalize(), "kind": "speech", "target": None, "instruction": None,
        "text": text, "data": None, "status": "ok", "error_code": None, "model": "local:m",
        "usage": NO_USAGE, "started_at": iso(BEGAN + seq), "committed_at": iso(BEGAN + seq + 0.5),
    }  # fmt: skip
    return Turn(**(values | changes))


def failed(seq: int, actor: str, **changes: Any) -> Turn:
    code = "DEBATE_ERR_PROVIDER_TIMEOUT"
    return turn_of(seq, actor, "partial words", status="failed", error_code=code, **changes)


# --- through the engine ---


@pytest.mark.parametrize("format_", HOSTED)
def test_each_format_has_its_report(tmp_path: Path, format_: str) -> None:
    async def scene() -> tuple[Debate, list[Turn]]:
        async with open_service(Settings(home=tmp_path), recover=False) as service:
            made = await service.create(
                MOTION,
                format=format_,
                participants=[{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}],
                host={"name": "Hanna"} if HOSTED[format_] else None,
            )
            return await service.wait(made.id), await service.turns(made.id)

    debate, turns = asyncio.run(scene())
    made = check(debate, turns)
    assert (made["status"], made["stopReason"]) == ("completed", debate.stop_reason)
    assert made["decision"] is None
    assert made["durationSeconds"] >= 0
    for who in made["speakers"]:
        assert who["models"] == ["local:understudy"]
        assert who["mainPoints"]
    if HOSTED[format_]:
        assert made["summary"] == {"text": turns[-1].text, "by": "host", "turn": turns[-1].number}
    else:
        assert (made["summary"]["by"], made["summary"]["turn"]) == ("extraction", None)
        assert made["summary"]["text"]


def test_a_council_run_through_the_engine_has_its_report(tmp_path: Path) -> None:
    async def scene() -> tuple[Debate, list[Turn]]:
        async with open_service(Settings(home=tmp_path), recover=False) as service:
            made = await service.council({"problem": MOTION, "output_type": "decision"})
            return await service.wait(made.id), await service.turns(made.id)

    debate, turns = asyncio.run(scene())
    made = check(debate, turns)
    assert made["speakers"][0]["name"] == "Proponent"
    assert (made["decision"] is None) == (debate.outcome is None)


def test_a_degraded_debate_lists_its_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WAITS", (0.001, 0.001, 0.001))

    def script(call: Call) -> str | ProviderUnavailableError:
        down = call.step.actor == "ben" and call.step.round == 2
        return ProviderUnavailableError("down") if down else plain(call)

    async def run(service: Service) -> tuple[Debate, list[Turn]]:
        made = await service.create(
            MOTION,
            format="duel",
            participants=[{"name": "Ada"}, {"name": "Ben"}],
            on_failure="degrade",
        )
        return await service.wait(made.id), await service.turns(made.id)

    async def scene() -> tuple[Debate, list[Turn]]:
        speaker = ScriptedSpeaker(script)
        async with open_service(Settings(home=tmp_path), speaker=speaker, recover=False) as service:
            return await run(service)

    debate, turns = asyncio.run(scene())
    made = check(debate, turns)
    assert made["degraded"]
    [failure] = made["failures"]
    assert (failure["round"], failure["stage"], failure["speaker"]) == (2, "duel", "ben")
    assert failure["errorCode"] == "DEBATE_ERR_PROVIDER_UNAVAILABLE"
    ben = made["speakers"][1]["statistics"]
    assert (ben["turns"], ben["failures"], ben["retries"]) == (3, 1, 3)
    assert "DEBATE_ERR_PROVIDER_UNAVAILABLE" in markdown(made)
    page = Document(html(made))
    assert "degraded" in page.text
    assert "DEBATE_ERR_PROVIDER_UNAVAILABLE" in page.text
    assert [a["class"] for t, a in page.tags if t == "path"].count("failed") == 1


# --- from turns made by hand ---


def test_one_that_was_stopped_before_it_began_has_a_report_too() -> None:
    debate = debate_of(
        status="stopped", stop_reason="stopped_by_user", started_at=None, ended_at=iso(BEGAN)
    )
    made = check(debate, [])
    assert made["durationSeconds"] is None
    assert made["summary"] == {"text": "", "by": "extraction", "turn": None}
    assert (made["rounds"], made["failures"], made["timeline"]) == ([], [], [])
    assert {who["statistics"]["share"] for who in made["speakers"]} == {0.0}
    assert [who["models"] for who in made["speakers"]] == [["local"], ["local"]]
    assert "Nothing was said." in markdown(made)
    assert "Nothing was said." in html(made)


@given(st.text(st.characters(codec="ascii")))
def test_plain_text_has_the_words_that_it_has_beside_other_text(text: str) -> None:
    assert plain_key(text) == plain_key(f"{text} ‽")
    assert words_in(text) == words_in(f"{text} ‽")


def test_only_failures_make_a_report_without_words() -> None:
    made = check(debate_of(status="failed"), [failed(1, "ada"), failed(2, "ben")])
    assert made["totals"]["words"] == 0
    assert made["summary"]["text"] == ""
    assert [who["mainPoints"] for who in made["speakers"]] == [[], []]


def test_what_it_took_is_counted_per_speaker() -> None:
    turns = [
        turn_of(1, "ada", "One two three four.", usage=Usage(100, 20, 0.01, 1)),
        turn_of(2, "ben", "Five, it's well-known.", usage=Usage(50, 10, 0.02, 3, estimated=True)),
        turn_of(3, "ada", "Six seven.", usage=Usage(7, 1, 0.005, 2), model="claude:x"),
        failed(4, "ben", usage=Usage(9, 0, 0.001, 4)),
    ]
    used = reduce(add, (turn.usage for turn in turns))
    made = check(debate_of(ended_at=iso(BEGAN + 60), usage=used), turns)
    ada, ben = (who["statistics"] for who in made["speakers"])
    assert ada == {
        "turns": 2, "words": 6, "inputTokens": 107, "outputTokens": 21, "costUsd": 0.015,
        "seconds": 1.0, "retries": 1, "failures": 0, "longestTurnWords": 4, "share": 0.6667,
        "estimated": False, "unpriced": [], "local": True,
    }  # fmt: skip
    assert (ben["words"], ben["retries"], ben["failures"]) == (3, 5, 1)
    assert ben["estimated"]
    assert made["speakers"][0]["models"] == ["local:m", "claude:x"]
    assert made["durationSeconds"] == 60.0
    assert made["rounds"][1] == {
        "round": 2, "stage": "duel", "place": "Duel · round 2", "turns": 2, "words": 2,
        "seconds": 1.0, "wordsBySpeaker": {"ada": 2, "ben": 0},
    }  # fmt: skip


def test_the_cost_is_that_of_every_call_and_the_rows_add_up() -> None:
    """A call that was called off, or failed before a pause, led to no turn and was paid for."""
    turns = [turn_of(1, "ada", "One.", usage=Usage(100, 20, 0.01, 1), model="claude:x")]
    debate = debate_of(usage=Usage(300, 25, 0.0325, 3, estimated=True))
    made = report(debate, turns)
    totals = made["totals"]
    assert (totals["inputTokens"], totals["outputTokens"], totals["costUsd"]) == (300, 25, 0.0325)
    assert totals["estimated"]
    text = markdown(made)
    assert "- Cost: $0.0325\n" in text
    assert "cost of these calls: $0.0325\n" in transcript.markdown(debate, turns)
    row = next(line for line in text.splitlines() if line.startswith("| Calls without a turn"))
    assert [cell.strip() for cell in row.split("|")[6:9]] == ["200", "5", "$0.0225"]
    check_html(html(made))
    before = debate.but(rules=debate.rules.model_copy(update={"edition": 3}))
    old = report(before, turns)
    assert (old["totals"]["costUsd"], old["totals"].keys() & {"unpriced", "local"}) == (0.01, set())
    assert "Calls without a turn" not in markdown(old)


def test_a_price_that_nobody_published_is_unknown_and_not_zero() -> None:
    debate = debate_of()
    ada, ben = debate.participants
    own = (replace(ada, model="openai:new", unpriced=("openai:new",)), ben)
    turns = [
        turn_of(1, "ada", "One.", usage=Usage(100, 20, 0.0, 1), model="openai:new"),
        turn_of(2, "ben", "Two.", usage=Usage(100, 20, 0.0, 1)),
    ]
    used = Usage(200, 40, 0.0, 2)
    free = debate.but(usage=used)
    assert "- Cost: free, on this machine\n" in markdown(report(free, turns))
    unknown = debate.but(participants=own, usage=used)
    text = markdown(report(unknown, turns))
    assert "- Cost: price unknown\n" in text
    rows = [row.split("|") for row in text.splitlines() if row.count("|") > 10]
    assert [row[8].strip() for row in rows if "---" not in row[8]] == [
        "Cost", "unknown", "free", "unknown",
    ]  # fmt: skip
    assert "cost of these calls: price unknown\n" in transcript.markdown(unknown, turns)
    partly = unknown.but(usage=replace(used, cost_usd=0.12))
    assert "- Cost: at least $0.1200; price of openai:new unknown\n" in markdown(
        report(partly, turns)
    )


def test_a_paused_debate_lasted_up_to_its_last_turn() -> None:
    made = check(debate_of(status="paused"), [turn_of(9, "ada", "Well.")])
    assert (made["endedAt"], made["durationSeconds"]) == (None, 9.5)


def test_a_summary_is_who_closed_it_and_only_a_closing_one() -> None:
    closing = turn_of(3, "ada", "So it ends.", kind="summary", stage="summary")
    begun = [turn_of(1, "ada", "A first point."), turn_of(2, "ben", "A second point.")]
    made = check(debate_of(), [*begun, closing])
    assert made["summary"] == {"text": "So it ends.", "by": "participant", "turn": 3}
    later = check(debate_of(), [*begun, closing, turn_of(4, "ben", "Not so fast, my friend.")])
    assert later["summary"]["by"] == "extraction"
    noted = check(debate_of(), [*begun, closing, turn_of(4, "ann", "Thanks.", kind="note")])
    assert noted["summary"]["turn"] == 3
    assert noted["speakers"][-1]["role"] == "person"


def test_main_points_are_what_tells_a_speaker_from_the_others() -> None:
    common = "We all want a street that people like to visit at the weekend."
    bus = "The night buses lose a third of their riders whenever the bridge is closed."
    shop = "My bakery sells most of its bread to drivers who stop for two minutes."
    turns = [
        turn_of(1, "ada", f"{common} {bus} Really? Yes."),
        turn_of(2, "ben", f"{common} {shop} Well."),
        turn_of(3, "ada", f"{bus} {common}"),
        turn_of(4, "ben", f"{shop} {common}"),
    ]
    ada, ben = check(debate_of(), turns)["speakers"]
    assert {"text": bus, "turn": 1} in ada["mainPoints"]
    assert ben["mainPoints"][0] == {"text": shop, "turn": 2}
    assert common not in [point["text"] for point in ben["mainPoints"]]


def test_a_council_is_reported_by_its_claims() -> None:
    def stand(seq: int, actor: str, option: str, claim: str, **more: Any) -> Turn:
        data = {"position": option, "claim": claim, "rationale": "Because.", "confidence": 0.8}
        where = {"round": 1, "stage": "round1"} | more
        return turn_of(seq, actor, f"Position: {option}\n\n{claim}", data=data, **where)

    verdict = {"selectedOption": "Close it", "whySelected": [{"text": "It is safe.", "turns": [1]}]}
    asked = {"challenges": [{"targetRole": "Proponent", "question": "Who pays?", "claim": "x"}]}
    turns = [
        stand(1, "proponent", "Close it", "Closing it is safe."),
        stand(2, "critic", "Keep it open.", "Shops would lose."),
        turn_of(3, "analyst", "Who pays?", data=asked, round=2, stage="round2"),
        stand(4, "critic", "Close it", "Closing it is safe after all.", round=3, stage="round3"),
        turn_of(5, "judge", "Decision: Close it", data=verdict, kind="verdict", round=5),
    ]
    debate = debate_of("council", outcome=Decision(0.7, 0.8, "Close it"))
    made = check(debate, turns)
    points = {who["id"]: [p["text"] for p in who["mainPoints"]] for who in made["speakers"]}
    assert points["proponent"] == ["Close it: Closing it is safe."]
    assert points["critic"] == [
        "Keep it open: Shops would lose.",
        "Close it: Closing it is safe after all.",
    ]
    assert points["analyst"] == ["Who pays?"]
    assert points["judge"] == ["Close it: It is safe."]
    assert points["synthesizer"] == []
    assert made["summary"] == {"text": "Decision: Close it", "by": "judge", "turn": 5}
    assert made["decision"] == {
        "selectedOption": "Close it", "consensusScore": 0.7, "confidenceScore": 0.8,
    }  # fmt: skip
    assert "## Contested: Close it" in markdown(made)
    assert "Consensus" not in markdown(made)
    before = debate.but(rules=debate.rules.model_copy(update={"edition": 1}))
    made = check(before, turns)
    assert "verdict" not in made
    assert "- Consensus: 70%" in markdown(made)
    assert "Consensus: 70%" in html(made)


# --- sentences ---


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is here. Two is there! Three?", ["One is here.", "Two is there!", "Three?"]),
        ("Dr. Smith, e.g. in the U.S. army, said so. Good.",
         ["Dr. Smith, e.g. in the U.S. army, said so.", "Good."]),
        ("It cost $3.50 in v1.2 of it. J. K. Rowling etc. agreed.",
         ["It cost $3.50 in v1.2 of it.", "J. K. Rowling etc. agreed."]),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ("市は無料にすべきだ。費用は誰が払うのか？「税だ。」と言う。",
         ["市は無料にすべきだ。", "費用は誰が払うのか？", "「税だ。」", "と言う。"]),
        ("no stop here\nnor there", ["no stop here", "nor there"]),
        ("A wrapped\nline ends. Next", ["A wrapped line ends.", "Next"]),
        ("Points:\n1. First of all.\n2. **Second** of all.\n- third", [
            "Points:", "First of all.", "Second of all.", "third"]),
        ("Wait... what? No…", ["Wait... what?", "No…"]),
        ("", []),
        ("... !!! —", []),
    ],
)  # fmt: skip
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@given(st.text(max_size=300))
def test_splitting_loses_no_word(text: str) -> None:
    letters = re.compile(r"[^\W\d_]")
    assert letters.findall("".join(split(text))) == letters.findall(text)


def test_texts_of_one_language_without_spaces_have_points() -> None:
    turns = [
        turn_of(1, "ada", "週末に車を止めれば、子どもが安心して歩ける。店も明るくなる。"),
        turn_of(2, "ben", "パン屋の客の多くは車で来るので、売上が三割も落ちてしまう。困る。"),
    ]
    made = check(debate_of(), turns)
    assert made["speakers"][1]["mainPoints"][0]["text"].startswith("パン屋の客")
    assert made["totals"]["words"] > 40


SCRAPS = """# Opening statement

Thank you. Good evening, everyone, and thanks to Ben for those kind words about my town.

| Plan | What the town would pay for it every single year |
| --- | --- |
| Close it | The town would pay ten million for the buses each year. |

<div class="note">
The raw HTML says that the town would pay far too much for it.
</div>
<p>The paragraph says that the town should pay for it.</p>

```python
print("The town should never close the high street to cars.")
```

> Ben told everybody that the town would never walk to its shops.

**Why the town should close the high street to its cars**
Setext headings name what the town should do about cars
-------------------------------------------------------

- cheaper buses for the town and more trees for its children
- Let me now turn to my three reasons for the town.

As Ben said, “the town would never walk to its shops at all”, and I doubt it. What would the town do
at the weekend without its cars? `close()` is what the town should call.
My first point is:
"""
CLAIM = "The bakery doubled its *sales* on the [car-free](https://x.example) Saturdays of last May."
SAID = "The bakery doubled its sales on the car-free Saturdays of last May."


def test_no_scrap_of_a_text_is_anybodys_point() -> None:
    turns = [
        turn_of(1, "ada", SCRAPS + f"1. {CLAIM}\n"),
        turn_of(2, "ben", "Delivery vans need the street before the shops open at nine."),
        turn_of(3, "ada", "Thank you."),
        turn_of(4, "ben", SCRAPS),
    ]
    made = report(debate_of(), turns)
    told = made["takeaways"]
    assert told["by"] == "extraction"
    assert told["atIssue"] == {"text": MOTION, "turns": []}
    assert (told["conceded"], told["open"]) == (None, None)
    assert [(one["speaker"], one["text"], one["turns"]) for one in told["best"]] == [
        ("ada", SAID, [1]),
        ("ben", turns[1].text, [2]),
    ]
    assert [who["mainPoints"] for who in made["speakers"]] == [
        [{"text": SAID, "turn": 1}],
        [{"text": turns[1].text, "turn": 2}],
    ]
    for text in (markdown(made), Document(html(made)).text):
        assert "picked out by counting words" in text
        assert "Only a model could tell what was conceded" in text
    only_scraps = report(debate_of(), [turn_of(1, "ada", SCRAPS), turn_of(2, "ben", "Thank you.")])
    assert only_scraps["takeaways"]["best"] == [], "rather nothing than a scrap"


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("Danke. Der Bus verliert ein Drittel seiner Gäste, weil die Brücke zu ist.",
         "Der Bus verliert ein Drittel seiner Gäste, weil die Brücke zu ist."),
        ("谢谢大家。关闭街道会让面包店失去三分之一的客人。好吗？",
         "关闭街道会让面包店失去三分之一的客人。"),
        ("no stops here but a plain reason that buses are full",
         "no stops here but a plain reason that buses are full"),
        ("```\nnever closed\nThe town pays for all of it and more.", None),
        ("<script>\nThe town pays for all of it and more.\n\nAnd so on it goes here.", None),
        ("```inline``` fences end.\n\nThe town pays for all of it and more.",
         "The town pays for all of it and more."),
        ("| " * 400, None),
        ("Yes. No! Why? Well …", None),
    ],
)  # fmt: skip
def test_the_best_point_is_a_whole_sentence_in_any_language(text: str, best: str | None) -> None:
    told = check(debate_of(), [turn_of(1, "ada", text)])["takeaways"]["best"]
    assert [one["text"] for one in told] == ([best] if best else [])


def test_a_text_without_any_full_stop_is_cut_to_a_point() -> None:
    made = check(debate_of(), [turn_of(1, "ada", "and so it goes on with words " * 40)])
    [point] = made["speakers"][0]["mainPoints"]
    assert point["text"].endswith(" …")
    assert len(point["text"]) < 330


# --- size and hostility ---


def test_five_hundred_turns_take_as_much_longer_as_they_are_more() -> None:
    words = [f"{a}{b}" for a in ("str", "tra", "pla", "cro", "ble") for b in
             ("et", "in", "ow", "ams", "ied", "ong", "ure", "ist")]  # fmt: skip
    turns: list[Turn] = []
    for seq in range(1, 501):
        picked = [words[(seq * 7 + place * place) % len(words)] for place in range(180)]
        picked[9::10] = [f"{word}." for word in picked[9::10]]
        turns.append(turn_of(seq, "ada" if seq % 2 else "ben", " ".join(picked)))
    assert sum(len(turn.text) for turn in turns) >= 450_000

    def write(count: int) -> tuple[str, str]:
        made = report(debate_of(), turns[:count])
        return html(made), markdown(made)

    assert growth(write, 500) < 40
    page, text = write(500)
    check(debate_of(), turns)
    assert len(page) < 200_000
    assert len(text) < 50_000


@pytest.mark.parametrize("text", ["." * 30_000, ". " * 15_000, "a" * 30_000, "“" * 30_000,
                                  "1. " * 10_000, "\n" * 30_000, "#" * 30_000, "字" * 30_000,
                                  "a-" * 15_000, "(" * 30_000, "- " * 15_000])  # fmt: skip
def test_no_text_takes_more_than_its_length(text: str) -> None:
    def read(size: int) -> None:
        check(debate_of(), [turn_of(1, "ada", text[:size]), turn_of(2, "ben", text[:size])])

    assert growth(read, len(text)) < 40


HOSTILE = [
    "<script>alert(1)</script>",
    "</title><script src=//evil.example/x.js></script>",
    "</style><style>@import url(https://evil.example)</style>",
    '" onload="alert(1)" x="',
    "' onmouseover='alert(1)",
    "<img src=https://evil.example/p.png onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[click](javascript:alert(1)) ![p](https://evil.example/p.png)",
    "--><iframe srcdoc='<script>1</script>'></iframe><!--",
    "\u202egnp.exe\u202c \u2066hidden\u2069 \u200f",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "&lt;script&gt; &#x3c;b&#x3e;",
    "| a | b |\n| --- | --- |",
]


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_text_is_only_text(bad: str) -> None:
    base = debate_of()
    named = Participant("ada", bad, role=bad, bio=bad, model=bad)
    debate = base.but(
        motion=bad,
        participants=(named, base.participants[1]),
        outcome=Decision(0.5, 0.5, bad),
        degraded=True,
    )
    speech = f"{bad} This is a sentence of more than six words, {bad} and it ends."
    turns = [
        turn_of(1, "ada", speech, name=bad, model=bad, stage=bad),
        replace(failed(2, "ben"), error_code=bad),
        turn_of(3, bad, speech, name=bad, kind="note"),
        turn_of(4, "ada", f"{speech}\n\n{bad}", name=bad, kind="summary", model=bad),
    ]
    for said in (turns, turns[:2]):
        made = report(debate, said)
        document = check_html(html(made))
        assert " ".join(visible(bad).split()) in " ".join(document.text.split())
        text = unfolded(markdown(made))
        assert not re.search(r"<|(?<!\\)\[", text)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", text)
        rows = [line for line in text.split("\n") if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {12, 5, 6}


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_is_inert(text: str, name: str) -> None:
    turns = [turn_of(1, "ada", text, name=name), turn_of(2, name or "x", text, name=name)]
    made = report(debate_of().but(motion=text), turns)
    check_html(html(made))
    assert "<" not in unfolded(markdown(made))
