"""What a page of a long list costs: first and last, by status, by format, by words.

`python -m bench.lists [N]` fills a database with N debates and prints the figures.
"""

import asyncio
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.stage import MOTION, SEATS, home, settings
from moot.core.ids import ALPHABET, number
from moot.core.request import build
from moot.core.status import Status
from moot.core.times import iso
from moot.ports.finding import Search
from moot.store import runs, schema, search
from moot.store.database import Database, connect
from moot.store.formats import FormatFiles
from moot.store.query import Connection
from moot.store.store import SqlStore

DEBATES = 1_000_000
PAGE = 50
TIMES = 21  # each page is read that often
START = 1_700_000_000
COMMON, RARE = "team", "quokka"
RARE_STATUS: Status = "failed"
RARE_FORMAT = "classic"
AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Lists:
    """Median milliseconds for a page of 50, by what is asked for."""

    debates: int
    filling: float  # seconds that it took to make them
    pages: dict[str, float]

    @property
    def slowest(self) -> float:
        return max(self.pages.values())

    @property
    def last_over_first(self) -> float:
        return self.pages["last page"] / self.pages["first page"]


def measure(debates: int = DEBATES) -> Lists:
    with home() as path:
        begun = perf_counter()
        fill(path, debates)
        filling = perf_counter() - begun
        return Lists(debates, filling, asyncio.run(_measure(settings(path).file, debates)))


def fill(path: Path, debates: int) -> None:
    """Give a home that many debates, a second apart: one row of each format, over and over."""
    database = settings(path).file
    schema.prepare(database)
    with closing(connect(database)) as driver:
        driver.execute("PRAGMA journal_mode=OFF")
        driver.execute("PRAGMA synchronous=OFF")
        driver.execute("PRAGMA cache_size=-400000")
        driver.execute("BEGIN")
        rows = [encoded(driver, path, name) for name in ("duel", RARE_FORMAT)]
        words = " ".join(search.words_of(rows[0]))
        places = ", ".join("?" * len(rows[0]))
        insert = f"INSERT INTO debate_runs ({', '.join(rows[0])}) VALUES ({places})"  # noqa: S608
        for start in range(0, debates, AT_ONCE):
            some = [_row(rows, place) for place in range(start, min(start + AT_ONCE, debates))]
            driver.executemany(insert, [tuple(row.values()) for row in some])
            driver.executemany(
                "INSERT INTO debate_search (rowid, words) VALUES (?, ?)",
                [(row["number"], f"{words} {_topic(row['motion'])}") for row in some],
            )
        driver.execute("COMMIT")
        driver.execute("PRAGMA journal_mode=WAL")


def encoded(driver: Any, path: Path, format_: str) -> dict[str, Any]:
    """A debate's row, as the store writes it; it is not left there."""
    debate = build(
        debate_id="debate_20200101_000000_aaaaaa",
        at="2020-01-01T00:00:00.000Z",
        motion=MOTION,
        rules=FormatFiles(path).get(format_),
        participants=list(SEATS),
        default_model="local:fake",
        normalize=lambda model: (model, None),
    )
    runs.keep_format(Connection("sqlite", driver), debate.rules)
    return runs.encoded(debate)


def _row(rows: list[dict[str, Any]], place: int) -> dict[str, Any]:
    """The debate at that place, the oldest at 0."""
    debate_id, at = made(place)
    return {
        **rows[place % 20 == 7],
        "id": debate_id,
        "number": number(debate_id, at),
        "created_at": at,
        "status": RARE_STATUS if _rare(place) else "completed",
        "motion": f"{MOTION} Topic {place % 997}{f' of {RARE}s' if _rare(place) else ''}",
    }


def _topic(motion: str) -> str:
    """What is added to the one motion; its words are as the search keeps them."""
    return motion.removeprefix(MOTION).lower()


def made(place: int) -> tuple[str, str]:
    """The id of a debate, and when it was made."""
    at = iso(START + place)
    day, time = at[:10].replace("-", ""), at[11:19].replace(":", "")
    return f"debate_{day}_{time}_{_letters(place)}", at


def _rare(place: int) -> bool:
    return place % 10_000 == 5_000


def _letters(place: int) -> str:
    mixed = place * 0x9E3779B1 % 2**30
    return "".join(ALPHABET[mixed >> shift & 31] for shift in range(25, -1, -5))


async def _measure(database: Path, debates: int) -> dict[str, float]:
    db = Database(database)
    try:
        store = SqlStore(db)
        last = number(*made(PAGE))
        asked = {
            "first page": Search(),
            "last page": Search(before=last),
            "rare status": Search(statuses=(RARE_STATUS,)),
            "three statuses": Search(statuses=("completed", RARE_STATUS, "stopped")),
            "format": Search(format=RARE_FORMAT),
            "format and status": Search(format=RARE_FORMAT, statuses=("completed",)),
            "a format hidden": Search(hidden=(RARE_FORMAT,)),
            "common word": Search(words=COMMON),
            "common word, last page": Search(words=COMMON, before=last),
            "rare word": Search(words=RARE),
            "two words": Search(words=f"{COMMON} topic"),
            "common word, rare status": Search(words=COMMON, statuses=(RARE_STATUS,)),
        }
        took: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(TIMES):  # in turns, so that a busy moment of the machine hits all alike
            for name, one in asked.items():
                begun = perf_counter()
                await store.find(replace(one, limit=PAGE))
                took[name].append(1000 * (perf_counter() - begun))
        return {name: median(times) for name, times in took.items()}
    finally:
        db.close()


def main(debates: int = DEBATES) -> None:
    found = measure(debates)
    print(f"{found.debates:,} debates, filled in {found.filling:.0f} s")
    for name, milliseconds in found.pages.items():
        print(f"{name:26} {milliseconds:8.2f} ms")
    print(f"{'last over first':26} {found.last_over_first:8.2f} times")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
