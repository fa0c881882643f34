"""The rows of a recording's own analysis for the history of the library; further analyses have none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.errors import InputError

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis


def write_history_rows(folder: Path, analysis: Analysis, path: Path, inputs: Sequence[Path]) -> None:
    """Write the rows that ``tracekit fleet run`` would make of this run of a recording.

    Its name and labels are left to the reader: both can change on the page. ``inputs`` are the files at
    ``path`` that were read.
    """
    from tracekit.fleet.content_hashes import digest_content
    from tracekit.fleet.dataset_rows import Origin, build_analysis_tables
    from tracekit.fleet.library_rows import write_rows

    try:
        is_single = len(inputs) == 1
        content = digest_content(inputs[0]) if is_single else digest_content(path, tuple(map(str, inputs)))
    except InputError:  # gone since it was read
        content = ""
    write_rows(folder, build_analysis_tables(analysis, Origin(str(path), content)))
