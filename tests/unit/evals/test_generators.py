"""Generators: what they make is written down once, and their own verifiers mark the answers."""

import ast
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.mirror import Mirror

from moot.errors import InputError
from moot.evals import datasets, generator_process, generators
from moot.evals.datasets import Item, Made
from moot.evals.generator_process import GeneratorProcess, LostError
from moot.evals.generators import Gym, catalogue
from moot.evals.marking import _same  # pyright: ignore[reportPrivateUsage]
from moot.evals.public_sets import catalogue as sets

NOWHERE = "http://127.0.0.1:9/simple"
KNOWN = catalogue()
_SPEC = find_spec("reasoning_gym")
assert _SPEC
assert _SPEC.origin
PLACE = Path(_SPEC.origin).parents[1]
"""The package as it was installed for the tests, from the file that the catalogue names."""

HOSTILE = """
import os, sys
from dataclasses import dataclass
from ..factory import ProceduralDataset, register_dataset

@dataclass
class Settings:
    seed: int
    size: int

class Hostile(ProceduralDataset):
    def __init__(self, config):
        super().__init__(config=config, seed=config.seed, size=config.size)
    def __getitem__(self, index):
        print("[noise]")
        return {"question": f"How many is {index % 5}?", "answer": str(index % 5), "metadata": {}}
    def score_answer(self, answer, entry):
        print("1.0")
        match answer:
            case "hang":
                while True: pass
            case "end": os._exit(0)
            case "quit": sys.exit(3)
            case "deep": return self.score_answer_again(answer)
            case "nan": return float("nan")
            case "none": return None
            case "keys": return float(len(os.environ) > 3 or "HOME" in os.environ)
            case "write":
                with open("/tmp/moot-verifier", "w") as file:
                    file.write("x")
            case "huge": return len("x" * (4 * 1024**3))
            case "moot":
                import moot
        return float(answer in (entry["answer"], "write", "moot"))
    def score_answer_again(self, answer):
        return self.score_answer_again(answer)

register_dataset("hostile", Hostile, Settings)
"""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as made:
        yield made


