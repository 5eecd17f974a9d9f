"""The webhook: a program elsewhere says that a scheduled conversation is to begin now."""

import json
import time
from typing import Any

from fastapi import Request, Response

from moot.api import signing
from moot.api.asked import HookAsked
from moot.api.common import ConversationId, Moot, Routes, as_json
from moot.errors import ConflictError, InputError
from moot.wire.codec_station import conversation
from moot.wire.shapes import Conversation

routes = Routes("stations")


@routes(
    "POST /hooks/conversations/{conversation_id}/run", Conversation, 409, status=202, body=HookAsked
)
async def run_conversation(
    moot: Moot, request: Request, conversation_id: ConversationId
) -> Response:
    """Let a conversation begin, as soon as the air is free

    However often it is called, the conversation begins once. Where MOOT_HOOK_SECRET is set the call
    is signed as Standard Webhooks are (`webhook-id`, `webhook-timestamp`, `webhook-signature`), its
    body names the conversation, each signature is good once and for five minutes, and no token is
    needed.
    """
    body = await request.body()
    key, mark = moot.settings.hook_key, None
    if key is not None:
        mark = signing.verify(key, _signed(request), body, time.time())
    named = _named(body)
    if mark and named != conversation_id:
        raise signing.refusal("The body that was signed names no conversation, or another one.")
    if named not in (None, conversation_id):
        raise InputError("The body names another conversation than the address.", "conversation")
    stations = moot.service.stations
    await stations.conversation(conversation_id)  # there is one, before its signature is used up
    if mark:
        try:
            await stations.use(mark, conversation_id)
        except ConflictError:
            raise signing.refusal("That signature was used before. Sign it anew.") from None
    return as_json(conversation(await stations.run(conversation_id)), 202)


def _signed(request: Request) -> signing.Signed:
    def one(name: str) -> str:
        found = request.headers.getlist(name)
        return found[0] if len(found) == 1 else ""

    return signing.Signed(one("webhook-id"), one("webhook-timestamp"), one("webhook-signature"))


def _named(body: bytes) -> str | None:
    """The conversation that a body names. Whatever else a sender puts there is its own."""
    try:
        asked: Any = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise InputError("The body is not valid JSON.", "body") from None
    if asked is None:
        return None
    if not isinstance(asked, dict):
        raise InputError('The body is an object: {"conversation": "debate_…"}', "body")
    named: Any = asked.get("conversation")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if named is not None and not isinstance(named, str):
        raise InputError("conversation is the id of one, a text.", "conversation")
    return named
