"""``python -m dashboard.jobs.workers.read <library> <id>``: open → analyse → write what the pages need.

The server writes one line of JSON (a ``Task``) to standard input and keeps it open, see ``bootstrap``.
Lines of JSON go back on standard output: ``{"stage": …, "progress": …}``, and ``{"failed": sentence}`` before
an end with exit code 1. Results appear as a whole in ``results/`` of the recording's folder.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dashboard.jobs import bootstrap
from dashboard.library.inputs import left_out, openable, size_of
from dashboard.library.names import one_line
from dashboard.library.store import UPLOADED_FILE, Store
from tracekit.errors import InputError, TracekitError

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.model.trace import Issue

RESULTS = 2
"""Which form the results have: those of another form are made anew when the dashboard starts."""
ANALYSIS, SECTIONS_FILE, SUMMARY, VIEW = "analysis.json", "sections.json", "summary.json", "view.bin.gz"
PROCESSES = "processes.json"
"""Pid and name of those of which one is to be chosen before anything is redacted; none mostly."""
_REPORT_SECONDS = 0.2
_COMPRESSION = 5
_STATIC_PICTURE = "timeline"
_LONGEST_SENTENCE = 1_000
_LISTED = 5
TEMPORARY = "tmp"
"""Where libraries and tools put their temporary files, in the work folder."""


@dataclass(frozen=True)
class Task:
    """What to read: ``path`` as ``os.fsencode`` in hex, "" for what was uploaded; ``name`` is for people.

    ``work`` names a folder beside the results, which the server removes at the end.
    """

    name: str
    path: str
    work: str
    memory_bytes: int


class Channel:
    """Tells the server how far the work is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._told = 0.0
        self._all_bytes = self._before = self._last = 0

    def stage(self, name: str, all_bytes: int = 0) -> None:
        """Say what is being done from now on, and how many bytes it goes through."""
        self._stage, self._told = name, time.monotonic()
        self._all_bytes, self._before, self._last = all_bytes, 0, 0
        self.send(stage=name, progress=None)

    def __call__(self, done: int, _total: int | None) -> None:
        """See ``parsers.source.Progress``; one file after the other begins at 0 again."""
        if done < self._last:
            self._before += self._last
        self._last = done
        now = time.monotonic()
        if self._all_bytes and now - self._told >= _REPORT_SECONDS:
            self._told = now
            self.send(stage=self._stage, progress=min((self._before + done) / self._all_bytes, 1.0))

    def send(self, **message: Any) -> None:
        """Send one line."""
        with suppress(OSError):  # no server reads it: the watch ends this process
            self._stream.write(json.dumps(message) + "\n")
            self._stream.flush()


def main(folder: str, recording_id: str) -> int:
    """Do one task and return the exit code."""
    channel = Channel(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)  # what libraries print is not for the server
    task = Task(**json.loads(sys.stdin.buffer.readline()))
    bootstrap.end_with_server()
    bootstrap.limit_resources(task.memory_bytes)
    store = Store(Path(folder))
    work = store.recording(recording_id) / task.work / "results"
    path = Path(os.fsdecode(bytes.fromhex(task.path))) if task.path else store.input(recording_id)
    try:
        work.mkdir(mode=0o700)
        read_into(work, path, task, channel)
        work.rename(store.results(recording_id))
    except (TracekitError, MemoryError, OSError, RecursionError) as error:
        channel.send(failed=sentence(error, task.name, path))
        return 1
    except Exception as error:  # noqa: BLE001 - whatever it is, the page says so and the log has it
        traceback.print_exc()
        channel.send(
            failed=f"Reading {task.name} failed in a way that was not foreseen ({type(error).__name__})."
            " The file worker.log in the recording's folder of the library says where."
        )
        return 1
    return 0


def read_into(folder: Path, path: Path, task: Task, channel: Channel) -> None:
    """Read a recording and write all that the pages need of it."""
    analysis = analysed(path, task.name, not task.path, channel)
    channel.stage("writing")
    write_results(folder, analysis)


def write_results(folder: Path, analysis: Analysis) -> None:
    """Write all that the pages need of a recording."""
    for name, content in _CONTENTS.items():
        with (folder / name).open("wb") as file:
            file.write(content(analysis))
            file.flush()
            os.fsync(file.fileno())
    _write_samples(folder, analysis)


