"""The files of a bundle by name, from a folder, a zip or a tar: nothing is unpacked to the disk.

Names are relative to the bundle and use ``/``. What leads out of the bundle (symbolic links, ``..``, absolute
names) is never opened. ``__MACOSX`` and ``._*`` are what macOS adds to archives and to foreign file systems.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol, Self, cast

from tracekit.errors import InputError
from tracekit.parsers.bundle.errors import DamagedFileError

_MARKS = ("form.template", "open.creq", "corespace", "instrument_data")
"""A folder that holds one of these is a bundle."""

# What no table needs: interface state, scratch of the last recording, raw and old instruments' data.
_UNUSED = (
    "instrument_data/",
    "shared_data/",
    "corespace/currentRun/",
    "UI_state_metadata.bin",
    "Attachments/",
)

_MOST_NAMES = 200_000
_TAR_RATIO = 16  # a bundle's files are compressed already: a tar of one hardly shrinks
_TAR_SLACK_BYTES = 256 << 20
_ENCRYPTED = 1  # a flag of zip entries
_ZIP_MAGIC = b"PK\x03\x04"
_TAR_MAGIC_AT = 257
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,  # a zip with an unknown compression
    RuntimeError,  # a zip with a password
)


class BundleFiles(Protocol):
    """Read-only access to a bundle's files."""

    name: str
    """The bundle's own name, such as ``X.trace``."""
    warnings: tuple[str, ...]
    """What was passed over for safety."""

    def names(self) -> Iterable[str]:
        """Return the names of all files that may be read."""

    def size(self, name: str) -> int:
        """Return a file's stored size in bytes; -1 when it is not there."""

    def open(self, name: str) -> BinaryIO:
        """Open a file; raise ``DamagedFileError`` when it is not there or cannot be read."""


def is_bundle_folder(path: Path) -> bool:
    """Tell whether a folder is, by its name or its content, a bundle."""
    return path.suffix == ".trace" or any((path / mark).exists() for mark in _MARKS)


def is_archive(path: Path) -> bool:
    """Tell whether a file is a zip or a tar (compressed or not), by its first bytes."""
    with path.open("rb") as file:
        head = file.read(_TAR_MAGIC_AT + 8)
    if head[:2] == b"\x1f\x8b":
        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as packed:
            head = packed.read(_TAR_MAGIC_AT + 8)
    return head.startswith((_ZIP_MAGIC, b"BZh", b"\xfd7zXZ\x00")) or head[_TAR_MAGIC_AT:].startswith(b"ustar")


def open_bundle_files(path: str, shown: str) -> BundleFiles:
    """Open a bundle's folder, or the one bundle inside an archive; ``shown`` is its name in messages.

    Raises ``InputError`` when it holds no bundle or several.
    """
    if Path(path).is_dir():
        return FolderFiles(path, shown)
    try:
        with Path(path).open("rb") as file:
            # Not zipfile.is_zipfile, which looks at the end: a tar of a bundle may end with a zip in it.
            zipped = file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
        return _ZipFiles(path, shown) if zipped else _tar_files(path, shown)
    except zipfile.BadZipFile as error:  # its list of files, at the end, is not there
        raise InputError(
            path,
            "cannot be unpacked: it is cut off or damaged.",
            "Make or fetch the archive again.",
        ) from error
    except _ARCHIVE_ERRORS as error:
        raise InputError(path, f"cannot be unpacked: {error}.", "Make or fetch the archive again.") from error


class FolderFiles:
    """A bundle as a folder on the disk."""

    def __init__(self, path: str, shown: str) -> None:
        self.name = shown
        self._root = Path(path).resolve()
        self._sizes: dict[str, int] = {}
        outside = 0
        closed: list[OSError] = []
        for folder, folders, files in os.walk(self._root, onerror=closed.append):
            outside += sum(1 for one in folders if (Path(folder) / one).is_symlink())
            for file in files:
                outside += not self._add(folder, file)
            if len(self._sizes) > _MOST_NAMES:
                raise InputError(path, f"holds more than {_MOST_NAMES} files: this is no recording.")
        if closed and not self._sizes:
            raise closed[0]
        warnings = [f"{outside} links or special files were not followed"] if outside else []
        for error in closed:
            shown_folder = Path(str(error.filename)).relative_to(self._root).as_posix()
            warnings.append(
                f"{shown_folder} cannot be read ({error.strerror}); what it holds is missing here"
            )
        self.warnings: tuple[str, ...] = tuple(warnings)

    def _relative(self, folder: str, name: str) -> str:
        return (Path(folder) / name).relative_to(self._root).as_posix()

    def _add(self, folder: str, file: str) -> bool:
        """Note one file; return False for what leads out of the bundle or is no regular file."""
        name = self._relative(folder, file)
        if not _used(name):
            return True
        path = Path(folder) / file
        try:
            real = path.resolve(strict=True)
            status = real.stat()
        except (OSError, RuntimeError):  # a link to nowhere, or to itself
            return False
        if not real.is_relative_to(self._root) or not stat.S_ISREG(status.st_mode):
            return False
        self._sizes[name] = status.st_size
        return True

    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""
        return self._sizes

    def size(self, name: str) -> int:
        """See ``BundleFiles``."""
        return self._sizes.get(name, -1)

    def open(self, name: str) -> BinaryIO:
        """See ``BundleFiles``."""
        if name not in self._sizes:
            raise DamagedFileError(name, "is missing")
        try:
            return (self._root / name).open("rb")
        except OSError as error:
            raise DamagedFileError(name, f"cannot be read ({error.strerror})") from error


