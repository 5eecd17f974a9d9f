"""What can be chosen and found: formats, providers, records, and the user's settings."""

from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field
from typing_extensions import TypedDict

from moot.api.asked import SettingsAsked
from moot.api.common import Context, Moot, Routes, as_json
from moot.core.debate import Turn
from moot.core.format import Format, shown
from moot.core.preferences import Preferences
from moot.ports.available_models import Offers, ProviderStatus
from moot.ports.inputs import FormatProblem
from moot.store.example_debate import example
from moot.wire.codec import plain
from moot.wire.outcome_shapes import Record, Report, Verdict
from moot.wire.shapes import Debate

DEFAULT = (
    "What seats without a model take, spread so that families differ: MOOT_MODEL, else the "
    "settings, else the vendors that have a key, else `local`."
)
routes = Routes("library")


class Formats(TypedDict):
    """Kinds of debate."""

    items: Annotated[list[Format], Field(description="Here each stage has its title.")]
    problems: Annotated[
        list[FormatProblem], Field(description="Files that cannot be used; the others can.")
    ]


class Providers(TypedDict):
    """Whether each provider can be used here; never its key."""

    items: list[ProviderStatus]
    default: Annotated[list[str], Field(min_length=1, description=DEFAULT)]


class Offered(TypedDict):
    """The models of each provider. Prices are USD per million tokens; null: nobody knows."""

    items: list[Offers]


class Example(TypedDict):
    """A debate that comes with moot. It is not among the debates, and has no files."""

    debate: Debate
    turns: list[Turn]
    verdict: Verdict
    report: Report


class PreferredLimits(TypedDict, total=False):
    """Those that are set."""

    max_turn_seconds: float
    max_turn_tokens: int
    max_total_tokens: int
    max_cost_usd: float


class Settings(TypedDict):
    """What the settings file of the home holds: never a key, nor an address."""

    models: Annotated[list[str], Field(description="Of seats that name none; none: moot chooses.")]
    limits: PreferredLimits
    overridden: Annotated[
        list[Literal["models"]], Field(description="What the server's environment sets instead.")
    ]


@routes("GET /formats", Formats)
async def list_formats(moot: Moot) -> Response:
    """Kinds of debate"""
    items = [shown(rules) for rules in await moot.service.formats()]
    problems = [plain(problem) for problem in await moot.service.format_problems()]
    return as_json({"items": items, "problems": problems})


@routes("GET /providers", Providers)
async def list_providers(moot: Moot) -> Response:
    """Which providers have a key or a server here, and what to set for those that have not"""
    items = [plain(status) for status in await moot.service.providers()]
    return as_json({"items": items, "default": list(await moot.service.default_models())})


@routes("GET /models", Offered, 422)
async def list_offers(
    moot: Moot,
    provider: Annotated[
        str | None, Query(max_length=60, description="One of all, set up or not.")
    ] = None,
) -> Response:
    """The models that can be chosen: as their providers tell them, or as moot knows them"""
    return as_json({"items": [plain(one) for one in await moot.service.offers(provider)]})


@routes("GET /examples/debate", Example)
async def get_example(moot: Moot) -> Response:
    """A finished debate to look at: it was written for that, and no model spoke"""
    return as_json(example())


@routes("GET /settings", Settings)
async def get_settings(moot: Moot) -> Response:
    """The models and limits of debates that name none"""
    return _told(moot, await moot.service.preferences())


@routes("PUT /settings", Settings)
async def put_settings(moot: Moot, asked: SettingsAsked) -> Response:
    """Replace the settings: they hold for debates that begin from now on"""
    return _told(moot, await moot.service.prefer(asked.model_dump()))


def _told(moot: Context, found: Preferences) -> Response:
    overridden = ["models"] if moot.settings.model else []
    return as_json({**plain(found), "overridden": overridden})


@routes("GET /records", [Record], 422)
async def list_records(
    moot: Moot,
    q: Annotated[str, Query(max_length=500, description="Each of these words.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """What councils wrote back, newest first"""
    return as_json({"items": await moot.service.records(q, limit)})
