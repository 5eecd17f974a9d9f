"""`moot agents`, `moot stations` and `moot air`, at home and against a server."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests import patience
from tests.acceptance.test_command_line import (
    MOOT,
    MOTION,
    ask,
    environment,
    eventually,
    moot,
    status_of,
    terminal,
    texts_of,
)
from tests.acceptance.test_remote import here, json_of, there
from tests.served import Served, served

AGENTS = """
[[agents]]
id = "ada"
name = "Ada"
bio = "A baker."
stance = "pro"

[[agents]]
id = "ben"
name = "Ben"
stance = "con"
voice = { lang = "en-GB", rate = 1.2 }
"""
STATION = ["stations", "add", "Morning", "--motion", MOTION, "--motion", "Is tea better?",
           "--agent", "ada", "--agent", "ben", "--max-turns", "4"]  # fmt: skip
FAR = "2199-01-31T09:00"


def bring(home: Path, **env: str) -> None:
    home.mkdir(exist_ok=True)
    file = home / "agents-to-bring.toml"
    file.write_text(AGENTS)
    assert here(home, "agents", "import", str(file), **env).returncode == 0
    assert here(home, *STATION, **env).returncode == 0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """One with two agents and a station."""
    bring(tmp_path / "home")
    return tmp_path / "home"


# --- on air ---


def test_the_examples_are_aired_to_their_end_in_one_command(tmp_path: Path) -> None:
    done = moot(tmp_path, "air", "--examples", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    aired = json.loads(done.stdout)
    assert [one["status"] for one in aired] == ["completed"] * 5
    assert len({one["station"] for one in aired}) == len({one["id"] for one in aired}) == 5
    for one in aired:
        assert (
            one["progress"]["done"]
            == one["progress"]["total"]
            == len(texts_of(tmp_path, one["id"]))
        )
        assert Path(one["report"]).parent == Path(one["folder"])
        assert one["motion"].split()[0] in Path(one["report"]).read_text()

    first = aired[0]["station"]
    assert here(tmp_path, "stations", "change", first, "--about", "Mine now.").returncode == 0
    again = here(tmp_path, "air", "--examples")
    assert again.returncode == 0
    spoken = [line for line in again.stdout.splitlines() if " (understudy, no model): " in line]
    assert len(spoken) == sum(one["progress"]["done"] for one in aired)
    assert max(map(len, spoken)) <= 200
    listed = json_of(here(tmp_path, "stations", "list", "--json"))
    assert len(listed) == 5
    assert [one["about"] for one in listed].count("Mine now.") == 1
    for one in aired:
        past = json_of(here(tmp_path, "stations", "show", one["station"], "--json"))["past"]
        assert [p["status"] for p in past] == ["completed"] * 2
        assert past[0]["motion"] != past[1]["motion"] == one["motion"]
        report = tmp_path / "records" / "debates" / past[0]["id"] / "report.html"
        assert report.exists()
        assert f": {report}" in again.stdout


def test_one_station_is_shown_as_a_debate_is(home: Path) -> None:
    done = here(home, "air", "morning")
    assert (done.returncode, done.stderr) == (0, "")
    (id_,) = [row["id"] for row in json_of(here(home, "list", "--json"))]
    words = " ".join(done.stdout.split())
    assert MOTION in done.stdout
    assert "Completed: " in done.stdout
    assert f"Report: {home / 'records' / 'debates' / id_ / 'report.html'}" in done.stdout
    texts = [" ".join(text.split()) for _, _, text in texts_of(home, id_)]
    assert len(texts) == 4
    assert all(text in words for text in texts)
    shown = here(home, "stations", "show", "morning")
    assert "On now: nothing" in shown.stdout
    assert f"completed, 4/4 turns, {id_}" in shown.stdout


def test_what_is_on_air_is_followed_and_left_alone_and_gone_on_with(home: Path) -> None:
    assert here(home, "stations", "change", "morning", "--max-turns", "12").returncode == 0
    with terminal(home, "air", "morning") as first:
        id_ = first.id()
        eventually(lambda: status_of(home, id_) == "running")
        with terminal(home, "air", "morning") as second:
            eventually(lambda: f"on air already, with {id_}: following that" in second.text)
            assert second.id() == id_
            second.interrupt()
            assert second.wait() == 130
        assert status_of(home, id_) == "running"
        first.interrupt()
        assert first.wait() == 130
    assert status_of(home, id_) == "paused"
    before = texts_of(home, id_)
    assert f", paused)  {id_}" in here(home, "stations", "show", "morning").stdout
    (aired,) = json_of(here(home, "air", "morning", "--json"))
    assert (aired["id"], aired["status"]) == (id_, "completed")
    assert texts_of(home, id_)[: len(before)] == before
    assert len(texts_of(home, id_)) == 12


def test_ctrl_c_pauses_all_that_were_begun(home: Path) -> None:
    names = ["morning"]
    for name in ("Noon", "Night"):
        names.append(name.lower())
        assert here(home, *STATION[:2], name, *STATION[3:-1], "40").returncode == 0
    assert here(home, "stations", "change", "morning", "--max-turns", "40").returncode == 0
    with terminal(home, "air", *names) as shown:
        for name in ("Morning", "Noon", "Night"):
            eventually(lambda name=name: f"{name}: Ada" in shown.text)
        shown.interrupt()
        assert shown.wait() == 130
        assert all(f"moot air {name}  goes on" in shown.text for name in names)
    rows = ask(home, "SELECT status, count(*) FROM debate_runs GROUP BY status")
    assert [tuple(row) for row in rows] == [("paused", 3)]


def test_a_station_that_can_air_nothing_does_not_keep_the_others_off(home: Path) -> None:
    assert here(home, "stations", "add", "Empty").returncode == 0
    alone = here(home, "air", "empty")
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "no motion" in alone.stderr
    done = here(home, "air", "empty", "morning", "--json")
    assert done.returncode == 1
    empty, morning = json.loads(done.stdout)
    assert (empty["station"], empty["error"]["code"]) == ("empty", "DEBATE_ERR_STATE")
    assert morning["status"] == "completed"
    assert "not aired" in here(home, "air", "empty", "morning").stdout


# --- what is kept ---


def test_agents_are_kept_changed_and_taken_along(home: Path, tmp_path: Path) -> None:
    asked = ["agents", "add", "Cleo", "--bio", "A judge.", "--stance", "con", "--lang", "de"]
    made = json_of(here(home, *asked, "--rate", "0.8", "--json"))
    assert made["id"] == "cleo"
    changed = json_of(here(home, "agents", "change", "cleo", "--pitch", "1.5", "--json"))
    assert changed["voice"] == {**made["voice"], "pitch": 1.5}
    assert (changed["bio"], changed["voice"]["rate"]) == ("A judge.", 0.8)
    assert "de, rate 0.8, pitch 1.5" in here(home, "agents", "show", "cleo").stdout
    listed = here(home, "agents", "list")
    assert all(name in listed.stdout for name in ("Ada", "Ben", "Cleo"))

    file = tmp_path / "some.toml"
    assert here(home, "agents", "export", "cleo", "ada", "-o", str(file)).returncode == 0
    text = file.read_text()
    assert text.index('id = "cleo"') < text.index('id = "ada"')
    assert json_of(here(home, "agents", "export", "cleo", "ada", "--json")) == {"toml": text}
    assert 'id = "ben"' in here(home, "agents", "export").stdout
    for name in ("ada", "cleo"):
        assert here(home, "agents", "delete", name).returncode == 0
    brought = subprocess.run(
        [MOOT, "agents", "import", "-", "--json"], input=text, env=environment(home),
        capture_output=True, text=True, check=True, timeout=patience.seconds(),
    )  # fmt: skip
    assert json.loads(brought.stdout) == {"made": ["cleo", "ada"], "changed": []}
    assert here(home, "agents", "export", "cleo", "ada").stdout == text


def test_a_file_with_a_mistake_changes_nothing(home: Path, tmp_path: Path) -> None:
    before = [here(home, what, "export").stdout for what in ("agents", "stations")]
    good = AGENTS.replace("A baker.", "Changed.")
    station = '[[stations]]\nid = "evening"\nname = "Evening"\n'
    wrong = [
        ("agents", good + "[[agents]\n", "TOML"),
        ("agents", good + '[[agents]]\nname = "Dan"\nstance = "sideways"\n', "agents[2]"),
        ("agents", good + '[[agents]]\nid = "ada"\nname = "Ada again"\n', "twice"),
        ("stations", station + '[[stations]]\nname = "Two"\nzone = "Mars/Phobos"\n', "Mars/Phobos"),
        ("stations", station + 'agents = ["nobody"]\n', "nobody"),
    ]
    file = tmp_path / "wrong.toml"
    for what, text, word in wrong:
        file.write_text(text)
        refused(here(home, what, "import", str(file)), word)
    file.write_bytes(b"\xff\xfe")
    refused(here(home, "agents", "import", str(file)), "UTF-8")
    assert [here(home, what, "export").stdout for what in ("agents", "stations")] == before


def refused(done: Any, *words: str) -> None:
    """Exit 2, and one sentence that names what is wrong."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("moot: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


