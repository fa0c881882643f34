"""One tidy table of an analysis as CSV or Parquet, for a notebook, DuckDB or a spreadsheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import deciding_frames
from tracekit.analysis.result import Analysis
from tracekit.export.export_view import MAX_NAME, window_of_samples
from tracekit.model.columns import NULLABLE, IntArray, categorical, with_missing
from tracekit.model.vocabulary import ENGINES, PHASES
from tracekit.report import wording
from tracekit.text import clip, spreadsheet_cell


def write_csv(analysis: Analysis, out: IO[bytes], table: str = "samples", raw: bool = False) -> None:
    """Write a table as CSV with a header; missing is an empty field.

    Text is safe for terminals and spreadsheets (``spreadsheet_cell``); with ``raw`` it is exact.
    """
    rewrite = _storable if raw else _for_spreadsheets
    _texts(TABLES[table](analysis), rewrite).to_csv(out, index=False, lineterminator="\n")


def write_parquet(analysis: Analysis, out: IO[bytes], table: str = "samples") -> None:
    """Write a table as Parquet: every value and type as in the analysis, categories as dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = _texts(TABLES[table](analysis), _storable)
    # The pandas metadata has the versions of the libraries, with which equal data would give other bytes.
    arrow_table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(
        {"tracekit_table": table, "recording": _storable(analysis.trace.info.name)}
    )
    pq.write_table(arrow_table, out)


def samples_table(analysis: Analysis) -> pd.DataFrame:
    """Return one row per sample, with engine, phase, window and the deciding frame."""
    trace, labels = analysis.trace, analysis.labels
    samples = trace.samples
    threads, stacks = samples["thread_id"].to_numpy(np.int64), samples["stack_id"].to_numpy()
    frames = [
        f"{binary}`{symbol}" if binary else symbol
        for binary, symbol in zip(trace.stacks.binary_names, trace.stacks.symbols, strict=True)
    ]
    leaves = np.append(trace.stacks.frame_ids, np.int32(-1))[np.append(trace.stacks.offsets[:-1], -1)[stacks]]
    leaves = np.where(np.append(np.diff(trace.stacks.offsets), 0)[stacks] > 0, leaves, -1)
    deciding = deciding_frames(labels.classification, trace.stacks, stacks)
    unit = "weight_ns" if trace.weight_unit == "ns" else trace.weight_unit
    columns = {
        "time_ns": samples["time_ns"],
        unit: samples[unit],
        "process": _taken(trace.threads["process"].tolist(), threads),
        "pid": np.append(trace.threads["pid"].to_numpy(np.int64), -1)[threads],
        "thread": _taken(trace.threads["name"].tolist(), threads),
        "tid": np.append(trace.threads["tid"].to_numpy(np.int64), -1)[threads],
        "core": samples["core"],
        "state": samples["state"],
        "engine": categorical(labels.engine, ENGINES),
        "phase": categorical(labels.phase, PHASES),
        "window_id": window_of_samples(analysis),
        "leaf": _taken(frames, leaves.astype(np.int64)),
        "deciding_frame": _taken(frames, deciding),
        "stack_id": stacks,
    }
    counted = {f"counter {name}": trace.counters[name].to_numpy() for name in trace.counters}
    return _nullable(pd.DataFrame({**columns, **counted}))


def windows_table(analysis: Analysis) -> pd.DataFrame:
    """Return one row per window: the model's columns, its thread, verdict and times."""
    windows = analysis.window_rows
    threads = windows["thread_id"].to_numpy(np.int64)
    times = analysis.times.drop(columns="window_id").reset_index(drop=True)
    verdicts = {
        "verdict": analysis.verdicts.names,
        "why": [wording.verdict_why(verdict) for verdict in analysis.verdicts],
    }
    names = _taken(analysis.trace.threads["name"].tolist(), threads)
    columns = windows.drop(columns="thread_id").reset_index(drop=True).assign(thread=names)
    return _nullable(pd.concat([columns, pd.DataFrame(verdicts, dtype="str"), times], axis=1))


TABLES: dict[str, Callable[[Analysis], pd.DataFrame]] = {
    "samples": samples_table,
    "windows": windows_table,
    "attribution": lambda analysis: _nullable(analysis.attribution_rows),
    "intervals": lambda analysis: _nullable(analysis.trace.intervals),
    "segments": lambda analysis: _nullable(analysis.segments),
}


def _nullable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy with ``<NA>`` for -1: in a file, -1 would pass for a process or a core."""
    return with_missing(frame, NULLABLE | {"window_id"})


def _taken(names: Sequence[str], positions: IntArray) -> pd.Categorical:
    """Return a category column of the names at these positions; -1 is missing."""
    codes, distinct = pd.factorize(np.array([*names, None], dtype=object))
    return categorical(codes[positions], list(distinct))


def _texts(frame: pd.DataFrame, rewrite: Callable[[str], str]) -> pd.DataFrame:
    """Return the frame with every text rewritten, each distinct text once."""
    return frame.rename(columns=rewrite).apply(lambda column: _text(column, rewrite))


def _text(column: pd.Series[Any], rewrite: Callable[[str], str]) -> pd.Series[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = [rewrite(str(name)) for name in column.cat.categories]
        return pd.Series(_taken(names, np.asarray(column.cat.codes, np.int64)), column.index)
    if isinstance(column.dtype, pd.StringDtype) or column.dtype == object:
        rewritten = {text: rewrite(str(text)) for text in column.dropna().unique()}
        return column.map(rewritten).astype("str")
    return column


def _for_spreadsheets(text: str) -> str:
    return clip(spreadsheet_cell(text[: MAX_NAME + 1]), MAX_NAME)


def _storable(text: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
