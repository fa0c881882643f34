"""``to_brief``: the results of a recording within a budget of bytes.

Each line is worth something to the reader: the headline and the next step most, then the finding that costs
most, then what each model did, and so on. Lines are selected in that order while they fit, and printed in the
order of a text; each part counts what it leaves out, and the last line the parts that are left out whole.
So a smaller budget loses what matters least, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.lengths import compute_typical_length
from tracekit.analysis.result import Analysis
from tracekit.errors import UsageError
from tracekit.report import wording
from tracekit.report.identifiers import name_call, name_findings, write_name
from tracekit.report.recipes.answers import describe_shortfall, list_shortfalls
from tracekit.report.recipes.query import Query, Shortfall
from tracekit.report.recipes.registry import Recipe
from tracekit.report.wording.findings import finding_text
from tracekit.text import clip, format_duration, plural, printable

DEFAULT_BUDGET = 4_096
LEAST_BUDGET = 512
_LONGEST_LINE = 400
_MOST_SLOW = 3
_MORE = "… and {count:,} more"
_LEFT_OUT = "Left out: "
_MORE_BYTES = 26
"""Kept free for each part, for what counts its lines that are left out."""
_LINE_BYTES = len("- \n")


@dataclass(frozen=True)
class _Line:
    """A line of a part; a lower ``rank`` is selected first."""

    part: int
    rank: float
    text: str


_PARTS = ("", "Findings", "Models", "Differing calls", "Evidence", "Limits", "Not answered", "Next")
_VERDICT_WORDS = {"ANE": "Neural Engine", "MIXED": "several engines", "UNKNOWN": "no engine visible"}
_ANSWER, _FINDINGS, _MODELS, _SLOW, _EVIDENCE, _LIMITS, _UNANSWERED, _NEXT = range(len(_PARTS))


def to_brief(analysis: Analysis, budget_bytes: int = DEFAULT_BUDGET) -> str:
    """Return the results as text of at most ``budget_bytes`` bytes in UTF-8. Raises ``UsageError``."""
    if budget_bytes < LEAST_BUDGET:
        raise UsageError(f"A brief takes a budget of at least {LEAST_BUDGET} bytes, not {budget_bytes:,}.")
    remaining = budget_bytes - _MORE_BYTES * len(_PARTS) - len(_LEFT_OUT)
    lines = list(_iter_lines(analysis, remaining))
    selected: list[_Line] = []
    opened: set[int] = set()
    for line in sorted(lines, key=lambda line: line.rank):
        heading = 0 if line.part in opened or not line.part else len(_PARTS[line.part]) + 2
        cost = len(line.text.encode()) + _LINE_BYTES + heading
        if cost <= remaining:
            remaining -= cost
            opened.add(line.part)
            selected.append(line)
    return _print_lines(lines, selected)


def _print_lines(lines: list[_Line], selected: list[_Line]) -> str:
    selected_ids = set(map(id, selected))
    texts: list[str] = []
    left_out: list[str] = []
    for part, heading in enumerate(_PARTS):
        members = [line for line in lines if line.part == part]
        chosen = [line for line in members if id(line) in selected_ids]
        if chosen and heading:
            texts.append(f"{heading}:")
        texts += [f"- {line.text}" if heading else line.text for line in chosen]
        if chosen and len(chosen) < len(members):
            texts.append(_MORE.format(count=len(members) - len(chosen)))
        if members and not chosen:
            left_out.append(f"{heading} {len(members):,}")
    if left_out:
        texts.append(f"{_LEFT_OUT}{', '.join(left_out)}.")
    return "\n".join(texts) + "\n"


def _iter_lines(analysis: Analysis, most_bytes: int) -> Iterator[_Line]:
    """Yield the lines of all parts, in the order of the text within each.

    The first, which is always selected, has at most ``most_bytes``.
    """
    yield _Line(_ANSWER, 0, _cut_bytes(_clip(wording.headline(analysis.answer)), most_bytes - _LINE_BYTES))
    yield from _iter_findings(analysis)
    yield from _iter_models(analysis)
    yield from _iter_slow_calls(analysis)
    for state in ("rows", "empty", "absent"):
        sources = [entry for entry in analysis.evidence if entry.state == state]
        if sources:
            names = ", ".join(
                f"{entry.source} {entry.rows:,}" if state == "rows" else entry.source for entry in sources
            )
            words = {"rows": "tables with rows", "empty": "recorded, no rows", "absent": "not here"}[state]
            yield _Line(_EVIDENCE, 30 + 35 * (state == "absent"), _clip(f"{words}: {names}"))
    for position, issue in enumerate(wording.issues(analysis.diagnostics)):
        severity = "" if issue.severity == "info" else f"{issue.severity}: "
        rank = 20.0 if severity else 60.0
        yield _Line(_LIMITS, rank + position, _clip(f"{severity}{issue.message}", f"limit:{issue.code}"))
    yield from _iter_unanswered(analysis)


def _iter_unanswered(analysis: Analysis) -> Iterator[_Line]:
    """Yield a line per reason why questions have no answer, with their names."""
    by_reason: dict[str, list[tuple[Recipe, Shortfall]]] = {}
    # A question about two recordings lacks nothing here that this one could have.
    for recipe, shortfall in list_shortfalls(Query(analysis, base=analysis)):
        by_reason.setdefault(shortfall.reason, []).append((recipe, shortfall))
    for position, (reason, entries) in enumerate(by_reason.items()):
        text = describe_shortfall(*entries[0]) if len(entries) == 1 else f"Not known: {reason}"
        names = ", ".join(recipe.name for recipe, _ in entries)
        yield _Line(_UNANSWERED, 50.0 + position, _clip(text, names))


def _iter_findings(analysis: Analysis) -> Iterator[_Line]:
    """Yield a line per finding, and the next step of the first that has one."""
    step_text = ""
    identifiers = name_findings(analysis)
    for position, finding in enumerate(analysis.findings):
        text = finding_text(finding, analysis.trace.info)
        if not step_text:
            step = next(iter(text.next_steps), None)
            step_text = _clip(step.line, identifiers[position]) if step else ""
        if finding.is_limit:
            continue
        words = f"{text.title} {text.whole_cost}".rstrip()
        basis = f" [{finding.basis}]"
        rank = 2.0 + 4 * position
        yield _Line(_FINDINGS, rank, _clip(f"{finding.severity}: {words}{basis}", identifiers[position]))
    if step_text:
        yield _Line(_NEXT, 1, step_text)


def _iter_models(analysis: Analysis) -> Iterator[_Line]:
    """Yield the exact counts of each model's calls by verdict, the model with most time first."""
    names, calls = wording.call_names(analysis), Calls(analysis)
    verdicts = np.asarray(analysis.verdicts.names, object)
    # Where calls in a row have no sample between them, stacks show one.
    is_of_stacks = bool((analysis.window_rows["source"] == "stacks").any())
    for position, model in enumerate(analysis.call_models):
        kinds, counts = np.unique(verdicts[model.rows].astype(str), return_counts=True)
        shares = ", ".join(
            f"{_VERDICT_WORDS.get(kind, kind)} {count:,}" for kind, count in zip(kinds, counts, strict=True)
        )
        whole = f"{plural(len(model.rows), names.noun)}{' seen on stacks' if is_of_stacks else ''}"
        median = format_duration(compute_typical_length(calls, model.rows))
        identifier = f"model:{write_name(names.names[position])}"
        text = f"{whole}: {shares}; median {median}"
        yield _Line(_MODELS, 3.0 + 4 * position, _clip(text, identifier))


def _iter_slow_calls(analysis: Analysis) -> Iterator[_Line]:
    """Yield the calls that are longer than the typical one of their model by most."""
    differences = analysis.differences
    rows = np.flatnonzero(differences.is_longer)
    rows = rows[np.argsort(-differences.length_ns[rows], kind="stable")]
    names = wording.call_names(analysis)
    for position, row in enumerate(rows.tolist()):
        cause = wording.explain_differences(analysis, row, row + 1)[0] or ""
        difference = format_duration(int(differences.length_ns[row]))
        text = f"{difference} longer than typical, with {cause}" if cause else f"{difference} longer"
        rank = 4.0 + 4 * position if position < _MOST_SLOW else 70.0 + position
        yield _Line(_SLOW, rank, _clip(text, name_call(analysis, row, names)))


def _cut_bytes(text: str, most_bytes: int) -> str:
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    return f"{encoded[: most_bytes - len('…'.encode())].decode(errors='ignore')}…"


def _clip(text: str, identifier: str = "") -> str:
    """Return a text as a line, with the identifier of what it is about, which is never cut."""
    ending = f" ({identifier})" if identifier else ""
    return clip(printable(text), _LONGEST_LINE - len(ending)) + ending
