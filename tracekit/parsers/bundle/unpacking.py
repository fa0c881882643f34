"""The bytes of a gzip, bzip2 or xz file, unpacked while they are read, or those of any other file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from typing import BinaryIO, cast

_CHUNK_BYTES = 1 << 16
_XZ_MEMORY_BYTES = 256 << 20
"""xz -9 needs 65 MB to unpack; a few bytes can claim 4 GB."""

GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"


def open_unpacked(file: BinaryIO) -> BinaryIO:
    """Return the file, which is at its start, or a reader that unpacks it, by its first bytes.

    Reading raises ``OSError``, ``EOFError``, ``zlib.error`` or ``lzma.LZMAError`` for a damaged file.
    """
    head = file.read(len(XZ))
    file.seek(-len(head), io.SEEK_CUR)
    if head.startswith(GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if head.startswith(BZIP2):
        return cast(BinaryIO, bz2.BZ2File(file))
    return cast(BinaryIO, io.BufferedReader(_XzReader(file), _CHUNK_BYTES)) if head == XZ else file


class _XzReader(io.RawIOBase):
    """Streams of xz, one after another. ``lzma.LZMAFile`` would allocate as much as the file claims."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = self._make_decoder()

    @staticmethod
    def _make_decoder() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            packed = b""
            if self._decoder.eof:
                packed = (self._decoder.unused_data or self._file.read(_CHUNK_BYTES)).lstrip(b"\0")
                if not packed:
                    return 0
                self._decoder = self._make_decoder()
            elif self._decoder.needs_input:
                packed = self._file.read(_CHUNK_BYTES)
                if not packed:
                    raise EOFError("it is cut off")
            data = self._decoder.decompress(packed, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
