"""Calls that are on an accelerator in part as English."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.partial import (
    PARTLY_ON_ENGINE,
    PartNumbers,
)
from tracekit.model.vocabulary import Basis, Engine
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_model_name
from tracekit.text import clip, format_duration, plural, printable

_SYMBOL_WIDTH = 60
_NAMES_WIDTH = 100
_MOST_NAMES = 5


def _write_partly_on_engine(finding: Finding[PartNumbers]) -> Sentences:
    pieces, part = finding.numbers["pieces"], finding.numbers["between"]
    return _write_pieces(finding, pieces or 0) if pieces or part is None else _write_part(finding, part)


def _write_pieces(finding: Finding[PartNumbers], pieces: int) -> Sentences:
    numbers = finding.numbers
    cut, calls = numbers["cut"], numbers["calls"]
    where = "each call" if cut == calls else f"{cut:,} of {calls:,} calls"
    about = "" if numbers["alike"] == cut else "about "
    model = format_model_name(finding.model, numbers["is_named"])
    title = f"{model} is cut into {about}{plural(pieces, 'piece')} in {where} on the Neural Engine."
    whole = "that time" if numbers["is_engine_time"] else "it"
    cost = (
        f"Per call, {format_duration(numbers['gaps_ns'])} pass between its first and last piece without the"
        f" engine (measured, {100 * numbers['share']:.0f} % of {whole})."
    )
    return Sentences(title, f"{cost}{_write_between(finding)}", _list_pieces(numbers["names"]))


def _list_pieces(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = names if len(names) <= _MOST_NAMES else (*names[: _MOST_NAMES - 1], "…", names[-1])
    return f"The pieces: {clip(printable(', '.join(shown)), _NAMES_WIDTH)}."


def _write_between(finding: Finding[PartNumbers]) -> str:
    numbers = finding.numbers
    engine, work_ns, frame = numbers["between"], numbers["between_ns"], numbers["frame"]
    if engine is None or work_ns is None:
        return ""
    subject = "the ML runtime" if engine == Engine.RUNTIME else engine_name(engine)
    name = f" in {clip(printable(frame.detail), _SYMBOL_WIDTH)}" if frame else ""
    return f" Of that, {subject} worked about {format_duration(work_ns)}{name} (sampled)."


def _write_part(finding: Finding[PartNumbers], part: Engine) -> Sentences:
    numbers = finding.numbers
    cut, calls = numbers["cut"], numbers["calls"]
    main, other = engine_name(numbers["engine"]), engine_name(part)
    where = "every call" if cut == calls else f"{cut:,} of {calls:,} calls"
    model = format_model_name(finding.model, numbers["is_named"])
    title = f"{model} runs in part on {other} in {where} on {main}."
    frame = numbers["frame"]
    name = f" in {clip(printable(frame.detail), _SYMBOL_WIDTH)}" if frame else ""
    work = numbers["between_ns"]
    if not work:
        return Sentences(title, "")
    share = f"{100 * numbers['share']:.0f} % of it"
    if numbers["part_basis"] == Basis.SAMPLED and part != Engine.CPU:
        # Samples are of the host, never of the engine.
        host = (
            f"The app's threads spent {format_duration(work)} per call ({share}, sampled) on work for {other}"
        )
        return Sentences(title, f"{host}{name}; the engine itself is not measured.")
    if numbers["part_basis"] == Basis.SAMPLED:
        return Sentences(
            title, f"{_capitalize(other)} worked {format_duration(work)} per call ({share}, sampled){name}."
        )
    beside = ""
    # Samples of the CPU are its work; of another engine, they are the host's, and measure nothing of it.
    if numbers["sampled_ns"] > work and part == Engine.CPU:
        sampled = format_duration(numbers["sampled_ns"])
        beside = f" Samples show {sampled} per call{name}: Core ML's table lists a part of this work only."
        name = ""
    return Sentences(
        title,
        f"{_capitalize(other)} worked {format_duration(work)} per call ({share}, measured){name}.{beside}",
    )


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


SENTENCES = dict((pair_sentences(PARTLY_ON_ENGINE, _write_partly_on_engine),))
