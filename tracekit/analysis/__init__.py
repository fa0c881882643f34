"""Trace → Analysis: data only, independent of file formats and of outputs."""

from tracekit.analysis.pipeline import analyze
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import Window, parse_window, windows_from_csv

__all__ = ["Analysis", "Window", "analyze", "parse_window", "windows_from_csv"]
