"""The peer: LangGraph with its SqliteSaver, doing the same job as a graph of its own idiom."""

import gc
import operator
import sqlite3
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, TypedDict

from bench.stage import home, words

THREADS = 8


class State(TypedDict):
    """What a thread of the graph holds; what a node returns is appended."""

    messages: Annotated[list[dict[str, str]], operator.add]


_UNTUNED = gc.get_threshold()


@dataclass(frozen=True, slots=True)
class Peer:
    """Turns a second, one debate after another and several at once."""

    one_by_one: float
    threads: float

    @property
    def best(self) -> float:
        return max(self.one_by_one, self.threads)

    @property
    def way(self) -> str:
        better = self.one_by_one >= self.threads
        return "one invoke after another" if better else f"{THREADS} threads"


def installed() -> bool:
    return find_spec("langgraph") is not None


def langgraph(debates: int, turns: int = 20) -> Peer:
    """Its rate with each step on disk before the next, as moot's is."""
    return Peer(_measure(debates, turns, _one_by_one), _measure(debates, turns, _threads))


def _one_by_one(run: Callable[[int], None], debates: int) -> None:
    for number in range(debates):
        run(number)


def _threads(run: Callable[[int], None], debates: int) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(debates)))


def _measure(
    debates: int, turns: int, drive: Callable[[Callable[[int], None], int], None]
) -> float:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with home() as path, closing(_connect(path)) as conn, as_python_comes():
        saver = SqliteSaver(conn)
        saver.setup()
        graph = _graph(saver, turns)

        def run(number: int) -> None:
            config = {"configurable": {"thread_id": str(number)}, "recursion_limit": turns + 5}
            done = graph.invoke({"messages": []}, config, durability="sync")
            if len(done["messages"]) != turns:
                raise RuntimeError(f"{len(done['messages'])} turns, not {turns}")

        begun = perf_counter()
        drive(run, debates)
        return debates * turns / (perf_counter() - begun)


@contextmanager
def as_python_comes() -> Generator[None]:
    """moot tunes the garbage collector of its process; who does not is measured without that."""
    tuned = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(*_UNTUNED)
    try:
        yield
    finally:
        gc.set_threshold(*tuned)
        gc.freeze()


def _connect(path: Path) -> sqlite3.Connection:
    """With the settings that moot's own connections have."""
    conn = sqlite3.connect(path / "peer.sqlite", check_same_thread=False)
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        conn.execute(f"PRAGMA {pragma}")
    return conn


def _graph(saver: Any, turns: int) -> Any:
    from langgraph.graph import END, START, StateGraph

    def speaks(name: str) -> Callable[[State], dict[str, Any]]:
        def speak(state: State) -> dict[str, Any]:
            text = words(name, len(state["messages"]) // 2 + 1)
            return {"messages": [{"name": name, "text": text}]}

        return speak

    def then(other: str) -> Callable[[State], str]:
        return lambda state: END if len(state["messages"]) >= turns else other

    builder = StateGraph(State)
    builder.add_node("A", speaks("A"))
    builder.add_node("B", speaks("B"))
    builder.add_edge(START, "A")
    builder.add_conditional_edges("A", then("B"), ["B", END])
    builder.add_conditional_edges("B", then("A"), ["A", END])
    return builder.compile(checkpointer=saver)
