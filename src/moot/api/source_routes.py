"""Sources: documents that are sent for debates, and what debates have read."""

from typing import Annotated, Any

from fastapi import Path, Request, Response
from typing_extensions import TypedDict

from moot.api.asked import SECRETS
from moot.api.common import DebateId, Moot, Routes, as_json, file_of
from moot.core.sources import MAX_TITLE, MAX_UPLOAD, Source
from moot.errors import InputError, NotFoundError
from moot.wire import codec
from moot.wire.shapes import ReadSource, UploadedSource

routes = Routes("sources")
SourceId = Annotated[str, Path(pattern="^S[1-9][0-9]{0,2}$", examples=["S1"])]


class SourcesOfDebate(TypedDict):
    """The documents that a debate has read, without their texts."""

    items: list[Source]


FORM: dict[str, Any] = {
    "file": {"type": "string", "format": "binary", "description": "One document, 25 MB at most."},
    "title": {"type": "string", "description": "If it is not the file's name."},
    "allow_secrets": {"type": "boolean", "description": SECRETS},
}


@routes("POST /sources", UploadedSource, form=FORM)
async def upload_source(moot: Moot, request: Request) -> Response:
    """Send a document

    Its text is taken from it, once. A debate that names the upload within a day reads it.
    """
    name, data, fields = await file_of(request)
    title = fields.get("title", "")[:MAX_TITLE]
    allowed = fields.get("allow_secrets", "").lower() in ("1", "true", "on")
    if len(data) > MAX_UPLOAD:
        raise InputError(f"The file is larger than {MAX_UPLOAD // 2**20} MB.", "file")
    sent, source = await moot.service.upload(name, data, title=title, allow_secrets=allowed)
    return as_json(codec.uploaded(sent, source))


@routes("GET /debates/{debate_id}/sources", SourcesOfDebate)
async def get_sources(moot: Moot, debate_id: DebateId) -> Response:
    """The documents that a debate has read"""
    found = (await moot.service.get(debate_id)).sources
    return as_json({"items": [codec.plain(one) for one in found]})


@routes("GET /debates/{debate_id}/sources/{source_id}", ReadSource)
async def get_source(moot: Moot, debate_id: DebateId, source_id: SourceId) -> Response:
    """A document that a debate has read, with its passages"""
    for one in await moot.service.sources(debate_id):
        if one.id == source_id:
            return as_json(codec.read_source(one))
    raise NotFoundError(f"The debate has no source {source_id}.", "source_id")
