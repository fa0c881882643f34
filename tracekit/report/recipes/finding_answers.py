"""Questions for detectors: what they find, or that they find nothing where it would show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracekit.analysis.findings import beside, cold_start, contention, latency, placement, refusals, waiting
from tracekit.analysis.findings.copies import COPIES_AROUND_ENGINE
from tracekit.analysis.findings.find import MORE_FINDINGS
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.partial import PARTLY_ON_ENGINE
from tracekit.analysis.findings.requested import NOT_ON_REQUESTED_ENGINE
from tracekit.model.vocabulary import Engine, Phase
from tracekit.report.analysis.extent import VERBOSE_TEXT
from tracekit.report.analysis.finding_entry import describe_finding
from tracekit.report.document.blocks import Findings
from tracekit.report.recipes.query import Need, Query, RecipeAnswer, Reply
from tracekit.report.recipes.shortfalls import (
    require_calls,
    require_calls_on,
    require_kinds,
    require_repeats,
)
from tracekit.text import format_duration, plural

Absence: TypeAlias = str | Callable[[Query], str]
"""The sentence where nothing is found, or the function that writes it."""


def _answer_by_findings(kinds: Sequence[Kind[Any]], absence: Absence) -> Callable[[Query], Reply]:
    """Return the function that replies with the findings of some kinds, or with ``absence``."""

    def answer(query: Query) -> Reply:
        numbers = [row for row, finding in enumerate(query.analysis.findings) if finding.kind in kinds]
        if not numbers:
            return Reply(absence if isinstance(absence, str) else absence(query))
        entries = tuple(describe_finding(query.analysis, number, VERBOSE_TEXT) for number in numbers)
        count = len(numbers) + _count_left_out(query, kinds) - 1
        more = f" And {plural(count, 'more finding')}." if count else ""
        return Reply(f"{entries[0].title}{more}", (Findings(entries),))

    return answer


def _count_left_out(query: Query, kinds: Sequence[Kind[Any]]) -> int:
    """Return the number of findings of some kinds beyond those that an analysis lists."""
    limits = [finding for finding in query.analysis.findings if finding.kind == MORE_FINDINGS]
    return sum(finding.numbers["kinds"].get(kind, 0) for finding in limits for kind in kinds)


def _describe_other_work(query: Query) -> str:
    """Return how long the Neural Engine did other work while calls ran on it."""
    calls, measured = query.calls, query.analysis.measured
    rows = np.flatnonzero(calls.serves(Engine.ANE))
    busy_ns = calls.sum_work((Engine.ANE,), (Phase.EXECUTE,)).busy_ns[rows]
    all_ns = measured.everything((Engine.ANE, Phase.EXECUTE)).within(calls.starts[rows], calls.ends[rows])
    amounts = {
        "other owners": int(query.analysis.times["foreign_ns"].to_numpy(np.int64)[rows].sum()),
        "other work of the app": int(np.maximum(all_ns - busy_ns, 0).sum()),
    }
    parts = [f"{format_duration(amount_ns)} for {owner}" for owner, amount_ns in amounts.items() if amount_ns]
    if not parts:
        return "While calls ran on the Neural Engine, it is not seen to work for anything else."
    whole = format_duration(int(calls.lengths[rows].sum()))
    return f"While calls ran on the Neural Engine ({whole} in all), it also worked {' and '.join(parts)}."


def _declare(
    kinds: Sequence[Kind[Any]],
    absence: Absence,
    needs: tuple[Need, ...] = (require_calls,),
    proofs: tuple[Need, ...] = (),
) -> RecipeAnswer:
    return RecipeAnswer(_answer_by_findings(kinds, absence), (*needs, require_kinds(kinds, proofs)))


FINDING_ANSWERS = {
    "left-engine": _declare(
        placement.PLACEMENT_KINDS,
        "No model is seen to change its engine from call to call.",
        proofs=(require_repeats,),
    ),
    "requested-engine": _declare(
        (NOT_ON_REQUESTED_ENGINE,),
        "No model is seen off the engines that the app requested.",
    ),
    "pieces": _declare(
        (PARTLY_ON_ENGINE,),
        "No model is seen with half of its calls cut into pieces on the Neural Engine, or with several calls"
        " partly on another engine.",
    ),
    "first-call": _declare(
        (cold_start.COLD_FIRST_CALL, cold_start.COMPILED_IN_RUN, cold_start.LOADED_AGAIN),
        "No model is seen to be compiled, or loaded again. Of models that stay on one engine, no first call"
        " is clearly longer than the others.",
    ),
    "idle": _declare(
        (waiting.GAPS_IN_CALLS, waiting.MAIN_THREAD_BLOCKED),
        "No model is seen with much idle time in its calls, and none keeps the main thread waiting.",
    ),
    "contention": _declare(
        (contention.ENGINE_CONTENTION, contention.MODELS_SERIALIZED),
        _describe_other_work,
        proofs=(require_calls_on(Engine.ANE),),
    ),
    "gpu-sharing": _declare(
        (contention.GPU_SHARED_WITH_RENDERING,),
        "No model is seen to share the GPU with much drawing or work of other processes.",
        proofs=(require_calls_on(Engine.GPU),),
    ),
    "between-calls": _declare(
        (beside.WORK_BESIDE_CALLS, beside.CONVERSIONS, beside.ALLOCATIONS, beside.LOAD_PER_CALL),
        "No costly work is seen between calls.",
    ),
    "copies": _declare(
        (COPIES_AROUND_ENGINE, beside.CONVERSIONS),
        "No costly copies or conversions are seen around calls.",
    ),
    "lengths": _declare(
        (latency.LATENCY_OUTLIERS, latency.LATENCY_DRIFT, latency.TWO_POPULATIONS),
        "On its usual engine, no model is seen with single long calls, a drift, or a second kind of length"
        " that overlapping calls do not explain.",
    ),
    "refused": _declare(
        (refusals.REQUESTS_FAILED, refusals.OPERATORS_REFUSED, refusals.PROGRAM_NOT_LOADED),
        "The log has no failed request, no refused operator and no program that was not loaded.",
        (),
    ),
}
