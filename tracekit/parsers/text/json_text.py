"""JSON that is decoded as a whole: its text, within the limits on what that takes."""

from __future__ import annotations

from tracekit.parsers.limits import LimitError
from tracekit.parsers.text.text_file import TextFile

_CHARACTERS_OF_LIMIT = 4
"""The text is in memory as a whole: the limit is a quarter of that of an unusual export."""
_MEMORY_BYTES = {"{": 176, "[": 80, ":": 120, ",": 48, '"': 28}
"""Memory for each of these characters when JSON is decoded, measured with CPython 3.11 on 64 bits: an object
with its first keys, a list, a key and its slot, a number and its slot, half of a text beyond ASCII."""


def read_json_text(file: TextFile) -> str:
    """Return a file's text. Raises ``LimitError`` if it is too long, or would take too much when decoded."""
    max_characters = file.limits.unusual_bytes // _CHARACTERS_OF_LIMIT
    blocks, size = [], 0
    for block in file.iter_blocks():
        size += len(block)
        if size > max_characters:
            raise LimitError(file.name, f"is a report of more than {max_characters:,} characters")
        blocks.append(block)
    text = b"".join(blocks).decode("utf-8", "replace")
    _require_memory(file, text)
    return text


def _require_memory(file: TextFile, text: str) -> None:
    """Refuse JSON that would take too much memory, before it is decoded: ``{}`` is 40 times its text."""
    memory_bytes = sum(size * text.count(character) for character, size in _MEMORY_BYTES.items())
    if memory_bytes > file.limits.json_bytes:
        max_size = f"{file.limits.json_bytes >> 20} MB"
        raise LimitError(
            file.name, f"has so many values in its JSON that they could take more than {max_size}"
        )
