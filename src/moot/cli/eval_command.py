"""`moot eval`: whether debates are worth it, on questions whose answers are known."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import Json, counted, print_json, report
from moot.cli.quiet import loading
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.evals.arms import Arm
    from moot.evals.datasets import Dataset
    from moot.evals.generators import Gym
    from moot.evals.running import Asked, Run
    from moot.ports.entry_point import Moot

Arms = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        metavar="ARM",
        help="single, vote@7, vote@match, or FORMAT+juryN, with ,model=MODEL and more after it. "
        "The others are compared with the first. Repeatable.",
    ),
]
Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Write a page with plots, too.")
]


def register(app: typer.Typer) -> None:
    app.command("eval")(evaluate)


def evaluate(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A JSONL file (id, question, options, answer, sources), the name of a public set "
            "or of a generator (gym:NAME), or list, which shows these.",
        ),
    ],
    arm: Arms = None,
    items: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Only the first N; default all, of a generator 100."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="USD", help="What all arms together may cost.")
    ] = None,
    match: Annotated[
        str | None, typer.Option(metavar="ARM", help="The arm whose cost vote@match matches.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="Of every seat that has no other."),
    ] = None,
    name: Annotated[str, typer.Option(help="Another name runs the same eval anew.")] = "",
    at_once: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Items under way at the same time.")
    ] = 8,
    page: Page = None,
    json: Json = False,
) -> None:
    """Compare ways to answer on a dataset. Each item is a debate that happens once.

    Run the same command again to go on after an interruption, or to see the results again.
    """
    if dataset == "list" and not arm:
        return _list(json)
    if page is not None and not page.absolute().parent.is_dir():  # said before anything is paid
        raise InputError(
            f"{page.parent} is not a folder: the page cannot be written there.", "page"
        )
    with loading():
        from moot.evals.eval_page import html
        from moot.evals.eval_result import result

    made = result(asyncio.run(_run(dataset, arm, match, items, (budget, model, name, at_once))))
    report(made, json, _show, page, html)
    raise typer.Exit(3 if made["unfinished"] else 0)


async def _run(
    dataset: str,
    specs: list[str] | None,
    match: str | None,
    items: int | None,
    more: tuple[float | None, str | None, str, int],
) -> "Run":
    from moot.bootstrap import places
    from moot.cli.target import where
    from moot.evals import running, statistics
    from moot.evals.generators import Gym
    from moot.settings import Settings

    statistics.check()
    compared = _arms(specs, match)
    settings = Settings()
    budget, model, name, at_once = more
    with closing(Gym(settings.home / "datasets", places(settings).index, _say)) as gym:
        data = _dataset(dataset, items, gym)
        gym.check(data.items)
        async with where() as moot:
            chosen = model or (await moot.default_models())[0]
            whole = running.Asked(data, compared, chosen, name, match, budget, at_once)
            await _introduce(moot, whole)
            return await running.run(moot, whole, _told, gym.is_right)


def _arms(specs: list[str] | None, match: str | None) -> "tuple[Arm, ...]":
    from moot.evals import arms

    if not specs:
        raise InputError("Name two or more arms, for example --arm single --arm council.", "arm")
    if len(set(specs)) < len(specs):
        raise InputError("--arm: two arms are the same.", "arm")
    found = tuple(map(arms.parse, specs))
    matched = [one for one in found if one.matched]
    if bool(matched) != (match is not None) or match in {one.spec for one in matched}:
        raise InputError(
            "--match ARM and the arm vote@match need each other: it matches what ARM costs.",
            "match",
        )
    if match is not None and match not in specs:
        raise InputError(f"--match {match}: there is no such arm.", "match")
    return found


def _dataset(given: str, count: int | None, gym: "Gym") -> "Dataset":
    """The first items of a file, of a public set or of a generator."""
    from moot.evals import datasets, generators, public_sets

    path, entry = Path(given), public_sets.known(given)
    if path.exists():
        data = datasets.load(path)
    elif entry is not None:
        data = public_sets.load(entry, gym.folder, gym.index, _say)
    elif generators.names(given):
        return gym.load(given, count)
    else:
        names = ", ".join(one.name for one in public_sets.catalogue())
        said = (
            f"{given}: there is no such file, no public set of that name ({names}), and it is "
            f"not a generator ({generators.PREFIX}NAME). `moot eval list` shows them all."
        )
        raise InputError(said, "dataset")
    return datasets.Dataset(data.name, data.items[:count])


def _say(words: str) -> None:
    typer.echo(words, err=True)


def _list(json: bool) -> None:
    from moot.evals import generators, public_sets

    made, sets = generators.catalogue(), public_sets.catalogue()
    if json:
        package = made.package.model_dump()
        found = [{**package, **one.model_dump(), "name": one.dataset} for one in made.generator]
        print_json([*(one.model_dump() for one in sets), *found])
        return
    for one in sets:
        about = f"{one.title}. {one.licence}; {one.bytes / 1e6:,.0f} MB with {one.package}"
        typer.echo(f"{one.name:<12}{about}")
    package = made.package
    typer.echo(
        f"\nMade from a seed (gym:NAME or gym:NAME,seed=N), and marked by their own verifiers. "
        f"{package.licence}; {package.bytes / 1e6:,.0f} MB with {package.package}:"
    )
    for one in made.generator:
        typer.echo(f"{one.dataset:<28}{one.title}")


async def _introduce(moot: "Moot", asked: "Asked") -> None:
    """Who answers how many questions, and what that is likely to cost, before the first call."""
    from moot.evals.running import outlook

    count = len(asked.dataset.items)
    said = f"{counted(count, 'item')} × {counted(len(asked.arms), 'arm')}, by {asked.model}"
    typer.echo(f"{said}: {await outlook(moot, asked)}.", err=True)


def _told(run: "Run") -> None:
    whole = len(run.asked.dataset.items) * len(run.asked.arms)
    done = len(run.answers)
    if done % max(whole // 20, 1) == 0 or done == whole:
        typer.echo(f"{done:,} of {whole:,} answered.", err=True)


def _show(made: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from moot.evals.eval_text import COLUMNS, notes, rows

    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, no_wrap=True, justify="left" if name == "arm" else "right")
    for row in rows(made):
        table.add_row(*row)
    console = Console(highlight=False)
    wide = Console(highlight=False, width=max(console.width, 150))
    wide.print(table)
    for note in notes(made):
        typer.echo(f"\n{note}")
