"""The outcome of ``tracekit fleet check`` as text and as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tracekit.checks.results import MetricValue
from tracekit.fleet.history.build_series import REQUEST_LENGTHS, History
from tracekit.fleet.history.change_gate import Gate
from tracekit.fleet.history.series_changes import SeriesChange
from tracekit.report.checks.json import name_unit
from tracekit.report.checks.wording import reason
from tracekit.report.document.blocks import (
    Block,
    FindingEntry,
    Findings,
    Headline,
    Item,
    Items,
    Outcome,
    Outcomes,
    Section,
    count_note,
)
from tracekit.report.document.text_printer import Page, print_text
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
from tracekit.report.wording.findings import NextStep
from tracekit.text import PARAGRAPH_WIDTH, plural, printable

SCHEMA = "tracekit-fleet-check/1"
_MOST = 20
_POWER_METRICS = ("p50", *REQUEST_LENGTHS)


def to_text(gate: Gate, name: str) -> str:
    """Return the outcomes, the changes with their evidence, and what the series can show."""
    builds = ", ".join(f"build {build}" + (f" of {app}" if app else "") for app, build in gate.builds.items())
    lead = (Headline(f"{name}, {builds}: {_describe_counts(gate)}"), Outcomes(tuple(_iter_outcomes(gate))))
    shifts = [shift_text(gate.history, shift) for shift in gate.changes.shifts]
    sections = (
        Section("checks", "Checks", lead, is_lead=True),
        Section("changes", "Changes", _list_changes(gate)),
        _list_texts("shifts", "Shifts of devices", shifts),
        _list_texts("series", "What the series show", list(_iter_powers(gate))),
        _list_texts("absent", "Not checked: no calls of the build that count", list(_iter_absent(gate))),
        _list_texts("left-out", "Left out", list(_iter_left_out(gate.history))),
    )
    return print_text(sections, Page(PARAGRAPH_WIDTH))


def _describe_counts(gate: Gate) -> str:
    counts = Counter(gate.outcomes)
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(counts.items())]
    return f"{', '.join(parts)}."


def _iter_outcomes(gate: Gate) -> Iterator[Outcome]:
    for result in gate.of_changes:
        text = f"{result.series - result.without_level:,} series judged"
        if result.without_level:
            text += f"; {result.without_level:,} had too few builds for a level"
        yield Outcome(result.outcome, result.requirement.text, text)
    for entry in gate.of_devices:
        app = f", {entry.app}" if len(gate.builds) > 1 and entry.app else ""
        has_place = entry.app or entry.device
        place = f"{app} on {device_name(entry.device, entry.device_model)}" if has_place else ""
        yield Outcome(entry.result.outcome, f"{entry.result.requirement.text}{place}", reason(entry.result))


def _list_changes(gate: Gate) -> tuple[Block, ...]:
    changes = [entry for result in gate.of_changes for entry in result.found]
    entries = tuple(
        FindingEntry(
            series_name(gate.history.keys[entry.change.series]),
            "warning",
            change_text(gate.history, entry.change),
            evidence_text(gate.history, entry.change),
            next_steps=(NextStep("Settle it:", settling_command(gate.history, entry.change)),),
            change="worse" if entry.is_worse else "better",
        )
        for entry in changes[:_MOST]
    )
    return (Findings(entries, len(changes) - len(entries)),) if changes else ()


def _iter_powers(gate: Gate) -> Iterator[str]:
    lacking: Counter[str] = Counter()
    for series, key in enumerate(gate.history.keys):
        if key.metric in _POWER_METRICS and key.app in gate.builds:
            power = power_of_series(gate.history, gate.changes, series)
            if power is None:
                lacking[key.metric] += 1
            else:
                yield f"{series_name(key)}: {key.metric} {power_text(power)}"
    for metric, count in lacking.items():
        yield f"{count:,} series of {metric} with too few builds for a level: they show no change yet"


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


def _list_texts(name: str, heading: str, texts: list[str]) -> Section:
    items = [Item(text) for text in texts[:_MOST]]
    items += [Item(count_note(len(texts) - _MOST))] if len(texts) > _MOST else []
    return Section(name, heading, (Items(tuple(items)),) if items else ())


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
                "unit": name_unit(entry.result.actual.kind),
                **_count_rows(entry.result.actual),
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


def _count_rows(actual: MetricValue) -> dict[str, int | None]:
    """Return how many calls or requests a number is of; null for the others."""
    return {f"{noun}s": actual.windows if actual.noun == noun else None for noun in ("call", "request")}


def _drop_infinity(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
