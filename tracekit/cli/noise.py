"""The recordings that show the spread between runs: named ones, and those of a dashboard's library."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli.analysing import analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, NotMeasurableError, TracekitError
from tracekit.frozen import frozen
from tracekit.text import plural

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.comparison.builds import Builds, Circumstances
    from tracekit.comparison.compare import NoiseRuns

_CATALOG = "catalog.sqlite3"
_READY_QUERY = """
    SELECT CAST(id AS TEXT), CAST(path AS BLOB), CAST(device AS TEXT) FROM recordings
    WHERE state = 'ready' AND deleted_us IS NULL AND windows > 0 AND id IS NOT NULL
    ORDER BY added_us DESC, id
"""
"""The casts, because the columns of a file that another program wrote may hold any type."""
_UPLOADED_FILE = "recording"
_MAX_READ_RECORDINGS = 20
"""The newest recordings of a device that are read: each takes the time and memory of ``tracekit analyze``."""
_UNREADABLE = "that cannot be read (moved, changed or damaged)"
_OTHER_DEVICE = "of another device"
_OLDER = f"older than the newest {_MAX_READ_RECORDINGS}"


@frozen
class _LibraryRecording:
    """A recording of a library: the file or folder, and the device as the library shows it."""

    path: str
    device: str


def is_library(path: str) -> bool:
    """Return True for the folder of a dashboard's library."""
    try:
        return (Path(path) / _CATALOG).is_file()
    except OSError:  # not a path: too long
        return False


def collect_noise_runs(
    noise_from: Sequence[str], options: AnalysisOptions, compared: Sequence[Analysis]
) -> NoiseRuns:
    """Return the recordings for the noise; of libraries, in groups: one for each build.

    Raises ``NotMeasurableError`` for a library that shows no spread between runs like the ``compared`` ones.
    """
    named_analyses = [analyse((path,), options) for path in noise_from if not is_library(path)]
    libraries = [path for path in noise_from if is_library(path)]
    if not libraries:
        return named_analyses
    groups = [named_analyses] if named_analyses else []
    for path in libraries:
        groups += map(list, _collect_library_builds(path, options, compared).groups)
    return groups


def _collect_library_builds(path: str, options: AnalysisOptions, compared: Sequence[Analysis]) -> Builds:
    from tracekit.comparison.builds import circumstances, group_builds

    run_conditions = [circumstances(analysis) for analysis in compared]
    if isinstance(run_conditions[0], str) and all(
        isinstance(run_circumstances, str) for run_circumstances in run_conditions
    ):
        raise NotMeasurableError(
            f"{path}: no recording of this library can be matched with the recordings to be judged, which are"
            f" {run_conditions[0]}. Give the spread between runs by --run-noise, or name recordings with"
            " --noise-from."
        )
    circumstances_known = [
        run_circumstances for run_circumstances in run_conditions if not isinstance(run_circumstances, str)
    ]
    unread: Counter[str] = Counter()
    entries = list(_iter_ready_entries(path))
    # The library names the device; whatever else must be alike takes reading the recording.
    devices = {" ".join(run_circumstances.device.split()) for run_circumstances in circumstances_known}
    same_device_entries = [entry for entry in entries if entry.device in devices]
    unread[_OTHER_DEVICE] = len(entries) - len(same_device_entries)
    unread[_OLDER] = max(0, len(same_device_entries) - _MAX_READ_RECORDINGS)
    analyses = _iter_analyses(same_device_entries[:_MAX_READ_RECORDINGS], replace(options, run=None), unread)
    builds = group_builds(analyses, compared)
    left_out = sorted((builds.left_out + unread).items(), key=lambda entry: (-entry[1], entry[0]))
    unused = "; ".join(f"{count} {reason}" for reason, count in left_out)
    if not builds.groups:
        raise NotMeasurableError(_explain_missing_builds(path, circumstances_known[0], unused))
    count = sum(map(len, builds.groups))
    write_message(
        f"note: {path}: {count} recordings of {plural(len(builds.groups), 'build')} show the spread between"
        f" runs. Not used: {unused or 'none'}."
    )
    return builds


def list_library_programs(
    path: str, options: AnalysisOptions
) -> list[tuple[str, list[tuple[Analysis, ...]]]]:
    """Return the builds of which a library has two recordings or more, by program, device and system.

    The newest recordings of each device are read. Raises ``NotMeasurableError`` where there are none.
    """
    from tracekit.comparison.builds import circumstances, group_builds

    by_device: defaultdict[str, list[_LibraryRecording]] = defaultdict(list)
    for entry in _iter_ready_entries(path):
        by_device[entry.device].append(entry)
    unread: Counter[str] = Counter()
    programs: defaultdict[str, list[tuple[Analysis, ...]]] = defaultdict(list)
    for entries in by_device.values():
        unread[_OLDER] += max(0, len(entries) - _MAX_READ_RECORDINGS)
        analyses = _iter_analyses(entries[:_MAX_READ_RECORDINGS], replace(options, run=None), unread)
        builds = group_builds(analyses, None)
        unread += builds.left_out
        for group in builds.groups:
            ran = circumstances(group[0])
            assert not isinstance(ran, str)
            where = f"{ran.device} ({ran.model}, {ran.system})"
            name = f"{ran.process} on {where} with {', '.join(sorted(ran.models))}"
            programs[name].append(group)
    unused = "; ".join(f"{count} {reason}" for reason, count in sorted(unread.items()) if count)
    if not programs:
        raise NotMeasurableError(
            f"{path}: this library has no two recordings of one build on one device with the same models. Not"
            f" used: {unused or 'none'}. Record one build twice or more, and add the recordings."
        )
    if unused:
        write_message(f"note: {path}: not used: {unused}.")
    return sorted(programs.items())


def _explain_missing_builds(path: str, ran: Circumstances, unused: str) -> str:
    return (
        f"{path}: this library shows no spread between runs: it has no two further recordings of one build of"
        f" {ran.process} on {ran.device} with {ran.system} and the same models"
        f" ({', '.join(sorted(ran.models))}). Not used: {unused or 'none'}. Record one build twice or more"
        " and add the recordings to the library, or give the spread by --run-noise."
    )


def _iter_analyses(
    entries: Sequence[_LibraryRecording], options: AnalysisOptions, unread: Counter[str]
) -> Iterator[Analysis]:
    for entry in entries:
        try:
            yield analyse((entry.path,), options)
        except (TracekitError, OSError):
            unread[_UNREADABLE] += 1


def _iter_ready_entries(library: str) -> Iterator[_LibraryRecording]:
    """Yield the recordings of a library that were read without an error, the newest first."""
    catalog = (Path(library) / _CATALOG).resolve()
    try:
        with closing(sqlite3.connect(f"{catalog.as_uri()}?mode=ro", uri=True, timeout=2)) as connection:
            rows = connection.execute(_READY_QUERY).fetchall()
    except sqlite3.Error as error:
        raise InputError(
            library, f"the library's catalog cannot be read ({error}).", "Check the folder."
        ) from error
    for recording_id, path, device in rows:
        yield _LibraryRecording(
            os.fsdecode(path) if path else _find_upload(catalog.parent, recording_id), device
        )


def _find_upload(library: Path, recording_id: str) -> str:
    """Return the file or folder of an upload, which the library holds itself."""
    folder = library / "recordings" / recording_id / "input"
    file = folder / _UPLOADED_FILE
    if file.is_file():
        return str(file)
    folders = [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []
    return str(folders[0] if len(folders) == 1 else folder)
