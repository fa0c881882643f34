"""The outcome of ``tracekit fleet check`` as text and as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tracekit.fleet.history.changes import SeriesChange
from tracekit.fleet.history.gate import ChangesResult, Gate
from tracekit.fleet.history.series import History
from tracekit.report.checks.wording import reason
from tracekit.report.fleet.changes import (
    change_text,
    device_name,
    evidence_text,
    power_of_series,
    power_text,
    series_name,
    settling_command,
    shift_text,
)
from tracekit.text import plural, printable, wrap

SCHEMA = "tracekit-fleet-check/1"
_MARK = {"passed": "passed", "failed": "FAILED", "open": "open", "not measurable": "not measurable"}
_MOST = 20


def to_text(gate: Gate, name: str) -> str:
    """Return the outcomes, the changes with their evidence, and what the series can show."""
    builds = ", ".join(
        f"build {printable(build)}" + (f" of {printable(app)}" if app else "")
        for app, build in gate.builds.items()
    )
    lines = [f"{printable(name)}, {builds}: {_describe_counts(gate)}", ""]
    for result in gate.of_changes:
        lines += _iter_changes(gate, result)
    for entry in gate.of_devices:
        app = f", {printable(entry.app)}" if len(gate.builds) > 1 and entry.app else ""
        place = (
            f"{app} on {device_name(entry.device, entry.device_model)}" if entry.app or entry.device else ""
        )
        lines.append(f"{_MARK[entry.result.outcome]:<14}  {printable(entry.result.requirement.text)}{place}")
        lines.append(wrap(printable(reason(entry.result)), " " * 18))
    lines += _build_section(
        "Shifts of devices", [shift_text(gate.history, shift) for shift in gate.changes.shifts]
    )
    lines += _build_section("What the series show", list(_iter_powers(gate)))
    lines += _build_section("Not checked: no calls of the build that count", list(_iter_absent(gate)))
    lines += _build_section("Left out", list(_iter_left_out(gate.history)))
    return "\n".join(lines) + "\n"


def _describe_counts(gate: Gate) -> str:
    counts = Counter(gate.outcomes)
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(counts.items())]
    return f"{', '.join(parts)}."


def _iter_changes(gate: Gate, result: ChangesResult) -> Iterator[str]:
    yield f"{_MARK[result.outcome]:<14}  {printable(result.requirement.text)}"
    judged = result.series - result.without_level
    text = f"{judged:,} series judged"
    if result.without_level:
        text += f"; {result.without_level:,} had too few builds for a level"
    yield wrap(text, " " * 18)
    for entry in result.found[:_MOST]:
        change, mark = entry.change, "▲" if entry.is_worse else "▼"
        yield ""
        yield wrap(f"{mark} {series_name(gate.history.keys[change.series])}", "  ")
        yield wrap(change_text(gate.history, change), "    ")
        yield wrap(evidence_text(gate.history, change), "    ")
        yield f"    Settle it: {settling_command(gate.history, change)}"
    if len(result.found) > _MOST:
        yield f"  … and {len(result.found) - _MOST:,} more: --format json lists them"
    yield ""


def _iter_powers(gate: Gate) -> Iterator[str]:
    lacking = 0
    for series, key in enumerate(gate.history.keys):
        if key.metric == "p50" and key.app in gate.builds:
            power = power_of_series(gate.history, gate.changes, series)
            if power is None:
                lacking += 1
            else:
                yield f"{series_name(key)}: p50 {power_text(power)}"
    if lacking:
        yield f"{lacking:,} series of p50 with too few builds for a level: they show no change yet"


def _iter_absent(gate: Gate) -> Iterator[str]:
    for key in gate.absent:
        yield series_name(key) + (f", of {printable(key.app)}" if len(gate.builds) > 1 and key.app else "")


def _iter_left_out(history: History) -> Iterator[str]:
    left_out = history.left_out
    counted = (
        (left_out.not_analyzed, "could not be analyzed"),
        (left_out.without_build, "without a build"),
        (left_out.hot, "of a device that was slowed down by heat"),
    )
    for count, reason_text in counted:
        if count:
            yield f"{plural(count, 'recording')} {reason_text}"
    if left_out.builds_without_time:
        names = ", ".join(printable(name) for name in left_out.builds_without_time[:_MOST])
        yield f"builds without a place, because their recordings have no time: {names}"


def _build_section(title: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    more = [f"… and {len(entries) - _MOST:,} more"] if len(entries) > _MOST else []
    return ["", title, *(wrap(entry, "  ") for entry in [*entries[:_MOST], *more])]


def to_json(gate: Gate, name: str) -> str:
    """Return everything that was checked, as JSON."""
    history = gate.history
    document = {
        "schema": SCHEMA,
        "results": name,
        "builds": gate.builds,
        "changes": [
            {
                "requirement": result.requirement.text,
                "outcome": result.outcome,
                "series": result.series,
                "without_level": result.without_level,
                "open": [
                    {**_describe_change(history, entry.change), "worse": entry.is_worse}
                    for entry in result.found
                ],
            }
            for result in gate.of_changes
        ],
        "requirements": [
            {
                "requirement": entry.result.requirement.text,
                "app": entry.app,
                "device": entry.device,
                "device_model": entry.device_model,
                "outcome": entry.result.outcome,
                "low": _drop_infinity(entry.result.actual.low),
                "high": _drop_infinity(entry.result.actual.high),
                "interval": [_drop_infinity(end) for end in entry.result.actual.interval or ()],
                "calls": entry.result.actual.windows,
                "runs": entry.result.actual.runs,
                "reason": reason(entry.result),
            }
            for entry in gate.of_devices
        ],
        "absent": [
            {"app": key.app, "device": key.device, "device_model": key.device_model, "model": key.model}
            for key in gate.absent
        ],
        "shifts": [shift_text(history, shift) for shift in gate.changes.shifts],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _describe_change(history: History, change: SeriesChange) -> dict[str, Any]:
    key = history.keys[change.series]
    unit = "log ns" if key.is_length else "share"
    return {
        "app": key.app,
        "device": key.device,
        "device_model": key.device_model,
        "model": key.model,
        "metric": key.metric,
        "last_build_before": history.build_name(change.series, change.last_before),
        "first_build": history.build_name(change.series, change.first),
        "found_at_build": history.build_name(change.series, change.found_at),
        "builds_later": change.later,
        "unit": unit,
        "before": [_drop_infinity(end) for end in change.before],
        "after": [_drop_infinity(end) for end in change.after],
        "difference": _drop_infinity(change.difference),
        "interval": [_drop_infinity(end) for end in change.interval],
        "text": change_text(history, change),
        "evidence": evidence_text(history, change),
        "command": settling_command(history, change),
    }


def _drop_infinity(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