WRONG = [
    (["run", MOTION, "--agent", "nobody"], "nobody"),
    (["agents", "show", "nobody"], "nobody"),
    (["agents", "show", "../x"], "../x"),
    (["agents", "change", "ada"], "Say what to change of ada"),
    (["agents", "add", " "], "name"),
    (["agents", "add", "Dan", "--stance", "sideways"], "stance"),
    (["agents", "add", "Dan", "--rate", "9"], "rate"),
    (["stations", "add", "Noon", "--agent", "nobody"], "nobody"),
    (["stations", "add", "Noon", "--zone", "Mars/Phobos"], "Mars/Phobos"),
    (["stations", "add", "Noon", "--format", "council"], "council"),
    (["stations", "add", "Noon", "--missed", "weep"], "missed"),
    (["stations", "change", "morning", "--cron", "every day"], "five fields"),
    (["stations", "change", "morning"], "Say what to change of morning"),
    (["stations", "schedule", "morning", "--at", "2020-01-01T09:00"], "has passed"),
    (["stations", "schedule", "morning", "--at", "soon"], "soon"),
    (["stations", "schedule", "morning", "--agent", "nobody"], "nobody"),
    (["stations", "schedule", "nowhere"], "nowhere"),
    (["stations", "cancel", "debate_20200101_000000_aaaaaa"], "debate_20200101_000000_aaaaaa"),
    (["stations", "reorder", "morning", "debate_20200101_000000_aaaaaa"], "waits"),
    (["air", "nowhere"], "nowhere"),
    (["air", "morning", "nowhere"], "nowhere"),
    (["air"], "--examples"),
    (["air", "morning", "--examples"], "--examples"),
]


