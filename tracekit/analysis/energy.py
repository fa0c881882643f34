"""Power of each rail, what it can show, and the energy of a call.

A tool estimates the power of the whole system per sample of 0.1 s and more. A call that is shorter cannot be
priced, a run of calls can: only samples that lie wholly inside of it count.

    calls      |--|--|--|--|--|--|        |--|--|
    samples  |-----|-----|-----|-----|-----|-----|
    counted         ^^^^^ ^^^^^
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.analysis.chips import find_rail_fact, identify_chip, identify_macos
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.power_rails import ANE_RAIL, COMBINED, RAILS, TRACK_OF_RAIL
from tracekit.model.schemas import ANE_TABLES, POWER_RAILS
from tracekit.model.tables import OVERLAID
from tracekit.model.trace import Trace

if TYPE_CHECKING:
    from tracekit.analysis.findings.calls import Calls

RailState: TypeAlias = Literal["measured", "zero", "dead", "absent"]
"""Above zero in some sample; zero in all; known to read zero or to be missing; without any sample."""
Missing: TypeAlias = Literal[
    "", "no-interval", "long-samples", "zero", "dead", "absent", "not-single", "several-tools"
]
MISSING_ENERGY: Mapping[Missing, str] = {
    "no-interval": "the samples have no length",
    "long-samples": "no sample lies inside of a run of calls",
    "zero": "the rail reads zero",
    "dead": "the rail shows nothing on this system",
    "absent": "the rail is absent",
    "not-single": "the calls are not single ones: they are from stacks, chosen ranges, or parts of calls",
    "several-tools": "several files state the power",
}
"""Why a call has no energy on a rail."""
_MAX_PAUSE_SHARE = 0.2
"""A choice: calls follow one another where the pause is at most this part of the usual call."""
_MAX_MODELS = 20
_NOT_SINGLE = frozenset({"stacks", "run", "manual", "csv", *ANE_TABLES})
"""Windows that may hold several calls, or a part of one."""


@frozen
class Rail:
    """One rail: mean (by time) and highest power, and energy where the samples have a length.

    ``fact`` names what is known about the rail on this chip and system (``chips.RAIL_FACTS``); ``is_sum``
    marks a combined power that tracekit added up, because the tool does not state it.
    """

    rail: str
    state: RailState
    samples: int
    mean_mw: float | None = None
    max_mw: float | None = None
    energy_mj: float | None = None
    fact: str = ""
    is_sum: bool = False


@frozen
class CallEnergy:
    """Energy of a call of one model on one rail: of ``samples`` in ``runs`` of calls, divided by the calls.

    It is of the whole device while the calls ran, deduced (basis inferred) from an estimate. ``energy_mj`` is
    None where ``missing`` has the reason. ``calls`` may be broken: samples do not begin with a call.
    ``longest_run_ns`` is the length of the longest run.
    """

    model: str
    pid: int
    rail: str
    energy_mj: float | None
    calls: float
    samples: int
    runs: int
    longest_run_ns: int
    missing: Missing = ""


@frozen
class Power:
    """Power in a recording: its tool and machine, the usual length of a sample, each rail, and the calls'."""

    tool: str
    chip: str
    macos: int
    build: str
    interval_ns: int
    accuracy_ns: int | None
    rails: tuple[Rail, ...]
    calls: tuple[CallEnergy, ...]

    def rail(self, name: str) -> Rail:
        """Return a rail; one without samples where the recording has none of it."""
        return next((rail for rail in self.rails if rail.rail == name), Rail(name, "absent", 0))


@frozen
class _Samples:
    """The samples of one rail, disjoint and in order of time."""

    starts: IntArray
    ends: IntArray
    power: npt.NDArray[np.float64]

    @property
    def energy_mj(self) -> npt.NDArray[np.float64]:
        """mW times seconds."""
        energy: npt.NDArray[np.float64] = self.power * (self.ends - self.starts) / 1e9
        return energy

    def cut_to_recording(self, trace: Trace) -> _Samples:
        """Return what lies in the recorded time; a sample across an end of it keeps its part inside."""
        last_ns = trace.info.duration_ns
        starts = np.maximum(self.starts, 0)
        ends = self.ends if last_ns is None else np.minimum(self.ends, last_ns)
        is_inside = (ends > starts) | ((self.starts == self.ends) & (starts == ends))
        return _Samples(starts[is_inside], ends[is_inside], self.power[is_inside])


def measure_power(calls: Calls) -> Power | None:
    """Return the power in a recording; None without any sample of it."""
    trace = calls.trace
    tables = [table for table in trace.tables if table.schema == POWER_RAILS and table.row_count]
    if not tables:
        return None
    facts = tables[0].attributes
    chip = identify_chip(facts.get("model", ""), facts.get("chip", ""))
    macos = identify_macos(facts.get("build", ""))
    samples = {rail: _read_samples(trace, track) for rail, track in TRACK_OF_RAIL.items()}
    is_summed = facts.get("combined") == "sum"
    # A text laid over a recording begins before it and ends after it: what is added up is what was recorded.
    is_laid_over = any(OVERLAID in table.attributes for table in tables)
    recorded = {
        rail: part.cut_to_recording(trace) if is_laid_over else part for rail, part in samples.items()
    }
    rails = tuple(
        _build_rail(rail, recorded[rail], chip, macos, is_sum=is_summed and rail == COMBINED)
        for rail in RAILS
        if len(recorded[rail].power) or rail == ANE_RAIL
    )
    lengths = np.concatenate([part.ends - part.starts for part in samples.values()])
    accuracy = facts.get("accuracy-ns", "")
    power = Power(
        facts.get("tool", ""),
        chip,
        macos,
        facts.get("build", ""),
        int(np.median(lengths)) if len(lengths) else 0,
        int(accuracy) if accuracy.isdecimal() and len(accuracy) < 19 else None,
        rails,
        (),
    )
    priced = tuple(_price_calls(calls, power, samples, is_one_tool=len(tables) == 1))
    return replace(power, calls=priced)


