"""Arrays of codes: engines and phases, and numbers that stand for a group of rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINE_CODE, PHASE_CODE, Basis, Engine, Phase

BASES: tuple[Basis, ...] = tuple(Basis)
INFERENCE = frozenset(phase for phase in Phase if phase.is_inference)
"""The phases that count towards a verdict."""
_EXACT = 2**52  # floats hold whole numbers up to here
_TABLE_SIZE = 256  # any int8, the negative ones from the end


def is_engine(codes: npt.NDArray[np.int8], *engines: Engine) -> BoolArray:
    """Mark the codes of any of these engines."""
    return _among(codes, (ENGINE_CODE[engine] for engine in engines))


def is_phase(codes: npt.NDArray[np.int8], *phases: Phase | None) -> BoolArray:
    """Mark the codes of any of these phases; None is no phase."""
    return _among(codes, (PHASE_CODE[phase] for phase in phases))


def _among(codes: npt.NDArray[np.int8], wanted: Iterable[int]) -> BoolArray:
    table = np.zeros(_TABLE_SIZE, bool)
    table[list(wanted)] = True
    marked: BoolArray = table[codes]
    return marked


def grouped(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct keys in ascending order, and of each entry the position of its key among them.

    No key may be negative.
    """
    if not len(keys) or int(keys.max()) > 4 * len(keys):
        distinct, at = np.unique(keys, return_inverse=True)
        return distinct, at
    present = np.bincount(keys) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def positions_by(group: IntArray, count: int) -> list[IntArray]:
    """Return where each of the groups ``0 … count - 1`` stands, in ascending order."""
    order = np.argsort(group.astype(np.min_scalar_type(count)), kind="stable")  # fast up to 16 bits
    return np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1]) if count else []


def firsts(codes: IntArray, count: int) -> IntArray:
    """Return where each of the codes ``0 … count - 1`` stands first; all of them must occur."""
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def sums(codes: IntArray, amounts: IntArray, count: int) -> IntArray:
    """Return the exact sum of the amounts of each of the codes ``0 … count - 1``."""
    if np.abs(amounts).sum(dtype=np.float64) < _EXACT:
        return np.bincount(codes, amounts, minlength=count).astype(np.int64)
    total = np.zeros(count, np.int64)
    np.add.at(total, codes, amounts)
    return total
