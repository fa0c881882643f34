"""An analysis as rows of the tables of ``schema``; a recording that could not be analyzed as one row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tracekit import __version__
from tracekit.analysis.chips import identify_chip
from tracekit.analysis.result import Analysis
from tracekit.comparison.builds import find_program_binaries
from tracekit.comparison.cautions import THERMAL
from tracekit.comparison.run_amounts import read_thermal_states
from tracekit.fleet.dataset_calls import DatasetCalls
from tracekit.fleet.dataset_requests import iter_request_columns
from tracekit.fleet.recording_copies import identify_run
from tracekit.fleet.schema import ANALYZED, PLACE, TABLES, build_arrow_schema
from tracekit.frozen import frozen
from tracekit.model.trace import TraceInfo
from tracekit.report import wording
from tracekit.report.wording.findings import finding_text

Tables: TypeAlias = dict[str, pa.Table]
BUILD = "build"
"""The label whose value is the column ``build``."""
_NJ_PER_MJ = 1e6
_LEFT_OUT = "segments-left-out"


@frozen
class Origin:
    """Where a recording came from, and what is known of it besides its content.

    ``content`` is the SHA-256 of its files, "" where they cannot be read. ``options`` are those of the
    analysis, as JSON, "" for none.
    """

    path: str
    content: str
    labels: Mapping[str, str] = field(default_factory=dict)
    options: str = ""

    @property
    def name(self) -> str:
        """The last part of the path or address."""
        return self.path.rstrip("/").replace("\\", "/").rpartition("/")[2]


def build_analysis_tables(analysis: Analysis, origin: Origin) -> Tables:
    """Return the rows of one analyzed run."""
    info, calls = analysis.trace.info, DatasetCalls(analysis)
    place = _build_place(info, analysis, origin)
    segments = calls.build_segment_columns()
    return {
        "recordings": _build_table("recordings", place, [_build_recording_row(analysis, calls, origin)]),
        "models": _build_table("models", place, calls.build_model_rows()),
        "engines": _build_table("engines", place, calls.build_engine_rows()),
        "calls": _build_columns("calls", place, calls.build_call_columns()),
        "segments": _build_columns("segments", place, segments or {"call": []}),
        "requests": _join_tables(
            _build_columns("requests", place, columns)
            for columns in iter_request_columns(analysis, calls.processes)
        ),
        "findings": _build_table("findings", place, _build_finding_rows(analysis)),
        "issues": _build_table(
            "issues", place, _build_issue_rows(analysis, has_segments=segments is not None)
        ),
        "energy": _build_table("energy", place, _build_energy_rows(analysis)),
    }


def build_failure_tables(origin: Origin, state: str, reason: str, run: int | None = None) -> Tables:
    """Return the row of a recording that could not be analyzed, or of one of its runs."""
    place = _build_place(TraceInfo("", "", run=run or 0), None, origin)
    row = {**_describe_file(origin), "run": run, "state": state, "reason": reason}
    return {"recordings": _build_table("recordings", place, [row])}


def join_tables(parts: Sequence[Tables]) -> Tables:
    """Return the rows of several recordings, table by table."""
    return {
        name: pa.concat_tables([part[name] for part in parts if name in part])
        for name in TABLES
        if any(name in part for part in parts)
    }


def relabel_tables(tables: Tables, origin: Origin, name: str) -> Tables:
    """Return the rows of one recording with the path and the labels of an origin, under a name."""
    values = {
        "recording": tables["recordings"].column("recording")[0].as_py(),
        "labels": sorted(origin.labels.items()),
        "build": origin.labels.get(BUILD, ""),
        "name": name,
        "path": origin.path,
    }
    return {table: _replace_values(table, rows, values) for table, rows in tables.items()}


def _replace_values(name: str, rows: pa.Table, values: Mapping[str, object]) -> pa.Table:
    for field_ in build_arrow_schema(name):
        if field_.name in values:
            column = _repeat_value(values[field_.name], field_.type, rows.num_rows)
            rows = rows.set_column(rows.schema.get_field_index(field_.name), field_, column)
    return rows


def pack_tables(tables: Tables) -> dict[str, bytes]:
    """Return tables as Arrow streams: to send them between processes takes a fifth of what pickling takes."""
    return {name: _encode_stream(table) for name, table in tables.items()}


def _encode_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpack_tables(streams: Mapping[str, bytes]) -> Tables:
    """Return the tables of ``pack_tables``."""
    return {name: pa.ipc.open_stream(data).read_all() for name, data in streams.items()}


def make_recording_id(content: str, path: str, run: int) -> str:
    """Return the identity of a run: of its content, of its path where that could not be read."""
    return hashlib.sha256(f"{content or path}:{run}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _build_place(info: TraceInfo, analysis: Analysis | None, origin: Origin) -> dict[str, object]:
    """Return the values of ``PLACE``."""
    power = analysis.power if analysis is not None else None
    return {
        "recording": make_recording_id(origin.content, origin.path, info.run),
        "recorded": _parse_moment(info.start),
        "device": info.device,
        "device_model": info.model,
        "chip": (power.chip if power else "") or identify_chip(info.model),
        "system": f"{info.platform} {info.os}".strip(),
        "app": info.process,
        "build": origin.labels.get(BUILD, ""),
        "labels": sorted(origin.labels.items()),
    }


def _parse_moment(start: str) -> datetime | None:
    """Return the start of a recording; None where its text has no time zone."""
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _describe_file(origin: Origin) -> dict[str, object]:
    return {
        "name": origin.name,
        "path": origin.path,
        "content": origin.content,
        "tracekit": __version__,
        "options": origin.options,
    }


def _build_recording_row(analysis: Analysis, calls: DatasetCalls, origin: Origin) -> dict[str, object]:
    info = analysis.trace.info
    binaries = find_program_binaries(analysis.trace)
    levels, _ = read_thermal_states(calls.observed)
    return {
        **_describe_file(origin),
        "run": info.run,
        "identity": identify_run(info),
        "kind": info.kind,
        "state": ANALYZED,
        "reason": "",
        "headline": wording.headline(analysis.answer),
        "duration_ns": info.duration_ns,
        "samples": analysis.trace.count_samples(),
        "calls": calls.count,
        "template": info.template,
        "instruments": info.instruments,
        "thermal": THERMAL[int(min(max(levels), len(THERMAL) - 1))] if len(levels) else "",
        "binary": "" if isinstance(binaries, str) else next(iter(binaries.values())),
    }


def _build_finding_rows(analysis: Analysis) -> list[dict[str, object]]:
    return [
        {
            "pid": finding.pid if finding.pid >= 0 else None,
            "model": finding.model,
            "finding": finding.kind,
            "severity": finding.severity,
            "basis": str(finding.basis),
            "title": finding_text(finding, analysis.trace.info).title,
            "calls": finding.windows.count,
            "lost_ns": finding.lost_ns,
        }
        for finding in analysis.findings
    ]


def _build_issue_rows(analysis: Analysis, *, has_segments: bool) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {"severity": issue.severity, "issue": issue.code, "message": issue.message, "count": issue.count}
        for issue in wording.issues(analysis.diagnostics)
    ]
    if not has_segments:
        message = "the segments of the calls are left out of the dataset, because there are too many of them"
        rows.append({"severity": "warning", "issue": _LEFT_OUT, "message": message, "count": None})
    return rows


def _build_energy_rows(analysis: Analysis) -> list[dict[str, object]]:
    power = analysis.power
    return [
        {
            "pid": call.pid if call.pid >= 0 else None,
            "model": call.model,
            "rail": call.rail,
            "calls": call.calls,
            "energy_per_call_nj": None if call.energy_mj is None else call.energy_mj * _NJ_PER_MJ,
            "basis": "inferred" if call.energy_mj is not None else "",
            "reason": call.missing,
        }
        for call in (power.calls if power else ())
    ]


def _build_table(name: str, place: Mapping[str, object], rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Return rows as a table of the schema; values that a row lacks are null."""
    names = [column for column in TABLES[name] if column not in PLACE]
    columns = {column: [row.get(column) for row in rows] for column in names}
    return _build_columns(name, place, columns)


def _build_columns(name: str, place: Mapping[str, object], columns: Mapping[str, Any]) -> pa.Table:
    """Return columns as a table of the schema, each row with the columns of its place."""
    count = len(next(iter(columns.values())))
    schema = build_arrow_schema(name)
    arrays = [
        _repeat_value(place[field.name], field.type, count)
        if field.name in PLACE
        else _build_array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _join_tables(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _repeat_value(value: object, kind: pa.DataType, count: int) -> pa.Array:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    values = pa.array([_make_valid(value)], plain)
    rows = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(rows, values) if plain is not kind else values.take(rows)


def _build_array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if not pa.types.is_dictionary(kind) and not pa.types.is_string(kind):
        return pa.array(values, kind, from_pandas=True)
    try:
        texts = pa.array(values, pa.string(), from_pandas=True)
    except UnicodeEncodeError:
        texts = pa.array([_make_valid(value) for value in values], pa.string(), from_pandas=True)
    return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts


def _make_valid(value: object) -> object:
    """Return a value for Arrow, whose texts are UTF-8: names of files and processes may be any bytes."""
    if isinstance(value, list):
        return [(_make_valid(key), _make_valid(text)) for key, text in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
