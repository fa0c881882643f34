"""Two sides of analysed runs, and what differs between them beyond the noise."""

from tracekit.comparison.compare import compare
from tracekit.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
