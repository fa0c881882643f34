"""Models that are packed or encrypted: recognised by their bytes, so that a sentence names the cause."""

from __future__ import annotations

from collections import Counter

from tracekit.mlmodels.protobuf_wire import DamagedModelError

_PACKED = {
    b"pbze": "pbze",
    b"pbz4": "pbz4",
    b"pbzx": "pbzx",
    b"bvx2": "LZFSE",
    b"bvxn": "LZVN",
    b"bvx-": "LZFSE",
}
"""Apple's containers of compressed blocks, and LZFSE's streams, by their first bytes."""

SAMPLE_BYTES = 1 << 16
_LEAST_BYTES = 2048
_MOST_CHI_SQUARE = 400.0
"""Of 256 equally frequent bytes 255 is expected, and 400 almost never exceeded; text has thousands."""


def refuse_packed(data: bytes, name: str) -> None:
    """Raise ``DamagedModelError`` for a file that begins as a packed one; ``name`` is empty for the input."""
    packing = _PACKED.get(bytes(data[:4]))
    if packing:
        raise DamagedModelError(_word(name, f"in a packed form ({packing}), which is not read"))


def refuse_encrypted(data: bytes, name: str) -> None:
    """Raise ``DamagedModelError`` for bytes that are spread evenly, as encryption and compression leave them.

    For data that its own reader has refused: the sentence replaces one about a damaged file.
    """
    sample = bytes(data[:SAMPLE_BYTES])
    if len(sample) < _LEAST_BYTES:
        return
    expected = len(sample) / 256
    counts = Counter(sample)
    if sum((counts[byte] - expected) ** 2 for byte in range(256)) / expected < _MOST_CHI_SQUARE:
        raise DamagedModelError(
            _word(
                name,
                "in an encrypted or compressed form (all bytes are about as frequent), which is not read",
            )
        )


def _word(name: str, form: str) -> str:
    return f"holds {name} {form}" if name else f"is {form}"
