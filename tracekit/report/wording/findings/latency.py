"""Long calls, drift and two groups of lengths as English."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.group_parts import PartDifference
from tracekit.analysis.findings.latency import (
    LATENCY_DRIFT,
    LATENCY_OUTLIERS,
    TWO_POPULATIONS,
    DriftNumbers,
    GroupNumbers,
    OutlierNumbers,
)
from tracekit.report.wording.budget import PART_WORDS
from tracekit.report.wording.findings.coincidences import join_changes, write_coincidences
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import format_name_inside, format_ordinal
from tracekit.text import clip, format_duration, plural, printable

_NAME_WIDTH = 40
_PART_NAMES = {part: words.name for part, words in PART_WORDS.items()} | {
    BudgetPart.UNKNOWN: "time that the recording does not show"
}


def _write_outliers(finding: Finding[OutlierNumbers]) -> Sentences:
    numbers = finding.numbers
    count, calls = numbers["long"], numbers["calls"]
    longest = format_duration(numbers["longest_ns"])
    up_to = longest if count == 1 else f"up to {longest}"
    title = (
        f"{count:,} of {plural(calls, 'call')} of {_name_model(finding)} took far longer than the rest:"
        f" {up_to} against {format_duration(numbers['usual_ns'])}."
    )
    listed = []
    for number, start_ns, length_ns, changes in numbers["listed"]:
        coinciding = f", during which {join_changes(changes)}" if changes else ""
        listed.append(
            f"the {format_ordinal(number + 1)} (at {format_duration(start_ns)},"
            f" {format_duration(length_ns)}{coinciding})"
        )
    intro = "The longest calls" if len(listed) > 1 else "The call"
    detail = f"{intro}: {'; '.join(listed)}."
    if numbers["overlapping"]:
        detail += (
            f" Another call ran at the same time in {numbers['overlapping']:,} of the {count:,} long ones,"
            f" and in {numbers['others_overlapping']:,} of the {calls - count:,} usual ones."
        )
    lost = f"{format_duration(finding.lost_ns or 0)} more than as many usual calls take."
    return Sentences(title, lost, detail)


def _write_drift(finding: Finding[DriftNumbers]) -> Sentences:
    numbers = finding.numbers
    first, last = numbers["first_ns"], numbers["last_ns"]
    way = "slower" if numbers["is_slower"] else "faster"
    subject = _name_model(finding)
    title = (
        f"{subject[:1].upper()}{subject[1:]} grew {way} along the run: from {format_duration(first)} to"
        f" {format_duration(last)} per call."
    )
    percent = (
        f"{100 * abs(last - first) / max(first, 1):.0f} % {way}, over {plural(numbers['calls'], 'call')}"
    )
    lost = f", {format_duration(finding.lost_ns)} in all" if finding.lost_ns else ""
    if numbers["heat"]:
        detail = f"In this time: {join_changes(numbers['heat'])}. That proves no cause."
    elif numbers["is_heat_recorded"]:
        detail = "The thermal state did not change in this time."
    else:
        detail = "The thermal state was not recorded; heat often looks like this."
    if numbers["is_by_function"]:
        detail = f"Calls of each of its functions are compared with each other. {detail}"
    return Sentences(title, f"{percent}{lost}.", detail)


def _write_populations(finding: Finding[GroupNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"The calls of {_name_model(finding)} form two groups: {numbers['short']:,} of about"
        f" {format_duration(numbers['short_ns'])}, {numbers['long']:,} of about"
        f" {format_duration(numbers['long_ns'])}."
    )
    parts = _write_parts(numbers["parts"])
    return Sentences(title, detail=" ".join((*parts, *_list_differences(finding))))


def _write_parts(parts: tuple[PartDifference, ...]) -> Iterator[str]:
    """Yield the sentence about the parts of a call's time in which two groups differ, if any does."""
    changes = [
        f"{_PART_NAMES[part.part]} {'+' if part.difference_ns > 0 else '-'}"
        f"{format_duration(abs(part.difference_ns))} (±{format_duration(part.error_ns)})"
        for part in parts
    ]
    if changes:
        yield f"On average, a call of the longer group has: {', '.join(changes)}."


def _list_differences(finding: Finding[GroupNumbers]) -> list[str]:
    """Return what the two groups differ by, a sentence each."""
    numbers = finding.numbers
    reasons = []
    for subject, names in (("function", numbers["labels"]), ("thread", numbers["threads"])):
        if names is not None:
            short, long = (clip(printable(name), _NAME_WIDTH) for name in names)
            reasons.append(f"They differ by {subject}: {short} (short) and {long} (long).")
    if numbers["step"] is not None and numbers["step_ns"] is not None:
        change = "longer" if numbers["is_longer_since"] else "shorter"
        reasons.append(
            f"Calls are {change} since the {format_ordinal(numbers['step'] + 1)} (at"
            f" {format_duration(numbers['step_ns'])}). {write_coincidences(numbers['coinciding'])}"
        )
    if not reasons:
        reasons.append(
            "Neither function, thread nor time separates them. Inputs of two shapes often look like this."
        )
    return reasons


def _name_model(finding: Finding[Any]) -> str:
    return format_name_inside(finding.model, finding.numbers["is_named"])


SENTENCES = dict(
    (
        pair_sentences(LATENCY_DRIFT, _write_drift),
        pair_sentences(LATENCY_OUTLIERS, _write_outliers),
        pair_sentences(TWO_POPULATIONS, _write_populations),
    )
)
