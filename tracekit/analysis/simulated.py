"""Processes that ran in a simulator, by the binaries on their stacks.

A simulator's processes are processes of the Mac. A recording of all of them, which is the way around a hang
of ``xctrace record --device``, states the Mac as its device; what remains are the paths of binaries: apps lie
in ``CoreSimulator/Devices/UDID``, system libraries in a ``.simruntime`` (paths of published recordings).
"""

from __future__ import annotations

import numpy as np

from tracekit.model.trace import Trace

_PATHS = r"/CoreSimulator/Devices/|\.simruntime/"


def list_simulated_processes(trace: Trace) -> tuple[str, ...]:
    """Return the names of the processes with a sample of a binary that only a simulator loads, in order."""
    stacks = trace.stacks
    is_simulated = stacks.binaries["path"].astype("str").str.contains(_PATHS, regex=True).to_numpy(bool)
    if not is_simulated.any():
        return ()
    of_frame = np.append(is_simulated, False)[stacks.frames["binary_id"].to_numpy()]
    stack_of_place = np.repeat(np.arange(len(stacks)), np.diff(stacks.offsets))
    of_stack = np.bincount(stack_of_place[of_frame[stacks.frame_ids]], minlength=len(stacks) + 1) > 0
    threads = np.unique(trace.samples["thread_id"].to_numpy()[of_stack[trace.samples["stack_id"].to_numpy()]])
    names = trace.threads["process"].iloc[threads[threads >= 0]]
    return tuple(dict.fromkeys(names.astype("str")))
