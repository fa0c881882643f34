"""The container of a recording as ``BundleFiles``: a bundle's folder, or a zip or tar of a bundle or exports.

Nothing is unpacked to the disk. File names are relative to the bundle, or to the folder of exports:

    recordings/X.trace/form.template              a name in an archive or on the disk
    └──── prefix ────┘ form.template              the name inside the bundle

Paths that lead out of the recording (symbolic links, ``..``, absolute names) are never opened. ``__MACOSX``
and ``._*`` are metadata that macOS adds to archives and to other file systems; they are ignored.
"""

from __future__ import annotations

import io
import lzma
import os
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, TypeAlias, TypeVar, cast

from tracekit.errors import InputError
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError
from tracekit.parsers.bundle.tar import TarReader
from tracekit.parsers.bundle.unpacking import BZIP2, GZIP, XZ
from tracekit.parsers.kdebug.device_files import DEVICE_JOURNAL
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits, require_at_most
from tracekit.parsers.zip_archive import BoundedZip, is_link
from tracekit.text import clip, format_size, list_first

_Entry = TypeVar("_Entry")
_Kind: TypeAlias = Literal["bundle", "device recording", "folder of exports"]

EXPORT_ENDINGS = (".xml", ".xml.gz")

_BUNDLE_MARKERS = ("form.template", "open.creq", "corespace", "instrument_data")
"""A folder that holds one of these is a bundle."""

# No table needs these: interface state, scratch data of the last recording, data of old instruments, and
# raw recordings.
_UNUSED = (
    "instrument_data/",
    "shared_data/",
    "corespace/currentRun/",
    "UI_state_metadata.bin",
    "Attachments/",
)

_MAX_LISTED_LINKS = 3
_MAX_LINK_CHARACTERS = 80
_ENCRYPTED = 1  # a flag of zip entries
_ZIP_MAGIC = b"PK\x03\x04"
_TAR_MAGIC_OFFSET = 257
HEAD_BYTES = 4096  # of a gzip, enough for the first 512 bytes in it
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,  # a zip with an unknown compression
    RuntimeError,  # a zip with a password
)
_MAKE_AGAIN = "Make the archive again, or download it again."


def is_bundle_folder(path: Path) -> bool:
    """Return whether a folder is a bundle, by its name or its content."""
    return path.suffix == ".trace" or any((path / marker).exists() for marker in _BUNDLE_MARKERS)


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip or a tar (compressed or not), by its first bytes."""
    with path.open("rb") as file:
        return is_archive_head(file.read(HEAD_BYTES))


def is_archive_head(head: bytes) -> bool:
    """Return whether a file with these first bytes is a zip or a tar."""
    if head.startswith(GZIP):
        with suppress(OSError, EOFError, zlib.error):
            head = zlib.decompressobj(31).decompress(head, _TAR_MAGIC_OFFSET + 8)
    is_tar = head[_TAR_MAGIC_OFFSET:].startswith(b"ustar")
    return is_tar or head.startswith((_ZIP_MAGIC, BZIP2, XZ))


def open_bundle_files(path: str, display_name: str, limits: Limits = DEFAULT_LIMITS) -> BundleFiles:
    """Open a bundle's folder, or the one bundle or folder of exports inside an archive (``ArchiveFiles``).

    Messages use ``display_name``. Raises ``InputError`` for an archive that holds no recording or several, or
    exceeds ``limits``.
    """
    if Path(path).is_dir():
        return FolderFiles(path, display_name, limits)
    try:
        with Path(path).open("rb") as file:
            # Not zipfile.is_zipfile, which reads the end: a tar of a bundle may end with a zip inside it.
            is_zip = file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
        return (_ZipFiles if is_zip else _TarFiles)(path, display_name, limits)
    except zipfile.BadZipFile as error:  # its directory, at the end, is missing
        raise InputError(path, "cannot be unpacked: it is cut off or damaged.", _MAKE_AGAIN) from error
    except _ARCHIVE_ERRORS as error:
        raise InputError(path, f"cannot be unpacked: {error}.", _MAKE_AGAIN) from error


class FolderFiles:
    """A bundle as a folder on the disk; the size of a file is looked up on request."""

    def __init__(self, path: str, display_name: str, limits: Limits) -> None:
        self.name = display_name
        self._root = str(Path(path).resolve())
        self._sizes: dict[str, int | None] = {}
        links: list[str] = []
        unreadable: list[OSError] = []
        # Not os.walk with a Path per file: a bundle of 20,000 tables has 80,000 files.
        folders = [("", self._root)]
        folder_count = 0
        while folders:
            prefix, folder = folders.pop()
            try:
                with os.scandir(folder) as scan:
                    entries = [entry for entry in scan if not _is_metadata(entry.name)]
            except OSError as problem:
                unreadable.append(problem)
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append((f"{prefix}{entry.name}/", entry.path))
                elif self._is_inside(entry):
                    self._sizes[prefix + entry.name] = None
                else:
                    links.append(entry.name)
            require_at_most(path, folder_count + len(self._sizes) + len(links), limits.files, "files")
            folder_count += 1
        if unreadable and not self._sizes:
            raise unreadable[0]
        warnings = _link_warnings(links)
        for error in unreadable:
            relative = Path(str(error.filename)).relative_to(self._root).as_posix()
            warnings.append(f"{relative} cannot be read ({error.strerror}); its content is missing here")
        self.warnings: tuple[str, ...] = tuple(warnings)

    def _is_inside(self, entry: os.DirEntry[str]) -> bool:
        """Return True for a regular file inside the bundle."""
        # The folders above are not links. Windows has further kinds of links, which is_symlink() omits.
        if os.name == "posix" and not entry.is_symlink():
            return entry.is_file()
        try:
            entry.stat()  # first: the system follows forty links in a row, resolve() thousands
            return entry.is_file() and Path(entry.path).resolve(strict=True).is_relative_to(self._root)
        except (OSError, RuntimeError):  # a link to a missing file, or to itself
            return False

    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""
        return self._sizes

    def size(self, name: str) -> int:
        """See ``BundleFiles``."""
        size_bytes = self._sizes.get(name, -1)
        if size_bytes is None:
            size_bytes = self._sizes[name] = _measure_occupied(f"{self._root}/{name}")
        return size_bytes

    def open(self, name: str) -> BinaryIO:
        """See ``BundleFiles``."""
        if name not in self._sizes:
            raise DamagedFileError(name, "is missing")
        try:
            # Without a buffer, whose set-up takes longer than reading a small file.
            return cast(BinaryIO, open(f"{self._root}/{name}", "rb", buffering=0))  # noqa: PTH123
        except OSError as error:
            raise DamagedFileError(name, f"cannot be read ({error.strerror})") from error


def _measure_occupied(path: str) -> int:
    """Return a file's size without holes: limits must not grow with gigabytes that are not stored."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each file takes as long as reading a small one
    except OSError:  # it is gone or unreadable, which opening it reports
        return 0
    return min(status.st_size, 512 * getattr(status, "st_blocks", status.st_size))


