"""Find the engine that ran each inference of a Core ML model, with the evidence for it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit.api import Analysis as Analysis
    from tracekit.api import Comparison as Comparison
    from tracekit.api import Trace as Trace
    from tracekit.api import analyze as analyze
    from tracekit.api import compare as compare
    from tracekit.api import open_trace as open_trace
    from tracekit.checks.check import check as check
    from tracekit.errors import TracekitError as TracekitError
    from tracekit.model.vocabulary import Engine as Engine

__version__ = "0.1.0"

# Importing tracekit stays cheap: pandas and lxml load when a name that needs them is first used.
_HOME = {
    "Analysis": "tracekit.api",
    "analyze": "tracekit.api",
    "check": "tracekit.checks.check",
    "compare": "tracekit.api",
    "Comparison": "tracekit.api",
    "Engine": "tracekit.model.vocabulary",
    "TracekitError": "tracekit.errors",
    "open_trace": "tracekit.api",
    "Trace": "tracekit.api",
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
