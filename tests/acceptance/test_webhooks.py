"""Webhooks out, to a real receiver that is down, slow, broken, or leads elsewhere."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from moot.api import signing
from moot.bootstrap import open_courier, open_service
from moot.cli.main import app
from moot.errors import InputError
from moot.ports.delivery_store import Delivery
from moot.settings import Settings, webhook_key
from moot.store.deliveries import SqlDeliveries
from moot.store.store import open_database
from moot.testing.virtual import FrozenClock
from moot.webhooks import courier as couriers
from moot.webhooks.courier import Courier
from moot.webhooks.receivers import load
from tests.acceptance.test_http import Cast
from tests.patience import until
from tests.served import Served, served

WAITS = couriers.WAITS  # as they are, before a test makes them short
SECRET = "a secret of some length"  # noqa: S105


class Receiver(ThreadingHTTPServer):
    """Keeps each call that comes, and answers with what it is told to."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []  # of the next calls; then 204
        self.slow = 0.0
        self.location = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        server.calls.append(({k.lower(): v for k, v in self.headers.items()}, body))
        time.sleep(server.slow)
        self.send_response(server.statuses.pop(0) if server.statuses else 204)
        if server.location:
            self.send_header("Location", server.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def receiving(port: int = 0) -> Generator[Receiver]:
    with Receiver(port) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_SECRET", SECRET)
    monkeypatch.setattr(couriers, "WAITS", (0.01,) * 9)
    monkeypatch.setattr(couriers, "LOOK_SECONDS", 0.01)


def hook(home: Path, url: str, more: str = "") -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "hooks.toml").write_text(f'[ops]\nurl = "{url}"\nsecret_env = "OPS_SECRET"\n{more}')


@contextmanager
def telling(home: Path, url: str, more: str = "") -> Generator[Served]:
    """A server whose log was looked at once: what comes from now on is told."""
    hook(home, url, more)
    with served(home, speaker=Cast()) as server:
        until(lambda: asyncio.run(_positioned(home)))
        yield server


async def _positioned(home: Path) -> bool:
    async with open_courier(Settings(home=home)) as (_, deliveries):
        database: Any = deliveries
        rows = await database.database.read(
            lambda conn: conn.driver.execute(
                "SELECT count(*) FROM debate_indexed WHERE name = 'hooks'"
            ).fetchall()
        )
        return bool(rows[0][0])


def newest(home: Path) -> list[Delivery]:
    async def read() -> list[Delivery]:
        async with open_courier(Settings(home=home)) as (_, deliveries):
            return await deliveries.newest(100)

    return asyncio.run(read())


def settled(home: Path, number: int = 1) -> list[Delivery]:
    def done() -> list[Delivery]:
        found = newest(home)
        return found if len(found) == number and all(o.state != "waiting" for o in found) else []

    return until(done)


def held(server: Served, word: str = "Ask") -> dict[str, Any]:
    made = server.create(f"{word}: should we ship?", format="duel")
    return server.wait(made["id"])


def verified(call: tuple[dict[str, str], bytes]) -> dict[str, Any]:
    headers, body = call
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    signed = signing.Signed(*(headers[name] for name in names))
    assert signing.verify(SECRET.encode(), signed, body, time.time())
    return json.loads(body)


def test_a_finished_debate_is_told_once_and_signed(tmp_path: Path, receiver: Receiver) -> None:
    home = tmp_path / "home"
    with telling(home, receiver.url) as server:
        debate = held(server)
        (one,) = settled(home)
    told = verified(receiver.calls[0])
    assert len(receiver.calls) == 1
    assert told["type"] == "debate.completed"
    assert told["data"]["id"] == debate["id"] == one.debate_id
    assert told["data"]["stop_reason"] == "max_turns"
    assert (one.state, one.status, one.tries) == ("delivered", 204, 1)


def test_a_receiver_that_fails_hears_the_same_message_again(
    tmp_path: Path, receiver: Receiver
) -> None:
    home = tmp_path / "home"
    receiver.statuses = [500, 503, 429, 404]
    with telling(home, receiver.url) as server:
        held(server)
        (one,) = settled(home)
    assert (one.state, one.tries, len(receiver.calls)) == ("delivered", 5, 5)
    assert len({headers["webhook-id"] for headers, _ in receiver.calls}) == 1
    assert len({body for _, body in receiver.calls}) == 1
    assert all(map(verified, receiver.calls))


