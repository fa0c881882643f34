"""The files of a tar, one after another from a stream, with bounded memory.

    header │ content, padded to 512 bytes │ header │ …

    type of a header      0 file   1, 2 link   5 folder   S sparse file
    before another one    x, X attributes   L long name   K long target of a link   g attributes of all files

``tarfile`` reads attributes and long names, of any claimed length, into memory before it returns a file, and
copies those of all files for each. Here only its parser of a single header is used, which is public.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import BinaryIO

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.parsers.bundle.unpacking import open_unpacked
from tracekit.parsers.limits import LimitError, Limits, require_at_most
from tracekit.text import format_size

_BLOCK_BYTES = 512
_SKIP_BYTES = 1 << 20
_HEADERS_PER_FILE = 4  # its attributes, long name, long target, and its own
_ATTRIBUTES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_LONG_TEXTS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_MAX_DIGITS = 18


@frozen
class TarMember:
    """A file in a tar, or a link or special file, which has no content."""

    name: str
    size_bytes: int
    is_file: bool
    is_folder: bool


class TarReader:
    """Iterates over the members of a tar, compressed or not; ``read`` returns the content of the last one.

    Raises ``LimitError`` as soon as a header claims more than ``limits`` allow for a tar of ``stored_bytes``,
    and ``tarfile.TarError``, ``OSError``, ``EOFError``, ``zlib.error`` or ``lzma.LZMAError`` for damage.
    """

    def __init__(self, file: BinaryIO, source: str, stored_bytes: int, limits: Limits) -> None:
        self._stream = open_unpacked(file)
        self._source = source
        self._limits = limits
        self._max_bytes = limits.unpacked_bytes(stored_bytes)
        self._bytes_left = self._max_bytes
        self._header_bytes_left = limits.header_bytes
        self._headers_left = _HEADERS_PER_FILE * limits.files
        self._content_bytes = 0  # not read yet of the last member, with its padding

    def __iter__(self) -> Iterator[TarMember]:
        files = 0
        while member := self._read_next():
            files += 1
            require_at_most(self._source, files, self._limits.files, "files")
            yield member

    def read(self, size_bytes: int) -> bytes:
        """Return the content of the last member, which is ``size_bytes`` long."""
        self._content_bytes -= size_bytes
        return self._take_bytes(size_bytes)

    def _read_next(self) -> TarMember | None:
        """Return the next member; None at the end of the archive."""
        attributes: dict[bytes, bytes] = {}
        while True:
            self._skip_content()
            header = self._parse_header()
            if header is None:
                return None
            if header.type in _ATTRIBUTES:
                attributes.update(_iter_attributes(self._read_header(header)))
            elif header.type == tarfile.GNUTYPE_LONGNAME:
                attributes.setdefault(b"path", self._read_header(header).partition(b"\0")[0])
            elif header.type not in (tarfile.GNUTYPE_LONGLINK, tarfile.XGLTYPE):
                # Those two are skipped: no link is followed, and no attribute of all files is used.
                return self._build_member(header, attributes)

    def _parse_header(self) -> tarfile.TarInfo | None:
        self._headers_left -= 1
        if self._headers_left < 0:
            raise LimitError(self._source, f"holds more than {self._limits.files:,} files")
        try:
            header = tarfile.TarInfo.frombuf(self._take_bytes(_BLOCK_BYTES), "utf-8", "surrogateescape")
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            return None
        except tarfile.HeaderError as error:
            raise tarfile.ReadError("it holds a damaged header, or is no tar") from error
        self._expect_content(header)
        return header

    def _expect_content(self, header: tarfile.TarInfo) -> None:
        """Record the number of bytes of content after a header; refuse more than the limit."""
        if header.size < 0:
            raise tarfile.ReadError("it holds a damaged header")
        # As tarfile has it: links, folders and devices have no content, whatever their size is.
        has_content = (
            header.isreg() or header.type in _LONG_TEXTS or header.type not in tarfile.SUPPORTED_TYPES
        )
        self._content_bytes = -(-header.size // _BLOCK_BYTES) * _BLOCK_BYTES if has_content else 0
        if self._content_bytes > self._bytes_left:
            raise self._make_size_error()

    def _read_header(self, header: tarfile.TarInfo) -> bytes:
        self._header_bytes_left -= header.size
        if self._header_bytes_left < 0:
            size = format_size(self._limits.header_bytes)
            raise LimitError(self._source, f"holds more than {size} of long names and attributes")
        return self.read(header.size)

    def _build_member(self, header: tarfile.TarInfo, attributes: dict[bytes, bytes]) -> TarMember:
        name = attributes.get(b"path", header.name.encode("utf-8", "surrogateescape")).decode(
            "utf-8", "surrogateescape"
        )
        if header.type == tarfile.GNUTYPE_SPARSE or any(key.startswith(b"GNU.sparse.") for key in attributes):
            raise InputError(
                self._source,
                f"holds a sparse file ({name[:80]}), which tracekit does not read.",
                "Make the archive again without --sparse.",
            )
        size = attributes.get(b"size", b"")
        if size.isdigit() and len(size) <= _MAX_DIGITS:
            header.size = int(size)
            self._expect_content(header)
        return TarMember(name, header.size, header.isreg(), header.isdir())

    def _skip_content(self) -> None:
        while self._content_bytes:
            size_bytes = min(self._content_bytes, _SKIP_BYTES)
            self._content_bytes -= size_bytes
            self._take_bytes(size_bytes)

    def _take_bytes(self, size_bytes: int) -> bytes:
        self._bytes_left -= size_bytes
        if self._bytes_left < 0:
            raise self._make_size_error()
        data = self._stream.read(size_bytes)
        if len(data) < size_bytes:
            raise tarfile.ReadError("it is cut off")
        return data

    def _make_size_error(self) -> LimitError:
        return LimitError(self._source, f"unpacks to more than {format_size(self._max_bytes)}")


def _iter_attributes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the attributes in ``<length> <keyword>=<value>\\n`` …, where the length includes all four."""
    start = 0
    while start < len(data) and data[start]:
        digits, _, _ = data[start : start + _MAX_DIGITS].partition(b" ")
        end = start + int(digits) if digits.isdigit() else 0
        keyword, equals, value = data[start + len(digits) + 1 : end - 1].partition(b"=")
        if not start < end <= len(data) or not equals:
            raise tarfile.ReadError("it holds damaged attributes")
        yield keyword, value
        start = end
