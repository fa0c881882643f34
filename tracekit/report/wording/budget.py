"""The parts of a call's budget in words, the same in every output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tracekit.analysis.budget.parts import BUDGET_KINDS, BudgetKind, BudgetPart
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Engine
from tracekit.text import format_rounded

_LONGEST = 4
"""Times the median length: a few long calls must not make the bars of all others short."""


class PartWords(NamedTuple):
    """A part in words: its name in a list, what it means, its sign in a bar of characters, and its colour.

    ``engine`` is the engine whose colour pictures give it; None for what is no work of the call.
    """

    name: str
    meaning: str
    sign: str
    engine: Engine | None = None


PART_WORDS: Mapping[BudgetPart, PartWords] = MappingProxyType(
    {
        BudgetPart.ANE: PartWords("Neural Engine", "the Neural Engine works for the call", "A", Engine.ANE),
        BudgetPart.GPU: PartWords("GPU", "the GPU works for the call", "G", Engine.GPU),
        BudgetPart.CPU: PartWords("CPU inference", "the CPU computes the model", "C", Engine.CPU),
        BudgetPart.LOAD: PartWords(
            "load and compile", "the model is loaded or compiled", "L", Engine.RUNTIME
        ),
        BudgetPart.CONTESTED: PartWords(
            "engine, owner open",
            "an engine works for this call or for another owner: the recording leaves it open",
            "!",
        ),
        BudgetPart.COPY: PartWords(
            "copies", "the host copies or converts inputs and outputs", "c", Engine.RUNTIME
        ),
        BudgetPart.RUNTIME: PartWords(
            "ML runtime",
            "the host runs Core ML or another runtime: it prepares, hands over, finishes",
            "r",
            Engine.RUNTIME,
        ),
        BudgetPart.APP: PartWords(
            "other code", "the call's threads run other code, the app's own among it", "o", Engine.OTHER
        ),
        BudgetPart.UNNAMED: PartWords(
            "code without names", "the call's threads run code without symbols", "u", Engine.UNKNOWN
        ),
        BudgetPart.RUNNING: PartWords(
            "thread runs", "the calling thread runs, and no sample shows what", "t", Engine.OTHER
        ),
        BudgetPart.OTHER_PROCESS: PartWords(
            "other process on engine",
            "the engine works for another process, before it works for the call",
            "#",
        ),
        BudgetPart.OTHER_CALL: PartWords(
            "other work on engine",
            "the engine does other work, of another call or model, before it works for the call",
            "#",
        ),
        BudgetPart.RUNNABLE: PartWords(
            "no core free", "the calling thread could run, and no core takes it", "w"
        ),
        BudgetPart.WAITING: PartWords(
            "waits for an engine",
            "a thread waits for an engine that no table measures: it may work, queue or rest",
            "~",
        ),
        BudgetPart.BLOCKED: PartWords("thread blocked", "the calling thread is blocked", "b"),
        BudgetPart.HAND_OVER: PartWords(
            "hand-over", "between the end of one engine's work and the begin of another's", "-"
        ),
        BudgetPart.OTHER_THREADS: PartWords(
            "other threads", "other threads of the app work, and none is seen to work for the call", "x"
        ),
        BudgetPart.IDLE: PartWords("idle", "no engine works for the app, and no thread of it runs", "."),
        BudgetPart.UNKNOWN: PartWords("not shown", "the recording does not show what happens", "?"),
    }
)


def build_part_document(kind: BudgetKind) -> dict[str, str | None]:
    """Return a part of a budget and its basis as plain data with its words."""
    words = PART_WORDS[kind.part]
    return {
        "key": str(kind.part),
        "name": words.name,
        "meaning": words.meaning,
        "engine": None if words.engine is None else str(words.engine),
        "basis": None if kind.basis is None else str(kind.basis),
    }


def explain_differences(analysis: Analysis, start: int, stop: int) -> list[str | None]:
    """Return ``+6.80 ms other process on engine`` for each call from ``start`` up to ``stop``.

    It is the part that explains most of the difference, or the whole difference where none is known to; None
    for a call that differs as most do.
    """
    return _describe_main_parts(analysis, start, stop, lambda words: words.name)


def sign_differences(analysis: Analysis, start: int, stop: int) -> list[str | None]:
    """Return ``explain_differences`` with the signs of the bars: ``+6.80 ms #``."""
    return _describe_main_parts(analysis, start, stop, lambda words: words.sign)


def _describe_main_parts(
    analysis: Analysis, start: int, stop: int, describe: Callable[[PartWords], str]
) -> list[str | None]:
    differences = analysis.differences
    texts: list[str | None] = [None] * (stop - start)
    for row in (start + np.flatnonzero(differences.is_notable[start:stop])).tolist():
        position = int(differences.main_parts[row])
        part = differences.parts[position] if position >= 0 else BudgetPart.UNKNOWN
        amount_ns = differences.main_ns[row] if position >= 0 else differences.length_ns[row]
        texts[row - start] = f"{format_difference(int(amount_ns))} {describe(PART_WORDS[part])}"
    return texts


def format_difference(difference_ns: int) -> str:
    """Return a difference of times with its sign."""
    return f"{'+' if difference_ns > 0 else '-'}{format_rounded(abs(difference_ns))}"


def measure_scale(lengths: IntArray) -> int:
    """Return the length that fills a bar: the longest call's, but of a few long ones."""
    if not len(lengths):
        return 1
    return max(1, min(int(lengths.max()), _LONGEST * int(np.percentile(lengths, 50, method="inverted_cdf"))))


def draw_bar(analysis: Analysis, row: int, scale_ns: int, width: int) -> str:
    """Return the budget of a call as signs in order of time: each is of the part with most of its time.

    ``width`` signs are ``scale_ns``; a longer call is cut, and ends with ``>``.
    """
    pieces = analysis.budget.list_pieces(row)
    length_ns = int((pieces.end_ns - pieces.start_ns).sum())
    drawn_ns = min(length_ns, scale_ns)
    signs = []
    for begin_ns, end_ns in _divide(
        pieces.start_ns[:1], drawn_ns, max(1, round(drawn_ns * width / scale_ns))
    ):
        shares = np.minimum(pieces.end_ns, end_ns) - np.maximum(pieces.start_ns, begin_ns)
        time_by_kind = np.bincount(pieces.kind, np.maximum(shares, 0), len(BUDGET_KINDS))
        signs.append(PART_WORDS[BUDGET_KINDS[int(time_by_kind.argmax())].part].sign)
    return "".join(signs) + (">" if length_ns > scale_ns else "")


def _divide(starts: IntArray, length_ns: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the edges of equal parts of a length from the start on, if there is one."""
    for start_ns in starts.tolist():
        yield from pairwise(start_ns + length_ns * number // count for number in range(count + 1))


def explain_bars(analysis: Analysis, scale_ns: int, width: int) -> str:
    """Return what the signs of the bars mean: those of the parts that the calls have."""
    signs = (f"{PART_WORDS[part].sign} {PART_WORDS[part].name}" for part in analysis.budget.sums.parts)
    return f"a sign is {format_rounded(scale_ns / width)}: {', '.join(signs)}"
