"""Thoughts that a model says aloud: servers that know no better stream them between tags, at the
beginning of the answer."""

import re

_OPENS = "<think>"
_CLOSES = "</think>"
_START = re.compile(r"\s*<think>", re.IGNORECASE)


class Aside:
    """Parts what is thought from what is said, piece by piece."""

    def __init__(self) -> None:
        self._kept = ""  # what may yet turn out to be a part of a tag
        self._place = "start"  # then "inside", then "after"

    def hear(self, piece: str) -> tuple[str, int]:
        """What is said in a piece, and how many characters are not."""
        if self._place == "after":
            return piece, 0
        text, self._kept = self._kept + piece, ""
        if self._place == "start":
            return self._begin(text)
        return self._think(text)

    def rest(self) -> str:
        """What was kept back and is no tag, once nothing more comes."""
        kept, self._kept = self._kept, ""
        return kept if self._place == "start" else ""

    def _begin(self, text: str) -> tuple[str, int]:
        if _OPENS.startswith(text.lstrip().lower()):
            if text.lstrip().lower() != _OPENS:
                self._kept = text
                return "", 0
        elif not _START.match(text):
            self._place = "after"
            return text, 0
        self._place = "inside"
        return self._think(_START.sub("", text, count=1))

    def _think(self, text: str) -> tuple[str, int]:
        end = text.lower().find(_CLOSES)
        if end >= 0:
            self._place = "after"
            return text[end + len(_CLOSES) :].lstrip(), end
        tail = text.rfind("<")
        tag = tail >= 0 and _CLOSES.startswith(text[tail:].lower())
        self._kept = text[tail:] if tag else ""
        return "", len(text) - len(self._kept)