class ArchiveFiles(ABC):
    """A recording inside an archive; ``exports`` are the names of its exports, none of another kind."""

    name: str
    kind: _Kind
    exports: tuple[str, ...]
    warnings: tuple[str, ...]

    def _find_entries(
        self, path: str, display_name: str, entries: dict[str, _Entry], links: Collection[str]
    ) -> dict[str, _Entry]:
        """Return the entries of the one recording among those of an archive, by their names in it."""
        prefix, self.kind, self.warnings = _find_recording(path, entries, links)
        self.name = PurePosixPath(prefix).name or display_name
        inner_entries = _select_inside(prefix, entries)
        are_exports = self.kind == "folder of exports"
        self.exports = tuple(sorted(name for name in inner_entries if are_exports and _is_export(name)))
        return inner_entries

    @abstractmethod
    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""

    @abstractmethod
    def size(self, name: str) -> int:
        """See ``BundleFiles``."""

    @abstractmethod
    def unpacked_bytes(self, name: str) -> int:
        """Return the size of a file without the archive."""

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """See ``BundleFiles``."""


class _ZipFiles(ArchiveFiles):
    """A zip archive, read member by member."""

    def __init__(self, path: str, display_name: str, limits: Limits) -> None:
        self._zip = BoundedZip(path, limits.files)
        # Not entry.is_dir(), which fails for an empty name before Python 3.12.
        files = (entry for entry in self._zip.infolist() if not entry.filename.endswith("/"))
        entries = {_strip_prefix(entry.filename): entry for entry in files}
        links = [name for name, entry in entries.items() if is_link(entry)]
        for name in links:
            del entries[name]
        # A bundle holds zips. Where the outer one is cut off, zipfile reads the directory of one inside.
        is_inner = min((entry.header_offset for entry in self._zip.infolist()), default=0) > 0
        try:
            self._entries = self._find_entries(path, display_name, entries, links)
        except InputError:
            if is_inner:
                raise zipfile.BadZipFile from None
            raise
        self._zip_bytes = Path(path).stat().st_size
        # Files that share their bytes would unpack to many times the limits.
        read_whole = self._entries if self.kind == "device recording" else self.exports
        overlap = sum(self._entries[name].compress_size for name in read_whole) > self._zip_bytes
        if read_whole and (is_inner or overlap):
            raise zipfile.BadZipFile

    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""
        return self._entries

    def size(self, name: str) -> int:
        """See ``BundleFiles``."""
        # The archive's own claim, which may be larger than the archive.
        return min(self._entries[name].compress_size, self._zip_bytes) if name in self._entries else -1

    def unpacked_bytes(self, name: str) -> int:
        """See ``ArchiveFiles``; ``ZipFile`` reads no more than that."""
        return self._entries[name].file_size

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


