"""Makes the questions of one generator and marks answers to them, in a process of its own.

`python -P -S generator_child.py WHEEL MODULE SEED SIZE SECONDS` reads nothing but the standard
library and that wheel. Of the wheel, it runs only the named module and what that needs: the
package's own beginning would import every generator, and libraries that only others need.

Each line of standard input is `[index]`, which asks for a question, or `[index, answer]`, which
asks for a score. What is found is written as one line of JSON, null if there is nothing.
"""

import importlib
import json
import math
import os
import resource
import sys
from types import ModuleType
from typing import Any

PACKAGE = "reasoning_gym"
MAX_MEMORY = 1024**3


def main() -> None:
    wheel, module, seed, size, seconds = sys.argv[1:]
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a generator prints is no answer
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    made = generator(wheel, module, int(seed), int(size))
    entries: dict[int, Any] = {}
    while True:
        told.write("\n")
        told.flush()
        line = sys.stdin.readline()
        if not line:
            return
        _allow(int(seconds))
        told.write(json.dumps(_answered(made, entries, *json.loads(line))))


def generator(wheel: str, module: str, seed: int, size: int) -> Any:
    """The one generator that a module of the wheel registers."""
    parts = [PACKAGE, *module.split(".")[:-1]]
    for count in range(1, len(parts) + 1):
        _package(wheel, ".".join(parts[:count]))
    tuition = _package(wheel, f"{PACKAGE}.coaching")
    for part in ("attributes", "base_curriculum"):
        vars(tuition).update(vars(importlib.import_module(f"{PACKAGE}.coaching.{part}")))
    importlib.import_module(f"{PACKAGE}.{module}")
    registered: dict[str, Any] = importlib.import_module(f"{PACKAGE}.factory").DATASETS
    ((kind, settings),) = registered.values()
    return kind(settings(seed=seed, size=size))


def _package(wheel: str, name: str) -> ModuleType:
    """A package of the wheel, without what it does when it is imported."""
    made = ModuleType(name)
    made.__path__ = [f"{wheel}/{name.replace('.', '/')}"]
    sys.modules[name] = made
    return made


def _allow(seconds: int) -> None:
    """How much of the processor's time may be used from here on; the kernel ends who uses more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def _answered(made: Any, entries: dict[int, Any], index: int, *answer: str) -> Any:
    try:
        if index not in entries:
            entries[index] = made[index]
        entry = entries[index]
        if answer:
            return float(made.score_answer(answer[0], entry))
        return [entry["question"], entry["answer"]]
    except Exception:
        return None


if __name__ == "__main__":
    main()
