"""What threads did, as English: of one pause (a debugger, a crash, a hang), or of counted samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.leading_frames import DecidingFrame, shorten
from tracekit.analysis.findings.action import Action
from tracekit.analysis.threads import ProcessAnswer, ThreadAnswer, ThreadWork, Work
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Engine, Phase
from tracekit.report.wording.findings.actions import NextStep, next_steps
from tracekit.report.wording.names import ENGINE_NAMES
from tracekit.text import clip, format_percent, format_thread, join_words, list_first, plural, printable

_MOST_WORKS = 3
_MOST_NAMES = 2
_UNSEPARATED = "threads are not separated"
_DRIVER = "ane.driver"
_NAME_WIDTH = 60
_SYMBOL_WIDTH = 60
_DONE = {
    Phase.WAIT: "waited for {engine}",
    Phase.DISPATCH: "dispatched work to {engine}",
    Phase.EXECUTE: "ran code of {engine}",
    Phase.COPY: "copied or converted data for {engine}",
    Phase.COMPILE: "compiled for {engine}",
    Phase.LOAD: "loaded a model for {engine}",
    Phase.IDLE: "parked in a service of {engine}",
    None: "were in code of {engine}",
}
_DOING = {
    Phase.WAIT: "waiting for {engine}",
    Phase.DISPATCH: "dispatching work to {engine}",
    Phase.EXECUTE: "running code of {engine}",
    Phase.COPY: "copying or converting data for {engine}",
    Phase.COMPILE: "compiling for {engine}",
    Phase.LOAD: "loading a model for {engine}",
    Phase.IDLE: "parked in a service of {engine}: idle, no work",
    None: "in code of {engine}",
}
_CPU_CODE = "ML code of the CPU"
_ON_CPU = ("ran ML kernels on the CPU", "running ML kernels on the CPU")
_OUTSIDE = {
    Engine.GRAPHICS: "in Metal without an ML caller",
    Engine.OTHER: "outside ML code",
    Engine.UNKNOWN: "without a whole stack with names of functions",
}
SINGLE_PAUSE = (
    "A pause shows where each thread stood at one moment. An engine can be at work while no thread waits for"
    " it, and a thread outside ML code does not prove that no model runs."
)
COUNTED = (
    "Waiting threads are counted like running ones: a count is elapsed time of a thread, neither CPU time nor"
    " the time of an engine. Calls are not separated, so there is no rate and no latency."
)
PAUSES = (
    "A count is the number of pauses in which a thread stood there: no time of a thread or an engine, no rate"
    " and no latency."
)
COUNTED_RUNNING = (
    "Only threads that ran were sampled: a thread that waits for an engine has no samples. Calls are not"
    " separated, so there is no rate and no latency."
)
HITS = (
    "A hit is a call of a function with a breakpoint; one request passes several of them. Breakpoints slow"
    " the program: their times order the hits, and give neither a rate nor a latency."
)
IDLE = "An idle service thread shows that its process opened the Neural Engine, not that the engine worked."


def describe_threads(work: ThreadWork) -> str:
    """Return the sentences that state first what the threads did."""
    if not work.count:
        return "This text shows no thread with a stack."
    unknown = [entry.engine is Engine.UNKNOWN for entry in work.works(ml_only=False)]
    if all(unknown) and not work.idle_samples.any():
        first_sentence = f"{_describe_unknown_only(work)}, so engines cannot be identified."
    elif work.is_single_pause:
        first_sentence = f"{_describe_pause(work)}; a single moment shows no rate and no latency."
    else:
        first_sentence = f"{_describe_counts(work)}."
    return " ".join(
        filter(
            None,
            [first_sentence, _describe_dropped_hits(work), _describe_idle(work), _describe_faulting(work)],
        )
    )


def _describe_dropped_hits(work: ThreadWork) -> str:
    if not work.hits_not_kept:
        return ""
    total = int(work.samples.sum()) + work.hits_not_kept
    return f"{plural(total, 'hit')} were counted; {work.hits_not_kept:,} of them have no thread and no stack."


def _describe_unknown_only(work: ThreadWork) -> str:
    total = int(work.samples.sum())
    noun = "thread" if work.is_single_pause else work.noun
    if total == 1:
        return f"The only {noun} has no stack with symbols"
    return f"None of the {plural(total, noun)} of {_place(work)} has a stack with symbols"


def _describe_pause(work: ThreadWork) -> str:
    works = work.works()
    threads = f"of {work.count:,} threads of {_place(work)}" if work.count != 1 else f"of {_place(work)}"
    if not works:
        if work.count == 1:
            return f"At this moment the only thread {threads} was in no ML code"
        return f"At this moment none {threads} was in an ML engine or an ML runtime{_describe_unknown(work)}"
    parts = []
    for position, entry in enumerate(works[:_MOST_WORKS]):
        count = f"{entry.samples:,} " if work.count > 1 else "" if position else "the only thread "
        of = f"{threads} " if not position else ""
        parts.append(
            f"{count}{of}{'was' if entry.samples == 1 else 'were'} {doing(entry)}{_describe_frame(entry)}"
        )
    return (
        f"At this moment {join_words([*parts, *_list_other_work(works, 'thread')])}{_describe_process(work)}"
    )


def _describe_counts(work: ThreadWork) -> str:
    works = work.works()
    samples = int(work.samples.sum())
    if not works and not work.has_separate_threads:
        total = f"{plural(samples, work.noun)} of {_place(work)} ({_UNSEPARATED})"
        return f"None of {total} is in ML code{_describe_unknown(work)}"
    if not works:
        threads = f"None of {work.count:,} threads" if work.count != 1 else "The only thread"
        place = f"of {_place(work)}" if len(work.processes) == 1 else f"in {_place(work)}"
        predicate = "was in an ML engine or an ML runtime" if work.count != 1 else "was never in ML code"
        return f"{threads} {place} {predicate}{_describe_unknown(work)}"
    parts: list[str] = []
    engine: Engine | None = None
    for entry in works[:_MOST_WORKS]:
        parts.append(f"{entry.samples:,} {_describe_work(entry, is_named=entry.engine is engine)}")
        engine = entry.engine
    owner = _place(work)
    joint = "in" if len(work.processes) > 1 else "of"
    threads = f"{'the only thread' if work.count == 1 else f'{work.count:,} threads'} {joint} {owner}"
    if not work.has_separate_threads:
        threads = f"{owner} ({_UNSEPARATED})"
    work_text = join_words([*parts, *_list_other_work(works, work.noun)])
    return f"Of {plural(samples, work.noun)} of {threads}, {work_text}{_describe_process(work)}"


def _place(work: ThreadWork) -> str:
    """Return ``MyApp``, or ``16 processes``."""
    processes = work.processes
    if len(processes) == 1:
        return process_name(processes[0].process, processes[0].pid)
    return f"{len(processes):,} processes"


def process_name(name: str, pid: int, with_pid: bool = False) -> str:
    """Return a process as a sentence names it: ``MyApp``, ``process 412``, ``the process``."""
    short_name = clip(printable(name), _NAME_WIDTH)
    if not short_name:
        return f"process {pid}" if pid >= 0 else "the process"
    return f"{short_name} ({pid})" if with_pid and pid >= 0 else short_name


def _describe_process(work: ThreadWork) -> str:
    """Return `` in mediaanalysisd alone`` for a text of several processes."""
    if len(work.processes) < 2:
        return ""
    names = [process_name(entry.process, entry.pid, True) for entry in work.processes if entry.ml_samples]
    return f", all in {names[0]}" if len(names) == 1 else f", in {list_first(names, _MOST_NAMES)}"


def _describe_unknown(work: ThreadWork) -> str:
    entries = [entry for entry in work.works(ml_only=False) if entry.engine is Engine.UNKNOWN]
    count = sum(entry.samples for entry in entries)
    if not count:
        return ""
    total = int(work.samples.sum())
    noun = "thread" if work.is_single_pause else work.noun
    have = "has" if count == 1 else "have"
    return f"; {count:,} of {plural(total, noun)} {have} no stack with symbols"


def _list_other_work(works: Sequence[Work], noun: str) -> list[str]:
    more = sum(entry.samples for entry in works[_MOST_WORKS:])
    verb = "was" if more == 1 else "were"
    return [f"{plural(more, f'more {noun}')} {verb} in ML code"] if more else []


def _describe_idle(work: ThreadWork) -> str:
    idle = [entry for entry in work.processes if entry.service_threads]
    if not idle:
        return ""
    count = sum(entry.service_threads for entry in idle)
    several = len(work.processes) > 1
    name = (
        process_name(idle[0].process, idle[0].pid, several) if len(idle) == 1 else f"{len(idle):,} processes"
    )
    is_driver = _is_driver(work)
    noun = "driver" if is_driver else "service"
    threads = (
        f"the Neural Engine's {noun} thread is"
        if count == 1
        else f"{count:,} {noun} threads of the Neural Engine are"
    )
    why = "they serve" if count > 1 else "it serves"
    reason = f"{why} no request" if is_driver else "the engine was opened, which does not mean that it worked"
    return f"In {name} {threads} idle: {reason}."


def _is_driver(work: ThreadWork) -> bool:
    """Return whether the engine's idle threads are those of its driver in the kernel."""
    entries = [
        entry
        for entry in work.works(ml_only=False)
        if entry.phase is Phase.IDLE and entry.engine is Engine.ANE
    ]
    return all(entry.frame is not None and entry.frame.rule.startswith(_DRIVER) for entry in entries)


