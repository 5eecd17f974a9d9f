"""Postgres: a pool of threads with a connection each. Nobody else need know that it can go away.

A write is one transaction and two round trips: its beginning and what it reads, what it changes and
its end. Whatever breaks before COMMIT was sent is run again. When the reply to COMMIT is lost, the
server is asked what became of the transaction. So functions may run twice, as on SQLite.
"""

import asyncio
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from moot.errors import DuplicateError, InputError, StorageError
from moot.extras import install
from moot.store import runs
from moot.store.jobs import Job, Together, deliver
from moot.store.query import Connection

try:
    import psycopg
    from psycopg import conninfo, errors
    from psycopg.pq import TransactionStatus
except ImportError:
    raise InputError(
        "MOOT_DATABASE_URL names a Postgres, whose driver is not installed here. "
        f"{install('cluster')}",
        "MOOT_DATABASE_URL",
    ) from None

from moot.store.piped import Answer, Driver, Piped  # after the sentence on what is missing

logging.getLogger("psycopg").setLevel(logging.ERROR)  # what it warns of is dealt with here

T = TypeVar("T")
Run = Callable[[Callable[[Connection], Any]], Any]
TOGETHER = 64  # writes that one transaction holds at the most
PATIENCE_SECONDS = 30.0  # how long a server may be away before whoever waits hears of it
STARTING_SECONDS = 5.0  # the same, for whoever has only just been started
CLOSING_SECONDS = 5.0  # what is under way may take so long to end
WAITS = (0.05, 1.0)  # between two tries: the first, the longest

SESSION = {
    "connect_timeout": 5,
    "application_name": "moot",
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
OPTIONS = (
    # a worker that is stopped half-way holds a row's lock for so long, and no longer
    "-c idle_in_transaction_session_timeout=10s -c lock_timeout=5s -c statement_timeout=30s"
    r" -c default_transaction_isolation=read\ committed"
)
PASSING = {
    "25006",  # connected to a standby, which takes no writes
    "25P03",  # stopped for so long that the server gave the transaction up
    "25P04",  # the same, stopped while it was sending
    "26000",  # a prepared statement that the server does not know
    "0A000",  # one that was prepared for the schema before
}
SHUT_OUT = ("authentication failed", "no pg_hba.conf entry", "does not exist", "no password")
_CLOCK = "extract(epoch from clock_timestamp())::float8"
HELLO = f"SELECT {_CLOCK}, pg_stat_get_bgwriter_stat_reset_time()::text"
LIMIT = "SET transaction_timeout = '15s'"  # for one that is stopped between two messages
BEGUN = f"SELECT {_CLOCK}, pg_current_xact_id()::text"
STATUS = "SELECT pg_xact_status(%s::xid8)"


@dataclass(frozen=True, slots=True)
class Place:
    """Which database, how it is reached, and what people call it."""

    params: dict[str, Any] = field(repr=False)
    name: str

    @staticmethod
    def at(url: str) -> "Place":
        try:
            asked = conninfo.conninfo_to_dict(url)
        except psycopg.Error:  # its words may hold the password
            raise InputError(
                "MOOT_DATABASE_URL is not an address that Postgres understands.",
                "MOOT_DATABASE_URL",
            ) from None
        options = f"{OPTIONS} {asked.get('options') or ''}".strip()
        host = asked.get("host") or asked.get("hostaddr") or "localhost"
        name = asked.get("dbname") or asked.get("user") or "postgres"
        shown = f"Postgres at {host} (database {name})"
        return Place({**SESSION, **asked, "options": options}, shown)

    def connect(self, *, autocommit: bool = True) -> Driver:
        return psycopg.connect(autocommit=autocommit, **self.params)

    def trouble(self, error: BaseException) -> StorageError:
        """One clear sentence for what a person can mend."""
        words = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if password := self.params.get("password"):
            words = words.replace(str(password), "…")
        if _shut_out(error):
            return StorageError(
                f"{self.name} does not let this user in, or does not exist ({words}). "
                "Check MOOT_DATABASE_URL."
            )
        if isinstance(error, errors.DiskFull):
            return StorageError(f"The disk of {self.name} is full. Make room, then go on.")
        if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn):
            return StorageError(f"{self.name} lacks tables of moot. Run `moot db upgrade`.")
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return StorageError(
                f"{self.name} cannot be reached: {words}. Start it, or check MOOT_DATABASE_URL."
            )
        return StorageError(f"{self.name} gave an error: {words}.")


