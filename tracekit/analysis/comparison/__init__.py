"""Two sides of analysed runs, and what differs between them beyond the noise."""

from tracekit.analysis.comparison.compare import compare
from tracekit.analysis.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
