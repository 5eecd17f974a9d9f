"""The feed is well-formed whatever was said, and a reader of it sees text, not markup."""

import html
import re
from dataclasses import replace
from email.utils import parsedate_to_datetime
from importlib import resources
from xml.etree import ElementTree

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from moot.core.clean import one_line, visible
from moot.core.debate import Debate
from moot.core.format import parse
from moot.core.request import MAX_MOTION, build
from moot.core.times import seconds
from moot.render.feed import rss
from moot.stations.station import Agent, Conversation, Station

ENDED = "2026-11-01T23:59:58.250Z"
BASE = "https://radio.example:8420"
RULES = parse(resources.files("moot.formats").joinpath("duel.toml").read_text("utf-8"), "duel.toml")
STATION = Station("small-hours", "The Small Hours", "One question, taken slowly.")
HOSTILE = '<script>alert("1 & 2")</script>]]>&amp;<![CDATA['


def debate(number: int = 1, motion: str = "We should sleep.", ended: str | None = ENDED) -> Debate:
    made = build(
        debate_id=f"debate_20261101_235900_aaaaa{number}", at=ENDED, motion="x", rules=RULES,
        default_model="local", normalize=lambda name: (name, None),
        participants=[{"name": "Ada <b>"}, {"name": "Ben & Co"}],
    )  # fmt: skip
    return made.but(motion=motion, status="completed", ended_at=ended)


def aired(one: Debate) -> Conversation:
    agents = tuple(Agent(seat.id, seat.name) for seat in one.participants)
    return Conversation(one, STATION.id, 0.0, agents, waiting=False, aired_at=0.0)


def channel(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text.encode())  # noqa: S314  our own
    assert (root.tag, root.get("version"), len(root)) == ("rss", "2.0", 1)
    return root[0]


def test_what_was_aired() -> None:
    two = [aired(debate(2)), aired(debate(1, "Line one\nline two", "2026-10-31T00:00:00Z"))]
    top = channel(rss(STATION, two, {two[0].id: "It was late.\n\nNobody slept."}, BASE + "/"))
    assert top.findtext("title") == "The Small Hours"
    assert top.findtext("description") == "One question, taken slowly."
    assert top.findtext("link") == f"{BASE}/air/small-hours"
    atom = top.find("{http://www.w3.org/2005/Atom}link")
    assert atom is not None
    assert atom.attrib == {
        "rel": "self",
        "type": "application/rss+xml",
        "href": f"{BASE}/on-air/small-hours/feed.xml",
    }
    assert top.findtext("lastBuildDate") == "Sun, 01 Nov 2026 23:59:58 GMT"
    new, old = top.findall("item")
    assert new.findtext("link") == f"{BASE}/air/small-hours/{two[0].id}"
    guid = new.find("guid")
    assert guid is not None
    assert (guid.text, guid.attrib) == (two[0].id, {"isPermaLink": "false"})
    assert new.findtext("description") == "<p>It was late.</p><p>Nobody slept.</p>"
    date = new.findtext("pubDate")
    assert date
    assert parsedate_to_datetime(date).timestamp() == int(seconds(ENDED))
    assert old.findtext("title") == "Line one line two"
    assert old.findtext("pubDate") == "Sat, 31 Oct 2026 00:00:00 GMT"
    assert old.findtext("description") == "<p>Speakers: Ada &lt;b&gt;, Ben &amp; Co</p>"


def test_a_station_that_aired_nothing_has_a_feed() -> None:
    top = channel(rss(replace(STATION, about=""), [], {}, BASE))
    assert top.findtext("description") == "What was aired on The Small Hours."
    assert top.find("item") is None
    assert top.find("lastBuildDate") is None


def test_one_without_an_end_has_no_date() -> None:
    item = channel(rss(STATION, [aired(debate(ended=None))], {}, BASE)).find("item")
    assert item is not None
    assert item.find("pubDate") is None


TEXT = st.text(
    st.characters(codec=None)
    | st.sampled_from("<>&\"'\x00\x0b\x1b\ud83d\ude00\ufffe\uffff\r\n\u2028"),
    max_size=40,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT, TEXT, TEXT, TEXT, TEXT)
@example(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_any_text_comes_back(motion: str, summary: str, name: str, about: str, base: str) -> None:
    one = aired(debate(motion=motion))
    text = rss(replace(STATION, name=name, about=about), [one], {one.id: summary}, base)
    top = channel(text)
    assert [part.tag for part in top].count("item") == 1
    assert (top.findtext("title") or "") == one_line(name, MAX_MOTION)
    if about:
        assert (top.findtext("description") or "") == visible(about)
    item = top.find("item")
    assert item is not None
    assert (item.findtext("title") or "") == one_line(motion, MAX_MOTION)
    shown = item.findtext("description") or ""
    assert set(re.findall(r"<[^>]*>|<", shown)) <= {"<p>", "</p>"}  # all the markup there is
    lines = [html.unescape(line) for line in re.findall(r"<p>(.*?)</p>", shown, re.DOTALL)]
    expected = [line for line in visible(summary).split("\n") if line.strip()]
    assert lines == (expected or ["Speakers: Ada <b>, Ben & Co"])