class _ZipFiles:
    """A bundle inside a zip archive, read member by member."""

    def __init__(self, path: str, shown: str) -> None:
        self._zip = zipfile.ZipFile(path)
        entries = {_plain_name(entry.filename): entry for entry in self._zip.infolist() if not entry.is_dir()}
        prefix, self.warnings = _choose_bundle(path, entries)
        self.name = _bundle_name(prefix, shown)
        self._entries = {
            name.removeprefix(prefix): entry
            for name, entry in entries.items()
            if name.startswith(prefix) and _used(name.removeprefix(prefix))
        }

    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""
        return self._entries

    def size(self, name: str) -> int:
        """See ``BundleFiles``."""
        return self._entries[name].compress_size if name in self._entries else -1

    def open(self, name: str) -> BinaryIO:
        """See ``BundleFiles``."""
        if name not in self._entries:
            raise DamagedFileError(name, "is missing")
        try:
            return cast(BinaryIO, self._zip.open(self._entries[name]))
        except _ARCHIVE_ERRORS as error:
            if self._entries[name].flag_bits & _ENCRYPTED:
                raise DamagedFileError(name, "is encrypted: unpack the archive with its password") from error
            raise DamagedFileError(name, f"cannot be unpacked ({error})") from error


class _HeldFiles:
    """A bundle whose (compressed) files are held in memory: a tar can only be read from front to back."""

    def __init__(self, name: str, held: dict[str, bytes], warnings: tuple[str, ...]) -> None:
        self.name = name
        self.warnings = warnings
        self._held = held

    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""
        return self._held

    def size(self, name: str) -> int:
        """See ``BundleFiles``."""
        return len(self._held[name]) if name in self._held else -1

    def open(self, name: str) -> BinaryIO:
        """See ``BundleFiles``."""
        if name not in self._held:
            raise DamagedFileError(name, "is missing")
        return io.BytesIO(self._held[name])


class _WholeTarInfo(tarfile.TarInfo):
    """Members of a tar that must be whole: tarfile takes one without its closing blocks for whole."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except (tarfile.EmptyHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError("it is cut off") from error


def _tar_files(path: str, shown: str) -> BundleFiles:
    most_bytes = _TAR_SLACK_BYTES + _TAR_RATIO * Path(path).stat().st_size
    held: dict[str, bytes] = {}
    total = 0
    with tarfile.open(path, "r|*", tarinfo=_WholeTarInfo) as archive:
        for member in archive:
            total += member.size  # of what is passed over as well: it is unpacked all the same
            if total > most_bytes or len(held) > _MOST_NAMES:
                raise InputError(path, "unpacks to far more than a recording does; it was not read.")
            if not member.isfile():
                continue
            file = archive.extractfile(member) if _needed(member.name) else None
            held[_plain_name(member.name)] = file.read() if file else b""
    prefix, warnings = _choose_bundle(path, held)
    inside = {name.removeprefix(prefix): held[name] for name in held if name.startswith(prefix)}
    return _HeldFiles(_bundle_name(prefix, shown), {n: b for n, b in inside.items() if _used(n)}, warnings)


def _plain_name(name: str) -> str:
    """``tar -c ./X.trace`` keeps the ``./`` of every name."""
    return name.removeprefix("./")


def _needed(name: str) -> bool:
    """Tell whether a table can need what the file holds; its name may tell something all the same."""
    return not any(f"/{part}" in f"/{name}" for part in _UNUSED)


def _choose_bundle(path: str, names: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return the prefix of the one bundle among an archive's names, and what was passed over."""
    prefixes: set[str] = set()
    outside = 0
    for name in names:
        parts = PurePosixPath(name).parts
        if ".." in parts or name.startswith("/") or "\\" in name:
            outside += 1
            continue
        if "__MACOSX" in parts or any(part.startswith("._") for part in parts):
            continue
        at = next((at for at, part in enumerate(parts) if part in _MARKS), None)
        if at is not None:
            prefixes.add("".join(f"{part}/" for part in parts[:at]))
    if not prefixes:
        exports = any(name.endswith((".xml", ".xml.gz")) for name in names)
        advice = "Unpack it and name the folder of exports." if exports else "Pack the whole bundle, X.trace."
        raise InputError(path, "is an archive without a .trace bundle in it.", advice)
    if len(prefixes) > 1:
        listed = ", ".join(sorted(prefix.rstrip("/") or "." for prefix in prefixes)[:5])
        raise InputError(
            path, f"holds {len(prefixes)} bundles ({listed}).", "Unpack it and name one of them."
        )
    text = f"{outside} names that lead out of the archive were ignored"
    return prefixes.pop(), (text,) if outside else ()


def _bundle_name(prefix: str, shown: str) -> str:
    return PurePosixPath(prefix).name or shown


def _used(name: str) -> bool:
    parts = name.split("/")
    return "__MACOSX" not in parts and not any(part.startswith("._") for part in parts)
