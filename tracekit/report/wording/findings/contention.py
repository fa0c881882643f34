"""Engines that several models or processes want at once, as English."""

from __future__ import annotations

from tracekit.analysis.findings.contention import (
    ENGINE_CONTENTION,
    GPU_SHARED_WITH_RENDERING,
    MODELS_SERIALIZED,
    SharingNumbers,
)
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import calls_of, engine_name, format_model_name
from tracekit.text import clip, format_duration, join_words, printable

_NAME_WIDTH = 40


def _write_contention(finding: Finding[SharingNumbers]) -> Sentences:
    names = _list_users(finding)
    if finding.numbers["are_processes_known"]:
        others, detail = (f"another process ({names})" if names else "another process"), ""
    else:
        # Rows without a process are known by their labels alone, which fit no model of this app.
        others = f"{names}, a label that fits no model of this app," if names else "others"
        detail = (
            "No table names the process of that work: it is another app, or work of this app beside its"
            " models."
        )
    return Sentences(
        f"The Neural Engine worked for {others} during {_write_share(finding)}.",
        _write_cost(finding, _name_only_user(finding)),
        detail,
    )


def _write_gpu_sharing(finding: Finding[SharingNumbers]) -> Sentences:
    numbers = finding.numbers
    drawing = [name for name, is_own in numbers["users"] if is_own]
    others = [name or "another process" for name, is_own in numbers["users"] if not is_own]
    work = ["this app's drawing"] if drawing else []
    work += [clip(printable(name), _NAME_WIDTH) for name in dict.fromkeys(others)]
    title = f"The GPU also worked for {join_words(work)} during {_write_share(finding)}."
    return Sentences(title, _write_cost(finding))


def _write_models_in_turn(finding: Finding[SharingNumbers]) -> Sentences:
    numbers = finding.numbers
    engine = engine_name(numbers["engine"])
    title = (
        f"{_name_model(finding)} and {_list_users(finding)} take turns on {engine} where their calls overlap."
    )
    return Sentences(title, _write_cost(finding, _name_only_user(finding)))


def _name_only_user(finding: Finding[SharingNumbers]) -> str:
    return _list_users(finding) if len(finding.numbers["users"]) == 1 else ""


def _write_cost(finding: Finding[SharingNumbers], user: str = "") -> str:
    """Return what the engine's work for ``user``, or for several others, costs these calls."""
    numbers = finding.numbers
    in_each = " in each" if numbers["shared"] > 1 else ""
    work = f"the engine worked {format_duration(numbers['others_ns'])} for {user or 'others'}{in_each}"
    with_others = format_duration(numbers["with_ns"])
    if numbers["without_ns"] is None:
        return f"Of {with_others}, {work}. No call is without, so the cost is unknown."
    without = format_duration(numbers["without_ns"])
    lengths = f"{with_others} against {without}"
    calls = "These calls are" if numbers["shared"] > 1 else "This call is"
    if numbers["extra_ns"]:
        return f"{calls} {format_duration(numbers['extra_ns'])} longer than the others ({lengths}): {work}."
    if with_others == without:
        return f"{calls} as long as the others ({without}); {work}."
    return f"{calls} not clearly longer than the others ({lengths}); {work}."


def _list_users(finding: Finding[SharingNumbers]) -> str:
    names = dict.fromkeys(clip(printable(name), _NAME_WIDTH) for name, _ in finding.numbers["users"] if name)
    more = finding.numbers["more_users"]
    return join_words([*names, *([f"{more:,} more"] if more else [])])


def _write_share(finding: Finding[SharingNumbers]) -> str:
    """Return ``2 of 8 calls of Detector``; of calls without a model's name, ``2 of 8 calls of predict()``."""
    shared, calls = finding.numbers["shared"], finding.numbers["calls"]
    count = f"{shared:,} of {calls:,}" if calls > 1 else "the only one of"
    return f"{count} {calls_of(finding.model)}"


def _name_model(finding: Finding[SharingNumbers]) -> str:
    return format_model_name(finding.model, finding.numbers["is_named"])


SENTENCES = dict(
    (
        pair_sentences(ENGINE_CONTENTION, _write_contention),
        pair_sentences(GPU_SHARED_WITH_RENDERING, _write_gpu_sharing),
        pair_sentences(MODELS_SERIALIZED, _write_models_in_turn),
    )
)
