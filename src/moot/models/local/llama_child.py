"""llama.cpp's own HTTP server, in a process of its own: `python -m moot.models.local.llama_child`.

It is told what to run by one line on its standard input, tells its address by one line on its
standard output, and ends when the input does: so it cannot outlive whoever started it. The key
comes that way too, for what stands on a command line can be read by everybody on the machine.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any

BATCH = 256  # tokens of prompts at a time; between two of them a call can be called off


def main() -> None:
    told = json.loads(sys.stdin.buffer.readline())
    server = _serve(told)
    print(json.dumps({"url": server.listening_address}), flush=True)  # noqa: T201  it is the answer
    sys.stdin.buffer.read()  # until it is closed
    os._exit(0)  # at once, whatever is being said


def _serve(told: dict[str, Any]) -> Any:
    llama: Any = import_module("xllamacpp")  # it has no types
    params = llama.CommonParams()
    params.model.path = told["path"]
    params.model_alias = {told["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # whichever is free
    params.api_keys = [told["key"]]
    params.n_parallel = told["slots"]
    params.n_ctx = told["slots"] * told["context"]
    params.n_batch = params.n_ubatch = BATCH
    params.cache_prompt = True
    params.cache_ram_mib = told["cache_mib"]  # keeps the prompts of seats that have no slot now
    params.ctx_shift = False  # a prompt that is too long is refused, and not beheaded
    params.fit_params = False
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = told["threads"]
        cpu.poll = 0  # threads that wait by spinning starve a busy machine, and themselves
    params.ui = False
    params.cors_origins = ""  # no page has any business here
    params.verbosity = 2  # warnings and errors
    params.offline = True
    return llama.Server(params)


if __name__ == "__main__":
    main()
