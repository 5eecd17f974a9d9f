"""The real `moot` in a process of its own, forked from one that has loaded what commands load: most
of what a command takes is its start. Those that try the start itself begin it anew."""

import os
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from moot.cli.main import main
from tests.patience import seconds

_LOADED = ["tests.forked", "moot.bootstrap", "moot.cli.screen", "pytest"]
_context = get_context("forkserver")
_context.set_forkserver_preload(_LOADED)


def moot(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with nothing but that environment and nothing to read."""
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = _context.Process(target=_run, args=(dict(environment), words, out, err))
        process.start()
        process.join(limit := seconds())
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, limit)
        said, noted = out.read_text("utf-8"), err.read_text("utf-8")
        return subprocess.CompletedProcess(words, process.exitcode, said, noted)


def _run(environment: Mapping[str, str], words: tuple[str, ...], out: Path, err: Path) -> None:
    for path, number in ((out, 1), (err, 2)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    sys.stdout, sys.stderr = (
        os.fdopen(1, "w", encoding="utf-8"),
        os.fdopen(2, "w", encoding="utf-8"),
    )
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["moot", *words]
    main()
