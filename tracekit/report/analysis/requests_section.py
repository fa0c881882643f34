"""The section of requests to language models: their speed, and where the time of each phase goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from tracekit.analysis.budget.parts import BUDGET_PARTS, EXECUTING, BudgetPart
from tracekit.analysis.generation.generations import Generations
from tracekit.analysis.generation.growth import PER_TOKENS
from tracekit.analysis.generation.phases import PHASES_OF_REQUEST, GenerationPhase
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.report.analysis.extent import Extent
from tracekit.report.analysis.reported_requests import build_reported_requests
from tracekit.report.document.blocks import BarPart, Block, Column, Paragraph, Section, Table, count_note
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.report.wording.budget import PART_WORDS
from tracekit.report.wording.generation import (
    ABOUT,
    MEANING,
    REPORTED_ABOUT,
    describe_token_engines,
    format_growth,
    format_rate,
    iter_generation_notes,
)
from tracekit.report.wording.names import shorten_model_name
from tracekit.text import format_percent, format_rounded

_LEAST_SHARE = 0.005
"""A part with less of every phase would read "0 %" throughout."""
_MOST_PARTS = 6
_KEPT_PARTS = (*EXECUTING.values(), BudgetPart.RUNTIME, BudgetPart.APP, BudgetPart.IDLE)
"""The parts that a narrow line keeps."""
_ALL = "all"
_MOST_MODELS = 20
MOST_REQUESTS = 12
"""The requests of a model that are listed at least, if there are so many."""


def build_requests(analysis: Analysis, extent: Extent, _notes: Footnotes) -> Section:
    """Return the requests with their speed, then the parts of each phase, then those that are reported."""
    generations, reported = analysis.generations, analysis.trace.model_requests
    most_requests = max(extent.most_calls, MOST_REQUESTS)
    blocks: list[Block] = []
    about = []
    if generations is not None:
        blocks += build_request_tables(generations, most_requests)
        blocks += [Paragraph(MEANING), *map(Paragraph, iter_generation_notes(analysis, generations))]
        about.append(ABOUT)
    if len(reported):
        blocks += build_reported_requests(reported, most_requests)
        about.append(REPORTED_ABOUT)
    return Section("requests", "Language models", tuple(blocks), "; ".join(about))


def build_request_tables(generations: Generations, most_requests: int) -> list[Block]:
    """Return the speed of the first requests of each model and of all, then the parts of their phases."""
    groups = _group_requests(generations, most_requests)
    blocks: list[Block] = [_build_speeds(generations, groups)]
    listed_count = sum(name != _ALL for name, _ in groups)
    if listed_count < len(generations):
        blocks.append(Paragraph(count_note(len(generations) - listed_count)))
    return [*blocks, *_build_parts(generations, groups)]


def _group_requests(generations: Generations, most_requests: int) -> list[tuple[str, IntArray]]:
    """Return the requests of each model together where they are several, then each of the first ones."""
    groups = []
    for rows in islice(generations.requests_by_model.values(), _MOST_MODELS):
        if len(rows) > 1:
            groups.append((_ALL, rows))
        listed = rows[:most_requests]
        groups += [(f"{row + 1:,}", listed[listed == row]) for row in listed.tolist()]
    return groups


def _build_speeds(generations: Generations, groups: Sequence[tuple[str, IntArray]]) -> Table:
    requests, models = generations.requests, generations.models

    def write(describe: Callable[[IntArray], str]) -> list[str]:
        return [describe(rows) for _, rows in groups]

    columns = (
        Column("model", write(lambda rows: shorten_model_name(str(models[rows[0]])) or "–"), is_clipped=True),
        Column("request", [name for name, _ in groups], "number"),
        Column("prompt", write(lambda rows: _format_count(requests.prompt_tokens, rows)), "number"),
        Column("first token", write(lambda rows: _format_median(generations.first_token_ns, rows)), "number"),
        Column("tokens", write(lambda rows: _format_sum(generations.token_counts, rows)), "number"),
        Column("tokens/s", write(lambda rows: format_rate(_compute_rate(generations, rows))), "number"),
        Column("decode on", write(lambda rows: _describe_engines(generations, rows))),
        Column(
            f"growth per {PER_TOKENS:,} tokens",
            write(lambda rows: format_growth(generations.growth[rows[0]]) if len(rows) == 1 else ""),
            "number",
            rank=1,
        ),
    )
    return Table(tuple(column for column in columns if any(column.texts)))


def _format_count(values: IntArray, rows: IntArray) -> str:
    return f"{values[rows[0]]:,}" if len(rows) == 1 and values[rows[0]] >= 0 else ""


def _format_sum(values: IntArray, rows: IntArray) -> str:
    return f"{values[rows].sum():,}" if (values[rows] >= 0).all() else ""


def _format_median(values: IntArray, rows: IntArray) -> str:
    known = values[rows][values[rows] >= 0]
    return format_rounded(int(np.percentile(known, 50, method="inverted_cdf"))) if len(known) else ""


def _compute_rate(generations: Generations, rows: IntArray) -> float:
    tokens, decode_ns = generations.decode_tokens[rows], generations.decode_ns[rows]
    has_decode = tokens > 0
    length_ns = int(decode_ns[has_decode].sum())
    return int(tokens[has_decode].sum()) * 1e9 / length_ns if length_ns else float("nan")


def _describe_engines(generations: Generations, rows: IntArray) -> str:
    return describe_token_engines(generations, generations.list_decode_tokens(rows))


def _build_parts(generations: Generations, groups: Sequence[tuple[str, IntArray]]) -> list[Block]:
    """Return the share of each part in each phase; those of little time in all phases are left out."""
    phases = generations.phases
    entries = [
        (name, rows, phase, _select_phase(generations, rows, phase))
        for name, rows in groups
        for phase in PHASES_OF_REQUEST
    ]
    entries = [entry for entry in entries if len(entry[3])]
    if not entries:
        return []
    lengths = [int(phases.length_ns[rows].sum()) for *_, rows in entries]
    parts = _list_parts(generations)
    inner = (("gaps", phases.gap_ns, 0), ("sampling", phases.sampling_ns, 0), ("cache", phases.cache_ns, 3))

    def write(values: IntArray) -> list[str]:
        return [
            _format_share(int(values[rows].sum()), length)
            for (*_, rows), length in zip(entries, lengths, strict=True)
        ]

    names = [shorten_model_name(str(generations.models[rows[0]])) or "–" for _, rows, *_ in entries]
    columns = [
        *([Column("model", names, is_clipped=True)] if len(set(names)) > 1 else []),
        Column("request", [name for name, *_ in entries], "number"),
        Column("phase", [str(phase) for _, _, phase, _ in entries]),
        Column(
            "length",
            [format_rounded(length) for length in lengths],
            "number",
            bars=_draw_bars(generations, entries),
        ),
        *(
            Column(
                _name_part(part),
                write(generations.phase_budgets.by_part[part]),
                "number",
                rank=0 if part in _KEPT_PARTS else 2,
            )
            for part in parts
        ),
        *(
            Column(name, write(values), "number", rank=rank)
            for name, values, rank in inner
            if (values > 0).any()
        ),
    ]
    return [Table(tuple(columns), caption="Parts of each phase")]


def _select_phase(generations: Generations, rows: IntArray, phase: GenerationPhase) -> IntArray:
    """Return the positions of a phase of some requests."""
    positions = generations.phase_rows[phase][rows]
    return positions[positions >= 0]


def _list_parts(generations: Generations) -> list[BudgetPart]:
    """Return the parts with most time of any phase, in order of precedence."""
    lengths = np.maximum(generations.phases.length_ns, 1)
    sums = generations.phase_budgets.by_part
    shares = {part: float((sums[part] / lengths).max(initial=0)) for part in BUDGET_PARTS}
    largest = sorted(BUDGET_PARTS, key=lambda part: -shares[part])[:_MOST_PARTS]
    return [part for part in BUDGET_PARTS if part in largest and shares[part] >= _LEAST_SHARE]


def _name_part(part: BudgetPart) -> str:
    """Return a part's name; engines as in the list of requests, which is shorter."""
    words = PART_WORDS[part]
    return str(words.engine) if part in EXECUTING.values() else words.name


def _format_share(amount_ns: int, length_ns: int) -> str:
    return format_percent(amount_ns / length_ns) if amount_ns > 0 and length_ns else "–"


def _draw_bars(
    generations: Generations, entries: Sequence[tuple[str, IntArray, GenerationPhase, IntArray]]
) -> list[tuple[BarPart, ...]]:
    sums = generations.phase_budgets.by_part
    bars = []
    for *_, positions in entries:
        amounts = {part: int(sums[part][positions].sum()) for part in BUDGET_PARTS}
        length_ns = max(sum(amounts.values()), 1)
        bars.append(
            tuple(
                BarPart(PART_WORDS[part].name, amount_ns / length_ns, str(PART_WORDS[part].engine or ""))
                for part, amount_ns in amounts.items()
                if amount_ns
            )
        )
    return bars
