"""Equality and pickling of dataclasses that hold frames and arrays.

A dataclass compares its fields as a tuple, and a tuple of frames has no truth value: ``trace == other`` would
raise ``ValueError`` out of pandas. ``Content`` compares what the fields hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd


class Content:
    """Base of a frozen dataclass with ``eq=False`` that compares and pickles its fields, caches left out."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    __hash__ = None  # type: ignore[assignment] # frames can be changed in place

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same_content(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: what ``cached_property`` stored beside them is computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def same_content(left: object, right: object) -> bool:
    """Return True for equal values; frames and arrays are equal when all their values are.

    Missing values equal each other. The dtype counts, but categories that no row uses and the order of
    categories do not: two readers may collect them differently.
    """
    if isinstance(left, pd.DataFrame) or isinstance(right, pd.DataFrame):
        return isinstance(left, pd.DataFrame) and isinstance(right, pd.DataFrame) and _same_frame(left, right)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
            return False
        return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_content(left[key], right[key]) for key in left)
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return (
            type(left) is type(right)
            and len(left) == len(right)
            and all(same_content(a, b) for a, b in zip(left, right, strict=True))
        )
    return bool(left == right)


def _same_frame(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    if left.shape != right.shape or list(left.columns) != list(right.columns):
        return False
    if not left.index.equals(right.index):
        return False
    columns = zip(left.items(), right.items(), strict=True)
    return all(_same_column(values, other_values) for (_, values), (_, other_values) in columns)


def _same_column(left: pd.Series[Any], right: pd.Series[Any]) -> bool:
    # Readers may collect categories that no row uses: only the values of rows are content.
    if isinstance(left.dtype, pd.CategoricalDtype) and isinstance(right.dtype, pd.CategoricalDtype):
        left, right = left.cat.remove_unused_categories(), right.cat.remove_unused_categories()
    return left.equals(right)
