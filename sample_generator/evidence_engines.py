"""Rows of the Neural Engine, Core ML and Foundation Models instruments."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sample_generator.addresses import made_up_uuid
from sample_generator.cells import composed, named, number_cell
from sample_generator.evidence import Span
from sample_generator.recording import on_clock
from sample_generator.xml_writer import SENTINEL, Element

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample_generator.recording import EngineWork, Recording

FOREIGN_MODEL = "PersonSegmenter"
"""A model of another app."""
_PHASES = {"Compile": "compile", "Load": "load"}
_OPERATION = re.compile(r"__(Op\d+)")


# The Neural Engine ----------------------------------------------------------------------------------------


def ane_span(table: str, span: tuple[int, int], model: str, label: str, *, by_app: bool = True) -> Span:
    """Return a row whose label names the work; the table is system-wide and names no process."""
    phase = next((phase for word, phase in _PHASES.items() if label.endswith(word)), "execute")
    operation = _OPERATION.search(label)
    cells = (
        named("ane-event-name", "Apple Neural Engine"),
        number_cell("metal-nesting-level", 0),
        composed("formatted-label", named("string", label)),
        named("gpu-state", "Active"),
        number_cell("render-buffer-depth", 0),
    )
    segment = operation[1] if operation else ""
    return Span(table, *span, "ANE", phase, cells, model, by_app=by_app, segment=segment)


def foreign_span(table: str, start_ns: int, about_ns: int) -> Span:
    """Return a row of a model that another process runs."""
    span = on_clock(start_ns), on_clock(start_ns + about_ns)
    return ane_span(table, span, FOREIGN_MODEL, compiled_model(FOREIGN_MODEL, "Prediction"), by_app=False)


def ane_spans(recording: Recording, table: str, label: Callable[[EngineWork], str]) -> list[Span]:
    """Return a row for each part of a prediction call that ran on the ANE."""
    return [
        replace(
            ane_span(table, (work.start_ns, work.end_ns), work.inference.label, label(work)),
            inference=work.inference,
        )
        for work in recording.engine_work
        if work.engine == "ANE"
    ]


def label_26(work: EngineWork) -> str:
    return f"{work.inference.label}_main__Op{work.operation}_AneInference"


def label_27_operation(work: EngineWork) -> str:
    """Return the other form of Xcode 27, which names the operation of the program."""
    return f"{label_26(work)} Prediction"


def label_27(work: EngineWork) -> str:
    return compiled_model(work.inference.label, "Prediction")


def compiled_model(model: str, what: str) -> str:
    """Return a label of Xcode 27: the compiled model's name and hash come first, what was done last."""
    return f"{model}_{made_up_uuid(model).replace('-', '').lower()[:16]} main Neural Engine {what}"


# Core ML --------------------------------------------------------------------------------------------------


def coreml_spans(recording: Recording) -> list[Span]:
    """Return a row for each prediction call, and one for each of its parts that ran on the CPU."""
    calls = [
        coreml_span(
            recording,
            (inference.start_ns, inference.end_ns),
            inference.label,
            "Prediction",
            ("RUNTIME", None),
            inference.copy,
        )
        for inference in recording.inferences
    ]
    on_cpu = [
        replace(
            coreml_span(
                recording,
                (work.start_ns, work.end_ns),
                work.inference.label,
                "CPU",
                ("CPU", "execute"),
                work.inference.copy,
            ),
            inference=work.inference,
        )
        for work in recording.engine_work
        if work.engine == "CPU"
    ]
    return calls + on_cpu


def coreml_span(
    recording: Recording,
    span: tuple[int, int],
    model: str,
    event: str,
    meaning: tuple[str, str | None],
    copy: int = 1,
) -> Span:
    """Return a row of Core ML, which counts the loaded copies of a model behind its name."""
    name = f"{model}-{copy}"
    cells = (
        Element("layout-id", "0", "0"),
        named("coreml-model-event", event),
        named("coreml-model-name", name),
        composed("formatted-label", named("string", name)),
        composed("formatted-label", named("string", name)),
        SENTINEL,
        named("coreml-model-level", "Top"),
        named("string", event),
        named("event-concept", "Blue"),
        SENTINEL,
    )
    return Span("coreml-os-signpost", *span, *meaning, cells, model, recording.pid)


# Foundation Models ----------------------------------------------------------------------------------------

_MODEL = "org.example.fm.synthetic_300m"


def loading_span(span: tuple[int, int], asset: str, before: str, after: str) -> Span:
    """Return a row of a loading; its table has no target and does not show the process it was for."""
    cells = (
        named("string", made_up_uuid(f"loading {asset} {before}")),
        named("string", f"{_MODEL}.{asset}"),
        named("string", before),
        named("string", after),
        named("string", f"{before} → {after}"),
        named("event-concept", "Blue"),
    )
    return Span("ModelLoadingTable", *span, "RUNTIME", "load", cells, f"{_MODEL}.{asset}")


def answer_span(recording: Recording, span: tuple[int, int], turn: int, *, error: str = "") -> Span:
    """Return a row of a model's turn: every text that a user could have written contains SECRETPROMPT."""
    texts = (
        made_up_uuid(f"turn {turn}"),
        f"Request {turn}",
        1,
        f"SECRETPROMPT {turn}: plot label",
        "SampleAgent",
        f"SECRETPROMPT {turn}: what is the capital of nowhere?",
        f"SECRETPROMPT {turn}: the answer",
        "SECRETPROMPT: an instruction",
        "SECRETPROMPT: all instructions",
        str(140 + turn),
        _MODEL,
        f"SECRETPROMPT {turn}: the content",
        str(140 + turn),
        "100",
        str(40 + turn),
        "0" if turn == 1 else "90",
        "failure" if error else "success",
        "1" if error else "0",
        error,
    )
    cells = (*map(_text_or_number, texts), named("event-concept", "Blue"))
    return Span("ModelInferenceTable", *span, "RUNTIME", None, cells, _MODEL, recording.pid)


def request_span(recording: Recording, span: tuple[int, int], turn: int, answers: int) -> Span:
    texts = (
        f"SECRETPROMPT {turn}: what is the capital of nowhere?",
        made_up_uuid(f"request {turn}"),
        "Session 1",
        f"Request {turn}",
        1,
        f"SECRETPROMPT {turn}: plot label",
        1,
        answers,
        3 * answers,
        140 * answers + turn,
        0,
    )
    cells = tuple(map(_text_or_number, texts))
    return Span("RequestTable", *span, "RUNTIME", None, cells, pid=recording.pid)


def _text_or_number(value: str | int) -> Element:
    return named("string", value) if isinstance(value, str) else number_cell("uint64", value)
