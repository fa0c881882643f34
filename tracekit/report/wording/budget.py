"""The parts of a call's budget in words, the same in every output."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tracekit.analysis.budget.parts import BudgetKind, BudgetPart
from tracekit.analysis.result import Analysis
from tracekit.model.vocabulary import Engine
from tracekit.text import format_rounded


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
            "engine busy with another process",
            "the engine works for another process, before it works for the call",
            "#",
        ),
        BudgetPart.OTHER_CALL: PartWords(
            "engine busy with other work",
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
            "other threads", "other threads of the app work, none for the call", "x"
        ),
        BudgetPart.IDLE: PartWords("idle", "no engine and no thread of the app works", "."),
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
    """Return ``+6.80 ms engine busy with another process`` for each call from ``start`` up to ``stop``.

    It is the part that explains most of the difference; None for a call that differs as most do.
    """
    differences = analysis.differences
    texts: list[str | None] = [None] * (stop - start)
    for row in np.flatnonzero(differences.main_parts[start:stop] >= 0).tolist():
        position = int(differences.main_parts[start + row])
        amount = format_difference(int(differences.part_ns[start + row, position]))
        texts[row] = f"{amount} {PART_WORDS[differences.parts[position]].name}"
    return texts


def format_difference(difference_ns: int) -> str:
    """Return a difference of times with its sign."""
    return f"{'+' if difference_ns > 0 else '-'}{format_rounded(abs(difference_ns))}"
