"""Codex, OpenAI's command-line program: `codex exec`."""

from collections.abc import Mapping
from typing import Any, cast

from moot.models import failures
from moot.models.failures import Said
from moot.models.program import Heard, count

STREAMS = False
SETS: dict[str, str] = {}
_OFF = (
    "shell_tool", "unified_exec", "view_image", "image_generation", "multi_agent", "apps",
    "plugins", "hooks", "browser_use", "computer_use", "goals", "tool_suggest", "skill_search",
)  # fmt: skip
"""What it could do besides answering."""
_WORDS = (  # in its messages, in this order: what each says is wrong
    (("not logged in", "401", "unauthorized", "codex login", "sign in", "token expired"),
     failures.NOT_LOGGED_IN),
    (("usage limit", "quota", "billing"), failures.USED_UP),
    (("429", "rate limit", "too many requests"), failures.SLOWER),
    (("context window", "context length", "too long"), failures.TOO_LONG),
    (("model is not supported", "model_not_found", "does not exist", "unknown model",
      "not found"), failures.UNKNOWN_MODEL),
    (("network", "connection", "disconnected", "lookup"), failures.UNREACHABLE),
)  # fmt: skip


def arguments(name: str, effort: str | None) -> list[str]:
    """The prompt comes on standard input; no tool, no file of settings, no session kept."""
    chosen = [
        "exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral",
        "--ignore-user-config", "--ignore-rules", "--color", "never",
        "-c", 'web_search="disabled"', "-c", 'approval_policy="never"',
    ]  # fmt: skip
    for feature in _OFF:
        chosen += ["-c", f"features.{feature}=false"]
    if effort not in (None, "none"):
        chosen += ["-c", f'model_reasoning_effort="{effort}"']
    return [*chosen, *([f"--model={name}"] if name else []), "-"]


def read(event: Mapping[str, Any], heard: Heard) -> tuple[str, bool]:
    match event.get("type"):
        case "item.completed":
            item = _table(event.get("item"))
            text = item.get("text") if item.get("type") == "agent_message" else ""
            return (text if isinstance(text, str) else ""), True
        case "turn.completed":
            used = _table(event.get("usage"))
            heard.asked, heard.told = count(used.get("input_tokens")), _told(used)
            heard.thought = count(used.get("reasoning_output_tokens"))
            heard.over = True
            heard.wrong = None  # it got over what it complained of
            return "", True
        case "turn.failed":
            heard.wrong = _wrong(_table(event.get("error")).get("message"))
            heard.over = True
            return "", True
        case "error":
            heard.wrong = _wrong(event.get("message"))
            return "", False
        case _:
            return "", True


def _told(used: Mapping[str, Any]) -> int:
    return count(used.get("output_tokens"))


def _wrong(message: object) -> Said:
    said = str(message).lower()
    found = (kind for words, kind in _WORDS if any(word in said for word in words))
    return next(found, failures.IN_TROUBLE)


def _table(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
