"""Whether `make run` should fetch a model: only where nothing better would speak."""

import asyncio
from importlib.util import find_spec

from moot.bootstrap import providers, router
from moot.models.catalog import Entry, entry, machine, suits
from moot.models.router import UNDERSTUDY, normalize
from moot.models.shelf import NONE, Shelf
from moot.models.vendors import VENDORS, Vendor
from moot.settings import Settings


class Needless(Exception):  # noqa: N818  no error: a reason, empty where there is nothing to say
    """No model is fetched; the words say why, where a person would want to know."""


def needed(settings: Settings, shelf: Shelf, name: str | None = None) -> Entry:
    """The model to fetch."""
    wish = name or settings.demo_model
    if normalize(settings.model)[0] != "local" or wish == NONE or shelf.wanted() == NONE:
        raise Needless
    if shelf.chosen() is not None or asyncio.run(_speaks(settings)):
        raise Needless
    if not wish and (vendor := _key(settings)):
        raise Needless(
            f"{vendor.key} is set, and yet the understudy speaks: MOOT_MODEL={vendor.id} lets "
            f"{vendor.name} speak; `moot model fetch` fetches a model that runs here."
        )
    if find_spec("xllamacpp") is None:
        raise Needless("llama.cpp is not installed (pip install 'moot[llama]'), so the understudy "
                       "speaks.")  # fmt: skip
    found = entry(wish) if wish else suits(*machine())
    if found is None:
        raise Needless("This machine is small for a model, so the understudy speaks.")
    return found


def _key(settings: Settings) -> Vendor | None:
    """A vendor whose key is set."""
    known = providers(settings)
    return next((one for one in VENDORS.values() if one.key and known.key(one.id)), None)


async def _speaks(settings: Settings) -> bool:
    """Whether `local` is a server's model already, or was set to one."""
    voices = router(settings)
    try:
        local = next(one for one in await voices.describe() if one.provider == "local")
    finally:
        await voices.aclose()
    return local.model != UNDERSTUDY