def test_a_receiver_that_is_down_hears_of_it_once_it_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(couriers, "WAITS", (0.05,) * 100_000)
    home = tmp_path / "home"
    with receiving() as gone:
        port = gone.server_address[1]
    with telling(home, f"http://127.0.0.1:{port}/hook") as server:
        held(server)
        until(lambda: newest(home) and newest(home)[0].tries > 3)
        assert "cannot be reached" in str(newest(home)[0].error)
        with receiving() as receiver:
            hook(home, receiver.url)  # as a name whose address has changed
            (one,) = settled(home)
            assert (one.state, len(receiver.calls)) == ("delivered", 1)


@asynccontextmanager
async def couriers_of(
    home: Path,
) -> AsyncGenerator[tuple[Callable[[], Courier], SqlDeliveries, FrozenClock]]:
    """Couriers without a server around them, in an hour that passes as the test says."""
    settings = Settings(home=home)
    async with open_service(settings):
        pass
    database = open_database(settings.database, 2)
    deliveries, clock = SqlDeliveries(database), FrozenClock(time.time())
    made: list[Courier] = []

    def another() -> Courier:
        made.append(Courier(home, deliveries, clock, webhook_key))
        return made[-1]

    try:
        yield another, deliveries, clock
    finally:
        for courier in made:
            await courier.close()
        database.close()


