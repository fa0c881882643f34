"""What the methods of ``Trace``, ``Analysis`` and ``Comparison`` draw.

The model, the analysis and the comparison import no report. Their methods that draw import this module when
they are called: the one exception to the arrows, by name, in tests/test_architecture.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.report import wording

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.model.trace import Issue


def issues(analysis: Analysis) -> tuple[Issue, ...]:
    """Return the diagnostics of an analysis with their messages."""
    return wording.issues(analysis.diagnostics)
