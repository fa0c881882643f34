"""The history of a dataset, or of the library, computed once for each state of it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tracekit.errors import NotMeasurableError
from tracekit.fleet.dataset import Dataset, open_dataset
from tracekit.fleet.history.accepted import Accepted, read_accepted
from tracekit.fleet.library_dataset import FOLDER, open_results, update_library_dataset
from tracekit.fleet.manifest import DatasetPart
from tracekit.fleet.questions.registry import ask
from tracekit.report.fleet.cells import plain_columns
from tracekit.report.fleet.history_view import HistoryData, history_view, read_history_data
from tracekit.text import printable
from tracekit_dashboard.library.library import Library

_MAX_RECORDINGS = 50
_COLUMNS = ["recording", "name", "path", "build", "recorded"]


class HistoryStore:
    """The history of the dataset or library in ``folder``; of the own library if there is none."""

    def __init__(self, folder: Path | None, library: Library) -> None:
        self._folder, self._library = folder, library
        self._lock = threading.Lock()
        self._updating = threading.Lock()
        self._revision = ""
        self._state: tuple[tuple[DatasetPart, ...], frozenset[Accepted]] | None = None
        self._data: HistoryData | None = None

    def build_view(self, app: str) -> dict[str, Any]:
        """Return the view of an app."""
        return history_view(self._read_data(), app)

    def compare_parts(
        self, app: str, device: str, model: str, old_build: str, new_build: str
    ) -> list[dict[str, Any]]:
        """Return the parts of a call in two builds; none where no call has them in both."""
        values = {"app": app, "device": device, "model": model, "before": old_build, "after": new_build}
        try:
            answer = ask(self._open_dataset(), "grown-part", values)
        except NotMeasurableError:
            return []
        names = [column.name for column in answer.columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*plain_columns(answer), strict=True)]

    def list_recordings(self, app: str, device: str, model: str, builds: list[str]) -> list[dict[str, Any]]:
        """Return the recordings of builds on a device with calls of a model or requests to it.

        The first fifty of each build are listed.
        """
        import pyarrow as pa
        import pyarrow.dataset as pds

        of_device = (pds.field("app") == app) & (pds.field("device") == device)
        dataset = self._open_dataset()
        of_model = pds.field("model") == model
        of_builds = pds.field("build").isin(builds)
        conditions = {"models": of_model | (pds.field("label") == model), "requests": of_model}
        with_model = pa.concat_tables(
            dataset.open_table(name).to_table(columns=["recording"], filter=of_device & of_builds & condition)
            for name, condition in conditions.items()
        )
        is_shown = of_device & pds.field("recording").isin(with_model["recording"].combine_chunks())
        table = dataset.open_table("recordings")
        return [
            {name: printable(str(row[name] or "")) for name in _COLUMNS}
            for build in builds
            for row in table.head(
                _MAX_RECORDINGS, columns=_COLUMNS, filter=is_shown & (pds.field("build") == build)
            ).to_pylist()
        ]

    def _open_dataset(self) -> Dataset:
        if self._folder is not None:
            with self._updating:
                return open_results(self._folder)
        with self._updating:
            revision = self._library.revision  # before: what changes meanwhile is read the next time
            if revision == self._revision:
                return open_dataset(self._library.folder / FOLDER)
            dataset = update_library_dataset(self._library.folder)
            self._revision = revision
            return dataset

    def _read_data(self) -> HistoryData:
        dataset = self._open_dataset()
        with self._lock:  # so that two visitors do not compute the same
            state = (dataset.read_parts(), read_accepted(dataset.path))
            if self._data is None or state != self._state:
                self._state, self._data = state, read_history_data(dataset)
            return self._data