def _describe_faulting(work: ThreadWork) -> str:
    crashed = [answer for answer in work.answers(_MOST_WORKS) if answer.is_faulting]
    if not crashed:
        return ""
    answer = crashed[0]
    name = _start_with_capital(thread_name(answer))
    ml_work = next((entry for entry in answer.works if entry.is_ml), None)
    is_crash = answer.state.lower().startswith("crash")
    if ml_work is None:
        place = f"outside ML code{f', in {_shorten_symbol(answer.leaf)}' if answer.leaf else ''}"
    else:
        is_named = any(entry.frame == ml_work.frame for entry in work.works()[:_MOST_WORKS])
        place = f"{doing(ml_work)}{'' if is_named else _describe_frame(ml_work)}"
    if not is_crash:
        return f"The report was written because of {thread_name(answer)}, which was {place}."
    return f"{name} crashed {'' if ml_work is None else 'while '}{place}."


def _start_with_capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" if "thread" in text.lower() else f"Thread {text}"


def thread_name(answer: ThreadAnswer) -> str:
    """Return ``Main Thread (0x1f3)``, ``Thread 3``."""
    name = clip(printable(answer.name), _NAME_WIDTH)
    return format_thread(name, answer.tid) if name or answer.tid >= 0 else "a thread without a name"


