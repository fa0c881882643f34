"""A recording of probes → where the calls of each ran with each setting, and what follows.

The calls are those within the runner's signposts, whose message has the probe and the setting; in recordings
of other programs those of models that are called as the probes are. Every call but a probe's first, which may
compile and load, is evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd

from tracekit.analysis import analyze
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.table_windows import select_signpost_intervals
from tracekit.errors import NotMeasurableError
from tracekit.model.trace import Trace, TraceInfo
from tracekit.model.vocabulary import COMPUTE_UNITS, Basis, Engine
from tracekit.probes.probe_manifest import ProbeManifest
from tracekit.probes.probe_question import Probe, compute_area_ratio
from tracekit.probes.runner import CATEGORY, SIGNPOST, SUBSYSTEM
from tracekit.text import list_first, printable

_BASES = tuple(Basis)
FEWEST_CALLS = 3
"""Calls that must agree, beside the first, before anything follows from them."""


class Placement(StrEnum):
    """The place where the calls of a probe with one setting ran."""

    WHOLE = "whole"
    """Each call is one submission to the Neural Engine, and no other engine is seen in it."""
    SPLIT = "split"
    """Several submissions to the Neural Engine, or one beside another engine."""
    OTHER = "other"
    """Another engine, and the Neural Engine is seen not to work in it."""
    SHORT = "short"
    """One submission that worked for too short a time to be the whole probe, by its control."""
    UNKNOWN = "unknown"
    """The recording does not show it, or shows it for some calls only."""
    VARIES = "varies"
    """Calls that were placed differently."""
    ABSENT = "absent"
    """Fewer calls than ``FEWEST_CALLS``."""


class Conclusion(StrEnum):
    """The conclusion about an operation, on this recording's device and system, of this shape and setting."""

    STAYS = "stays"
    SPLITS = "splits"
    WHOLE_LEAVES = "whole-leaves"
    NO_CONTROL = "no-control"
    """The control was not seen on the Neural Engine in one submission: nothing follows."""
    OPEN = "open"
    """The probe's own calls show nothing that is the same for all."""
    IS_CONTROL = "control"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """A probe with one setting. ``setting`` is empty where the recording does not show it.

    ``calls`` are those that are evidence. ``engines`` are the engines of a typical call in their order
    (``ANE, CPU, ANE``), ``submissions`` those to the Neural Engine, None where they are not known, and
    ``busy_ns`` its time. ``basis`` is how both are known: the weakest of what the calls rest on.
    """

    probe: Probe
    setting: str
    placement: Placement
    conclusion: Conclusion
    calls: int = 0
    engines: tuple[Engine, ...] = ()
    submissions: int | None = None
    busy_ns: int = 0
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class ProbeResults:
    """The rows of a recording, controls first, in the order of the manifest. ``info`` names its origin."""

    info: TraceInfo
    rows: tuple[ProbeRow, ...]
    is_marked: bool


def read_probes(trace: Trace, manifest: ProbeManifest, compute_units: str = "") -> ProbeResults:
    """Return where the calls of probes ran, and what follows.

    ``compute_units`` is the setting of a recording whose calls are not marked. Raises ``NotMeasurableError``
    where no call of a probe is observation.
    """
    marks = _read_marks(trace)
    analysis = analyze(trace, compute_units=compute_units)
    keys = _match_calls(analysis, marks, compute_units)
    if len(marks) and not any(name for name, _ in keys):  # its calls are in no table
        pattern = f"{SUBSYSTEM}/{CATEGORY}/{SIGNPOST}"
        analysis = analyze(trace, signposts=pattern, compute_units=compute_units)
        keys = _match_calls(analysis, marks, compute_units)
    calls = _group_calls(keys, {probe.name for probe in manifest.probes})
    if not calls:
        raise NotMeasurableError(_describe_missing(trace, keys))
    observer = _Observer(analysis)
    observed = {key: observer.observe(windows) for key, windows in calls.items()}
    return ProbeResults(trace.info, tuple(_iter_rows(manifest, observed)), bool(len(marks)))


def _describe_missing(trace: Trace, keys: Sequence[tuple[str, str]]) -> str:
    names = sorted({name for name, _ in keys if name})
    have = f"its calls are of {printable(list_first(names, 3))}" if names else "it has no calls with a name"
    return f"{printable(trace.info.name)}: no call is one of a probe in this manifest; {have}."


# Calls of each probe ----------------------------------------------------------------------------------------


def _read_marks(trace: Trace) -> pd.DataFrame:
    """Return the runner's signposts in the order of their starts, with ``probe`` and ``setting``."""
    rows = select_signpost_intervals(trace)
    is_ours = (rows["subsystem"] == SUBSYSTEM) & (rows["category"] == CATEGORY) & (rows["name"] == SIGNPOST)
    rows = rows[is_ours.to_numpy(bool)].sort_values("start_ns", kind="stable")
    words = rows["message"].astype("str").str.extract(_MESSAGE).fillna("")
    return rows.assign(probe=words[0], setting=words[1])


_MESSAGE = rf"^(\w+) ({'|'.join(COMPUTE_UNITS)}) \d+$"


def _match_calls(analysis: Analysis, marks: pd.DataFrame, compute_units: str) -> list[tuple[str, str]]:
    """Return probe and setting of each window: those of the mark around it, or without marks its model."""
    windows = analysis.window_rows
    if not len(marks):
        return [(str(model), compute_units) for model in windows["model"]]
    keys = []
    starts = marks["start_ns"].to_numpy(np.int64)
    ends, pids = marks["end_ns"].to_numpy(np.int64), marks["pid"].to_numpy(np.int64)
    names = list(zip(marks["probe"].astype("str"), marks["setting"].astype("str"), strict=True))
    before = np.searchsorted(starts, windows["start_ns"].to_numpy(np.int64), side="right") - 1
    for row, (end, pid) in zip(before, zip(windows["end_ns"], windows["pid"], strict=True), strict=True):
        # The runner makes one call at a time, so the last mark that began is the one around a call.
        is_around = row >= 0 and end <= ends[row] and pid == pids[row]
        keys.append(names[row] if is_around else ("", ""))
    return keys


