"""What kind of document a file is: by its beginning, and otherwise by its name."""

from pathlib import PurePath

from moot.core.sources import SourceKind

_KINDS: dict[str, SourceKind] = {
    **dict.fromkeys((".md", ".markdown", ".mdx"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".geojson"), "json"),
    **dict.fromkeys((".txt", ".text", ".rst", ".adoc", ".org", ".tex", ".log"), "text"),
    ".pdf": "pdf",
    ".docx": "docx",
}
_CODE = frozenset((
    ".bash", ".c", ".cc", ".cfg", ".clj", ".cmake", ".conf", ".cpp", ".cs", ".css", ".cxx",
    ".dart", ".diff", ".el", ".erl", ".ex", ".exs", ".fs", ".go", ".gradle", ".graphql",
    ".groovy", ".h", ".hcl", ".hpp", ".hs", ".ini", ".java", ".jl", ".js", ".jsx", ".kt", ".kts",
    ".less", ".lisp", ".lua", ".m", ".mjs", ".ml", ".mm", ".nim", ".nix", ".patch", ".php", ".pl",
    ".pm", ".properties", ".proto", ".ps1", ".py", ".pyi", ".r", ".rb", ".rs", ".sass", ".scala",
    ".scm", ".scss", ".sh", ".sol", ".sql", ".svelte", ".swift", ".tf", ".thrift", ".toml", ".ts",
    ".tsx", ".v", ".vb", ".vue", ".xml", ".yaml", ".yml", ".zig",
))  # fmt: skip
_NAMES = frozenset(("makefile", "dockerfile", "justfile", "cmakelists.txt", "jenkinsfile"))


def kind_of(name: str, data: bytes, media_type: str = "") -> SourceKind | None:
    """The kind of a document; None if it is not one that can be read."""
    suffix = PurePath(name).suffix.lower()
    if _is_pdf(data, suffix, media_type):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return "docx" if suffix == ".docx" or b"word/" in data else None
    if b"\x00" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    head = data[:512].lstrip().lower()
    if media_type == "text/html" or head.startswith((b"<!doctype html", b"<html")):
        return "html"
    if media_type == "application/json":
        return "json"
    known = _KINDS.get(suffix)
    if known in ("pdf", "docx"):
        return None  # it only says so
    return known or ("code" if is_code(name) else "text")


def _is_pdf(data: bytes, suffix: str, media_type: str) -> bool:
    """A PDF begins with its mark. Some have a few bytes before it, and a text may speak of it:
    there the name decides."""
    if data.lstrip()[:5] == b"%PDF-":
        return True
    said = suffix == ".pdf" or media_type == "application/pdf"
    return said and b"%PDF-" in data[:1024]


def is_code(name: str) -> bool:
    return PurePath(name).suffix.lower() in _CODE or PurePath(name).name.lower() in _NAMES


def is_named(name: str) -> bool:
    """Whether a file's name is one of a document that can be read."""
    return PurePath(name).suffix.lower() in _KINDS or is_code(name)
