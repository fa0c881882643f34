"""Files made of a ready recording: reports, tables, profiles for other tools.

Each is made by tracekit's own command line in a process of its own, and kept beside the results, whose fate
it shares: reading the recording anew, or purging it, removes them together::

    recordings/<id>/results/downloads/<what>     appears whole, by renaming
                    work-…/                      what is being made, and what its maker said
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dashboard.errors import Conflict, NoSpace
from dashboard.jobs.formats import Format
from dashboard.jobs.process import Child, most_memory
from dashboard.jobs.workers.read import PROCESSES
from dashboard.library.catalog import Recording
from dashboard.library.inputs import openable
from dashboard.library.names import one_line
from dashboard.library.store import UPLOADED_FILE, WORK
from dashboard.settings import Limits
from tracekit.errors import TracekitError, UsageError
from tracekit.text import printable

_LOG = logging.getLogger(__name__)
_FOLDER = "downloads"
_MOST_WAITING = 2
"""Others that wait for what is being made: each holds one of the server's few threads."""
_TOLD_BYTES = 8_000
_LONGEST_SENTENCE = 1_000
_LONGEST_NAME_BYTES = 200
# By these tracekit would expect a content of its own; an upload's content says what it is.
_ENDINGS = re.compile(r"(\.(trace|tracekit|zip|tar|gz|tgz|bz2|xz|xml))+$", re.IGNORECASE)
_TOLD = re.compile(r"^Error: (.*(?:\n  .*)*)", re.MULTILINE)


class Busy(TracekitError):  # noqa: N818 - named as in ``dashboard.errors``
    """As many files are being made as may be at once."""


class NotMade(TracekitError):  # noqa: N818
    """The file could not be made; the sentence says why."""


class ReadyRecordings(Protocol):
    """The methods of ``Library`` that downloads and comparisons use."""

    def recording(self, recording_id: str) -> Recording:
        """Return a recording; its message says when its file has changed since it was read."""

    def analysis_path(self, recording_id: str) -> Path:
        """Return the analysis; raise ``NotFound`` when the recording is deleted or not ready."""


@dataclass
class _Making:
    """One file that is being made; ``child`` is None until it has started."""

    recording_id: str
    child: Child | None = None
    stopped: bool = False
    done: Future[None] = field(default_factory=Future)


