"""The log of `moot serve`: one line per record on stderr, for people or for machines.

What a record holds may come from a model, a client or a vendor. So nothing in it can begin a line
of its own or steer a terminal, it is cut, and before anything else its secrets are masked.
"""

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, cast
from urllib.parse import quote

from moot.settings import Settings

Style = Literal["text", "json"]

MAX_MESSAGE = 2_000  # characters
MAX_TRACE = 8_000  # of a traceback; its end is kept, for there stands what went wrong
_MAX_ITEMS = 20  # of an extra field that is a list or a mapping
_MAX_DEPTH = 4
_MIN_SECRET = 8  # characters; masking less would mask words

_OWN = ("moot", "uvicorn", "uvicorn.error")
_RECORD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}
_COLOURS = {"DEBUG": "2", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}

# Control characters, line separators, marks that reverse the direction of text, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def configure(style: Style, level: str, secrets: Sequence[str] = ()) -> None:
    """Log to stderr from now on; called again, it replaces what it did before.

    What other libraries warn of goes the same way, because Python would print it unmasked.
    """
    mask = _mask(secrets)
    formatter = JsonLines(mask) if style == "json" else TextLines(mask, _is_terminal())
    wanted = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    for name in _OWN:
        logger = logging.getLogger(name)
        logger.handlers = [_Stderr(formatter)]
        logger.propagate = False
        logger.setLevel(wanted)
    root = logging.getLogger()
    others = [handler for handler in root.handlers if not isinstance(handler, _Stderr)]
    root.handlers = [*others, _Stderr(formatter, logging.WARNING)]


def begin(settings: Settings) -> None:
    """Log as the settings say: for people on a terminal, else as JSON lines."""
    style = settings.log or ("text" if _is_terminal() else "json")
    configure(style, settings.log_level, settings.secrets())


def _mask(secrets: Sequence[str]) -> Callable[[str], str]:
    """Replaces secrets by "***", also if they are quoted, in a literal or in a URL."""
    forms: set[str] = set()
    for secret in (secret.strip() for secret in secrets):
        if len(secret) >= _MIN_SECRET:
            quoted = quote(secret, safe="", errors="replace")
            forms |= {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quoted}
    if not forms:
        return str
    # The longest first: one secret may begin with another.
    pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
    return lambda text: pattern.sub("***", text)


class _Stderr(logging.Handler):
    """Writes whole lines to whatever stderr is now, and never raises."""

    def __init__(self, formatter: logging.Formatter, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:  # a field that cannot be printed; the record still happened
            line = f"A record could not be written: {type(error).__name__}."
        with suppress(Exception):  # stderr is gone, and there is nowhere to say so
            try:
                sys.stderr.write(f"{line}\n")
            except UnicodeEncodeError:
                sys.stderr.write(f"{line}\n".encode("ascii", "backslashreplace").decode())
            sys.stderr.flush()


class _Lines(logging.Formatter):
    """What both styles share: the parts of a record, masked and cut."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__()
        self._mask = mask

    def message(self, record: logging.LogRecord) -> str:
        try:
            return self._text(record.getMessage())
        except Exception:  # arguments that do not fit the message: show what there is
            return self._text(f"{_shown(record.msg)} {_shown(record.args)}")

    def trace(self, record: logging.LogRecord) -> str:
        """The exception and the stack that came with the record, or nothing."""
        error = record.exc_info[1] if record.exc_info else None
        raised = "".join(traceback.format_exception(error)) if error else record.exc_text
        parts = [part for part in (raised, record.stack_info) if part]
        text = self._mask("\n".join(parts).strip())
        return text if len(text) <= MAX_TRACE else "…" + text[1 - MAX_TRACE :]

    def extras(self, record: logging.LogRecord) -> dict[str, Any]:
        """What `extra` added to the record."""
        added = {name: value for name, value in vars(record).items() if name not in _RECORD}
        return {self._text(name): self._field(value) for name, value in added.items()}

    def _field(self, value: object) -> Any:
        """A value as JSON can hold it; as a text that is cut if it is large."""
        try:
            plain = self._plain(value, _MAX_DEPTH)
            written = json.dumps(plain)
        except Exception:  # it cannot be looked into
            return f"<{type(value).__name__}>"
        return plain if isinstance(plain, str) or len(written) <= MAX_MESSAGE else _cut(written)

    def _plain(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            # Numbers that JSON does not know, or that are too long to be read again, go as text.
            return value if abs(value) < 1e300 else self._text(value)
        if depth and isinstance(value, Mapping):
            pairs = list(cast(Mapping[object, object], value).items())[:_MAX_ITEMS]
            return {self._text(name): self._plain(item, depth - 1) for name, item in pairs}
        if depth and isinstance(value, list | tuple | set | frozenset):
            items = list(cast(Sequence[object], value))[:_MAX_ITEMS]
            return [self._plain(item, depth - 1) for item in items]
        return self._text(value)

    def _text(self, value: object) -> str:
        return _cut(self._mask(_shown(value)))


class JsonLines(_Lines):
    """A JSON object per record, in ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": self.message(record),
        }
        if trace := self.trace(record):
            line["exception"] = trace
        for name, value in self.extras(record).items():
            line[f"{name}_" if name in line else name] = value
        return json.dumps(line)


class TextLines(_Lines):
    """The time, the level if it is worth a word, and the message."""

    def __init__(self, mask: Callable[[str], str], coloured: bool = False) -> None:
        super().__init__(mask)
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        level = "" if record.levelno == logging.INFO else record.levelname
        text = _escape(self.message(record))
        if trace := self.trace(record):
            text += " | " + " | ".join(_escape(line.strip()) for line in trace.split("\n"))
        if self._coloured:
            at = f"\x1b[2m{at}\x1b[0m"
            level = f"\x1b[{_COLOURS.get(level, '1')}m{level}\x1b[0m" if level else ""
        return " ".join(part for part in (at, level, text) if part)


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except Exception:  # closed, or none at all
        return False
