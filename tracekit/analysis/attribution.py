"""Attribution: which samples belong to which window, and what they add up to per engine and phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.classification.labels import Labels
from tracekit.engines import ENGINES, PHASES, Engine, Phase
from tracekit.model import ATTRIBUTION, IntArray, Trace

OUTSIDE = -1
"""The ``window_id`` of what lies in no window."""


@dataclass(frozen=True)
class Membership:
    """Which sample counts in which window: parallel arrays, one entry per (sample, window) pair.

    ``ambiguous`` counts ML samples that no single one of several overlapping inferred windows can claim.
    """

    sample: IntArray
    window: IntArray
    ambiguous: int = 0


@dataclass(frozen=True)
class Share:
    """One row of an attribution: what one engine has in one phase of one window; None is "not known"."""

    engine: Engine
    phase: Phase | None
    samples: int
    weight: int
    sampled_ns: int | None
    busy_ns: int | None
    waiting_ns: int | None

    @property
    def is_inference(self) -> bool:
        """True for work that counts towards a verdict."""
        return self.phase is not None and self.phase.is_inference


def shares_by_window(attribution: pd.DataFrame) -> dict[int, list[Share]]:
    """Return the rows of a ``model.ATTRIBUTION`` frame by window_id, in their order."""
    found: dict[int, list[Share]] = {}
    for row in attribution.to_dict("records"):
        share = Share(
            Engine(row["engine"]),
            None if pd.isna(row["phase"]) else Phase(row["phase"]),
            int(row["samples"]),
            int(row["weight"]),
            *(
                None if pd.isna(row[name]) else int(row[name])
                for name in ("sampled_ns", "busy_ns", "waiting_ns")
            ),
        )
        found.setdefault(int(row["window_id"]), []).append(share)
    return found


def assign_samples(trace: Trace, labels: Labels, windows: pd.DataFrame) -> Membership:
    """Return the samples of each window.

    A window that the user gave, or that spans the run, counts every sample in its time (of its thread, if it
    names one). A window inferred from stacks counts its own thread's samples and the process's ML work on
    other threads, unless that work lies in several such windows at once: then nothing tells whose it is.
    """
    times = trace.samples["time_ns"].to_numpy()
    starts = np.searchsorted(times, windows["start_ns"].to_numpy())
    counts = np.searchsorted(times, windows["end_ns"].to_numpy()) - starts
    window = np.repeat(windows["window_id"].to_numpy(np.int64), counts)
    sample = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))

    owner = windows["thread_id"].to_numpy()[window]
    thread = trace.samples["thread_id"].to_numpy()[sample]
    inferred = (windows["source"] == "stacks").to_numpy()[window]
    same_process = windows["pid"].to_numpy()[window] == labels.pid[sample]
    own = np.where(inferred, (thread == owner) & same_process, (owner < 0) | (thread == owner))
    joined = inferred & ~own & same_process & labels.is_worker[sample]
    claims = np.bincount(sample[joined], minlength=len(times))
    shared = joined & (claims[sample] > 1)
    keep = own | (joined & ~shared)
    return Membership(sample[keep], window[keep], int((claims > 1).sum()))


def attribute(trace: Trace, labels: Labels, members: Membership) -> pd.DataFrame:
    """Return one row per window × engine × phase that has samples (``model.ATTRIBUTION``).

    ``window_id`` -1 holds the samples of no window. For windows that do not overlap, the rows add up to the
    whole recording: samples and weight, exactly.
    """
    outside = np.ones(len(trace.samples), bool)
    outside[members.sample] = False
    rest = np.flatnonzero(outside)
    sample = np.concatenate([members.sample, rest])
    window = np.concatenate([members.window, np.full(len(rest), OUTSIDE, np.int64)])
    frame = pd.DataFrame(
        {
            "window_id": window,
            "engine": labels.engine[sample],
            "phase": labels.phase[sample],
            "weight": trace.weights[sample],
        }
    )
    totals = frame.groupby(["window_id", "engine", "phase"], as_index=False)["weight"].agg(["size", "sum"])
    weight = totals["sum"].to_numpy(np.int64)
    no_time = np.full(len(totals), trace.weight_unit != "ns")
    nothing = pd.arrays.IntegerArray(np.zeros(len(totals), np.int64), np.ones(len(totals), bool))
    return ATTRIBUTION.check(
        pd.DataFrame(
            {
                "window_id": totals["window_id"].to_numpy(np.int64),
                "engine": pd.Categorical.from_codes(
                    totals["engine"].to_numpy(), categories=pd.Index([str(e) for e in ENGINES], dtype="str")
                ),
                "phase": pd.Categorical.from_codes(
                    totals["phase"].to_numpy(), categories=pd.Index([str(p) for p in PHASES], dtype="str")
                ),
                "samples": totals["size"].to_numpy(np.int64),
                "sampled_ns": pd.arrays.IntegerArray(weight.copy(), no_time),
                "busy_ns": nothing,
                "waiting_ns": nothing.copy(),
                "weight": weight,
            }
        ),
        "attribution",
    )