def doing(work: Work) -> str:
    """Return what a thread is doing: ``waiting for the Neural Engine``, ``outside ML code``."""
    return _describe_phases(work, _DOING, _ON_CPU[1], "in")


def _describe_work(work: Work, is_named: bool) -> str:
    sentence = _describe_phases(work, _DONE, _ON_CPU[0], "were in")
    if is_named and work.engine in (Engine.ANE, Engine.GPU):
        return sentence.replace(ENGINE_NAMES[work.engine], "it")
    return sentence


def _describe_phases(
    work: Work, phases: dict[Phase | None, str], on_cpu: str, verb_without_phase: str
) -> str:
    if work.engine in _OUTSIDE:
        return _OUTSIDE[work.engine]
    if work.engine is Engine.CPU and work.phase in (Phase.EXECUTE, None):
        return on_cpu
    if work.engine in (Engine.RUNTIME, Engine.CPU):
        # The engine is not visible, or is the processor that waits: the verb without its object.
        owner = "an ML runtime, engine not visible" if work.engine is Engine.RUNTIME else _CPU_CODE
        verb = verb_without_phase if work.phase is None else phases[work.phase].split(" {engine}")[0]
        verb = re.sub(r" (?:for|to|of|work to|code of|service of)$", "", verb)
        return f"{verb} {owner}" if work.phase is None else f"{verb} in {owner}"
    return phases[work.phase].format(engine=ENGINE_NAMES[work.engine])


def _describe_frame(work: Work) -> str:
    return f" ({_shorten_symbol(work.frame)})" if work.frame is not None else ""


