"""Stacks as plain records, one JSON object each.

In: ``{"frames": [{"binary": …, "symbol": …}, …], "thread_name": …}``, leaf first. Out: the engine, the phase,
the rule and the frame that decided. ``frames`` is the only required key. A missing or null ``binary``,
``symbol`` or ``thread_name`` is an unknown one, an ``id`` is passed through, other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tracekit.analysis.classification.classify import Classification, apply_idle_threads, classify_stacks
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.model.vocabulary import ENGINES, PHASES, Engine, Phase

BATCH = 4096
"""Records that are classified together; what is held at a time."""


class MalformedRecordError(ValueError):
    """A JSON value that is no stack; the message says why."""


@dataclass(frozen=True)
class StackRecord:
    """One stack, leaf first, each frame as (binary, symbol); "" is unknown, an ``id`` of None is none."""

    frames: tuple[tuple[str, str], ...]
    thread_name: str = ""
    id: Any = None

    @classmethod
    def from_json(cls, value: object) -> StackRecord:
        """Return the record that a JSON value states; raises ``MalformedRecordError`` if it states none."""
        if not isinstance(value, Mapping) or not isinstance(value.get("frames"), list):
            raise MalformedRecordError('a stack must be an object with a list of "frames"')
        frames = []
        for at, frame in enumerate(value["frames"]):
            if not isinstance(frame, Mapping):
                raise MalformedRecordError(f'frame {at} must be an object with "binary" and "symbol"')
            frames.append((_text(frame, "binary", f"frame {at}"), _text(frame, "symbol", f"frame {at}")))
        return cls(tuple(frames), _text(value, "thread_name", "a stack"), value.get("id"))


def _text(table: Mapping[str, Any], key: str, what: str) -> str:
    value = table.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedRecordError(f'{what}: "{key}" must be a string')
    return value


def classify_records(records: Iterable[StackRecord], markers: RuleSet) -> Iterator[dict[str, Any]]:
    """Yield one verdict per record, in order; ``BATCH`` records are held at a time."""
    source = iter(records)
    while batch := list(islice(source, BATCH)):
        yield from _classify_batch(batch, markers)


def _classify_batch(records: Sequence[StackRecord], markers: RuleSet) -> Iterator[dict[str, Any]]:
    rows = {frame: row for row, frame in enumerate({frame: None for one in records for frame in one.frames})}
    frame_ids = np.array([rows[frame] for one in records for frame in one.frames], np.int32)
    offsets = np.cumsum([0] + [len(one.frames) for one in records], dtype=np.int64)
    names = np.array(list(rows) or [("", "")], object)
    found = classify_stacks(offsets, frame_ids, names[:, 0], names[:, 1], markers)
    own = np.arange(len(records), dtype=np.int32)
    threads = [one.thread_name for one in records]
    engine, phase = apply_idle_threads(found, own, own, threads, markers)
    for at, record in enumerate(records):
        verdict: dict[str, Any] = {} if record.id is None else {"id": record.id}
        verdict["engine"] = str(ENGINES[engine[at]])
        verdict["phase"] = str(PHASES[phase[at]]) if phase[at] >= 0 else None
        if (engine[at], phase[at]) != (found.engine[at], found.phase[at]):
            yield verdict | _by_thread(record, markers)
        else:
            yield verdict | _by_frame(record, found, at, markers.rules)


def _by_thread(record: StackRecord, markers: RuleSet) -> dict[str, Any]:
    """Return the second half of a verdict that the thread's name gave."""
    rule = markers.rules[markers.match_thread(record.thread_name)]
    return {"rule": rule.id, "frame": None, "why": f"thread '{record.thread_name}': {rule.means or rule.id}"}


def _by_frame(record: StackRecord, found: Classification, at: int, rules: Sequence[Rule]) -> dict[str, Any]:
    """Return the second half of a verdict that the stack gave."""
    position = int(found.deciding[at])
    if position < 0:
        return {"rule": None, "frame": None, "why": _why_nothing(record, ENGINES[found.engine[at]])}
    rule = rules[found.rule[at]]
    binary, symbol = record.frames[position]
    frame = {"index": position, "binary": binary, "symbol": symbol}
    phase = PHASES[found.phase[at]] if found.phase[at] >= 0 else None
    loading = rules[found.phase_rule[at]] if found.phase_rule[at] >= 0 else None
    return {"rule": rule.id, "frame": frame, "why": _why(rule, ENGINES[found.engine[at]], phase, loading)}


def _why_nothing(record: StackRecord, engine: Engine) -> str:
    if engine is Engine.OTHER:
        return "no frame matches a rule that speaks for an engine or an ML runtime"
    return "no frame has a symbol" if record.frames else "the stack is empty"


def _why(rule: Rule, engine: Engine, phase: Phase | None, loading: Rule | None) -> str:
    """Return one sentence: what the deciding frame means, and what changed its phase."""
    said = rule.means or f"rule {rule.id} matches this frame"
    if engine is not rule.engine:
        return f"{said}; no ML runtime calls it"
    if loading is not None and loading is not rule:
        return f"{said}; phase {phase} because of rule {loading.id}: {loading.means or loading.id}"
    if phase is Phase.WAIT and rule.phase is not Phase.WAIT:
        return f"{said}; its thread sleeps"
    return said
