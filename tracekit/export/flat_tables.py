"""One tidy table of an analysis as CSV or Parquet, for a notebook, DuckDB or a spreadsheet.

Tables are built and written in blocks of rows; the distinct texts of a column are prepared once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.sample_labels import find_deciding_frames
from tracekit.analysis.result import Analysis
from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.columns.request_columns import REQUEST_COLUMNS, TOKEN_COLUMNS
from tracekit.columns.run import ATTRIBUTION_COLUMNS
from tracekit.export.export_view import MAX_NAME, find_sample_windows
from tracekit.frozen import frozen
from tracekit.model.columns import NULLABLE, make_categorical, with_missing
from tracekit.model.vocabulary import ENGINES, PHASES
from tracekit.text import clip, escape_spreadsheet_cell

_CSV_ROWS, _ROW_GROUP_ROWS = 1 << 16, 1 << 18


@frozen
class FlatTable:
    """A table whose rows are built on demand by ``rows(first, last)``; each block has all categories."""

    row_count: int
    rows: Callable[[int, int], pd.DataFrame]

    def iter_blocks(self, size: int) -> Iterator[pd.DataFrame]:
        """Yield the rows in blocks, at least one."""
        for start in range(0, max(1, self.row_count), size):
            yield self.rows(start, min(start + size, self.row_count))


def write_csv(analysis: Analysis, out: IO[bytes], table: str = "samples", raw: bool = False) -> None:
    """Write a table as CSV with a header; missing is an empty field.

    Text is safe for terminals and spreadsheets (``spreadsheet_cell``); with ``raw`` it is exact.
    """
    texts = _TextRewriter(_escape_surrogates if raw else _make_spreadsheet_safe)
    for number, rows in enumerate(TABLES[table](analysis).iter_blocks(_CSV_ROWS)):
        texts.rewrite_block(rows).to_csv(out, index=False, header=number == 0, lineterminator="\n")


def write_parquet(analysis: Analysis, out: IO[bytes], table: str = "samples") -> None:
    """Write a table as Parquet: every value and type as in the analysis, categories as dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat, texts = TABLES[table](analysis), _TextRewriter(_escape_surrogates)
    schema = pa.Schema.from_pandas(texts.rewrite_block(flat.rows(0, 0)), preserve_index=False)
    # The pandas metadata has the versions of the libraries, with which equal data would give other bytes.
    facts = {"tracekit_table": table, "recording": _escape_surrogates(analysis.trace.info.name)}
    with pq.ParquetWriter(out, schema.with_metadata(facts)) as writer:
        for rows in flat.iter_blocks(_ROW_GROUP_ROWS):
            writer.write_table(pa.Table.from_pandas(texts.rewrite_block(rows), schema, preserve_index=False))


def build_samples_table(analysis: Analysis) -> FlatTable:
    """Return one row per sample, with engine, phase, window and the deciding frame."""
    trace, labels = analysis.trace, analysis.labels
    samples, stack_table = trace.samples, trace.stacks
    frames = [
        f"{binary}`{symbol}" if binary else symbol
        for binary, symbol in zip(stack_table.binary_names, stack_table.symbols, strict=True)
    ]
    all_stacks = np.arange(len(stack_table), dtype=np.int32)
    leaves = np.append(stack_table.frame_ids, np.int32(-1))[stack_table.offsets[:-1]]
    leaves = np.append(np.where(np.diff(stack_table.offsets) > 0, leaves, -1), -1)
    deciding = np.append(find_deciding_frames(labels.classification, stack_table, all_stacks), -1)
    frame_names, processes, threads = (
        _CategoryNames(names)
        for names in (frames, trace.threads["process"].tolist(), trace.threads["name"].tolist())
    )
    pids, tids = (np.append(trace.threads[name].to_numpy(np.int64), -1) for name in ("pid", "tid"))
    window_ids = find_sample_windows(analysis).astype(np.int32)
    unit = "weight_ns" if trace.weight_unit == "ns" else trace.weight_unit

    def rows(first: int, last: int) -> pd.DataFrame:
        block = samples.iloc[first:last].reset_index(drop=True)
        thread_ids, stack_ids = block["thread_id"].to_numpy(np.int64), block["stack_id"].to_numpy()
        columns = {
            # Missing, not 0, where samples have no times.
            "time_ns": block["time_ns"] if trace.has_timeline else block["weight_ns"],
            unit: block[unit],
            "process": processes.take(thread_ids),
            "pid": pids[thread_ids],
            "thread": threads.take(thread_ids),
            "tid": tids[thread_ids],
            "core": block["core"],
            "state": block["state"],
            "engine": make_categorical(labels.engine[first:last], ENGINES),
            "phase": make_categorical(labels.phase[first:last], PHASES),
            "window_id": window_ids[first:last].astype(np.int64),
            "leaf": frame_names.take(leaves[stack_ids]),
            "deciding_frame": frame_names.take(deciding[stack_ids]),
            "stack_id": stack_ids,
        }
        counted = {f"counter {name}": trace.counters[name].to_numpy()[first:last] for name in trace.counters}
        return _mark_missing(pd.DataFrame({**columns, **counted}))

    return FlatTable(len(samples), rows)