def _shorten_symbol(frame: DecidingFrame) -> str:
    if not has_symbol(frame.symbol):
        return f"{printable(frame.binary) or 'an unknown binary'}, no symbol"
    return printable(shorten(frame.symbol, _SYMBOL_WIDTH))


THREADS_HEADER = ("process", "thread", "samples", "share", "engine", "phase", "doing", "decided by", "rule")
"""The columns of ``thread_rows``."""


def left_out_columns(work: ThreadWork) -> set[str]:
    """Return the columns that are equal in every row: of one process, and of one sample each."""
    columns = {"process"} if len(work.processes) < 2 else set()
    return columns | ({"samples", "share"} if work.is_single_pause else set())


def thread_rows(answers: Sequence[ThreadAnswer]) -> list[list[str]]:
    """Return a row for each thread and what it did there; the thread is named in the first of its rows."""
    rows = []
    for answer in answers:
        state = f" ({answer.state.lower()})" if answer.is_faulting else ""
        for position, work in enumerate(answer.works):
            is_first = not position
            rows.append(
                [
                    process_name(answer.process, answer.pid, True) if is_first else "",
                    f"{thread_name(answer)}{state}" if is_first else "",
                    f"{work.samples:,}",
                    format_percent(work.samples / max(answer.samples, 1)),
                    str(work.engine),
                    str(work.phase) if work.phase else "",
                    doing(work),
                    _describe_decision(work, answer),
                    work.frame.rule if work.frame is not None else "",
                ]
            )
    return rows


def _describe_decision(work: Work, answer: ThreadAnswer) -> str:
    """Return the frame that decided the engine; of the thread that crashed elsewhere, its innermost one."""
    if work.frame is not None:
        return _format_frame(work.frame)
    if work.phase is Phase.IDLE:
        return "the thread's name"
    is_leaf = answer.leaf is not None and not any(entry.is_ml for entry in answer.works)
    return f"innermost: {_format_frame(answer.leaf)}" if is_leaf and answer.leaf is not None else ""


def _format_frame(frame: DecidingFrame) -> str:
    if not has_symbol(frame.symbol):
        return _shorten_symbol(frame)
    return f"{_shorten_symbol(frame)} in {printable(frame.binary) or 'an unknown binary'}"


PROCESSES_HEADER = ("process", "threads", "samples", "ML threads", "ML samples", "idle threads")
"""The columns of ``process_rows``."""


def process_rows(processes: Sequence[ProcessAnswer]) -> list[list[str]]:
    """Return a row for each process."""
    return [
        [
            process_name(entry.process, entry.pid, True),
            *(
                f"{number:,}"
                for number in (
                    entry.threads,
                    entry.samples,
                    entry.ml_threads,
                    entry.ml_samples,
                    entry.idle_threads,
                )
            ),
        ]
        for entry in processes
    ]


def threads_notes(work: ThreadWork, listed_threads: Sequence[ThreadAnswer]) -> list[str]:
    """Return what the table of threads leaves out, and what such samples can and cannot show."""
    remaining = work.left_out(listed_threads)
    counts = [f"{plural(remaining, 'more thread')} in ML code or idle" if remaining > 0 else ""]
    if work.unlisted_count and listed_threads:
        counts.append(f"{plural(work.unlisted_count, 'other thread')} without an ML frame")
    omissions = "; ".join(filter(None, counts))
    return [*([f"Not listed: {omissions}."] if omissions else []), *list_threads_limits(work)]


def list_threads_limits(work: ThreadWork) -> list[str]:
    """Return what such samples can and cannot show."""
    basis = COUNTED if work.counts_waiting else COUNTED_RUNNING
    basis = HITS if work.noun == "hit" else PAUSES if work.is_of_pauses else basis
    limits = [SINGLE_PAUSE if work.is_single_pause else basis]
    return [*limits, IDLE] if work.service_samples.any() and not _is_driver(work) else limits


def recording_step(work: ThreadWork, info: TraceInfo) -> NextStep | None:
    """Return the command that records what such a text cannot show; None where no process ran ML code."""
    process = next((entry for entry in work.processes if entry.ml_samples or entry.idle_threads), None)
    if process is None or not process.process:
        return None
    action = Action("record", {"purpose": "threads", "preset": "coreml"})
    return next(next_steps([action], replace(info, process=process.process)))
