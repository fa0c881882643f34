"""A zip archive with a directory of bounded size."""

from __future__ import annotations

import io
import stat
import zipfile

from tracekit.parsers.limits import LimitError, require_at_most

_NAME_BYTES = 256  # of the directory, per file: its name, 46 bytes and the packer's additions
_MAX_COMMENT_BYTES = 1 << 17


class _BoundedReader(io.BufferedReader):
    """A file whose single reads are limited to ``max_read_bytes``, if that is set."""

    max_read_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        if 0 < self.max_read_bytes < (size or 0):
            raise _TooLongError
        return super().read(size)


class _TooLongError(Exception):
    """The directory claims to be longer than that of any recording."""


class BoundedZip(zipfile.ZipFile):
    """An archive; opening it raises ``LimitError`` for too many files, and what ``ZipFile`` does for damage.

    ``ZipFile`` reads the directory at once, of the length that the end of the file claims. The claimed number
    of files is not used: it may be wrong.
    """

    def __init__(self, path: str, max_files: int) -> None:
        self._bounded = _BoundedReader(io.FileIO(path))
        self._bounded.max_read_bytes = max(_NAME_BYTES * max_files, _MAX_COMMENT_BYTES)
        try:
            super().__init__(self._bounded)
            require_at_most(path, len(self.filelist), max_files, "files")
        except _TooLongError:
            self._bounded.close()
            raise LimitError(path, f"holds more than {max_files:,} files") from None
        except BaseException:
            self._bounded.close()
            raise
        self._bounded.max_read_bytes = 0

    def close(self) -> None:
        """Close the archive, and the file."""
        super().close()
        self._bounded.close()


def is_link(entry: zipfile.ZipInfo) -> bool:
    """Return whether an entry is a symbolic link; its content is the target."""
    return stat.S_ISLNK(entry.external_attr >> 16)
