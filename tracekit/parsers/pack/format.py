"""The parts of a pack, the limits of reading one, and the objects of its manifest.

    X.tracekit.zip   tracekit-pack.json │ data/0 │ data/1 │ …
                     manifest             arrays and JSON texts, each referred to by name:
                                          {"member": "data/0", "type": "int64", "count": 384, "delta": true}
                                          {"member": "data/1", "bytes": 120}

Columns are plain arrays and JSON, not Parquet: the unpacked size of an array is known before it is read,
whereas a Parquet file of few bytes may expand to any number of rows and strings. docs/formats.md describes
the format for others.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tracekit.errors import TracekitError
from tracekit.frozen import frozen

MANIFEST = "tracekit-pack.json"
"""The first member; its name identifies a pack."""
FORMAT = "tracekit-pack"
VERSION = 1

SIZES = {"int64": 8, "uint64": 8, "int32": 4, "uint8": 1, "float64": 8}
"""The types of arrays, with the bytes of one value."""

MAX_MANIFEST_BYTES = 16 << 20
MAX_ROWS = 2**31 - 1
MAX_DEPTH = 32
"""Of nested composite values."""

# As for bundles (bundle/bundle_files.py): for rows, and for text, which takes far more memory than its bytes.
_ARRAYS_RATIO, _ARRAYS_SLACK_BYTES = 64, 512 << 20
_ROW_TEXTS_RATIO, _ROW_TEXTS_SLACK_BYTES = 16, 256 << 20
_TEXTS_RATIO, _TEXTS_SLACK_BYTES = 64, 16 << 20

_MAX_INTEGER = 2**64 - 1
_LONE_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")


class DamagedPackError(ValueError):
    """A member of a pack is missing, cut off, or does not match the manifest."""

    def __init__(self, member: str, problem: str) -> None:
        self.problem = f"{member} {problem}" if member else problem
        super().__init__(self.problem)


@frozen
class DeclaredSize:
    """The unpacked bytes of everything that a manifest refers to, counted once per reference."""

    arrays_bytes: int
    texts_bytes: int

    def fits(self, pack_bytes: int) -> bool:
        """Return whether a pack of that size may unpack to as much."""
        return (
            self.arrays_bytes <= _ARRAYS_SLACK_BYTES + _ARRAYS_RATIO * pack_bytes
            and self.texts_bytes <= _TEXTS_SLACK_BYTES + _TEXTS_RATIO * pack_bytes
        )


def get_max_text_bytes(pack_bytes: int) -> int:
    """Return the limit for the text in a column's rows: each text is stored once and may be in many rows."""
    return _ROW_TEXTS_SLACK_BYTES + _ROW_TEXTS_RATIO * pack_bytes


def sum_declared_size(manifest: Any) -> DeclaredSize:
    """Return the sum of the sizes that a manifest's references declare."""
    arrays = texts = 0
    waiting = [manifest]
    while waiting:  # a stack and not recursion: a hostile manifest may be nested deeply
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            count, size = value.get("count"), value.get("bytes")
            if isinstance(value.get("type"), str) and isinstance(count, int):
                arrays += max(count, 0) * SIZES.get(value["type"], 8)
            elif isinstance(size, int):
                texts += max(size, 0)
        elif isinstance(value, list):
            waiting += value
    return DeclaredSize(arrays, texts)


def require_writable(manifest: Any, pack_bytes: int) -> None:
    """Raise ``TracekitError`` for a pack that its reader would refuse."""
    if not sum_declared_size(manifest).fits(pack_bytes):
        raise TracekitError(
            "The tables cannot be packed: they are so repetitive that the reader would refuse the pack as a"
            " decompression bomb."
        )


def parse_json(member: str, data: bytes) -> Any:
    """Return the value of a JSON member; raise ``DamagedPackError`` for any other content."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedPackError(member, "is not valid JSON") from error
    if _LONE_SURROGATE.search(text):  # valid JSON, but a string that no encoding can write again
        raise DamagedPackError(member, "holds half a character")
    return value


class ManifestObject:
    """One object of the manifest, read field by field: another shape is damage, never a traceback.

    ``path`` is the object's position in the manifest, such as ``manifest.runs[0].tables[1]``.
    """

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise DamagedPackError(MANIFEST, f"has no object at {path}")
        self._fields = value
        self.path = path

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def text(self, name: str) -> str:
        """Return a text field."""
        value = self._fields.get(name)
        return value if isinstance(value, str) else self._refuse_field(name)

    def integer(self, name: str, maximum: int = _MAX_INTEGER) -> int:
        """Return an integer field from 0 to ``maximum``."""
        value = self._fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
            self._refuse_field(name)
        return int(self._fields[name])

    def integer_or_none(self, name: str, maximum: int) -> int | None:
        """Return such an integer, or None for null."""
        return None if self._fields.get(name, ...) is None else self.integer(name, maximum)

    def flag(self, name: str) -> bool:
        """Return a field that is true or false."""
        value = self._fields.get(name)
        return value if isinstance(value, bool) else self._refuse_field(name)

    def object(self, name: str) -> ManifestObject:
        """Return a field that is an object."""
        return ManifestObject(self._fields.get(name), f"{self.path}.{name}")

    def objects(self, name: str) -> list[ManifestObject]:
        """Return a field that is a list of objects."""
        items = enumerate(self._get_list(name))
        return [ManifestObject(item, f"{self.path}.{name}[{index}]") for index, item in items]

    def integers(self, name: str, maximum: int) -> list[int]:
        """Return a field that is a list of such integers as ``integer`` returns."""
        path = f"{self.path}.{name}"
        return [ManifestObject({"": item}, path).integer("", maximum) for item in self._get_list(name)]

    def strings(self, name: str) -> list[str]:
        """Return a field that is a list of texts."""
        path = f"{self.path}.{name}"
        return [ManifestObject({"": item}, path).text("") for item in self._get_list(name)]

    def texts(self, name: str) -> dict[str, str]:
        """Return a field that is an object of texts."""
        texts = self.object(name)
        return {key: texts.text(key) for key in texts._fields}

    def _get_list(self, name: str) -> list[Any]:
        value = self._fields.get(name)
        return value if isinstance(value, list) else self._refuse_field(name)

    def _refuse_field(self, name: str) -> Any:
        raise DamagedPackError(MANIFEST, f"has no valid {self.path}.{name}")
