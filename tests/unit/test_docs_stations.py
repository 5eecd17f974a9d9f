"""The examples of docs/stations.md do what they say."""

import base64
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.patience import seconds

from moot.api.problems import ProblemError
from moot.api.signing import Signed, verify
from moot.settings import Settings
from moot.wire.toml import loads

PAGE = (Path(__file__).parents[2] / "docs" / "stations.md").read_text()
CONVERSATION = "debate_20270131_180000_abcdef"
SECRETS = [
    'it\'s a "secret" of $HOME \\n 100%',
    "whsec_" + base64.b64encode(bytes([0, 10, *range(200, 222)])).decode(),
]
CURL = '#!/bin/sh\nfor one in "$@"; do printf \'%s\\0\' "$one"; done\n'
URLOPEN = """
import urllib.request
def show(asked):
    named = [f"{name}: {value}" for name, value in asked.header_items()]
    print(asked.full_url, *named, asked.data.decode(), sep="\\0", end="\\0", flush=True)
    raise SystemExit(0)
urllib.request.urlopen = show
"""


def block(language: str, having: str) -> str:
    return next(
        one for one in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if having in one
    )


def called(command: list[str], secret: str, folder: Path) -> list[str]:
    paths = os.pathsep.join((str(folder), os.environ.get("PATH", os.defpath)))
    done = subprocess.run(
        [*command, CONVERSATION], capture_output=True, check=True, timeout=seconds(),
        env={"PATH": paths, "MOOT_HOOK_SECRET": secret},
    )  # fmt: skip
    return done.stdout.decode().split("\0")[:-1]


def check(arguments: list[str], secret: str) -> None:
    """The call that was made is one that the service takes, and none that was tampered with."""
    heads = dict(one.lower().split(": ", 1) for one in arguments if re.match(r"[\w-]+: ", one))
    case = next(one for one in arguments if re.match(r"webhook-signature: ", one, re.IGNORECASE))
    signed = Signed(heads["webhook-id"], heads["webhook-timestamp"], case.split(": ", 1)[1])
    key = Settings(hook_secret=secret).hook_key  # pyright: ignore[reportArgumentType]
    assert key
    body = next(one for one in arguments if one.startswith("{")).encode()
    assert f"http://127.0.0.1:8420/hooks/conversations/{CONVERSATION}/run" in arguments
    assert heads["content-type"] == "application/json"
    assert CONVERSATION in body.decode()
    verify(key, signed, body, time.time())
    with pytest.raises(ProblemError):
        verify(key, signed, body + b" ", time.time())


@pytest.mark.parametrize("secret", SECRETS, ids=["text", "whsec"])
def test_the_shell_signs_a_call(secret: str, tmp_path: Path) -> None:
    curl = tmp_path / "curl"
    curl.write_text(CURL)
    curl.chmod(0o755)
    check(called(["sh", "-euc", block("sh", "openssl dgst"), "sh"], secret, tmp_path), secret)


@pytest.mark.parametrize("secret", SECRETS, ids=["text", "whsec"])
def test_python_signs_a_call(secret: str, tmp_path: Path) -> None:
    code = URLOPEN + block("python", "hmac")
    check(called([sys.executable, "-c", code], secret, tmp_path), secret)


def test_the_example_of_a_station_is_one() -> None:
    assert [one["id"] for one in loads(block("toml", "[[stations]]"), "stations")] == ["build-desk"]