def _group_calls(keys: Sequence[tuple[str, str]], known: set[str]) -> dict[tuple[str, str], list[int]]:
    """Return the windows of each probe and setting without the first one, in the order of their starts."""
    groups: dict[tuple[str, str], list[int]] = {}
    for window, key in enumerate(keys):
        if key[0] in known:
            groups.setdefault(key, []).append(window)
    return {key: windows[1:] for key, windows in groups.items()}


# Placement --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Observation:
    placement: Placement
    calls: int
    engines: tuple[Engine, ...] = ()
    submissions: int | None = None
    busy_ns: int = 0
    basis: Basis | None = None


class _Observer:
    """Places calls by an analysis: its verdicts, segments, and submissions to the Neural Engine."""

    def __init__(self, analysis: Analysis) -> None:
        self._verdicts = analysis.verdicts.names
        self._segments: pd.DataFrame = analysis.segments
        self._bounds = np.searchsorted(
            self._segments["window_id"].to_numpy(np.int64), np.arange(len(self._verdicts) + 1)
        )
        counts = analysis.submissions["submissions"]
        self._submissions = [None if pd.isna(count) else int(count) for count in counts]

    def observe(self, windows: Sequence[int]) -> _Observation:
        """Return where some calls ran: the same for all of them, or that it varies."""
        if len(windows) < FEWEST_CALLS:
            return _Observation(Placement.ABSENT, len(windows))
        placed = [self._place(window) for window in windows]
        ((placement, engines, submissions), _) = Counter(item[0] for item in placed).most_common(1)[0]
        if len({item[0][0] for item in placed}) > 1:
            placement = Placement.VARIES
        bases = {basis for _, basis, _ in placed if basis is not None}
        weakest = max(bases, key=_BASES.index) if bases else None
        busy_ns = int(np.median([busy_ns for _, _, busy_ns in placed]))
        return _Observation(placement, len(windows), engines, submissions, busy_ns, weakest)

    def _place(
        self, window: int
    ) -> tuple[tuple[Placement, tuple[Engine, ...], int | None], Basis | None, int]:
        rows = self._segments.iloc[self._bounds[window] : self._bounds[window + 1]]
        engines = tuple(Engine(name) for name in rows["engine"])
        bases = [Basis(name) for name in rows["basis"]]
        busy_ns = int(rows["busy_ns"][(rows["engine"] == Engine.ANE).to_numpy(bool)].sum())
        submissions = self._submissions[window]
        if submissions is None or not engines or self._verdicts[window] == "UNKNOWN":
            # What the Neural Engine did is not known: no other engine's work shows that it rested.
            placement = Placement.UNKNOWN
        elif not submissions:
            placement = Placement.OTHER if Engine.ANE not in engines else Placement.UNKNOWN
        else:
            is_whole = submissions == 1 and set(engines) == {Engine.ANE}
            placement = Placement.WHOLE if is_whole else Placement.SPLIT
        return (
            (placement, engines, submissions),
            max(bases, key=_BASES.index) if bases else None,
            busy_ns,
        )


# Conclusions ------------------------------------------------------------------------------------------------


def _iter_rows(
    manifest: ProbeManifest, observed: Mapping[tuple[str, str], _Observation]
) -> Iterator[ProbeRow]:
    settings = sorted(
        {setting for _, setting in observed}, key=["", *manifest.settings, *COMPUTE_UNITS].index
    )
    nothing = _Observation(Placement.ABSENT, 0)
    for setting in settings:
        for probe in manifest.probes:
            control = observed.get((probe.control, setting), nothing)
            observation = _hold_against(control, observed.get((probe.name, setting), nothing), probe)
            yield ProbeRow(
                probe,
                setting,
                observation.placement,
                _conclude(probe, observation.placement, control.placement),
                observation.calls,
                observation.engines,
                observation.submissions,
                observation.busy_ns,
                observation.basis,
            )


def _hold_against(control: _Observation, observation: _Observation, probe: Probe) -> _Observation:
    """Return an observation, as ``SHORT`` where the engine worked for less than the convolutions take.

    Work on the CPU can be missing from a recording, and a probe of which only the beginning runs on the
    engine is one submission, too; but its time is half of the control's. The operation changes the size of
    what the last two convolutions take.
    """
    if observation.placement is not Placement.WHOLE or control.placement is not Placement.WHOLE:
        return observation
    expected_ns = control.busy_ns * (1 + compute_area_ratio(probe)) / 2
    is_short = observation.busy_ns < _LEAST_SHARE * expected_ns
    return replace(observation, placement=Placement.SHORT) if is_short else observation


_LEAST_SHARE = 0.75
"""Of the control's time: half of it is a probe that left after the first two convolutions."""


def _conclude(probe: Probe, placement: Placement, control: Placement) -> Conclusion:
    if probe.is_control:
        return Conclusion.IS_CONTROL
    if control is not Placement.WHOLE:
        return Conclusion.NO_CONTROL
    return _CONCLUSIONS.get(placement, Conclusion.OPEN)


_CONCLUSIONS = {
    Placement.WHOLE: Conclusion.STAYS,
    Placement.SPLIT: Conclusion.SPLITS,
    Placement.OTHER: Conclusion.WHOLE_LEAVES,
}
