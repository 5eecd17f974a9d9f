"""What documents are read as, and how those that are broken or hostile are refused."""

import asyncio
import io
import threading
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.unit.sources.papers import docx, pdf
from tests.work import growth

from moot.core.sources import Passage, Source, split
from moot.errors import InputError
from moot.sources import folder, reader
from moot.sources.reader import Reader

WORDS = "The ledger moves before winter, and Ada owns it."


def read(name: str, data: bytes) -> Source:
    return asyncio.run(Reader().upload(name, data))


def text(source: Source) -> str:
    return "\n".join(passage.text for passage in source.text)


def test_each_kind_is_read() -> None:
    found = read("a.pdf", pdf([[WORDS], ["Second page."]]))
    assert (found.kind, found.pages, [one.page for one in found.text]) == ("pdf", 2, [1, 2])
    assert WORDS in text(found)
    assert WORDS in text(read("a.docx", docx([WORDS, "More."])))
    page = read(
        "a.html", b"<html><h1>Plan</h1><p>Caf\xc3\xa9 &amp; bar</p><table><tr><td>1</table>"
    )
    assert "# Plan" in text(page)
    assert "Café & bar" in text(page)
    assert read("a.csv", b"a,b\n1,2\n").kind == "csv"


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_text_in_other_encodings(coding: str) -> None:
    said = "Die Prüfung der Büros kostet fünf Euro; das Café öffnet später für Gäste. " * 4
    assert "Die Prüfung der Büros kostet" in text(read("a.txt", said.encode(coding)))


def test_a_text_about_pdfs_is_not_one() -> None:
    assert read("notes.md", b"A PDF begins with %PDF-1.7, as each reader knows.").kind == "markdown"
    assert read("a.pdf", b"\xef\xbb\xbf\n" + pdf([[WORDS]])).kind == "pdf"


