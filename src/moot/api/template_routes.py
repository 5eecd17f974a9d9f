"""Templates: saved set-ups to begin debates with."""

from typing import Annotated, Any

from fastapi import Path, Response

from moot.api.asked import TemplateAsked
from moot.api.common import Moot, Routes, as_json
from moot.core.templates import Template
from moot.wire import codec
from moot.wire.shapes import SLUG_PATTERN

routes = Routes("templates")
TemplateId = Annotated[str, Path(pattern=SLUG_PATTERN, examples=["friday-duel"])]


@routes("GET /templates", [Template])
async def list_templates(moot: Moot) -> Response:
    """The saved set-ups, by name"""
    return as_json({"items": [_shown(one) for one in await moot.service.templates()]})


@routes("GET /templates/{template_id}", Template)
async def get_template(moot: Moot, template_id: TemplateId) -> Response:
    """A saved set-up"""
    return as_json(_shown(await moot.service.template(template_id)))


@routes("PUT /templates/{template_id}", Template)
async def put_template(moot: Moot, template_id: TemplateId, asked: TemplateAsked) -> Response:
    """Save a set-up under a name, in the place of the one that had it

    It takes the body of POST /debates without sources; the motion may be left out.
    """
    given = asked.model_dump(exclude_none=True, exclude_unset=True)
    return as_json(_shown(await moot.service.keep_template(template_id, given)))


@routes("DELETE /templates/{template_id}", None, status=204)
async def delete_template(moot: Moot, template_id: TemplateId) -> Response:
    """Delete a saved set-up: debates that began with it stay"""
    await moot.service.delete_template(template_id)
    return Response(status_code=204)


def _shown(one: Template) -> Any:
    return codec.plain(one)
