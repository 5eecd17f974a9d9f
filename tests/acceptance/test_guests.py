"""Guests: whoever has a link reads one debate, or speaks for one seat of it, and nothing else."""

import re
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from moot.mcp.tool_server import PATH, over_http
from moot.testing.speaker import ScriptedSpeaker
from tests.patience import Patience, seconds
from tests.served import Served, served

TOKEN = "the-token-of-the-house"  # noqa: S105  of this test alone
SEATS = [{"name": "Me", "model": "human"}, {"name": "Ben"}, {"name": "You", "model": "human"}]
READS = {
    "/debates/{debate_id}", "/debates/{debate_id}/turns", "/debates/{debate_id}/plan",
    "/debates/{debate_id}/events", "/debates/{debate_id}/asked", "/debates/{debate_id}/packet",
    "/debates/{debate_id}/verdict",
    "/debates/{debate_id}/report", "/debates/{debate_id}/export", "/debates/{debate_id}/sources",
    "/debates/{debate_id}/sources/{source_id}",
}  # fmt: skip
GUEST = "/guest"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    home = tmp_path_factory.mktemp("guests")
    with served(home, ScriptedSpeaker(), token=TOKEN, doors={PATH: over_http}) as made:
        made.http.headers["Authorization"] = f"Bearer {TOKEN}"
        yield made


def until(condition: Any) -> None:
    patience = Patience()
    while not condition():
        assert not patience.over
        time.sleep(0.01)


def waiting(server: Served, seat: str = "me") -> str:
    asked: dict[str, Any] = {"format": "standard", "participants": SEATS, "options": {"rounds": 2}}
    made = server.create(**asked)["id"]
    until(lambda: server.http.get(f"/debates/{made}").json()["waiting_for"] == seat)
    return made


def link(server: Served, debate: str, seat: str | None = None) -> tuple[dict[str, Any], Any]:
    """A link, and a client that has its token."""
    made = server.post(f"/debates/{debate}/links", seat=seat)
    assert made.status_code == 201, made.text
    token = made.json()["token"]
    assert made.json()["path"] == f"/guest/{debate}#{token}"
    http = httpx2.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=seconds()
    )
    return made.json(), http


def test_a_guest_gets_403_for_every_route_but_those_of_its_debate(server: Served) -> None:
    mine, other = waiting(server), waiting(server)
    document = httpx2.get(f"{server.url}/openapi.json").json()
    before = [server.http.get(f"/debates/{one}").json() for one in (mine, other)]
    for seat in (None, "me"):
        _, guest = link(server, mine, seat)
        with guest:
            tried = 0
            for path, operations in document["paths"].items():
                for method in operations:
                    for debate in (mine, other):
                        tried += 1
                        allowed = method == "get" and path in (READS if debate == mine else ())
                        allowed |= (method, path) == ("get", GUEST)
                        says = path.endswith("/say") and seat is not None and debate == mine
                        status = _status(guest, method, path, debate)
                        if allowed:
                            assert status in (200, 404, 409), (method, path, status)
                        elif says:
                            assert status == 422  # without words
                        else:
                            assert status == 403, (method, path, debate == mine, status)
            assert tried > 120
            for path in (
                f"/debates/{mine}/",
                f"/debates/{mine}/turns/../links",
                "/nowhere",
                "/mcp",
                "/mcp/",
                f"/debates/{mine}%2f..%2f{other}",
                f"/debates/{mine}/sources/../links",
                f"//debates/{mine}",
                f"/debates/{mine}\n",
                "/metrics",
                "/",
                "/docs",
            ):
                assert _raw(server, guest, path) == 403, path
            assert guest.request("HEAD", f"/debates/{other}").status_code == 403
            kept = guest.get(f"/debates/{mine}/export", params={"as": "zip"})
            assert kept.status_code == 403  # it holds what was asked afterwards
    assert [server.http.get(f"/debates/{one}").json() for one in (mine, other)] == before
    assert server.http.get(f"/debates/{mine}/links").json()["items"]


def _status(guest: httpx2.Client, method: str, path: str, debate: str) -> int:
    at = re.sub(r"{(?!debate_id)\w+}", "s1", path).format(debate_id=debate)
    body: dict[str, Any] = {} if method in ("get", "delete") else {"json": {}}
    with guest.stream(method.upper(), at, **body) as answer:  # a stream is left at once
        return answer.status_code


