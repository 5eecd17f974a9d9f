"""What a station aired, as RSS 2.0: every text is escaped, and none of it is markup."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from xml.sax.saxutils import quoteattr

from moot.core.clean import one_line, visible
from moot.core.request import MAX_MOTION
from moot.stations.station import Conversation, Station

_ATOM = 'xmlns:atom="http://www.w3.org/2005/Atom"'


def rss(
    station: Station, past: Sequence[Conversation], summaries: Mapping[str, str], base: str
) -> str:
    """The feed. `summaries` are by debate id; `base` is the service's own address."""
    base = base.rstrip("/")
    home = f"{base}/air/{station.id}"
    own = f"{base}/on-air/{station.id}/feed.xml"
    ended = [one.debate.ended_at for one in past if one.debate.ended_at]
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<rss version="2.0" {_ATOM}>',
        "<channel>",
        _element("title", one_line(station.name, MAX_MOTION)),
        _element("link", home),
        _element("description", station.about or f"What was aired on {station.name}."),
        f'<atom:link rel="self" type="application/rss+xml" href={quoteattr(visible(own))}/>',
        *([_element("lastBuildDate", _date(max(ended)))] if ended else []),
        *(_item(one, summaries.get(one.id, ""), home) for one in past),
        "</channel>",
        "</rss>",
    ]
    return "\n".join(parts) + "\n"


def _item(one: Conversation, summary: str, home: str) -> str:
    ended = one.debate.ended_at
    parts = [
        "<item>",
        _element("title", one_line(one.debate.motion, MAX_MOTION)),
        _element("link", f"{home}/{one.id}"),
        f'<guid isPermaLink="false">{_text(one.id)}</guid>',
        *([_element("pubDate", _date(ended))] if ended else []),
        _element("description", _paragraphs(visible(summary) or _speakers(one))),
        "</item>",
    ]
    return "\n".join(parts)


def _speakers(one: Conversation) -> str:
    return "Speakers: " + ", ".join(seat.name for seat in one.debate.participants)


def _paragraphs(text: str) -> str:
    """A feed reader takes an item's description for HTML: it gets HTML that is text alone."""
    lines = (escape(line, quote=False) for line in visible(text).split("\n") if line.strip())
    return "".join(f"<p>{line}</p>" for line in lines)


def _element(name: str, text: str) -> str:
    return f"<{name}>{_text(text)}</{name}>"


def _text(text: str) -> str:
    """Without what XML 1.0 cannot hold, and with nothing that it would read as markup."""
    return escape(visible(text), quote=False)


def _date(moment: str) -> str:
    return format_datetime(datetime.fromisoformat(moment).astimezone(UTC), usegmt=True)
