"""Inputs: a file's kind by its first bytes, the recording in an uploaded folder, and fingerprints."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from tracekit.errors import InputError
from tracekit.parsers.bundle.container import is_archive, is_bundle_folder
from tracekit.parsers.input_kinds import INPUTS
from tracekit.parsers.kdebug.device_files import is_device_folder
from tracekit.parsers.kdebug.kernel_file_heads import is_kernel_recording
from tracekit_dashboard.library.store import UPLOADED_FILE

HEAD_BYTES = 512
TEXT_HEAD_BYTES = 64 << 10
"""The beginning of a file by which its kind is decided; that of an archive or an export takes 512 bytes."""
_TAR_MAGIC_OFFSET = 257
_MAGIC = ((b"PK\x03\x04", "zip"), (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_READABLE_INPUTS = f"Add {INPUTS}."
_MAX_FILES = 200_000


def detect_kind(head: bytes) -> str:
    """Return "zip", "gzip", "bzip2", "xz", "tar" or "xml" by the first ``HEAD_BYTES``; "" for others."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[_TAR_MAGIC_OFFSET:].startswith(b"ustar"):
        return "tar"
    for mark in _MARKS:
        head = head.removeprefix(mark)
    return "xml" if head.replace(b"\0", b"").lstrip().startswith(b"<") else ""


def refuse_unknown(name: str, head: bytes, path: Path | None = None) -> None:
    """Raise ``InputError`` for a file that begins like none of the formats that tracekit reads.

    A text of another tool is recognised by more of it, for which the file at ``path`` is read.
    """
    if not head:
        raise InputError(
            name,
            "is empty. Some browsers send a .trace as an empty file, because it is a folder.",
            "Zip it (in the Finder: right-click, Compress) and upload the zip.",
        )
    is_known = detect_kind(head) or is_kernel_recording(head) or (path is not None and _is_text(path))
    if not is_known:
        raise InputError(name, "is no recording, whatever its name says.", _READABLE_INPUTS)


def _is_text(path: Path) -> bool:
    # Readers of texts take half a second to import: the server needs them for such a file only.
    from tracekit.parsers.text.kinds import identify_text
    from tracekit.parsers.text.text_file import TextPlace

    return identify_text(TextPlace(str(path), path.name)) is not None


def read_head(path: Path) -> bytes:
    """Return a file's first bytes."""
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def find_inputs(path: Path, name: str, is_uploaded: bool) -> list[Path]:
    """Return the files to open of a recording: ``path``, or what its folder of an upload holds."""
    if not is_uploaded:
        return [path]
    single = path / UPLOADED_FILE
    return [single] if single.is_file() else find_openable(path, name)


def find_openable(folder: Path, name: str) -> list[Path]:
    """Return the recording in an uploaded folder: a bundle, a device's, an archive, or exports of one folder.

    File extensions are ignored. ``name`` is the folder's name in messages. Raises ``InputError`` unless
    there is exactly one recording.
    """
    whole: list[Path] = []
    exports: list[Path] = []
    for place, folders, files in os.walk(folder):
        current = Path(place)
        if is_bundle_folder(current) or is_device_folder(current):
            whole.append(current)
            folders.clear()
            continue
        folders[:] = [name for name in folders if name != "__MACOSX" and not name.startswith(".")]
        for path in (current / file for file in files if not file.startswith(".")):
            kind = detect_kind(read_head(path))
            if kind and kind != "xml" and (kind != "gzip" or is_archive(path)):
                whole.append(path)
            elif kind:
                exports.append(path)
    places = sorted({path.parent for path in exports})
    if len(whole) + len(places) > 1:
        found_names = ", ".join(sorted(path.relative_to(folder).as_posix() for path in (*whole, *places))[:5])
        raise InputError(name, f"holds more than one recording ({found_names}).", "Add one at a time.")
    if not whole and not exports:
        raise InputError(name, "is a folder without a recording.", _READABLE_INPUTS)
    return whole or sorted(exports)


def list_left_out(folder: Path, inputs: Collection[Path]) -> list[str]:
    """Return the files of an uploaded folder that are no part of its recording, ``inputs``, by name."""
    whole = set(inputs)
    names = []
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        is_part = bool(whole.intersection((path, *path.parents)))
        if (
            not is_part
            and not any(part.startswith(".") or part == "__MACOSX" for part in parts)
            and path.is_file()
        ):
            names.append("/".join(parts))
    return sorted(names)


def measure_size(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder; links are not followed."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(size for size in _iter_sizes(path))


def _iter_sizes(folder: Path) -> Iterator[int]:
    file_count = 0
    for place, _folders, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                yield (Path(place) / file).lstat().st_size
            file_count += 1
        if file_count > _MAX_FILES:
            raise InputError(
                folder.name, f"holds more than {_MAX_FILES:,} files: this is no recording.", _READABLE_INPUTS
            )


def compute_fingerprint(path: Path) -> str:
    """Return a text that changes when a file, or a bundle by another run, changes; "" without the file.

    Only the direct entries of a folder count: a new run adds or renews one of these.
    """
    try:
        status = path.stat()
        states = [_describe_entry(path.name, status)]
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(path) as entries:
                states += sorted(
                    _describe_entry(entry.name, entry.stat(follow_symlinks=False)) for entry in entries
                )
    except OSError:
        return ""
    return hashlib.sha256("\n".join(states).encode("utf-8", "surrogateescape")).hexdigest()


def _describe_entry(name: str, status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino} {name}"
