"""What a GGUF file says of itself at its beginning: enough to know one, and its context."""

import struct
from pathlib import Path
from typing import BinaryIO

from moot.errors import InputError

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST_KEYS = 10_000
_MOST = 1 << 26  # bytes of a text or a list that are still believed
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_WHOLE = {4: "<I", 5: "<i", 10: "<Q", 11: "<q"}


def context(path: Path) -> int | None:
    """The tokens that the model was made for, if its file tells; refuses what is not GGUF."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} cannot be read: it is not a file.", "model")
        with path.open("rb") as file:
            if file.read(4) != MAGIC or _number(file, "<I") not in _VERSIONS:
                raise InputError(f"{path} is not a GGUF file that llama.cpp can read.", "model")
            return _look(file)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "model") from None
    except (struct.error, UnicodeDecodeError, ValueError):
        raise InputError(f"{path} is a GGUF file that is damaged at its start.", "model") from None


def _look(file: BinaryIO) -> int | None:
    _number(file, "<Q")  # how many tensors
    for _ in range(min(_number(file, "<Q"), _MOST_KEYS)):
        key, kind = _text(file), _number(file, "<I")
        if key.endswith(".context_length") and kind in _WHOLE:
            return _number(file, _WHOLE[kind])
        _skip(file, kind)
    return None


def _number(file: BinaryIO, form: str) -> int:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _text(file: BinaryIO) -> str:
    return file.read(_believed(_number(file, "<Q"))).decode()


def _skip(file: BinaryIO, kind: int) -> None:
    """Go past a value of that kind, or a list of values."""
    count = 1
    if kind == _ARRAY:
        kind, count = _number(file, "<I"), _number(file, "<Q")
    if kind == _STRING:
        for _ in range(_believed(count)):
            file.seek(_believed(_number(file, "<Q")), 1)
    elif kind in _SIZES:
        file.seek(_believed(_SIZES[kind] * count), 1)
    else:
        raise ValueError("a kind of value that is not known")


def _believed(count: int) -> int:
    if count > _MOST:
        raise ValueError("too long")
    return count