def test_wrong_input_is_one_sentence_and_nothing_is_changed(home: Path) -> None:
    before = [json_of(here(home, what, "list", "--json")) for what in ("agents", "stations")]
    for asked, word in WRONG:
        refused(here(home, *asked), word)
    assert json_of(here(home, "list", "--json")) == []
    after = [json_of(here(home, what, "list", "--json")) for what in ("agents", "stations")]
    assert after == before


def test_an_agent_takes_a_seat_and_leaves_its_debates_readable(home: Path) -> None:
    asked = ["run", MOTION, "-f", "duel", "--agent", "ada", "-p", "Zoe:con=local", "--json"]
    ran = json_of(here(home, *asked))
    assert [(seat["name"], seat["bio"]) for seat in ran["participants"]] == [
        ("Ada", "A baker."), ("Zoe", ""),
    ]  # fmt: skip
    (aired,) = json_of(here(home, "air", "morning", "--json"))
    assert here(home, "agents", "delete", "ada").returncode == 0
    refused(here(home, "agents", "show", "ada"), "ada")
    for id_ in (ran["id"], aired["id"]):
        shown = here(home, "show", id_)
        assert shown.returncode == 0
        assert "Ada" in shown.stdout
    assert json_of(here(home, "stations", "list", "--json"))[0]["agents"] == ["ben"]
    past = json_of(here(home, "stations", "show", "morning", "--json"))["past"]
    assert [agent["name"] for agent in past[0]["agents"]] == ["Ada", "Ben"]


