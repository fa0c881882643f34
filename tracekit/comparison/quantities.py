"""A number per window, and one per run, with the basis of each and the reason where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import BoolArray

FloatArray: TypeAlias = npt.NDArray[np.float64]
Names: TypeAlias = npt.NDArray[np.object_]
Unit: TypeAlias = Literal["ns", "mJ", "tokens/s", "share", "count", "cycles", "events", "samples", "hits"]


@dataclass(frozen=True)
class Quantity:
    """One number per window, NaN where it is unknown; ``missing`` is the reason where no window can have one.

    ``basis`` is each window's. Amounts of different bases are never combined in one number; ``mixes_bases``
    marks what is counted or decided per window, where several bases may be combined.
    """

    values: FloatArray
    unit: Unit
    basis: Names
    missing: str = ""
    mixes_bases: bool = False
    if_unknown: str = "no call shows it"
    """The reason to give where all of the selected windows are NaN."""

    @property
    def most(self) -> float:
        """The most that a window with an unknown number can have; the least is 0."""
        return 1.0 if self.unit == "share" else np.inf

    def bases(self, rows: BoolArray) -> tuple[str, ...]:
        """Return the bases of those rows that have a number."""
        bases = self.basis[rows & ~np.isnan(self.values)]
        return tuple(sorted({str(basis) for basis in bases} - {""}))

    def problem(self, rows: BoolArray) -> str:
        """Return the reason why these rows give no number; "" where they give one."""
        if not rows.any():
            return "there is no such call"
        if self.missing:
            return self.missing
        if np.isnan(self.values[rows]).all():
            return self.if_unknown
        bases = self.bases(rows)
        if len(bases) > 1 and not self.mixes_bases:
            return f"some calls are {' and some '.join(bases)}, which one number cannot combine"
        return ""


@dataclass(frozen=True)
class Amount:
    """A number of a whole run; where the recording does not show it, None and the reason in ``missing``."""

    value: float | None
    basis: str = ""
    missing: str = ""


def join_arrays(parts: Sequence[Any]) -> FloatArray:
    """Return the parts one after another; without parts, an empty array."""
    return np.concatenate([np.asarray(part, np.float64) for part in parts] or [np.zeros(0)])
