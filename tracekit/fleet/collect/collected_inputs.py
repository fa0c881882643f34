"""The things that ``tracekit collect`` takes, found in its inputs: recordings, test results, reports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracekit.errors import InputError, UsageError
from tracekit.fleet import stores
from tracekit.fleet.collect.metrickit import MetricKitReport, read_report
from tracekit.fleet.collect.xcresult import ENDING
from tracekit.fleet.recording_inputs import RecordingInput, find_recordings
from tracekit.frozen import frozen
from tracekit.text import printable

_BUNDLES = (ENDING, ".trace")
"""Endings of folders that are searched for no report."""


@frozen
class CollectInputs:
    """The recordings, ``.xcresult`` bundles and reports in the inputs, and the problems of other files."""

    recordings: tuple[RecordingInput, ...]
    bundles: tuple[Path, ...]
    reports: tuple[MetricKitReport, ...]
    problems: tuple[str, ...]


def find_collect_inputs(inputs: Sequence[str]) -> CollectInputs:
    """Return what the inputs hold. Raises ``UsageError`` for an input that holds nothing of it."""
    recordings: list[RecordingInput] = []
    bundles: list[Path] = []
    reports: list[MetricKitReport] = []
    problems: list[str] = []
    for name in inputs:
        if stores.is_address(name):
            raise UsageError(
                f"{printable(name)} is an address: collect takes files and folders of this machine."
            )
        count_before = len(bundles) + len(reports) + len(problems)
        for path in _iter_special_paths(Path(name)):
            if path.suffix == ENDING:
                bundles.append(path)
                continue
            try:
                report = read_report(path)
            except InputError as error:
                problems.append(str(error))
            else:
                reports += [report] if report is not None else []
        is_special = len(bundles) + len(reports) + len(problems) > count_before
        recordings += _find_input_recordings(name, is_special)
    return CollectInputs(tuple(recordings), tuple(bundles), tuple(reports), tuple(problems))


def _iter_special_paths(path: Path) -> Iterator[Path]:
    """Yield the ``.xcresult`` bundles and the JSON files of a path; those in bundles are not searched."""
    if path.suffix in (ENDING, ".json"):
        yield path
        return
    for place, folders, files in os.walk(path):
        yield from (Path(place, name) for name in sorted(folders) if name.endswith(ENDING))
        folders[:] = sorted(name for name in folders if not name.endswith(_BUNDLES) and name[0] != ".")
        yield from (Path(place, name) for name in sorted(files) if name.endswith(".json"))


def _find_input_recordings(name: str, is_special: bool) -> list[RecordingInput]:
    """Return the recordings of an input; it may have none where it holds something else."""
    if is_special and Path(name).suffix in (ENDING, ".json"):
        return []
    try:
        return find_recordings([name])
    except UsageError:
        if not is_special:
            raise
        return []
