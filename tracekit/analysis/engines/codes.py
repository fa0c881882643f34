"""Arrays of codes: engines and phases as small integers, and rows in groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINE_CODE, PHASE_CODE, PHASES, Basis, Engine, Phase

BASES: tuple[Basis, ...] = tuple(Basis)
INFERENCE = frozenset(phase for phase in Phase if phase.is_inference)
"""The phases that count towards a verdict."""
_EXACT_LIMIT = 2**52  # floats hold whole numbers up to here
_TABLE_SIZE = 256  # any int8, the negative ones from the end


def is_engine(codes: npt.NDArray[np.int8], *engines: Engine) -> BoolArray:
    """Mark the codes of any of these engines."""
    return _mark_codes(codes, (ENGINE_CODE[engine] for engine in engines))


def is_phase(codes: npt.NDArray[np.int8], *phases: Phase | None) -> BoolArray:
    """Mark the codes of any of these phases; None selects rows without a phase."""
    return _mark_codes(codes, (PHASE_CODE[phase] for phase in phases))


def _mark_codes(codes: npt.NDArray[np.int8], accepted: Iterable[int]) -> BoolArray:
    # One lookup per row, however many codes are accepted; -1 indexes the table's last entry.
    table = np.zeros(_TABLE_SIZE, bool)
    table[list(accepted)] = True
    mask: BoolArray = table[codes]
    return mask


def encode_work(engine: Any, phase: Any) -> Any:
    """Return the codes of an engine and a phase as one number, not negative: a missing phase is -1."""
    return engine * (len(PHASES) + 1) + phase + 1


def decode_work(codes: Any) -> tuple[Any, Any]:
    """Return the codes of engine and phase of ``encode_work``."""
    engine, phase = np.divmod(codes, len(PHASES) + 1)
    return engine, phase - 1


def is_among(column: pd.Series[str], *words: str) -> BoolArray:
    """Mark the rows of a category column that have one of these words."""
    # A lookup per row takes a tenth of the time of ``isin``; a missing value indexes the last entry.
    values = column.array
    assert isinstance(values, pd.Categorical)
    accepted = frozenset(map(str, words))
    table = np.array([*(name in accepted for name in values.categories.tolist()), False])
    mask: BoolArray = table[values.codes]
    return mask


def convert_categories(column: pd.Series[str], words: Sequence[str]) -> IntArray:
    """Return a category column as positions in ``words``; -1 is missing."""
    position = {str(word): code for code, word in enumerate(words)}
    codes = np.array([*(position[str(name)] for name in column.cat.categories), -1], np.int64)
    positions: IntArray = codes[column.cat.codes.to_numpy()]
    return positions


def group_keys(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct keys in ascending order, and for each entry the position of its key among them.

    No key may be negative.
    """
    # Small keys are counted instead of sorted: present[k] is True where k occurs, and the number of present
    # keys up to k, less one, is the position of k.
    if not len(keys) or int(keys.max()) > 4 * len(keys):
        distinct, positions = np.unique(keys, return_inverse=True)
        return distinct, positions
    present = np.bincount(keys) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def group_positions(group: IntArray, count: int) -> list[IntArray]:
    """Return the positions of each of the groups ``0 … count - 1``, in ascending order."""
    order = sort_positions(group, count)
    return np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1]) if count else []


def sort_positions(group: IntArray, count: int) -> IntArray:
    """Return the positions of the groups ``0 … count - 1``, group by group, each in ascending order."""
    # Up to 16 bits, numpy counts instead of comparing.
    return np.argsort(group.astype(np.min_scalar_type(count)), kind="stable")


def group_codes(*columns: pd.Series[Any] | npt.NDArray[Any]) -> IntArray:
    """Return for each row the number of its combination of values, from 0 on; missing values are equal."""
    group = np.zeros(len(columns[0]), np.int64)
    for values in map(_get_values, columns):
        code, count = _encode_values(values)
        # A mixed-radix number per row; renumbering after each column keeps it below the number of rows².
        group = group_keys(group * (count + 1) + code + 1)[1]
    return group


def _get_values(column: pd.Series[Any] | npt.NDArray[Any]) -> Any:
    """Return what a column holds, without its index, whose upkeep costs more than short arrays do."""
    if not isinstance(column, pd.Series):
        return column
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def _encode_values(values: Any) -> tuple[npt.NDArray[Any], int]:
    """Return each value's code, -1 where it is missing, and a number above every code."""
    if isinstance(values, pd.Categorical):  # it has codes already
        return values.codes.astype(np.int64), len(values.categories)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub" and (values == values[:1]).all():
        return np.zeros(len(values), np.int64), 1  # most recordings are of one process
    code, distinct = pd.factorize(values)
    return code, len(distinct)


def group_rows(frame: pd.DataFrame, *names: str) -> Iterator[tuple[tuple[Any, ...], IntArray]]:
    """Yield each combination of values that these columns have, and the rows that have it."""
    if not len(frame):
        return
    columns = [_get_values(frame[name]) for name in names]
    group = group_codes(*columns)
    groups = group_positions(group, int(group.max()) + 1)
    # One look at each column for all groups: there may be 100,000.
    first_rows = [int(rows[0]) for rows in groups]
    values = zip(*(column[first_rows].tolist() for column in columns), strict=True)
    yield from zip(values, groups, strict=True)


def find_firsts(codes: IntArray, count: int) -> IntArray:
    """Return the position where each of the codes ``0 … count - 1`` occurs first; all of them must occur."""
    first_positions = np.zeros(count, np.int64)
    # Written back to front, so that the earliest position is the last to be written.
    first_positions[codes[::-1]] = np.arange(len(codes))[
        ::-1
    ]  # of repeated targets, the last assignment stays
    return first_positions


def sum_before(amounts: npt.NDArray[Any]) -> IntArray:
    """Return the sum of the amounts before each position, and of all of them: one entry more."""
    sums = np.zeros(len(amounts) + 1, np.int64)
    np.cumsum(amounts, out=sums[1:])
    return sums


def sum_by_code(codes: IntArray, amounts: IntArray, count: int) -> IntArray:
    """Return the exact sum of the amounts of each of the codes ``0 … count - 1``."""
    # ``bincount`` adds doubles, which are exact only while every partial sum has at most 53 bits.
    if np.abs(amounts).sum(dtype=np.float64) < _EXACT_LIMIT:
        return np.bincount(codes, amounts, minlength=count).astype(np.int64)
    total = np.zeros(count, np.int64)
    np.add.at(total, codes, amounts)
    return total
