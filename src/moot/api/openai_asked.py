"""What a chat request asks of moot: which kind of debate, about what, and how it is answered.

Fields that mean nothing to a debate (temperature, seed, user …) are ignored, as every server with
this interface does. Those that would change what the answer is are refused, in words.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from moot.core.request import MAX_MOTION
from moot.errors import InputError, NotFoundError

FAMILY = "moot/"
JURY = 3
"""The jury that the list of models offers; others can be asked for."""
_MODEL = re.compile(r"moot/(?P<format>[A-Za-z0-9_-]{1,100})(?:\+jury(?P<size>[0-9]{1,3}))?")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_TOOLS = ("tools", "functions")
_CONTEXT = "\n\nWhat was said before, as context{}:\n"
_WHOLE = " (all of it is source S{})"
_LEFT_OUT = "…\n"
_LEAST = 200
"""Characters of context that are worth having."""
_END = 1500
"""Characters that a question keeps at each end if it is too long for a motion."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A request, checked."""

    model: str  # as it came
    format: str
    jury: int | None
    motion: str
    context: tuple[tuple[str, str], ...]  # who said what before
    stream: bool = False
    include_usage: bool = False
    allow_secrets: bool = False  # in what was said, if that becomes a source
    digest: str = ""  # of the model and all messages

    def asked(self) -> dict[str, Any]:
        """The debate that this asks for, as `Moot.create` takes it."""
        motion, sources = self._laid_out()
        wanted: dict[str, Any] = {"motion": motion, "format": self.format}
        if sources:
            wanted |= {"sources": sources, "allow_secrets": self.allow_secrets}
        return wanted if self.jury is None else {**wanted, "jury": {"size": self.jury}}

    def _laid_out(self) -> tuple[str, list[dict[str, str]]]:
        """The question with what was said before it, the newest most; and as sources, whole, what
        has no room there."""
        motion, sources = self.motion, list[dict[str, str]]()
        if len(motion) > MAX_MOTION:
            sources.append({"title": "The question", "text": motion})
            whole = _WHOLE.format(1).strip()
            motion = f"{motion[:_END].rstrip()}\n{_LEFT_OUT}{motion[-_END:].lstrip()}\n\n{whole}"
        said = "".join(f"{role}: {text}\n" for role, text in self.context).rstrip()
        head = _CONTEXT.format("")
        room = MAX_MOTION - len(motion) - len(head)
        if said and len(said) > room:
            sources.append({"title": "What was said before", "text": said})
            head = _CONTEXT.format(_WHOLE.format(len(sources)))
            room = MAX_MOTION - len(motion) - len(head) - len(_LEFT_OUT)
            said = _LEFT_OUT + said[-room:] if room >= _LEAST else ""
        return (f"{motion}{head}{said}" if said else motion), sources


def names(formats: Sequence[str]) -> list[str]:
    """The models that a client can choose from."""
    return [FAMILY + name + jury for name in formats for jury in ("", f"+jury{JURY}")]


def parse_model(name: object) -> tuple[str, int | None]:
    """The format and the size of the jury that a model stands for."""
    match = _MODEL.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        given = repr(name)[:100] if name else "no model"
        raise NotFoundError(
            f"moot has no model called {given}. A model is moot/FORMAT, for example moot/council, "
            "or with a jury moot/council+jury3; GET /v1/models lists them.",
            "model",
        )
    return match["format"], int(match["size"]) if match["size"] else None


def read(body: bytes) -> Chat:
    """The request in that body. Raises InputError, which names the field."""
    try:
        asked: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("The body is not valid JSON.", "body") from None
    if not isinstance(asked, dict):
        raise InputError("The body is an object: model, messages …", "body")
    asked = cast(dict[str, Any], asked)
    format_, jury = parse_model(asked.get("model"))
    _refuse(asked)
    stream = asked.get("stream")
    if stream not in (None, True, False):
        raise InputError("stream is true or false.", "stream")
    said = _messages(asked.get("messages"))
    last = max((at for at, (role, _) in enumerate(said) if role == "user"), default=None)
    if last is None or not said[last][1].strip():
        raise InputError(
            "The last user message is the question to debate, and there is none.", "messages"
        )
    context = tuple((role, text) for role, text in said[:last] if text.strip())
    return Chat(
        asked["model"], format_, jury, said[last][1].strip(), context, bool(stream),
        _include_usage(asked.get("stream_options")), asked.get("allow_secrets") is True,
        _digest([asked["model"], said]),
    )  # fmt: skip


def _refuse(asked: Mapping[str, Any]) -> None:
    """What moot cannot do is said at once, and not found out from an answer."""
    for name in _TOOLS:
        if asked.get(name) and asked.get("tool_choice") != "none":
            raise InputError(
                f"The seats of a debate call no tools. Leave out {name}; to use moot as a tool of "
                "your model, add its MCP server (/mcp).",
                name,
            )
    if asked.get("n") not in (None, 1):
        raise InputError("A debate comes to one answer: n is 1.", "n")
    if asked.get("modalities") not in (None, [], ["text"]):
        raise InputError("The answer is a text: modalities is text alone.", "modalities")
    shape: Any = asked.get("response_format")
    kind = cast(dict[str, Any], shape).get("type") if isinstance(shape, dict) else shape
    if kind not in (None, "text"):
        raise InputError(
            "The answer is Markdown: response_format is text. GET /debates/{id}/verdict has the "
            "outcome as JSON.",
            "response_format",
        )


def _include_usage(options: object) -> bool:
    if options is None:
        return False
    if not isinstance(options, dict):
        raise InputError("stream_options is an object.", "stream_options")
    return bool(cast(dict[str, Any], options).get("include_usage"))


def _messages(given: object) -> list[tuple[str, str]]:
    if not isinstance(given, list) or not given:
        raise InputError("messages is a list of at least one message.", "messages")
    found: list[tuple[str, str]] = []
    for at, message in enumerate(cast(list[Any], given)):
        if not isinstance(message, dict):
            raise InputError(
                "Each message is an object with a role and content.", f"messages[{at}]"
            )
        one = cast(dict[str, Any], message)
        role = one.get("role")
        if role not in _ROLES:
            known = ", ".join(_ROLES)
            raise InputError(f"The role of a message is one of {known}.", f"messages[{at}].role")
        found.append((role, _text(one.get("content"), f"messages[{at}].content")))
    return found


def _text(content: object, where: str) -> str:
    """A text, or parts of one. Nothing else can be read."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise InputError("The content of a message is a text, or a list of parts.", where)
    return "\n".join(
        _part(part, f"{where}[{at}]") for at, part in enumerate(cast(list[Any], content))
    )


def _part(part: object, where: str) -> str:
    if isinstance(part, str):
        return part
    one = cast(dict[str, Any], part) if isinstance(part, dict) else {}
    text = one.get(str(one.get("type")))
    if one.get("type") in ("text", "input_text", "output_text"):
        text = one.get("text")
    elif one.get("type") != "refusal":
        raise InputError("moot reads text: a part has the type text.", where)
    if not isinstance(text, str):
        raise InputError("A part of a message has its text.", where)
    return text


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
