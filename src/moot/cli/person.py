"""A person's turn at a terminal: asked for when a human seat is to speak."""

import sys
from typing import Any

from moot.cli.fill_in import LeftError, Lines, PassedError, filled, tell
from moot.cli.screen import View
from moot.cli.target import say
from moot.core.debate import Debate
from moot.core.form import Asked
from moot.errors import InputError, StateError
from moot.ports.entry_point import Moot


async def carried(moot: Moot, debate_id: str, view: View) -> Debate:
    """Wait until the debate has ended, is paused, or waits for a person who is not here. Whoever
    sits at this terminal is asked to speak for its human seats."""
    while True:
        debate = await moot.wait(debate_id)
        if not debate.waiting_for or not (view.asks and sys.stdin and sys.stdin.isatty()):
            return debate
        await view.shown(debate.last_seq)
        asked = await moot.asked(debate_id, seat=debate.waiting_for)
        if asked is None:
            continue
        try:
            await _speak(moot, debate, asked, view)
        except LeftError:
            return await moot.get(debate_id)
        except PassedError:
            continue
        except (StateError, InputError) as error:
            say(error.message)


async def _speak(moot: Moot, debate: Debate, asked: Asked, view: View) -> None:
    """Ask the person for what the debate waits for, and say it."""
    lines = Lines(moot, debate)
    with view.still():
        if asked.fields is None:
            words = await lines.read(
                f"\n{asked.name}, it is your turn (Enter sends it, Ctrl-C pauses): "
            )
            given: dict[str, Any] = {"text": words}
        else:
            tell(f"\n{asked.name}, it is your turn: {asked.heading}.\n")
            tell(f"{asked.read}\n\n" if asked.read else "")
            tell(f"{asked.ask}\n")
            given = {"answer": await filled(lines, asked.fields)}
    if given.get("text") != "":
        await moot.say(debate.id, **given, seat=asked.seat, step=asked.step)
