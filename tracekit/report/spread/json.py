"""The spread between runs as data: ``tracekit spread --format json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracekit.comparison.program_spread import RUNS_PER_SIDE, NumberSpread
from tracekit.text import escape_json

SCHEMA = "tracekit-spread/1"


def to_json(programs: Sequence[tuple[str, int, Sequence[NumberSpread]]]) -> str:
    """Return the document; a program has its name, the number of its builds, and its spreads."""
    document = {
        "schema": SCHEMA,
        "programs": [
            {"program": name, "builds": builds, "spreads": [_describe(spread) for spread in spreads]}
            for name, builds, spreads in programs
        ],
    }
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _describe(spread: NumberSpread) -> dict[str, Any]:
    return {
        "model": spread.model or None,
        "metric": spread.metric,
        "mean_ns": spread.value,
        "spread": spread.fraction,
        "degrees_of_freedom": spread.df,
        "runs": spread.runs,
        "session_spread": spread.session_fraction,
        "is_on_grid": spread.is_on_grid,
        "smallest_changes": None
        if spread.is_on_grid
        else {str(runs): spread.compute_smallest(runs) for runs in RUNS_PER_SIDE},
    }
