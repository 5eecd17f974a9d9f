"""What each provider offers: its models, asked for live if that can be, else as moot knows them."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from moot.core.effort import bare
from moot.errors import ProviderAuthError, ProviderUnknownModelError
from moot.models import cards
from moot.models.clients import key_of, url_of
from moot.models.listing import OTHER, Client, Listed, Listing, Listings, has_list
from moot.models.local.servers import Server
from moot.models.providers import LOCAL, Providers, Vendor
from moot.ports.available_models import Offer, Offers
from moot.ports.model_call import ModelCard

ALIKE = 0.7  # how much a name is like another that is meant by it
NEAREST = 3


class Catalogue:
    """The models of all providers, for people to choose from, and to see what was misspelt."""

    def __init__(
        self,
        providers: Providers,
        client: Client,
        served: Callable[[Vendor], Awaitable[Server | None]],
        card: Callable[[str], ModelCard],
    ) -> None:
        self._providers = providers
        self._table = providers.table
        self._served = served  # of a server that somebody runs: what it has
        self._card = card
        self._lists = Listings(client)

    async def offers(self, provider: str | None = None) -> list[Offers]:
        """What the configured providers offer, or one of all that there are."""
        rows = [one for one in self._table if self._is_set(one)]
        if provider is not None:
            rows = [self._table.resolve(provider.strip().partition(":")[0])[0]]
        return list(await asyncio.gather(*map(self._offers, rows)))

    async def wrong(self, models: Iterable[str]) -> dict[str, str]:
        """Of those models of vendors, the ones that seem misspelt, each with a sentence that names
        the nearest. Only a list that the provider itself gave counts, and only a name that is much
        like one in it: others may be deployments of somebody's own."""
        asked = [self._table.resolve(bare(model)) for model in models]
        found = await asyncio.gather(*(self._misspelt(*one) for one in asked))
        named = zip(asked, found, strict=True)
        return {f"{vendor.name}:{name}": said for (vendor, name), said in named if said}

    async def _misspelt(self, vendor: Vendor, name: str) -> str:
        names = [one.name for one in (await self._listed(vendor)).models]
        if any(name.startswith(one) or one.startswith(name) for one in names):
            return ""
        if not any(likeness(name, one) >= ALIKE for one in names):
            return ""
        return f'{vendor.opening} has no model "{name}". {nearest(name, names)}'

    async def near(self, vendor: Vendor, name: str) -> str:
        """A sentence with the models whose names are nearest, or nothing."""
        if vendor.local:
            server = await self._served(vendor)
            return nearest(name, list(server.windows) if server else [])
        listed = [one.name for one in (await self._listed(vendor)).models]
        return nearest(name, listed or await asyncio.to_thread(_known, vendor))

    async def first(self, vendor: Vendor) -> str:
        """What the name of a provider alone means that has no model of its own: the first that an
        endpoint of the user's lists. Elsewhere, lists also have what one cannot call."""
        listed = () if vendor.url else (await self._listed(vendor)).models
        if not listed:
            raise ProviderUnknownModelError(
                f"{vendor.opening} has no model that its name alone means. "
                f"Write {vendor.name}:NAME for this speaker."
            )
        return listed[0].name

    def _is_set(self, vendor: Vendor) -> bool:
        own = not vendor.url  # out of the user's file
        if vendor.key or vendor.command:
            return self._providers.reachable(vendor)
        return own or vendor.name == LOCAL or self._providers.base_url(vendor.name) is not None

    async def _listed(self, vendor: Vendor) -> Listing:
        if not has_list(vendor):
            return Listing(wrong=f"{vendor.opening} has no list that moot can ask for.")
        try:
            key = key_of(self._providers, vendor) if vendor.keys else ""
            url = url_of(self._providers, vendor)
        except ProviderAuthError as error:
            return Listing(wrong=f"{error.message}.")
        return await self._lists.of(vendor, key, url)

    async def _offers(self, vendor: Vendor) -> Offers:
        if vendor.local:
            return await self._offers_served(vendor)
        listing = await self._listed(vendor)
        offered = await asyncio.to_thread(_offered, vendor, listing)
        detail = f"{listing.wrong} These are the models that moot knows." if listing.wrong else ""
        return Offers(vendor.name, vendor.label, not listing.wrong, detail, offered)

    async def _offers_served(self, vendor: Vendor) -> Offers:
        server = await self._served(vendor)
        names = list(server.windows) if server else []
        detail = "" if server else f"{vendor.opening} does not answer."
        if not names and (card := self._card(vendor.name)).model != vendor.name:
            names = [card.model.partition(":")[2]]  # a model of this machine, or the understudy
        found = [self._card(f"{vendor.name}:{name}") for name in names]
        label = "Local models" if vendor.name == LOCAL else vendor.label
        models = tuple(_offer(one, one.window, vendor.structured, caching=True) for one in found)
        return Offers(vendor.name, label, server is not None, detail, models)


def likeness(name: str, other: str) -> float:
    """How much a name is like another, or like the beginning of it: gtp-6 is meant for gpt-6-luna,
    if there is no gpt-6. From 0 to 1."""
    name, other = name.lower(), other.lower()
    whole = difflib.SequenceMatcher(None, name, other).ratio()
    return max(whole, 0.95 * difflib.SequenceMatcher(None, name, other[: len(name)]).ratio())


def nearest(name: str, known: Sequence[str]) -> str:
    """A sentence with the names that are most like one, or nothing if there are none."""
    ranked = sorted(known, key=lambda one: (-likeness(name, one), one))[:NEAREST]
    if not ranked:
        return ""
    if len(ranked) == 1:
        return f"The nearest is {ranked[0]}."
    return f"The nearest are {', '.join(ranked[:-1])} and {ranked[-1]}."


def _known(vendor: Vendor) -> list[str]:
    """The models that moot knows and that speak."""
    return [name for name in cards.known_names(vendor) if not OTHER.search(name)]


def _offered(vendor: Vendor, listing: Listing) -> tuple[Offer, ...]:
    """The models of a list, or of moot's own, those that moot suggests first."""
    listed = {one.name: one for one in listing.models}
    if listing.wrong:
        listed = {name: Listed(name) for name in _known(vendor)}
    first = [name.partition(":")[2] for name in vendor.offered]
    order = [name for name in first if name in listed]
    order += sorted(listed.keys() - set(order))
    return tuple(_priced(vendor, listed[name]) for name in order)


def _priced(vendor: Vendor, one: Listed) -> Offer:
    """With what the list tells, and what moot knows of the rest."""
    card = cards.vendor_card(vendor, one.name)
    if card.input_price is None or card.output_price is None:
        card = replace(card, input_price=one.input_price, output_price=one.output_price)
    told = vendor.window or one.window
    window = told or (card.window if card.window != cards.UNKNOWN_WINDOW else None)
    return _offer(card, window, vendor.structured, cards.caches(vendor, one.name))


def _offer(card: ModelCard, window: int | None, structured: bool, caching: bool) -> Offer:
    asked, told = card.input_price, card.output_price
    return Offer(
        card.model,
        window,
        None if asked is None else round(asked * 1e6, 6),
        None if told is None else round(told * 1e6, 6),
        structured,
        card.least is not None,
        caching,
    )
