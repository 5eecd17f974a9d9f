"""`make bench`: every promise measured in one run. Exits 1 if one of them is not kept.

`--quick` is a small version, for tests: it needs no peer, and asks only for what any machine gives.
"""

import sys
from collections.abc import Sequence
from statistics import median

from bench import (
    command,
    council,
    filing,
    floor,
    juries,
    lists,
    machines,
    memory,
    peers,
    streamed,
    streams,
    throughput,
    transcripts,
)
from bench.table import Row, at_least, at_most, below, beside, show

RUNS = 5
LONE_RUNS = 9


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    rows = quick() if "--quick" in arguments else full()
    show(rows)
    broken = [row for row in rows if row.kept is False]
    kept = sum(row.kept is True for row in rows)
    print(f"\n{kept} promises kept, {len(broken)} not kept.")
    return 1 if broken else 0


def full() -> list[Row]:
    """Everything, in the order of the promises."""
    script = floor.listen()
    crowds: list[throughput.Crowd] = []
    theirs: list[peers.Peer] = []
    alone: list[float] = []
    together: list[float] = []
    for number in range(RUNS):  # in turns, so that a busy moment of the machine hits all alike
        _say(f"100 debates, LangGraph, the floor: {number + 1} of {RUNS}")
        crowds.append(throughput.crowd())
        theirs.append(peers.langgraph(100))
        alone.append(floor.repeat(script, 1))
        together.append(floor.repeat(script, 100))
    _say("one debate of 200 turns")
    lone = [throughput.lone() for _ in range(LONE_RUNS)]
    return [
        *_crowd_rows(crowds, theirs, max(together)),
        *_lone_rows(lone, max(alone)),
        beside("floor: sqlite3, a transaction each", max(alone), "turns/s", _each(alone)),
        beside("floor: sqlite3, 100 to a transaction", max(together), "turns/s", _each(together)),
        *_size_rows(crowds[0]),
        *_filing_rows(),
        *_process_rows(),
        *_list_rows(),
        *_transcript_rows(),
        *_jury_rows(),
        *streams.full(),
        *_streamed_rows(),
        *_machine_rows(),
    ]


def quick() -> list[Row]:
    """That all of it still runs, and moot is within sight of the floor."""
    script = floor.listen(10, 6)
    crowd = throughput.crowd(10, 6)
    share = crowd.rate / floor.repeat(script, 10)
    lone = throughput.lone(40, 10)
    return [
        at_least("10 debates of 6 turns", crowd.rate, 30, "turns/s"),
        at_least("share of the floor", 100 * share, 0.5, "%"),
        at_least("one debate of 40 turns", lone.rate, 10, "turns/s"),
        at_most("its last turns over its first", lone.last / lone.first, 20, "times"),
        at_most("database over text", crowd.database_bytes / crowd.text_bytes, 10, "times"),
        at_most("a council, answers of 0.1 s", council.answer_times(0.1), 17, "answer-times"),
        below("moot --help, CPU", command.help_seconds(1), 3, "s"),
        below("20 debates that wait, peak", memory.scripted(20).peak, 300, "MB"),
        below("20 that wait in the SDK, peak", memory.on_the_wire(20).peak, 300, "MB"),
        *streamed.quick(),
    ]


def _crowd_rows(
    crowds: list[throughput.Crowd], theirs: list[peers.Peer], ground: float
) -> list[Row]:
    rates = [crowd.rate for crowd in crowds]
    filed = [crowd.filed_rate for crowd in crowds]
    peer = max(theirs, key=lambda one: one.best)
    note = f"{peer.way}; {_each([one.best for one in theirs])}"
    return [
        at_least("100 debates at once, committed", max(rates), 3000, "turns/s", _each(rates)),
        at_least("  over LangGraph", max(rates) / peer.best, 6, "times"),
        beside("LangGraph, SqliteSaver", peer.best, "turns/s", note),
        beside("with all their files written", max(filed), "turns/s", _each(filed)),
        beside("share of the floor, 100 together", 100 * max(rates) / ground, "%"),
    ]


def _lone_rows(lone: list[throughput.Lone], ground: float) -> list[Row]:
    rates = [one.rate for one in lone]
    first, last = median(one.first for one in lone), median(one.last for one in lone)
    note = f"medians of {len(lone)}: {last * 1000:.1f} ms and {first * 1000:.1f} ms"
    return [
        at_least("one debate of 200 turns", max(rates), 600, "turns/s", _each(rates)),
        at_most("  its last 20 turns over its first 20", last / first, 1.2, "times", note),
        beside("share of the floor, one each", 100 * max(rates) / ground, "%"),
    ]


def _size_rows(crowd: throughput.Crowd) -> list[Row]:
    text = crowd.text_bytes
    return [
        at_most("database over the text's bytes", crowd.database_bytes / text, 3, "times"),
        beside("their files over the text's bytes", crowd.file_bytes / text, "times"),
    ]


def _filing_rows() -> list[Row]:
    _say("the files of 100 debates, beside their floor")
    return filing.rows(runs=3)


def _process_rows() -> list[Row]:
    _say("a council whose answers take 0.5 s")
    session = council.answer_times()
    _say("moot --help, 5 times")
    cpu = command.help_seconds()
    _say("1,000 debates that wait")
    asleep = memory.scripted()
    _say("1,000 debates that wait in the SDK")
    calling = memory.on_the_wire()
    return [
        at_most("a council of 17 turns", session, 7, "answer-times"),
        beside("over its critical path of 5", session / council.CRITICAL_PATH, "times"),
        below("moot --help, CPU, best of 5", cpu, 0.3, "s"),
        below("1,000 debates that wait, peak", asleep.peak, 300, "MB", _grown(asleep)),
        below("1,000 that wait in the SDK, peak", calling.peak, 300, "MB", _grown(calling)),
    ]


def _streamed_rows() -> list[Row]:
    _say("turns of 300 streamed chunks, on each wire")
    return streamed.full(runs=1, calls=30)


def _machine_rows() -> list[Row]:
    _say("workers on Postgres and Redis, beside a bare Celery chain")
    return machines.rows()


def _list_rows() -> list[Row]:
    _say(f"a database with {lists.DEBATES:,} debates")
    measured = lists.measure()
    every = ", ".join(f"{name} {value:.1f}" for name, value in measured.pages.items())
    return [
        below("a page of 50 of 1,000,000 debates", measured.slowest, 20, "ms", every),
        at_most("  the last page over the first", measured.last_over_first, 1.5, "times"),
    ]


def _transcript_rows() -> list[Row]:
    _say(f"{transcripts.DEBATES:,} debates with what was said in them")
    measured = transcripts.measure()
    every = ", ".join(f"{name} {value:.1f}" for name, value in measured.pages.items())
    size = measured.index / measured.said
    return [
        below("a search of 100,000 transcripts", measured.slowest, 50, "ms", every),
        beside("adding a debate to the search", measured.adding, "ms"),
        beside("the index over what was said", size, "times"),
    ]


def _jury_rows() -> list[Row]:
    _say("1,000 scripted debates for each planted fault, and as many clean ones")
    return juries.rows()


def _grown(weight: memory.Weight) -> str:
    each = (weight.waiting - weight.before) / 1000 * 1024
    return f"{weight.before:.0f} MB before, {each:.0f} kB a debate"


def _each(values: list[float]) -> str:
    return "best of " + ", ".join(f"{value:,.0f}" for value in values)


def _say(words: str) -> None:
    print(f"... {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    if "--quick" not in sys.argv and not peers.installed():
        sys.exit("LangGraph is not installed: run `make bench`, or give --quick.")
    sys.exit(main())
