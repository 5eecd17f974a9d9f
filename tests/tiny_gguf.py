"""A language model of 100 kB with random weights, in llama.cpp's file format: it knows nothing, but
it is loaded, asked and sampled like any other."""

import random
import struct
from array import array
from pathlib import Path
from typing import Any

Tensor = tuple[list[int], "array[float]"]
"""A shape, fastest first, and the numbers."""

WIDTH, FEED, HEADS = 32, 64, 2
WORDS = (  # noqa: SIM905  easier to read than a list
    "the a water town people will cost help plan week bus school more less because so but we "
    "need test first time year money trust rule risk fair open small large well not"
).split()
SIGNS = [chr(code) for code in range(33, 127)]
TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6


def write(path: Path, *, context: int = 32_768, layers: int = 1, seed: int = 1) -> Path:
    """Make the file. The same seed makes the same bytes; many layers make it slow."""
    tokens, kinds = _vocabulary()
    chance = random.Random(seed)
    meta: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.context_length": context,
        "llama.embedding_length": WIDTH,
        "llama.block_count": layers,
        "llama.feed_forward_length": FEED,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0 if kind != _NORMAL else -1.0 for kind in kinds],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.chat_template": TEMPLATE,
    }
    tensors = _tensors(chance, kinds, layers)
    out = bytearray(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(meta)))
    for key, value in meta.items():
        out += _text(key) + _value(value)
    offset = 0
    for name, (shape, data) in tensors.items():
        out += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
        offset += _padded(len(data) * 4)
    out += bytes(_padded(len(out)) - len(out))
    for _, data in tensors.values():
        raw = data.tobytes()
        out += raw + bytes(_padded(len(raw)) - len(raw))
    path.write_bytes(out)
    return path


def _vocabulary() -> tuple[list[str], list[int]]:
    """Words to say, signs to write JSON with, bytes to read anything."""
    spoken = [f"▁{word}" for word in WORDS] + SIGNS + ["▁"]
    tokens = ["<unk>", "<s>", "</s>", *spoken, *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_NORMAL] * len(spoken), *[_BYTE] * 256]
    return tokens, kinds


def _tensors(chance: random.Random, kinds: list[int], layers: int) -> dict[str, Tensor]:
    def noise(*shape: int, spread: float = 0.2) -> Tensor:
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        return list(shape), array("f", (chance.gauss(0, spread) for _ in range(count)))

    ones = [WIDTH], array("f", [1.0] * WIDTH)
    tensors = {
        "token_embd.weight": noise(WIDTH, len(kinds), spread=1.0),
        "output_norm.weight": ones,
    }
    shape, output = noise(WIDTH, len(kinds), spread=1.0)
    for token, kind in enumerate(kinds):
        if kind != _NORMAL:  # what is no word and no sign is hardly ever said
            output[token * WIDTH : (token + 1) * WIDTH] = array("f", bytes(4 * WIDTH))
    tensors["output.weight"] = shape, output
    for layer in range(layers):
        block = f"blk.{layer}"
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"{block}.{name}.weight"] = ones
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors[f"{block}.{name}.weight"] = noise(WIDTH, WIDTH)
        tensors[f"{block}.ffn_gate.weight"] = noise(WIDTH, FEED)
        tensors[f"{block}.ffn_up.weight"] = noise(WIDTH, FEED)
        tensors[f"{block}.ffn_down.weight"] = noise(FEED, WIDTH)
    return tensors


def _padded(size: int) -> int:
    return (size + 31) // 32 * 32


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    """A value with its type before it."""
    match value:
        case str():
            return struct.pack("<I", 8) + _text(value)
        case float():
            return struct.pack("<If", 6, value)
        case int():
            return struct.pack("<II", 4, value)
        case list():
            items: list[Any] = value
            kind = {str: 8, float: 6, int: 5}[type(items[0])]
            head = struct.pack("<IIQ", 9, kind, len(items))
            if kind == 8:
                return head + b"".join(map(_text, items))
            return head + struct.pack(f"<{len(items)}{'f' if kind == 6 else 'i'}", *items)
        case _:
            raise TypeError(type(value))