@dataclass(slots=True)
class Patience:
    """Waits between two tries, longer each time, until it is over."""

    place: Place
    seconds: float
    ending: threading.Event = field(default_factory=threading.Event)
    pause: float = WAITS[0]
    began: float = field(default_factory=time.monotonic)

    def bear(self, error: Exception) -> None:
        """Wait, or raise what waiting does not mend."""
        if isinstance(error, psycopg.IntegrityError):
            raise DuplicateError(str(error)) from error
        if isinstance(error, psycopg.DataError):  # a value that no column takes
            raise ValueError(str(error)) from error
        # not all for equally long: two that were in each other's way would meet again
        wait = self.pause * random.uniform(0.5, 1.0)  # noqa: S311  nothing secret
        over = time.monotonic() + wait > self.began + self.seconds
        if over or not _passing(error) or self.ending.wait(wait):
            raise self.place.trouble(error) from error
        self.pause = min(self.pause * 2, WAITS[1])


@dataclass(slots=True)
class Session:
    """A thread's connection."""

    driver: Driver
    conn: Connection
    life: str | None  # of the server: another one after a crash, the same after a restart


@dataclass(slots=True)
class Begun:
    """What the server is asked when a transaction begins; the answer comes with the first fetch."""

    answer: Answer
    sent: float
    xid: str | None = None


class LostReplyError(Exception):
    """COMMIT was sent, and nobody knows whether it was done."""

    def __init__(self, xid: str, life: str | None, result: Any) -> None:
        super().__init__(xid)
        self.xid, self.life, self.result = xid, life, result


class TornError(Exception):
    """One raised after some of it was sent: the whole transaction has to be taken back."""


