"""Equality and pickling of dataclasses that hold frames and arrays.

A dataclass compares its fields as a tuple, and a tuple of frames has no truth value: ``trace == other`` would
raise ``ValueError`` out of pandas. ``Content`` compares the values of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd


class Content:
    """Base of a frozen dataclass: compares its fields and pickles them, caches left out."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    __hash__ = None  # type: ignore[assignment] # frames can be changed in place

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            is_same_content(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: results of ``cached_property`` are computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def is_same_content(value: object, counterpart: object) -> bool:
    """Return True for equal values; frames and arrays are equal when all their values are.

    Missing values equal each other. The dtype counts, but categories that no row uses and the order of
    categories do not: two readers may collect them differently.
    """
    if isinstance(value, pd.DataFrame) or isinstance(counterpart, pd.DataFrame):
        return (
            isinstance(value, pd.DataFrame)
            and isinstance(counterpart, pd.DataFrame)
            and _is_same_frame(value, counterpart)
        )
    if isinstance(value, np.ndarray) or isinstance(counterpart, np.ndarray):
        if not (isinstance(value, np.ndarray) and isinstance(counterpart, np.ndarray)):
            return False
        return value.dtype == counterpart.dtype and np.array_equal(
            value, counterpart, equal_nan=value.dtype.kind == "f"
        )
    if isinstance(value, Mapping) and isinstance(counterpart, Mapping):
        return value.keys() == counterpart.keys() and all(
            is_same_content(value[key], counterpart[key]) for key in value
        )
    if isinstance(value, (tuple, list)) and isinstance(counterpart, (tuple, list)):
        return (
            type(value) is type(counterpart)
            and len(value) == len(counterpart)
            and all(is_same_content(a, b) for a, b in zip(value, counterpart, strict=True))
        )
    return bool(value == counterpart)


def _is_same_frame(frame: pd.DataFrame, counterpart: pd.DataFrame) -> bool:
    if frame.shape != counterpart.shape or list(frame.columns) != list(counterpart.columns):
        return False
    if not frame.index.equals(counterpart.index):
        return False
    columns = zip(frame.items(), counterpart.items(), strict=True)
    return all(_is_same_column(values, other_values) for (_, values), (_, other_values) in columns)


def _is_same_column(column: pd.Series[Any], counterpart: pd.Series[Any]) -> bool:
    # Readers may collect categories that no row uses: only the values of rows are content.
    if isinstance(column.dtype, pd.CategoricalDtype) and isinstance(counterpart.dtype, pd.CategoricalDtype):
        column, counterpart = (
            column.cat.remove_unused_categories(),
            counterpart.cat.remove_unused_categories(),
        )
    return column.equals(counterpart)
