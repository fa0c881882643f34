"""Values in the file of weights of an ML Program: only the lowest value of one constant is ever needed.

The form is that of https://github.com/apple/coremltools (BSD-3),
mlmodel/src/MILBlob/Blob/StorageFormat.hpp: at the offset that the program gives stand 64 bytes of
description, with the size of the values and their offset.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tracekit.mlmodels.program import Constant

_DESCRIPTION = struct.Struct("<IIQQ")
_SENTINEL = 0xDEADBEEF
_MODEL_PATH = "@model_path/"
_MAX_BYTES = 64 << 20
_FLOATS = {"fp16": "<f2", "fp32": "<f4"}


def read_lowest(folder: Path, blob: tuple[Constant, ...], dtype: str) -> float | None:
    """Return the lowest of a constant's floats; None where these cannot be read.

    ``folder`` is what ``@model_path`` stands for, ``blob`` the name of the file and the offset in it.
    """
    name, offset = blob if len(blob) == 2 else ("", 0)
    if dtype not in _FLOATS or not isinstance(name, str) or not isinstance(offset, int):
        return None
    path = folder / name.removeprefix(_MODEL_PATH)
    try:
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file() or offset < 0:
            return None
        with path.open("rb") as file:
            file.seek(offset)
            sentinel, _, size_bytes, start = _DESCRIPTION.unpack(file.read(_DESCRIPTION.size))
            if sentinel != _SENTINEL or not 0 < size_bytes <= _MAX_BYTES or start > path.stat().st_size:
                return None
            file.seek(start)
            data = file.read(size_bytes)
    except (OSError, ValueError, struct.error, OverflowError):
        return None
    dtype_of_file = np.dtype(_FLOATS[dtype])
    if len(data) != size_bytes or size_bytes % dtype_of_file.itemsize:
        return None
    lowest = float(np.frombuffer(data, dtype_of_file).min())
    return None if np.isnan(lowest) else lowest
