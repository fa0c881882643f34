"""The Neural Engine's submissions per inference as English: a table, and what is worth a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracekit.analysis.engines.submissions import ModelSubmissions
from tracekit.model.columns import IntArray
from tracekit.text import clip, format_ms_or_us, format_percent, plural, printable

SUBMISSION_HEADER = ("model", "inferences", "submissions", "segments", "longest", "gaps", "covered")
SUBMISSIONS_ABOUT = (
    "A submission is one piece of the model (a segment) that the engine runs without the host. One per"
    " inference: the model runs there in one piece. Several: it is cut, and in the gaps the host or another"
    " engine works."
)
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_MOST_NAMES = 4
_MOST_COUNTS = 3
_NAME_WIDTH = 44


def submission_rows(models: Sequence[ModelSubmissions]) -> list[list[str]]:
    """Return a row of texts per model; times and the share are of its usual inference."""
    return [
        [
            _get_name(model) or "(no name)",
            f"{model.windows:,}",
            _describe_counts(model.submissions, model.without),
            _describe_segments(model),
            format_ms_or_us(model.longest_ns, 2),
            format_ms_or_us(model.gaps_ns, 2) if model.submissions[0][0] > 1 else "",
            format_percent(model.covered),
        ]
        for model in models
    ]


def submission_notes(models: Sequence[ModelSubmissions], numbers: IntArray) -> list[str]:
    """Return the sentences about models whose inferences differ, or whose regions have holes.

    ``numbers`` are those of the calls within their models.
    """
    notes = []
    for model in models:
        name = _get_name(model) or "The model"
        if model.without:
            notes.append(
                f"{name}: {model.without:,} of {plural(model.windows, 'inference')} made no submission to the"
                f" Neural Engine; call {numbers[model.first_without]:,} is the first."
            )
        if model.unlike is not None:
            usual, inferences = model.submissions[0]
            notes.append(
                f"{name}: {inferences:,} of {plural(model.windows - model.without, 'inference')} with"
                f" submissions made {usual:,}, such as call {numbers[model.usual]:,}; call"
                f" {numbers[model.unlike]:,} is the first with another number."
            )
        if model.absent:
            is_single = len(model.absent) == 1
            notes.append(
                f"{name}: the region numbers jump. No submission of {'region' if is_single else 'regions'}"
                f" {format_names(model.absent)} was recorded: {'it' if is_single else 'they'} may have run on"
                " another engine."
            )
    return notes


def _get_name(model: ModelSubmissions) -> str:
    return clip(printable(model.model), _NAME_WIDTH)


def _describe_counts(frequencies: Sequence[tuple[int, int]], without: int = 0) -> str:
    """Return ``13``, or ``13 in 9, 12 in 1, none in 4``."""
    if len(frequencies) == 1 and not without:
        return f"{frequencies[0][0]:,}"
    parts = [f"{number:,} in {inferences:,}" for number, inferences in frequencies[:_MOST_COUNTS]]
    parts += ["…"] if len(frequencies) > _MOST_COUNTS else []
    return ", ".join([*parts, f"none in {without:,}"] if without else parts)


def _describe_segments(model: ModelSubmissions) -> str:
    """Return ``13: region 0.0 … 0.12``; the labels of some forms name no segment."""
    if not model.segments:
        return "not named"
    counts = _describe_counts(model.segments)
    return f"{counts}: {format_names(model.names)}" if model.names else counts


def format_names(names: Sequence[str]) -> str:
    """Return ``region 0.0 … 0.12`` for names that count up by one, else the first of them."""
    names = [clip(printable(name), _NAME_WIDTH) for name in names]
    parts = [match.groups() for name in names if (match := _NUMBERED.fullmatch(name))]
    heads = {head for head, _ in parts}
    numbers = [int(number) for _, number in parts if len(number) < 10]
    counts_up = numbers == list(range(numbers[0], numbers[0] + len(names))) if numbers else False
    if len(names) > 1 and len(heads) == 1 and counts_up and " " in names[0]:
        head = next(iter(heads))
        return f"{names[0]}{', ' if len(names) == 2 else ' … '}{head.rpartition(' ')[2]}{numbers[-1]}"
    more = len(names) - _MOST_NAMES
    first_names = ", ".join(names[:_MOST_NAMES])
    return f"{first_names} and {more} more" if more > 0 else first_names
