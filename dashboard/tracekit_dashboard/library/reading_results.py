"""The results of reading a recording: the files that the pages need, written by a worker."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit_dashboard.library.outside_names import make_one_line
from tracekit_dashboard.library.page_measures import MEASURES, build_measures_document

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis

RESULTS_VERSION = 11
"""The version of the results: results of another version are made again when the dashboard starts."""
SECTIONS_FILE, VIEW, SAMPLES = "sections.json.gz", "view.bin.gz", "samples.bin.gz"
COUNTERS = "counters.json.gz"
"""The sums of hardware counters over each window."""
_MAX_COUNTERS = 8
SUMMARY = "summary.json"
PROCESSES = "processes.json"
"""Pid and name of the processes to choose from before redacting; mostly none."""
_COMPRESSION = 5
_COMPRESSION_OF_SAMPLES = 1
"""Higher levels take three times as long for some percent: there may be hundreds of megabytes."""
_MAX_INTEGER = 2**62
_STATIC_PICTURE = "timeline"


def write_results(folder: Path, analysis: Analysis) -> None:
    """Write all that the pages need of a recording."""
    view, samples = _build_page_blocks(analysis)
    _write_file(folder / VIEW, [view])
    _write_file(folder / SAMPLES, [samples], _COMPRESSION_OF_SAMPLES)
    del view, samples
    for name, content in _CONTENTS.items():
        _write_file(folder / name, content(analysis))


def _write_file(path: Path, content: Iterable[bytes], level: int = _COMPRESSION) -> None:
    with path.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=file, mtime=0) as packed:
                packed.writelines(content)
        else:
            file.writelines(content)
        file.flush()
        os.fsync(file.fileno())


VARIANT_FACTS = ("verdict", "duration_ns", "samples", "windows", "engines", "p50_ns")
"""What the catalog has of the summary, and depends on the options of the analysis."""
FACTS = (*VARIANT_FACTS, "device", "system", "app", "recorded_us", "digest")
"""What the catalog has of the summary."""


def read_facts(folder: Path) -> dict[str, Any] | None:
    """Return the facts of the results in a folder; None if there are none of the present version."""
    place = folder / SUMMARY
    try:
        summary = json.loads(place.read_bytes()) if place.is_file() else {}
        facts = {name: summary[name] for name in FACTS} if summary["results"] == RESULTS_VERSION else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return facts if facts and all(map(_is_storable, facts.values())) else None


def _is_storable(value: object) -> bool:
    """Return True for an integer or a text that the catalog takes; a folder may be another machine's."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    return isinstance(value, int) and abs(value) < _MAX_INTEGER


def _build_page_blocks(analysis: Analysis) -> tuple[bytes, bytes]:
    from tracekit.report.viewmodel.view import build_served_blocks

    return build_served_blocks(analysis)


def _build_sections(analysis: Analysis) -> Iterable[bytes]:
    from tracekit.report.html.sections import sections
    from tracekit.report.viewmodel.view import Extras

    report_sections = sections(analysis, Extras(), left_out={_STATIC_PICTURE})
    return [_encode_utf8(json.dumps({name: str(markup) for name, markup in report_sections.items()}))]


def _build_counters(analysis: Analysis) -> Iterable[bytes]:
    """Return the sums over all engines: a row of values per event, null for a window without the event."""
    events = analysis.events.astype({"event": "str"})
    sum_by_code = events.groupby(["event", "window_id"])["value"].sum().unstack()
    sum_by_code = sum_by_code.reindex(columns=analysis.window_rows["window_id"])[:_MAX_COUNTERS]
    values = [[None if math.isnan(value) else int(value) for value in row] for row in sum_by_code.to_numpy()]
    return [_encode_utf8(json.dumps({"names": sum_by_code.index.tolist(), "values": values}))]


def _list_processes(analysis: Analysis) -> Iterable[bytes]:
    """Return the processes of a recording of all processes, those with most samples first."""
    from tracekit.analysis.engines.codes import sum_by_code

    trace = analysis.trace
    threads = trace.threads[trace.threads["pid"] >= 0]
    has_target = trace.info.pid is not None or (threads["process"] == trace.info.process).any()
    if has_target:
        return [b"[]"]
    # Samples per thread (its row number), then per process.
    thread_ids = trace.samples["thread_id"].to_numpy()
    counts = sum_by_code(thread_ids + 1, trace.sample_counts, len(trace.threads) + 1)[1:]
    names: dict[int, str] = {}
    samples: Counter[int] = Counter()
    for pid, name, count in zip(threads["pid"], threads["process"], counts[threads.index], strict=True):
        names.setdefault(int(pid), str(name))
        samples[int(pid)] += int(count)
    for process in analysis.requests.processes:
        names.setdefault(process.pid, process.process)
    # A log has processes of which no thread is known: what it shows of one is a choice, too.
    if len(names) < (2 if len(trace.samples) else 1):
        return [b"[]"]
    order = sorted(names, key=lambda pid: (-samples[pid], names[pid].casefold(), pid))
    return [_encode_utf8(json.dumps([[pid, names[pid]] for pid in order]))]


def _build_summary(analysis: Analysis) -> Iterable[bytes]:
    from tracekit.report import wording
    from tracekit.report.viewmodel.view import measure_duration

    info = analysis.trace.info
    length_ns = info.duration_ns or measure_duration(analysis)
    facts = {
        "results": RESULTS_VERSION,
        "verdict": make_one_line(wording.headline(analysis.answer)),
        "device": make_one_line(info.device or info.model),
        "system": make_one_line(f"{info.platform} {info.os}".strip()),
        "app": make_one_line(info.process),
        "recorded_us": _parse_recorded_us(info.start),
        "engines": json.dumps(analysis.summary.verdicts, sort_keys=True) if len(analysis.window_rows) else "",
        "p50_ns": analysis.summary.p50_ns or 0,
        "digest": _digest_recording(analysis),
        "duration_ns": length_ns if length_ns > 1 else 0,  # an axis of 1 ns is that of a run without times
        "samples": analysis.trace.count_samples(),
        "windows": len(analysis.window_rows),
    }
    return [_encode_utf8(json.dumps(facts))]


def _parse_recorded_us(start: str) -> int:
    """Return the start of a recording since 1970; 0 if it is not known."""
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        return 0
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)


def _digest_recording(analysis: Analysis) -> str:
    """Return a text that copies of one recording share, whether they are a bundle, an upload or a pack.

    Where nothing but its length is known of a recording, it is "": others may be as long.
    """
    trace = analysis.trace
    if not trace.info.start or not len(trace.samples):
        return ""
    times = trace.samples["time_ns"].to_numpy()
    if not trace.has_timeline:  # two dumps of one minute differ in their counts
        times = trace.weights
    content = (trace.info.start, trace.info.run, len(times), int(times[0]), int(times[-1]), int(times.sum()))
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]


_CONTENTS: dict[str, Callable[[Analysis], Iterable[bytes]]] = {
    SECTIONS_FILE: _build_sections,
    COUNTERS: _build_counters,
    PROCESSES: _list_processes,
    MEASURES: build_measures_document,
    SUMMARY: _build_summary,
}


def _encode_utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
