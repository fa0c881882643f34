"""``AnalyzedRun``: the results of one run as data, from which findings and outputs are made."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from tracekit.analysis.availability import Evidence
from tracekit.analysis.budget.budget import Budget
from tracekit.analysis.call_tree import CallTree, build_tree
from tracekit.analysis.classification.rules import Rule
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.diagnostics import Diagnostic
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.joined import Joined, join_stacks
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.engines.segments import Segments
from tracekit.analysis.engines.submissions import ModelSubmissions, summarize_submissions
from tracekit.analysis.engines.totals import EngineTotals
from tracekit.analysis.missing_symbols import BinaryWithoutSymbols, find_binaries_without_symbols
from tracekit.analysis.selection import Selection
from tracekit.analysis.summary import Summary
from tracekit.analysis.threads import ThreadWork
from tracekit.analysis.verdicts import Verdicts
from tracekit.frozen import frozen
from tracekit.model.content import Content, is_same_content
from tracekit.model.trace import Issue, Trace
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from tracekit.analysis.generation.span_rules import SpanRule
    from tracekit.analysis.model_join.joined_model import JoinedModel

_COMPARED = (
    "trace",
    "rules",
    "selection",
    "compute_units",
    "window_rows",
    "attribution_rows",
    "totals",
    "engine_totals",
    "verdicts",
    "evidence",
    "summary",
    "diagnostics",
    "requests",
    "times",
    "submissions",
    "events",
    "metrics",
    "joined_models",
    "span_rules",
)
"""The results; the other fields follow from them."""


@frozen
class AnalyzedRun(Content):
    """One analyzed run: the rows that the outputs are drawn from, with -1 for missing.

    ``trace`` holds the selected samples only. ``attribution_rows`` has one row per window × engine ×
    phase, with ``window_id`` -1 for what lies outside; ``totals`` has the same columns over all selected
    samples, ``engine_totals`` their sum per engine. ``verdicts`` is row-aligned to ``window_rows``, and
    so is ``times`` (``segments.TIMES``). ``segment_blocks`` are the engines of each window in order
    (``segments.SEGMENTS``), made where they are asked for; ``segments`` has all of them in one frame.
    ``budget`` divides the length of each window into parts,
    likewise. ``submissions`` are the Neural Engine's per window (``submissions.SUBMISSIONS``), ``events`` and
    ``metrics`` the counters (``counters.EVENT_COUNTS``, ``counters.METRIC_SUMS``). ``requests`` are those
    to the Neural Engine in the log. ``measured`` holds the intervals as disjoint spans. ``diagnostics``
    are the limits of the recording and of the analysis, as codes and numbers. ``compute_units`` are those
    that the app requests from Core ML, "" where that is not known. ``thread_work`` is what each thread
    did, of a trace without times; None for a recording. ``joined_models`` are the models whose files or plans
    were given, held against their calls. ``span_rules`` are the user's for signposts of language
    models.
    """

    trace: Trace
    rules: tuple[Rule, ...]
    labels: SampleLabels
    members: Membership
    window_rows: pd.DataFrame
    attribution_rows: pd.DataFrame
    totals: pd.DataFrame
    engine_totals: tuple[EngineTotals, ...]
    verdicts: Verdicts
    evidence: tuple[Evidence, ...]
    summary: Summary
    diagnostics: tuple[Issue | Diagnostic, ...]
    selection: Selection
    measured: Measured
    requests: LoggedRequests
    times: pd.DataFrame
    budget: Budget
    segment_blocks: Segments
    submissions: pd.DataFrame
    events: pd.DataFrame
    metrics: pd.DataFrame
    compute_units: str = ""
    thread_work: ThreadWork | None = None
    joined_models: tuple[JoinedModel, ...] = ()
    span_rules: tuple[SpanRule, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnalyzedRun):
            return NotImplemented
        return all(is_same_content(getattr(self, name), getattr(other, name)) for name in _COMPARED)

    __hash__ = None  # frames can be changed in place

    def __repr__(self) -> str:
        info = self.trace.info
        counts = Counter(self.verdicts.names).most_common()
        verdicts = f" ({', '.join(f'{count} {verdict}' for verdict, count in counts)})" if counts else ""
        windows = plural(len(self.window_rows), "call")
        return f"<Analysis {printable(info.name)}, run {info.run}: {windows}{verdicts}>"

    @property
    def segments(self) -> pd.DataFrame:
        """The engines of each window in order, all in one frame."""
        return self.segment_blocks.frame()

    @cached_property
    def submission_summary(self) -> tuple[ModelSubmissions, ...]:
        """The Neural Engine's submissions per inference of each model; empty where none can be counted."""
        return summarize_submissions(self.window_rows, self.submissions)

    @cached_property
    def binaries_without_symbols(self) -> tuple[BinaryWithoutSymbols, ...]:
        """The binaries with addresses instead of names in the samples, those in most samples first."""
        return find_binaries_without_symbols(self.trace)

    @cached_property
    def joined(self) -> Joined:
        """The call that each sample served, and the stacks of workers below the stacks of their calls."""
        return join_stacks(self.trace, self.labels, self.members, self.window_rows)

    @cached_property
    def call_tree(self) -> CallTree:
        """The call tree of all stacks, with the joined ones."""
        return build_tree(self.trace.stacks, self.joined)
