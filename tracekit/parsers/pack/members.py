"""The members of a pack, read by the names that its manifest gives, and never further than it says."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.parsers.pack.layout import (
    FORMAT,
    MANIFEST,
    MOST_MANIFEST_BYTES,
    MOST_MEMBERS,
    MOST_ROWS,
    SIZES,
    VERSION,
    DamagedPackError,
    declared,
    most_text_bytes,
)
from tracekit.parsers.pack.shape import Node, parse_json

_ZIP_MAGIC = b"PK\x03\x04"
_NAME_AT = 30
_ENCRYPTED = 1
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)

Array = npt.NDArray[Any]


def is_pack(path: Path) -> bool:
    """Tell whether a file is a pack: by its first bytes, or, zipped again, by its manifest."""
    name = MANIFEST.encode()
    with path.open("rb") as file:
        head = file.read(_NAME_AT + len(name))
    if not head.startswith(_ZIP_MAGIC) or head[_NAME_AT:] == name:
        return head.startswith(_ZIP_MAGIC)
    try:
        with zipfile.ZipFile(path) as found:
            return MANIFEST in found.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False  # a damaged zip is for the reader of bundles to refuse


class PackMembers:
    """An opened pack: its manifest, and what that refers to. Everything raises ``DamagedPackError``."""

    def __init__(self, path: str) -> None:
        self._size_bytes = Path(path).stat().st_size
        try:
            self._zip = zipfile.ZipFile(path)
        except _ZIP_ERRORS as error:
            raise DamagedPackError("", f"is cut off or damaged ({error})") from error
        entries = self._zip.infolist()
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) < len(entries) or len(entries) > MOST_MEMBERS:
            raise DamagedPackError("", "has members of the same name, or far too many")
        self.manifest = self._manifest()

    def _manifest(self) -> Node:
        size_bytes = self._entry(MANIFEST).file_size
        if size_bytes > MOST_MANIFEST_BYTES:
            raise DamagedPackError(MANIFEST, f"has {size_bytes >> 20} MB: this is no pack")
        value = parse_json(MANIFEST, self._read(MANIFEST, size_bytes))
        manifest = Node(value, "manifest")
        name, _, version = manifest.text("format").partition("/")
        if name != FORMAT or not version.isdecimal():
            raise DamagedPackError(MANIFEST, "names no format of packs")
        if version != str(VERSION):
            raise DamagedPackError(
                "",
                f"is a pack of version {version[:9]}; this tracekit reads version {VERSION}: update tracekit",
            )
        if not declared(value).fits(self._size_bytes):
            raise DamagedPackError("", "unpacks to far more than a recording does; it was not read")
        return manifest

    def array(self, node: Node, *types: str) -> Array:
        """Return an array of one of these types."""
        name, type_, count = node.text("member"), node.text("type"), node.whole("count", MOST_ROWS)
        if type_ not in types:
            raise DamagedPackError(MANIFEST, f"has another type than {' or '.join(types)} at {node.place}")
        width = SIZES[type_]
        data = np.frombuffer(self._read(name, count * width), np.uint8)
        little = np.ascontiguousarray(data.reshape(width, count).T).view(np.dtype(type_).newbyteorder("<"))
        values: Array = little.reshape(count).astype(type_)
        if "delta" in node and node.flag("delta") and values.dtype.kind in "iu":
            words = values.view(f"u{width}")
            values = np.cumsum(words, dtype=words.dtype).view(type_)
        return values

    def json(self, node: Node) -> Any:
        """Return a value that is stored as JSON."""
        name = node.text("member")
        return parse_json(name, self._read(name, node.whole("bytes")))

    def require_short(self, text_bytes: int, node: Node) -> None:
        """Refuse a column whose rows spell more text than a recording of that size does."""
        if text_bytes > most_text_bytes(self._size_bytes):
            raise DamagedPackError(MANIFEST, f"has far more text than a recording does at {node.place}")

    def _read(self, name: str, size_bytes: int) -> bytes:
        """Return a member that must have just that size: not a byte more is unpacked."""
        entry = self._entry(name)
        if entry.file_size != size_bytes:
            raise DamagedPackError(name, f"has {entry.file_size} bytes instead of {size_bytes}")
        try:
            with self._zip.open(entry) as file:
                data = file.read(size_bytes + 1)  # one more: only the end checks the checksum
        except _ZIP_ERRORS as error:
            raise DamagedPackError(name, f"is damaged ({error})") from error
        if len(data) != size_bytes:
            raise DamagedPackError(name, "is cut off or damaged")
        return data

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self._entries:
            raise DamagedPackError(name, "is missing")
        entry = self._entries[name]
        plain = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not plain or entry.flag_bits & _ENCRYPTED:
            raise DamagedPackError(name, "is encrypted, or compressed in a way that no pack is")
        return entry