def test_a_programme_is_in_the_stations_own_time(home: Path) -> None:
    asked = ["stations", "change", "morning", "--zone", "Asia/Tokyo", "--cron", "30 7 * * *"]
    assert "cron 30 7 * * *, Asia/Tokyo" in here(home, *asked).stdout
    made = here(home, "stations", "schedule", "morning", "--at", FAR, "--motion", "A or B?")
    assert made.stdout.startswith("Scheduled: Thu 2199-01-31 09:00 JST  A or B?  (Ada, Ben)")
    told = json_of(here(home, "stations", "show", "morning", "--json"))
    assert [one["due"] for one in told["waiting"]] == ["2199-01-31T00:00:00.000Z"]
    assert [one["due"][11:16] for one in told["slots"]] == ["22:30"] * 5
    shown = here(home, "stations", "show", "morning").stdout
    assert "2199-01-31 09:00  A or B?" in shown
    assert shown.count(" 07:30  ") == 5
    none = json_of(here(home, "stations", "change", "morning", "--cron", "", "--json"))
    assert none["cron"] is none["next_slot"] is None
    assert none["limits"] == {"max_turns": 4}


# --- elsewhere ---


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    with served(tmp_path / "served") as server:
        yield server


def test_a_server_gives_what_the_home_gives(server: Served, tmp_path: Path) -> None:
    away, home = tmp_path / "away", server.home
    bring(tmp_path / "files", MOOT_URL=server.url)
    ids = [
        json_of(there(server, away, "stations", "schedule", "morning", "--at", at, "--json"))["id"]
        for at in (FAR, "2199-02-01T09:00", "2199-02-02T09:00")
    ]
    asked = ["stations", "reorder", "morning", ids[2], ids[0], ids[1], "--json"]
    assert [one["id"] for one in json_of(there(server, away, *asked))] == [ids[2], ids[0], ids[1]]
    gone = json_of(there(server, away, "stations", "cancel", ids[0], "--json"))
    assert (gone["id"], gone["status"]) == (ids[0], "stopped")
    (aired,) = json_of(there(server, away, "air", "morning", "--json"))
    assert (aired["id"], aired["status"]) == (ids[2], "completed")
    assert server.http.get(aired["report"]).status_code == 200
    changed = there(server, away, "agents", "change", "ada", "--rate", "1.5", "--json")
    assert json_of(changed)["voice"]["rate"] == 1.5
    asked = ["stations", "change", "morning", "--cron", "0 9 * * 1-5", "--zone", "Europe/Berlin"]
    assert there(server, away, *asked).returncode == 0
    for asked in (
        ["agents", "list"], ["agents", "list", "--json"], ["agents", "show", "ben", "--json"],
        ["agents", "export"], ["agents", "export", "ada"], ["stations", "list", "--json"],
        ["stations", "show", "morning"], ["stations", "show", "morning", "--json"],
        ["stations", "export"],
    ):  # fmt: skip
        assert there(server, away, *asked) == here(home, *asked), asked
    debate = json_of(there(server, away, "run", MOTION, "--agent", "ada", "-p", "Zoe", "--json"))
    assert debate["participants"][0]["bio"] == "A baker."
    assert there(server, away, "agents", "delete", "ben").returncode == 0
    assert there(server, away, "stations", "delete", "morning").returncode == 0
    assert there(server, away, "stations", "list").stdout == here(home, "stations", "list").stdout
    assert "Ada" in there(server, away, "show", aired["id"]).stdout
    assert not away.exists()


def test_a_server_refuses_what_the_home_refuses(server: Served, tmp_path: Path) -> None:
    bring(tmp_path / "files", MOOT_URL=server.url)
    for asked, word in WRONG:
        refused(there(server, tmp_path / "away", *asked), word)
    assert json_of(there(server, tmp_path, "list", "--json")) == []


def test_the_examples_air_on_a_server_too(server: Served, tmp_path: Path) -> None:
    brought = json_of(there(server, tmp_path / "away", "stations", "examples", "--json"))
    assert len(brought["stations"]) == 5
    assert brought["made"] == brought["stations"]
    told = there(server, tmp_path / "away", "stations", "examples").stdout
    assert "They are all here already." in told
    assert "moot air --examples" in told
    aired = json_of(there(server, tmp_path / "away", "air", "--examples", "--json"))
    assert [one["station"] for one in aired] == brought["stations"]
    assert [one["status"] for one in aired] == ["completed"] * 5


def test_the_help_stays_quick() -> None:
    heavy = "{'rich.console', 'pydantic', 'sqlalchemy', 'httpx2'}"
    code = f"import sys, moot.cli.main; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
