"""A library with no worker, small bundles and archives, and uploads in one call."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracekit_dashboard.library.catalog import Recording, to_microseconds
from tracekit_dashboard.library.catalog_tables import RECORDINGS
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.reading_results import RESULTS_VERSION
from tracekit_dashboard.settings import ServerLimits

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "sample_traces" / "gpu-mpsgraph-macos15-bundle" / "recording.trace"
EXPORTS = ROOT / "sample_traces" / "ane-e5rt-macos26"
BUNDLE_VERDICT = "The model submitted work to the GPU in all 12 calls"
EXPORT_VERDICT = "The model submitted work to the Neural Engine in all 12 calls"
EXPORTS_VERDICT = "SpeechEncoder submitted work to the Neural Engine in all 12 calls"
XML = b'<?xml version="1.0"?>\n<trace-query-result></trace-query-result>\n'
CONTENT = XML + bytes(range(256)) * 40
FACTS = {
    "verdict": "",
    "device": "",
    "system": "",
    "app": "",
    "engines": "",
    "digest": "",
    "duration_ns": 1,
    "samples": 0,
    "windows": 0,
    "p50_ns": 0,
    "recorded_us": 0,
}
SUMMARY = json.dumps({"results": RESULTS_VERSION, **FACTS})
"""A worker's statement about a recording."""
QUIET = ServerLimits(workers=0, free_disk_bytes=0)
"""Limits under which nothing is read."""
ONE_READER = ServerLimits(free_disk_bytes=0)


@contextmanager
def opened(folder: Path, limits: ServerLimits = QUIET) -> Iterator[Library]:
    library = Library(folder, limits)
    try:
        yield library
    finally:
        library.close()


def ready(library: Library, recording: Recording) -> str:
    """The recording as if a worker had read it."""
    results = library._store.results(recording.id)
    results.mkdir(parents=True)
    (results / "summary.json").write_text(SUMMARY)
    library._catalog.change(recording.id, state="ready")
    return recording.id


def upload(library: Library, name: str, content: bytes, slice_bytes: int = 1 << 20) -> Recording:
    number = library.uploads.begin(name, len(content))
    send(library, number, content, slice_bytes)
    return library.uploads.finish(number)


def upload_folder(library: Library, name: str, files: Sequence[tuple[str, bytes]]) -> Recording:
    number = library.uploads.begin(name, files=[(path, len(content)) for path, content in files])
    send(library, number, b"".join(content for _, content in files))
    return library.uploads.finish(number)


def send(library: Library, number: str, content: bytes, slice_bytes: int = 1 << 20) -> None:
    """Go on where the upload stands, to the end of ``content``."""
    offset = library.uploads.find_offset(number)
    while offset < len(content):
        piece = content[offset : offset + slice_bytes]
        offset = library.uploads.append(number, offset, io.BytesIO(piece), len(piece))


def append(library: Library, number: str, offset: int, piece: bytes) -> int:
    return library.uploads.append(number, offset, io.BytesIO(piece), len(piece))


def received(library: Library, recording_id: str) -> bytes:
    return (library._store.input(recording_id) / "recording").read_bytes()


def files_of(folder: Path) -> list[tuple[str, bytes]]:
    """A folder as browsers send one: every path begins with its name."""
    return [
        (path.relative_to(folder.parent).as_posix(), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def zipped(folder: Path) -> bytes:
    return archive(dict(files_of(folder)))


def archive(files: Mapping[str, bytes]) -> bytes:
    """A zip with these names, whatever they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return buffer.getvalue()


def linked(bundle: Path) -> bytes:
    """A tar of a bundle in which every file is a link to one of this machine."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, _ in files_of(bundle):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            made.addfile(entry)
    return buffer.getvalue()


def claim(bundle: Path, size_bytes: int) -> bytes:
    """Return a compressed tar whose first file claims a size."""
    entry = tarfile.TarInfo(f"{bundle.name}/form.template")
    entry.size = size_bytes
    return gzip.compress(entry.tobuf())


def tarred(folder: Path, mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, folder.name)
    return buffer.getvalue()


def settled(library: Library, recording: Recording, seconds: float = 60) -> Recording:
    """The recording once nothing is to be done with it."""
    wait_for(lambda: library.find_recording(recording.id).state not in ("waiting", "reading"), seconds)
    return library.find_recording(recording.id)


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)


def tree(folder: Path) -> list[str]:
    """All files below a folder, with the database's own, the lock and the mark of a library left out."""
    library_files = ("lock", "catalog.sqlite3", "tracekit-library.json")
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return sorted(path for path in paths if not path.startswith(library_files))


def files_of_upload(recording_id: str) -> list[str]:
    """What a library has of an upload that was not read."""
    return [f"recordings/{recording_id}/{name}" for name in ("about.json", "input/recording")]


def removed(library: Library, recording_id: str) -> None:
    """Delete a recording, and then for good."""
    library.delete(recording_id)
    library.purge(recording_id)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended without a reader of its exit code does not."""
    result = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(result.stdout.strip()) and not result.stdout.strip().startswith("Z")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def add_many(library: Library, recordings: Sequence[Recording]) -> None:
    """Add recordings in one write."""
    columns = [column.name for column in RECORDINGS.columns]
    rows = [
        {name: getattr(recording, name) for name in columns if hasattr(recording, name)}
        | {"path": os.fsencode(recording.path), "added_us": to_microseconds(recording.added)}
        | {"recorded_us": to_microseconds(recording.recorded) if recording.recorded else 0}
        for recording in recordings
    ]
    with library._catalog._writing() as connection:
        connection.execute(RECORDINGS.insert(), rows)