def wheel() -> bytes:
    """The package's own files as a wheel, except the largest data, with a hostile generator."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted((PLACE / "reasoning_gym").rglob("*")):
            if path.is_file() and path.suffix != ".pyc" and path.stat().st_size < 100_000:
                told = zipfile.ZipInfo(str(path.relative_to(PLACE)))
                archive.writestr(told, path.read_bytes())
        archive.writestr(zipfile.ZipInfo("reasoning_gym/games/hostile.py"), HOSTILE)
    return packed.getvalue()


@pytest.fixture(scope="module")
def packed() -> bytes:
    return wheel()


@pytest.fixture
def gym(
    mirror: Mirror, packed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Gym]:
    mirror.publish("reasoning-gym", KNOWN.package.version, packed)
    told = {"sha256": hashlib.sha256(packed).hexdigest(), "bytes": len(packed)}
    hostile = generators.Generator(name="hostile", module="games.hostile", title="Hostile")
    known = KNOWN.model_copy(
        update={
            "package": KNOWN.package.model_copy(update=told),
            "generator": (*KNOWN.generator, hostile),
        }
    )
    monkeypatch.setattr(generators, "catalogue", lambda: known)
    made = Gym(tmp_path / "datasets", f"{mirror.url}/simple")
    yield made
    made.close()


def right(gym: Gym, item: Item, answer: str) -> bool:
    return gym.is_right(item, answer)


# --- the catalogue ---


def test_the_tests_run_the_very_file_that_moot_fetches() -> None:
    lock = (Path(__file__).parents[3] / "requirements.lock").read_text()
    found = re.search(r"^reasoning-gym==(\S+)((?: \\\n +--hash=\S+)+)", lock, re.MULTILINE)
    assert found
    assert found[1] == KNOWN.package.version
    assert f"sha256:{KNOWN.package.sha256}" in found[2]


def test_names_are_unique_also_beside_the_public_sets() -> None:
    listed = [*(one.dataset for one in KNOWN.generator), *(one.name for one in sets())]
    assert len(listed) == len(set(listed))


def test_no_generator_and_no_verifier_evaluates_text_as_code() -> None:
    for one in KNOWN.generator:
        path = PLACE / "reasoning_gym" / f"{one.module.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__", "open"), path


LEFT = [one for one in KNOWN.generator if one.name not in ("jugs", "syllogism", "chain_sum")]
KEPT = [one for one in KNOWN.generator if one not in LEFT]


def holds(one: generators.Generator) -> None:
    process = GeneratorProcess(PLACE, one.module, 7, generators.MOST, work=1)
    try:
        found = [process.ask(index) for index in range(20)]
        items = [
            item
            for index, told in enumerate(found)
            if (item := generators._item(made(one.name, 7, index), told))  # pyright: ignore[reportPrivateUsage]
        ]
        assert len(items) > 10
        for item in items:
            index = item.made.index if item.made else 0
            assert process.ask(index, " ".join(item.answer.split())) >= generators.FULL
            for wrong in ("", "nonsense", "[" * 3000, "9" * 3000, "-0.5"):
                score = process.ask(index, wrong)
                assert score is None or score < generators.FULL, (item, wrong)
    finally:
        process.close()
    seeded = generator_process._ENVIRONMENT  # pyright: ignore[reportPrivateUsage]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(seeded, "PYTHONHASHSEED", "1")
        again = GeneratorProcess(PLACE, one.module, 7, generators.MOST)
        try:
            assert [again.ask(index) for index in range(20)] == found
        finally:
            again.close()


def made(name: str, seed: int, index: int) -> Made:
    return Made(generator=name, version=KNOWN.package.version, seed=seed, index=index)


@pytest.mark.parametrize("one", KEPT, ids=lambda one: one.name)
def test_a_generator_marks_its_own_answers_right_and_others_wrong(
    one: generators.Generator,
) -> None:
    holds(one)


@pytest.mark.stress("test_a_generator_marks_its_own_answers_right_and_others_wrong")
@pytest.mark.parametrize("one", LEFT, ids=lambda one: one.name)
def test_every_generator_marks_its_own_answers_right_and_others_wrong(
    one: generators.Generator,
) -> None:
    holds(one)


# --- what is made ---


def test_questions_are_written_down_once_and_more_of_them_follow(gym: Gym) -> None:
    first = gym.load("gym:chain_sum", 4)
    assert first.name == "gym:chain_sum"
    assert len({item.question for item in first.items}) == 4
    (gym.folder / KNOWN.package.file).unlink()
    offline = Gym(gym.folder, NOWHERE)
    assert offline.load("gym:chain_sum", 4) == first, "they are there"
    assert offline.load("gym:chain_sum", 2).items == first.items[:2]
    with pytest.raises(InputError, match="could not be fetched"):
        offline.load("gym:chain_sum", 5)
    more = Gym(gym.folder, gym.index)
    assert more.load("gym:chain_sum", 6).items[:4] == first.items
    assert gym.load("gym:chain_sum,seed=2", 4).items != first.items
    more.close()


def test_what_was_written_down_is_a_dataset_like_any_other(gym: Gym, tmp_path: Path) -> None:
    items = gym.load("gym:jugs,seed=3", 3).items
    (path,) = gym.folder.glob("*.jsonl")
    copied = path.rename(tmp_path / "mine.jsonl")
    assert datasets.load(copied).items == items
    gym.check(items)
    assert right(gym, items[0], items[0].answer)
    assert not right(gym, items[0], items[1].answer)


def test_a_generator_without_so_many_questions_gives_those_that_it_has(gym: Gym) -> None:
    assert len(gym.load("gym:hostile", 30).items) == 5


@pytest.mark.parametrize(
    ("name", "said"),
    [("gym:", "no generator ''"), ("gym:codeio", "no generator 'codeio'"),
     ("gym:chain_sum,seed=x", "seed=N"), ("gym:chain_sum,7", "seed=N"),
     ("gym:../x", "no generator"), ("gym:chain_sum,seed=" + "9" * 30, "nine digits")],
)  # fmt: skip
def test_another_name_is_refused(gym: Gym, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        gym.load(name, 3)


def test_more_than_a_seed_gives_is_refused(gym: Gym) -> None:
    with pytest.raises(InputError, match="at most 1,000"):
        gym.load("gym:chain_sum", 1001)


def test_questions_that_cannot_be_marked_are_refused_before_anything_is_paid(gym: Gym) -> None:
    item = gym.load("gym:chain_sum", 1).items[0]
    assert item.made
    gym.check([item])
    older = item.made.model_copy(update={"version": "0.1.1"})
    for odd, said in (
        (item.model_copy(update={"question": "What?"}), "another question"),
        (item.model_copy(update={"made": item.made.model_copy(update={"index": -1})}), "another"),
        (item.model_copy(update={"made": older}), r"made by reasoning-gym 0\.1\.1"),
    ):
        with pytest.raises(InputError, match=said):
            gym.check([odd])


def test_another_file_than_the_known_one_is_not_run(gym: Gym, mirror: Mirror) -> None:
    (name,) = mirror.files
    mirror.files[name] = mirror.files[name][:-1] + b"x"
    with pytest.raises(InputError, match="not the file that moot knows"):
        gym.load("gym:chain_sum", 1)
    assert not list(gym.folder.iterdir())


def test_an_item_of_a_generator_has_no_options() -> None:
    line = Item(id="x", question="?", answer="1", check="number", made=made("gcd", 1, 0))
    with pytest.raises(InputError, match="the generator marks"):
        datasets.parse([line.model_dump_json()], "it")


# --- marking ---


def test_whatever_an_answer_does_to_its_verifier_it_is_wrong_and_the_next_is_marked(
    gym: Gym, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = gym.load("gym:hostile", 3).items[2]
    for answer in ("end", "quit", "deep", "nan", "none", "keys", "write", "huge", "moot", "\ud800"):
        assert not right(gym, item, answer), answer
        assert right(gym, item, " 2\n"), "marked as if nothing had been"
    monkeypatch.setattr(generator_process, "MAX_SECONDS", 0.3)
    assert not right(gym, item, "hang")
    monkeypatch.setattr(generator_process, "MAX_SECONDS", 60.0)
    assert right(gym, item, "2")


def test_an_answer_that_takes_too_much_work_ends_its_process(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tiny.whl"
    path.write_bytes(packed)
    process = GeneratorProcess(path, "games.hostile", 1, 10, work=0)  # until the first full second
    with pytest.raises(LostError):
        process.ask(0, "hang")
    assert process.ask(0, "0") == 1.0
    process.close()


def test_votes_for_answers_that_differ_in_a_sign_are_not_added() -> None:
    item = Item(id="x", question="?", answer="B → B", made=made("quantum_lock", 1, 0))
    assert _same(item, "B →  B ") == _same(item, "B → B")
    assert _same(item, "-1/2") != _same(item, "1/2")
