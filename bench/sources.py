"""What sources take: reading a PDF of 200 pages, ranking 2,000 passages, checking quotes.

`python -m bench.sources` prints the figures.
"""

import asyncio
import io
import random
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from reportlab.pdfgen.canvas import Canvas

from moot.core.quoting import Shelf
from moot.core.ranking import Index
from moot.core.sources import Passage, Source, source
from moot.sources.reader import Reader

PAGES, LINES = 200, 55
PASSAGES = 2_000
TURNS = 50
QUOTES = 1_000
_WORDS = [f"{one}{two}" for one in ("led", "cost", "mig", "risk", "own") for two in range(400)]


@dataclass(frozen=True, slots=True)
class Sources:
    """Seconds for the PDF and for the index, milliseconds for a turn's ranking and for a quote."""

    pages: float
    indexing: float
    ranking: float
    slowest_ranking: float
    quote: float


def measure() -> Sources:
    chance = random.Random(1)
    data = _pdf(chance)
    begun = perf_counter()
    read = asyncio.run(Reader().upload("long.pdf", data))
    pages = perf_counter() - begun
    if read.pages != PAGES:
        raise RuntimeError(f"{read.pages} of {PAGES} pages were read")
    shelf = _shelf(chance)
    begun = perf_counter()
    index = Index([shelf])
    indexing = perf_counter() - begun
    ranked = [_ranked(index, _said(chance, 300)) for _ in range(TURNS)]
    desk, quotes = Shelf([shelf], {}), [_quote(shelf, chance) for _ in range(QUOTES)]
    begun = perf_counter()
    failed = sum(len(desk.checked(one).failed) for one in quotes)
    quote = (perf_counter() - begun) * 1000 / QUOTES
    if failed:
        raise RuntimeError(f"{failed} exact quotes were taken for wrong ones")
    return Sources(pages, indexing, median(ranked), max(ranked), quote)


def _ranked(index: Index, query: str) -> float:
    begun = perf_counter()
    index.ranked(query)
    return (perf_counter() - begun) * 1000


def _said(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count))


def _quote(shelf: Source, chance: random.Random) -> str:
    passage = chance.choice(shelf.text)
    return f'As [{shelf.cited(passage)} "{passage.text[40:160].strip()}"] says.'


def _shelf(chance: random.Random) -> Source:
    text = tuple(Passage(n, _said(chance, 110)) for n in range(1, PASSAGES + 1))
    return source("Long", "long.txt", "text", "0" * 64, text)


def _pdf(chance: random.Random) -> bytes:
    made = io.BytesIO()
    canvas = Canvas(made)
    for _ in range(PAGES):
        text = canvas.beginText(50, 800)
        for _ in range(LINES):
            text.textLine(_said(chance, 13))
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


if __name__ == "__main__":
    found = measure()
    print(f"A PDF of {PAGES} pages with {LINES} lines each is ready in {found.pages:.1f} s.")
    print(f"{PASSAGES:,} passages are indexed in {found.indexing:.2f} s, once for a debate.")
    print(
        f"They are ranked in {found.ranking:.1f} ms for a turn; the slowest of {TURNS} took "
        f"{found.slowest_ranking:.1f} ms."
    )
    print(f"A quote is checked in {found.quote:.2f} ms.")
