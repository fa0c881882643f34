"""A library of literal recordings that records its calls."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracekit_dashboard.errors import Conflict, NotFound, OtherContent
from tracekit_dashboard.jobs.download_jobs import Downloads
from tracekit_dashboard.jobs.queue import JobQueue
from tracekit_dashboard.library.catalog import DiskUse, Recording
from tracekit_dashboard.library.notes import PinnedNotes
from tracekit_dashboard.library.uploads import UnfinishedUpload
from tracekit_dashboard.settings import ServerLimits

READY = "a" * 32
BUSY = "b" * 32
FAILED = "c" * 32
SAMPLES = gzip.compress(b"the samples", mtime=0)


def recording(recording_id: str = READY, **changed: Any) -> Recording:
    plain = Recording(
        id=recording_id,
        name="Camera.trace",
        origin="file",
        path="/home/somebody/Camera.trace",
        size_bytes=12_345_678,
        added=datetime(2026, 3, 4, 5, 6, tzinfo=UTC),
        state="ready",
        verdict="All 10 inferences ran on the ANE.",
        device="iPhone17,1",
        system="iOS 27.0",
        duration_ns=2_500_000_000,
        samples=200,
        windows=10,
    )
    return replace(plain, **changed)


class FakeUploads:
    def __init__(self) -> None:
        self.begun: list[tuple[str, Any]] = []
        self.content = b""
        self.left: list[UnfinishedUpload] = []

    def list_unfinished(self) -> list[UnfinishedUpload]:
        return self.left

    def begin(self, name: str, size_bytes: int = 0, *, files: Any = None) -> str:
        self.begun.append((name, size_bytes if files is None else files))
        return "f" * 32

    def find_offset(self, upload: str) -> int:
        if upload != "f" * 32:
            raise NotFound("There is no such upload.")
        return len(self.content)

    def append(self, upload: str, offset: int, stream: Any, length: int, digest: str = "") -> int:
        if digest and digest != "d" * 64:
            raise OtherContent("It is not the file.")
        if offset != self.find_offset(upload):
            raise Conflict("The upload continues at another byte.")
        self.content += stream.read(length)
        return len(self.content)

    def finish(self, upload: str, sha256: str = "", digest: str = "") -> Recording:
        return recording(READY)

    def cancel(self, upload: str) -> None:
        self.content = b""


class FakeLibrary:
    def __init__(self, folder: Path, *recordings: Recording) -> None:
        self.folder = folder
        self.held = {recording_.id: recording_ for recording_ in recordings or (recording(),)}
        self.uploads = FakeUploads()
        self.queue = JobQueue()
        self.notes = PinnedNotes(lambda _recording_id: folder)
        self.downloads = Downloads(self, self.queue, ServerLimits())
        self.asked: list[tuple[str, str]] = []
        (folder / "view.bin.gz").write_bytes(gzip.compress(b"the view", mtime=0))
        (folder / "samples.bin.gz").write_bytes(SAMPLES)
        (folder / "summary.json").write_bytes(b"{}")
        sections = {
            "verdict": '<section id="verdict"><h2>Verdict</h2><p>All on the <b>ANE</b>.</p></section>'
        }
        (folder / "sections.json.gz").write_bytes(gzip.compress(json.dumps(sections).encode()))

    @property
    def revision(self) -> str:
        return repr(self.held)

    def find_originals(self, recordings: list[Recording]) -> dict[str, str]:
        return {}

    def count(self, search: str = "", tag: str = "", deleted: bool = False) -> int:
        return len(self.list_recordings(search, tag, deleted))

    def list_recordings(
        self,
        search: str = "",
        tag: str = "",
        deleted: bool = False,
        offset: int = 0,
        count: int | None = None,
        order: str = "",
    ) -> list[Recording]:
        del order
        recordings = [value for value in self.held.values() if (value.deleted is not None) == deleted]
        return [
            recording_
            for recording_ in recordings
            if search in recording_.name and (not tag or tag in recording_.tags)
        ][offset : None if count is None else offset + count]

    def count_tags(self) -> list[tuple[str, int]]:
        return sorted(Counter(tag for recording in self.list_recordings() for tag in recording.tags).items())

    def place(self, recording: Recording) -> str:
        return recording.path

    def is_recorded(self, recording: Recording) -> bool:
        return False

    def find_recording(self, recording_id: str) -> Recording:
        if recording_id not in self.held:
            raise NotFound("There is no such recording.")
        return self.held[recording_id]

    def open_recording(self, recording_id: str) -> Recording:
        return self.find_recording(recording_id)

    def build_arguments(self, analysis_id: str) -> list[str]:
        return []

    def note_results(self, recording_id: str) -> None:
        pass

    def measure_disk_use(self) -> DiskUse:
        return DiskUse(0, 0, 0)

    def find_view(self, recording_id: str) -> Path:
        return self._file(recording_id, "view.bin.gz")

    def find_result(self, recording_id: str, name: str) -> Path:
        return self._file(recording_id, name)

    def find_results(self, recording_id: str) -> Path:
        return self._file(recording_id, "summary.json").parent

    def find_sections(self, recording_id: str) -> Path:
        return self._file(recording_id, "sections.json.gz")

    def _file(self, recording_id: str, name: str) -> Path:
        recording = self.find_recording(recording_id)
        if recording.deleted:
            raise NotFound(f"{recording.name} was deleted.")
        if recording.state != "ready":
            raise NotFound("This recording has not been read yet.")
        return self.folder / name

    def edit(self, recording_id: str, **changed: Any) -> Recording:
        self.held[recording_id] = replace(
            self.held[recording_id], **{key: value for key, value in changed.items() if value is not None}
        )
        return self.held[recording_id]

    def delete(self, recording_id: str) -> None:
        self.asked.append(("delete", recording_id))
        self.held[recording_id] = replace(
            self.find_recording(recording_id), deleted=datetime(2026, 3, 5, tzinfo=UTC)
        )

    def restore(self, recording_id: str) -> Recording:
        self.held[recording_id] = replace(self.held[recording_id], deleted=None)
        return self.held[recording_id]

    def purge(self, recording_id: str) -> None:
        del self.held[recording_id]

    def cancel(self, recording_id: str) -> None:
        self.asked.append(("cancel", recording_id))

    def retry(self, recording_id: str) -> Recording:
        self.asked.append(("retry", recording_id))
        return self.held[recording_id]

    def close(self) -> None: ...
