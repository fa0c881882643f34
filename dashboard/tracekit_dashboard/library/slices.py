"""Slices of an upload, whose files form one sequence of bytes: their place in files, and durable writing."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from tracekit_dashboard.library.block_digest import BlockDigest, Readable

_ABOUT = "about.json"
_OFFSET = "offset"
_BLOCK_BYTES = 1 << 20
_MAX_SYNCED_ALONE = 8
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
"""What the system reports when a disk, or a user's part of it, is full."""


@dataclass(frozen=True)
class SlicePlan:
    """The announced content: a file, or with ``folder`` a folder's files, by checked paths."""

    name: str
    folder: bool
    paths: tuple[str, ...]
    sizes: tuple[int, ...]

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The end of each file in the sequence of bytes."""
        return tuple(accumulate(self.sizes))

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return self.ends[-1] if self.ends else 0

    def iter_pieces(self, start: int, length: int) -> Iterator[tuple[str, int, int]]:
        """Yield (path, position in the file, size) for each file that a slice covers."""
        end = start + length
        number = bisect_right(self.ends, start)
        while start < end:
            size = min(end, self.ends[number]) - start
            yield self.paths[number], start - (self.ends[number] - self.sizes[number]), size
            start += size
            number = bisect_right(self.ends, start)


def save_plan(folder: Path, plan: SlicePlan) -> None:
    """Write a new upload's plan; its folder appears with it, or not at all."""
    draft = folder.with_name(f"new-{folder.name}")
    try:
        draft.mkdir(mode=0o700)
        (draft / _ABOUT).write_text(json.dumps(asdict(plan)))
        write_offset(draft, 0)
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def load_plan(folder: Path) -> SlicePlan:
    """Return the plan that ``save_plan`` wrote; raises as reading and decoding do."""
    plan = json.loads((folder / _ABOUT).read_bytes())
    return SlicePlan(str(plan["name"]), bool(plan["folder"]), tuple(plan["paths"]), tuple(plan["sizes"]))


def read_offset(folder: Path) -> int:
    """Return the number of bytes that are durably on the disk."""
    return int((folder / _OFFSET).read_bytes() or b"0")


def write_offset(folder: Path, offset: int) -> None:
    """Record the number of durable bytes, in place: so short a write is atomic."""
    descriptor = os.open(folder / _OFFSET, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{offset:020d}".encode())
    finally:
        os.close(descriptor)


def read_offset_time(folder: Path) -> float:
    """Return when the offset was last written, or without one the plan, in seconds since 1970."""
    with suppress(FileNotFoundError):
        return (folder / _OFFSET).stat().st_mtime
    return (folder / _ABOUT).stat().st_mtime


def write_pieces(folder: Path, pieces: Sequence[tuple[str, int, int]], stream: Readable) -> int:
    """Write bytes durably into files below ``folder``: (path, position, size), see ``SlicePlan.pieces``.

    Returns the number of bytes: fewer than announced if the stream ends early. A file is truncated at its
    position first. Many small files are synced together: each alone takes a millisecond or more.
    """
    sync_together = find_file_system_sync() if len(pieces) > _MAX_SYNCED_ALONE else None
    written = 0
    for path, start, size in pieces:
        arrived = _write_piece(folder / path, start, stream, size, is_synced=sync_together is None)
        written += arrived
        if arrived < size:
            break
    if sync_together is not None:
        sync_together(folder)
    return written


def _write_piece(path: Path, start: int, stream: Readable, size: int, is_synced: bool) -> int:
    written = 0
    with os.fdopen(_open_for_writing(path), "wb", buffering=0) as file:
        file.truncate(start)
        file.seek(start)
        try:
            while written < size and (block := _read_next(stream, min(_BLOCK_BYTES, size - written))):
                _write_all(file.fileno(), block)
                written += len(block)
        finally:
            if is_synced:
                os.fsync(file.fileno())
    return written


def _open_for_writing(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)


@cache
def find_file_system_sync() -> Callable[[Path], None] | None:
    """Return a function that makes all writes to a folder's file system durable; None where there is none.

    Linux has ``syncfs``, which Python does not offer. ``os.sync`` is not enough on macOS: it returns before
    the bytes are on the disk.
    """
    if sys.platform != "linux":
        return None
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None

    def sync(folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            if syncfs(descriptor):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
        finally:
            os.close(descriptor)

    return sync


def _read_next(stream: Readable, size: int) -> bytes:
    try:
        return stream.read(size)
    except ConnectionError:
        return b""


def _write_all(descriptor: int, block: bytes) -> None:
    remaining = memoryview(block)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def sync_folder(folder: Path) -> None:
    """Make renames into a folder durable, where the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def digest_pieces(folder: Path, pieces: Iterable[tuple[str, int, int]]) -> BlockDigest:
    """Return the digest of bytes below ``folder``: (path, position, size), see ``SlicePlan.pieces``."""
    digest = BlockDigest()
    for path, start, size in pieces:
        with (folder / path).open("rb") as file:
            file.seek(start)
            end = digest.size_bytes + size
            while block := file.read(min(_BLOCK_BYTES, end - digest.size_bytes)):
                digest.update(block)
    return digest


def iter_blocks(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes in blocks; nothing if it does not exist."""
    if path.exists():
        with path.open("rb") as file:
            yield from _iter_file_blocks(file)


def _iter_file_blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block
