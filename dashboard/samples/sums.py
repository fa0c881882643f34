"""What is selected, summed up by node of the call tree, engine and phase: ``tracekit-sums/1``."""

from __future__ import annotations

import numpy as np

from dashboard.samples.columns import Samples
from dashboard.samples.selection import Selection
from tracekit.report.view.payload import Arrays
from tracekit.report.view.samples import Calls, node_sums
from tracekit.report.view.view import sums_document

FORMAT = "tracekit-sums/1"


def sums_block(samples: Samples, selection: Selection) -> bytes:
    """Return the sums as a block; ``selected`` and ``total`` are numbers of samples."""
    count = len(samples["call_stack"])
    weight, number = np.zeros(count), np.zeros(count, np.int64)
    for call, weights in selection.pieces(samples, samples["call"], samples["weight"]):
        weight += np.bincount(call, weights, count)
        number += np.bincount(call, minlength=count)
    calls = Calls(
        np.zeros(0, np.int64),
        *(samples[f"call_{name}"].astype(np.int64) for name in ("stack", "engine", "phase")),
    )
    sums = node_sums(calls, samples["call_node"].astype(np.int64), weight, number)
    arrays = Arrays()
    header = {"samples": sums_document(arrays, sums), "selected": int(number.sum()), "total": samples.total}
    return arrays.block({"format": FORMAT, **header})
