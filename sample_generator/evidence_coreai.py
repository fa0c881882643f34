"""Rows of the Core AI instrument, and of the Neural Engine where Core AI uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator.addresses import made_up_uuid
from sample_generator.cells import named, number_cell
from sample_generator.evidence import Span
from sample_generator.evidence_engines import ane_span
from sample_generator.evidence_gpu import GpuTimeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sample_generator.recording import EngineWork, Recording

ODIE = "ODIEProfile"
_PHASES = {"Specialization": "compile", "Load": "load", "Setup": "load", "Inference": None}


def odie_span(
    recording: Recording,
    span: tuple[int, int],
    model: str,
    function: str,
    category: str,
    *,
    level: int = 0,
    activity: str = "",
) -> Span:
    """Return a row of Core AI; on a level above 0 it lies inside another one of its category."""
    cells = (
        named("string", model),
        named("string", function),
        named("string", function),
        named("string", activity or category),
        named("string", category),
        named("event-concept", "Blue"),
        number_cell("uint64", level),
        named("string", activity or category),
    )
    phase = _PHASES[category]
    return Span(ODIE, *span, "RUNTIME", phase, cells, model, recording.pid, depth=min(level, 1))


def preparing_spans(
    recording: Recording, model: str, function: str, ticks: tuple[int, int, int, int]
) -> list[Span]:
    """Return the rows of a model that is specialized, loaded and set up, between four ticks."""
    specialized, loaded, ready = ((ticks[place], ticks[place + 1]) for place in range(3))
    whole, (first, last) = recording.span(*specialized), specialized
    halfway = first + (last - first) * 2 // 3

    def row(span: tuple[int, int], category: str, activity: str, level: int = 0) -> Span:
        return odie_span(recording, span, model, function, category, level=level, activity=activity)

    return [
        row(whole, "Specialization", "Specialization"),
        row((whole[0] + 41_667, recording.span(first, halfway)[1]), "Specialization", "Compile Asset", 1),
        row((recording.span(halfway, last)[0], whole[1] - 41_667), "Specialization", "Specialize", 1),
        row(recording.span(*loaded), "Load", f"Load {model}::{function}"),
        row(recording.span(*ready), "Setup", f"Setup for {model}::{function}"),
    ]


def call_spans(recording: Recording, functions: dict[str, str]) -> list[Span]:
    """Return two rows for each call of these models: the inference, and the run of the function inside it."""
    spans = []
    for call in recording.inferences:
        if call.label in functions:
            function, edges = functions[call.label], (call.start_ns, call.end_ns)
            inside = edges[0] + 41_667, edges[1] - 41_667
            spans += [
                odie_span(recording, edges, call.label, function, "Inference"),
                odie_span(
                    recording, inside, call.label, function, "Inference", level=1, activity=f"Run {function}"
                ),
            ]
    return spans


def region_spans(
    recording: Recording,
    label: Callable[[EngineWork], str],
    models: Iterable[str],
    *,
    names_model: bool,
    twins: GpuTimeline | None = None,
    segment: str = "region 0.",
) -> list[Span]:
    """Return a row for each region that ran on the ANE, and the MPS row that repeats it, if MPS was recorded.

    Such a row shows the process that the ANE's own table lacks.
    """
    spans = []
    for work in recording.engine_work:
        model = work.inference.label
        if work.engine != "ANE" or model not in models:
            continue
        edges = work.start_ns, work.end_ns
        row = ane_span("ane-hw-intervals", edges, model if names_model else "", label(work))
        pid = recording.pid if twins else -1
        spans.append(
            Span(
                *(row.source, *edges, "ANE", "execute", row.cells, row.model, pid),
                owner=model,
                segment=f"{segment}{work.operation}",
            )
        )
        if twins:
            spans.append(twins.handed(edges))
    return spans


def region(function: str) -> Callable[[EngineWork], str]:
    """Return labels of regions by their function alone."""
    return lambda work: f"{function}_ANE_region_0_{work.operation}"


def region_of_model(function: str) -> Callable[[EngineWork], str]:
    """Return labels of regions that begin with the model and the UUID of its compiled form."""

    def label(work: EngineWork) -> str:
        model = work.inference.label
        return f"{model}_{made_up_uuid(model)}_{function}_ANE_region_0_{work.operation} Prediction"

    return label
