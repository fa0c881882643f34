"""``Analysis``: the results of one run, from which every output is drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from tracekit.analysis.availability import Evidence
from tracekit.analysis.call_tree import CallTree, build_tree
from tracekit.analysis.classification.rules import Rule
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.diagnostics import Diagnostic
from tracekit.analysis.energy import Power, power_of
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.joined import Joined, join_stacks
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.engines.segments import Segments
from tracekit.analysis.engines.submissions import ModelSubmissions, summarize_submissions
from tracekit.analysis.engines.totals import EngineTotals
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.missing_symbols import BinaryWithoutSymbols, binaries_without_symbols
from tracekit.analysis.selection import Selection
from tracekit.analysis.summary import Summary
from tracekit.analysis.threads import ThreadWork
from tracekit.analysis.verdicts import Verdicts
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.content import Content, same_content
from tracekit.model.trace import Issue, Trace
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tracekit.analysis.findings.answer import Answer
    from tracekit.analysis.findings.calls import Calls, ModelCalls

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
)
"""The results; the other fields follow from them."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Content):
    """One analyzed run.

    The frames for people are ``windows``, ``engines``, ``attribution`` and the others of ``to_frame``, with
    ``<NA>`` for missing (docs/python.md). Two analyses are equal when their recordings and results are. An
    analysis can be pickled.

    The fields are the rows that the outputs are drawn from, with -1 for missing. ``trace`` holds the selected
    samples only. ``attribution_rows`` has one row per window × engine × phase, with ``window_id`` -1 for what
    lies outside; ``totals`` has the same columns over all selected samples, ``engine_totals`` their sum per
    engine. ``verdicts`` is row-aligned to ``window_rows``, and so is ``times`` (``segments.TIMES``).
    ``segment_blocks`` are the engines of each window in order (``segments.SEGMENTS``), made where they are
    asked for; ``segments`` has all of them in one frame. ``submissions`` are the Neural Engine's per window
    (``submissions.SUBMISSIONS``), ``events`` and ``metrics`` the counters (``counters.EVENT_COUNTS``,
    ``counters.METRIC_SUMS``). ``requests`` are those to the Neural Engine in the log. ``measured`` holds the
    intervals as disjoint spans. ``diagnostics`` are the limits of the recording and of the analysis, as codes
    and numbers. ``compute_units`` are those that the app requests from Core ML, "" where that is not known.
    ``thread_work`` is what each thread did, of a trace without times; None for a recording.
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
    segment_blocks: Segments
    submissions: pd.DataFrame
    events: pd.DataFrame
    metrics: pd.DataFrame
    compute_units: str = ""
    thread_work: ThreadWork | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Analysis):
            return NotImplemented
        return all(same_content(getattr(self, name), getattr(other, name)) for name in _COMPARED)

    __hash__ = None  # frames can be changed in place

    def __repr__(self) -> str:
        info = self.trace.info
        counts = Counter(self.verdicts.names).most_common()
        verdicts = f" ({', '.join(f'{count} {verdict}' for verdict, count in counts)})" if counts else ""
        windows = plural(len(self.window_rows), "call")
        return f"<Analysis {printable(info.name)}, run {info.run}: {windows}{verdicts}>"

    def _repr_html_(self) -> str:
        from tracekit import outputs

        return outputs.notebook(self)

    @property
    def segments(self) -> pd.DataFrame:
        """The engines of each window in order, all in one frame."""
        return self.segment_blocks.frame()

    @property
    def windows(self) -> pd.DataFrame:
        """One row per window: edges, label, thread, verdict, why, and the times of each engine."""
        return self._windows.copy(deep=False)

    @cached_property
    def _windows(self) -> pd.DataFrame:
        return self.to_frame("windows")

    @cached_property
    def submission_summary(self) -> tuple[ModelSubmissions, ...]:
        """The Neural Engine's submissions per inference of each model; empty where none can be counted."""
        return summarize_submissions(self.window_rows, self.submissions)

    @cached_property
    def binaries_without_symbols(self) -> tuple[BinaryWithoutSymbols, ...]:
        """The binaries with addresses instead of names in the samples, those in most samples first."""
        return binaries_without_symbols(self.trace)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What happened to each model, what it costs and what to do next; what costs most comes first."""
        from tracekit.analysis.findings.find import find

        return find(self._calls)

    @cached_property
    def answer(self) -> Answer:
        """On which engine each model ran, as data; ``headline`` is the same in words."""
        from tracekit.analysis.findings.answer import answer_of

        return answer_of(self._calls, self.findings)

    @cached_property
    def power(self) -> Power | None:
        """Power of the rails and the energy of a call; None where nothing in the recording measures power."""
        return power_of(self._calls)

    @cached_property
    def _calls(self) -> Calls:
        from tracekit.analysis.findings.calls import Calls  # it reads a complete analysis

        return Calls(self)

    @property
    def call_models(self) -> tuple[ModelCalls, ...]:
        """The calls of each model, the one with most time first."""
        return self._calls.models

    @property
    def call_numbers(self) -> IntArray:
        """The number of each call within its model, row-aligned to ``window_rows`` (``Calls.numbers``)."""
        return self._calls.numbers

    @property
    def is_cut(self) -> BoolArray:
        """The calls that an edge of the recording cuts, row-aligned to ``window_rows`` (``Calls.is_cut``)."""
        return self._calls.is_cut

    @property
    def call_column(self) -> pd.Series[int]:
        """``call_numbers`` with ``<NA>`` for ranges that the user gave, which are no calls."""
        numbers = pd.Series(self.call_numbers, self.window_rows.index, dtype="Int64")
        return numbers.mask(self.window_rows["source"].isin(GIVEN_SOURCES).to_numpy(bool))

    @cached_property
    def joined(self) -> Joined:
        """The call that each sample served, and the stacks of workers below the stacks of their calls."""
        return join_stacks(self.trace, self.labels, self.members, self.window_rows)

    @cached_property
    def call_tree(self) -> CallTree:
        """The call tree of all stacks, with the joined ones."""
        return build_tree(self.trace.stacks, self.joined)

    @property
    def engines(self) -> pd.DataFrame:
        """One row per engine over the whole run."""
        return self.to_frame("engines")

    @property
    def attribution(self) -> pd.DataFrame:
        """One row per window × engine × phase; ``window_id`` is ``<NA>`` outside of every window."""
        return self.to_frame("attribution")

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The limits of the recording and of this analysis, each with a message."""
        from tracekit import outputs

        return outputs.issues(self)

    @property
    def headline(self) -> str:
        """The sentence that states first on which engine the windows ran."""
        from tracekit import outputs

        return outputs.headline(self)

    def to_frame(self, table: str = "windows") -> pd.DataFrame:
        """Return a frame: "windows", "engines", "attribution", "evidence", "issues" or "findings".

        Raises ``UsageError`` for any other table.
        """
        from tracekit import outputs

        return outputs.frame(self, table)

    def to_text(self, verbose: bool = False) -> str:
        """Return the text that ``tracekit analyze`` prints, with ``verbose`` that of ``-v``."""
        from tracekit import outputs

        return outputs.text(self, verbose)

    def to_json(self) -> str:
        """Return the document ``tracekit-analysis/1`` (docs/tracekit-analysis-1.schema.json)."""
        from tracekit import outputs

        return outputs.json(self)

    def to_markdown(self) -> str:
        """Return the text for a ticket: GitHub's Markdown."""
        from tracekit import outputs

        return outputs.markdown(self)

    def to_html(self) -> str:
        """Return the report as one page that loads nothing from the network."""
        from tracekit import outputs

        return outputs.html(self)

    def timeline(self) -> Figure:
        """Return windows by thread and busy intervals by engine as a Plotly figure."""
        from tracekit import outputs

        return outputs.timeline(self)
