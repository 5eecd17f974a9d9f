"""The figures as a table, each with its promise and whether it is kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. Without a promise it stands there to be compared with."""

    what: str
    figure: str
    promise: str = ""
    kept: bool | None = None


def at_least(what: str, value: float, promised: float, unit: str, note: str = "") -> Row:
    return Row(what, _figure(value, unit, note), f">= {promised:,g} {unit}", value >= promised)


def at_most(what: str, value: float, promised: float, unit: str, note: str = "") -> Row:
    return Row(what, _figure(value, unit, note), f"<= {promised:,g} {unit}", value <= promised)


def below(what: str, value: float, promised: float, unit: str, note: str = "") -> Row:
    return Row(what, _figure(value, unit, note), f"< {promised:,g} {unit}", value < promised)


def above(what: str, value: float, promised: float, unit: str, note: str = "") -> Row:
    return Row(what, _figure(value, unit, note), f"> {promised:,g} {unit}", value > promised)


def beside(what: str, value: float, unit: str, note: str = "") -> Row:
    return Row("  " + what, _figure(value, unit, note))


def show(rows: list[Row]) -> None:
    """Print all of them."""
    heads = Row("what", "figure", "promise")
    wide = [heads, *rows]
    widths = [max(len(cell) for cell in column) for column in zip(*map(_cells, wide), strict=True)]
    for place, row in enumerate(wide):
        cells = zip(_cells(row), widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
        if place == 0:
            print("  ".join("-" * width for width in widths))


def _cells(row: Row) -> tuple[str, str, str, str]:
    kept = {None: "", True: "kept", False: "NOT KEPT"}[row.kept]
    return row.what, row.figure, row.promise, kept


def _figure(value: float, unit: str, note: str) -> str:
    number = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    return f"{number} {unit}{f'  ({note})' if note else ''}"