def _raw(server: Served, guest: httpx2.Client, path: str) -> int:
    """The path as it is, which no client has tidied."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds())
    with closing(connection):
        headers = {"Authorization": guest.headers["Authorization"]}
        connection.putrequest("GET", path.replace("\n", "%0a"), skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status


def test_a_guest_speaks_for_its_seat_alone(server: Served) -> None:
    mine = waiting(server)
    _, me = link(server, mine, "me")
    _, you = link(server, mine, "you")
    _, reader = link(server, mine)
    say = f"/debates/{mine}/say"
    with me, you, reader:
        assert me.get("/guest").json()["seat"] == "me"
        assert server.http.get("/guest").status_code == 404
        assert reader.post(say, json={"text": "I, too."}).status_code == 403
        assert me.post(say, json={"text": "For you.", "seat": "you"}).status_code == 403
        noted = me.post(say, json={"text": "As a note.", "note": True})
        assert noted.status_code == 403
        early = you.post(say, json={"text": "My turn?"})
        assert early.status_code == 409  # and not a note
        assert "not You's turn" in early.json()["detail"]
        key = {"Idempotency-Key": "k"}
        for _ in range(3):
            said = me.post(say, json={"text": "I say so."}, headers=key)
            assert said.status_code == 202
        until(lambda: server.http.get(f"/debates/{mine}").json()["waiting_for"] == "you")
        assert me.post(say, json={"text": "And again."}).status_code == 409
        assert you.post(say, json={"text": "So do I."}, headers=key).status_code == 202
        turns = reader.get(f"/debates/{mine}/turns").json()["items"]
        assert [(one["actor"], one["text"]) for one in turns if one["actor"] in ("me", "you")] == [
            ("me", "I say so."), ("you", "So do I.")
        ]  # fmt: skip
        assert {one["kind"] for one in turns} == {"speech"}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_revoked_link_is_dead_at_once_with_its_streams(server: Served, elsewhere: bool) -> None:
    """Revoked through this service, or by a process beside it that has the database alone."""
    mine = waiting(server)
    made, guest = link(server, mine)
    _, stays = link(server, mine)
    ended, heard = threading.Event(), threading.Event()

    def listen() -> None:
        try:
            with guest.stream("GET", f"/debates/{mine}/events") as answer:
                for _ in answer.iter_bytes():
                    heard.set()
        except httpx2.HTTPError:
            pass  # the connection was cut
        ended.set()

    with guest, stays, stays.stream("GET", f"/debates/{mine}/events") as other:
        pieces = other.iter_bytes()
        next(pieces)
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        assert heard.wait(seconds())
        if elsewhere:
            database = server.home / ".agentic" / "kofnote_search.sqlite"
            with closing(sqlite3.connect(database, timeout=30)) as conn, conn:
                conn.execute("DELETE FROM debate_links WHERE id = ?", (made["id"],))
        else:
            path = f"/debates/{mine}/links/{made['id']}"
            assert [server.http.delete(path).status_code for _ in range(2)] == [204, 404]
        refused = httpx2.get(
            f"{server.url}/debates/{mine}", headers={"Authorization": f"Bearer {made['token']}"}
        )
        assert (refused.status_code, refused.json()["code"]) == (401, "HTTP_ERR_LINK")
        assert ended.wait(seconds())
        thread.join()
        server.post(f"/debates/{mine}/say", text="A note.", seat="me")
        assert any(b"A note." in piece for piece in pieces)  # others listen on


def test_only_hashes_are_kept_and_a_deleted_debate_has_no_links(server: Served) -> None:
    mine = waiting(server)
    made, guest = link(server, mine, "me")
    with guest:
        server.http.post(f"/debates/{mine}/stop", json={})
        for path in server.home.rglob("*"):
            if path.is_file():
                assert made["token"].encode() not in path.read_bytes(), path
        assert "token" not in server.http.get(f"/debates/{mine}/links").json()["items"][0]
        until(lambda: server.http.delete(f"/debates/{mine}").status_code == 204)
        assert guest.get(f"/debates/{mine}").status_code == 401
        wrong = {"Authorization": "Bearer moot_link_" + "x" * 5_000}
        assert httpx2.get(f"{server.url}/debates", headers=wrong).status_code == 401


def test_without_a_token_of_the_house_a_guest_is_one_all_the_same(tmp_path: Path) -> None:
    with served(tmp_path / "home", ScriptedSpeaker()) as server:
        mine = waiting(server)
        _, guest = link(server, mine)
        with guest:
            assert guest.get(f"/debates/{mine}").status_code == 200
            assert guest.get("/debates").status_code == 403
