"""Stacks as plain records, one JSON object each: input and output of ``tracekit classify``.

In: ``{"frames": [{"binary": …, "symbol": …}, …], "thread_name": …}``, leaf first. Out: the engine, the phase,
the rule and the frame that decided. ``frames`` is the only required key. A missing or null ``binary``,
``symbol`` or ``thread_name`` is an unknown one, an ``id`` is passed through, other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tracekit.analysis.classification.classify import Classification, apply_idle_threads, classify_stacks
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.frozen import frozen
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES, INCOMPLETE, PHASES, Engine, Phase

BATCH = 4096
"""Number of records that are classified together and are in memory at a time."""


class MalformedRecordError(ValueError):
    """A JSON value that is not a stack; the message gives the reason."""


@frozen
class StackRecord:
    """One stack, leaf first, each frame as (binary, symbol); "" is unknown, an ``id`` of None is none."""

    frames: tuple[tuple[str, str], ...]
    thread_name: str = ""
    id: Any = None

    @classmethod
    def from_json(cls, value: object) -> StackRecord:
        """Return the record of a JSON value; raises ``MalformedRecordError`` if it is not one."""
        if not isinstance(value, Mapping) or not isinstance(value.get("frames"), list):
            raise MalformedRecordError('a stack must be an object with a list of "frames"')
        frames = []
        for index, frame in enumerate(value["frames"]):
            if not isinstance(frame, Mapping):
                raise MalformedRecordError(f'frame {index} must be an object with "binary" and "symbol"')
            frames.append(
                (_read_text(frame, "binary", f"frame {index}"), _read_text(frame, "symbol", f"frame {index}"))
            )
        return cls(tuple(frames), _read_text(value, "thread_name", "a stack"), value.get("id"))


def iter_trace_records(trace: Trace) -> Iterator[StackRecord]:
    """Yield the stack of each row of a trace, with its process, thread and samples as id."""
    stacks = trace.stacks
    frames = list(zip(stacks.binary_names.tolist(), stacks.symbols.tolist(), strict=True))
    threads = trace.threads[["process", "pid", "name", "tid"]].to_dict("records")
    rows = zip(
        trace.samples["thread_id"].tolist(),
        trace.samples["stack_id"].tolist(),
        trace.sample_counts.tolist(),
        strict=True,
    )
    for thread, stack, count in rows:
        thread_columns = threads[thread] if thread >= 0 else {}
        numbers = stacks.stack(stack).tolist() if stack >= 0 else []
        yield StackRecord(
            tuple(frames[frame] for frame in numbers),
            thread_columns.get("name", ""),
            {**thread_columns, "samples": count},
        )


def _read_text(table: Mapping[str, Any], key: str, what: str) -> str:
    value = table.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedRecordError(f'{what}: "{key}" must be a string')
    return value


def classify_records(records: Iterable[StackRecord], markers: RuleSet) -> Iterator[dict[str, Any]]:
    """Yield one verdict per record, in order; ``BATCH`` records are in memory at a time."""
    source = iter(records)
    while batch := list(islice(source, BATCH)):
        yield from _classify_batch(batch, markers)


def _classify_batch(records: Sequence[StackRecord], markers: RuleSet) -> Iterator[dict[str, Any]]:
    rows = {
        frame: row for row, frame in enumerate({frame: None for record in records for frame in record.frames})
    }
    frame_ids = np.array([rows[frame] for record in records for frame in record.frames], np.int32)
    offsets = np.cumsum([0] + [len(record.frames) for record in records], dtype=np.int64)
    names = np.array(list(rows) or [("", "")], object)
    classified = classify_stacks(offsets, frame_ids, names[:, 0], names[:, 1], markers)
    rows_of_stacks = np.arange(len(records), dtype=np.int32)
    threads = [record.thread_name for record in records]
    engine, phase = apply_idle_threads(classified, rows_of_stacks, rows_of_stacks, threads, markers)
    for row, record in enumerate(records):
        verdict: dict[str, Any] = {} if record.id is None else {"id": record.id}
        verdict["engine"] = str(ENGINES[engine[row]])
        verdict["phase"] = str(PHASES[phase[row]]) if phase[row] >= 0 else None
        if (engine[row], phase[row]) != (classified.engine[row], classified.phase[row]):
            yield verdict | _explain_by_thread(record, markers)
        else:
            yield verdict | _explain_by_frame(record, classified, row, markers.rules)


def _explain_by_thread(record: StackRecord, markers: RuleSet) -> dict[str, Any]:
    """Return rule, frame and reason of a verdict by the thread's name."""
    rule = markers.rules[markers.match_thread(record.thread_name)]
    return {"rule": rule.id, "frame": None, "why": f"thread '{record.thread_name}': {rule.means or rule.id}"}


def _explain_by_frame(
    record: StackRecord, classified: Classification, row: int, rules: Sequence[Rule]
) -> dict[str, Any]:
    """Return rule, frame and reason of a verdict by the stack."""
    position = int(classified.deciding[row])
    if position < 0:
        return {
            "rule": None,
            "frame": None,
            "why": _explain_no_match(record, ENGINES[classified.engine[row]]),
        }
    rule = rules[classified.rule[row]]
    binary, symbol = record.frames[position]
    frame = {"index": position, "binary": binary, "symbol": symbol}
    phase = PHASES[classified.phase[row]] if classified.phase[row] >= 0 else None
    loading = rules[classified.phase_rule[row]] if classified.phase_rule[row] >= 0 else None
    return {
        "rule": rule.id,
        "frame": frame,
        "why": _explain_frame(rule, ENGINES[classified.engine[row]], phase, loading),
    }


def _explain_no_match(record: StackRecord, engine: Engine) -> str:
    if engine is Engine.OTHER:
        return "no frame matches a rule for an engine or an ML runtime"
    if any(symbol in INCOMPLETE for _, symbol in record.frames):
        return "no frame matches a rule, and a part of the stack is missing"
    return "no frame has a symbol" if record.frames else "the stack is empty"


def _explain_frame(rule: Rule, engine: Engine, phase: Phase | None, loading: Rule | None) -> str:
    """Return one sentence: the meaning of the deciding frame, and the reason for a changed phase."""
    meaning = rule.means or f"rule {rule.id} matches this frame"
    if engine is Engine.RUNTIME is not rule.engine:
        return f"{meaning}; but an object is released there, which is no work"
    if engine is not rule.engine:
        return f"{meaning}; no ML runtime calls it"
    if loading is not None and loading is not rule:
        return f"{meaning}; phase {phase} because of rule {loading.id}: {loading.means or loading.id}"
    if phase is Phase.IDLE and rule.phase is not Phase.IDLE:
        return f"{meaning}; its thread sleeps, and no client calls it"
    if phase is Phase.WAIT and rule.phase is not Phase.WAIT:
        return f"{meaning}; its thread sleeps"
    return meaning
