"""moot as a Python library: what docs/python.md shows, in scripts, async code and notebooks."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from threading import Event
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import moot
from moot.core.jury import SIDES
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain
from tests import patience, services
from tests.acceptance.test_command_line import environment, eventually, hear_interrupts
from tests.integration.juries import ballot

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
MOTION = "Should we ship on Fridays?"
UNDERSTUDY = "local:understudy"


def without_vendors(code: str) -> str:
    """As on a machine that has no key."""
    return re.sub(r'"(claude|openai|gemini)"', f'"{UNDERSTUDY}"', code)


def settings(home: Path) -> Settings:
    return Settings(home=home, model=UNDERSTUDY)


# --- the examples ---


def test_the_examples_run_in_a_script(tmp_path: Path) -> None:
    """One after the other in one process: most of what a script takes is its start."""
    code = "\n".join(f"exec({without_vendors(block)!r}, {{}})" for block in BLOCKS)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment(tmp_path), text=True,
        capture_output=True, timeout=patience.seconds(), check=False, input="I doubt it.\n" * 3,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert len(BLOCKS) == 8
    for said in ("Me: ", str(tmp_path), "Ada: ", "undecided No model spoke", "completed",
                 "ended_by_user", "'owner':",
                 "Should we ship on Mondays? completed"):  # fmt: skip
        assert said in done.stdout


def test_the_examples_run_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a real kernel, whose thread runs an event loop already."""
    cells = [without_vendors(code).replace("asyncio.run(main())", "await main()")
             .replace('input("Me: ")', '"I doubt it."') for code in BLOCKS]  # fmt: skip
    broken = "import moot\nmoot.run('')"
    book: Any = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in (*cells, broken)]
    )
    for name, value in environment(tmp_path, PYTHONWARNINGS="default").items():
        monkeypatch.setenv(name, value)
    client = NotebookClient(
        book, timeout=int(patience.seconds()), kernel_name="python3", allow_errors=True
    )
    client.execute()
    *shown, refused = book.cells
    for cell in shown:
        assert [out for out in cell.outputs if out.output_type == "error"] == [], cell.source
        assert "stderr" not in [out.get("name") for out in cell.outputs], cell.outputs
    (pretty,) = [out.data for cell in shown for out in cell.outputs
                 if out.output_type == "execute_result"]  # fmt: skip
    assert pretty["text/html"].startswith("<div")
    assert pretty["text/plain"].startswith("<moot duel debate_")
    (error,) = refused.outputs
    assert (error.ename, error.evalue) == (
        "InputError", "The motion is empty. Say what is to be debated.",
    )  # fmt: skip


WRONG = """import moot

moot.run(5)
moot.run("Why?", nothing=1)
moot.council("Why?", jury="three")
length: str = moot.run("Why?").turns
sure: bool = moot.judge("Why?").answer
for turn in moot.debate("Why?"):
    turn.nothing
"""
RIGHT = """from pathlib import Path

import moot


def words(motion: str) -> int:
    count = 0
    for turn in moot.debate(motion, format="duel", participants=["claude", {"name": "Ben"}]):
        count += len(turn.text.split())
    return count


async def decide(problem: str) -> str | None:
    council: moot.Finished = await moot.acouncil(problem, jury=3, model="claude")
    verdict = council.verdict
    judged: moot.Judged = await moot.ajudge(problem, jurors=["claude"], sources=[Path("a.md")])
    return str(verdict["selected"]) if verdict and judged.answer != "no" else None
"""


def test_a_strict_type_checker_accepts_the_examples(tmp_path: Path) -> None:
    for number, block in enumerate((*BLOCKS, RIGHT)):
        (tmp_path / f"right{number}.py").write_text(block)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    pyright = str(Path(sys.executable).with_name("pyright"))
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable], cwd=tmp_path, text=True,
        capture_output=True, timeout=patience.seconds(), check=False,
    )  # fmt: skip
    found = [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1)
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert {name for name, _ in found} == {"wrong.py"}, done.stdout
    assert {line for _, line in found} == {3, 4, 5, 6, 7, 9}


