"""The numbers of an analysis that pages show beside those of others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis

MEASURES = "measures.json"
Number: TypeAlias = tuple[str, float, str]
"""A unit, a number, and its kind: numbers of other kinds cannot be compared with it."""
Measures: TypeAlias = dict[str, dict[str, Number]]
"""By model, "" for all calls, and by measure."""


def build_measures_document(analysis: Analysis) -> Iterable[bytes]:
    """Return the numbers of all calls and of each model, as ``read_measures`` reads them."""
    from tracekit.comparison.measures import iter_measured_calls

    document = {
        calls.model: {
            "calls": ["calls", calls.calls, ""],
            **{measure.metric: [measure.unit, measure.value, measure.kind] for measure in calls.measures},
        }
        for calls in iter_measured_calls(analysis)
    }
    return [json.dumps(document).encode("utf-8", "backslashreplace")]


def read_measures(results: Path) -> Measures | None:
    """Return the numbers in a folder of results; None where there are none, as in older ones."""
    try:
        document = json.loads((results / MEASURES).read_bytes())
        return {
            str(model): {
                str(name): (str(unit), float(value), str(kind))
                for name, (unit, value, kind) in measures.items()
            }
            for model, measures in document.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return None