class _TarFiles(ArchiveFiles):
    """A tar, its (compressed) files in memory: a tar can only be read from front to back."""

    def __init__(self, path: str, display_name: str, limits: Limits) -> None:
        contents: dict[str, bytes] = {}
        links: list[str] = []
        stored_bytes = Path(path).stat().st_size
        held_bytes = max_held_bytes = limits.held_bytes(stored_bytes)
        with Path(path).open("rb") as file:
            archive = TarReader(file, path, stored_bytes, limits)
            for member in archive:
                name = _strip_prefix(member.name)
                if not member.is_file:
                    links += [] if member.is_folder else [name]
                    continue
                # The name of an unused file is still needed: it may mark the bundle, or an old recording.
                needed_bytes = member.size_bytes if _may_be_read(name) else 0
                held_bytes -= needed_bytes
                if held_bytes < 0:
                    size = format_size(max_held_bytes)
                    raise LimitError(path, f"has files of more than {size}, which a tar keeps in memory,")
                contents[name] = archive.read(needed_bytes)
        self._contents = self._find_entries(path, display_name, contents, links)

    def names(self) -> Iterable[str]:
        """See ``BundleFiles``."""
        return self._contents

    def size(self, name: str) -> int:
        """See ``BundleFiles``."""
        return len(self._contents[name]) if name in self._contents else -1

    def unpacked_bytes(self, name: str) -> int:
        """See ``ArchiveFiles``."""
        return len(self._contents[name])

    def open(self, name: str) -> BinaryIO:
        """See ``BundleFiles``."""
        if name not in self._contents:
            raise DamagedFileError(name, "is missing")
        return io.BytesIO(self._contents[name])


def _strip_prefix(name: str) -> str:
    """Return the name without the ``./`` that ``tar -c ./X.trace`` puts before every one."""
    return name.removeprefix("./")


def _may_be_read(name: str) -> bool:
    """Return whether a table can need the file's content."""
    return not any(f"/{part}" in f"/{name}" for part in _UNUSED)


def _find_recording(
    path: str, names: Iterable[str], links: Collection[str]
) -> tuple[str, _Kind, tuple[str, ...]]:
    """Return the prefix and kind of the one recording in an archive, and warnings about ignored names.

    In an archive with a bundle, nothing else is a recording; exports are one only where nothing else is.
    """
    found: dict[_Kind, set[str]] = {"bundle": set(), "device recording": set(), "folder of exports": set()}
    outside_count = 0
    for name in names:
        parts = PurePosixPath(name).parts
        if ".." in parts or name.startswith("/") or "\\" in name:
            outside_count += 1
            continue
        if any(map(_is_metadata, parts)):
            continue
        depth = next((depth for depth, part in enumerate(parts) if part in _BUNDLE_MARKERS), None)
        if depth is not None:
            found["bundle"].add("".join(f"{part}/" for part in parts[:depth]))
        elif parts and parts[-1] == DEVICE_JOURNAL:
            found["device recording"].add("".join(f"{part}/" for part in parts[:-1]))
        elif parts and _is_export(parts[-1]):
            found["folder of exports"].add("".join(f"{part}/" for part in parts[:-1]))
    kind, prefixes = next(((kind, names) for kind, names in found.items() if names), ("bundle", set()))
    if not prefixes:
        notes = "".join(f" ({warning})" for warning in _link_warnings(links))
        problem = f"is an archive without a .trace bundle or exports in it{notes}."
        raise InputError(path, problem, "Pack the whole X.trace.")
    if len(prefixes) > 1:
        names_listed = ", ".join(sorted(prefix.rstrip("/") or "." for prefix in prefixes)[:5])
        kinds = "folders of exports" if kind == "folder of exports" else f"{kind}s"
        problem = f"holds {len(prefixes)} {kinds} ({names_listed})."
        raise InputError(path, problem, "Unpack it and name one of them.")
    warnings = (
        [f"names that lead out of the archive were ignored: {outside_count:,}"] if outside_count else []
    )
    return prefixes.pop(), kind, (*warnings, *_link_warnings(links))


def _is_export(name: str) -> bool:
    """Return whether a name is one of an export in a recording's folder, not in a folder below it."""
    return name.endswith(EXPORT_ENDINGS) and not name.startswith(".") and not {"/", "\\"} & set(name)


def _link_warnings(links: Collection[str]) -> list[str]:
    """Return a warning that names the first links of a bundle, if it has any."""
    if not links:
        return []
    names_listed = list_first([clip(name, _MAX_LINK_CHARACTERS) for name in sorted(links)], _MAX_LISTED_LINKS)
    return [f"links and special files are not followed: {names_listed}"]


def _select_inside(prefix: str, entries: dict[str, _Entry]) -> dict[str, _Entry]:
    """Return the entries below ``prefix`` by their names in the bundle, without macOS metadata."""
    inner_entries = {
        name.removeprefix(prefix): entry for name, entry in entries.items() if name.startswith(prefix)
    }
    return {
        name: entry for name, entry in inner_entries.items() if not any(map(_is_metadata, name.split("/")))
    }


def _is_metadata(part: str) -> bool:
    """Return True for the name of a file or folder that macOS adds."""
    return part == "__MACOSX" or part.startswith("._")
