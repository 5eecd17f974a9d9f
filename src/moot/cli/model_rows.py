"""What `moot model list` shows: the catalog, and whatever else is on this machine."""

from typing import Any

from moot.models.local.catalog import Entry, catalog
from moot.models.local.weights import Model, Shelf


def rows(shelf: Shelf) -> list[dict[str, Any]]:
    """One for each model; those of the catalog first."""
    here = {model.name: model for model in shelf.models()}
    chosen = shelf.chosen()
    if chosen and here.get(chosen.name) != chosen:
        here[str(chosen.path)] = chosen  # a file of the user's own
    known = {one.name: one for one in catalog()}
    names = [*known, *(name for name in here if name not in known)]
    return [_row(name, known.get(name), here.get(name), shelf, chosen) for name in names]


def _row(
    name: str, entry: Entry | None, model: Model | None, shelf: Shelf, chosen: Model | None
) -> dict[str, Any]:
    in_use = model is not None and model == chosen
    begun = shelf.parts(name).is_dir() if entry else False
    state = "in use" if in_use else "here" if model else "begun" if begun else "can be fetched"
    return {
        "name": name,
        "state": state,
        "here": model is not None,
        "inUse": in_use,
        "path": str(model.path) if model else None,
        "size": model.path.stat().st_size if model else entry.size if entry else 0,
        "context": model.context if model else entry.context if entry else None,
        "quantisation": entry.quantisation if entry else None,
        "licence": entry.licence if entry else None,
        "sha256": entry.sha256 if entry else None,
        "goodFor": entry.good_for if entry else None,
    }
