"""``RoleSpans``: the signposts that mark steps of language models, with the numbers of their metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tracekit.analysis.engines.codes import find_firsts, group_codes, is_among
from tracekit.analysis.generation.metadata import UNKNOWN, read_numbers, read_words
from tracekit.analysis.generation.span_rules import ROLE_CODE, SpanRole, SpanRule
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace

_WILDCARDS = frozenset("*?[")


@frozen(eq=False)
class RoleSpans:
    """Spans in order of their start: parallel arrays; ``UNKNOWN`` for numbers that a span does not have.

    ``is_open`` marks those that did not end in the recording: their ``end_ns`` is its end.
    """

    role: IntArray
    pid: IntArray
    tid: IntArray
    start_ns: IntArray
    end_ns: IntArray
    is_open: BoolArray
    tokens: IntArray
    step: IntArray
    context: IntArray
    yields: IntArray
    model: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.role)

    def select(self, *roles: SpanRole) -> RoleSpans:
        """Return the spans of some roles."""
        mask = np.zeros(len(self), bool)
        for role in roles:
            mask |= self.role == ROLE_CODE[role]
        rows = np.flatnonzero(mask)
        return RoleSpans(**{name: values[rows] for name, values in vars(self).items()})


def read_role_spans(trace: Trace, rules: Sequence[SpanRule]) -> RoleSpans:
    """Return the signposts that a rule matches, each by the first that does; one without an end is open."""
    frame = trace.signposts
    rule_of_row = _match_rules(frame, rules)
    is_span = is_among(frame["kind"], "interval", "begin")
    rows = np.flatnonzero((rule_of_row >= 0) & is_span)
    starts = frame["start_ns"].to_numpy(np.int64)[rows]
    if (starts[1:] < starts[:-1]).any():
        rows = rows[np.argsort(starts, kind="stable")]
    rule_of_row = rule_of_row[rows]
    starts, ends, pids, tids = (
        frame[name].to_numpy(np.int64)[rows] for name in ("start_ns", "end_ns", "pid", "tid")
    )
    run_end_ns = max(int(ends.max(initial=0)), trace.info.duration_ns or 0)
    is_open = is_among(frame["kind"], "begin")[rows]
    is_open |= (ends >= run_end_ns) & (trace.info.duration_ns is not None)
    numbers = {name: np.full(len(rows), UNKNOWN, np.int64) for name in ("tokens", "step", "context")}
    models = np.empty(len(rows), object)
    models.fill("")
    for code, rule in enumerate(rules):
        of_rule = np.flatnonzero(rule_of_row == code)
        if not len(of_rule):
            continue
        messages = pa.array(frame["message"].iloc[rows[of_rule]], pa.large_string())
        for name, values in numbers.items():
            if key := getattr(rule, name):
                values[of_rule] = read_numbers(messages, key)
        if rule.model:
            models[of_rule] = read_words(messages, rule.model)
    roles = np.array([ROLE_CODE[rule.role] for rule in rules], np.int64)[rule_of_row]
    yields = np.array([rule.yields for rule in rules], np.int64)[rule_of_row]
    ends = np.where(is_open, np.maximum(starts, run_end_ns), ends)
    columns = (roles, pids, tids, starts, ends, is_open, *numbers.values(), yields, models)
    return RoleSpans(*columns)


def _match_rules(frame: pd.DataFrame, rules: Sequence[SpanRule]) -> IntArray:
    """Return the number of the first rule that each signpost matches; -1 for none."""
    parts: list[Any] = [frame[part].array for part in ("subsystem", "category", "name")]
    # Most signposts have the parts of another one: rules are tried on each combination once.
    group = group_codes(*parts)
    firsts = find_firsts(group, int(group.max(initial=-1)) + 1)
    words = [(column.categories.tolist(), column.codes[firsts]) for column in parts]
    rule_of_combination = np.full(len(firsts), -1, np.int64)
    for number, rule in reversed([*enumerate(rules)]):
        is_match = np.ones(len(firsts), bool)
        for (names, codes), glob in zip(words, rule.globs, strict=True):
            is_match &= _match_names(names, glob)[codes]
        rule_of_combination[is_match] = number
    return rule_of_combination[group]


def _match_names(names: Sequence[str], glob: str) -> BoolArray:
    """Mark the names that a glob matches; the last entry is a missing name."""
    if _WILDCARDS.isdisjoint(glob):  # compiling an expression for each takes longer than all comparisons
        return np.array([*(name == glob for name in names), False])
    expression = re.compile(translate(glob))
    return np.array([*(expression.fullmatch(name) is not None for name in names), False])
