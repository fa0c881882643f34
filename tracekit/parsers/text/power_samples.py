"""Samples of a tool that estimates power → one ``power-rails`` table.

The tools write the moment at which a sample was taken and the time since the previous one, which its power
covers. powermetrics rounds the moment down to a second, so that samples of 0.1 s share one: they are laid end
to end, shifted as a whole so that every rounded moment fits. The range of shifts that fit is the accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import PROCESSES, THREADS, make_categorical
from tracekit.model.power_rails import COMBINED, RAILS, SUMMED
from tracekit.model.schemas import POWER_RAILS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextRecording

_COLUMNS = (
    Column("start", "Start", "start-time", "int"),
    Column("duration", "Duration", "duration", "int"),
    Column("rail", "Rail", "string", "text"),
    Column("power-mw", "Power (mW)", "fixed-decimal", "float"),
    Column("energy-mj", "Energy (mJ)", "fixed-decimal", "float"),
)
_MAX_MILLIWATTS = 1e9
_OF_MACS = ("powermetrics", "macmon")
"""Tools that run on Macs only, and measure the Mac that they run on."""
_MAX_SAMPLE_NS = 86_400 * 10**9
"""Chosen limit: no sample of power takes longer than a day."""
_SECOND_NS = 10**9
_LAST_NS = 2**62


@frozen
class PowerSample:
    """One sample: its end as nanoseconds since 1970 (None: not stated), its length (0: not stated)."""

    end_ns: int | None
    length_ns: int
    milliwatts: Mapping[str, float]


@frozen
class PowerOrigin:
    """The tool and the machine that a text names; "" is unknown. ``utc_offset_s`` is of its wall clock."""

    tool: str
    model: str = ""
    build: str = ""
    chip: str = ""
    utc_offset_s: int | None = None


@dataclass
class PowerSamples:
    """Collects the samples of one report. ``resolution_ns`` is the step of the moments that it states."""

    resolution_ns: int
    issues: IssueCounter = field(default_factory=IssueCounter)
    samples: list[PowerSample] = field(default_factory=list)

    def add(self, end_ns: int | None, length_ns: int, milliwatts: Mapping[str, float | None]) -> None:
        """Add a sample; one without a usable value, or with an impossible length, is counted as damaged."""
        valid = {
            rail: value
            for rail, value in milliwatts.items()
            if value is not None and math.isfinite(value) and 0 <= value <= _MAX_MILLIWATTS
        }
        is_placed = end_ns is None or 0 <= end_ns < _LAST_NS
        if not valid or not 0 <= length_ns <= _MAX_SAMPLE_NS or not is_placed:
            text = "samples of power that are cut off or damaged, and left out: {n}"
            self.issues.add("warning", "power-samples-damaged", text)
            return
        text = "values of power that are below zero, too large or no number, and left out: {n}"
        stated_count = sum(value is not None for value in milliwatts.values())
        self.issues.add("warning", "power-samples-damaged", text, stated_count - len(valid))
        if milliwatts.get(COMBINED) is None and {*SUMMED} <= {*valid}:
            valid = {**valid, COMBINED: sum(valid[rail] for rail in SUMMED)}
        self.samples.append(PowerSample(end_ns, length_ns, valid))

    def build_recording(
        self, file: TextFile, kind: str, origin: PowerOrigin, *, is_summed: bool = False
    ) -> TextRecording:
        """Return the samples as a recording; ``is_summed`` marks a combined power that was summed here."""
        self._drop_untimed()
        ends, accuracy_ns, start_ns = _place_samples(self.samples, self.resolution_ns, self.issues)
        lengths = np.array([sample.length_ns for sample in self.samples], np.int64)
        starts = ends - lengths
        # Samples without a length, or that are shorter than what separates them, do not overlap.
        starts[1:] = np.maximum(starts[1:], ends[:-1])
        origin_ns = int(starts[0]) if len(starts) else 0
        if self.samples and not lengths.any():
            text = "samples of power without a length, so that their energy is unknown: {n}"
            self.issues.add("info", "power-interval-unknown", text, len(self.samples))
        table = self._build_table(starts - origin_ns, ends - starts, origin, accuracy_ns, is_summed=is_summed)
        info = TraceInfo(
            file.name,
            kind,
            model=origin.model,
            platform="macOS" if origin.build or origin.tool in _OF_MACS else "",
            os=find_system(origin.build),
            start="" if start_ns is None else _format_iso(start_ns, origin.utc_offset_s, accuracy_ns or 0),
            duration_ns=int(ends[-1] - origin_ns) if len(ends) else 0,
        )
        return TextRecording(info, (table,), self.issues.issues())

    def _drop_untimed(self) -> None:
        """Leave out the samples without a moment if most have one: otherwise no moment could be used."""
        timed = [sample for sample in self.samples if sample.end_ns is not None]
        if 2 * len(timed) > len(self.samples):
            text = "samples of power without a readable time, and left out: {n}"
            self.issues.add("warning", "power-samples-damaged", text, len(self.samples) - len(timed))
            self.samples = timed

    def _build_table(
        self,
        starts: np.ndarray[tuple[int], np.dtype[np.int64]],
        lengths: np.ndarray[tuple[int], np.dtype[np.int64]],
        origin: PowerOrigin,
        accuracy_ns: int | None,
        *,
        is_summed: bool,
    ) -> Table:
        counts = [len(sample.milliwatts) for sample in self.samples]
        row = np.repeat(np.arange(len(self.samples)), counts)
        rails = [rail for sample in self.samples for rail in sample.milliwatts]
        values = [value for sample in self.samples for value in sample.milliwatts.values()]
        power = np.array(values, np.float64)
        rows = pd.DataFrame(
            {
                "start": pd.array(starts[row], "Int64"),
                "duration": pd.array(lengths[row], "Int64"),
                "rail": make_categorical(np.array([RAILS.index(rail) for rail in rails], np.int8), RAILS),
                "power-mw": power,
                "energy-mj": np.where(lengths[row] > 0, power * lengths[row] / 1e9, np.nan),
            }
        )
        attributes = {
            "tool": origin.tool,
            "model": origin.model,
            "build": origin.build,
            "chip": origin.chip,
            "accuracy-ns": "" if accuracy_ns is None else f"{accuracy_ns}",
            "combined": "sum" if is_summed else "",
        }
        return Table(
            POWER_RAILS,
            _COLUMNS,
            rows,
            THREADS.empty(),
            PROCESSES.empty(),
            StackTable.empty(),
            attributes={name: text for name, text in attributes.items() if text},
        )


def _place_samples(
    samples: Sequence[PowerSample], resolution_ns: int, issues: IssueCounter
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int | None, int | None]:
    """Return the end of each sample, the accuracy of the ends, and the wall clock at the first start.

    The last two are None where no sample states a moment: then the samples begin at 0.
    """
    lengths = [sample.length_ns for sample in samples]
    moments = [sample.end_ns for sample in samples]
    if not samples or any(moment is None for moment in moments):
        return np.cumsum(lengths, dtype=np.int64), None, None
    ends: list[int] = []
    widths: list[int] = []
    start = 0
    while start < len(samples):
        # The shifts that fit:  moment ≤ shift + Σ lengths < moment + resolution,  for as many as possible.
        low, high, reach = 0, _LAST_NS, 0
        stop = start
        while stop < len(samples):
            passed = reach + lengths[stop]
            moment = int(moments[stop] or 0)
            fits = max(low, moment - passed), min(high, moment - passed + max(resolution_ns, 1))
            if fits[0] >= fits[1] and stop > start:
                break
            (low, high), reach = fits, passed
            stop += 1
        shift = (low + high) // 2 if resolution_ns else low
        if ends:
            # As close to the previous samples as the moments allow; the time between is a gap.
            shift = min(max(ends[-1], low), high - 1)
            if shift < ends[-1]:
                text = "places where the clock of the samples of power goes backwards: {n}"
                backwards = ends[-1] - shift > resolution_ns
                issues.add("warning", "power-clock-backwards", text, int(backwards))
                shift = ends[-1]
        widths.append(high - low)
        for length in lengths[start:stop]:
            shift += length
            ends.append(shift)
        start = stop
    accuracy_ns = max(widths) // 2 if resolution_ns else 0
    return np.array(ends, np.int64), accuracy_ns, ends[0] - lengths[0]


def _format_iso(epoch_ns: int, utc_offset_s: int | None, accuracy_ns: int) -> str:
    """Return ``2023-11-10T12:37:08.4+01:00``, with no more digits than the accuracy allows."""
    zone = UTC if utc_offset_s is None else timezone(timedelta(seconds=utc_offset_s))
    digits = 6 if accuracy_ns < 1000 else max(10 - len(f"{accuracy_ns}"), 1)
    moment = datetime.fromtimestamp(epoch_ns // _SECOND_NS, zone)
    fraction = f".{epoch_ns % _SECOND_NS:09d}"[: 1 + digits]
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}{moment.isoformat()[19:]}"


def find_system(build: str) -> str:
    """Return ``14 (23B81)`` for a build of macOS; the build alone if it has another form.

    The number before the letter is Darwin's: macOS 11 to 15 are 20 to 24, macOS 26 and 27 are 25 and 26.
    """
    digits = build[: next((place for place, sign in enumerate(build) if not sign.isdigit()), 0)]
    if not digits or len(digits) > 2:
        return build
    darwin = int(digits)
    if 20 <= darwin <= 24:
        return f"{darwin - 9} ({build})"
    return f"{darwin + 1} ({build})" if darwin >= 25 else build
