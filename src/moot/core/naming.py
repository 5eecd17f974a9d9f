"""What names a speaker to somebody who must not know it, and where a text writes such a name."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from moot.core.debate import Participant

_COMMON = frozenset(
    {"a", "i", "participant", "host", "local", "human", "together", "fireworks", "bedrock",
     "vertex", "azure", "the", "and", "for", "von", "van", "mrs"}
)  # fmt: skip
"""Names that are ordinary words: to hide them would spoil a text, and tell nobody anything."""
_SIZES = frozenset(
    {"auto", "base", "best", "chat", "default", "fast", "flash", "instruct", "large", "latest",
     "lite", "max", "medium", "mini", "model", "nano", "plus", "preview", "pro", "small", "test",
     "tiny", "turbo", "ultra"}
)  # fmt: skip
"""What a model is called beside its family."""
_VENDORS = {
    ("openai", "gpt", "codex"): ("OpenAI", "ChatGPT", "GPT"),
    ("claude", "anthropic"): ("Anthropic", "Claude", "Opus", "Sonnet", "Haiku"),
    ("gemini", "google", "gemma"): ("Google", "Gemini", "Gemma", "DeepMind"),
    ("mistral", "mixtral"): ("Mistral", "Mixtral"),
    ("deepseek",): ("DeepSeek",),
    ("llama",): ("Llama",),
    ("qwen",): ("Qwen", "Alibaba"),
    ("grok", "xai"): ("Grok", "xAI"),
}
"""What people call the models whose names contain one of these."""
_COINED = frozenset(
    {"openai", "chatgpt", "gpt", "anthropic", "claude", "gemini", "deepmind", "deepseek",
     "mixtral", "qwen", "xai"}
)  # fmt: skip
"""Names that are no words of the language, so that they name somebody in small letters, too."""
_GAP = re.compile(r"[\s_-]+")

Kind = Literal["seat", "role", "model"]


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a seat, and what it is a name of."""

    text: str
    kind: Kind

    @property
    def key(self) -> str:
        """The same for all spellings. A single letter is also a word: it stays as it is written."""
        return self.text if self.letter else key(self.text)

    @property
    def letter(self) -> bool:
        return len(self.text) == 1 and not _wide(self.text)

    @property
    def pattern(self) -> str:
        """Its words, with any gap between them."""
        return spelled(self.text)

    def meant(self, text: str, start: int, end: int) -> bool:
        """Whether what stands there is this name, and not a word that is spelled like it."""
        found = text[start:end]
        if inside(text, start, end) or (self.letter and found != self.text):
            return False
        if not found.islower() or key(found) in _COINED:
            return True
        if self.kind == "role":  # "I judge that" names nobody
            return text[max(start - 4, 0) : start].casefold() == "the "
        return not self.text.isalpha() or any(map(_wide, found))

    def stands_in(self, text: str) -> bool:
        return _stands_in(self, text)


@lru_cache(maxsize=1024)  # each name is looked for in the same motion for each juror's prompt
def _stands_in(name: Name, text: str) -> bool:
    found = re.finditer(name.pattern, text, re.IGNORECASE)
    return any(name.meant(text, *match.span()) for match in found)


@lru_cache(maxsize=4096)  # each word of each turn is looked at for each juror and each name
def spelled(text: str) -> str:
    return r"[\s_-]+".join(map(re.escape, _GAP.split(text)))


def key(text: str) -> str:
    return _GAP.sub(" ", text).casefold()


def names_of(seats: Sequence[Participant]) -> Iterator[tuple[Participant, Name]]:
    """All names of the seats. Where two have the same, the first one counts: a whole name before a
    part of another's, and what a seat is called before its model."""
    for find in (_called, _models, _parts, _vendors):
        for seat in seats:
            for name in find(seat):
                if name.text.strip(" _-") and name.text.casefold() not in _COMMON:
                    yield seat, name


def _called(seat: Participant) -> list[Name]:
    kind = "role" if seat.name.casefold() == seat.role.casefold() else "seat"
    return [Name(seat.name, kind), Name(seat.role, "role")]


def _models(seat: Participant) -> list[Name]:
    known: list[str] = []
    for whole in seat.choices:
        provider, _, model = whole.partition(":")
        known += [whole, provider] if model.casefold() in _SIZES else [whole, model, provider]
    return [Name(one, "model") for one in dict.fromkeys(known)]


def _parts(seat: Participant) -> list[Name]:
    """The words of a name of several: Ada and Lovelace."""
    words = _GAP.split(seat.name)
    long = [one for one in words if one[:1].isupper() and sum(map(str.isalpha, one)) > 2]
    return [Name(one, "seat") for one in long] if len(words) > 1 else []


def _vendors(seat: Participant) -> list[Name]:
    model = " ".join(seat.choices).casefold()
    return [
        Name(one, "model")
        for marks, known in _VENDORS.items()
        if any(mark in model for mark in marks)
        for one in known
    ]


def inside(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a part of a longer word. In scripts without spaces, nothing
    tells."""
    around = ((text[start - 1 : start], text[start]), (text[end : end + 1], text[end - 1]))
    return any(
        beside.isalnum() and not _wide(beside) and not _wide(edge) for beside, edge in around
    )


def _wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in "WF"
