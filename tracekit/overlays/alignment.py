"""The place of a text on a recording's time line, by the wall clocks of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tracekit.frozen import frozen
from tracekit.model.tables import Table
from tracekit.model.trace import TraceInfo
from tracekit.overlays.row_spans import read_spans
from tracekit.overlays.wall_clock import Moment, format_moment, parse_moment
from tracekit.text import format_rounded, format_seconds

Refusal: TypeAlias = tuple[str, str]
"""A problem and an advice, as ``InputError`` takes them."""
_PHONES = ("iOS", "iPadOS", "tvOS", "watchOS", "visionOS")
"""The platforms of devices that are attached to a Mac; a simulator is the Mac itself."""
_HOUR_NS = 3_600_000_000_000
_NEAR_HOUR_NS = 120_000_000_000


@frozen
class Alignment:
    """A text on a run's time line.

    ``shift_ns`` is added to the text's times. ``first_ns`` and ``last_ns`` are the text's first and last
    moment after it. ``drift_ns`` is how far the recording's clock and the wall clock came apart between
    its start and its end, None where it does not state its end.
    """

    shift_ns: int
    first_ns: int
    last_ns: int
    duration_ns: int | None
    start: Moment
    step_ns: int
    is_zone_assumed: bool
    drift_ns: int | None
    offset_ns: int

    def describe(self, name: str, rows_left_out: int) -> str:
        """Return the sentences that state how the text was placed."""
        span = f"from {format_seconds(self.first_ns)} to {format_seconds(self.last_ns)} of the recording"
        parts = [
            f"{name} is laid over the recording by wall clock: it covers {span}, which began at"
            f" {format_moment(self.start)}; the clocks are stated to {format_rounded(self.step_ns)}"
        ]
        if self.offset_ns:
            parts.append(f"its times were moved by {format_rounded(self.offset_ns)} as requested")
        if self.is_zone_assumed:
            parts.append("it states no time zone, so the recording's is assumed")
        if self.drift_ns is not None:
            drift = format_rounded(abs(self.drift_ns))
            parts.append(
                f"the recording's clock and the wall clock differ by {drift} between its start and its end"
            )
        if rows_left_out:
            parts.append(f"{rows_left_out:,} of its rows are outside of the recorded time and left out")
        return ". ".join(part[0].upper() + part[1:] if number else part for number, part in enumerate(parts))


def align(run: TraceInfo, text: TraceInfo, tables: Sequence[Table], offset_ns: int) -> Alignment | Refusal:
    """Return the place of a text's tables on a run's time line, or why it has none."""
    start = parse_moment(run.start)
    if start is None:
        problem = f"cannot be laid over {run.name}: that input does not state when the recording began."
        return problem, "Name the .trace, or export its table of contents as well (xctrace export --toc)."
    written = parse_moment(text.start)
    if written is None:
        return "states no date and time, so it has no place in a recording.", "Analyze it alone."
    if run.platform in _PHONES and text.platform == "macOS":
        problem = (
            f"is of a Mac, and {run.name} is a recording of {run.device or 'a device'} ({run.platform})."
        )
        return (
            problem,
            "What a Mac measures about itself shows nothing about the device that is attached to it.",
        )
    is_zone_assumed = written.zone_s is None and start.zone_s is not None
    begin = written.with_zone(start.zone_s or 0)
    shift_ns = begin.utc_ns - start.utc_ns + offset_ns
    spans = [read_spans(table) for table in tables if len(table)]
    first_ns = min((int(starts.min()) for starts, _ in spans), default=0) + shift_ns
    last_ns = max((int(ends.max()) for _, ends in spans), default=0) + shift_ns
    end = parse_moment(run.end)
    wall_ns = end.with_zone(start.zone_s or 0).utc_ns - start.utc_ns if end else None
    duration_ns = run.duration_ns if run.duration_ns is not None else wall_ns
    if last_ns < 0 or (duration_ns is not None and first_ns > duration_ns):
        return _refuse_other_time(run, start, first_ns, last_ns, duration_ns, is_zone_assumed)
    drift_ns = wall_ns - run.duration_ns if wall_ns is not None and run.duration_ns is not None else None
    step_ns = max(start.step_ns, written.step_ns)
    return Alignment(
        shift_ns, first_ns, last_ns, duration_ns, start, step_ns, is_zone_assumed, drift_ns, offset_ns
    )


def _format_gap(time_ns: int) -> str:
    """Return ``63.2 days`` or ``3.4 hours``; below that, the time as elsewhere."""
    hours = time_ns / _HOUR_NS
    return (
        f"{hours / 24:,.1f} days"
        if hours > 48
        else f"{hours:.1f} hours"
        if hours > 2
        else format_rounded(time_ns)
    )


def _refuse_other_time(
    run: TraceInfo, start: Moment, first_ns: int, last_ns: int, duration_ns: int | None, is_zone_assumed: bool
) -> Refusal:
    """Return the refusal of a text that is of another time."""
    moments = (0, duration_ns or 0, first_ns, last_ns)
    recording_start, recording_end, text_start, text_end = (
        format_moment(Moment(start.utc_ns + moment, start.step_ns, start.zone_s)) for moment in moments
    )
    is_before = last_ns < 0
    gap_ns = -last_ns if is_before else first_ns - (duration_ns or 0)
    way = "before" if is_before else "after"
    zone = " It states no time zone, so the recording's was assumed." if is_zone_assumed else ""
    problem = (
        f"is of another time than {run.name}: it covers {text_start} to {text_end},"
        f" {_format_gap(gap_ns)} {way} the recording ({recording_start} to {recording_end}).{zone}"
    )
    hours = round(gap_ns / _HOUR_NS)
    is_whole_hours = hours > 0 and abs(gap_ns - hours * _HOUR_NS) < _NEAR_HOUR_NS
    sign = "" if is_before else "-"
    advice = (
        f"If a clock was wrong, correct the text's times with --offset={sign}{hours}h."
        if is_whole_hours
        else ("If a clock was wrong, correct the text's times with --offset.")
    )
    return problem, advice