class Downloads:
    """Makes files, a few at once, and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, limits: Limits) -> None:
        self._library, self._limits = library, limits
        self._changing = threading.Lock()
        self._running: dict[Path, _Making] = {}
        self._waiting = 0
        self._closing = False

    def processes(self, recording_id: str) -> list[tuple[int, str]]:
        """Return pid and name of those of which one must be chosen to redact; none where it is known."""
        try:
            found = json.loads((self._library.analysis_path(recording_id).parent / PROCESSES).read_bytes())
        except FileNotFoundError:
            return []
        return [(int(pid), str(name)) for pid, name in found]

    def path(self, recording_id: str, what: Format, redact: bool = False, process: str = "") -> Path:
        """Return the file, made now unless it is there; who asks for one that is being made waits for it.

        ``process`` is the pid to keep of those that ``processes`` gives. Raises ``NotFound`` when the
        recording is deleted or not ready, ``UsageError`` for a process that is none of its, ``Conflict``
        when its file is no longer what was read, ``Busy``, ``NoSpace`` and ``NotMade``.
        """
        analysis = self._library.analysis_path(recording_id)
        if what.name == "json" and not redact:
            return analysis
        if redact:
            self._check_process(recording_id, process)
        made = analysis.parent / _FOLDER / what.file_name(what.name, redact, process)
        making, is_mine = self._joined(recording_id, made)
        if making is None:
            return made
        try:
            if is_mine:
                self._make(making, what, redact, made, process)
                making.done.set_result(None)
            making.done.result()
        except BaseException as error:
            if is_mine:
                making.done.set_exception(error)
            raise
        finally:
            self._left(made, is_mine)
        return made

    def _check_process(self, recording_id: str, process: str) -> None:
        known = {str(pid) for pid, _name in self.processes(recording_id)}
        if known and not process:
            name = self._library.recording(recording_id).name
            raise UsageError(
                f"{name} was recorded of all processes. Choose on its page, below Download, which one is kept"
                " when it is redacted."
            )
        if process and process not in known:
            raise UsageError("There is no choice of such a process for this recording.")

    def end(self, recording_id: str) -> None:
        """End what is being made of a recording, and wait until nothing of it is left."""
        self._end([one for one in self._all() if one.recording_id == recording_id])

    def close(self) -> None:
        """End all that is being made; nothing is begun any more."""
        self._closing = True
        self._end(self._all())

    def _all(self) -> list[_Making]:
        with self._changing:
            return list(self._running.values())

    def _end(self, makings: list[_Making]) -> None:
        for one in makings:
            with self._changing:
                one.stopped = True
                if one.child is not None:
                    one.child.stop()
        wait([one.done for one in makings])

    def _joined(self, recording_id: str, made: Path) -> tuple[_Making | None, bool]:
        """Return the making of a file, None when it is there, and whether it is the caller's to do."""
        with self._changing:
            if made.is_file():
                return None, False
            running = self._running.get(made)
            most = self._limits.downloads
            if len(self._running) >= most if running is None else self._waiting >= _MOST_WAITING:
                raise Busy("Other downloads are being made. Try again in a moment.")
            if running is not None:
                self._waiting += 1
                return running, False
            if self._closing:
                raise Conflict("The dashboard is ending.")
            self._running[made] = _Making(recording_id)
            return self._running[made], True

    def _left(self, made: Path, is_mine: bool) -> None:
        with self._changing:
            if is_mine:
                del self._running[made]
            else:
                self._waiting -= 1

    def _make(self, making: _Making, what: Format, redact: bool, made: Path, process: str) -> None:
        recording_id = making.recording_id
        analysis = self._library.analysis_path(recording_id)
        recording = self._unchanged(recording_id)
        folder = analysis.parents[1]
        if shutil.disk_usage(folder).free < self._limits.free_disk_bytes:
            raise NoSpace("The disk has too little room left to make this. Make room and try again.")
        read = _identity(analysis)
        work = folder / f"{WORK}{secrets.token_hex(4)}"
        try:
            work.mkdir(mode=0o700)
            output = work / f"made{what.ending}"
            options = (*(("--redact",) if redact else ()), *(("--process", process) if process else ()))
            inputs = _inputs(recording, folder, work)
            self._run(
                [*what.command, *options, "-o", str(output), *map(str, inputs)], making, recording, work
            )
            with output.open("rb") as file:
                os.fsync(file.fileno())
            if _identity(self._library.analysis_path(recording_id)) != read:
                raise Conflict(f"{recording.name} was read anew meanwhile. Ask again.")
            self._unchanged(recording_id)
            made.parent.mkdir(mode=0o700, exist_ok=True)
            output.replace(made)
        except OSError as error:
            self._library.analysis_path(recording_id)  # it may be gone, which is what to tell then
            text = (
                f"This download of {recording.name} could not be made: {error.strerror or 'the disk failed'}."
            )
            raise NotMade(text) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _unchanged(self, recording_id: str) -> Recording:
        """Return a recording whose input is what was read; raise ``Conflict`` for another."""
        recording = self._library.recording(recording_id)
        if recording.origin == "file" and recording.message:
            raise Conflict(f"This cannot be made of {recording.name} any more. {recording.message}")
        return recording

    def _run(self, command: list[str], making: _Making, recording: Recording, work: Path) -> None:
        """Run tracekit; raise ``NotMade`` unless it ends well and in time."""
        seconds, memory = self._limits.download_seconds, self._limits.download_memory_bytes
        arguments = [str(memory or most_memory(self._limits)), *command]
        log = work / "log"
        child = Child("dashboard.jobs.workers.export", arguments, temporary=work / "tmp", log=log)
        with self._changing:
            making.child = child
            if making.stopped:
                child.stop()
        try:
            code = child.wait(seconds)
        except TimeoutError:
            text = f"Making this of {recording.name} took longer than {seconds / 60:.0f} minutes."
            raise NotMade(f"{text} It was stopped; the command line has no such limit.") from None
        finally:
            child.stop()
            child.wait()
        if code and making.stopped:
            self._library.analysis_path(recording.id)  # why: it was deleted
            raise Conflict(f"Making this of {recording.name} was stopped: the dashboard is ending.")
        if code:
            raise NotMade(_sentence(_end_of(log), code, recording, work))


def _inputs(recording: Recording, folder: Path, work: Path) -> list[Path]:
    """Return what the command is to read: a local recording where it lies, or what was uploaded."""
    if recording.origin == "file":
        return [Path(recording.path)]
    held = folder / "input"
    single = held / UPLOADED_FILE
    if not single.is_file():
        return openable(held, recording.name)
    name = os.fsencode(_ENDINGS.sub("", recording.name))[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")
    named = work / "input" / name
    if named.name != name:  # empty, a folder of its own, or above it
        return [single]
    try:
        named.parent.mkdir(mode=0o700)
        os.link(single, named)  # reports call a recording by its file's name
    except (OSError, ValueError):
        return [single]
    return [named]


def _sentence(told: str, code: int, recording: Recording, work: Path) -> str:
    """Return why a command failed: what it said as its error, naming the recording and no folder."""
    name = recording.name
    found = _TOLD.findall(told)
    if not found or "Traceback" in told:
        _LOG.error("making a download of %s ended with exit code %d:\n%s", recording.id, code, told)
        ended = f"was ended (signal {-code}), perhaps for want of memory" if code < 0 else "failed"
        return f"Making this of {name} {ended}. The dashboard's terminal says more."
    text: str = found[-1]
    folder = work.parent
    read = Path(recording.path) if recording.path else folder / "input" / UPLOADED_FILE
    text = text.replace(printable(f"{read}{os.sep}"), "").replace(printable(str(read)), name)
    for place in (work / "input", work, folder / "input", folder, read.parent):
        text = text.replace(printable(f"{place}{os.sep}"), "")
    return one_line(text)[:_LONGEST_SENTENCE]


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TOLD_BYTES))
        return file.read().decode("utf-8", "replace")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns
