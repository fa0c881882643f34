"""``Analysis``: everything that one run says, from which every output is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tracekit.analysis.availability import Evidence
from tracekit.analysis.classification.rules import Rule
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.diagnostics import Diagnostic
from tracekit.analysis.engines.measured import Measured
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.totals import EngineTotals
from tracekit.analysis.selection import Selection
from tracekit.analysis.summary import Summary
from tracekit.analysis.verdicts import Verdicts
from tracekit.model.trace import Issue, Trace


@dataclass(frozen=True)
class Analysis:
    """One analysed run.

    ``trace`` holds the selected samples only. ``attribution_rows`` has one row per window × engine × phase,
    with ``window_id`` -1 for what lies outside; ``totals`` has the same columns over all selected samples.
    ``verdicts`` is row-aligned to ``window_rows``, and so is ``times`` (``timeline.TIMES``). ``segments`` are
    the engines of each window in order (``timeline.SEGMENTS``), ``events`` and ``metrics`` the counters
    (``counters.EVENT_COUNTS``, ``counters.METRIC_SUMS``). ``measured`` holds the intervals as disjoint spans.
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
    times: pd.DataFrame
    segments: pd.DataFrame
    events: pd.DataFrame
    metrics: pd.DataFrame

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The limits of the recording and of this analysis, each with a message."""
        from tracekit import outputs

        return outputs.issues(self)
