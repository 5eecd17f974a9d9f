"""A form at a terminal: a person fills the fields of an answer, one line at a time."""

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from moot.core.debate import Debate
from moot.core.form import FormField
from moot.ports.entry_point import Moot

LOOK_SECONDS = 0.5
"""How often it is looked whether somebody else has spoken, or the debate was paused."""


class LeftError(Exception):
    """There is nobody to type any more."""


class PassedError(Exception):
    """Somebody else was faster, or the debate was paused."""


class Lines:
    """What a person types, as long as the debate waits for it."""

    def __init__(self, moot: Moot, debate: Debate) -> None:
        self._moot = moot
        self._debate = debate

    async def read(self, prompt: str) -> str:
        """A line. Raises PassedError if the debate goes on without it, and LeftError if there is
        nobody to type."""
        typing = asyncio.create_task(_line())
        tell(prompt)
        try:
            while not typing.done():
                await asyncio.wait([typing], timeout=LOOK_SECONDS)
                now = await self._moot.get(self._debate.id)
                if not typing.done() and self._is_over(now):
                    tell("\n")
                    raise PassedError
            typed = typing.result()
        finally:
            typing.cancel()
        if typed is None:
            raise LeftError
        return typed

    def _is_over(self, now: Debate) -> bool:
        """A note that comes in between takes nobody's turn."""
        was = self._debate
        return (now.waiting_for, now.cursor) != (was.waiting_for, was.cursor)


def tell(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


async def filled(lines: Lines, fields: Sequence[FormField], indent: str = "") -> dict[str, Any]:
    """The fields of a form, each asked for once; what is wrong with them, the engine says."""
    found: dict[str, Any] = {}
    for field in fields:
        value = await _value(lines, field, indent)
        if value is not None:
            found[field.name] = value
    return found


async def _value(lines: Lines, field: FormField, indent: str) -> Any:
    label = f"{indent}{field.name}{'' if field.required else ' (Enter: none)'}"
    if field.help:
        tell(f"{indent}{field.help}\n")
    if field.type == "table":
        return await _table(lines, field, indent)
    if field.choices and not field.list:
        return await _choice(lines, field, label)
    if field.type == "turns":
        typed = await lines.read(f"{label}, numbers: ")
        return [int(one) for one in re.findall(r"[0-9]{1,9}", typed)]
    if field.type == "share":
        typed = await lines.read(f"{label}, 0 to 1: ")
        try:
            return float(typed.replace(",", "."))
        except ValueError:
            return typed or None
    if not field.list:
        return await lines.read(f"{label}: ") or None
    found: list[str] = []
    while one := await lines.read(f"{indent}{field.name} {len(found) + 1} (Enter: no more): "):
        found.append(one)
    return found


async def _table(lines: Lines, field: FormField, indent: str) -> Any:
    if not field.list:
        tell(f"{indent}{field.name}\n")
        return await filled(lines, field.fields, f"{indent}  ")
    found: list[dict[str, Any]] = []
    while not found or await lines.read(f"{indent}One more of {field.name}? y, or Enter: "):
        tell(f"{indent}{field.name} {len(found) + 1}\n")
        found.append(await filled(lines, field.fields, f"{indent}  "))
    return found


async def _choice(lines: Lines, field: FormField, label: str) -> str | None:
    """A choice by its number."""
    for n, one in enumerate(field.choices, start=1):
        tell(f"  {n}. {one}\n")
    while True:
        typed = await lines.read(f"{label}, 1 to {len(field.choices)}: ")
        if not typed and not field.required:
            return None
        if typed.isdigit() and 1 <= int(typed) <= len(field.choices):
            return field.choices[int(typed) - 1]


async def _line() -> str | None:
    """A line of standard input, or None at its end. Cancelling it leaves no thread behind."""
    loop, ready, handle = asyncio.get_running_loop(), asyncio.Event(), sys.stdin.fileno()
    typed = b""
    loop.add_reader(handle, ready.set)
    try:
        while not typed.endswith(b"\n"):
            await ready.wait()
            ready.clear()
            piece = os.read(handle, 65536)
            if not piece:
                return typed.decode("utf-8", "replace").strip() or None
            typed += piece
        return typed.decode("utf-8", "replace").strip()
    finally:
        loop.remove_reader(handle)
