"""Reading a recording's tables by a worker, when they are opened first."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from library_support import BUNDLE, QUIET, opened, ready

from tracekit.detect import open_source
from tracekit.errors import InputError
from tracekit_dashboard.jobs.queue import JobStatus
from tracekit_dashboard.jobs.table_jobs import TableFailed, TablePlace
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.tables.contents import build_contents_document, read_table
from tracekit_dashboard.tables.stored import open_table


def kept(library: Library, recording_id: str, place: TablePlace, again: bool = False) -> Path:
    """Return what is kept, as soon as it is."""
    for _ in range(600):
        answer = library.tables.find_or_read(recording_id, place, again)
        if not isinstance(answer, JobStatus):
            return answer
        again = False
        time.sleep(0.05)
    raise AssertionError("the table was not read within half a minute")


@pytest.mark.integration
def test_a_table_is_read_once_counted_and_dropped_with_the_results(tmp_path: Path) -> None:
    with opened(tmp_path / "library", replace(QUIET, table_bytes=10_000)) as library:
        recording_id = ready(library, library.add_file(BUNDLE))
        folder = kept(library, recording_id, TablePlace(1, 1))
        stored = open_table(folder)
        assert (stored.schema, stored.rows) == ("process-info", 2)
        for _ in range(100):  # it is counted just after it is there
            if library.find_recording(recording_id).results_bytes:
                break
            time.sleep(0.02)
        stored_bytes = sum(file.stat().st_size for file in folder.parent.rglob("*") if file.is_file())
        assert (library.find_recording(recording_id).results_bytes or 0) > stored_bytes
        with pytest.raises(
            TableFailed, match=r"289 rows of 7 columns.*more than the .* that the dashboard stores"
        ):
            kept(library, recording_id, TablePlace(1, 4))
        with pytest.raises(TableFailed):  # at once, without another reading
            library.tables.find_or_read(recording_id, TablePlace(1, 4))
        assert library.tables.find_or_read(recording_id, TablePlace(1, 1)) == folder
        library.drop_results(recording_id)
        assert not folder.exists()


def test_every_table_of_a_bundle_is_the_one_that_is_listed() -> None:
    source = open_source(str(BUNDLE))
    document = build_contents_document(source, None)
    read = 0
    for run in document["runs"]:
        for listed in run["tables"]:
            if listed["rows"] is None:
                with pytest.raises(InputError, match="whose rows are not in it"):
                    read_table(source, run["run"], listed["number"])
                continue
            table = read_table(source, run["run"], listed["number"])
            assert (table.schema, len(table)) == (listed["schema"], listed["rows"])
            read += 1
    assert read > 3
    assert document["meanings"]["time-profile"].startswith("Samples of the threads' stacks")
