"""`moot plan`: what a debate would take, by the arguments of `moot run` and `moot council`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import Json, ask, print_json, said, takes
from moot.cli.motion import File, motion_of
from moot.cli.run_commands import (
    Constraints,
    Fields,
    Problem,
    RecordType,
    Roles,
    cast_with,
    read_roles,
)
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.course import Plan
    from moot.ports.entry_point import Moot


def register(app: typer.Typer) -> None:
    app.command()(plan)


@takes(Fields)
def plan(
    fields: Fields,
    motion: Annotated[
        str | None,
        typer.Argument(metavar="MOTION", help="What is debated; - reads it from standard input."),
    ] = None,
    problem: Problem = None,
    file: File = None,
    output_type: Annotated[
        str | None,
        typer.Option(help="Of a council: decision, writing, architecture, planning or evaluation."),
    ] = None,
    constraint: Constraints = None,
    role: Roles = None,
    record: RecordType = None,
    json: Json = False,
) -> None:
    """Say what a debate would cost: calls, tokens, time, money.

    It takes the arguments of `moot run`. With --format council, it takes those of `moot council`.
    """
    if motion is not None and problem is not None:
        raise InputError("Give the motion as an argument or with --problem, not both.", "motion")
    given = motion if problem is None else problem
    brief = said(output_type=output_type, constraints=constraint or None,
                 writeback_record_type=record)  # fmt: skip
    asked: dict[str, Any] = {**fields.asked(), "motion": motion_of("plan", "motion", given, file)}
    if asked["format"] == "council":
        asked["brief"] = {"output_type": "decision", **brief}
        asked["participants"] += read_roles(role)
    elif brief or role or problem is not None:
        raise InputError(
            "--problem, --output-type, --constraint, --role and --record are for a council. "
            "Add --format council.",
            "format",
        )

    async def planned(moot: "Moot") -> "Plan":
        return await moot.plan(await cast_with(moot, asked, fields.model))

    _show(ask(planned), json)


def _show(plan: "Plan", json: bool) -> None:
    from moot.cli.plan_view import show_plan
    from moot.wire import codec

    if json:
        print_json(codec.plain(plan))
    else:
        show_plan(plan)
