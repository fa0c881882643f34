"""Outputs that the methods of ``Trace``, ``Analysis`` and ``Comparison`` return.

The model, the analysis and the comparison import no report. Their methods that draw import this module when
they are called: the one exception to the arrows, by name, in tests/test_architecture.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracekit.errors import UsageError
from tracekit.report import wording
from tracekit.text import without_commands

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from tracekit.analysis.result import Analysis
    from tracekit.comparison.result import Comparison
    from tracekit.model.trace import Issue, Trace


def issues(analysis: Analysis) -> tuple[Issue, ...]:
    """Return the diagnostics of an analysis with their messages."""
    return wording.issues(analysis.diagnostics)


def headline(analysis: Analysis) -> str:
    """Return the sentence that states first on which engine the windows ran."""
    return wording.headline(analysis.answer)


def frame(analysis: Analysis, table: str) -> pd.DataFrame:
    """Return a frame of an analysis. Raises ``UsageError`` for a table that does not exist."""
    from tracekit.report.analysis import frames

    tables: dict[str, Callable[[Analysis], pd.DataFrame]] = {
        "windows": frames.windows_frame,
        "engines": frames.engines_frame,
        "attribution": frames.attribution_frame,
        "evidence": frames.evidence_frame,
        "issues": frames.issues_frame,
        "findings": frames.findings_frame,
    }
    if table not in tables:
        raise UsageError(f"An analysis has no table '{table}'. Its tables are {', '.join(tables)}.")
    return tables[table](analysis)


def text(analysis: Analysis, verbose: bool) -> str:
    """Return the text that ``tracekit analyze`` prints, with ``verbose`` all of its tables."""
    from tracekit.report.analysis.text import to_text
    from tracekit.report.analysis.text_layout import TextLayout

    return without_commands(to_text(analysis, TextLayout(is_verbose=verbose)))


def json(analysis: Analysis) -> str:
    """Return the document ``tracekit-analysis/1``."""
    from tracekit.report.analysis.json import to_json

    return to_json(analysis)


def markdown(analysis: Analysis) -> str:
    """Return the text for a ticket."""
    from tracekit.report.analysis.markdown import to_markdown

    return without_commands(to_markdown(analysis))


def html(analysis: Analysis) -> str:
    """Return the report as one page."""
    from tracekit.report.html.page import to_html

    return to_html(analysis)


def timeline(analysis: Analysis) -> Figure:
    """Return windows and busy intervals as a Plotly figure."""
    from tracekit.report.pictures.figure import timeline_figure

    return timeline_figure(analysis)


def notebook(shown: Trace | Analysis | Comparison) -> str:
    """Return what a notebook shows: the head of the report, in a sandboxed frame."""
    from tracekit.analysis.result import Analysis
    from tracekit.model.trace import Trace
    from tracekit.report.html.notebook import analysis_html, comparison_html, trace_html

    if isinstance(shown, Trace):
        return trace_html(shown)
    return analysis_html(shown) if isinstance(shown, Analysis) else comparison_html(shown)


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """Return one row per metric of each group of windows."""
    from tracekit.report.comparison.frames import comparison_frame as to_frame

    return to_frame(comparison)


def comparison_json(comparison: Comparison) -> str:
    """Return the document ``tracekit-compare/1``."""
    from tracekit.report.comparison.json import to_json

    return to_json(comparison)


def comparison_markdown(comparison: Comparison) -> str:
    """Return the comparison as text for a ticket."""
    from tracekit.report.comparison.markdown import to_markdown

    return without_commands(to_markdown(comparison))


def comparison_html(comparison: Comparison, base: Any, new: Any) -> str:
    """Return the comparison as one page, with a timeline of each side's first recording."""
    from tracekit.report.html.compare_page import to_html

    return to_html(comparison, base, new)


def comparison_text(comparison: Comparison) -> str:
    """Return the text that ``tracekit compare`` prints."""
    from tracekit.report.comparison.text import to_text

    return without_commands(to_text(comparison))
