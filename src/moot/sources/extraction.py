"""From a document to its text, page by page.

Text is read here. PDF, DOCX and HTML are read in a process of their own, with little time and
memory: a document that breaks its reader breaks nothing else.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from charset_normalizer import from_bytes

from moot.core.clean import visible
from moot.core.sources import MAX_TEXT, Passage, SourceKind, split
from moot.errors import InputError

SECONDS = 60.0
"""The longest that a document may take to be read; 200 pages of PDF take one."""
Page = tuple[int | None, str]
_BLANK = re.compile(r"\n{3,}")


def extract(name: str, kind: SourceKind, data: bytes, field: str) -> tuple[Passage, ...]:
    """The passages of a document. Raises InputError if it cannot be read, or holds no text."""
    pages = _apart(name, kind, data, field) if kind in ("pdf", "docx", "html") else [
        (None, decoded(name, data, field))
    ]  # fmt: skip
    if sum(len(text) for _, text in pages) > MAX_TEXT:
        raise InputError(
            f"{name}: its text is longer than {MAX_TEXT // 2**20} MB. Give the part that matters.",
            field,
        )
    passages = split((page, _BLANK.sub("\n\n", visible(text))) for page, text in pages)
    if not passages:
        scanned = " It may be a scan: make its text searchable first." if kind == "pdf" else ""
        raise InputError(f"{name}: there is no text in it.{scanned}", field)
    return passages


def decoded(name: str, data: bytes, field: str) -> str:
    """Text, in whichever encoding it is."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    best = from_bytes(data).best()
    if best is None:
        raise InputError(f"{name}: it is not text that can be read. Save it as UTF-8.", field)
    return str(best)


def _apart(name: str, kind: SourceKind, data: bytes, field: str) -> Sequence[Page]:
    """Read a document in a process of its own."""
    command = [sys.executable, "-m", "moot.sources.child", kind]
    try:
        done = subprocess.run(  # noqa: S603  our own module, and a kind from a fixed list
            command, input=data, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{name}: reading it takes longer than {SECONDS:g} s. Give a smaller part.", field
        ) from None
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        said = visible(why[-1])[:200] if why and why[-1].startswith("!") else ""
        reason = said.removeprefix("!").strip() or f"it is not a {kind.upper()} that can be read."
        raise InputError(f"{name}: {reason}", field)
    found = json.loads(done.stdout)
    return [(page, text) for page, text in found]
