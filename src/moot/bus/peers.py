"""The sockets of the other processes that work on the same home."""

import logging
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from moot.bus.datagrams import NAME

log = logging.getLogger(__name__)

BUFFER = 1 << 18  # bytes; less if the system allows no more


class Peers:
    """The sockets of the other processes, each with a connection of its own.

    One that does not read fills its own connection and no other's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: dict[str, socket.socket] = {}

    def names(self) -> list[str]:
        return list(self._links)

    def look(self, me: str) -> None:
        """See who is there now. Raises PermissionError if the folder is not ours alone."""
        names: set[str] = set()
        try:
            check_private(self._folder.parent)
            check_private(self._folder)
            names = {path.name for path in self._folder.glob("*.sock")} - {me}
        except PermissionError:
            raise
        except OSError as error:
            log.debug("nobody is there: %s", error)
        for name in self._links.keys() - names:
            self._links.pop(name).close()
        for name in filter(NAME.fullmatch, names):
            self._connect(name)

    def send(self, name: str, datagram: bytes) -> bool:
        link = self._links.get(name)
        if link is None:
            return False
        try:
            link.send(datagram)
            return True
        except ConnectionError:
            self._connect(name)
        except OSError as error:  # its buffer is full: it will ask for what it missed
            log.debug("%s was not told: %s", name, error)
        return False

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _connect(self, name: str) -> None:
        """Connect, again if need be: only so is one that was killed told from one that is busy."""
        path = self._folder / name
        try:
            link = self._links.get(name) or open_socket()
            self._links[name] = link
            link.connect(str(path))
        except OSError as error:
            if link := self._links.pop(name, None):
                link.close()
            if isinstance(error, ConnectionRefusedError):
                with suppress(OSError):
                    path.unlink()


def open_socket() -> socket.socket:
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    opened.setblocking(False)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # macOS: 2 KB a datagram otherwise
        with suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    return opened


def check_private(folder: Path) -> None:
    """Refuse a folder in which somebody else could listen, or speak."""
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not ours or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of this user alone")
