"""A bundle's files as bytes, unpacked and bounded in size.

Every decoder of the bundle reads through ``read_file`` or ``read_chunks``; ``container`` opens the folder or
the archive as ``BundleFiles``.

Below ``corespace/run<N>`` every file is one zlib stream; the others are plain. The first two bytes decide,
file by file: no plain file of the bundles seen so far begins like a zlib header.

    78 9c …  zlib stream: 78, then 01, 5e, 9c or da by compression level
    62 70 …  "bplist00", a plain property list        3c …  "<?xml", a plain XML file

The unpacked size is bounded by the stored size, so that a few hostile bytes cannot fill the memory.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Protocol

_PACKED_BYTES = (
    1 << 16
)  # a bundle of many tables has small files; a larger buffer takes longer than reading one
_CHUNK_BYTES = 1 << 18
_ZLIB_HEADERS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")

_WHOLE_FILE_RATIO = 64
_WHOLE_FILE_SLACK_BYTES = 16 << 20
"""For files that are read whole: real ones deflate up to 50:1, and padding of up to a megabyte 1000:1."""

ROWS_RATIO = 256
ROWS_SLACK_BYTES = 256 << 20
"""For rows, which are read block by block up to the counted number: real ones deflate up to 12:1."""

_MAX_WHOLE_BYTES = 256 << 20
"""For a file that is read whole; the largest real one seen has 17 MB. Interned lists may be longer."""


class DamagedFileError(ValueError):
    """A file of the bundle is missing, cut off, or does not have the expected content.

    ``source`` and ``run`` turn it into an ``InputError`` or an ``Issue``: "<file> <problem>".
    """

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        self.problem = problem
        super().__init__(f"{file} {problem}")


class BundleFiles(Protocol):
    """Read-only access to a bundle's files."""

    name: str
    """The bundle's own name, such as ``X.trace``."""
    warnings: tuple[str, ...]
    """Sentences about files that were ignored for safety."""

    def names(self) -> Iterable[str]:
        """Return the names of all files that may be read."""

    def size(self, name: str) -> int:
        """Return a file's stored size in bytes; -1 for a missing file."""

    def open(self, name: str) -> BinaryIO:
        """Open a file; raise ``DamagedFileError`` when it is missing or unreadable."""


def read_file(files: BundleFiles, name: str, max_bytes: int = _MAX_WHOLE_BYTES) -> bytes:
    """Return the whole unpacked file; raise ``DamagedFileError`` when it is missing, damaged or a bomb."""
    whole = bytearray()
    for chunk in read_chunks(files, name, _WHOLE_FILE_RATIO, _WHOLE_FILE_SLACK_BYTES):
        whole += chunk
        if len(whole) > max_bytes:
            raise DamagedFileError(name, f"has more than {max_bytes >> 20} MB, more than any recording needs")
    return bytes(whole)


def read_chunks(files: BundleFiles, name: str, max_ratio: int, slack_bytes: int) -> Iterator[bytes]:
    """Yield the unpacked file in chunks: at most ``slack_bytes`` plus ``max_ratio`` times the stored size.

    Raises ``DamagedFileError`` as ``read_file`` does.
    """
    total = 0
    for chunk in _unpack_chunks(files, name):
        total += len(chunk)
        # The size of a small file is not looked up.
        if total > slack_bytes and total > (max_bytes := slack_bytes + max_ratio * max(files.size(name), 0)):
            problem = f"unpacks to more than {max_bytes >> 20} MB, far more than a file of a recording does"
            raise DamagedFileError(name, problem)
        yield chunk


def _unpack_chunks(files: BundleFiles, name: str) -> Iterator[bytes]:
    with files.open(name) as file:
        try:
            packed = file.read(_PACKED_BYTES)
            if packed[:2] not in _ZLIB_HEADERS:
                while packed:
                    yield packed
                    packed = file.read(_PACKED_BYTES)
                return
            # A step unpacks at most _CHUNK_BYTES; what zlib has not consumed of the input is fed again.
            # After the last input byte, zlib may still hold output back: the loop ends when it returns none.
            stream = zlib.decompressobj()
            unpacked = b"-"
            while not stream.eof and (packed or unpacked):
                unpacked = stream.decompress(packed, _CHUNK_BYTES)
                yield unpacked
                packed = stream.unconsumed_tail or (b"" if stream.eof else file.read(_PACKED_BYTES))
        except (zlib.error, zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError) as error:
            raise DamagedFileError(name, f"cannot be unpacked ({error})") from error
        if not stream.eof:
            raise DamagedFileError(name, "is cut off")
