"""Equal runs of bytes get equal numbers, in the order of their first appearance."""

from __future__ import annotations

import secrets
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tracekit.model import IntArray

try:
    from tracekit.parsers.xml._scan import distinct as _compiled
except ImportError:  # installed without a compiler
    _compiled = None


def distinct_runs(values: npt.NDArray[np.generic], offsets: IntArray) -> npt.NDArray[np.int32]:
    """Return for each run ``values[offsets[i]:offsets[i + 1]]`` the number of the first run that equals it."""
    size = values.dtype.itemsize
    ids = np.empty(len(offsets) - 1, np.int32)
    if _compiled is not None:
        _compiled(
            np.ascontiguousarray(values).view(np.uint8),
            offsets.astype(np.int64) * size,
            ids,
            secrets.randbits(63),
        )
        return ids
    raw = values.tobytes()
    first: dict[bytes, int] = {}
    for at, (start, end) in enumerate(pairwise((offsets * size).tolist())):
        ids[at] = first.setdefault(raw[start:end], at)
    return ids
