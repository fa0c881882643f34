"""The content of recordings as SHA-256, remembered in a dataset: unchanged files are not read again.

Contents that are copies of others (``copies``) are remembered as well, so that these are not analyzed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracekit.errors import InputError
from tracekit.fleet import stores
from tracekit.fleet.recording_inputs import RecordingInput
from tracekit.text import printable

_CACHE = "contents.json"
_COPIES = "copies"
"""The key of copies, by their content; addresses are paths from the root, or have a scheme."""
_MAX_BYTES = 256_000_000


def digest_content(path: Path, members: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 of a file, of a folder's files with their names, or of some files of a folder.

    ``path`` is the folder, or one of those files. Raises ``InputError`` for what cannot be read.
    """
    try:
        if not members and path.is_file():
            return _digest_file(path)
        whole, folder = hashlib.sha256(), path.parent if path.is_file() else path
        for file in sorted([Path(member) for member in members] or _list_files(path)):
            name = file.relative_to(folder).as_posix()
            whole.update(f"{name}\0{_digest_file(file)}\n".encode("utf-8", "surrogateescape"))
        return whole.hexdigest()
    except OSError as error:
        place = printable(os.fsdecode(error.filename or path))
        raise InputError(place, f"cannot be read: {error.strerror or error}.") from error


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _list_files(folder: Path) -> list[Path]:
    found = list(_walk_files(folder))
    if not found and not folder.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(folder))
    return found


def _walk_files(folder: Path) -> Iterator[Path]:
    for place, _folders, files in os.walk(folder):
        for name in files:
            path = Path(place) / name
            if path.is_file():
                yield path


def compute_fingerprint(recording: RecordingInput) -> str:
    """Return a text that changes with a recording's files, without reading them; "" where none is known."""
    if recording.is_remote:
        versions = [stores.read_version(address) for address in recording.members or [recording.address]]
        states = [] if "" in versions else versions
    else:
        try:
            states = list(_iter_file_states(recording))
        except OSError:
            states = []
    return hashlib.sha256("\n".join(states).encode("utf-8", "surrogateescape")).hexdigest() if states else ""


def _iter_file_states(recording: RecordingInput) -> Iterator[str]:
    path = Path(recording.address)
    files = [Path(member) for member in recording.members] or (
        [path] if path.is_file() else sorted(_walk_files(path))
    )
    for file in files:
        status = file.stat()
        yield f"{file} {status.st_size} {status.st_mtime_ns}"


class ContentCache:
    """The digests of recordings by address and fingerprint, kept in the folder of a dataset."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _CACHE
        document = self._read_cache()
        self._known = {
            name: value for name, value in document.items() if isinstance(value, list) and len(value) == 2
        }
        copies = document.get(_COPIES)
        self._copies: dict[str, object] = copies if isinstance(copies, dict) else {}
        self._is_changed = False

    def _read_cache(self) -> dict[str, Any]:
        # It may be lost or damaged without harm: digests are then computed again.
        with suppress(OSError, ValueError):
            if self._path.stat().st_size <= _MAX_BYTES:
                document = json.loads(self._path.read_bytes())
                return document if isinstance(document, dict) else {}
        return {}

    def get(self, address: str, mark: str) -> str:
        """Return the digest of a recording whose files are as they were, "" where it is not known."""
        known, content = self._known.get(address, ["", ""])
        return content if mark and known == mark and isinstance(content, str) else ""

    def put(self, address: str, mark: str, content: str) -> None:
        """Remember a digest, where files have a fingerprint."""
        if mark and content:
            self._known[address] = [mark, content]
            self._is_changed = True

    def put_copy(self, content: str, counted_content: str) -> None:
        """Remember that a content is a copy of another one, which counts."""
        self._copies.pop(counted_content, None)
        self._copies[content] = counted_content
        self._is_changed = True

    def find_counted_copy(self, content: str) -> str:
        """Return the content that counts for a copy, "" for a content that is none."""
        counted_content, visited = content, {content}
        while isinstance(following := self._copies.get(counted_content), str) and following not in visited:
            visited.add(following)
            counted_content = following
        return counted_content if counted_content != content else ""

    def save(self) -> None:
        """Write what was added; a cache that cannot be written costs time alone."""
        if not self._is_changed:
            return
        with suppress(OSError):
            descriptor, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=f".{_CACHE}.")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
                    json.dump({**self._known, _COPIES: self._copies}, file)
                Path(temporary).replace(self._path)
                self._is_changed = False
            finally:
                Path(temporary).unlink(missing_ok=True)
