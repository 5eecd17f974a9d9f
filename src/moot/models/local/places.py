"""Where models are fetched from on this machine: as the user's own tools are set."""

import sys
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path

HUB = "https://huggingface.co"
PYPI = "https://pypi.org/simple"


@dataclass(frozen=True, slots=True)
class Places:
    """The hub, and the index of Python packages. Either may hold a password: do not show them."""

    hub: str = HUB
    index: str = PYPI


def pip_files(own: Path | None) -> list[Path]:
    """Where pip looks for its settings, what counts most at the end; `own` is PIP_CONFIG_FILE."""
    if own == Path("/dev/null"):
        return []  # pip's way to have none
    home = Path.home()
    return [
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        home / "Library/Application Support/pip/pip.conf",
        home / ".config/pip/pip.conf",
        Path(sys.prefix) / "pip.conf",
        *([own] if own else []),
    ]


def pip_index(files: list[Path]) -> str | None:
    """The index that pip's own settings name."""
    found: str | None = None
    for path in files:
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(path, "utf-8")
        except (Error, UnicodeDecodeError, OSError):
            continue  # pip will have something to say about it
        for section in ("global", "download"):
            found = parser.get(section, "index-url", fallback="").strip() or found
    return found