# --- turn by turn ---


class Held(ScriptedSpeaker):
    """Whoever speaks second waits until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = Event()

    async def speak(self, call: Call, say: Say) -> Reply:
        while call.debate.turn_count and not self.may.is_set():
            await asyncio.sleep(0.005)
        return await super().speak(call, say)


def duel(home: Path, speaker: ScriptedSpeaker | None = None) -> moot.Stream:
    return moot.debate(MOTION, format="duel", settings=settings(home), speaker=speaker)


def test_turns_come_while_the_debate_goes_on(tmp_path: Path) -> None:
    speaker = Held()
    stream = duel(tmp_path, speaker)
    with pytest.raises(moot.StateError, match="not been read"):
        _ = stream.result
    said: list[moot.Turn] = []
    for turn in stream:
        said.append(turn)
        speaker.may.set()  # the second would never come, if the first came with the last
    assert [turn.name for turn in said] == ["Ada", "Ben"] * 3
    assert tuple(said) == stream.result.turns == tuple(stream)
    assert (stream.result.status, stream.result.motion) == ("completed", MOTION)
    assert (stream.result.folder / "manifest.json").exists()


def test_whoever_stops_reading_pauses_the_debate(tmp_path: Path) -> None:
    stream = duel(tmp_path, Held())
    for _ in stream:
        break
    held = stream.result
    assert (held.status, len(held.turns), held.verdict) == ("paused", 1, None)

    async def leave() -> moot.Finished:
        other = duel(tmp_path, Held())
        turns = aiter(other)
        await anext(turns)
        await turns.aclose()  # type: ignore[attr-defined]
        return other.result

    assert asyncio.run(leave()).status == "paused"

    async def resume() -> str:
        async with moot.open(settings(tmp_path), recover=False) as service:
            await service.resume(held.id)
            return (await service.wait(held.id)).status

    assert asyncio.run(resume()) == "completed"


ENDLESS = """
import moot
from moot.testing.speaker import ScriptedSpeaker, plain
moot.run("Shall we?", format="duel", speaker=ScriptedSpeaker(seconds=3600))
"""


def test_ctrl_c_pauses_the_debate(tmp_path: Path) -> None:
    script = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], env=environment(tmp_path), stderr=subprocess.PIPE,
        text=True, preexec_fn=hear_interrupts,
    )  # fmt: skip

    def rows(sql: str) -> list[Any]:
        try:
            return services.ask(settings(tmp_path).database, sql)
        except Exception:  # the tables are not there yet
            return []

    with script:
        eventually(lambda: rows("SELECT 1 FROM debate_attempts WHERE outcome = 'started'"))
        script.send_signal(signal.SIGINT)
        assert script.wait(patience.seconds()) in (-signal.SIGINT, 130)
        assert script.stderr
        assert script.stderr.read().rstrip().endswith("KeyboardInterrupt")
    assert rows("SELECT status FROM debate_runs") == [("paused",)]
    assert rows("SELECT outcome FROM debate_attempts") == [("cancelled",)]


# --- who speaks ---


def test_models_alone_take_the_seats_in_turn(tmp_path: Path) -> None:
    here = settings(tmp_path)

    def run(**asked: Any) -> moot.Debate:
        speaker = ScriptedSpeaker()
        return moot.run(MOTION, **asked, settings=here, speaker=speaker).debate

    made = run(
        format="classic", participants=["claude", {"name": "Ada"}, "openai"], host="gemini",
        model="local", jury=1,
    )  # fmt: skip
    assert made.host
    assert made.jury
    found = [(seat.name, seat.model.partition(":")[0]) for seat in (*made.participants, made.host)]
    assert found == [("Ben", "claude"), ("Ada", "local"), ("Cleo", "openai"), ("Host", "gemini")]
    assert [seat.model for seat in made.jury.seats] == ["local"]
    roles = [{"role": "Judge", "model": "gemini:x"}, "claude"]
    held = moot.council(MOTION, participants=roles, settings=here, model=UNDERSTUDY)
    found = {seat.role: seat.model for seat in held.debate.participants}
    assert found["Judge"] == "gemini:x"
    assert found["Proponent"].startswith("claude")
    assert {found[role] for role in ("Critic", "Analyst", "Synthesizer")} == {UNDERSTUDY}
    for wrong, said in (({"participants": "claude"}, r"\['claude'\]"),
                        ({"participants": ["local"] * 13}, "too many"),
                        ({"format": "nonsense"}, "nonsense")):  # fmt: skip
        with pytest.raises(moot.InputError, match=said):
            run(**wrong)


# --- what people see of it ---


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_a_result_is_shown_in_a_line_and_in_a_notebook(tmp_path: Path) -> None:
    hostile = "</div><script>alert(1)</script><img src=x onerror=y>"
    speaker = ScriptedSpeaker(lambda call: f"{hostile} by {call.step.actor}")
    seats = [{"name": "<b>Ada"}, {"name": "Ben"}]
    held = moot.run(
        f"{hostile}?", format="duel", participants=seats, settings=settings(tmp_path),
        speaker=speaker,
    )  # fmt: skip
    assert repr(held) == f"<moot duel {held.id}: completed, 6 turns>"
    page = held._repr_html_()
    assert set(Tags(page).tags) == {"div", "h4", "p", "b", "br", "small", "details", "summary"}
    assert page.count("&lt;script&gt;") == 7
    decided = moot.council(MOTION, jury=3, settings=settings(tmp_path))
    page = decided._repr_html_()
    assert decided.verdict
    assert decided.packet
    assert page.index(f"Decided: {decided.verdict['selected']}") < page.index(f"<b>{MOTION}")
    assert repr(decided) == f"<moot council {decided.id}: completed, decided, 26 turns>"


@pytest.mark.parametrize("answer", ["yes", "no", "undecided"])
def test_a_jury_answers_yes_or_no(tmp_path: Path, answer: str) -> None:
    """In the words of the debate's sides, with sources that are dicts; and shown as it was said."""
    side = {"yes": SIDES[0], "no": SIDES[1]}.get(answer)

    def say(call: Call) -> str | Reply:
        if call.step.answer != "ballot":
            return plain(call)
        said = ballot(call, side)
        return json.dumps(said if side else {**said, "choice": "undecided"})

    note = {"title": "Rota", "text": "Nobody is there."}
    judged = moot.judge(
        MOTION, jury=3, sources=[note], settings=Settings(home=tmp_path, model="openai:scripted"),
        speaker=ScriptedSpeaker(say),
    )  # fmt: skip
    assert judged.answer == answer
    assert judged.debate.jury
    assert len(judged.debate.jury.seats) == 3
    assert [one.title for one in judged.debate.sources] == ["Rota"]
    assert repr(judged) == f"<moot judge {judged.id}: {answer}. {judged.why}>"
    page = judged._repr_html_()
    assert page.startswith(f"<div><h4>{answer.capitalize()}</h4>")
    assert page.index(answer.capitalize()) < page.index(f"<b>{MOTION}")
    with pytest.raises(moot.InputError, match="two sides"):
        moot.judge(MOTION, format="council", settings=settings(tmp_path))
    with pytest.raises(moot.InputError, match="needs a question"):
        moot.judge(" ", settings=settings(tmp_path))


def test_the_names_are_listed_and_explained() -> None:
    assert {"run", "arun", "debate", "council", "acouncil", "rejudge", "open", "Turn"} <= set(
        dir(moot)
    )
    assert all(hasattr(moot, name) for name in moot.__all__)
    for function in (
        moot.run,
        moot.arun,
        moot.council,
        moot.acouncil,
        moot.debate,
        moot.rejudge,
        moot.judge,
    ):
        assert "jury" in (function.__doc__ or "")
    loaded = "import sys, moot; dir(moot); print([name for name in sys.modules if '.' in name])"
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    assert "moot." not in done.stdout, "`import moot` is to be quick"