def test_a_receiver_that_is_down_for_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the waits as they are: it is asked less and less often, by whichever process is there,
    and hears of it once, soon after it is up."""
    monkeypatch.setattr(couriers, "WAITS", WAITS)
    home = tmp_path / "home"
    with receiving() as gone:
        port = gone.server_address[1]
    hook(home, f"http://127.0.0.1:{port}/hook")

    async def use() -> None:
        async with couriers_of(home) as (another, deliveries, clock):
            await another().look()  # what happened before is not told
            async with open_service(Settings(home=home), speaker=Cast()) as service:
                made = await service.create("Ask: should we ship?", format="duel")
                await service.wait(made.id)
            began, asked = clock.now(), list[float]()
            while clock.now() < began + 3600:
                asked.append(round(clock.now() - began))
                assert await another().look() == 1
                assert await another().look() == 0  # not before its time
                (one,) = await deliveries.newest(10)
                assert (one.state, one.tries) == ("waiting", len(asked))
                clock.tick(one.next_at - clock.now())
            assert asked == [0, 5, 35, 155, 755, 2555]
            await deliveries.take(clock.now(), clock.now() + couriers.LEASE_SECONDS)
            clock.tick(couriers.LEASE_SECONDS - 1)  # by a process that died with it
            assert await another().look() == 0
            with receiving(port) as receiver:
                clock.tick(1)
                assert await another().look() == 1
                (told,) = receiver.calls
                assert abs(int(told[0]["webhook-timestamp"]) - clock.now()) <= 1
                assert json.loads(told[1])["data"]["id"] == made.id
                clock.tick(7 * 24 * 3600)
                assert await another().look() == 0
            (one,) = await deliveries.newest(10)
            assert one.state == "delivered"

    asyncio.run(use())


def test_what_is_sent_again_does_not_wait_behind_others(tmp_path: Path, receiver: Receiver) -> None:
    """A server that was down may have left any number that are due, of receivers that are slow:
    they are left to it."""
    home = tmp_path / "home"
    hook(home, receiver.url)

    async def use() -> None:
        async with couriers_of(home) as (another, deliveries, clock):
            for number in range(30):
                state = "given_up" if number == 7 else "waiting"
                await deliveries.add(
                    Delivery(
                        f"msg_{number}", "ops", "", "moot.test", "{}", state=state,
                        created_at="2026-01-01T00:00:00Z", next_at=clock.now() - 1000 + number,
                    )
                )  # fmt: skip
            one = await another().resend("msg_7")
            assert (one.state, one.tries, len(receiver.calls)) == ("delivered", 1, 1)
            receiver.statuses = [500]
            assert (await another().resend("msg_7")).error == "It answered 500."
            assert (await deliveries.get("msg_7")).state == "waiting"  # and it is tried again
            assert [one.tries for one in await deliveries.newest(30)].count(0) == 29

    asyncio.run(use())


def test_the_waits_grow_and_end() -> None:
    assert sorted(WAITS) == list(WAITS)
    assert sum(WAITS) > 24 * 3600 / 2
    assert len(WAITS) < 20


def test_it_is_given_up_after_the_last_try(tmp_path: Path, receiver: Receiver) -> None:
    home = tmp_path / "home"
    receiver.statuses = [500] * 50
    with telling(home, receiver.url) as server:
        held(server)
        (one,) = settled(home)
        assert (one.state, one.tries, one.status) == ("given_up", 10, 500)
    assert len(receiver.calls) == 10


def test_one_that_is_gone_is_not_asked_again(tmp_path: Path, receiver: Receiver) -> None:
    receiver.statuses = [410]
    with telling(tmp_path / "home", receiver.url) as server:
        held(server)
        (one,) = settled(tmp_path / "home")
    assert (one.state, one.tries) == ("given_up", 1)


def test_redirects_are_not_followed(tmp_path: Path, receiver: Receiver) -> None:
    with receiving() as private:
        receiver.statuses, receiver.location = [302, 307, 301] + [308] * 20, private.url
        with telling(tmp_path / "home", receiver.url) as server:
            held(server)
            (one,) = settled(tmp_path / "home")
        assert private.calls == []
    assert one.state == "given_up"
    assert "Redirects are not followed" in str(one.error)


def test_a_slow_receiver_is_let_go_and_tried_again(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(couriers, "TRY_SECONDS", 0.3)
    monkeypatch.setattr(couriers, "WAITS", (0.01,) * 10_000)
    receiver.slow = 1.0
    with telling(tmp_path / "home", receiver.url) as server:
        held(server)
        until(lambda: len(receiver.calls) > 1)
        receiver.slow = 0.0
        monkeypatch.setattr(couriers, "TRY_SECONDS", 15.0)
        (one,) = settled(tmp_path / "home")
    assert one.state == "delivered"


def test_only_what_it_wants_to_hear(tmp_path: Path, receiver: Receiver) -> None:
    home = tmp_path / "home"
    with telling(home, receiver.url, 'events = ["paused"]\n') as server:
        held(server)
        failed = server.create("Fail: should we ship?", format="duel")
        assert server.wait(failed["id"], "paused")["failure"]
        (one,) = settled(home)
    assert one.type == "debate.paused"
    assert verified(receiver.calls[0])["data"]["failure"]["code"] == "DEBATE_ERR_PROVIDER_AUTH"


def test_what_happens_while_nobody_serves_is_told_later(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    with telling(home, receiver.url):
        pass
    monkeypatch.setenv("MOOT_HOME", str(home))
    ran = CliRunner().invoke(app, ["run", "Should we?", "-f", "duel", "-m", "local:understudy"])
    assert ran.exit_code == 0
    assert receiver.calls == []
    with served(home, speaker=Cast()):
        settled(home)
    assert len(receiver.calls) == 1


def test_the_commands(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("MOOT_HOME", str(home))

    def moot(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["hooks", *arguments])
        assert done.exit_code == code, done.output
        return done.output

    assert "No hooks" in moot("list")
    hook(home, receiver.url)
    assert "was delivered" in moot("test", "ops")
    assert verified(receiver.calls[0])["type"] == "moot.test"
    listed = json.loads(moot("list", "--json"))
    (one,) = listed["deliveries"]
    assert (one["state"], listed["hooks"][0]["name"]) == ("delivered", "ops")
    assert SECRET not in json.dumps(listed)
    assert one["id"] in moot("resend", one["id"])
    assert [headers["webhook-id"] for headers, _ in receiver.calls] == [one["id"]] * 2
    receiver.statuses = [500]
    assert "It answered 500." in moot("test", "ops", code=1)
    monkeypatch.delenv("OPS_SECRET")
    assert "OPS_SECRET is not set" in moot("test", "ops", code=1)
    assert "OPS_SECRET is not set" in moot("list")
    assert len(receiver.calls) == 3


BAD = {
    "wat": "cannot be read",
    "[Ops]\n": "not an entry",
    '[ops]\nurl = "ftp://x"\nsecret_env = "A"': "url",
    '[ops]\nurl = "http://me:pw@x"\nsecret_env = "A"': "url",
    '[ops]\nurl = "http://x"': "secret_env",
    '[ops]\nurl = "http://x"\nsecret_env = "whsec_a b"': "secret_env",
    '[ops]\nurl = "http://x"\nsecret_env = "A"\nevents = ["wat"]': "events",
    '[ops]\nurl = "http://x"\nsecret_env = "A"\nwat = 1': "wat",
}


@pytest.mark.parametrize("text", BAD)
def test_a_wrong_file_is_told_of_and_stops_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "hooks.toml").write_text(text)
    with pytest.raises(InputError, match=BAD[text]):
        load(tmp_path)


def test_no_request_can_name_an_address(tmp_path: Path, receiver: Receiver) -> None:
    """Whatever a request says of hooks, only the file counts."""
    with telling(tmp_path / "home", "http://127.0.0.1:9/") as server:
        for name in ("hook", "hooks", "webhook", "webhook_url", "callback_url", "url"):
            asked = {"motion": "Should we?", "format": "duel", name: receiver.url}
            refused = server.http.post("/debates", json=asked)
            assert refused.status_code == 422
        paths = server.http.get("/openapi.json").json()["paths"]
        assert [path for path in paths if "hook" in path] == [
            "/hooks/conversations/{conversation_id}/run"
        ]
    assert receiver.calls == []
