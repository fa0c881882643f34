"""Model files: what a Core ML or Core AI model computes, read without Apple's libraries and on any system.

``read_model`` turns a path into an ``MLModel``. The room is apart from ``tracekit.model``, the data model of
recordings. Weights are not read: their sizes are those of files. ``weights.py`` reads one value of a mask.
"""

from __future__ import annotations

from tracekit.mlmodels.files import find_enclosing_model, read_model
from tracekit.mlmodels.program import Feature, Function, MLModel, Operation, Value, ValueType

__all__ = [
    "Feature",
    "Function",
    "MLModel",
    "Operation",
    "Value",
    "ValueType",
    "find_enclosing_model",
    "read_model",
]
