"""The files of debates, on a disk that may be full, by a process that may die half-way."""

import errno
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from moot.core.debate import Debate, Turn
from moot.core.events import Event
from moot.ports.debate_files import Filed
from moot.render.reading import Read, Reading
from moot.store.files import Folder

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process

_NONE: Mapping[Path, bytes] = MappingProxyType({})


class SimulatedRecords(Folder):
    """The real files, and the world looks at what was written."""

    def __init__(self, process: "Process", home: Path) -> None:
        super().__init__(home)
        self._process = process
        self._world = process.world

    def check(self) -> None:
        self._process.check_alive()
        super().check()

    def last_seq(self, debate_id: str) -> int:
        self._process.check_alive()
        return super().last_seq(debate_id)

    def reading(self, debate: Debate) -> Reading | None:
        self._process.check_alive()
        return super().reading(debate)

    def file(
        self,
        debate: Debate,
        turns: Sequence[Turn],
        events: Sequence[Event] = (),
        read: Read = None,
        *,
        ahead: bool = False,
        anew: bool = False,
    ) -> Filed | None:
        self._process.check_alive()
        try:
            return super().file(debate, turns, events, read, ahead=ahead, anew=anew)
        finally:
            self._world.checks.filed(debate.id)
            self._world.faults.tempt_filer(self._process)

    def _write(self, files: Mapping[Path, bytes], last: Mapping[Path, bytes] = _NONE) -> None:
        for path, data in (*files.items(), *last.items()):
            if self._world.full:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            if self._world.faults.strikes():
                self._process.kill()
                self._process.check_alive()
            super()._write({path: data})


def transcript(home: Path, debate_id: str) -> dict[str, Any]:
    """What the debate's transcript holds; nothing if it cannot be read."""
    path = home / "records" / "debates" / debate_id / "transcript.json"
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
