"""The frames of an analysis by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.columns.calls import CALL_COLUMNS
from tracekit.columns.frame import FrameColumns
from tracekit.columns.request_columns import REQUEST_COLUMNS, TOKEN_COLUMNS
from tracekit.columns.run import (
    ATTRIBUTION_COLUMNS,
    BUDGET_COLUMNS,
    ENGINE_COLUMNS,
    EVIDENCE_COLUMNS,
    FINDING_COLUMNS,
    ISSUE_COLUMNS,
)

FRAMES: Mapping[str, FrameColumns[Any]] = {
    "windows": CALL_COLUMNS,
    "engines": ENGINE_COLUMNS,
    "budgets": BUDGET_COLUMNS,
    "attribution": ATTRIBUTION_COLUMNS,
    "evidence": EVIDENCE_COLUMNS,
    "issues": ISSUE_COLUMNS,
    "findings": FINDING_COLUMNS,
    "requests": REQUEST_COLUMNS,
    "tokens": TOKEN_COLUMNS,
}
"""The frames of ``Analysis.to_frame`` by name."""
