"""A bundle's files as bytes: below ``corespace/run<N>`` every file is one zlib stream; others are plain.

Which it is shows in the first two bytes, file by file: nothing that a bundle holds plain begins like a zlib
header. What a file unpacks to is bounded by what it is stored in, so no few bytes fill the memory.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator

from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles

_CHUNK_BYTES = 1 << 18
_ZLIB_HEADERS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")

_MOST_RATIO = 64
_SLACK_BYTES = 16 << 20
"""Of files that are read whole: real ones deflate up to 50:1, and padding of up to a megabyte 1000:1."""

ROWS_RATIO = 256
ROWS_SLACK_BYTES = 256 << 20
"""Of rows, which come block by block and no further than they are counted: real ones deflate up to 12:1."""

_MOST_WHOLE_BYTES = 256 << 20
"""Of a file that is read whole; the largest real one seen has 17 MB. Lists may be longer."""


def read_file(files: BundleFiles, name: str, most_bytes: int = _MOST_WHOLE_BYTES) -> bytes:
    """Return the whole unpacked file; raise ``DamagedFileError`` when it is missing, damaged or a bomb."""
    whole = bytearray()
    for chunk in read_chunks(files, name, _MOST_RATIO, _SLACK_BYTES):
        whole += chunk
        if len(whole) > most_bytes:
            raise DamagedFileError(name, f"has more than {most_bytes >> 20} MB: this is no recording")
    return bytes(whole)


def read_chunks(files: BundleFiles, name: str, most_ratio: int, slack_bytes: int) -> Iterator[bytes]:
    """Yield the unpacked file in chunks, ``slack_bytes`` and ``most_ratio`` times what is stored at most.

    Raises ``DamagedFileError`` as ``read_file`` does.
    """
    most_bytes = slack_bytes + most_ratio * max(files.size(name), 0)
    total = 0
    for chunk in _unpacked(files, name):
        total += len(chunk)
        if total > most_bytes:
            raise DamagedFileError(name, f"unpacks to more than {most_bytes >> 20} MB: this is no recording")
        yield chunk


def _unpacked(files: BundleFiles, name: str) -> Iterator[bytes]:
    with files.open(name) as file:
        try:
            head = file.read(_CHUNK_BYTES)
            if head[:2] not in _ZLIB_HEADERS:
                while head:
                    yield head
                    head = file.read(_CHUNK_BYTES)
                return
            stream = zlib.decompressobj()
            unpacked = b"-"
            while not stream.eof and (head or unpacked):
                unpacked = stream.decompress(head, _CHUNK_BYTES)
                yield unpacked
                head = stream.unconsumed_tail or file.read(_CHUNK_BYTES)
        except (zlib.error, zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError) as error:
            raise DamagedFileError(name, f"cannot be unpacked ({error})") from error
        if not stream.eof:
            raise DamagedFileError(name, "is cut off")
