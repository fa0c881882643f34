"""The sentences about changes of a history: what changed, since when, how sure that is, what settles it."""

from __future__ import annotations

import math
import shlex

import numpy as np

from tracekit.fleet.history.build_series import UNKNOWN_SHARE, History, SeriesKey
from tracekit.fleet.history.series_changes import Changes, DeviceShift, SeriesChange
from tracekit.fleet.history.series_power import MAX_BUILDS_TO_FIND, STEP, SeriesPower, estimate_power
from tracekit.text import format_ms_or_us, plural, printable


def series_name(key: SeriesKey) -> str:
    """Return ``Encoder on iPhone 17 Pro (iPhone18,1)``."""
    model = name_model(key.model, is_of_requests=key.is_of_requests)
    return f"{model} on {device_name(key.device, key.device_model)}"


def name_model(model: str, *, is_of_requests: bool) -> str:
    """Return a model's name, or words for calls or requests that name none."""
    return printable(model) or f"{'requests' if is_of_requests else 'calls'} without a model"


def device_name(device: str, device_model: str) -> str:
    """Return a device's name and model, as far as they are there."""
    name = printable(device or device_model) or "an unnamed device"
    return (
        f"{name} ({printable(device_model)})" if device and device_model != device and device_model else name
    )


def change_text(history: History, change: SeriesChange) -> str:
    """Return what changed, from which build on, and the build at which it was found."""
    key = history.keys[change.series]
    first_build = printable(history.build_name(change.series, change.first))
    place = printable(history.build_name(change.series, change.found_at))
    when = (
        f"Found at build {place}, {_describe_later_builds(change.later)}."
        if change.later
        else "Found at that build."
    )
    return (
        f"{_describe_amount(key, change)} from build {first_build} ({_describe_levels(key, change)}). {when}"
    )


def _describe_later_builds(builds: int) -> str:
    return "the next one" if builds == 1 else f"{builds} builds later"


def _describe_amount(key: SeriesKey, change: SeriesChange) -> str:
    if key.is_length:
        return f"{key.metric} {100 * math.expm1(change.difference):+.1f} %"
    is_band = any(low != high for low, high in (change.before, change.after))
    return f"{printable(key.metric)} {'at least ' if is_band else ''}{100 * change.difference:+.0f} points"


def _describe_levels(key: SeriesKey, change: SeriesChange) -> str:
    if key.is_length:
        old_level, new_level = (
            format_ms_or_us(math.exp(level[0])) for level in (change.before, change.after)
        )
        low, high = (100 * math.expm1(end) for end in change.interval)
        return f"{old_level} → {new_level}, 95 % interval {low:+.1f} … {high:+.1f} %"
    return f"{_format_band(change.before)} → {_format_band(change.after)} of the calls"


def _format_band(ends: tuple[float, float]) -> str:
    low, high = (f"{100 * end:.0f}" for end in ends)
    return f"{low} %" if low == high else f"{low} to {high} %"


def evidence_text(history: History, change: SeriesChange) -> str:
    """Return what the level rests on, the common shift, and the number of series judged together."""
    key = history.keys[change.series]
    unit = "%" if key.is_length else "points"
    parts = [
        f"The level before it is of {plural(change.reference, 'build')}, which spread by at"
        f" most {100 * change.spread:.1f} {unit}; {change.tested:,} series of the build"
        f" {'was' if change.tested == 1 else 'were'} judged together."
    ]
    if change.models:
        parts.append(
            f"{change.models} models on the device moved by {100 * math.expm1(change.shift):+.1f} % in common"
            " (median) at the build where this was found, which is taken out of these numbers."
        )
    if key.metric.endswith(UNKNOWN_SHARE):
        parts.append("Changes of engines at the build at which this was found are withheld.")
    return " ".join(parts)


def settling_command(history: History, change: SeriesChange) -> str:
    """Return the command that records the builds before and after a change in turn, and compares them."""
    key = history.keys[change.series]
    app = key.app or "MyApp"
    old, new = (history.build_name(change.series, build) for build in (change.last_before, change.first))
    systems = history.points_of(change.series)["system"].tolist()
    device = (
        "" if not key.device or systems[-1].startswith("macOS") else f" --device {_quote_name(key.device)}"
    )
    base, changed = (_quote_name(f"{build}/{app}.app") for build in (old, new))
    return f"tracekit record --app {base} --interleave {changed}{device}"


def accepting_command(history: History, change: SeriesChange, results: str) -> str:
    """Return the command that accepts the open changes of a change's model as the new level."""
    model = history.keys[change.series].model
    name = f'"{model}"' if model and '"' not in model else ""
    required = _quote_name(f"no changes in {name}" if name else "no changes")
    return f"tracekit fleet check {_quote_name(results)} --require {required} --accept"


def _quote_name(text: str) -> str:
    return shlex.quote(printable(text))


def shift_text(history: History, shift: DeviceShift) -> str:
    """Return the shift that the models of a device have in common."""
    build = printable(history.builds[shift.app][shift.first])
    return (
        f"{device_name(shift.device, shift.device_model)}: {shift.metric} of {shift.models} models moved by"
        f" {100 * math.expm1(shift.shift):+.1f} % in common from build {build}: the device, its system, or"
        " what the models share. It is taken out of their series."
    )


def power_of_series(history: History, changes: Changes, series: int) -> SeriesPower | None:
    """Return the power of a series of lengths; None where it has too few builds, and for shares."""
    state = changes.states[series]
    if not history.keys[series].is_length or not math.isfinite(state.spread):
        return None
    points = history.points_of(series).tail(max(state.count, 1))
    runs = float(points["runs"].mean())
    spreads = points["spread"].to_numpy(np.float64)
    spreads = spreads[np.isfinite(spreads)]
    run_spread = float(np.median(spreads)) if len(spreads) else math.nan
    return estimate_power(state.spread, run_spread, runs, state.count)


def power_text(power: SeriesPower | None) -> str:
    """Return which change a series shows, after how many builds, and how many runs would help."""
    if power is None:
        return "has too few builds for a level: no change of it can be found yet"
    step = f"{100 * STEP:.0f} %"
    if power.builds is None:
        text = f"does not show {step} within 30 builds"
    else:
        text = f"shows {step} after {plural(power.builds, 'build')}"
    if power.more_runs:
        more = f"{power.more_runs} more run{'s' if power.more_runs > 1 else ''}"
        text += f"; {more} a build would make it {MAX_BUILDS_TO_FIND}"
    return text