def build_windows_table(analysis: Analysis) -> FlatTable:
    """Return one row per call, with the columns of the frame."""
    return FlatTable(
        len(analysis.window_rows),
        lambda first, last: CALL_COLUMNS.build_from(CallRows(analysis, first, last)),
    )


def _wrap_frame(frame: pd.DataFrame) -> FlatTable:
    return FlatTable(len(frame), lambda first, last: _mark_missing(frame.iloc[first:last]))


TABLES: dict[str, Callable[[Analysis], FlatTable]] = {
    "samples": build_samples_table,
    "windows": build_windows_table,
    "attribution": lambda analysis: _wrap_frame(ATTRIBUTION_COLUMNS.build(analysis)),
    "intervals": lambda analysis: _wrap_frame(analysis.trace.intervals),
    "segments": lambda analysis: _wrap_frame(analysis.segments),
    "requests": lambda analysis: _wrap_frame(REQUEST_COLUMNS.build(analysis)),
    "tokens": lambda analysis: _wrap_frame(TOKEN_COLUMNS.build(analysis)),
}


def _mark_missing(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy with ``<NA>`` for -1: in a file, -1 would pass for a process or a core."""
    return with_missing(frame, NULLABLE | {"window_id"})


class _CategoryNames:
    """The category columns of some names, of which several may be equal."""

    def __init__(self, names: Sequence[str]) -> None:
        self._codes, distinct = pd.factorize(np.array([*names, None], dtype=object))
        self._dtype = make_categorical(self._codes[:0], list(distinct)).dtype

    def take(self, positions: npt.NDArray[np.integer[Any]]) -> pd.Categorical:
        """Return the names at these positions; -1 is missing."""
        return pd.Categorical.from_codes(self._codes[positions], dtype=self._dtype)


class _TextRewriter:
    """Rewrites every text of a table's blocks; the categories, which are those of each block, once."""

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        self._rewrite = rewrite
        self._categories: dict[int, _CategoryNames] = {}
        """By the position of the column."""

    def rewrite_block(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a block with its texts rewritten, and the names of its columns."""
        columns = {
            number: self._rewrite_column(number, frame.iloc[:, number]) for number in range(frame.shape[1])
        }
        return pd.DataFrame(columns).set_axis([self._rewrite(name) for name in frame.columns], axis=1)

    def _rewrite_column(self, number: int, column: pd.Series[Any]) -> pd.Series[Any]:
        if isinstance(column.dtype, pd.CategoricalDtype):
            if number not in self._categories:
                names = [self._rewrite(str(name)) for name in column.cat.categories]
                self._categories[number] = _CategoryNames(names)
            return pd.Series(self._categories[number].take(column.cat.codes.to_numpy()), column.index)
        if isinstance(column.dtype, pd.StringDtype) or column.dtype == object:
            rewritten = {text: self._rewrite(str(text)) for text in column.dropna().unique()}
            return column.map(rewritten).astype("str")
        return column


def _make_spreadsheet_safe(text: str) -> str:
    return clip(escape_spreadsheet_cell(text[: MAX_NAME + 1]), MAX_NAME)


def _escape_surrogates(text: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
