"""Reads one document from standard input, in a process of its own: `python -m moot.sources.child`.

What it finds goes to standard output as JSON: `[[page, text], …]`. A last line on standard error
that begins with "!" is a sentence for people.
"""

import io
import json
import re
import resource
import sys
import zipfile
from collections.abc import Sequence
from typing import Any, NoReturn

_VANISHED = re.compile(
    rb"<w:r(?:\s[^>]*)?>\s*<w:rPr>(?:(?!</w:rPr>).){0,1500}?"
    rb"<w:vanish(?:\s+w:val=\"(?:1|true|on)\")?\s*/>.*?</w:r>",
    re.DOTALL,
)
MAX_MEMORY = 2 * 1024**3
MAX_SECONDS = 55
MAX_UNZIPPED = 200 * 1024**2
MAX_PAGES = 5000
MAX_CHARS = 12 * 1024**2
Page = tuple[int | None, str]
_HYPHEN = re.compile("[\x02\ufffe]")
"""How PDFium marks that a line ended within a word."""
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    data = sys.stdin.buffer.read()
    try:
        pages = {"pdf": pdf, "docx": docx, "html": html}[sys.argv[1]](data)
    except RecursionError:
        refuse("it is nested too deep to be read. Save it as plain text.")
    sys.stdout.write(json.dumps(pages))


def refuse(why: str) -> NoReturn:
    sys.exit(f"!{why}")


def pdf(data: bytes) -> Sequence[Page]:
    import pypdfium2  # pyright: ignore[reportMissingTypeStubs]

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            refuse("it is locked with a password. Save a copy without one.")
        refuse("it is not a PDF that can be read.")
    if len(document) > MAX_PAGES:
        refuse(f"it has {len(document):,} pages; {MAX_PAGES:,} is the most.")
    found: list[Page] = []
    size = 0
    for number in range(len(document)):
        page: Any = document[number]
        text = str(page.get_textpage().get_text_bounded())
        text = _paragraphs(_HYPHEN.sub(_hyphen, text.replace("\r\n", "\n")))
        size += len(text)
        found.append((number + 1, text))
        if size > MAX_CHARS:
            break  # it is too long anyhow, which the caller says
    return found


def _hyphen(said: re.Match[str]) -> str:
    """A hyphen that a line ends with: of typesetting between two small letters, otherwise of the
    word, as in COVID-19."""
    text, (start, end) = said.string, said.span()
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    return "" if before.islower() and after.islower() else "-"


def _paragraphs(text: str) -> str:
    """A page's lines as paragraphs: one ends where a line ends a sentence and stops short."""
    lines = [line.strip() for line in text.split("\n")]
    usual = sorted(len(line) for line in lines if line) or [0]
    full = usual[int(len(usual) * 0.75)]
    made: list[str] = []
    for line in lines:
        made.append(line)
        if line.endswith((".", "!", "?", ":")) and len(line) < full * 0.85:
            made.append("")
    return "\n".join(made)


def docx(data: bytes) -> Sequence[Page]:
    import mammoth  # pyright: ignore[reportMissingTypeStubs]

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as files:
            if sum(one.file_size for one in files.infolist()) > MAX_UNZIPPED:
                refuse("it unpacks to more than any document holds.")
            seen = _seen(files)
        library: Any = mammoth
        without = library.images.img_element(_no_image)
        made = library.convert_to_html(seen, convert_image=without)
    except (zipfile.BadZipFile, KeyError, ValueError):
        refuse("it is not a DOCX that can be read.")
    return html(str(made.value).encode())


def _seen(files: zipfile.ZipFile) -> io.BytesIO:
    """The document without the text that its writer hid: a reader would not see it, either."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as kept:
        for one in files.infolist():
            part = files.read(one)
            kept.writestr(one.filename, _VANISHED.sub(b"", part) if _is_text(one) else part)
    made.seek(0)
    return made


def _is_text(one: zipfile.ZipInfo) -> bool:
    return one.filename.startswith("word/") and one.filename.endswith(".xml")


def _no_image(_: object) -> dict[str, str]:
    return {"src": ""}


def html(data: bytes) -> Sequence[Page]:
    """Headings, lists and tables as Markdown. What a browser would not show is left out."""
    from bs4 import BeautifulSoup, Comment
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(data, "html.parser")
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup(["script", "style", "template", "noscript", "svg", "head", "iframe", "object"]):
        tag.decompose()
    for tag in soup.find_all(True):
        if tag.decomposed:
            continue
        style = str(tag.get("style") or "")
        if tag.has_attr("hidden") or tag.get("aria-hidden") == "true" or _HIDDEN.search(style):
            tag.decompose()
    converter = MarkdownConverter(
        heading_style="ATX", strip=["a", "img"], escape_asterisks=False, escape_underscores=False,
        escape_misc=False,
    )  # fmt: skip
    return [(None, converter.convert_soup(soup))]


if __name__ == "__main__":
    main()
