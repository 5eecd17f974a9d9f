"""What moot takes from libraries beyond their public API. Their upper bounds are in pyproject.toml.

If one of these tests fails after a bound was raised, its message says what to do.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from celery.worker import request as celery_request
from kombu.message import Message
from redis.exceptions import ConnectionError  # noqa: A004
from uvicorn.server import ServerState

from moot.api import server
from moot.api.hub import chunk
from moot.dispatch.celery import WAVE, make_app
from moot.worker.pool import LoopPool
from tests.services import Valkey

UVICORN = (
    "uvicorn's HttpToolsProtocol has changed. Compare uvicorn/protocols/http/httptools_impl.py "
    "with moot/api/server.py (Connection) and moot/api/hub.py (chunk), mend them, run "
    "tests/integration/test_stream.py and tests/acceptance/test_attacks.py, then raise the bound."
)
CELERY = (
    "Celery hands tasks to its pool in another way. Compare execute_using_pool in "
    "celery/worker/request.py with LoopPool.on_apply in moot/worker/pool.py, mend that, run "
    "tests/crash/test_machines_kill.py, then raise the bound."
)
KOMBU = (
    "kombu's Redis channel gets its clients in another way. Compare conn_or_acquire in "
    "kombu/transport/redis.py with moot/dispatch/transport.py, mend that, run "
    "tests/crash/test_machines_lost.py, then raise the bound of celery."
)


class Line(asyncio.Transport):
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """It has no buffer."""

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def answered(*received: bytes) -> tuple[Line, list[Any]]:
    """What our server answers to these bytes, from an app that sends one piece of a stream."""
    found: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.append(scope["extensions"][server.TRANSPORT]["transport"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one piece", "more_body": True})

    async def main() -> Line:
        line, state = Line(), ServerState()
        connection = server.Connection(server.config(app, None), state, {})
        connection.connection_made(line)
        for data in received:
            connection.data_received(data)
        while state.tasks:
            await asyncio.wait(state.tasks)
        return line

    return asyncio.run(main()), found


@pytest.mark.filterwarnings("ignore")
def test_uvicorn_frames_a_stream_as_we_do() -> None:
    line, found = answered(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
    head, _, body = line.written.partition(b"\r\n\r\n")
    assert found == [line], UVICORN
    assert b"transfer-encoding: chunked" in head.lower(), UVICORN
    assert body.startswith(chunk(b"one piece")), UVICORN


def test_uvicorn_leaves_refusals_to_us() -> None:
    for received, status in (
        ([b"\x00 no request\r\n\r\n"], b"400"),
        ([b"GET / HTTP/1.1\r\n", *[b"x: " + b"y" * 10_000 + b"\r\n"] * 7], b"431"),
    ):
        line, _ = answered(*received)
        assert line.written.startswith(b"HTTP/1.1 " + status), UVICORN
        assert b"application/problem+json" in line.written, UVICORN
        assert line.closed, UVICORN


def test_celery_hands_a_task_to_its_pool_as_the_pool_expects() -> None:
    said: list[tuple[str, str]] = []
    acknowledged: list[object] = []
    app = make_app("memory://", "moot", 60.0)

    @app.task(name=WAVE)
    async def wave(debate_id: str, place: str) -> None:  # pyright: ignore[reportUnusedFunction]
        said.append((debate_id, place))

    loop = asyncio.new_event_loop()
    try:
        LoopPool.loop = loop
        pool = LoopPool(app=app)
        sent: Any = app.amqp.as_task_v2("id", WAVE, ("debate", "place"), ignore_result=True)
        message = Message(
            json.dumps(sent.body), headers=sent.headers, properties=sent.properties,
            content_type="application/json", content_encoding="utf-8", delivery_info={},
        )  # fmt: skip
        requests: Any = celery_request  # its stubs lack what the worker calls
        make = requests.create_request_cls
        made = make(requests.Request, app.tasks[WAVE], pool, "here", None, app=app)
        request = made(message, app=app, on_ack=lambda *_: acknowledged.append(message))
        request.execute_using_pool(pool)
        for _ in range(10):  # turns of the loop: it takes three
            loop.run_until_complete(asyncio.sleep(0))
        pool._deliver()
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        pytest.fail(f"{CELERY} ({error!r})")
    finally:
        loop.close()
    assert said == [("debate", "place")], CELERY
    assert acknowledged == [message], CELERY


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


def test_kombu_gets_all_its_clients_from_one_place(valkey: Valkey) -> None:
    with make_app(valkey.url, "moot", 60.0).connection_for_write() as connection:
        channel: Any = connection.default_channel
        with channel.conn_or_acquire() as one, channel.conn_or_acquire() as other:
            assert one is other, KOMBU
            assert one.ping(), KOMBU
    with pytest.raises(ConnectionError, match="closed"), channel.conn_or_acquire():
        pytest.fail(KOMBU)
