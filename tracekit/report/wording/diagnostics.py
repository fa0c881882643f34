"""Diagnostics as English: one sentence or two for each code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracekit.analysis.diagnostics import Diagnostic
from tracekit.analysis.engines.requests import ProcessRequests, Refusal
from tracekit.model.schemas import GPU_INTERVALS, MPS_INTERVALS
from tracekit.model.trace import Issue
from tracekit.report.wording.symbols import format_binary
from tracekit.report.wording.verdicts import format_statuses
from tracekit.text import clip, format_ms, join_words, plural, printable

_MOST_LISTED = 6
_NAME_WIDTH = 60


def issues(diagnostics: Sequence[Issue | Diagnostic]) -> tuple[Issue, ...]:
    """Return diagnostics as issues with a message; issues of the recording have one already."""
    return tuple(
        entry
        if isinstance(entry, Issue)
        else Issue(entry.severity, entry.code, format_diagnostic(entry), entry.count)
        for entry in diagnostics
    )


def format_diagnostic(diagnostic: Diagnostic) -> str:
    """Return the message of one diagnostic."""
    return _MESSAGES[diagnostic.code](diagnostic)


def _fit_verb(count: int, verb: str) -> str:
    return f"{verb}s" if count == 1 else verb


def _count_rows(count: int, noun: str) -> str:
    return f"{plural(count, noun)} {'is' if count == 1 else 'are'}"


def _describe_simulator(diagnostic: Diagnostic) -> str:
    processes = diagnostic.numbers["processes"]
    names = [clip(printable(name), _NAME_WIDTH) or "a process" for name in processes[:_MOST_LISTED]]
    names += [f"{len(processes) - _MOST_LISTED:,} more"] if len(processes) > _MOST_LISTED else []
    subject = join_words(names) if names else "The target"
    return (
        f"{subject} ran in a simulator, which runs models on the Mac's CPU and GPU: that does not show on"
        " which engine a device runs them."
    )


def _describe_binaries(diagnostic: Diagnostic) -> str:
    entries = [
        f"{format_binary(name, uuid)} in {plural(samples, 'sample')}"
        for name, uuid, samples in diagnostic.numbers["binaries"]
    ]
    remaining = diagnostic.count - len(entries)
    return ", ".join([*entries, f"{remaining:,} more"] if remaining else entries)


def _describe_unattributed(diagnostic: Diagnostic) -> str:
    busy = format_ms(diagnostic.numbers["busy_ns"], 1)
    return (
        f"{plural(diagnostic.count, 'Neural Engine interval')} ({busy} of inference) cannot be assigned to a"
        " process: this app's stacks never call the engine, and no table lists its models. They are excluded;"
        " --windows ane includes them."
    )


def _describe_other_process(diagnostic: Diagnostic) -> str:
    busy = format_ms(diagnostic.numbers["busy_ns"], 1)
    runtimes = _list_runtimes(diagnostic)
    return (
        f"{diagnostic.count} of {plural(diagnostic.numbers['intervals'], 'Neural Engine interval')}"
        f" ({busy} of inference) fit none of this app's {runtimes} models by their labels: the work is"
        f" another process's, or did not go through {runtimes}. They are excluded."
    )


def _describe_unmatched(diagnostic: Diagnostic) -> str:
    intervals = diagnostic.numbers["intervals"]
    some = "All" if diagnostic.count == intervals else f"{diagnostic.count} of {intervals}"
    runtimes = " and ".join(diagnostic.numbers["runtimes"])
    return (
        f"Model names in the Neural Engine table do not match {runtimes}'s, so ownership cannot be checked."
        f" {some} intervals are counted as this app's."
    )


def _list_runtimes(diagnostic: Diagnostic) -> str:
    """Return ``Core ML``, or ``Core ML or Core AI``."""
    return " or ".join(diagnostic.numbers["runtimes"])


def _describe_dispatch_without_interval(diagnostic: Diagnostic) -> str:
    return (
        f"In {diagnostic.count} of {plural(diagnostic.numbers['submitting'], 'call')} the app submitted work"
        " to the Neural Engine, but no hardware interval follows. The request may have failed, or the two"
        " tables' clocks differ."
    )


def _describe_bridged_holes(diagnostic: Diagnostic) -> str:
    return (
        f"In {plural(diagnostic.count, 'place')} a call continues over a gap without samples (the longest:"
        f" {format_ms(diagnostic.numbers['longest_ns'], 1)}), because the sample before it submits work to an"
        " engine or waits. The call may have ended there, and another begun."
    )


def _describe_contested(diagnostic: Diagnostic) -> str:
    numbers = diagnostic.numbers
    is_single = diagnostic.count == 1
    return (
        f"{plural(diagnostic.count, 'hardware interval')} ({format_ms(numbers['busy_ns'], 1)})"
        f" {'fits' if is_single else 'fit'} several owners, and nothing here decides between them."
        f" {'It counts' if is_single else 'They count'} in no call"
        + (
            f"; the shares of {plural(numbers['calls'], 'call')} are ranges, with and without"
            f" {'it' if is_single else 'them'}."
            if numbers["calls"]
            else "."
        )
    )


def _describe_shared_name(diagnostic: Diagnostic) -> str:
    models = diagnostic.numbers["models"]
    model_names = ", ".join(clip(printable(name), _NAME_WIDTH) for name in models[:_MOST_LISTED])
    more = f" and {len(models) - _MOST_LISTED} more" if len(models) > _MOST_LISTED else ""
    return (
        f"The Neural Engine's work under names of this app's models ({model_names}{more}) may be another"
        " owner's: some of it lies outside of their calls, reaches out of them, lies beside a call's work on"
        " another engine, or begins as another process submits work. Only calls whose stacks show the engine"
        " own it."
    )


def _describe_window_outside(diagnostic: Diagnostic) -> str:
    numbers = diagnostic.numbers
    return (
        f"{diagnostic.count} of {plural(numbers['windows'], 'range')}"
        f" {_fit_verb(diagnostic.count, 'lie')} outside the recording, which lasts from"
        f" {format_ms(numbers['start_ns'])} to {format_ms(numbers['end_ns'])}"
        f" (the first is '{numbers['label']}')."
    )


def _describe_failed_requests(diagnostic: Diagnostic) -> str:
    numbers = diagnostic.numbers
    windows = numbers["failed_windows"]
    where = (
        f" in {windows} of {plural(numbers['windows'], 'call')}"
        if windows
        else ", none of them in one call for certain"
        if numbers["windows"]
        else ""
    )
    of_calls = " of these calls" if numbers["windows"] else ""
    return (
        f"{diagnostic.count} of {plural(numbers['requests'], 'request')} to the Neural Engine failed{where}"
        f" ({format_statuses(numbers['statuses'])}). The runtime may return zeros without an error: check the"
        f" results{of_calls}."
    )


def format_refusal(refusal: Refusal) -> str:
    """Return ``gather (Unsupported gather index type, 3 times)``."""
    reason = refusal.reason or "no reason given"
    times = f", {refusal.count:,} times" if refusal.count > 1 else ""
    return f"{refusal.operator} ({reason}{times})" if refusal.operator else f"{reason}{times}"


def _list_refusals(refusals: Sequence[Refusal]) -> str:
    more = f", and {len(refusals) - _MOST_LISTED:,} more" if len(refusals) > _MOST_LISTED else ""
    return "; ".join(map(format_refusal, refusals[:_MOST_LISTED])) + more


def _describe_requests_of_others(diagnostic: Diagnostic) -> str:
    processes = diagnostic.numbers["processes"]
    process_names = ", ".join(process_text(process) for process in processes[:_MOST_LISTED])
    more = f" and {len(processes) - _MOST_LISTED} more" if len(processes) > _MOST_LISTED else ""
    return (
        f"Other processes sent {plural(diagnostic.count, 'request')} to the Neural Engine in this time, by"
        f" the log: {process_names}{more}."
    )


def process_text(process: ProcessRequests) -> str:
    """Return ``photoanalysisd (211)``, or the number alone where no table has the name."""
    if process.pid < 0:
        return "a process that is not named"
    return f"{process.process} ({process.pid})" if process.process else f"process {process.pid}"


_MESSAGES: dict[str, Callable[[Diagnostic], str]] = {
    "ane-dispatch-without-interval": _describe_dispatch_without_interval,
    "ane-labels-unmatched": _describe_unmatched,
    "ane-process-unknown": lambda _: (
        "The Neural Engine table covers all processes and names none. If another app used the engine at the"
        " same time, its work is included here."
    ),
    "ane-program-not-loaded": lambda entry: (
        f"A program for the Neural Engine was not compiled or loaded {plural(entry.count, 'time')}, by the"
        f" log: {_list_refusals(entry.numbers['refusals'])}. The model may run elsewhere."
    ),
    "ane-requests-failed": _describe_failed_requests,
    "in-simulator": _describe_simulator,
    "ane-requests-of-others": _describe_requests_of_others,
    "ane-work-of-others": _describe_other_process,
    "ane-work-unclaimed": _describe_unattributed,
    "binaries-without-symbols": lambda entry: (
        f"{'1 binary lacks' if entry.count == 1 else f'{entry.count:,} binaries lack'} symbols:"
        f" {_describe_binaries(entry)}. --symbols adds names from a dSYM or a binary of the same build."
    ),
    "calls-outside-windows": lambda entry: (
        f"{plural(entry.count, 'prediction call')} on stacks {_fit_verb(entry.count, 'lie')} outside these"
        f" calls and {'is' if entry.count == 1 else 'are'} not listed."
    ),
    "gpu-process-unknown": lambda entry: (
        f"{plural(entry.count, 'row')} of {GPU_INTERVALS} {_fit_verb(entry.count, 'name')} no process and"
        f" {'is' if entry.count == 1 else 'are'} counted as this app's."
    ),
    "holes-bridged": _describe_bridged_holes,
    "inference-outside-windows": lambda entry: (
        f"{plural(entry.count, 'sample')} of inference on the CPU or the GPU {_fit_verb(entry.count, 'lie')}"
        " in prediction calls, but outside the Neural Engine's own intervals. --windows stacks includes them."
    ),
    "intervals-contested": _describe_contested,
    "model-name-shared": _describe_shared_name,
    "mps-engine-unknown": lambda entry: (
        f"{_count_rows(entry.count, f'{MPS_INTERVALS} row')} counted for the GPU. MPSGraph may have passed"
        " work to the Neural Engine, whose own table would show it and has no rows here."
    ),
    "no-prediction-calls": lambda _: "No prediction call was found, so the whole run is one range.",
    "operators-not-on-ane": lambda entry: (
        f"{plural(entry.count, 'kind')} of operators cannot run on the Neural Engine, by the log:"
        f" {_list_refusals(entry.numbers['refusals'])}."
    ),
    "predictions-without-length": lambda entry: (
        f"{plural(entry.count, 'prediction')} of {entry.numbers['table']}"
        f" {'has no length and is' if entry.count == 1 else 'have no length and are'} left out."
    ),
    "unsymbolicated-stacks": lambda entry: (
        f"{entry.count:,} of {plural(entry.numbers['stacks'], 'sampled stack')}"
        f" {_fit_verb(entry.count, 'lack')} symbols; the work there is unknown."
    ),
    "window-outside": _describe_window_outside,
    "windows-from-ane": lambda _: (
        "Calls are the Neural Engine's intervals, from the first to the last of a prediction, without the"
        " host's work before and after. --windows stacks takes whole calls."
    ),
    "windows-from-signposts": lambda entry: (
        f"Calls are the intervals of the app's signpost"
        f" {clip(printable(entry.numbers['name']), _NAME_WIDTH)}: each holds at most one prediction on its"
        " thread's stacks."
    ),
    "windows-from-stacks-too": lambda entry: (
        f"{plural(entry.count, 'prediction call')} on stacks {_fit_verb(entry.count, 'belong')} to no call"
        f" of a table and {'is' if entry.count == 1 else 'are'} listed as well, inferred from stacks."
    ),
    "windows-inferred": lambda _: (
        "Calls are inferred from stacks. Back-to-back inferences without a sample between them are counted as"
        " one. Record with --preset coreml for exact calls."
    ),
    "windows-of-unknown-thread": lambda entry: (
        f"{_count_rows(entry.count, 'call')} left out, because the calling thread is not known."
    ),
    "worker-samples-shared": lambda entry: (
        f"{plural(entry.count, 'sample')} of ML work on other threads could belong to several calls, or to"
        f" calls that no table reports. {'It is' if entry.count == 1 else 'They are'} excluded from every"
        " call."
    ),
}
