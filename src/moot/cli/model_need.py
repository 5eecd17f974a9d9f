"""Whether `make run` should fetch a model: only where nothing better would speak."""

import asyncio
from importlib.util import find_spec

from moot.bootstrap import providers, router
from moot.core.voices import UNDERSTUDY
from moot.models.local.catalog import Entry, entry, machine, suits
from moot.models.local.weights import NONE, Shelf
from moot.models.providers import LOCAL, VENDORS, Providers
from moot.settings import Settings


class Needless(Exception):  # noqa: N818  no error: a reason, empty where there is nothing to say
    """No model is fetched; the words say why, where a person would want to know."""


def needed(settings: Settings, shelf: Shelf, name: str | None = None) -> Entry:
    """The model to fetch."""
    wish = name or settings.demo_model
    known = providers(settings)
    if known.defaults() != (LOCAL,) or wish == NONE or shelf.wanted() == NONE:
        raise Needless("" if settings.model else _keys(known))
    if shelf.chosen() is not None or asyncio.run(_speaks(settings)):
        raise Needless
    if find_spec("xllamacpp") is None:
        raise Needless("llama.cpp is not installed (pip install 'moot[llama]'), so the understudy "
                       "speaks.")  # fmt: skip
    found = entry(wish) if wish else suits(*machine())
    if found is None:
        raise Needless("This machine is small for a model, so the understudy speaks.")
    return found


def _keys(known: Providers) -> str:
    """Whose keys are set, so that nothing else needs to speak."""
    keys = [str(one.key) for one in VENDORS.values() if one.key and known.key(one.name)]
    if not keys:
        return ""
    return f"{' and '.join(keys)} {'is' if len(keys) == 1 else 'are'} set, so no model is fetched."


async def _speaks(settings: Settings) -> bool:
    """Whether `local` is a server's model already, or was set to one."""
    voices = router(settings)
    try:
        local = next(one for one in await voices.describe() if one.provider == "local")
    finally:
        await voices.aclose()
    return local.model != UNDERSTUDY
