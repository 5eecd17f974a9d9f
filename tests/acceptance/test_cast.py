"""Who speaks when nobody says so, what is refused or warned of before, and what is kept of it."""

import asyncio
import json
import re
import subprocess
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moot.bootstrap import open_service
from moot.cli.live import who_speaks
from moot.core.debate import Debate
from moot.core.voices import family
from moot.errors import InputError, ProviderAuthError, StateError, StorageError
from moot.ports.available_models import ProviderStatus
from moot.ports.model_call import Call, ModelCard
from moot.settings import Settings
from moot.store.files import Folder
from moot.store.reindex import examine
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.testing.wires import wire_server as wire
from tests import forked
from tests.acceptance.test_command_line import assert_one_sentence, environment, json_of, moot
from tests.served import served

T = TypeVar("T")
KEYS: dict[str, Any] = {
    "OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a", "GEMINI_API_KEY": "sk-g",
}  # fmt: skip
CLAUDE, OPENAI, GEMINI = (
    "claude:claude-sonnet-5-5", "openai:gpt-6.1-terra", "gemini:gemini-flash-latest",
)  # fmt: skip
UNPRICED = "openai:nobody-knows"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def go(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def models(debate: Debate) -> list[str]:
    return [seat.model for seat in (*debate.participants, *filter(None, [debate.host]))]


async def made(settings: Settings, format_: str = "classic", **asked: Any) -> Debate:
    async with open_service(settings, recover=False) as service:
        return await service.create("Ship it?", format=format_, start=False, **asked)


# --- who speaks by default ---


def test_who_has_keys_is_given_the_vendors(home: Path) -> None:
    assert models(go(made(Settings(home=home, **KEYS)))) == [CLAUDE, OPENAI, GEMINI]
    two = {name: KEYS[name] for name in ("OPENAI_API_KEY", "GEMINI_API_KEY")}
    assert models(go(made(Settings(home=home, **two), "duel"))) == [OPENAI, GEMINI]
    one = Settings(home=home, OPENAI_API_KEY=KEYS["OPENAI_API_KEY"])  # pyright: ignore[reportCallIssue]
    assert models(go(made(one))) == [OPENAI] * 3
    set_one = Settings(home=home, model="gemini", **KEYS)
    assert models(go(made(set_one))) == [GEMINI] * 3
    assert models(go(made(Settings(home=home)))) == ["local"] * 3


def test_so_are_councils_agents_and_stations(home: Path) -> None:
    async def scene() -> tuple[Debate, Debate, Debate]:
        async with open_service(Settings(home=home, **KEYS), recover=False) as service:
            council = await service.council(
                {"problem": "Ship?", "outputType": "decision"}, start=False
            )
            await service.agents.create({"name": "Ada", "model": "claude"})
            await service.agents.create({"name": "Ben"})
            seats = [{"agent": "ada"}, {"agent": "ben"}]
            duel = await service.create("Ship?", format="duel", participants=seats, start=False)
            await service.stations.create({"name": "Desk", "format": "duel"})
            aired = await service.stations.schedule("desk", motion="Ship?", agents=["ada", "ben"])
            return council, duel, aired.debate

    council, duel, aired = go(scene())
    families = [family(model) for model in models(council)]
    assert set(families) == {"claude", "openai", "gemini"}
    assert families[0] not in (families[1], families[4])
    assert models(duel) == models(aired) == [CLAUDE, OPENAI]


def test_a_model_that_is_not_one_is_refused_at_the_start(home: Path) -> None:
    with pytest.raises(InputError, match="MOOT_MODEL: There is no provider") as caught:
        go(made(Settings(home=home, model="opnai:x")))
    assert caught.value.field == "MOOT_MODEL"
    assert not home.exists()


def test_the_terminal_says_first_who_speaks_and_what_that_is_likely_to_cost(home: Path) -> None:
    async def scene() -> tuple[list[subprocess.CompletedProcess[str]], list[str]]:
        async with wire.Wire() as vendors:
            env = environment(
                home, **KEYS,
                OPENAI_BASE_URL=vendors.url("openai"), ANTHROPIC_BASE_URL=vendors.url("claude"),
                GOOGLE_GEMINI_BASE_URL=vendors.url("gemini"),
            )  # fmt: skip
            words = ("run", "Ship it?", "-f", "custom", "--rounds", "1")
            seats = ("-p", "Ada=claude", "-p", f"Ben={UNPRICED}")
            commands = words, ("run", "Ship it?", "-f", "duel", *seats)
            done = [await asyncio.to_thread(forked.moot, env, *one) for one in commands]
            return done, [request.vendor for request in vendors.requests]

    (done, unpriced), asked = go(scene())
    assert done.returncode == unpriced.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    who, calls, cost = first.rsplit(" · ", 2)
    assert who == (
        "Ada: Claude (claude-sonnet-5-5) · Ben: OpenAI (gpt-6.1-terra) · "
        "host: Gemini (gemini-flash-latest)"
    )
    assert calls == "6 calls"
    assert re.fullmatch(r"about \$0\.\d+, at most \$0\.\d+ without retries", cost)
    assert set(asked) == {"claude", "openai", "gemini"}
    assert "DEBATE_WARN" not in done.stdout
    unknown = f"; price of {UNPRICED} unknown"
    assert unpriced.stdout.splitlines()[0].endswith(unknown)
    assert unpriced.stdout.replace("\n", " ").count(unknown) == 2, "and how it ended"


def test_models_are_searched_and_not_listed_by_the_thousand(home: Path) -> None:
    async def scene() -> list[list[str]]:
        async with wire.Wire() as vendors:
            vendors.models = [{"id": f"maker-{n % 2}/model-{n:03}"} for n in range(300)]
            env = environment(
                home, OPENROUTER_API_KEY="k", OPENROUTER_BASE_URL=vendors.url("local")
            )
            words = (), ("MAKER-1", "00"), ("openrouter", "9", "--limit", "0"), ("opnrouter",)
            done = [await asyncio.to_thread(forked.moot, env, "models", *one) for one in words]
            return [(one.stdout + one.stderr).splitlines() for one in done]

    every, searched, whole, unknown = go(scene())
    assert sum("openrouter:" in line for line in every) == 20
    assert any("… and 280 more: moot models openrouter WORD searches" in line for line in every)
    found = [line.split()[0] for line in searched[1:] if "openrouter:" in line]
    assert found == [f"openrouter:maker-1/model-{n:03}" for n in range(1, 10, 2)]
    assert sum("openrouter:" in line for line in whole) == sum("9" in f"{n:03}" for n in range(300))
    assert "more" not in whole[-1]
    assert unknown[-1].startswith('moot: There is no provider "opnrouter"')


def test_it_says_so_if_nobody_but_the_understudy_speaks(home: Path) -> None:
    done = moot(home, "run", "Ship it?", "-f", "classic")
    first, *rest = done.stdout.splitlines()
    assert first == (
        "Ada, Ben, host: the understudy, which is not a model · 22 calls · free, on this machine. "
        "Set OPENAI_API_KEY, "
        'ANTHROPIC_API_KEY or GEMINI_API_KEY, or run "moot model fetch".'
    )
    warned = next(at for at, line in enumerate(rest) if "DEBATE_WARN_WEAK_HOST" in line)
    assert warned < next(at for at, line in enumerate(rest) if "introduction" in line.lower())
    council = moot(home, "council", "Ship it?")
    assert council.stdout.startswith("Proponent, Critic, Analyst, Synthesizer, Judge: the under")
    told = json_of(moot(home, "run", "Ship it?", "-f", "classic", "--json"))
    assert [text.split(":")[0] for text in told["warnings"]] == ["DEBATE_WARN_WEAK_HOST"]


def test_who_speaks_names_what_local_is(home: Path) -> None:
    seats = [{"name": "Ada"}, {"name": "Ben", "model": "local:understudy"}]
    debate = go(made(Settings(home=home), "duel", participants=seats))
    found = [ProviderStatus("local", True, "local:qwen", "")]
    assert who_speaks(debate, found) == (
        "Ada: local (qwen) · Ben: the understudy, which is not a model"
    )


def test_doctor_and_providers_say_what_a_seat_without_a_model_takes(home: Path) -> None:
    def default(**env: str) -> str:
        findings = json_of(moot(home, "doctor", "--json", env=env))
        return next(one["detail"] for one in findings if one["name"] == "default")

    assert "takes the understudy, which is not a model" in default()
    assert f"takes {CLAUDE}, {OPENAI}, {GEMINI} in turn" in default(**KEYS)
    assert f"takes {GEMINI}" in default(**KEYS, MOOT_MODEL="gemini")
    with served(home, **KEYS) as there:
        told = there.http.get("/providers").json()
        assert told["default"] == [CLAUDE, OPENAI, GEMINI]
        keyed = {item["model"]: (item["works"], item["small"]) for item in told["items"]}
        assert keyed == {
            OPENAI: (True, False), CLAUDE: (True, False), GEMINI: (True, False),
            "local:understudy": (True, True),
        }  # fmt: skip
        assert f"takes {CLAUDE}" in default(MOOT_URL=there.url)


# --- prices ---


def test_a_price_is_unknown_even_if_every_call_failed(home: Path) -> None:
    """Not free: whoever had no key may have one tomorrow."""
    done = moot(home, "run", "Ship?", "-f", "duel", "-p", "Ada", "-p", f"Ben={UNPRICED}")
    assert done.returncode == 3, done.stderr
    assert "1 turn, 2 calls, price unknown" in " ".join(done.stdout.split())
    assert "free" not in done.stdout


def test_a_limit_on_cost_that_cannot_be_kept_is_refused_or_warned_of(home: Path) -> None:
    command = ("run", "Ship?", "-f", "duel", "-p", "Ada", "-p", f"Ben={UNPRICED}")
    limited = (*command, "--max-cost-usd", "0")
    assert_one_sentence(moot(home, *limited), (2,), f"Ben speaks with {UNPRICED}", "unpriced")
    allowed = moot(home, *limited, "--allow-unpriced", "--json")
    told = json.loads(allowed.stdout)  # Ben has no key
    assert [text.split(":")[0] for text in told["warnings"]] == ["DEBATE_WARN_UNPRICED"]
    assert told["limits"]["allow_unpriced"] is True
    free = json_of(moot(home, "run", "Ship?", "-f", "duel", "--max-cost-usd", "0", "--json"))
    assert (free["status"], free["stop_reason"], free["warnings"]) == ("completed", "max_turns", [])
    assert "allow_unpriced" not in free["limits"]
    seen = examine(home, Settings(home=home).database, told["id"])
    assert (seen.indexed, seen.issues) == (True, ())


def test_the_same_over_http_and_for_stations(home: Path) -> None:
    seats = [{"name": "Ada"}, {"name": "Ben", "model": UNPRICED}]
    asked: dict[str, Any] = {"motion": "Ship?", "format": "duel", "participants": seats}
    asked |= {"limits": {"max_cost_usd": 1}, "start": False}
    with served(home) as there:
        refused = there.http.post("/debates", json=asked)
        assert (refused.status_code, refused.json()["field"]) == (422, "limits.max_cost_usd")
        allowed = there.http.post("/debates", json={**asked, "allow_unpriced": True})
        assert allowed.status_code == 201, allowed.text
        assert allowed.json()["warnings"][0].startswith("DEBATE_WARN_UNPRICED")
        there.post("/agents", name="Cleo", model=UNPRICED)
        desk: dict[str, Any] = {"name": "Desk", "agents": ["cleo"], "limits": {"max_cost_usd": 1}}
        refused = there.http.post("/stations", json=desk)
        assert (refused.status_code, refused.json()["field"]) == (422, "limits.max_cost_usd")
        assert "Cleo speaks with" in refused.json()["detail"]
        desk["limits"]["allow_unpriced"] = True
        assert there.http.post("/stations", json=desk).status_code == 201
        unknown = there.http.post("/agents", json={"name": "Dov", "model": "opnai:x"})
        assert (unknown.status_code, unknown.json()["field"]) == (422, "model")


class Priced(ScriptedSpeaker):
    """Fails for Ben; a model called `unpriced` has no price, a `small` one is small."""

    def __init__(self, failing: str = "ben") -> None:
        super().__init__(lambda call: self._say(call, failing))

    @staticmethod
    def _say(call: Call, failing: str) -> str | ProviderAuthError:
        fails = call.step.actor == failing and call.model.startswith("claude")
        return ProviderAuthError("No key.") if fails else plain(call)

    def card(self, model: str) -> ModelCard:
        price = None if "unpriced" in model else 1e-6
        return ModelCard(model, 100_000, price, price, small="small" in model)


def test_another_model_for_a_seat_is_checked_too(home: Path) -> None:
    async def scene() -> None:
        async with open_service(Settings(home=home, model="claude"), speaker=Priced()) as service:
            made = await service.create("Ship?", format="duel", limits={"max_cost_usd": 5})
            assert (await service.wait(made.id)).status == "paused"
            with pytest.raises(InputError, match="Ben speaks with openai:unpriced") as caught:
                await service.retry(made.id, "openai:unpriced")
            assert caught.value.field == "model"
            assert (await service.get(made.id)).status == "paused"
            await service.retry(made.id, "openai:priced")
            assert (await service.wait(made.id)).status == "completed"
            with pytest.raises(StateError):
                await service.retry(made.id, "openai:unpriced")
            allowed = await service.create(
                "Ship?", format="duel", limits={"max_cost_usd": 5}, allow_unpriced=True
            )
            await service.wait(allowed.id)
            await service.retry(allowed.id, "openai:unpriced")
            debate = await service.wait(allowed.id)
            assert any(text.startswith("DEBATE_WARN_UNPRICED") for text in debate.warnings)

    go(scene())


def test_another_host_is_warned_of_if_it_is_weak(home: Path) -> None:
    async def scene() -> None:
        settings = Settings(home=home, model="claude")
        async with open_service(settings, speaker=Priced("host")) as service:
            made = await service.create("Ship?", format="classic")
            assert (await service.wait(made.id)).status == "paused"
            assert made.warnings == ()
            debate = await service.retry(made.id, "local:small")
            assert debate.warnings[0].startswith("DEBATE_WARN_WEAK_HOST")

    go(scene())


def test_a_report_by_a_model_without_a_price_needs_leave(home: Path) -> None:
    async def scene() -> None:
        asked: dict[str, Any] = {"format": "duel", "limits": {"max_cost_usd": 5}}
        writes = Settings(home=home, model="local", report_model="openai:unpriced")
        async with open_service(writes, speaker=Priced()) as service:
            with pytest.raises(InputError, match="MOOT_REPORT_MODEL lets openai:unpriced"):
                await service.create("Ship?", **asked)
        speaker = Priced()
        async with open_service(Settings(home=home, model="local"), speaker=speaker) as service:
            made = await service.create("Ship?", **asked)
            await service.wait(made.id)
            calls = len(speaker.calls)
            with pytest.raises(InputError, match="max_cost_usd cannot be kept") as caught:
                await service.remake_report(made.id, "openai:unpriced")
            assert caught.value.field == "model"
            assert len(speaker.calls) == calls

    go(scene())


# --- a local server ---


def test_a_small_model_of_a_local_server_is_a_weak_host(home: Path) -> None:
    async def scene(params: int) -> Debate:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            listed = {"id": "tiny", "owned_by": "llamacpp", "meta": {"n_params": params}}
            said = {"total_slots": 1} if "/props" in head else {"data": [listed]}
            body = json.dumps(said).encode()
            lead = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            writer.write(lead.encode() + body)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            return await made(Settings(home=home, local_base_url=url))
        finally:
            server.close()
            await server.wait_closed()

    host, small = go(scene(500_000_000)).warnings
    assert host.startswith("DEBATE_WARN_WEAK_HOST: the host is local:tiny, which is a small")
    assert small == (
        "DEBATE_WARN_SMALL_MODEL: Small model: a demo, not advice. local:tiny (Host, Ada, Ben)."
    )
    assert go(scene(70_000_000_000)).warnings == ()


# --- ids ---


def test_a_participant_may_have_an_id(home: Path) -> None:
    seats = [{"name": "Ada", "id": "first"}, {"name": "Ben"}]
    with served(home) as there:
        debate = there.create(format="duel", participants=seats, limits={"max_turns": 2})
        assert [seat["id"] for seat in debate["participants"]] == ["first", "ben"]
        assert debate["cursor"]["next_actor"] == "first"
        there.wait(debate["id"])
        said = there.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        assert [turn["actor"] for turn in said] == ["first", "ben"]
        for wrong in ("host", "A", "-a", "ben ", ""):
            seats[0]["id"] = wrong
            refused = there.post("/debates", motion="Ship?", participants=seats)
            assert refused.status_code == 422
            assert refused.json()["field"] == "participants[0].id", refused.text


# --- what was received ---


def request_of(home: Path, debate_id: str) -> Mapping[str, Any]:
    return json.loads((home / "records" / "debates" / debate_id / "request.json").read_text())


def test_a_request_is_kept_as_it_was_received(home: Path) -> None:
    council: dict[str, Any] = {
        "problem": "Ship  it?", "outputType": "decision", "maxTurnTokens": 900.0,
        "participants": [{"role": "Critic", "modelProvider": "acme", "modelName": "llama3"}],
    }  # fmt: skip
    asked = {
        "motion": " Ship  it? ", "format": "standard", "host": {}, "options": {"rounds": 1},
        "limits": {"max_cost_usd": 0},
        "participants": [{"agent": "ada"}, {"name": "Ben", "stance": "con"}],
    }  # fmt: skip
    with served(home) as there:
        there.post("/agents", name="Ada")
        one = there.http.post("/debates/council", json=council).json()
        other = there.http.post("/debates", json=asked).json()
        there.wait(one["id"])
        there.wait(other["id"])
        assert there.http.get(f"/debates/{one['id']}/replay").json()["consistency"]["issues"] == []
    assert one["participants"][1]["model"] == "local"
    assert "llama3" in one["warnings"][0]
    assert request_of(home, one["id"])["received"] == council
    assert request_of(home, other["id"])["received"] == asked
    for debate in (one, other):
        seen = examine(home, Settings(home=home).database, debate["id"])
        assert (seen.indexed, seen.issues) == (True, ())
        assert seen.replay.debate
        assert seen.replay.debate.received == request_of(home, debate["id"])["received"]


def test_a_request_cannot_hold_what_is_no_part_of_it(home: Path) -> None:
    async def scene() -> None:
        async with open_service(Settings(home=home), recover=False) as service:
            for wrong in (
                {"participants": [{"role": "Bard", "api_key": "sk-x"}], "format": "council"},
                {"participants": [{"name": "Ada", "api_key": "sk-x"}, {"name": "Ben"}]},
                {"host": {"base_url": "http://x"}, "format": "classic"},
                {"options": {"api_key": 1}},
                {"limits": {"api_key": "sk-x"}},
                {"brief": {"api_key": "sk-x"}, "format": "council"},
            ):
                with pytest.raises(InputError):
                    await service.create("Ship?", **wrong)  # pyright: ignore[reportArgumentType]
            assert (await service.find()).debates == []

    go(scene())


# --- files ---


@pytest.mark.parametrize("place", ["records", "records/debates", "records/worklogs"])
def test_nothing_begins_if_it_cannot_be_filed(home: Path, place: str) -> None:
    (home / place).parent.mkdir(parents=True)
    (home / place).write_text("in the way")

    async def scene() -> None:
        speaker = ScriptedSpeaker()
        async with open_service(Settings(home=home), speaker=speaker, recover=False) as service:
            with pytest.raises(StorageError, match=r"cannot be written.*MOOT_HOME"):
                await service.create("Ship?", format="duel")
            with pytest.raises(StorageError, match="cannot be written"):
                await service.council({"problem": "Ship?", "output_type": "decision"})
            assert (await service.find()).debates == []
            assert speaker.calls == []

    go(scene())
    done = moot(home, "run", "Ship?")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_a_check_leaves_nothing_behind(home: Path) -> None:
    (home / "records" / "debates").mkdir(parents=True)
    before = sorted(home.rglob("*"))
    Folder(home).check()
    assert sorted(home.rglob("*")) == before


def test_no_folder_is_named_that_is_not_there(home: Path) -> None:
    waits = go(made(Settings(home=home), "duel"))
    assert str(home) not in moot(home, "show", waits.id).stdout
    done = moot(home, "run", "Ship?", "-f", "duel")
    assert "Files: " in done.stdout
    with served(home) as there:
        shown = moot(home, "show", waits.id, env={"MOOT_URL": there.url}).stdout
        assert f"On the server: {there.url}/debates/{waits.id}" in shown


# --- the council, switched off ---


def test_records_say_that_the_council_is_switched_off(home: Path) -> None:
    off = {"MOOT_DISABLED_FORMATS": "council"}
    assert "No records yet" in moot(home, "records").stdout
    done = moot(home, "records", env=off)
    assert (done.returncode, done.stdout) == (0, "")
    assert "The council is switched off here" in done.stderr
    assert "MOOT_DISABLED_FORMATS" in done.stderr
    assert json_of(moot(home, "records", "--json", env=off)) == []
    with served(home, disabled_formats=("council",)) as there:
        done = moot(home, "records", env={"MOOT_URL": there.url})
        assert "switched off on that server" in done.stderr
        assert there.http.get("/records").json() == {"items": []}
