"""What the tests of many machines stand on: their servers can be broken, and break as they say."""

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import psutil
import psycopg
import pytest
import redis
from psycopg.pq import TransactionStatus

from moot.store import schema
from tests import patience
from tests.services import Postgres, Proxy, Valkey, ask

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres(durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    url = postgres.fresh()
    ask(url, "CREATE TABLE said (n INTEGER PRIMARY KEY)")
    yield url
    postgres.drop(url)


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with Proxy(url) as proxy:
        yield proxy


# --- Postgres ---


def test_a_fresh_database_is_migrated_and_empty(postgres: Postgres) -> None:
    first = postgres.fresh()
    ask(first, "INSERT INTO debate_schema VALUES ('mine')")
    second = postgres.fresh()
    assert first != second
    assert ask(second, "SELECT version_num FROM debate_schema") == [(schema.HEAD,)]
    tables = ask(second, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'debate_%'")
    assert ("debate_runs",) in tables
    came_along = ("debate_schema", "debate_agents", "debate_indexed")
    for (table,) in tables:
        assert table in came_along or ask(second, f"SELECT count(*) FROM {table}") == [(0,)]
    with psycopg.connect(first) as held:
        postgres.drop(first)
        with pytest.raises(psycopg.OperationalError):
            held.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_ends_connections_and_keeps_commits(
    postgres: Postgres, url: str, mode: Any
) -> None:
    ask(url, "INSERT INTO said VALUES (1)")
    with psycopg.connect(url) as held:
        held.execute("INSERT INTO said VALUES (2)")
        port = postgres.port
        postgres.restart(mode)
        assert postgres.port == port
        with pytest.raises(psycopg.OperationalError):
            held.execute("SELECT 1")
    assert ask(url, "SELECT n FROM said") == [(1,)]


def test_it_waits_for_the_disk_unless_it_is_told_not_to(postgres: Postgres) -> None:
    names = ("fsync", "full_page_writes", "synchronous_commit", "max_connections")
    with Postgres() as durable:
        told = [
            [ask(server.url(), f"SHOW {name}")[0][0] for name in names]
            for server in (durable, postgres)
        ]
        assert told == [["on", "on", "on", "300"], ["off", "off", "on", "300"]]
        durable.stop("immediate")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(durable.url())
    assert not durable.folder.exists()


# --- Valkey ---


def test_valkey_forgets_breaks_and_comes_back(valkey: Valkey) -> None:
    with redis.Redis.from_url(valkey.url, retry=None) as client, client.pubsub() as heard:
        client.set("a", 1)
        valkey.flush()
        assert client.get("a") is None
        heard.subscribe("news")
        heard.get_message(timeout=1)
        client.ping()  # over a second connection
        assert valkey.kill_clients() == 2
        valkey.stop()
        with pytest.raises(redis.ConnectionError):
            client.ping()
        port = valkey.port
        valkey.start()
        assert valkey.port == port
        assert client.ping()


# --- nothing is left behind ---

LEAVE = """
import sys, time
from tests.services import Postgres, Valkey, Proxy
servers = [Postgres(durable=False), Valkey()]
proxy = Proxy(servers[1].url)
pids = [one._process.pid for one in (*servers, proxy)]
print(*pids, *(server.folder for server in servers), flush=True)
sys.stdin.read()
"""


def test_nothing_outlives_a_test_that_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEAVE], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        *pids, folder, other = child.stdout.readline().decode().split()
        assert all(psutil.pid_exists(int(pid)) for pid in pids)
        child.kill()

    def gone() -> bool:
        return not any(_lives(int(pid)) for pid in pids) and not any(
            Path(path).exists() for path in (folder, other)
        )

    assert eventually(gone)


def _lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def eventually(true: Callable[[], bool]) -> bool:
    return patience.until(true)


# --- which database a test is on ---

SMALL = """
import os, subprocess, sys
import pytest
from moot.settings import Settings
from tests.services import ask

TABLES = "SELECT tablename FROM pg_tables WHERE tablename LIKE 'made_%' ORDER BY 1"

def make(name):
    ask(Settings(home="nowhere").database, f"CREATE TABLE made_{name} (n INTEGER)")

def made():
    code = "import os; from tests.services import ask;"
    code += f"print(*(name for name, in ask(os.environ['MOOT_DATABASE_URL'], {TABLES!r})))"
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()

@pytest.fixture(scope="module")
def shared():
    make("shared")

def test_alone():
    make("alone")
    assert made() == ["made_alone"]

def test_with_others(shared):
    make("with_others")
    assert made() == ["made_shared", "made_with_others"]

def test_alone_again():
    assert ask(Settings(home="nowhere").database, TABLES) == []

def test_with_the_same_others(shared):
    names = ask(Settings(home="nowhere").database, TABLES)
    assert names == [("made_shared",), ("made_with_others",)]

def test_several_homes(switch_database):
    for key in "ab":
        switch_database(key)
        assert ask(Settings(home="nowhere").database, TABLES) == []
        make(key)
    switch_database("a")
    assert ask(Settings(home="nowhere").database, TABLES) == [("made_a",)]

@pytest.mark.sqlite_only
def test_of_the_file():
    assert False
"""


@pytest.mark.stress("test_no_test_finds_the_databases_of_whoever_runs_it")
def test_each_test_has_a_database_of_its_own_or_its_modules(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(SMALL)
    words = ["-p", "tests.conftest", "-p", "no:cacheprovider", "--import-mode=importlib"]
    theirs = {"MOOT_DATABASE_URL": "postgresql://somebody@else/theirs"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "MOOT_TEST_DATABASE": "postgres", **theirs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "5 passed, 1 deselected" in done.stdout, done.stdout + done.stderr


def test_no_test_finds_the_databases_of_whoever_runs_it() -> None:
    ours = f"/moot_{os.getpid()}_"
    assert ours in os.environ.get("MOOT_DATABASE_URL", ours)
    assert "MOOT_BROKER_URL" not in os.environ


# --- the proxy ---


def plainly(conn: psycopg.Connection[Any], number: int) -> None:
    conn.execute("INSERT INTO said VALUES (%s)", (number,))
    conn.commit()


def in_a_pipeline(conn: psycopg.Connection[Any], number: int) -> None:
    with conn.pipeline():
        conn.execute("INSERT INTO said VALUES (%s)", (number,), prepare=True)
        conn.execute("SELECT n FROM said", prepare=True)
        conn.commit()


def in_a_batch(conn: psycopg.Connection[Any], number: int) -> None:
    """One message, several transactions: the first is lost, the second has happened too."""
    conn.execute(f"BEGIN; INSERT INTO said VALUES ({number}); COMMIT; BEGIN; COMMIT".encode())


def by_a_statement(conn: psycopg.Connection[Any], number: int) -> None:
    conn.execute("INSERT INTO said VALUES (%s)", (number,))
    conn.execute("COMMIT", prepare=True)


@pytest.mark.parametrize("way", [plainly, in_a_pipeline, in_a_batch, by_a_statement])
def test_a_lost_reply_is_that_to_a_commit_that_happened(
    url: str, proxy: Proxy, way: Callable[[psycopg.Connection[Any], int], None]
) -> None:
    proxy.lose_commits(chance=0.5, most=8)
    said, missed, number = 0, 0, 0
    while missed < 8:
        with psycopg.connect(proxy.at(), autocommit=way is in_a_batch) as conn:
            try:
                while number < 200:  # then nothing was lost
                    number += 1
                    way(conn, number)
                    said += 1
            except psycopg.OperationalError:
                missed += 1
        assert number < 200
    assert proxy.lost == missed == 8
    assert said > 0
    assert ask(url, "SELECT n FROM said ORDER BY n") == [(n,) for n in range(1, number + 1)]
    with psycopg.connect(proxy.at()) as conn:  # no more than it was told
        for n in range(number + 1, number + 21):
            plainly(conn, n)
    assert proxy.lost == 8


def test_only_commits_are_lost(url: str, proxy: Proxy) -> None:
    """Not what is rolled back, fails at its end, reads like a commit, or is no transaction."""
    ask(url, "CREATE TABLE late (n INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    proxy.lose_commits(1.0, 100)
    with psycopg.connect(proxy.at()) as conn:
        conn.execute("INSERT INTO said VALUES (1)")
        conn.rollback()
        conn.execute("INSERT INTO late VALUES (1), (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            conn.commit()
        with pytest.raises(psycopg.errors.UndefinedTable):
            conn.execute("SELECT * FROM nothing")
        conn.execute("COMMIT")  # of a transaction that failed: the server says ROLLBACK
        assert conn.execute("SELECT 'C', 'COMMIT', 'C\t\t\tCOMMIT'").fetchall()
        conn.rollback()
        conn.autocommit = True
        conn.execute("INSERT INTO said VALUES (2)")
        assert conn.info.transaction_status == TransactionStatus.IDLE
    assert proxy.lost == 0
    assert ask(url, "SELECT n FROM said") == [(2,)]


def test_data_passes_unchanged(url: str, proxy: Proxy) -> None:
    """Both ways, in large messages and in many small ones, also what reads like a lost reply; and
    the proxy still knows where a message begins."""
    proxy.lose_commits()
    data = random.Random(7).randbytes(9 << 20) + b"C\0\0\0\x0bCOMMIT\0" * (1 << 17)
    with psycopg.connect(proxy.at(), autocommit=True) as conn:
        conn.execute("CREATE TABLE data (n SERIAL, body BYTEA)")
        conn.execute("INSERT INTO data (body) VALUES (%b)", (data,))
        assert conn.execute("SELECT body FROM data", binary=True).fetchall() == [(data,)]
        assert bytes(conn.execute("SELECT body FROM data").fetchall()[0][0]) == data
        with conn.cursor().copy("COPY data (body) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["bytea"])
            for at in range(0, 1 << 20, 100):
                copy.write_row((data[at : at + 100],))
        rows = conn.execute("SELECT body FROM data WHERE n > 1 ORDER BY n", binary=True).fetchall()
        assert b"".join(body for (body,) in rows) == data[: len(rows) * 100]
        assert (len(rows), proxy.lost) == ((1 << 20) // 100 + 1, 0)
        with pytest.raises(psycopg.OperationalError):
            conn.execute("BEGIN; COMMIT")
    assert proxy.lost == 1


def greeted(proxy: Proxy) -> socket.socket:
    """A client that has asked for TLS, and heard that there is none."""
    sock = socket.create_connection(("127.0.0.1", proxy.port), timeout=patience.seconds())
    sock.sendall(struct.pack("!II", 8, 80877103))
    assert sock.recv(9) == b"N"
    return sock


def test_it_is_a_reset_and_no_end_in_good_order(proxy: Proxy) -> None:
    with greeted(proxy) as sock:
        proxy.reset()
        with pytest.raises(ConnectionResetError):
            sock.recv(1)


def test_so_it_is_when_a_commit_is_lost(proxy: Proxy) -> None:
    proxy.lose_commits()
    with greeted(proxy) as sock, sock.makefile("rb") as heard:
        hello = struct.pack("!I", 196608) + b"user\0postgres\0\0"
        sock.sendall(struct.pack("!I", 4 + len(hello)) + hello)
        while _message(heard)[0] != b"Z":
            pass
        query = b"BEGIN; SELECT 7; COMMIT\0"
        for byte in b"Q" + struct.pack("!I", 4 + len(query)) + query:
            sock.sendall(bytes([byte]))
        while _message(heard) != (b"C", b"SELECT 1\0"):  # all before it is heard
            pass
        with pytest.raises(ConnectionResetError):
            heard.read(1)
    assert proxy.lost == 1


def _message(heard: BinaryIO) -> tuple[bytes, bytes]:
    kind, size = struct.unpack("!cI", heard.read(5))
    return kind, heard.read(size - 4)


def test_a_reset_resets(url: str, proxy: Proxy) -> None:
    conns = [psycopg.connect(proxy.at(), autocommit=True) for _ in range(5)]
    pids = [conn.info.backend_pid for conn in conns]
    alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(?)"
    assert ask(url, alive, pids) == [(5,)]
    assert proxy.links == 5
    assert proxy.reset() == proxy.resets == 5
    assert proxy.links == 0
    for conn in conns:
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT 1")
        conn.close()
    assert eventually(lambda: ask(url, alive, pids) == [(0,)])
    with psycopg.connect(proxy.at()) as conn:
        conn.execute("SELECT 1")
    assert proxy.resets == 5


def test_a_reset_reaches_whoever_forked_workers_hold_beside(url: str, proxy: Proxy) -> None:
    """A worker that was forked later has no hold on the connection of one that was there before."""
    with psycopg.connect(proxy.at(), autocommit=True) as conn:
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        try:
            proxy.reset()
            with pytest.raises(psycopg.OperationalError):
                conn.execute("SELECT 1")
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_pause_keeps_connections_and_loses_nothing(url: str, proxy: Proxy) -> None:
    with psycopg.connect(proxy.at(), autocommit=True) as conn:
        proxy.pause()
        conn.pgconn.send_query(b"INSERT INTO said VALUES (1)")
        with socket.create_connection(("127.0.0.1", proxy.port)) as late:
            late.sendall(struct.pack("!II", 8, 80877103))
            late.settimeout(0.3)
            with pytest.raises(TimeoutError):
                late.recv(1)
            assert ask(url, "SELECT n FROM said") == []
            proxy.resume()
            late.settimeout(5)
            assert late.recv(1) == b"N"
        assert eventually(lambda: ask(url, "SELECT n FROM said") == [(1,)])
        while result := conn.pgconn.get_result():
            assert not result.error_message


def test_behind_it_a_server_may_be_gone_and_come_back(postgres: Postgres, proxy: Proxy) -> None:
    with psycopg.connect(proxy.at()) as conn:
        postgres.stop()
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.at())
    postgres.start()
    with psycopg.connect(proxy.at()) as conn:
        assert conn.execute("SELECT 1").fetchall() == [(1,)]


def test_it_stands_before_valkey_too(valkey: Valkey) -> None:
    with (
        Proxy(valkey.url) as proxy,
        redis.Redis.from_url(proxy.at()) as client,
    ):
        body = random.Random(3).randbytes(1 << 20)
        client.set("body", body)
        assert client.get("body") == body
        assert proxy.reset() == 1
        assert client.get("body") == body  # the client connects again by itself
        assert (proxy.links, proxy.lost) == (1, 0)


def test_addresses(proxy: Proxy) -> None:
    here = f"127.0.0.1:{proxy.port}"
    assert proxy.at("redis://:pass@valkey:6379/2") == f"redis://:pass@{here}/2"
    assert proxy.at("postgresql://me@db:5432/moot?a=b") == f"postgresql://me@{here}/moot?a=b"
