"""Values that stand apart from the program: only the lowest value of one constant is ever needed.

Core AI's assets have them as they are. The file of weights of an ML Program has 64 bytes of description at
the offset that the program gives, with the size of the values and their offset: StorageFormat.hpp in
mlmodel/src/MILBlob/Blob of https://github.com/apple/coremltools (BSD-3).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

import numpy as np

from tracekit.mlmodels.program import Constant

_DESCRIPTION = struct.Struct("<IIQQ")
_SENTINEL = 0xDEADBEEF
_MODEL_PATH = "@model_path/"
_MAX_BYTES = 64 << 20
_FLOATS: dict[str, np.dtype[Any]] = {"fp16": np.dtype("<f2"), "fp32": np.dtype("<f4")}


def read_lowest(folder: Path, blob: tuple[Constant, ...], dtype: str) -> float | None:
    """Return the lowest of a constant's floats; None where these cannot be read.

    ``folder`` is that of the model, which ``@model_path`` stands for; ``program.BLOB`` describes ``blob``.
    """
    name, *place = blob
    if dtype not in _FLOATS or not isinstance(name, str) or len(place) not in (1, 2):
        return None
    path = folder / name.removeprefix(_MODEL_PATH)
    try:
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            return None
        with path.open("rb") as file:
            data = _read_values(file, [int(str(number)) for number in place])
    except (OSError, ValueError, struct.error, OverflowError):
        return None
    if not data or len(data) % _FLOATS[dtype].itemsize:
        return None
    lowest = float(np.frombuffer(data, _FLOATS[dtype]).min())
    return None if np.isnan(lowest) else lowest


def _read_values(file: IO[bytes], place: list[int]) -> bytes:
    """Return the bytes of values, or nothing where there are none, or too many. Raises ``struct.error``."""
    if len(place) == 1:
        file.seek(place[0])
        sentinel, _, size_bytes, start = _DESCRIPTION.unpack(file.read(_DESCRIPTION.size))
        if sentinel != _SENTINEL:
            return b""
    else:
        start, size_bytes = place
    if not 0 < size_bytes <= _MAX_BYTES:
        return b""
    file.seek(start)
    data = file.read(size_bytes)
    return data if len(data) == size_bytes else b""
