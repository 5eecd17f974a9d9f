"""What a search over transcripts costs: words of all kinds, in what was said in 100,000 debates.

`python -m bench.transcripts [N]` fills a database with N duels of six turns each, adds their words
to the search as a server does in the background, and prints the figures.
"""

import asyncio
import itertools
import random
import sys
from bisect import bisect
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.lists import AT_ONCE, PAGE, TIMES, encoded, made
from bench.stage import home, settings
from moot.core.ids import number
from moot.ports.finding import Search
from moot.store import indexing, schema
from moot.store.database import Database, connect
from moot.store.query import Connection
from moot.store.store import SqlStore

DEBATES = 100_000
TURNS = 6
WORDS = 160  # of a turn: about 1,000 characters
VOCABULARY = 30_000
SPEECHES = 4_000  # that debates are put together from
TOGETHER = 500  # debates whose words are added in one transaction, here where nobody else writes
RARE = "quokka"
_STARTS = (*"bcdfghlmnprstv", "st", "tr", "pr", "con", "de", "re", "in")


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Median milliseconds for a page of 50, by what is searched for."""

    debates: int
    said: int  # bytes of what was said
    index: int  # bytes of the index
    adding: float  # milliseconds for the words of one debate
    pages: dict[str, float]

    @property
    def slowest(self) -> float:
        return max(self.pages.values())


class Language:
    """Words as languages have them: a few are in every speech, most are in few. Always the same."""

    def __init__(self) -> None:
        self._chance = random.Random(1)
        syllables = [f"{a}{b}{c}" for a in _STARTS for b in "aeiou" for c in ("", *"nrstl")]
        lengths = [1] * 150 + [self._chance.choice((1, 2, 2, 3, 3, 4)) for _ in range(VOCABULARY)]
        made_ = ("".join(self._chance.choices(syllables, k=length)) for length in lengths)
        self.words = list(dict.fromkeys(made_))
        places = range(len(self.words))
        self._weights = list(itertools.accumulate(1 / (place + 3) for place in places))

    def speech(self) -> str:
        top = self._weights[-1]
        places = (bisect(self._weights, self._chance.random() * top) for _ in range(WORDS))
        return " ".join(self.words[place] for place in places).capitalize() + "."

    def common(self, letters: int) -> str:
        """The most common word of so many letters."""
        return next(word for word in self.words if len(word) == letters)


def measure(debates: int = DEBATES) -> Transcripts:
    language = Language()
    with home() as path:
        said = _fill(path, debates, language)
        database = settings(path).file
        before = database.stat().st_size
        begun = perf_counter()
        _index(database)
        adding = 1000 * (perf_counter() - begun) / debates
        index = database.stat().st_size - before
        pages = asyncio.run(_measure(database, language))
        return Transcripts(debates, said, index, adding, pages)


def _fill(path: Path, debates: int, language: Language) -> int:
    """Duels that have ended, a second apart, with their turns and their log."""
    database = settings(path).file
    schema.prepare(database)
    speeches = [language.speech() for _ in range(SPEECHES)]
    chance, said = random.Random(2), 0
    with closing(connect(database)) as driver:
        _hasty(driver)
        row = encoded(driver, path, "duel")
        for start in range(0, debates, AT_ONCE):
            driver.execute("BEGIN")
            for place in range(start, min(start + AT_ONCE, debates)):
                texts = chance.choices(speeches, k=TURNS)
                if place % 1_000 == 500:
                    texts[-1] += f" {RARE.capitalize()}s."
                said += sum(map(len, texts))
                _add(driver, row, place, texts)
            driver.execute("COMMIT")
        driver.execute("PRAGMA journal_mode=WAL")
    return said


def _hasty(driver: Any) -> None:
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-400000"):
        driver.execute(f"PRAGMA {pragma}")


def _add(driver: Any, row: dict[str, Any], place: int, texts: list[str]) -> None:
    """A debate's rows, without what no search looks at."""
    debate_id, at = made(place)
    ended = {
        "id": debate_id, "number": number(debate_id, at), "created_at": at, "status": "completed",
        "ended_at": at, "turns": TURNS, "last_seq": TURNS + 1,
    }  # fmt: skip
    _insert(driver, "debate_runs", {**row, **ended})
    for seq, text in enumerate(texts, 1):
        actor = ("ada", "ben")[seq % 2]
        spoken = {
            "debate_id": debate_id, "stage": "duel", "actor": actor, "name": actor.capitalize(),
            "kind": "speech", "text": text, "status": "ok", "model": "local:fake", "started_at": at,
            "committed_at": at, "seq": seq, "round": seq, "input_tokens": 0, "output_tokens": 0,
            "calls": 1, "estimated": 0, "cost_usd": 0.0,
        }  # fmt: skip
        _insert(driver, "debate_turns", spoken)
        _insert(driver, "debate_events", {"debate_id": debate_id, "type": "turn", "seq": seq})
    _insert(driver, "debate_events", {"debate_id": debate_id, "type": "status", "seq": TURNS + 1})


def _insert(driver: Any, table: str, row: dict[str, Any]) -> None:
    names, places = ", ".join(row), ", ".join("?" * len(row))
    driver.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(row.values()))  # noqa: S608


def _index(database: Path) -> None:
    """All that the background does, in larger transactions."""
    kept, indexing.AT_ONCE = indexing.AT_ONCE, TOGETHER
    try:
        with closing(connect(database)) as driver:
            conn = Connection("sqlite", driver)
            while batch := indexing.pending(conn):
                driver.execute("BEGIN IMMEDIATE")
                indexing.add(conn, batch)
                driver.execute("COMMIT")
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        indexing.AT_ONCE = kept


async def _measure(database: Path, language: Language) -> dict[str, float]:
    db = Database(database)
    words = language.words
    common, rarer = language.common(7), words[len(words) // 20]
    asked = {
        "a word of almost all": Search(words=words[0]),
        "three letters of a word": Search(words=common[:3]),
        "five letters of a word": Search(words=common[:5]),
        "a common long word": Search(words=common),
        "a word of some": Search(words=rarer),
        "a rare word": Search(words=RARE),
        "two common words": Search(words=f"{words[1]} {common}"),
        "a common and a rare word": Search(words=f"{words[0]} {RARE}"),
        "five words": Search(words=" ".join(words[place] for place in (2, 30, 90, 300, 900))),
        "a word that nobody said": Search(words="zzyzx"),
        "a common word and a model": Search(words=common, model="local:fake"),
        "a model": Search(model="local:fake"),
        "a word, last page": Search(words=common, before=number(*made(2 * PAGE))),
    }
    try:
        store = SqlStore(db)
        took: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(TIMES):  # in turns, so that a busy moment of the machine hits all alike
            for name, one in asked.items():
                begun = perf_counter()
                found = await store.find(replace(one, limit=PAGE))
                took[name].append(1000 * (perf_counter() - begun))
                if not found.debates and name != "a word that nobody said":
                    raise RuntimeError(f"nothing was found: {name}")
        return {name: median(times) for name, times in took.items()}
    finally:
        db.close()


def main(debates: int = DEBATES) -> None:
    found = measure(debates)
    each = 1024 * found.debates
    print(f"{found.debates:,} debates of {TURNS} turns, {found.said / 1e6:,.0f} MB said")
    print(f"the index takes {found.index / each:.1f} kB a debate ({found.said / each:.1f} kB said)")
    print(f"adding the words of a debate takes {found.adding:.2f} ms")
    for name, milliseconds in found.pages.items():
        print(f"{name:26} {milliseconds:8.2f} ms")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
