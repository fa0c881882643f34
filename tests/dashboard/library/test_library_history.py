"""The rows that reading a recording leaves for the history, and the history of the library."""

from __future__ import annotations

from pathlib import Path

import pytest
from library_support import BUNDLE, ONE_READER, opened, settled, wait_for

from tracekit.fleet.content_hashes import digest_content
from tracekit.fleet.library_dataset import open_results
from tracekit.fleet.library_rows import ROWS, read_rows
from tracekit_dashboard.history_store import HistoryStore

TABLES = {"recordings": 1, "models": 1, "calls": 12}


@pytest.mark.integration
def test_reading_a_recording_leaves_its_rows_and_a_further_analysis_none(tmp_path: Path) -> None:
    with opened(tmp_path, ONE_READER) as library:
        recording = settled(library, library.add_file(BUNDLE))
        store = HistoryStore(None, library)
        assert store.build_view("")["summary"] == "1 recording; left out: 1 without a build."
        library.edit(recording.id, tags=["build=1"])
        view = store.build_view("")
        assert (view["builds"], view["summary"]) == (["1"], "1 recording.")
        assert len(view["rows"]) == 1
        variant = library.analyses.request(recording.id, {"window-signpost": ["com.example/none"]})
        assert variant is not None
        wait_for(lambda: library.analyses.find(recording.id, variant.id).state not in ("waiting", "reading"))
        folder = tmp_path / "recordings" / recording.id
        assert [path.parent for path in folder.rglob(ROWS)] == [folder / "results"]
        rows = read_rows(folder / "results")
        assert {name: rows[name].num_rows for name in TABLES} == TABLES
        assert rows["recordings"]["content"].to_pylist() == [digest_content(BUNDLE)]
        assert rows["engines"].select(["engine", "calls", "served"]).to_pylist()[1]["served"] == 12
        found = open_results(tmp_path).open_table("recordings").to_table(columns=["name", "path", "build"])
        assert found.to_pylist() == [{"name": BUNDLE.name, "path": str(BUNDLE), "build": "1"}]
        library.delete(recording.id)
        assert store.build_view("")["summary"] == "0 recordings."
