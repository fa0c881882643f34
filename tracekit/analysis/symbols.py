"""Which frames have a symbol."""

from __future__ import annotations

import re

import numpy as np

from tracekit.model import Trace

_BARE = re.compile(r"(?:\+ ?)?0x[0-9a-fA-F]+|\?\?\?|")


def is_symbolicated(symbol: str) -> bool:
    """False for what tools write where they know no name: an address (``0x1024044f0``), ``???``, nothing."""
    return _BARE.fullmatch(symbol) is None


def unsymbolicated_frames(trace: Trace) -> int:
    """Return how many of the distinct frames on sampled stacks have no symbol."""
    used = np.unique(trace.stacks.frame_ids)
    return sum(not is_symbolicated(symbol) for symbol in trace.stacks.symbols[used].tolist())
