"""What threads did, in ``tracekit-analysis/1``: of a trace without times."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tracekit.analysis.threads import ThreadAnswer, ThreadWork
from tracekit.report import wording

_MOST_THREADS = 20_000
"""The most threads to list: those in ML code, idle ones of a service, and those that crashed."""


def threads_document(work: ThreadWork | None) -> dict[str, Any] | None:
    """Return the threads as plain data; None for a recording, whose samples have times."""
    if work is None:
        return None
    answers = work.answers(_MOST_THREADS)
    return {
        "count": work.count,
        "single_pause": work.is_single_pause,
        "processes": [
            {**asdict(entry), "process": entry.process or None, "pid": entry.pid if entry.pid >= 0 else None}
            for entry in work.processes[:_MOST_THREADS]
        ],
        "listed": [_thread(answer) for answer in answers],
        "left_out": work.left_out(answers),
        "limits": wording.list_threads_limits(work),
    }


def _thread(answer: ThreadAnswer) -> dict[str, Any]:
    return {
        "process": answer.process or None,
        "pid": answer.pid if answer.pid >= 0 else None,
        "thread": answer.name or None,
        "tid": answer.tid if answer.tid >= 0 else None,
        "state": answer.state or None,
        "crashed": answer.is_faulting,
        "idle": answer.is_idle,
        "samples": answer.samples,
        "work": [
            {
                "engine": str(work.engine),
                "phase": str(work.phase) if work.phase else None,
                "samples": work.samples,
                "share": work.samples / max(answer.samples, 1),
                "doing": wording.doing(work),
                "symbol": work.frame.symbol if work.frame else None,
                "binary": (work.frame.binary or None) if work.frame else None,
                "rule": work.frame.rule if work.frame else None,
            }
            for work in answer.works
        ],
    }
