"""The verdicts of windows as English: columns of texts, one sentence for each window of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from tracekit.analysis.engines.codes import BASES
from tracekit.analysis.engines.transitions import POSITIONS, Transitions
from tracekit.analysis.verdicts import EngineWork, VerdictBlock, decode_phases
from tracekit.model.schemas import MPS_INTERVALS
from tracekit.model.vocabulary import ENGINES, Basis, Engine, Phase
from tracekit.report.wording.texts import (
    Texts,
    first_of,
    join_by_row,
    joined,
    listed,
    picked,
    spelled,
    texts_of,
    where,
)
from tracekit.text import format_ms_or_us, format_weight, join_words, plural

_MOST_NAMED = 4
_PLACES = (
    "",
    " at the same time",
    " at the start",
    " at the end",
    " in the middle",
    " before and after",
    None,
)
"""By ``POSITIONS``; the last has a number."""
_DOING = {
    Phase.EXECUTE: "running its code",
    Phase.DISPATCH: "submitting work",
    Phase.WAIT: "waiting for it",
    Phase.COPY: "copying data",
    Phase.COMPILE: "compiling",
    Phase.LOAD: "loading",
    Phase.IDLE: "parked",
}
_requests = partial(plural, noun="request")
_samples = partial(plural, noun="sample")


def describe_verdicts(block: VerdictBlock) -> Texts:
    """Return ``ran on the ANE (measured, 59 % of 24.9 ms) with a CPU fallback in the middle (…)``."""
    leads, besides = [], []
    for number, work in _iter_serving(block):
        is_lead = block.lead == number
        amount = _describe_amount(work, block)
        leads.append(where(is_lead, joined(_describe_action(work), f" the {work.engine} (", amount, ")")))
        besides.append(where(work.is_serving & ~is_lead, _describe_second_engine(number, amount, block)))
    if not leads:
        return _explain_unknown(block)
    has_other = np.sum([work.is_serving for work in block.works], axis=0) > 1
    other = where(has_other, joined(" with ", listed(besides, " and ")))
    return _fill_unknown([*leads, other], "", block)


def verdict_whys(block: VerdictBlock) -> Texts:
    """Return what the verdicts rest on, with its numbers."""
    parts = [*_describe_failures(block), *_iter_measured(block)]
    for _, work in _iter_serving(block):
        weight = spelled(work.weight, partial(format_weight, unit=block.unit))
        amount = joined(f"{work.engine} ", spelled(work.samples, _samples), ", ", weight)
        text = joined(amount, " (", _describe_phases_and_frame(work, block), ")")
        parts.append(where(work.is_serving & (work.samples > 0), text))
    return _fill_unknown(parts, "; ", block)


def verdict_reasons(block: VerdictBlock) -> Texts:
    """Return what the verdicts rest on, without numbers: windows of one kind have the same reason."""
    failed = joined("failed requests to the Neural Engine (", _list_statuses(block), ")")
    parts = [where(block.windows.failed_requests > 0, failed)]
    parts += [where(work.is_serving, _explain_engine(work, block)) for _, work in _iter_serving(block)]
    transitions = block.transitions
    engines = [where(work.is_serving, str(work.engine)) for work in block.works]
    order = join_by_row(picked(transitions.engine, ENGINES), transitions.edges, " → ")
    alternates = joined("alternates between ", listed(engines, " and "))
    engine_order = where(transitions.counts > _MOST_NAMED, alternates, joined("in the order ", order))
    return _fill_unknown([*parts, where(transitions.counts > 1, engine_order)], "; ", block)


def format_statuses(statuses: Sequence[int]) -> str:
    """Return ``status 0x12 or 0x1d``; a failure may come without one."""
    known = [f"0x{status:x}" for status in statuses if status >= 0]
    return f"status {' or '.join(known)}" if known else "no status given"


def _iter_serving(block: VerdictBlock) -> Iterator[tuple[int, EngineWork]]:
    """Yield the engines that served any of the windows."""
    return ((number, work) for number, work in enumerate(block.works) if work.is_serving.any())


def _fill_unknown(parts: Sequence[Texts], separator: str, block: VerdictBlock) -> Texts:
    """Return the parts of the windows that an engine served, and why none is known of the others."""
    texts, is_unknown = listed(parts, separator), block.lead < 0
    return where(is_unknown, _explain_unknown(block), texts) if is_unknown.any() else texts


def _describe_action(work: EngineWork) -> Texts | str:
    if work.engine is Engine.CPU:
        return "ran on"
    # MPSGraph can hand a program to the Neural Engine: its own table alone does not show which engine worked.
    ran = "ran MPSGraph programs, counted for" if work.table == MPS_INTERVALS else "ran on"
    # A sample of dispatch or waiting shows which thread called the engine, not that the engine worked; a
    # request that the log shows as served does.
    return where((work.busy_ns == 0) & (work.logged == 0), "submitted work to", ran)


def _describe_amount(work: EngineWork, block: VerdictBlock) -> Texts:
    """Return ``measured, 83 % of 4.1 ms`` or ``12 samples``."""
    length_ns = block.windows.length_ns
    busy, length = (spelled(amount_ns, format_ms_or_us) for amount_ns in (work.busy_ns, length_ns))
    pairs = zip(work.busy_ns.tolist(), length_ns.tolist(), strict=True)
    percent = texts_of([f"{100 * part / whole:.0f} %" if part else "" for part, whole in pairs])
    share = joined(where(work.busy_ns >= -(-length_ns // 100), percent, busy), " of ", length)
    is_interval = block.windows.is_engine_time & (work.busy_ns == length_ns)  # always 100 %
    return first_of(
        (work.busy_ns > 0, joined("measured, ", where(is_interval, busy, share))),
        (work.logged > 0, joined(spelled(work.logged, _requests), " by the log")),
        (work.samples > 0, spelled(work.samples, _samples)),
        otherwise="a request that Core ML reported",
    )


def _describe_second_engine(number: int, amount: Texts, block: VerdictBlock) -> Texts:
    """Return ``a CPU fallback in the middle (BNNSFilterApply in libBNNS.dylib, 2 samples)``."""
    work, transitions = block.works[number], block.transitions
    kind = "a CPU fallback" if work.engine is Engine.CPU else f"work on the {work.engine}"
    position = transitions.position[number]
    several = joined(" in ", spelled(transitions.stretches[number], str), " places")
    place = where(position == POSITIONS.index("several"), several, picked(position, _PLACES))
    busy = joined("measured, ", spelled(work.busy_ns, format_ms_or_us))
    frame = spelled(work.frame, lambda code: f"{block.frames[code].place}, " if code >= 0 else "")
    return joined(kind, place, " (", frame, where(work.busy_ns > 0, busy, amount), ")")


def _iter_measured(block: VerdictBlock) -> Iterator[Texts]:
    """Yield what was measured: busy times, requests, and the transitions where there are any."""
    windows = block.windows
    length = spelled(windows.length_ns, format_ms_or_us)
    for _, work in _iter_serving(block):
        engine, is_serving = work.engine, work.is_serving
        busy, requested = (spelled(ns, format_ms_or_us) for ns in (work.busy_ns, work.requested_ns))
        text = joined(f"{engine} busy ", busy, " of ", length, " (measured)")
        yield where(is_serving & (work.busy_ns > 0), text)
        text = joined(f"requests to the {engine} took ", requested, " (Core ML)")
        yield where(is_serving & (work.requested_ns > 0), text)
        text = joined(spelled(work.logged, _requests), f" to the {engine} served (by the log)")
        yield where(is_serving & (work.logged > 0), text)
        if work.table and engine is not Engine.CPU:
            is_unseen = is_serving & (work.samples > 0) & (work.busy_ns == 0)
            yield where(is_unseen, f"{work.table} has no {engine} interval here")
    for work in block.works:
        if work.contested_ns.any():
            contested = spelled(work.contested_ns, format_ms_or_us)
            text = joined(f"{work.engine} ", contested, " for this call or for another owner (contested)")
            yield where((work.contested_ns > 0) & (block.lead >= 0), text)
    yield where(block.transitions.counts > 1, format_transitions(block.transitions))
    for _, work in _iter_serving(block):
        if work.engine is Engine.GPU:
            is_unmarked = work.is_serving & (work.busy_ns == 0) & (windows.unmarked_gpu_ns > 0)
            busy = spelled(windows.unmarked_gpu_ns, format_ms_or_us)
            text = joined("GPU busy ", busy, " for this process with work not marked as ML (measured)")
            yield where(is_unmarked, text)
    busy = spelled(windows.other_process_ns, format_ms_or_us)
    text = joined("the Neural Engine worked ", busy, " of this call for others (measured)")
    yield where(windows.other_process_ns > 0, text)


def format_transitions(transitions: Transitions) -> Texts:
    """Return ``ANE 2.0 ms → CPU 2.1 ms (sampled) → ANE 18.0 ms``; engines at once are joined by ``∥``."""
    edges = transitions.edges
    is_first = np.zeros(len(transitions.engine) + 1, bool)
    is_first[edges[:-1]] = True
    joint = where(transitions.overlaps, " ∥ ", where(is_first[:-1], "", " → "))
    engine, busy = picked(transitions.engine, ENGINES), spelled(transitions.busy_ns, format_ms_or_us)
    basis = picked(transitions.basis, ["" if basis is Basis.MEASURED else f" ({basis})" for basis in BASES])
    # Samples are of the host, and of an engine on the CPU alone.
    is_host = (transitions.basis != BASES.index(Basis.MEASURED)) & (
        transitions.engine != ENGINES.index(Engine.CPU)
    )
    host = where(is_host, " host ", " ")
    text = join_by_row(joined(joint, engine, host, busy, basis), edges, "")
    more = transitions.counts - np.diff(edges)
    return joined(text, spelled(more, lambda count: f" → {count} more" if count else ""))


def _explain_engine(work: EngineWork, block: VerdictBlock) -> Texts:
    """Return what shows an engine, without numbers."""
    parts = [
        where(work.busy_ns > 0, f"measured in the table {work.table}"),
        where(work.requested_ns > 0, "a request that Core ML reported"),
        where(work.logged > 0, "requests in the log"),
        where(work.samples > 0, joined("sampled while ", _describe_phases_and_frame(work, block))),
    ]
    return joined(f"{work.engine}: ", listed(parts, "; "))


def _describe_phases_and_frame(work: EngineWork, block: VerdictBlock) -> Texts:
    """Return ``submitting work and waiting for it: BNNSFilterApply in libBNNS.dylib, by rule …``."""
    doing = spelled(work.phases, lambda order: join_words([_DOING[phase] for phase in decode_phases(order)]))
    frame = spelled(work.frame, lambda code: f": {block.frames[code]}" if code >= 0 else "")
    return joined(doing, frame)


def _describe_failures(block: VerdictBlock) -> list[Texts]:
    """Return the failed requests, if there are any: what is seen of the engine may be in vain."""
    failed = block.windows.failed_requests
    if not failed.any():
        return []
    number = spelled(failed, _requests)
    text = joined(number, " to the Neural Engine failed (", _list_statuses(block), ", by the log)")
    return [where(failed > 0, text)]


def _list_statuses(block: VerdictBlock) -> Texts:
    return spelled(block.windows.status, lambda code: format_statuses(block.statuses[code]))


def _explain_unknown(block: VerdictBlock) -> Texts:
    missing = _list_missing(block)
    for failed in _describe_failures(block):
        text = joined(failed, ", and nothing shows an engine that served this call")
        return where(block.windows.failed_requests > 0, text, missing)
    return missing


def _list_missing(block: VerdictBlock) -> Texts:
    windows, total = block.windows, block.windows.samples
    tables = [f"the {engine}" for engine in block.measured]
    unmeasured = f", and no interval of inference on {' or '.join(tables)}" if tables else ""
    prepared = spelled(windows.preparing_ns, format_ms_or_us)
    samples = joined(" of ", spelled(total, _samples))
    none = spelled(total, lambda count: "the only sample" if count == 1 else f"none of the {count:,} samples")
    contested = sum((work.contested_ns for work in block.works), np.zeros_like(total))
    owners = [
        where(
            work.contested_ns > 0,
            joined(f"the {work.engine} worked ", spelled(work.contested_ns, format_ms_or_us)),
        )
        for work in block.works
        if work.contested_ns.any()
    ]
    return first_of(
        (
            contested > 0,
            joined(listed(owners, " and "), " in this time, for this call or for another owner (contested)")
            if owners
            else "",
        ),
        (
            windows.preparing_ns > 0,
            joined(prepared, " of compile and load were measured here, but no inference on an engine"),
        ),
        (
            total == 0,
            joined(
                "no sample", where(windows.is_call, " of ML work in this call", " in this range"), unmeasured
            ),
        ),
        (
            windows.preparing_samples > 0,
            joined(
                spelled(windows.preparing_samples, str),
                samples,
                " load or compile a model for an engine, but none runs an inference",
            ),
        ),
        (
            windows.runtime_samples > 0,
            joined(
                spelled(windows.runtime_samples, str),
                samples,
                " are inside an ML runtime, but none reaches the code of an engine",
            ),
        ),
        (
            windows.unsymbolicated_samples == total,
            joined(none, " has ", where(total == 1, "no", "a"), " stack with symbols"),
        ),
        otherwise=joined(
            none, " shows ", where(total == 1, "no ML runtime and no", "an ML runtime or an"), " engine"
        ),
    )
