"""The columns of a call (docs/architecture.md, "A column of a call")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.columns.call_rows import CallRows
from tracekit.columns.frame import TABLES, FrameColumn, FrameColumns, Shown, Values
from tracekit.model.issue_codes import BUSY, CALLS, LENGTHS, VERDICTS, Part, Reach
from tracekit.model.schemas import ANE_INTERVALS, CORE_ML, MODEL_INFERENCE
from tracekit.model.vocabulary import SERVING, Basis, Engine
from tracekit.report import wording
from tracekit.report.wording.texts import texts_of

_Column: TypeAlias = FrameColumn[CallRows]
_AMOUNT: Mapping[str, Any] = MappingProxyType({"minimum": 0})
_TEXT_OR_NULL: Mapping[str, Any] = MappingProxyType({"type": ["string", "null"]})
_SOURCES = (*(CORE_ML, MODEL_INFERENCE, ANE_INTERVALS), *("signpost", "stacks"), *GIVEN_SOURCES)


def _of_busy(engine: Engine) -> _Column:
    return FrameColumn(
        "Int64",
        f"work of the {engine} for the inference; missing where no table measured it",
        lambda rows: rows.busy_ns(engine),
        "measured",
        shown=Shown(f"{engine} busy", "busy", limits=(BUSY, Reach(Part.BUSY, engine))),
    )


def _of_waiting(engine: Engine) -> _Column:
    runtime = engine is Engine.RUNTIME
    cause = "inside an ML runtime with no engine visible" if runtime else f"for the {engine}"
    return FrameColumn(
        "Int64",
        f"time that the calling thread waited {cause}; `attribution` has its basis",
        lambda rows: rows.sum_of(engine, "waiting_ns"),
        shown=None if runtime else Shown(f"Waiting for {engine}", "waiting", note=_waiting_note),
    )


def _waiting_note(rows: CallRows) -> str:
    return rows.waiting_bases


def _of_samples(engine: Engine) -> _Column:
    is_runtime = engine is Engine.RUNTIME
    return FrameColumn(
        "Int64",
        f"host samples of the inference {_seen_in(engine)}; missing where the input has none",
        lambda rows: rows.sampled(engine, "samples"),
        "sampled",
        shown=Shown("Host samples", "part", str(engine), outputs=("page",) if is_runtime else TABLES),
    )


def _of_sampled(engine: Engine) -> _Column:
    return FrameColumn(
        "Int64",
        f"weight of the host samples {_seen_in(engine)}; missing where the recorder did not count time",
        lambda rows: rows.sampled(engine, "sampled_ns"),
        "sampled",
    )


def _seen_in(engine: Engine) -> str:
    if engine is Engine.CPU:
        return "in an ML engine on the CPU"
    return (
        "in an ML runtime with no engine visible" if engine is Engine.RUNTIME else f"at work for the {engine}"
    )


def _of_times(name: str, type_: str, meaning: str, basis: str = "", **schema: Any) -> _Column:
    """Return a column of ``Analysis.times``."""
    schema = schema or dict(_AMOUNT)
    return FrameColumn(type_, meaning, lambda rows: rows.times[name], basis, f"times.{name}", schema)


def _take(name: str) -> Callable[[CallRows], Values]:
    """Return the function that takes a column of ``Analysis.window_rows``."""
    return lambda rows: rows.windows[name]


_COLUMNS: Mapping[str, _Column] = {
    "window_id": FrameColumn(
        "int64",
        "the number over the whole recording, from 0, in order of time",
        _take("window_id"),
        json="id",
        schema=_AMOUNT,
    ),
    "call": FrameColumn(
        "Int64",
        "the number of the call within its model, from 1, as texts name it (call 6 of SpeechEncoder); missing"
        " for ranges of your own and for the whole run",
        lambda rows: rows.analysis.call_column.iloc[rows.span],
        json="call",
        schema={"minimum": 1},
    ),
    "number": FrameColumn(
        "int64",
        "the same, and the number of a range",
        lambda rows: rows.names.numbers[rows.span],
        shown=Shown(lambda rows: rows.names.noun.capitalize(), "call", limits=(CALLS,)),
        is_in_tables=False,
    ),
    "name": FrameColumn(
        "str",
        "the model, with the process where several have one name; a function or a signpost where no model is"
        " known; the label of a range",
        lambda rows: rows.names.texts[rows.span],
        shown=Shown(lambda rows: "Model" if (rows.windows["model"] != "").all() else "Name"),
        is_in_tables=False,
    ),
    "label": FrameColumn("str", "what the source of the call names it", _take("label"), json="label"),
    "own_label": FrameColumn(
        "str",
        "the label, where any label differs from the model",
        lambda rows: rows.own_labels,
        shown=Shown("Label"),
        is_in_tables=False,
    ),
    "model": FrameColumn(
        "str",
        "the model; missing where the recording does not name it",
        lambda rows: rows.known_texts("model"),
        json="model",
        schema=_TEXT_OR_NULL,
    ),
    "copy": FrameColumn(
        "str",
        "the loaded copy of the model, as Core ML numbers it (Encoder-2); missing where the recording does"
        " not name it",
        lambda rows: rows.known_texts("copy"),
        shown=Shown("Copy", outputs=("verbose",)),
        json="copy",
        schema=_TEXT_OR_NULL,
    ),
    "first": FrameColumn(
        "bool",
        "the first call of its model (of its label, where no model is known) in its process: it may be cold",
        _take("first"),
        json="first",
    ),
    "start_ns": FrameColumn(
        "int64",
        "its begin; below 0 if it began before the recording",
        _take("start_ns"),
        "column `basis`",
        json="start_ns",
        shown=Shown("Start", "time"),
    ),
    "end_ns": FrameColumn("int64", "its end, exclusive", _take("end_ns"), "column `basis`", json="end_ns"),
    "length_ns": FrameColumn(
        "int64",
        "`end_ns` less `start_ns`",
        lambda rows: rows.windows["end_ns"] - rows.windows["start_ns"],
        "column `basis`",
        shown=Shown("Length", "time", limits=(LENGTHS,)),
    ),
    "thread": FrameColumn(
        "str",
        "the calling thread's name; missing for all threads, or where it is not known",
        lambda rows: rows.thread_names,
        shown=Shown("Thread", outputs=("verbose",)),
    ),
    "thread_title": FrameColumn(
        "str",
        "the calling thread with its tid, process and pid; missing for all threads, or where it is not known",
        lambda rows: rows.thread_titles,
        json="thread",
        schema=_TEXT_OR_NULL,
        is_in_tables=False,
    ),
    "thread_id": FrameColumn(
        "Int32", "its row in `trace.threads`; missing likewise", lambda rows: rows.known_ids("thread_id")
    ),
    "pid": FrameColumn(
        "Int64", "the process; missing for all, or where it is not known", lambda rows: rows.known_ids("pid")
    ),
    "source": FrameColumn(
        "category",
        "what gave the call: a table, or stacks, manual, csv, run",
        _take("source"),
        json="source",
        schema={"examples": list(_SOURCES)},
    ),
    "basis": FrameColumn(
        "category",
        "how its edges are known",
        _take("basis"),
        json="basis",
        schema={"enum": [str(basis) for basis in Basis]},
    ),
    "alone": FrameColumn("bool", "no other call shares time with it", _take("alone")),
    "verdict": FrameColumn(
        "str",
        "the engine that served it: ANE, GPU or CPU; MIXED for several, UNKNOWN where none is seen",
        lambda rows: texts_of(rows.verdicts.names),
        json="verdict",
        schema={"$ref": "#/$defs/verdict"},
        shown=Shown("Verdict", "verdict", limits=(VERDICTS,)),
    ),
    **{f"{engine}_busy_ns": _of_busy(engine) for engine in SERVING},
    **{f"{engine}_waiting_ns": _of_waiting(engine) for engine in (*SERVING, Engine.RUNTIME)},
    **{f"{engine}_samples": _of_samples(engine) for engine in (*SERVING, Engine.RUNTIME)},
    **{f"{engine}_sampled_ns": _of_sampled(engine) for engine in (*SERVING, Engine.RUNTIME)},
    "busy_ns": _of_times("busy_ns", "Int64", "any engine at work", "measured"),
    "overlap_ns": _of_times(
        "overlap_ns",
        "Int64",
        "two engines or more at work at once; missing with fewer than two measured",
        "measured",
    ),
    "idle_ns": _of_times(
        "idle_ns",
        "Int64",
        "no engine measured at work, and no sample of the call on a CPU; missing where neither the ANE nor"
        " the GPU was measured",
    ),
    "preparing_ns": _of_times(
        "preparing_ns", "Int64", "compile and load", "column `preparing_basis`", type="integer", minimum=0
    ),
    "preparing_basis": _of_times(
        "preparing_basis",
        "category",
        "how `preparing_ns` is known; missing where nothing was prepared",
        enum=["measured", "sampled", "inferred", None],
    ),
    "other_process_ns": FrameColumn(
        "Int64",
        "the Neural Engine at work for models of other processes; missing where no table measured it",
        lambda rows: rows.other_process_ns,
        "measured",
    ),
    "foreign_ns": _of_times(
        "foreign_ns",
        "int64",
        "the Neural Engine at work for models of other processes; 0 also where no table measured it",
        "measured",
    ),
    "contested_ns": _of_times(
        "contested_ns",
        "int64",
        "an engine at work for this call or for another owner, which the recording does not show; in no other"
        " number",
        "measured",
    ),
    "ANE_submissions": FrameColumn(
        "Int64",
        "requests to the Neural Engine; missing where the call is no single inference"
        " ([evidence](evidence.md#submissions))",
        lambda rows: rows.submissions["submissions"],
        "measured",
    ),
    "ANE_segments": FrameColumn(
        "Int64",
        "the distinct pieces of the model that they ran; missing likewise, or where labels name none",
        lambda rows: rows.submissions["segments"],
        "measured",
    ),
    "sentence": FrameColumn(
        "str",
        "the verdict for a person",
        lambda rows: wording.verdict_sentences(rows.verdicts),
        json="sentence",
        is_in_tables=False,
    ),
    "why": FrameColumn(
        "str",
        "the evidence in one sentence",
        lambda rows: wording.verdict_whys(rows.verdicts),
        json="why",
        shown=Shown("Why"),
    ),
}

CALL_COLUMNS: FrameColumns[CallRows] = FrameColumns(CallRows, _COLUMNS)