class PostgresDatabase:
    """Runs functions on Postgres, and knows what time it is there: the one clock of all machines.

    Functions of different writes run at the same time, in different threads. With no connections,
    there are no threads: see `write_now`.
    """

    def __init__(
        self, url: str, connections: int, timed: Callable[[float], None] | None = None
    ) -> None:
        self.place = Place.at(url)
        self.resolved = 0  # commits whose reply was lost, and that were done
        self.repeated = 0  # times that a function was run again
        self._timed = timed  # takes the seconds of each write, from asking to committed
        self._local = threading.local()
        self._lock = threading.Lock()
        self._drivers: set[Driver] = set()
        self._ending = threading.Event()  # whoever tries again gives up
        self._ended = threading.Event()  # nothing is begun any more
        self._ahead: float | None = None  # of this machine's monotonic clock
        self._together = Together("moot-postgres", self._write_together, TOGETHER)
        self._pool = ThreadPoolExecutor(max(connections - 1, 1), "moot-postgres")
        if connections:
            try:  # wait for the first connection, or what is wrong with it
                self._pool.submit(self.read_now, lambda _: None).result()
            except BaseException:
                self.close()
                raise

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        """Run `fn` in a transaction; it is committed when this returns.

        Whoever is cancelled while waiting has still asked: the write goes on.
        """
        began = time.monotonic()
        self._check_open()
        asked = self._together.ask(fn, row) if row else self._in_pool(self._alone, fn)
        result = await asked
        if self._timed:
            self._timed(time.monotonic() - began)
        return result

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on what is committed, with no transaction around it."""
        self._check_open()
        return await self._in_pool(self.read_now, fn)

    async def ping(self) -> None:
        """Raises StorageError if a write would fail."""
        await self.write(lambda _: None)

    def now(self) -> float:
        """The server's time; in a write that has read something, as that transaction saw it.

        Never waits: it is the last time heard, and what has passed here since.
        """
        begun: Begun | None = getattr(self._local, "begun", None)
        if begun and begun.xid is None and begun.answer.there:
            self._hear(begun)
        return time.monotonic() + (self._ahead or 0.0)

    def close(self) -> None:
        """Finish what is under way, but wait for no server that is away; then let go of it."""
        self._ending.set()
        hanging_up = threading.Timer(CLOSING_SECONDS, self._hang_up)
        hanging_up.start()
        self._together.close()
        self._pool.shutdown()
        hanging_up.cancel()
        for driver in self._open():
            driver.close()

    def _hang_up(self) -> None:
        """Threads may be waiting for an answer."""
        self._ended.set()
        for driver in self._open():
            with suppress(OSError, psycopg.Error):
                line = socket.socket(fileno=os.dup(driver.pgconn.socket))
                with closing(line):
                    line.shutdown(socket.SHUT_RDWR)

    def _check_open(self) -> None:
        if self._ending.is_set():
            raise StorageError(f"{self.place.name} is being closed.")

    async def _in_pool(self, run: Run, fn: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        job = Job(fn, loop, loop.create_future())
        self._pool.submit(_do, run, job)
        return await job.future

    # --- what is written together ---

    def _write_together(self, jobs: Sequence[Job]) -> None:
        """Those that need a transaction of their own get it in the pool."""
        self._share(jobs)
        for job in jobs:
            if job.apart:
                self._pool.submit(_do, self._alone, job)

    def _share(self, jobs: Sequence[Job]) -> None:
        """All that can be done in one transaction; what is to be done apart is marked so."""
        try:
            self._alone(lambda conn: self._do_together(conn, jobs))
        except Exception as error:
            away = isinstance(error, StorageError) and not isinstance(error, DuplicateError)
            for job in jobs:  # if one of them was refused, each is done by itself
                job.error, job.apart = error, not away

    def _do_together(self, conn: Connection, jobs: Sequence[Job]) -> None:
        """Each is about one debate, whose row it locks. Nobody waits for a row that somebody else
        has locked: what is about it is done apart. It may run twice, and begins anew each time."""
        piped = cast(Piped, conn.driver)
        conn.seen = runs.lock(conn, list({job.row or "" for job in jobs}))
        locked = set(conn.seen)
        for job in jobs:
            job.result, job.error, job.apart = None, None, job.row not in locked
            if job.apart:
                continue
            sent = piped.sent
            try:
                job.result = job.fn(conn)
                piped.flush()
            except psycopg.Error:
                raise
            except Exception as error:
                if piped.sent != sent:
                    raise TornError from error
                piped.forget()
                job.error = error

    def write_now(self, jobs: Sequence[Job]) -> None:
        """Do these in the calling thread, as the threads here would; each has its result then.

        For whoever decides alone what happens when. Jobs without a row are done by themselves.
        """
        if shared := [job for job in jobs if job.row]:
            self._share(shared)
        for job in jobs:
            if job.apart or not job.row:
                _settle(self._alone, job)

    def read_now(self, fn: Callable[[Connection], T]) -> T:
        """The same, for a read."""
        return self._run(lambda session: fn(session.conn))

    # --- a transaction ---

    def _alone(self, fn: Callable[[Connection], T]) -> T:
        return self._run(lambda session: self._transact(session, fn))

    def _run(self, work: Callable[[Session], T]) -> T:
        """Try until it goes through, or patience is over."""
        patience, tried = Patience(self.place, PATIENCE_SECONDS, self._ending), False
        while True:
            try:
                session = self._session()
                if tried:
                    self._count("repeated")
                tried = True
                return work(session)
            except LostReplyError as lost:
                if self._committed(lost, patience):
                    self._count("resolved")
                    return lost.result
                patience.bear(psycopg.OperationalError("the connection was lost"))
            except psycopg.Error as error:
                if not _is_refusal(error):
                    self._drop()
                patience.bear(error)

    def _transact(self, session: Session, fn: Callable[[Connection], T]) -> T:
        driver, xid = session.driver, None
        result: Any = None
        try:
            with driver.pipeline() as pipeline:  # leaving it waits for all answers
                piped, sent = Piped(driver, pipeline), time.monotonic()
                piped.ask("BEGIN")
                begun = self._local.begun = Begun(piped.ask(BEGUN), sent)
                result = fn(Connection("postgresql", piped))
                piped.flush()
                xid = self._hear(begun)
                ended = driver.execute("COMMIT")
            if ended.statusmessage != "COMMIT":  # fn went on after an error: all of it is undone
                raise StorageError(f"{self.place.name} did not commit: a statement had failed.")
            return result
        except BaseException as error:
            first = _first(error)
            if isinstance(first, psycopg.Error) and not _is_refusal(first):
                self._drop()
                if xid is not None:
                    raise LostReplyError(xid, session.life, result) from first
            else:
                self._undo(driver)
            raise first from first.__cause__
        finally:
            self._local.begun = None

    def _committed(self, lost: LostReplyError, patience: Patience) -> bool:
        """What became of a transaction whose end was not heard of."""
        while True:
            try:
                session = self._session()
                status = session.driver.execute(STATUS, [lost.xid]).fetchall()[0][0]
            except errors.InvalidParameterValue:  # the server has not come to that number yet
                return False
            except psycopg.Error as error:
                self._drop()
                patience.bear(error)
                continue
            crashed = session.life != lost.life
            if status == "committed" and crashed:
                # After a crash, Postgres gives the numbers that it had not yet written down again:
                # this may be another's transaction. Who reads the rows anew finds out.
                raise StorageError(
                    f"{self.place.name} crashed, and what was being written may be there or not."
                )
            if status != "in progress" or crashed:
                return status == "committed"
            patience.bear(psycopg.OperationalError("the end of a transaction is not known"))

    def _undo(self, driver: Driver) -> None:
        """Take back what a function that raised had done; the connection is as good as before."""
        with suppress(psycopg.Error):
            if driver.info.transaction_status == TransactionStatus.INTRANS:
                driver.pgconn.exec_(b"ROLLBACK")
            else:  # forgets what was prepared, too: some of it was skipped
                driver.rollback()
        if driver.info.transaction_status != TransactionStatus.IDLE:
            self._drop()

    def _hear(self, begun: Begun) -> str:
        """Take in the time and the number of the transaction."""
        if begun.xid is not None:
            return begun.xid
        there, xid = begun.answer.fetchall()[0]
        self._set(there, begun.sent)
        begun.xid = xid
        return xid

    def _set(self, there: float, sent: float) -> None:
        """The clock there was read after `sent` and before now: move our idea of it as little as
        that allows. What it waited for (a lock, a busy server) does not shift it."""
        least, most = there - time.monotonic(), there - sent
        known = (least + most) / 2 if self._ahead is None else self._ahead
        self._ahead = min(max(known, least), most)

    def _session(self) -> Session:
        session: Session | None = getattr(self._local, "session", None)
        if session and not session.driver.closed:
            return session
        self._drop()
        if self._ended.is_set():
            raise StorageError(f"{self.place.name} is being closed.")
        driver = self.place.connect()
        with self._lock:
            self._drivers.add(driver)
        self._local.session = session = Session(driver, Connection("postgresql", driver), None)
        sent = time.monotonic()
        there, session.life = driver.execute(HELLO).fetchall()[0]
        self._set(there, sent)
        if driver.info.server_version >= 170000:
            driver.execute(LIMIT)
        return session

    def _drop(self) -> None:
        session: Session | None = getattr(self._local, "session", None)
        if session:
            self._local.session = None
            with self._lock:
                self._drivers.discard(session.driver)
            session.driver.close()

    def _open(self) -> list[Driver]:
        with self._lock:
            return list(self._drivers)

    def _count(self, name: str) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)


@contextmanager
def reading(url: str, seconds: float = 0.0) -> Generator[Connection]:
    """What is committed at one moment, for whoever looks once. Raises StorageError."""
    place = Place.at(url)
    patience = Patience(place, seconds)
    while True:
        try:
            driver = place.connect()
            break
        except psycopg.Error as error:
            patience.bear(error)
    with closing(driver):
        try:
            driver.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Connection("postgresql", driver)
        except psycopg.Error as error:
            raise place.trouble(error) from error


def _do(run: Run, job: Job) -> None:
    _settle(run, job)
    deliver([job])


def _settle(run: Run, job: Job) -> None:
    try:
        job.error, job.result = None, run(job.fn)
    except BaseException as error:  # whoever waits must hear of it, whatever it is
        job.error = error


def _first(error: BaseException) -> BaseException:
    """What went wrong first: the statements after it were skipped, and say no more than that."""
    while isinstance(error, errors.PipelineAborted) and error.__context__ is not None:
        error = error.__context__
    return error


def _is_refusal(error: psycopg.Error) -> bool:
    """The server said no to a statement, and listens: then nothing was committed."""
    return error.diag.severity_nonlocalized == "ERROR"


def _passing(error: Exception) -> bool:
    """Whether the same may go through later, with nothing changed."""
    if _shut_out(error) or isinstance(error, errors.DiskFull):
        return False
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return True
    return isinstance(error, psycopg.Error) and error.sqlstate in PASSING


def _shut_out(error: BaseException) -> bool:
    """Whether the server refused the connection: libpq then gives words, and no code."""
    if not isinstance(error, psycopg.OperationalError) or error.sqlstate:
        return False
    return any(words in str(error) for words in SHUT_OUT)