def analysed(path: Path, name: str, uploaded: bool, channel: Channel, which: str = "") -> Analysis:
    """Open and analyse a recording; the stages say ``which`` one it is, where there are several."""
    channel.stage(f"opening{which}", size_of(path))
    import tracekit

    single = path / UPLOADED_FILE
    found = [path] if not uploaded else [single] if single.is_file() else openable(path, name)
    trace = tracekit.open_trace(found if len(found) > 1 else found[0], progress=channel)
    if uploaded:  # its name on the disk is ours
        trace = replace(trace, info=replace(trace.info, name=name))
        trace = replace(trace, issues=(*trace.issues, *_left_out(path, found)))
    channel.stage(f"analysing{which}")
    return tracekit.analyze(trace)


def _left_out(folder: Path, found: list[Path]) -> list[Issue]:
    """Return what is to be known of files that were uploaded together with the recording."""
    from tracekit.model.trace import Issue

    names = left_out(folder, found) if folder.is_dir() and folder / UPLOADED_FILE not in found else []
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    told = one_line(f"{', '.join(names[:_LISTED])}{more}")
    return [Issue("info", "files-ignored", f"no part of the recording, so not read: {told}")] if names else []


def _write_samples(folder: Path, analysis: Analysis) -> None:
    from dashboard.tiles.columns import FOLDER
    from dashboard.tiles.writing import write_samples

    write_samples(folder / FOLDER, analysis)


def _view(analysis: Analysis) -> bytes:
    from tracekit.report.viewmodel.view import view_block

    return gzip.compress(view_block(analysis, tiles=True), _COMPRESSION, mtime=0)


def _analysis(analysis: Analysis) -> bytes:
    from tracekit.report.analysis.json import to_json

    return _utf8(to_json(analysis))


def _sections(analysis: Analysis) -> bytes:
    from tracekit.report.html.sections import SECTIONS, section
    from tracekit.report.viewmodel.view import Extras

    shown = [one for one in SECTIONS if one[0] != _STATIC_PICTURE]
    return _utf8(json.dumps({one[0]: str(section(one, analysis, Extras())) for one in shown}))


def _processes(analysis: Analysis) -> bytes:
    """Return the processes of a recording of all of them, those with most samples first."""
    import numpy as np

    trace = analysis.trace
    known = trace.threads[trace.threads["pid"] >= 0]
    is_named = trace.info.pid is not None or (known["process"] == trace.info.process).any()
    if is_named or known["pid"].nunique() < 2:
        return _utf8("[]")
    rows = trace.samples["thread_id"].to_numpy()
    counts = np.bincount(rows[rows >= 0], minlength=len(trace.threads))
    names: dict[int, str] = {}
    sampled: Counter[int] = Counter()
    for pid, name, count in zip(known["pid"], known["process"], counts[known.index], strict=True):
        names.setdefault(int(pid), str(name))
        sampled[int(pid)] += int(count)
    most = sorted(names, key=lambda pid: (-sampled[pid], names[pid].casefold(), pid))
    return _utf8(json.dumps([[pid, names[pid]] for pid in most]))


def _summary(analysis: Analysis) -> bytes:
    from tracekit.report.viewmodel.view import duration_of

    info = analysis.trace.info
    facts = {
        "results": RESULTS,
        "verdict": one_line(analysis.summary.sentence),
        "device": one_line(info.device or info.model),
        "system": one_line(info.os),
        "duration_ns": info.duration_ns or duration_of(analysis),
        "samples": len(analysis.trace.samples),
        "windows": len(analysis.window_rows),
    }
    return _utf8(json.dumps(facts))


_CONTENTS: dict[str, Callable[[Analysis], bytes]] = {
    VIEW: _view,
    ANALYSIS: _analysis,
    SECTIONS_FILE: _sections,
    PROCESSES: _processes,
    SUMMARY: _summary,
}


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _in_the_page(advice: str) -> str:
    """Return an advice that speaks of a command's arguments for people who add files to a page."""
    return re.sub(r"\b([Nn])ame (?=the |one )", lambda at: "add " if at[1] == "n" else "Add ", advice)


def sentence(error: BaseException, name: str, path: Path) -> str:
    """Return what went wrong in words that name the recording and no folder of this machine."""
    if isinstance(error, MemoryError):
        return f"{name} needs more memory than a worker may take."
    if isinstance(error, RecursionError):
        return f"{name} is nested deeper than a recording is."
    if isinstance(error, OSError):
        return f"{name} could not be read to its end: {error.strerror or error}."
    text = str(error)
    if isinstance(error, InputError) and Path(error.source).name in (path.name, UPLOADED_FILE):
        text = f"{name}: {error.problem} {_in_the_page(error.advice)}".strip()
    for place in (f"{path}{os.sep}", str(path), f"{path.parent}{os.sep}"):
        text = text.replace(place, "" if place.endswith(os.sep) else name)
    return one_line(text)[:_LONGEST_SENTENCE]


if __name__ == "__main__":
    bootstrap.run(lambda: main(*sys.argv[1:3]))
