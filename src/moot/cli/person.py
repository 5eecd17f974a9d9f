"""A person's turn at a terminal: asked for when a human seat is to speak, one line at a time."""

import asyncio
import os
import sys

from moot.cli.screen import View
from moot.cli.target import say
from moot.core.debate import Debate
from moot.errors import InputError, StateError
from moot.ports import Moot

LOOK_SECONDS = 0.5
"""How often it is looked whether somebody else has spoken, or the debate was paused."""


async def carried(moot: Moot, debate_id: str, view: View) -> Debate:
    """Wait until the debate has ended, is paused, or waits for a person who is not here. Whoever
    sits at this terminal is asked to speak for its human seats."""
    while True:
        debate = await moot.wait(debate_id)
        if not debate.waiting_for or not (view.asks and sys.stdin and sys.stdin.isatty()):
            return debate
        await view.shown(debate.last_seq)
        words = await _asked(moot, debate, view)
        if words is None:
            return await moot.get(debate_id)
        try:
            if words:
                await moot.say(debate_id, words, seat=debate.waiting_for)
        except (StateError, InputError) as error:
            say(error.message)


async def _asked(moot: Moot, debate: Debate, view: View) -> str | None:
    """What the person types: empty if somebody else was faster or the debate was paused, None if
    there is nobody to type."""
    name = debate.seat(debate.waiting_for or "").name
    typing = asyncio.create_task(_line())
    with view.still():
        sys.stderr.write(f"\n{name}, it is your turn (Enter sends it, Ctrl-C pauses): ")
        sys.stderr.flush()
        try:
            while not typing.done():
                await asyncio.wait([typing], timeout=LOOK_SECONDS)
                now = await moot.get(debate.id)
                if (now.waiting_for, now.last_seq) != (debate.waiting_for, debate.last_seq):
                    sys.stderr.write("\n")
                    return ""
            return typing.result()
        finally:
            typing.cancel()


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
