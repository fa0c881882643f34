"""The places of findings in the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.result import Analysis

MOST_FINDINGS = 60
"""Maximum number of findings on a page, the most expensive first; the JSON output has all."""


def locate_findings(analysis: Analysis) -> list[list[int] | None]:
    """Return start and end of each finding, as far as a page lists them; None for one about the recording."""
    return [_locate_finding(analysis, finding) for finding in _list_findings(analysis)]


def list_finding_calls(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the kind of each finding, as far as a page lists them, and its calls as ranges of their rows."""
    return [
        {"kind": str(finding.kind), "calls": [list(pair) for pair in finding.windows.ranges]}
        for finding in _list_findings(analysis)
    ]


def _list_findings(analysis: Analysis) -> Sequence[Finding[Any]]:
    max_findings = MOST_FINDINGS + sum(finding.is_limit for finding in analysis.findings)
    return analysis.findings[:max_findings]


def _locate_finding(analysis: Analysis, finding: Finding[Any]) -> list[int] | None:
    if finding.start_ns is not None:
        return [finding.start_ns, max(finding.start_ns, finding.end_ns or 0)]
    windows = np.array([number for pair in finding.windows.ranges for number in pair], np.int64)
    if not len(windows):
        return None
    rows = analysis.window_rows.iloc[windows]
    return [int(rows["start_ns"].min()), int(rows["end_ns"].max())]
