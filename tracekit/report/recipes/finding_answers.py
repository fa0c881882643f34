"""Questions for detectors: what they find, or that they find nothing where it would show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracekit.analysis.findings import beside, cold_start, contention, latency, placement, refusals, waiting
from tracekit.analysis.findings.copies import COPIES_AROUND_ENGINE
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.partial import PARTLY_ON_ENGINE
from tracekit.analysis.findings.requested import NOT_ON_REQUESTED_ENGINE
from tracekit.report.analysis.extent import VERBOSE_TEXT
from tracekit.report.analysis.finding_entry import describe_finding
from tracekit.report.document.blocks import Findings
from tracekit.report.recipes.recipe import Need, Query, Recipe, Reply
from tracekit.report.recipes.shortfalls import require_calls, require_kinds
from tracekit.text import plural


def _answer_by_findings(kinds: Sequence[Kind[Any]], absence: str) -> Callable[[Query], Reply]:
    """Return the function that replies with the findings of some kinds, or with ``absence``."""

    def answer(query: Query) -> Reply:
        numbers = [row for row, finding in enumerate(query.analysis.findings) if finding.kind in kinds]
        if not numbers:
            return Reply(absence)
        entries = tuple(describe_finding(query.analysis, number, VERBOSE_TEXT) for number in numbers)
        more = f" (and {plural(len(numbers) - 1, 'more finding')})" if len(numbers) > 1 else ""
        return Reply(f"{entries[0].title}{more}", (Findings(entries),))

    return answer


def _declare(
    name: str,
    question: str,
    kinds: Sequence[Kind[Any]],
    absence: str,
    chapter: str,
    needs: tuple[Need, ...] = (require_calls,),
) -> Recipe:
    return Recipe(
        name,
        question,
        _answer_by_findings(kinds, absence),
        (*needs, require_kinds(kinds)),
        "analysis.findings",
        f"findings.md#{chapter}",
        "findings",
    )


FINDING_RECIPES = (
    _declare(
        "left-engine",
        "Did a model leave its engine, and when?",
        placement.PLACEMENT_KINDS,
        "No model is seen to change its engine from call to call.",
        "where-the-model-ran",
    ),
    _declare(
        "requested-engine",
        "Did calls run where the app asked for?",
        (NOT_ON_REQUESTED_ENGINE,),
        "No model is seen off the engines that the app requested.",
        "not-on-requested-engine",
    ),
    _declare(
        "pieces",
        "Are calls cut into pieces, or partly on another engine?",
        (PARTLY_ON_ENGINE,),
        "No model is seen with its calls cut into pieces on an accelerator, or partly on another engine.",
        "partly-on-engine",
    ),
    _declare(
        "first-call",
        "What makes the first call slow: loading, compiling?",
        (cold_start.COLD_FIRST_CALL, cold_start.COMPILED_IN_RUN, cold_start.LOADED_AGAIN),
        "No model was compiled or loaded again, and no first call is clearly longer than the others.",
        "cold-starts",
    ),
    _declare(
        "idle",
        "Do calls wait while nothing works?",
        (waiting.GAPS_IN_CALLS, waiting.MAIN_THREAD_BLOCKED),
        "No model is seen with much idle time in its calls, and none keeps the main thread waiting.",
        "time-that-calls-lose",
    ),
    _declare(
        "contention",
        "Does other work compete for the Neural Engine?",
        (contention.ENGINE_CONTENTION, contention.MODELS_SERIALIZED),
        "No call is seen to share the Neural Engine with other work, or to take turns on it.",
        "engine-contention",
    ),
    _declare(
        "gpu-sharing",
        "Does drawing compete for the GPU?",
        (contention.GPU_SHARED_WITH_RENDERING,),
        "No call is seen to share the GPU with drawing or other processes.",
        "gpu-shared-with-rendering",
    ),
    _declare(
        "between-calls",
        "What does the app do between calls?",
        (beside.WORK_BESIDE_CALLS, beside.CONVERSIONS, beside.ALLOCATIONS, beside.LOAD_PER_CALL),
        "No costly work is seen between calls.",
        "work-between-the-calls",
    ),
    _declare(
        "copies",
        "Are inputs and outputs copied or converted?",
        (COPIES_AROUND_ENGINE, beside.CONVERSIONS),
        "No costly copies or conversions are seen around calls.",
        "copies-around-engine",
    ),
    _declare(
        "lengths",
        "Do the lengths of calls vary or grow?",
        (latency.LATENCY_OUTLIERS, latency.LATENCY_DRIFT, latency.TWO_POPULATIONS),
        "No single long calls, no drift and no second kind of lengths is seen.",
        "latency-within-a-model",
    ),
    _declare(
        "refused",
        "Were requests or operators refused?",
        (refusals.REQUESTS_FAILED, refusals.OPERATORS_REFUSED, refusals.PROGRAM_NOT_LOADED),
        "The log has no failed request, no refused operator and no program that was not loaded.",
        "what-failed-or-was-refused",
        (),
    ),
)