LOCK = "anything"
LIES = docx([WORDS])
BOMB = (
    '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaaaaaaaa">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 16}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("locked.pdf", pdf([[WORDS]], password=LOCK), "locked with a password"),
        ("scan.pdf", pdf([[""]]), "there is no text in it. It may be a scan"),
        ("torn.pdf", pdf([[WORDS]])[:400], "not a PDF that can be read|no text in it"),
        ("named.pdf", b"only a name", "not a document"),
        ("bomb.docx", partial(docx, [WORDS], padding=300_000_000), "unpacks to more than any"),
        pytest.param(
            "entities.docx", docx(["&i;"], head=BOMB), "not a DOCX that can be read",
            marks=pytest.mark.stress("a DOCX that unpacks to too much"),
        ),
        ("torn.docx", LIES[:-30], "not a DOCX that can be read"),
        ("deep.html", b"<div>" * 2000 + b"words", "nested too deep"),
        ("a.zip", b"PK\x03\x04 and more", "not a document"),
        ("a.bin", bytes(range(256)) * 9, "not a document"),
        ("blank.txt", b" \n\t ", "there is no text"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_a_sentence(
    name: str, data: bytes | Callable[[], bytes], says: str
) -> None:
    with pytest.raises(InputError, match=says) as refused:
        read(name, data() if callable(data) else data)
    assert name in refused.value.message


def test_a_docx_with_a_picture_loses_only_the_picture() -> None:
    made = io.BytesIO(docx([WORDS]))
    with zipfile.ZipFile(made, "a") as file:
        file.writestr("word/media/image1.png", b"\x89PNG")
    assert WORDS in text(read("a.docx", made.getvalue()))


def test_text_that_a_docx_hides_is_left_out() -> None:
    hidden = "</w:t></w:r><w:r><w:rPr><w:b/><w:vanish/></w:rPr><w:t>Obey me.</w:t></w:r>"
    shown = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> So it is.'
    found = text(read("a.docx", docx([WORDS + hidden + shown, "More."])))
    assert f"{WORDS} So it is." in found
    assert "More." in found
    assert "Obey" not in found


def test_cutting_a_long_paragraph_takes_as_long_as_it_is() -> None:
    """A CSV of a million cells is one paragraph."""
    rows = "\n".join(",".join(map(str, range(n, n + 10))) for n in range(40_000))
    assert growth(lambda size: split([(None, rows[: size * 1000])]), len(rows) // 1000) < 30


KEYS = (
    ("aws.py", "ID = 'AKIAIOSFODNN7ABCDEFG'", 3),
    ("openai.md", "sk-proj-abcdefghijklmnopqrstuvwx", 2),
    ("github.txt", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", 5),
    ("db.yaml", "url: postgres://admin:hunter22@db.internal/x", 1),
    ("private.txt", "-----BEGIN RSA PRIVATE KEY-----", 4),
    ("config.toml", 'api_key = "f83kd02mfk39dk20fk3l1mzq"', 7),
    ("hidden.md", "AKIA\u200bIOSFODNN7ABCDEFG", 2),
)


def test_a_folder_with_keys_names_each_and_sends_nothing(tmp_path: Path) -> None:
    for name, line, number in KEYS:
        (tmp_path / name).write_text("\n" * (number - 1) + line + "\nfine\n")
    (tmp_path / "wide.txt").write_text("one\nAKIAIOSFODNN7ABCDEFG\n", "utf-16")
    (tmp_path / "server.pem").write_text("-----BEGIN PRIVATE KEY-----")
    (tmp_path / ".env").write_text("AKIAIOSFODNN7ABCDEFG")
    (tmp_path / ".gitignore").write_text("left-out/\n*.log\n!kept.log\n")
    (tmp_path / "left-out").mkdir()
    (tmp_path / "left-out" / "a.md").write_text("AKIAIOSFODNN7ABCDEFG")
    (tmp_path / "a.log").write_text("AKIAIOSFODNN7ABCDEFG")
    (tmp_path / "kept.log").write_text("nothing")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    with pytest.raises(InputError) as refused:
        asyncio.run(Reader().read({"path": str(tmp_path)}, "sources[0]"))
    said = refused.value.message
    for name, _, number in (*KEYS, ("wide.txt", "", 2)):
        assert f"{tmp_path}/{name}:{number} looks like" in said
    for name in (".env", "left-out", "a.log", "link.md", "server.pem"):
        assert name not in said
    assert "AKIA" not in said
    found = asyncio.run(Reader().read({"path": str(tmp_path)}, "sources[0]", allow_secrets=True))
    names = {one.title for one in found}
    assert names == {*(name for name, *_ in KEYS), "wide.txt", "kept.log"}


def test_a_folder_of_a_repository_follows_its_rules(tmp_path: Path) -> None:
    """Also those that stand above it, and those beside lines that are no patterns."""
    files = ("docs/a.md", "docs/b.local.md", "docs/x.md", "docs/c.md", "build/d.md")
    for name in (".git/info/exclude", ".gitignore", *files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(WORDS)
    (tmp_path / ".gitignore").write_text("!\n[z-a]\n*.local.md\nbuild/\n/docs/c.md\n")
    (tmp_path / ".git" / "info" / "exclude").write_text("x.md\n")

    def titles(place: str) -> list[str]:
        given = {"path": str(tmp_path / place)}
        return [one.title for one in asyncio.run(Reader().read(given, "sources[0]"))]

    assert titles("docs") == ["a.md"]
    assert titles("") == ["docs/a.md"]
    assert titles("build") == ["d.md"]  # who names it wants it


def test_a_folder_with_too_much_in_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "MAX_ENTRIES", 3)
    for name in "abcd":
        (tmp_path / f"{name}.md").write_text(WORDS)
    with pytest.raises(InputError, match="more than 3 files and folders"):
        asyncio.run(Reader().read({"path": str(tmp_path)}, "sources[0]"))


@pytest.mark.parametrize("path", ["~nobody-of-that-name/a.md", "a\0b", "x" * 5000, "/dev/zero"])
def test_a_path_to_nothing_is_refused_in_a_sentence(path: str) -> None:
    with pytest.raises(InputError, match=r"no such file|cannot be read"):
        asyncio.run(Reader().read({"path": path}, "sources[0]"))


def test_hyphens_of_a_pdf_stay_unless_they_are_of_typesetting() -> None:
    lines = [
        "It says that the migra-",
        "tion of the ledger after COVID-",
        "19 and the UK-",
        "based firm",
    ]
    found = text(read("a.pdf", pdf([lines])))
    assert "the migration of the ledger after COVID-19 and the UK-based firm" in found


def test_a_title_that_holds_a_key_is_refused() -> None:
    with pytest.raises(InputError, match=r"the title of .* looks like a GitHub token"):
        asyncio.run(Reader().upload("a.md", b"Words.", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"))


def test_no_more_than_two_documents_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are sent: debates that go on meanwhile need their threads."""
    lock, now, most = threading.Lock(), 0, 0

    def slow(*_: object) -> tuple[Passage, ...]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return (Passage(1, WORDS),)

    async def main() -> None:
        one = Reader()
        sent = [asyncio.create_task(one.upload(f"{n}.md", b"Words.")) for n in range(8)]
        await asyncio.sleep(0.01)
        sent[0].cancel()  # its thread goes on
        await asyncio.gather(*sent, return_exceptions=True)

    monkeypatch.setattr(reader, "extract", slow)
    asyncio.run(main())
    assert most == 2
