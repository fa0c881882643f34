"""The columns of a call (docs/architecture.md, "A column of a call")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tracekit.analysis.budget.parts import BUDGET_KINDS, BUDGET_PARTS, BudgetPart
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.columns.call_rows import CallRows
from tracekit.columns.frame import TABLES, Display, FrameColumn, FrameColumns, Values
from tracekit.model.issue_codes import BUSY, CALLS, LENGTHS, VERDICTS, Part, Reach
from tracekit.model.schemas import ANE_INTERVALS, CORE_ML, MODEL_INFERENCE
from tracekit.model.vocabulary import SERVING, Basis, Engine
from tracekit.report import wording
from tracekit.report.wording.budget import PART_WORDS
from tracekit.report.wording.texts import texts_of

_Column: TypeAlias = FrameColumn[CallRows]
_AMOUNT: Mapping[str, Any] = MappingProxyType({"minimum": 0})
_TEXT_OR_NULL: Mapping[str, Any] = MappingProxyType({"type": ["string", "null"]})
_IN_RUNTIME = "in an ML runtime with no engine visible"
_SOURCES = (*(CORE_ML, MODEL_INFERENCE, ANE_INTERVALS), *("signpost", "stacks"), *GIVEN_SOURCES)


def _make_busy_column(engine: Engine) -> _Column:
    return FrameColumn(
        "Int64",
        f"work of the {engine} for the inference; missing where no table measured it",
        lambda rows: rows.sum_busy_ns(engine),
        "measured",
        display=Display(f"{engine} busy", "busy", limits=(BUSY, Reach(Part.BUSY, engine))),
    )


def _make_waiting_column(engine: Engine) -> _Column:
    display = Display[CallRows](f"Waiting for {engine}", "waiting", note=lambda rows: rows.waiting_bases)
    is_runtime = engine is Engine.RUNTIME
    cause = _IN_RUNTIME if is_runtime else f"for the {engine}"
    return FrameColumn(
        "Int64",
        f"time that the calling thread waited {cause}; `attribution` has its basis",
        lambda rows: rows.sum_amounts(engine, "waiting_ns"),
        display=None if is_runtime else display,
    )


def _make_samples_column(engine: Engine) -> _Column:
    is_runtime = engine is Engine.RUNTIME
    return FrameColumn(
        "Int64",
        f"host samples of the inference {_describe_samples(engine)}; missing where the input has none",
        lambda rows: rows.sum_samples(engine, "samples"),
        "sampled",
        display=Display("Host samples", "part", str(engine), outputs=("page",) if is_runtime else TABLES),
    )


def _make_weight_column(engine: Engine) -> _Column:
    return FrameColumn(
        "Int64",
        f"time of the host samples {_describe_samples(engine)}; missing where the recorder counted no time",
        lambda rows: rows.sum_samples(engine, "sampled_ns"),
        "sampled",
    )


def _describe_samples(engine: Engine) -> str:
    if engine is Engine.CPU:
        return "in an ML engine on the CPU"
    return _IN_RUNTIME if engine is Engine.RUNTIME else f"at work for the {engine}"


def _make_times_column(name: str, type_: str, meaning: str, basis: str = "", **schema: Any) -> _Column:
    """Return a column of ``Analysis.times``."""
    schema = schema or dict(_AMOUNT)
    return FrameColumn(type_, meaning, lambda rows: rows.times[name], basis, f"times.{name}", schema)


def _make_budget_column(part: BudgetPart) -> _Column:
    return FrameColumn(
        "int64",
        f"its part of the budget: {PART_WORDS[part].meaning}",
        lambda rows: rows.get_budget(part),
        ", ".join(str(kind.basis) for kind in BUDGET_KINDS if kind.part is part and kind.basis),
    )


def _get_column(name: str) -> Callable[[CallRows], Values]:
    """Return the function that takes a column of ``Analysis.window_rows``."""
    return lambda rows: rows.windows[name]


_COLUMNS: Mapping[str, _Column] = {
    "window_id": FrameColumn(
        "int64",
        "the number over the whole recording, from 0, in order of time",
        _get_column("window_id"),
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
        display=Display(lambda rows: rows.names.noun.capitalize(), "call", limits=(CALLS,)),
        is_in_tables=False,
    ),
    "name": FrameColumn(
        "str",
        "the model, with the process where several have one name; a function or a signpost where no model is"
        " known; the label of a range",
        lambda rows: rows.names.texts[rows.span],
        display=Display(lambda rows: "Model" if (rows.windows["model"] != "").all() else "Name"),
        is_in_tables=False,
    ),
    "label": FrameColumn("str", "what the source of the call names it", _get_column("label"), json="label"),
    "model": FrameColumn(
        "str",
        "the model; missing where the recording does not name it",
        lambda rows: rows.get_texts("model"),
        json="model",
        schema=_TEXT_OR_NULL,
    ),
    "copy": FrameColumn(
        "str",
        "the loaded copy of the model, as Core ML numbers it (Encoder-2); missing where the recording does"
        " not name it",
        lambda rows: rows.get_texts("copy"),
        display=Display("Copy", outputs=("verbose",)),
        json="copy",
        schema=_TEXT_OR_NULL,
    ),
    "first": FrameColumn(
        "bool",
        "the first call of its model (of its label, where no model is known) in its process: it may be cold",
        _get_column("first"),
        json="first",
    ),
    "start_ns": FrameColumn(
        "int64",
        "its begin; below 0 if it began before the recording",
        _get_column("start_ns"),
        "column `basis`",
        json="start_ns",
        display=Display("Start", "time"),
    ),
    "end_ns": FrameColumn(
        "int64", "its end, exclusive", _get_column("end_ns"), "column `basis`", json="end_ns"
    ),
    "length_ns": FrameColumn(
        "int64",
        "`end_ns` less `start_ns`",
        lambda rows: rows.windows["end_ns"] - rows.windows["start_ns"],
        "column `basis`",
        display=Display("Length", "time", limits=(LENGTHS,)),
    ),
    "thread": FrameColumn(
        "str",
        "the calling thread's name; missing for all threads, or where it is not known",
        lambda rows: rows.thread_names,
        display=Display("Thread", outputs=("verbose",)),
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
        "Int32", "its row in `trace.threads`; missing likewise", lambda rows: rows.get_ids("thread_id")
    ),
    "pid": FrameColumn(
        "Int64", "the process; missing for all, or where it is not known", lambda rows: rows.get_ids("pid")
    ),
    "source": FrameColumn(
        "category",
        "what gave the call: a table, or stacks, manual, csv, run",
        _get_column("source"),
        json="source",
        schema={"examples": list(_SOURCES)},
    ),
    "basis": FrameColumn(
        "category",
        "how its edges are known",
        _get_column("basis"),
        json="basis",
        schema={"enum": [str(basis) for basis in Basis]},
    ),
    "alone": FrameColumn("bool", "no other call shares time with it", _get_column("alone")),
    "verdict": FrameColumn(
        "str",
        "the engine that served it: ANE, GPU or CPU; MIXED for several, UNKNOWN where none is seen",
        lambda rows: texts_of(rows.verdicts.names),
        json="verdict",
        schema={"$ref": "#/$defs/verdict"},
        display=Display("Verdict", "verdict", limits=(VERDICTS,)),
    ),
    **{f"{engine}_busy_ns": _make_busy_column(engine) for engine in SERVING},
    **{f"{engine}_waiting_ns": _make_waiting_column(engine) for engine in (*SERVING, Engine.RUNTIME)},
    **{f"{engine}_samples": _make_samples_column(engine) for engine in (*SERVING, Engine.RUNTIME)},
    **{f"{engine}_sampled_ns": _make_weight_column(engine) for engine in (*SERVING, Engine.RUNTIME)},
    "busy_ns": _make_times_column("busy_ns", "Int64", "any engine at work", "measured"),
    "overlap_ns": _make_times_column(
        "overlap_ns",
        "Int64",
        "two engines or more at work at once; missing with fewer than two measured",
        "measured",
    ),
    "idle_ns": _make_times_column(
        "idle_ns",
        "Int64",
        "no engine measured at work, and no sample of the call on a CPU; missing where neither the ANE nor"
        " the GPU was measured",
    ),
    "preparing_ns": _make_times_column(
        "preparing_ns", "Int64", "compile and load", "column `preparing_basis`", type="integer", minimum=0
    ),
    "preparing_basis": _make_times_column(
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
    "foreign_ns": _make_times_column(
        "foreign_ns",
        "int64",
        "the Neural Engine at work for models of other processes; 0 also where no table measured it",
        "measured",
    ),
    "contested_ns": _make_times_column(
        "contested_ns",
        "int64",
        "an engine at work for this call or for another owner, which the recording does not show; in no other"
        " number",
        "measured",
    ),
    **{f"budget_{part}_ns": _make_budget_column(part) for part in BUDGET_PARTS},
    "typical_id": FrameColumn(
        "Int64",
        "the `window_id` of the typical call of its model; missing with fewer than three calls",
        lambda rows: rows.typical_ids,
        json="typical_id",
        schema=_AMOUNT,
    ),
    "difference_ns": FrameColumn(
        "Int64",
        "its length less that of the typical call",
        lambda rows: rows.differences,
        "column `basis`",
        json="difference_ns",
    ),
    "difference": FrameColumn(
        "str",
        "the part by which it differs most from the typical call; missing where it differs as most calls do",
        lambda rows: rows.explanations,
        json="difference",
        schema=_TEXT_OR_NULL,
        display=Display("Against the typical call"),
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
    "distinct_label": FrameColumn(
        "str",
        "the label, where any label differs from the model",
        lambda rows: rows.distinct_labels,
        display=Display("Label"),
        is_in_tables=False,
    ),
    "sentence": FrameColumn(
        "str",
        "the verdict for a person",
        lambda rows: wording.describe_verdicts(rows.verdicts),
        json="sentence",
        is_in_tables=False,
    ),
    "reason": FrameColumn(
        "str",
        "what the verdict rests on, without numbers: the same for calls of one kind",
        lambda rows: wording.verdict_reasons(rows.verdicts),
        is_in_tables=False,
    ),
    "why": FrameColumn(
        "str",
        "the evidence in one sentence",
        lambda rows: wording.verdict_whys(rows.verdicts),
        json="why",
        display=Display("Why"),
    ),
}

CALL_COLUMNS: FrameColumns[CallRows] = FrameColumns(CallRows, _COLUMNS)
