"""``Action``: one next step of a finding, as data."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias, TypedDict

from tracekit.analysis.selection import Selection
from tracekit.frozen import frozen
from tracekit.model.issue_codes import IssueCode
from tracekit.model.vocabulary import Engine

ActionKind: TypeAlias = Literal[
    "add-symbols",
    "analyze-all-processes",
    "analyze-bundle",
    "analyze-process",
    "analyze-signposts",
    "analyze-time",
    "check-engine",
    "check-first",
    "check-issue",
    "check-latency",
    "check-no-engine",
    "check-segments",
    "compute-units",
    "fix-operations",
    "flame-graph",
    "get-whole-text",
    "load-once",
    "model-format",
    "model-operations",
    "off-main-thread",
    "plan-again",
    "raise-qos",
    "read-with-xctrace",
    "record",
    "record-process",
    "reuse-buffers",
    "sample-less",
    "show-table",
    "thread-states",
    "timeline",
    "warm-up",
]
Purpose: TypeAlias = Literal[
    "again",
    "all-processes",
    "calls",
    "drift",
    "engines",
    "less",
    "log",
    "longer",
    "more-calls",
    "power",
    "predicting",
    "refused",
    "restart",
    "symbols",
    "system-model",
    "threads",
]
"""The purpose of recording again."""
Statistic: TypeAlias = Literal["p50", "p90", "p99", "max"]


class Arguments(TypedDict, total=False):
    """The arguments of all actions; ``report.wording.findings.actions`` reads those of each kind.

    ``selection`` is the part of the recording that the finding is about.
    """

    all_processes: bool
    code: IssueCode
    companions: tuple[str, ...]
    end_ns: int
    engine: Engine
    instruments: tuple[str, ...]
    is_named: bool
    limit_ns: int
    model: str
    model_file: str
    name: str
    pattern: str
    plan_file: str
    preset: str
    process: str
    rules: tuple[str, ...]
    purpose: Purpose
    selection: Selection
    start_ns: int
    statistic: Statistic
    table: str
    time_limit_ns: int
    uuid: str
    warm_ns: int


@frozen
class Action:
    """One next step; ``report.wording`` makes the command."""

    kind: ActionKind
    arguments: Arguments = field(default_factory=Arguments)
