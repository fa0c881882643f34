"""An export inside an archive: its bytes, unpacked while they are read."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO, Self, TypeAlias

from tracekit.errors import InputError
from tracekit.frozen import frozen

_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)


@frozen
class PackedExport:
    """A file of exports in an archive."""

    path: str
    """Its place for messages: the archive, and the name in it."""
    open: Callable[[], BinaryIO]
    """Opens it; raises ``InputError`` where the archive is damaged there."""
    stored_bytes: int
    """Its size in the archive, which limits the size to which it may unpack."""
    size_bytes: int
    """Its size without the archive."""

    def __str__(self) -> str:
        return self.path


ExportFile: TypeAlias = str | PackedExport
"""The path of an export ("-" is standard input), or its place in an archive; messages show its ``str``."""


class PackedBytes:
    """The open file of a ``PackedExport``; damage of the archive raises ``InputError``."""

    def __init__(self, packed: PackedExport) -> None:
        self._path, self._file = packed.path, packed.open()
        self.size_bytes, self.stored_bytes = packed.size_bytes, packed.stored_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes; none at the end."""
        try:
            return self._file.read(size)
        except _DAMAGE as error:
            raise self._make_damage_error(error) from error

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return True: a member of an archive can be unpacked again."""
        return True

    def seek(self, position: int) -> None:
        """Go to a position; the member is unpacked from its start up to there."""
        try:
            self._file.seek(position)
        except _DAMAGE as error:
            raise self._make_damage_error(error) from error

    def _make_damage_error(self, error: Exception) -> InputError:
        advice = "Make the archive again, or download it again."
        return InputError(self._path, f"cannot be unpacked: {error}.", advice)
