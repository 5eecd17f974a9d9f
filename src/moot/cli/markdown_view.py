"""A turn's Markdown on a terminal: headings, lists, tables and code."""

from collections.abc import Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.lexers import find_lexer_class_by_name
from pygments.util import ClassNotFound
from rich.console import Console, JustifyMethod, RenderableType
from rich.markdown import Heading, Markdown, TableDataElement
from rich.text import Text

MOST = 12_000
"""Longer texts stay plain: a model's text may be made to take long."""
DEEPEST = 12
"""The parser drops what is nested much deeper."""
MOST_COLUMNS, NARROWEST = 8, 40
"""More columns, or fewer characters in a line, and a table has no room for its words."""
LITERAL = ["image", "entity", "escape", "reference"]


class _Parser(MarkdownIt):
    """Raw HTML, images, definitions of links and TeX stay as they were written, and so does
    everything that could become a control character: a terminal obeys those."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable(["table", "strikethrough"]).disable(LITERAL)

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802  the library's name
        return link  # it would decode %1b


_PARSER = _Parser()


def said(text: str, console: Console, style: str = "") -> RenderableType:
    """The text of a turn: Markdown on a terminal, as it was written in a pipe."""
    if not console.is_terminal or len(text) > MOST or console.width < NARROWEST:
        return Text(text, style=style)
    tokens = _PARSER.parse(text)
    deepest = max((token.level for token in tokens), default=0)
    fits = deepest <= DEEPEST and _columns(tokens) <= MOST_COLUMNS
    return _Prose(tokens, style) if fits else Text(text, style=style)


def _columns(tokens: Sequence[Token]) -> int:
    """Of the widest table."""
    most = now = 0
    for token in tokens:
        now = 0 if token.type == "tr_open" else now + (token.type in ("th_open", "td_open"))
        most = max(most, now)
    return most


def _is_language(info: str) -> bool:
    """Whether what stands beside a fence only names the code's language, which the colours show."""
    try:
        find_lexer_class_by_name(info.strip())
    except ClassNotFound:
        return not info.strip()
    return True


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Cell(TableDataElement):
    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content.overflow = "fold"  # a long word goes on in the next line


class _Prose(Markdown):
    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "th_open": _Cell,
        "td_open": _Cell,
    }

    def __init__(self, tokens: list[Token], style: str) -> None:
        super().__init__("", style=style, hyperlinks=False)  # an address is shown, never hidden
        for token in tokens:
            if token.type == "fence" and not _is_language(token.info):
                token.content, token.info = f"{token.info}\n{token.content}", ""
        for part in (part for token in tokens for part in token.children or ()):
            if part.type == "softbreak":
                part.type = "hardbreak"  # lines end where the speaker ended them, as on the page
        self.parsed = tokens
