"""Workers with a fixed behaviour, and recordings of every kind that real workers read."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import pytest
from library_support import (
    BUNDLE,
    EXPORTS,
    XML,
    archive,
    claim,
    files_of,
    is_alive,
    linked,
    settled,
    tarred,
    tree,
    wait_for,
    zipped,
)

from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.settings import ServerLimits

EXPORT = (EXPORTS / "time-profile.xml").read_bytes()
ONE = ServerLimits(free_disk_bytes=0)
TWO = ServerLimits(workers=2, free_disk_bytes=0)
RESULTS = [
    "counters.json.gz",
    "inventory.json",
    "measures.json",
    "processes.json",
    "rows.arrow",
    "samples.bin.gz",
    "sections.json.gz",
    "summary.json",
    "view.bin.gz",
]
FILES = {
    "Safari.trace": zipped(BUNDLE),
    "holiday.jpg": tarred(BUNDLE, "w:gz"),
    "x.trace": gzip.compress(EXPORT),
    "x.csv": EXPORT,
    "cut.zip": zipped(BUNDLE)[:-500],
    "exports.zip": zipped(EXPORTS),
    "two.zip": archive(
        {f"{letter}.trace/{name}": content for letter in "ab" for name, content in files_of(BUNDLE)}
    ),
    "outside.zip": archive({f"../../{name}": content for name, content in files_of(BUNDLE)}),
    "absolute.zip": archive({f"/tmp/{name}": content for name, content in files_of(BUNDLE)}),
    "bomb.zip": archive(
        {
            name: bytes(4 << 20)
            for name, _ in files_of(BUNDLE)
            if "uniquing" in name or name.endswith("bulkstore")
        }
    ),
    "bomb.tgz": claim(BUNDLE, 10_000_000_000),
    "linked.tar": linked(BUNDLE),
    "damaged.zip": archive({name: content[: len(content) // 2] for name, content in files_of(BUNDLE)}),
    "empty.xml": XML,
    "cut export.zip": archive({"x/time-profile.xml": EXPORT[:-1000]}),
    "cut.gz": gzip.compress(EXPORT)[:-100],
}
FOLDERS = {
    "bundle": files_of(BUNDLE),
    "renamed": [(f"drop/{path.replace('.trace', '')}", content) for path, content in files_of(BUNDLE)],
    "zip": [
        ("drop/.DS_Store", b"x"),
        ("drop/__MACOSX/x", b"<x>"),
        ("drop/notes.txt", b"x"),
        ("drop/x.trace.zip", zipped(BUNDLE)),
    ],
    "exports": [
        ("d/1", (EXPORTS / "toc.xml").read_bytes()),
        ("d/2", gzip.compress(EXPORT)),
        ("d/truth.json", b"{}"),
    ],
    "two": [("d/a/x.xml", EXPORT), ("d/b/x.xml", EXPORT)],
    "none": [("d/x.txt", b"x"), ("d/y.json", b"{}")],
}


class Workers:
    """Sets the behaviour of workers, and lists their process ids."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        folder.mkdir()

    def do(self, what: str) -> None:
        self._patch.setenv("PYTHONPATH", str(Path(__file__).parent / "other_worker"))
        self._patch.setenv("WORKER_DOES", what)
        self._patch.setenv("WORKER_NOTES", str(self._folder))

    def read(self) -> None:
        """From now on they do what they are for."""
        self._patch.delenv("WORKER_DOES")

    def all(self) -> list[list[int]]:
        """(Worker, its child) of those that hung."""
        return [[int(pid) for pid in path.read_text().split()] for path in self._folder.glob("*.pids")]

    def hanging(self, count: int = 1) -> list[int]:
        """The pids of that many workers and their children, once they hang."""
        wait_for(lambda: len(self.all()) == count)
        return [pid for pids in self.all() for pid in pids]


@dataclass
class Reading:
    """Everything above, uploaded at once, so that two workers read it side by side."""

    library: Library
    added: dict[str, Recording]

    def __getitem__(self, name: str) -> Recording:
        return settled(self.library, self.added[name], 60)


def all_end(pids: list[int]) -> None:
    wait_for(lambda: not any(is_alive(pid) for pid in pids), 30)


def left_of(library: Library, recording: Recording) -> list[str]:
    """Return the files of a recording's folder, without the upload and the log."""
    paths = [path for path in tree(library._store.recording_folder(recording.id)) if path != "about.json"]
    return [path for path in paths if not path.startswith(("input/", "worker.log"))]
