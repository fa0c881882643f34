"""The first field of every row: time, duration and categories, in one of four layouts.

==== ======================= ============================================================== ================
type name                    content, little-endian                                         Instruments
==== ======================= ============================================================== ================
4    XRT50_C22_TypeID        72 bits: time 50, category 22                                  8.3 to 10.1
5    XRTD50_CC22_R_TypeID    144 bits: time 50, duration 50, category 22, category 22       9.3 to 10.1
6    XRTD64_CC32_R_TypeID    u64 time, u64 duration, u32 category, u32 category             Xcode 13 and later
7    XRT64_CC32_R_TypeID     u64 time, u32 category, u32 category                           Xcode 13 and later
==== ======================= ============================================================== ================

Times and durations are nanoseconds, times since the start of the run. A category without a column that
declares it is uninitialised memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.parsers.bundle.uniquer import NO_VALUE_32

TOPOLOGY_WIDTHS = {4: 9, 5: 18, 6: 24, 7: 16}
TOPOLOGY_NAMES = {
    "XRT50_C22_TypeID": 4,
    "XRTD50_CC22_R_TypeID": 5,
    "XRTD50_CC22_TypeID": 5,
    "XRTD64_CC32_R_TypeID": 6,
    "XRT64_CC32_R_TypeID": 7,
}
TOPOLOGY_FIELDS = {
    "XRTraceRelativeTimestampFieldID": "time",
    "XRDurationFieldID": "duration",
    "XRCategory1FieldID": "category-1",
    "XRCategory2FieldID": "category-2",
}

_MASK_50 = np.uint64((1 << 50) - 1)
_MASK_22 = np.uint64((1 << 22) - 1)


def split_topology(kind: int, column: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the parts of a topology column by the names in ``TOPOLOGY_FIELDS``; times as uint64."""
    raw = np.ascontiguousarray(column)
    if kind in (6, 7):
        names = (
            ["time", "duration", "category-1", "category-2"]
            if kind == 6
            else ["time", "category-1", "category-2"]
        )
        dtype = np.dtype([(name, "<u4" if name.startswith("category") else "<u8") for name in names])
        parts = raw.view(dtype)
        return {name: np.ascontiguousarray(parts[name]) for name in names}
    width = TOPOLOGY_WIDTHS[kind]
    words = np.zeros((len(raw), 24), np.uint8)
    words[:, :width] = raw.view(np.uint8).reshape(-1, width)
    low, middle, high = (words.view("<u8").reshape(-1, 3)[:, at] for at in range(3))
    if kind == 4:
        return {"time": low & _MASK_50, "category-1": _category(_across(low, 50, middle))}
    return {
        "time": low & _MASK_50,
        "duration": _across(low, 50, middle) & _MASK_50,
        "category-1": _category(middle >> np.uint64(36)),
        "category-2": _category(_across(middle, 58, high)),
    }


def _across(low: npt.NDArray[np.uint64], shift: int, high: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return what begins at bit ``shift`` of ``low`` and goes on in ``high``."""
    return (low >> np.uint64(shift)) | (high << np.uint64(64 - shift))


def _category(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """Return 22-bit categories as 32-bit ones; all ones mean no value in both."""
    narrow = bits & _MASK_22
    return np.where(narrow == _MASK_22, NO_VALUE_32, narrow).astype(np.uint32)
