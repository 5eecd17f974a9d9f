"""Claude Code, Anthropic's command-line program: `claude -p`."""

from collections.abc import Mapping
from typing import Any, cast

from moot.models import failures
from moot.models.failures import Said
from moot.models.program import Heard, count

STREAMS = True
SETS = {"CLAUDE_CODE_SAFE_MODE": "1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
"""No CLAUDE.md, skill, plugin, hook or memory of the user's: none of them is part of a debate."""
_WHO = "You take part in a debate. You are told below who you are and what you are asked."
_ERRORS = {  # what an assistant message names
    "authentication_failed": failures.NOT_LOGGED_IN,
    "oauth_org_not_allowed": failures.NOT_LOGGED_IN,
    "billing_error": failures.USED_UP,
    "rate_limit": failures.SLOWER,
    "invalid_request": failures.NOT_ACCEPTED,
    "model_not_found": failures.UNKNOWN_MODEL,
    "server_error": failures.IN_TROUBLE,
    "overloaded": failures.IN_TROUBLE,
}
_STATUSES = {
    401: failures.NOT_LOGGED_IN, 403: failures.NOT_LOGGED_IN, 404: failures.UNKNOWN_MODEL,
    413: failures.TOO_LONG, 429: failures.SLOWER,
}  # fmt: skip


def arguments(name: str, effort: str | None) -> list[str]:
    """Print mode, with every event; no tool, no file of settings, no session kept."""
    chosen = [
        "-p", "--output-format", "stream-json", "--include-partial-messages", "--verbose",
        "--tools", "", "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands",
        "--no-session-persistence", "--system-prompt", _WHO,
    ]  # fmt: skip
    chosen += ["--effort", effort] if effort not in (None, "none") else []
    return [*chosen, f"--model={name}"] if name else chosen


def read(event: Mapping[str, Any], heard: Heard) -> tuple[str, bool]:
    match event.get("type"):
        case "system":
            model = event.get("model")
            if isinstance(model, str):
                heard.model = model.partition("[")[0]
            return "", False
        case "stream_event":
            return _spoken(_table(event.get("event")))
        case "assistant":
            if isinstance(wrong := event.get("error"), str):
                heard.wrong = _ERRORS.get(wrong, failures.IN_TROUBLE)
            return "", True
        case "result":
            _end(event, heard)
            return "", True
        case _:
            return "", False


def _spoken(event: Mapping[str, Any]) -> tuple[str, bool]:
    """A word that is said, or a thought, of which only that it came is of interest."""
    delta = _table(event.get("delta"))
    text = delta.get("text") if delta.get("type") == "text_delta" else ""
    return (text if isinstance(text, str) else ""), bool(delta)


def _end(event: Mapping[str, Any], heard: Heard) -> None:
    used = _table(event.get("usage"))
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    heard.asked = sum(count(used.get(name)) for name in names)
    heard.told = count(used.get("output_tokens"))
    cost = event.get("total_cost_usd")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e6:
        heard.cost = float(cost)
    heard.over = True
    answer = event.get("result")
    if event.get("is_error") or event.get("subtype") != "success":
        heard.wrong = heard.wrong or _wrong(event, answer if isinstance(answer, str) else "")
    elif isinstance(answer, str):
        heard.answer = answer


def _wrong(event: Mapping[str, Any], words: str) -> Said:
    status = event.get("api_error_status")
    said = words.lower()
    if "prompt is too long" in said:
        return failures.TOO_LONG
    if "/login" in said or "log in" in said:
        return failures.NOT_LOGGED_IN
    if "limit" in said and ("usage" in said or "reached" in said or "hit your" in said):
        return failures.USED_UP
    if "selected model" in said:
        return failures.UNKNOWN_MODEL
    known = _STATUSES.get(status) if isinstance(status, int) else None
    return known or failures.IN_TROUBLE


def _table(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
