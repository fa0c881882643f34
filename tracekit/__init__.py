"""Find the engine that ran each inference of a Core ML model, with the evidence for it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit.analysis import Analysis as Analysis
    from tracekit.analysis import analyze as analyze
    from tracekit.checks.check import check as check
    from tracekit.comparison.compare import compare as compare
    from tracekit.comparison.result import Comparison as Comparison
    from tracekit.errors import TracekitError as TracekitError
    from tracekit.load import open_trace as open_trace
    from tracekit.model.trace import Trace as Trace
    from tracekit.model.vocabulary import Engine as Engine

__version__ = "0.1.0"

# Importing tracekit stays cheap: pandas and lxml load when a name that needs them is first used.
_HOME = {
    "Analysis": "tracekit.analysis",
    "analyze": "tracekit.analysis",
    "check": "tracekit.checks.check",
    "compare": "tracekit.comparison.compare",
    "Comparison": "tracekit.comparison.result",
    "Engine": "tracekit.model.vocabulary",
    "TracekitError": "tracekit.errors",
    "open_trace": "tracekit.load",
    "Trace": "tracekit.model.trace",
}
__all__ = [
    "Analysis",
    "Comparison",
    "Engine",
    "Trace",
    "TracekitError",
    "__version__",
    "analyze",
    "check",
    "compare",
    "open_trace",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tracekit' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
