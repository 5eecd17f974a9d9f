"""Programs that people reach moot through, each from its registry: `make clients` installs them in
environments of their own."""

import tempfile
from pathlib import Path

from tests import patience

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = ROOT / ".venv-clients" / "bin"
NODE = ROOT / ".venv" / "bin"


def python(script: str, **told: str) -> str:
    """Run it where those for Python are."""
    return _run([BIN / "python", "-W", "error::ResourceWarning", "-c", script], **told)


def node(script: str, **told: str) -> str:
    """Run it as a module beside those for Node."""
    with tempfile.NamedTemporaryFile("w", suffix=".mjs", dir=HERE, prefix=".run-") as file:
        file.write(script)
        file.flush()
        return _run([NODE / "node", file.name], **told)


def _run(command: list[Path | str], **told: str) -> str:
    assert BIN.exists(), "`make clients` installs the clients"
    environment = {"PATH": f"{NODE}:/usr/bin:/bin", "HOME": tempfile.gettempdir(), **told}
    done = patience.run(command, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
