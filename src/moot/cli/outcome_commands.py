"""The commands about what a debate came to: `moot verdict`, and `moot outcome` once one knows."""

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import ID_HELP, Id, Json, ask, counted, ids, print_json, table, whole_id
from moot.cli.hints import hint
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.outcome.calibration import Calibration, Hindsight
    from moot.ports.entry_point import Moot


def register(app: typer.Typer) -> None:
    app.command()(verdict)
    app.command()(outcome)


def verdict(id_: Id) -> None:
    """Print the outcome of a debate as JSON.

    It says what was decided, by whom, and who disagrees.
    """
    print_json(ask(lambda moot: moot.verdict(id_)))


def outcome(
    id_: Annotated[
        str | None,
        typer.Argument(metavar="ID", autocompletion=ids, callback=whole_id, help=ID_HELP),
    ] = None,
    was: Annotated[
        str | None,
        typer.Argument(metavar="WAS", help="right, wrong or mixed; `open` takes it back."),
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="How right models and juries were, by Brier score.")
    ] = False,
    json: Json = False,
) -> None:
    """Note what came of a decision: right, wrong or mixed. --summary shows who knew it."""
    if summary == (id_ is not None):
        raise InputError("Give the id of a debate and what its decision was, or --summary.", "id")
    if id_ is None:
        _tell_scores(ask(lambda moot: moot.calibration()), json)
        return
    if was is not None and was not in ("right", "wrong", "mixed", "open"):
        raise InputError(f"{was!r}: a decision was right, wrong or mixed.", "outcome")
    noted = ask(lambda moot: _noted(moot, id_, was))
    if json:
        print_json({"outcome": noted})
    else:
        typer.echo(f"{id_}: {noted or 'nothing noted'}.")


async def _noted(moot: "Moot", id_: str, was: str | None) -> "Hindsight | None":
    from moot.outcome.calibration import HINDSIGHTS

    if was is None:
        return await moot.noted_outcome(id_)
    known: dict[str, Hindsight] = {one: one for one in HINDSIGHTS}
    return await moot.note_outcome(id_, known.get(was))


def _tell_scores(found: "Calibration", json: bool) -> None:
    if json:
        from moot.wire import codec

        print_json(codec.plain(found))
        return
    if found.noted < found.needed:
        hint(
            f"{found.noted} of {found.needed} outcomes are noted; then there are scores. "
            "Note one:  moot outcome ID right"
        )
        return
    typer.echo(f"{found.noted} outcomes noted. Brier score: 0 is best, 0.25 is guessing.")
    rows = [
        (one.model, f"{one.brier:.4f}", counted(one.forecasts, "forecast")) for one in found.models
    ]
    for jury in found.juries:
        count = counted(jury.debates, "debate")
        rows.append((f"jury: {', '.join(jury.jurors)}", f"{jury.brier:.4f}", count))
    table(("who", "Brier", "of"), rows, "who", whole=True)
