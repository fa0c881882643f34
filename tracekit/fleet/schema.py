"""The tables of a dataset of results, each declared once; docs/fleet.md lists them for people.

Every row begins with the columns of ``PLACE``: the recording, and where it ran. They are repeated because a
question asks "by device and build" of every table; as dictionaries they cost a few bytes a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyarrow as pa

from tracekit.model.columns import Column

SCHEMA = "tracekit-fleet/1"
"""The version of the dataset: readers refuse a later one; of an earlier one, new columns are null."""

_TEXT = pa.dictionary(pa.int32(), pa.string())
_NS = pa.int64()
_COUNT = pa.int64()

ENGINES = ("ANE", "GPU", "CPU")
"""The engines that a call can be served by, as columns of ``calls`` and as rows of ``engines``."""
YES, NO, UNKNOWN = "yes", "no", "unknown"
"""Whether an engine served a call; ``unknown`` also where its intervals are contested."""
ANALYZED, FAILED, KILLED = "analyzed", "failed", "killed"
"""The states of a recording."""
FAILURES = (FAILED, KILLED)
METRICKIT = "metrickit"
"""The kind of a report of MetricKit, which has rows in ``field`` and is no recording of calls."""


PLACE: Mapping[str, Column] = {
    "recording": Column(
        pa.string(), "The recording: a digest of its content and its run; rows of one share it."
    ),
    "recorded": Column(pa.timestamp("us", "UTC"), "When it was recorded; null where that is not known."),
    "device": Column(_TEXT, "The device's name."),
    "device_model": Column(_TEXT, "The device's model, as the recording has it."),
    "chip": Column(_TEXT, "The chip, where the model identifies it, else empty."),
    "system": Column(_TEXT, "Platform, version and build of the system."),
    "app": Column(_TEXT, "The program that was recorded."),
    "build": Column(_TEXT, "The app's build: the label ``build``, else empty."),
    "labels": Column(pa.map_(pa.string(), pa.string()), "All labels of the recording."),
}
_OF_MODEL: Mapping[str, Column] = {
    "process": Column(_TEXT, "The process that made the calls; empty where it is not known."),
    "pid": Column(pa.int64(), "Its pid; null where it is not known."),
    "model": Column(_TEXT, "The model's name; empty for calls that name none."),
    "label": Column(_TEXT, "What calls without a model are called: a signpost, a function; else empty."),
    "copy": Column(_TEXT, "The loaded copy, where one model is loaded more than once."),
}


def _build_engine_columns(engine: str) -> dict[str, Column]:
    name = engine.lower()
    return {
        f"{name}_used": Column(_TEXT, f"Whether the {engine} served the call: yes, no or unknown."),
        f"{name}_busy_ns": Column(
            _NS, f"Time that the {engine} certainly worked for the call; null if not measured."
        ),
        f"{name}_waiting_ns": Column(_NS, f"Time that the call waited for the {engine}; null if not known."),
    }


def _build_phase_columns(phase: str, edges: str) -> dict[str, Column]:
    return {
        f"{phase}_{engine.lower()}_ns": Column(
            _NS,
            f"Time of {phase}, {edges}, in which the {engine} worked for its process; null where nothing"
            " shows that, or where the request shares time with another one of the process.",
        )
        for engine in ENGINES
    }


TABLES: Mapping[str, Mapping[str, Column]] = {
    "recordings": {
        **PLACE,
        "run": Column(_COUNT, "The run within the recording, from 1."),
        "name": Column(pa.string(), "The file's name."),
        "path": Column(pa.string(), "Where it was read from: a path or an address."),
        "content": Column(pa.string(), "SHA-256 of the file, or of a folder's files, as 64 hex digits."),
        "identity": Column(
            pa.string(),
            "What copies of a run share whose files differ; empty where it states no exact start or length.",
        ),
        "kind": Column(_TEXT, "The kind of file."),
        "tracekit": Column(_TEXT, "The version of tracekit that analyzed it."),
        "options": Column(pa.string(), "The options of the analysis, as JSON; empty for none."),
        "state": Column(_TEXT, "analyzed, failed (it cannot be read) or killed (it ended its worker)."),
        "reason": Column(pa.string(), "Why it was not analyzed; empty if it was."),
        "headline": Column(pa.string(), "The first sentence of the analysis."),
        "duration_ns": Column(_NS, "The length of the recording; null where it states none."),
        "samples": Column(_COUNT, "The number of samples."),
        "calls": Column(_COUNT, "The number of calls."),
        "template": Column(_TEXT, "The template that it was recorded with."),
        "instruments": Column(_TEXT, "The version of Instruments."),
        "thermal": Column(
            _TEXT, "The worst thermal state during the recording; empty where none was recorded."
        ),
        "binary": Column(_TEXT, "The UUID of the program's main binary; empty where stacks do not show it."),
    },
    "models": {
        **PLACE,
        **_OF_MODEL,
        "calls": Column(_COUNT, "The number of calls that no edge of the recording cuts."),
        "cut_calls": Column(_COUNT, "The number of calls that an edge of the recording cuts."),
        "source": Column(_TEXT, "What showed the calls: lengths of other sources cannot be compared."),
        "basis": Column(_TEXT, "How the lengths are known: measured, sampled, inferred."),
        "mean_ns": Column(pa.float64(), "The mean length of these calls, but the first."),
        "p50_ns": Column(pa.float64(), "The median length of the same calls."),
        "p90_ns": Column(pa.float64(), "Their 90th percentile; null for fewer than 10 calls."),
        "first_ns": Column(_NS, "The length of the first call; null where no load before it was recorded."),
        "load_ns": Column(
            _NS,
            "Time of measured loads and compilations until the end of the first call; null where none was"
            " recorded, or for a copy, because loads name the model alone.",
        ),
    },
    "engines": {
        **PLACE,
        **_OF_MODEL,
        "engine": Column(_TEXT, "ANE, GPU or CPU."),
        "calls": Column(_COUNT, "The number of calls, with those that an edge of the recording cuts."),
        "served": Column(_COUNT, "Calls that the engine certainly served."),
        "not_served": Column(_COUNT, "Calls that it certainly did not serve."),
        "unknown": Column(_COUNT, "Calls of which neither is known, or whose intervals are contested."),
        "busy_ns": Column(
            _NS, "Time that it certainly worked for the calls; null unless it was measured in all of them."
        ),
        "contested_ns": Column(
            _NS,
            "Time of intervals that may be the calls' or others'; null where nothing measured the engine.",
        ),
        "basis": Column(_TEXT, "How it is known which engine served: measured, sampled, inferred."),
    },
    "calls": {
        **PLACE,
        **_OF_MODEL,
        "call": Column(_COUNT, "The call's number within its model, from 1."),
        "thread": Column(_TEXT, "Its thread; empty where it is not known."),
        "start_ns": Column(_NS, "Its begin, since the start of the run."),
        "length_ns": Column(_NS, "Its length; null where an edge cuts it, or where time was not recorded."),
        "first": Column(
            pa.bool_(), "The first call of its model, or of its copy, in the recording: it may be cold."
        ),
        "cut": Column(pa.bool_(), "An edge of the recording cuts it."),
        "source": Column(_TEXT, "What showed the call."),
        "basis": Column(_TEXT, "How its edges are known."),
        "verdict": Column(_TEXT, "ANE, GPU or CPU; MIXED for several, UNKNOWN where none is seen."),
        **{name: column for engine in ENGINES for name, column in _build_engine_columns(engine).items()},
        "contested_ns": Column(_NS, "Time of intervals that may be the call's or another's."),
        "idle_ns": Column(
            _NS,
            "Time in which no engine was measured at work and no sample was on a CPU; null where neither the"
            " ANE nor the GPU was measured.",
        ),
        "preparing_ns": Column(_NS, "Time of compiling and loading in it; null where none was recorded."),
        "submissions": Column(_COUNT, "Submissions to the Neural Engine; null if not recorded."),
    },
    "segments": {
        **PLACE,
        **_OF_MODEL,
        "call": Column(_COUNT, "The number of the call within its model."),
        "segment": Column(_COUNT, "The number of the segment within the call, from 1."),
        "engine": Column(_TEXT, "The engine."),
        "start_ns": Column(_NS, "Its begin, since the begin of the call."),
        "length_ns": Column(_NS, "Its length."),
        "busy_ns": Column(_NS, "Time that the engine worked in it; null if not measured."),
        "basis": Column(_TEXT, "How it is known."),
    },
    "requests": {
        **PLACE,
        "process": Column(_TEXT, "Its process; empty where it is not known."),
        "pid": _OF_MODEL["pid"],
        "model": Column(
            _TEXT,
            "The model, by signposts or the only one that its process calls; empty where none is sure.",
        ),
        "request": Column(
            _COUNT, "The number of the request to a language model, from 1 for each source, in order of time."
        ),
        "start_ns": Column(_NS, "Its begin, since the start of the run."),
        "cut": Column(pa.bool_(), "The end of the recording cuts it, or it has none."),
        "source": Column(
            _TEXT,
            "What showed the request: os-signpost, or ModelInferenceTable for one that Foundation Models"
            " reports as a whole, whose tokens are as reported, and which has no first token and no phases.",
        ),
        "basis": Column(_TEXT, "How its times are known: measured."),
        "length_ns": Column(
            _NS, "The length of a reported request; null without an end, and for those that signposts mark."
        ),
        "errors": Column(
            _COUNT, "The errors of a reported request; null where it states none, and for all others."
        ),
        "prompt_tokens": Column(_COUNT, "The tokens of its prompt; null where it states none."),
        "cached_tokens": Column(_COUNT, "Cached ones of a reported request; null where it states none."),
        "tokens": Column(
            _COUNT, "The tokens that it made; null where they may be another's, or none are reported."
        ),
        "first_token_ns": Column(_NS, "The time to the first token; null where none is seen."),
        "decode_tokens": Column(_COUNT, "The tokens after the first; null where they may be another's."),
        "decode_ns": Column(_NS, "The time from the first token to the last; null for fewer than two."),
        **_build_phase_columns("prefill", "up to the first token"),
        **_build_phase_columns("decode", "from the first token to the last"),
    },
    "findings": {
        **PLACE,
        "pid": _OF_MODEL["pid"],
        "model": _OF_MODEL["model"],
        "finding": Column(_TEXT, "The kind of finding."),
        "severity": Column(_TEXT, "Its severity."),
        "basis": Column(_TEXT, "How it is known."),
        "title": Column(pa.string(), "The finding in a sentence."),
        "calls": Column(_COUNT, "The number of calls that it concerns."),
        "lost_ns": Column(_NS, "What it costs in time; null where that is not known."),
    },
    "issues": {
        **PLACE,
        "severity": Column(_TEXT, "Its severity."),
        "issue": Column(_TEXT, "The code of the issue."),
        "message": Column(pa.string(), "The issue in a sentence."),
        "count": Column(_COUNT, "How often it occurred; null where it is not counted."),
    },
    "energy": {
        **PLACE,
        "pid": _OF_MODEL["pid"],
        "model": _OF_MODEL["model"],
        "rail": Column(_TEXT, "The power rail."),
        "calls": Column(
            pa.float64(), "The calls over which it was measured; samples begin inside of calls, too."
        ),
        "energy_per_call_nj": Column(
            pa.float64(), "Energy of one call in nanojoules; null where it is not known."
        ),
        "basis": Column(_TEXT, "How it is known."),
        "reason": Column(
            _TEXT,
            "Why it is not known: absent, dead or zero (the rail), no-interval or long-samples (the power's),"
            " not-single (calls that cannot be separated), several-tools; empty if it is.",
        ),
    },
    "field": {
        **PLACE,
        "app_version": Column(_TEXT, "The app's version; the latest of several."),
        "category": Column(_TEXT, "The signpost's category."),
        "signpost": Column(_TEXT, "The signpost's name."),
        "bucket_start_ns": Column(_NS, "The least length of an interval in the bucket."),
        "bucket_end_ns": Column(_NS, "The length below which they are."),
        "count": Column(_COUNT, "The number of intervals in the bucket."),
    },
}


@cache
def build_arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of one of ``TABLES``, with its version and the meanings as metadata."""
    fields = [
        pa.field(name, column.type, metadata={"meaning": column.meaning})
        for name, column in TABLES[table].items()
    ]
    return pa.schema(fields, metadata={"schema": SCHEMA, "table": table})
