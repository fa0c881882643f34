"""The issue codes that a requirement can name; a test compares them with the code that raises issues."""

from __future__ import annotations

from tracekit.analysis.diagnostics import Diagnostic
from tracekit.model.trace import Issue

ISSUE_CODES: tuple[str, ...] = (
    "ane-dispatch-without-interval",
    "ane-label-cut-off",
    "ane-label-unknown",
    "ane-labels-unmatched",
    "ane-process-unknown",
    "ane-work-of-others",
    "ane-work-unclaimed",
    "attributes-damaged",
    "calls-outside-windows",
    "clocks-disagree",
    "contents-damaged",
    "core-ai-rows-overlap",
    "counter-names-unknown",
    "counter-resets",
    "counters-not-attached",
    "counters-repeated",
    "document-damaged",
    "document-incomplete",
    "file-skipped",
    "files-ignored",
    "gpu-process-unknown",
    "holes-bridged",
    "images-replaced",
    "inference-outside-windows",
    "interval-backwards",
    "interval-kind-unknown",
    "interval-open",
    "interval-outside",
    "interval-state-unknown",
    "interval-without-duration",
    "interval-without-start",
    "metrics-imprecise",
    "metrics-without-value",
    "model-numbers-merged",
    "mps-engine-unknown",
    "mps-on-ane",
    "names-damaged",
    "no-prediction-calls",
    "no-samples",
    "no-symbols",
    "null-counters",
    "null-stacks",
    "null-values",
    "other-counters",
    "predictions-without-length",
    "query-without-match",
    "read-otherwise",
    "recording-issue",
    "recording-issues-cut",
    "recording-issues-damaged",
    "recording-issues-open",
    "recording-unfinished",
    "redacted",
    "run-info-damaged",
    "samples-not-used",
    "samples-repeated",
    "several-runs",
    "signpost-type-unknown",
    "signposts-repeated",
    "signposts-unpaired",
    "symbols-damaged",
    "table-damaged",
    "table-exported-twice",
    "table-unreadable",
    "tables-share-no-process",
    "thermal-state-unknown",
    "toc-mismatch",
    "types-unconfirmed",
    "types-unknown",
    "unsymbolicated-stacks",
    "waiting-threads",
    "weight-assumed",
    "weight-unit-unknown",
    "window-outside",
    "windows-from-ane",
    "windows-from-stacks-too",
    "windows-inferred",
    "windows-of-unknown-thread",
    "windows-overlap",
    "worker-samples-shared",
)

DAMAGE: frozenset[str] = frozenset(
    {
        *(code for code in ISSUE_CODES if code.endswith("-damaged")),
        "document-incomplete",
        "recording-unfinished",
        "table-unreadable",
    }
)
"""Issues about data that could not be read: warnings, because the remaining data is still usable."""


def is_damage(issue: Issue | Diagnostic) -> bool:
    """Return whether an issue reports damage of the recording, whatever its severity."""
    return issue.severity == "error" or issue.code in DAMAGE
