"""The log: one line per record, whatever it holds; no key in it; and it never raises."""

import io
import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from moot import logs
from moot.logs import MAX_MESSAGE, MAX_TRACE, configure

KEY = "sk-ant-0123456789abcdef"
NAMES = ("", "moot", "uvicorn", "uvicorn.error")
EVIL = "fine\n12:00:00 ERROR forged\r\x1b[2J\x00\x85\u2028\u202eeslaf\ud800"
log = logging.getLogger("moot.test")


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(it, it.handlers, it.propagate, it.level) for it in loggers]
    yield
    for it, handlers, propagate, level in before:
        it.handlers, it.propagate = handlers, propagate
        it.setLevel(level)


@pytest.fixture
def err(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What stands for stderr; pytest puts its own back over one that a fixture has set."""
    stream = io.StringIO()
    monkeypatch.setattr(logs, "sys", SimpleNamespace(stderr=stream))
    return stream


def entry(err: io.StringIO) -> dict[str, Any]:
    [line] = err.getvalue().splitlines()
    return json.loads(line)


def fail(message: str) -> None:
    raise ValueError(message)


def test_json_lines(err: io.StringIO) -> None:
    configure("json", "info")
    log.info("Turn %d of %s", 3, "d1", extra={"debate": "d1", "cost": 0.5, "tags": ["a", None]})
    said = entry(err)
    at = said.pop("time")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at)
    assert abs(datetime.fromisoformat(at).timestamp() - datetime.now().timestamp()) < 60  # noqa: DTZ005 - only its timestamp is used
    assert said == {
        "level": "INFO",
        "logger": "moot.test",
        "message": "Turn 3 of d1",
        "debate": "d1",
        "cost": 0.5,
        "tags": ["a", None],
    }


def test_lines_for_people(err: io.StringIO) -> None:
    configure("text", "INFO")
    log.info("It is on.", extra={"debate": "d1"})
    log.warning("It is slow.")
    log.debug("Nobody wants to know.")
    first, second = err.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d It is on\.", first)
    assert re.fullmatch(r"\d\d:\d\d:\d\d WARNING It is slow\.", second)


def test_colours_are_for_terminals(err: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(err, "isatty", lambda: True)
    configure("text", "info")
    log.error("Red \x1b[32mor green")
    line = err.getvalue()
    assert "\x1b[31mERROR\x1b[0m" in line
    assert "\x1b[32m" not in line, "a message paints nothing"
    assert "\\x1b[32mor green" in line


def test_levels(err: io.StringIO) -> None:
    configure("text", "warning")
    log.info("no")
    assert not err.getvalue()
    configure("text", "no such level")
    log.debug("no")
    log.info("yes")
    assert err.getvalue().count("\n") == 1


def test_no_line_comes_twice(err: io.StringIO) -> None:
    for _ in range(3):
        configure("text", "info")
    for name in ("moot", "moot.engine", "uvicorn", "uvicorn.error"):
        logging.getLogger(name).warning("I am %s.", name)
    assert len(err.getvalue().splitlines()) == 4


def test_what_other_libraries_warn_of_goes_the_same_way(err: io.StringIO) -> None:
    configure("json", "debug", [KEY])
    logging.getLogger("asyncio").error("Task failed with\n%s", KEY)
    assert entry(err)["message"] == "Task failed with\n***"
    logging.getLogger("httpx").info("not asked for")
    assert entry(err)


@pytest.mark.parametrize("style", ["text", "json"])
def test_one_line_whatever_it_holds(style: logs.Style, err: io.StringIO) -> None:
    configure(style, "info")
    log.info(EVIL)
    log.info("%s", EVIL)
    log.info("x", extra={"field": EVIL, EVIL: [EVIL, {EVIL: EVIL}]})
    try:
        fail(EVIL)
    except ValueError:
        log.exception(EVIL, stack_info=True)
    written = err.getvalue()
    lines = written.split("\n")
    assert len(lines) == 5
    assert not lines.pop()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800]", written)
    assert written.replace("\n", "").isprintable()
    if style == "json":
        assert [json.loads(line)["message"] for line in lines[:2]] == [EVIL, EVIL]
    else:
        assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)
        assert "fine\\n12:00:00 ERROR forged" in lines[0]
        assert "ValueError: fine" in lines[3]


@pytest.mark.parametrize("style", ["text", "json"])
def test_long_messages_are_cut(style: logs.Style, err: io.StringIO) -> None:
    configure(style, "info")
    log.info("a" * 2_000)
    assert "a" * 2_000 in err.getvalue()
    err.truncate(0)
    err.seek(0)
    log.info("%s", "b" * 1_000_000, extra={"field": "c" * 9_999, "many": ["d" * 500] * 1_000})
    line = err.getvalue()
    assert line.count("b") <= MAX_MESSAGE
    assert len(line) < 3 * MAX_MESSAGE + 500
    if style == "json":
        said = json.loads(line)
        assert len(said["message"]) == len(said["field"]) == MAX_MESSAGE
        assert said["message"].endswith("…")
    try:
        fail("e" * 1_000_000)
    except ValueError:
        log.exception("oh")
    assert len(err.getvalue()) < len(line) + MAX_TRACE + 500


class Holder:
    def __str__(self) -> str:
        return f"Holder({KEY})"


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_key_appears(style: logs.Style, err: io.StringIO) -> None:
    configure(style, "debug", [KEY, 'quo"te\\d-secret/1', ""])
    log.info(f"The key is {KEY}.")
    log.info("The keys are %s, %s and %r", KEY, Holder(), {"k": KEY.encode()})
    log.info("In pieces: %s%s", KEY[:10], KEY[10:])
    log.info("%r and %s", 'quo"te\\d-secret/1', "?key=quo%22te%5Cd-secret%2F1")
    fields: dict[str, Any] = {"a": KEY, "b": {"c": [KEY, {KEY: Holder()}]}, KEY: 1, "d": Holder()}
    log.info("extra", extra=fields)
    log.info("deep", extra={"deep": [[[[[[[KEY]]]]]]]})
    log.info("x" * (MAX_MESSAGE - 10) + KEY)
    log.info("not %d a number", KEY)
    written = err.getvalue()
    assert "sk-ant" not in written
    assert "secret" not in written
    assert "***" in written
    assert len(written.splitlines()) == 8


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_key_appears_in_a_traceback(style: logs.Style, err: io.StringIO) -> None:
    configure(style, "debug", [KEY])
    try:
        try:
            fail(f"401: bad key {KEY}")
        except ValueError as error:
            error.add_note(f"asked with {KEY}")
            raise RuntimeError(KEY) from ExceptionGroup("both", [error, KeyError(KEY)])
    except RuntimeError:
        log.exception("It failed.")
        log.warning("It failed.", exc_info=True, stack_info=True)
    written = err.getvalue()
    assert "sk-ant" not in written
    assert "bad key ***" in written
    assert "asked with ***" in written
    assert "RuntimeError: ***" in written
    if style == "json":
        assert "test_logs.py" in json.loads(written.splitlines()[0])["exception"]


def test_a_secret_that_begins_with_another_is_masked_whole(err: io.StringIO) -> None:
    configure("json", "info", ["abcdefgh", "abcdefgh-the-rest", f"  {KEY}\n"])
    log.info("abcdefgh-the-rest abcdefgh %s", KEY)
    assert entry(err)["message"] == "*** *** ***"


def test_short_words_are_no_secrets(err: io.StringIO) -> None:
    configure("json", "info", ["debate", "", "       x"])
    log.info("A debate.")
    assert entry(err)["message"] == "A debate."


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class BrokenMap(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise RuntimeError

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


@pytest.mark.parametrize("style", ["text", "json"])
def test_it_never_raises(style: logs.Style, err: io.StringIO) -> None:
    configure(style, "info", [KEY])
    loop: list[Any] = []
    loop.append(loop)
    log.info("%d %s", "x")
    log.info("%s", Broken())
    log.info(Broken())
    log.info("odd", extra={"a": Broken(), "b": BrokenMap(), "c": loop, "d": float("nan")})
    log.info("odd", extra={"a": 10**5_000, "b": {1: 2, None: {3}}, "time": 1, "level": "forged"})
    log.info("%(a)s", {"b": 1})
    odd = {"name": "moot.test", "msg": "odd", "exc_info": True, "levelno": 40, "levelname": "ERROR"}
    log.handle(logging.makeLogRecord(odd))
    try:
        raise ValueError(Broken())
    except ValueError:
        log.exception("odd")
    lines = err.getvalue().splitlines()
    assert len(lines) == 8
    assert "Traceback" not in "".join(lines[:7])
    if style == "json":
        records = [json.loads(line) for line in lines if line.startswith("{")]
        assert len(records) >= 7
        assert records[4]["level"] == "INFO"
        assert records[4]["level_"] == "forged"


@pytest.mark.parametrize("stream", [None, "closed", "ascii", "full"])
def test_whatever_stderr_is(stream: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, "ascii", errors="strict", write_through=True)
    if stream == "closed":
        file.close()
    if stream == "full":
        monkeypatch.setattr(raw, "write", fail)
    monkeypatch.setattr(sys, "stderr", None if stream is None else file)
    configure("text", "info")
    log.info("naïve 東京 — ok")
    if stream == "ascii":
        assert raw.getvalue().endswith(b"na\\xefve \\u6771\\u4eac \\u2014 ok\n")
        file.close()
    elif stream == "full":
        monkeypatch.undo()
        file.detach()