def _read_samples(trace: Trace, track: str) -> _Samples:
    """Return the samples of a track: a value holds until the next row, which is empty where none follows."""
    rows = trace.tracks[(trace.tracks["name"] == track).to_numpy(bool)]
    times, values = rows["time_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)
    ends = np.append(times[1:], times[-1:])
    has_value = ~np.isnan(values)
    return _Samples(times[has_value], ends[has_value], values[has_value])


def _build_rail(rail: str, samples: _Samples, chip: str, macos: int, *, is_sum: bool) -> Rail:
    fact = find_rail_fact(rail, chip, macos)
    name = fact.name if fact else ""
    count = len(samples.power)
    if not count:
        return Rail(rail, "absent", 0, fact=name)
    lengths = samples.ends - samples.starts
    mean = float(np.average(samples.power, weights=lengths if lengths.any() else None))
    highest = float(samples.power.max())
    energy = float(samples.energy_mj.sum()) if lengths.any() else None
    state: RailState = "measured" if highest > 0 else "dead" if fact else "zero"
    return Rail(rail, state, count, mean, highest, energy, "" if state == "measured" else name, is_sum)


def _price_calls(
    calls: Calls, power: Power, samples: dict[str, _Samples], *, is_one_tool: bool
) -> Iterator[CallEnergy]:
    """Yield the energy of a call of each model on each rail that the recording has."""
    sources = calls.analysis.window_rows["source"].astype(str).to_numpy(object)
    for number, model in enumerate(calls.models[:_MAX_MODELS]):
        runs = _find_runs(calls, number)
        longest_ns = int((runs.ends - runs.starts).max(initial=0))
        is_single = not {*sources[model.rows]} & _NOT_SINGLE
        for rail in power.rails:
            missing: Missing = "" if rail.state == "measured" else rail.state
            if not missing and not is_single:
                missing = "not-single"
            elif not missing and not is_one_tool:
                missing = "several-tools"
            price = _Price() if missing else _sum_energy(runs, samples[rail.rail], power.accuracy_ns or 0)
            if not missing and not price.samples:
                missing = "long-samples" if power.interval_ns else "no-interval"
            yield CallEnergy(
                model.model or model.name,
                model.pid,
                rail.rail,
                price.energy_mj / price.calls if price.samples else None,
                price.calls,
                price.samples,
                price.runs,
                longest_ns,
                missing,
            )


@frozen
class _Runs:
    """Runs of calls of one model, as columns."""

    starts: IntArray
    ends: IntArray
    calls: IntArray


def _find_runs(calls: Calls, number: int) -> _Runs:
    """Return the runs of warm calls of one model; any other call during or between them ends a run."""
    is_own = calls.model_of == number
    is_own &= ~calls.first | bool(calls.first[is_own].all())
    order = np.argsort(calls.starts[is_own], kind="stable")
    starts, ends = calls.starts[is_own][order], calls.ends[is_own][order]
    other_starts, other_ends = np.sort(calls.starts[~is_own]), np.sort(calls.ends[~is_own])

    def is_shared(begin: IntArray, end: IntArray) -> BoolArray:
        begun_count = np.searchsorted(other_starts, end, "left")
        ended_count = np.searchsorted(other_ends, begin, "right")
        shared: BoolArray = begun_count > ended_count
        return shared

    unshared_calls = np.flatnonzero(~is_shared(starts, ends))
    if not len(unshared_calls):
        return _Runs(*[np.zeros(0, np.int64)] * 3)
    starts, ends = starts[unshared_calls], ends[unshared_calls]
    reach = np.maximum.accumulate(ends)
    pause = starts[1:] - reach[:-1]
    is_begin = pause > _MAX_PAUSE_SHARE * float(np.median(ends - starts))
    is_begin |= (np.diff(unshared_calls) > 1) | is_shared(np.minimum(reach[:-1], starts[1:]), starts[1:])
    begins = np.append(0, np.flatnonzero(is_begin) + 1)
    return _Runs(starts[begins], np.maximum.reduceat(ends, begins), np.diff(begins, append=len(starts)))


@frozen
class _Price:
    energy_mj: float = 0.0
    calls: float = 0.0
    samples: int = 0
    runs: int = 0


def _sum_energy(runs: _Runs, samples: _Samples, accuracy_ns: int) -> _Price:
    """Return the energy of the samples that lie wholly inside of the runs, and their calls.

    The calls of samples are their part of the run's time, times its calls.
    """
    start = np.searchsorted(samples.starts, runs.starts + accuracy_ns, "left")
    stop = np.maximum(np.searchsorted(samples.ends, runs.ends - accuracy_ns, "right"), start)
    energy = np.append(0.0, np.cumsum(samples.energy_mj))
    passed = np.append(0, np.cumsum(samples.ends - samples.starts))
    covered = passed[stop] - passed[start]
    share = covered / np.maximum(runs.ends - runs.starts, 1)
    is_priced = covered > 0
    return _Price(
        float((energy[stop] - energy[start])[is_priced].sum()),
        float((runs.calls * share)[is_priced].sum()),
        int((stop - start)[is_priced].sum()),
        int(is_priced.sum()),
    )
