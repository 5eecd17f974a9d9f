"""How the files of public sets read, each in its own form: the questions that they hold."""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from moot.errors import InputError
from moot.evals.datasets import LETTERS, Item, Source

Row = Mapping[str, Any]
YES, NO = "yes", "no"
MOST_BYTES = 256_000_000  # that a packed file may unfold to
_QUESTION = 3500  # characters that a question may have


def items(form: str, data: bytes) -> tuple[Item, ...]:
    """The questions, each once, in an order that has nothing to do with the file's: answers take
    turns, so that the first N of them are as balanced as the set allows."""
    try:
        found = {item.id: item for item in FORMS[form](data) if item}
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zlib.error):
        raise InputError(f"The file of {form} has another form than moot knows.", "dataset") from (
            None
        )
    by_answer: dict[int | None, list[Item]] = {}
    for id_ in sorted(found):  # ids are hashes
        by_answer.setdefault(found[id_].right, []).append(found[id_])
    columns = [by_answer[answer] for answer in sorted(by_answer, key=lambda one: one or 0)]
    most = max(map(len, columns), default=0)
    return tuple(column[n] for n in range(most) for column in columns if n < len(column))


def _item(question: str, answer: str, options: Iterable[str] = (), **more: Any) -> Item | None:
    """A question; None if it is too long to be a motion."""
    question = " ".join(question.split())
    if len(question) > _QUESTION:
        return None
    listed = tuple(options)
    text = json.dumps([question, listed, [one.text for one in more.get("sources", ())]])
    id_ = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Item(id=id_, question=question, options=listed, answer=answer, **more)


def _lines(data: bytes) -> Iterator[Row]:
    for line in data.decode("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def _unpacked(data: bytes) -> bytes:
    unfold = zlib.decompressobj(zlib.MAX_WBITS | 16)  # gzip's own framing
    whole = unfold.decompress(data, MOST_BYTES)
    if not unfold.eof:
        raise ValueError("it is cut off, or unfolds to too much")
    return whole


def _asked(question: str) -> str:
    words = question.strip().rstrip("?").strip()
    return f"{words[:1].upper()}{words[1:]}?"


def _boolq(data: bytes) -> Iterator[Item | None]:
    for row in _lines(data):
        right = {"true": YES, "false": NO}[str(row["answer"]).lower()]
        source = Source(title=row["title"] or "Source", text=row["passage"])
        yield _item(_asked(row["question"]), right, (YES, NO), sources=(source,))


def _mmlu(data: bytes) -> Iterator[Item | None]:
    for row in _lines(data):
        parts = re.split(r"(?m)^([A-J])\. ", row["options"])[1:]
        options = [one.strip() for one in parts[1::2]]
        letter = row["answer"][:1]
        different = len({one.casefold() for one in options}) == len(options)
        if different and all(options) and letter in LETTERS[: len(options)]:
            yield _item(row["question"], options[LETTERS.index(letter)], options)


def _gsm8k(data: bytes) -> Iterator[Item | None]:
    for row in _lines(_unpacked(data)):
        doc = row["doc"]
        yield _item(doc["question"], str(doc["short_answer"]).replace(",", ""), check="number")


def _qasper(data: bytes) -> Iterator[Item | None]:
    for row in _lines(_unpacked(data)):
        doc = row["doc"]
        context, found, _ = str(doc["query"]).rpartition("\nQuestion: ")
        text = context.removeprefix("Context: ").strip()
        if found and text:
            right = {"yes": YES, "no": NO}[str(doc["answer"]).lower()]
            source = Source(title=doc["title"], text=text)
            yield _item(_asked(doc["question"]), right, (YES, NO), sources=(source,))


def _strategyqa(data: bytes) -> Iterator[Item | None]:
    for row in cast("list[Row]", json.loads(data)["examples"]):
        scores = row["target_scores"]
        yield _item(_asked(row["input"]), YES if scores["Yes"] else NO, (YES, NO))


FORMS: Mapping[str, Callable[[bytes], Iterator[Item | None]]] = {
    "boolq": _boolq,
    "mmlu": _mmlu,
    "gsm8k": _gsm8k,
    "qasper": _qasper,
    "strategyqa": _strategyqa,
}
