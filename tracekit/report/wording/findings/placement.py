"""Changes of a model's engine as English."""

from __future__ import annotations

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.placement import (
    ALTERNATES,
    CAME_BACK,
    DIFFERS_BY_COPY,
    DIFFERS_BY_FUNCTION,
    FELL_BACK,
    MOVED_TO_ENGINE,
    PlacementNumbers,
)
from tracekit.report.wording.findings.coincidences import write_coincidences
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_model_name, format_ordinal
from tracekit.text import clip, format_duration, plural, printable

_NAME_WIDTH = 40
NO_NAME = "Stacks name no model: calls of two models look the same."


def _write_fell_back(finding: Finding[PlacementNumbers]) -> Sentences:
    numbers = finding.numbers
    after = format_ordinal(numbers["first_away"])
    title = (
        f"{_name_model(finding)} left {engine_name(numbers['engine'])} after its {after}"
        f" call{_write_moment(finding)}."
    )
    subject = "The only call since" if numbers["without"] == 1 else _write_subject(finding, "calls since")
    return Sentences(title, f"{subject} {_write_predicate(finding)}.", _write_detail(finding))


def _write_came_back(finding: Finding[PlacementNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"{_name_model(finding)} left {engine_name(numbers['engine'])} after its"
        f" {format_ordinal(numbers['first_away'])} call{_write_moment(finding)} and came back"
        f" with its {format_ordinal((numbers['returned'] or 0) + 1)}."
    )
    subject = "The call between" if numbers["without"] == 1 else _write_subject(finding, "calls between")
    return Sentences(title, f"{subject} {_write_predicate(finding)}.", _write_detail(finding))


def _write_moved(finding: Finding[PlacementNumbers]) -> Sentences:
    numbers = finding.numbers
    arrived = format_ordinal((numbers["arrived"] or 0) + 1)
    title = f"{_name_model(finding)} moved to {engine_name(numbers['engine'])} with its {arrived} call."
    subject = "The call before" if numbers["without"] == 1 else _write_subject(finding, "calls before")
    return Sentences(title, f"{subject} {_write_predicate(finding)}.", _write_detail(finding))


def _write_alternates(finding: Finding[PlacementNumbers]) -> Sentences:
    numbers = finding.numbers
    verb = "alternates" if numbers["is_named"] or not finding.model else "alternate"
    title = (
        f"{_name_model(finding)} {verb}: {numbers['served']:,} of {plural(numbers['calls'], 'call')} ran"
        f" on {engine_name(numbers['engine'])}, with {plural(numbers['changes'], 'change')} between engines."
    )
    subject = "The other call" if numbers["without"] == 1 else _write_subject(finding, "other calls")
    details = (_write_share(finding), _write_doubt(finding))
    return Sentences(title, f"{subject} {_write_predicate(finding)}.", " ".join(filter(None, details)))


def _write_share(finding: Finding[PlacementNumbers]) -> str:
    """Return the interval of the share of calls on the engine: this recording shows some of them only."""
    share = finding.numbers["served_share"]
    if share is None:
        return ""
    low, high = (f"{100 * end:.0f}" for end in share)
    return f"These calls fit a program of which {low} to {high} % of the calls run on it (95 %)."


def _write_differs_by_function(finding: Finding[PlacementNumbers]) -> Sentences:
    numbers = finding.numbers
    listed = ", ".join(
        f"{clip(printable(name), _NAME_WIDTH)} {'on it' if served else 'not'} ({plural(count, 'call')})"
        for name, served, count in numbers["functions"]
    )
    title = (
        f"{_name_model(finding)} runs on {engine_name(numbers['engine'])} in some of its functions only:"
        f" {listed}."
    )
    subject = (
        "The call without it" if numbers["without"] == 1 else _write_subject(finding, "calls without it")
    )
    return Sentences(title, f"{subject} {_write_predicate(finding)}.", _write_doubt(finding))


def _write_differs_by_copy(finding: Finding[PlacementNumbers]) -> Sentences:
    numbers = finding.numbers
    engine = engine_name(numbers["engine"])
    copies = numbers["copies"]
    listed = ", ".join(
        f"copy {number} ({clip(printable(name), _NAME_WIDTH)}) {'on' if served else 'not on'} {engine}"
        f" ({plural(count, 'call')})"
        for number, (name, served, count) in enumerate(copies, 1)
    )
    times = "twice" if len(copies) == 2 else f"{len(copies)} times"
    title = f"{_name_model(finding)} is loaded {times}: {listed}."
    subject = (
        "The call without it" if numbers["without"] == 1 else _write_subject(finding, "calls without it")
    )
    return Sentences(title, f"{subject} {_write_predicate(finding)}.", _write_doubt(finding))


def _write_detail(finding: Finding[PlacementNumbers]) -> str:
    return " ".join(filter(None, (_write_doubt(finding), write_coincidences(finding.numbers["coinciding"]))))


def _write_doubt(finding: Finding[PlacementNumbers]) -> str:
    return NO_NAME if finding.confidence == "possible" else ""


def _name_model(finding: Finding[PlacementNumbers]) -> str:
    return format_model_name(finding.model, finding.numbers["is_named"])


def _write_subject(finding: Finding[PlacementNumbers], calls: str) -> str:
    """Return ``The 4 calls since``; ``3 of the 4 calls since`` where the fourth ran elsewhere or unseen."""
    count, shown = finding.numbers["without"], finding.numbers["verdict_calls"]
    return f"The {count:,} {calls}" if shown == count else f"{shown:,} of the {count:,} {calls}"


def _write_moment(finding: Finding[PlacementNumbers]) -> str:
    return "" if finding.start_ns is None else f" (at {format_duration(finding.start_ns)})"


def _write_predicate(finding: Finding[PlacementNumbers]) -> str:
    """Return ``ran on the CPU: 22 ms of CPU work each, 8 % slower (28.4 ms against 26.2 ms)``."""
    numbers = finding.numbers
    verdict = numbers["verdict"]
    parts = []
    if numbers["engine_work_ns"]:
        engine = engine_name(verdict).removeprefix("the ")
        each = " each" if numbers["verdict_calls"] > 1 else ""
        parts.append(
            f"{format_duration(numbers['engine_work_ns'])} of {engine} work{each} ({numbers['work_basis']})"
        )
    if numbers["host_work_ns"]:
        # Host samples inside an encoder are host time.
        each = " in each" if numbers["verdict_calls"] > 1 else ""
        spent = format_duration(numbers["host_work_ns"])
        parts.append(f"the app's threads spent {spent} encoding{each} (sampled)")
    before, after = numbers["before_ns"], numbers["after_ns"]
    if before and after:
        lengths = f"{format_duration(after)} against {format_duration(before)}"
        percent = f"{100 * abs(after - before) / before:.0f} %"
        differs = numbers["is_slower"] or numbers["is_faster"]
        length = f"{percent} {'slower' if numbers['is_slower'] else 'faster'} ({lengths})"
        if not differs:
            is_same = format_duration(after) == format_duration(before)
            alike = f"{format_duration(after)} per call, as on {engine_name(numbers['engine'])}"
            length = alike if is_same else f"{lengths} per call"
        if numbers["verdict_calls"] < numbers["away"]:
            verb = "are" if differs else "take"
            length = f"calls without {engine_name(numbers['engine'])} {verb} {length}"
        parts.append(length)
    where = f"ran on {engine_name(verdict)}"
    if numbers["host_work_ns"] is not None:
        where = f"submitted work to {engine_name(verdict)} (seen on stacks, not measured)"
    return f"{where}: {', '.join(parts)}" if parts else where


SENTENCES = dict(
    (
        pair_sentences(ALTERNATES, _write_alternates),
        pair_sentences(CAME_BACK, _write_came_back),
        pair_sentences(DIFFERS_BY_COPY, _write_differs_by_copy),
        pair_sentences(DIFFERS_BY_FUNCTION, _write_differs_by_function),
        pair_sentences(FELL_BACK, _write_fell_back),
        pair_sentences(MOVED_TO_ENGINE, _write_moved),
    )
)
