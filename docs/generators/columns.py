"""The tables of columns and of a budget's parts, and the JSON schema of a call, from their declarations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tracekit.analysis.budget.parts import BUDGET_KINDS, BUDGET_PARTS
from tracekit.analysis.engines.counters import EVENT_COUNTS, METRIC_SUMS
from tracekit.analysis.engines.segments import SEGMENTS, TIMES
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.columns.frame import FrameColumn, FrameColumns
from tracekit.columns.frames import FRAMES
from tracekit.columns.request_columns import REQUEST_COLUMNS, TOKEN_COLUMNS
from tracekit.model import columns
from tracekit.model.columns import get_unit
from tracekit.model.vocabulary import Basis
from tracekit.report.wording.budget import PART_WORDS
from tracekit.report.wording.budget_evidence import BUDGET_EVIDENCE
from tracekit.report.wording.terms import BASIS_MEANINGS, ENGINE_MEANINGS, MIXED_MEANING

SCHEMA = Path(__file__).resolve().parents[1] / "tracekit-analysis-1.schema.json"
TRACE_FRAMES = {
    "`samples`": columns.SAMPLES,
    "`threads`": columns.THREADS,
    "`intervals`": columns.INTERVALS,
    "`signposts`": columns.SIGNPOSTS,
    "`engine_log`": columns.ENGINE_LOG,
    "`thread_states`": columns.THREAD_STATES,
    "`tracks`": columns.TRACKS,
    "`metrics`": columns.METRICS,
    "`model_requests`": columns.MODEL_REQUESTS,
    "`frames`": columns.FRAMES,
    "`binaries`": columns.BINARIES,
}
ANALYSIS_FIELDS = {
    "`window_rows`": columns.WINDOWS,
    "`attribution_rows`, `totals`": columns.ATTRIBUTION,
    "`times`": TIMES,
    "`segments`": SEGMENTS,
    "`events`": EVENT_COUNTS,
    "`metrics`": METRIC_SUMS,
}
_TYPES = {"int64": "integer", "Int64": "integer", "bool": "boolean"}
_NULLABLE = {"Int64": "integer", "Float64": "number"}
"""Of JSON; a column of another dtype is a string."""


def render_schema() -> str:
    """Return the JSON schema of an analysis with the declared columns of a call."""
    document = json.loads(SCHEMA.read_text("utf-8"))
    add_columns(document["properties"]["windows"]["items"])
    document["properties"]["requests"] = describe_requests()
    document["properties"]["reported_requests"] = describe_reported_requests()
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def format_frames(frames: Mapping[str, columns.Columns]) -> str:
    """Return a row for each frame, with its columns and what they mean."""
    lines = [f"| {name} | {_list_columns(frame)} |" for name, frame in frames.items()]
    return "\n".join(["| frame | columns |", "|---|---|", *lines])


def _list_columns(frame: columns.Columns) -> str:
    names = (*frame.required, *frame.optional)
    return ", ".join(f"`{n}` ({frame.meanings[n]})" if n in frame.meanings else f"`{n}`" for n in names)


def format_parts() -> str:
    """Return the parts of a budget in order of precedence, with their bases, evidence and meaning."""
    lines = ["| part | name | basis | evidence | meaning |", "|---|---|---|---|---|"]
    for part in BUDGET_PARTS:
        bases = ", ".join(str(kind.basis or "–") for kind in BUDGET_KINDS if kind.part is part)
        words = PART_WORDS[part]
        lines.append(f"| `{part}` | {words.name} | {bases} | {BUDGET_EVIDENCE[part]} | {words.meaning} |")
    return "\n".join(lines)


def format_bases() -> str:
    """Return the bases of numbers with their meaning."""
    rows = [f"| *{basis}* | {meaning} |" for basis, meaning in BASIS_MEANINGS.items()]
    return "\n".join(["| basis | meaning |", "|---|---|", *rows])


def format_engines() -> str:
    """Return the engines of samples and verdicts with their meaning."""
    rows = [f"| `{engine}` | {meaning} |" for engine, meaning in ENGINE_MEANINGS.items()]
    return "\n".join(["| engine | meaning |", "|---|---|", *rows, f"| `MIXED` | {MIXED_MEANING} |"])


def format_frame(frame: FrameColumns[Any]) -> str:
    """Return the columns of a frame as a table in Markdown; calls with the other outputs that have each."""
    has_outputs = frame is CALL_COLUMNS
    lines = ["| column | dtype | unit | basis | meaning |", "|---|---|---|---|---|"]
    if has_outputs:
        lines = ["| column | dtype | unit | basis | meaning | also in |", "|---|---|---|---|---|---|"]
    for name, column in frame.select("frame"):
        cells = [f"`{name}`", column.type, get_unit(name), column.basis, column.meaning]
        lines.append(f"| {' | '.join([*cells, *([_format_outputs(column)] if has_outputs else [])])} |")
    return "\n".join(lines)


def _format_outputs(column: FrameColumn[Any]) -> str:
    """Return ``JSON `id`, page, -v``; every column of a frame is in CSV and Parquet."""
    named = {"JSON": f"JSON `{column.json}`", "verbose": "`-v`"}
    return ", ".join(named.get(output, output) for output in column.outputs if output not in ("frame", "CSV"))


def add_columns(item: dict[str, Any]) -> None:
    """Put the columns that JSON has into the schema of a call, in place of those of their names."""
    for _, column in CALL_COLUMNS.select("JSON"):
        target = item
        *outer, inner = column.json.split(".")
        for part in outer:
            target = target["properties"].setdefault(
                part, {"type": "object", "properties": {}, "required": []}
            )
        target["properties"][inner] = describe_values(column)
        if inner not in target["required"]:
            target["required"].append(inner)


def describe_requests() -> dict[str, Any]:
    """Return the JSON schema of requests to language models: the columns of a request, with its tokens."""
    tokens = _describe_rows(TOKEN_COLUMNS, left_out="request")
    item = _describe_rows(REQUEST_COLUMNS)
    item["properties"]["token_list"] = {
        "type": "array",
        "items": tokens,
        "description": "its tokens, in order of time",
    }
    item["required"].append("token_list")
    return {"type": "array", "items": item, "description": "requests to language models, in order of time"}


def describe_reported_requests() -> dict[str, Any]:
    """Return the JSON schema of the requests that Foundation Models reports as a whole."""
    properties: dict[str, Any] = {}
    for name, dtype in columns.MODEL_REQUESTS.required.items():
        type_ = {"int64": "integer", "bool": "boolean"}.get(dtype, "string")
        properties[name] = {"type": [type_, "null"] if name in columns.NULLABLE else type_}
    for name, meaning in columns.MODEL_REQUESTS.meanings.items():
        properties[name]["description"] = meaning
    item = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "array", "items": item, "description": "requests as Foundation Models reports them"}


def _describe_rows(frame: FrameColumns[Any], left_out: str = "") -> dict[str, Any]:
    properties = {name: describe_values(column) for name, column in frame.select("frame") if name != left_out}
    return {"type": "object", "properties": properties, "required": list(properties)}


def describe_values(column: FrameColumn[Any]) -> dict[str, Any]:
    """Return the JSON schema of a column's values."""
    type_: str | list[str] = _TYPES.get(column.type, "string")
    if column.type in _NULLABLE:
        type_ = [_NULLABLE[column.type], "null"]
    without_type = {"$ref", "enum"} & column.schema.keys()
    typed = {} if without_type else {"type": type_}
    meaning = column.meaning.replace("missing", "null")
    basis = f"{column.basis}: " if column.basis in set(Basis) else ""
    return {**typed, **column.schema, "description": basis + meaning}


PARTS: Mapping[str, Callable[[], str]] = {
    **{f"frame-{name}": partial(format_frame, frame) for name, frame in FRAMES.items()},
    "frames-of-a-trace": partial(format_frames, TRACE_FRAMES),
    "fields-of-an-analysis": partial(format_frames, ANALYSIS_FIELDS),
    "parts-of-a-budget": format_parts,
    "bases": format_bases,
    "engines": format_engines,
}
