"""Reports of MetricKit, as ``MXMetricPayload.jsonRepresentation()`` writes them: lengths of signposts.

Each signpost has a histogram of the lengths of its intervals, on one device, over about a day::

    "signpostMetrics": [{"signpostCategory": …, "signpostName": …, "totalSignpostCount": 30,
      "signpostIntervalData": {"histogrammedSignpostDurations": {"histogramNumBuckets": 3,
        "histogramValue": {"0": {"bucketCount": 50, "bucketStart": "0 ms", "bucketEnd": "100 ms"}, …}}}}]
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tracekit import __version__
from tracekit.analysis.chips import identify_chip
from tracekit.errors import InputError
from tracekit.fleet.dataset_rows import Tables, make_recording_id
from tracekit.fleet.schema import ANALYZED, METRICKIT, build_arrow_schema
from tracekit.frozen import frozen
from tracekit.text import printable

_MAX_BYTES = 50_000_000
_LENGTH = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*(ns|µs|us|ms|s|sec)", re.ASCII)
_UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MARKS = ("signpostMetrics", "metaData")


@frozen
class MetricKitReport:
    """A report: its file, the digest of its content, and the parsed document."""

    path: Path
    content: str
    document: Mapping[str, Any]


def read_report(path: Path) -> MetricKitReport | None:
    """Return the report in a JSON file; None for other JSON. Raises ``InputError`` for a damaged file."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:  # a pipe would be waited for
            return None
        data = path.read_bytes()
        document = json.loads(data)
    except OSError as error:
        raise InputError(str(path), f"it cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), "it is no JSON.") from error
    if not isinstance(document, dict) or not all(mark in document for mark in _MARKS):
        return None
    return MetricKitReport(path, hashlib.sha256(data).hexdigest(), document)


def build_report_tables(report: MetricKitReport) -> Tables:
    """Return a report as rows of ``field``, and its row of ``recordings``.

    Where a report is of several versions of the app, the build is not determined and is left empty. Raises
    ``InputError`` where the document is not as MetricKit writes it.
    """
    try:
        place = _read_place(report)
        rows = [{**place, **bucket} for bucket in _iter_buckets(report.document)]
        return {
            "recordings": _build_table("recordings", [_build_recording_row(report, place)]),
            "field": _build_table("field", rows),
        }
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(str(report.path), f"it is not as MetricKit writes it: {error!r}.") from error


def _build_recording_row(report: MetricKitReport, place: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **place,
        "run": 1,
        "name": report.path.name,
        "path": str(report.path),
        "content": report.content,
        "kind": METRICKIT,
        "tracekit": __version__,
        "options": "",
        "state": ANALYZED,
        "reason": "",
    }


def _read_place(report: MetricKitReport) -> dict[str, Any]:
    document = report.document
    meta: Mapping[str, Any] = document["metaData"]
    is_several = bool(document.get("includesMultipleApplicationVersions", False))
    build = "" if is_several else str(meta.get("appBuildVersion", ""))
    model = str(meta.get("deviceType", ""))
    return {
        "recording": make_recording_id(report.content, str(report.path), 1),
        "recorded": _parse_moment(document.get("timeStampEnd")),
        "device": "",
        "device_model": model,
        "chip": identify_chip(model),
        "system": str(meta.get("osVersion", "")),
        "app": str(meta.get("bundleIdentifier", "")),
        "build": build,
        "labels": [("build", build)] if build else [],
        "app_version": str(document.get("latestApplicationVersion", document.get("appVersion", ""))),
    }


def _parse_moment(value: object) -> datetime | None:
    """Return a time: seconds since 1970, or text with a time zone; None for anything else."""
    if isinstance(value, (int, float)):
        return _EPOCH + timedelta(seconds=value)  # unlike fromtimestamp, raises no OSError for large values
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _iter_buckets(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the buckets of every signpost with a histogram, in their order."""
    for signpost in document["signpostMetrics"]:
        data = signpost.get("signpostIntervalData") or {}
        histogram = data.get("histogrammedSignpostDurations") or {}
        values = histogram.get("histogramValue") or {}
        for _, bucket in sorted(values.items(), key=lambda entry: int(entry[0])):
            start_ns, end_ns = _parse_length_ns(bucket["bucketStart"]), _parse_length_ns(bucket["bucketEnd"])
            count = bucket["bucketCount"]
            if not isinstance(count, int) or count < 0 or end_ns < start_ns:
                raise ValueError(f"a bucket from {start_ns} to {end_ns} ns has {count!r} intervals")
            yield {
                "category": str(signpost.get("signpostCategory", "")),
                "signpost": str(signpost["signpostName"]),
                "bucket_start_ns": start_ns,
                "bucket_end_ns": end_ns,
                "count": count,
            }


def _parse_length_ns(text: str) -> int:
    match = _LENGTH.fullmatch(text.strip().replace("µ", "u"))
    if match is None:
        raise ValueError(f"'{printable(text[:40])}' is no length of time")
    return round(float(match[1].replace(",", "")) * _UNITS_NS[match[2]])


def _build_table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = build_arrow_schema(name)
    columns = [_build_array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _build_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode().cast(kind)
    return pa.array(values, kind)
