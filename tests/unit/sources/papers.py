"""Documents for tests, made on the spot."""

import io
import zipfile
from collections.abc import Sequence

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

_BODY = (
    '<?xml version="1.0"?>{head}<w:document xmlns:w="http://schemas.openxmlformats.org/'
    'wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>'
)
_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Default Extension="xml" ContentType="application/xml"/><Override '
    'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    'relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def pdf(pages: Sequence[Sequence[str]], hidden: str = "", password: str = "") -> bytes:
    """A PDF; `hidden` is a layer of text on each page that is there and not drawn."""
    made = io.BytesIO()
    locked = StandardEncryption(password) if password else None
    canvas = Canvas(made, invariant=1, encrypt=locked)
    for lines in pages:
        text = canvas.beginText(60, 780)
        for line in lines:
            text.textLine(line)
        if hidden:
            text.setTextRenderMode(3)
            text.textLine(hidden)
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def docx(paragraphs: Sequence[str], head: str = "", padding: int = 0) -> bytes:
    """A DOCX; `padding` is how many bytes of nothing lie packed beside its text."""
    body = "".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in paragraphs)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", _TYPES)
        file.writestr("_rels/.rels", _RELATIONS)
        file.writestr("word/document.xml", _BODY.format(head=head, body=body))
        if padding:
            file.writestr("word/media/a.bin", bytes(padding))
    return made.getvalue()
