"""Findings of a comparison as English: what appeared, vanished, grew or shrank, and in how many runs."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.comparison.result import Comparison, FindingChange, FindingSide, FindingTrend
from tracekit.comparison.turns import SESSION_NOISE
from tracekit.frozen import frozen
from tracekit.model.trace import Severity
from tracekit.report.comparison.decision import is_better, is_grave, is_one_sided
from tracekit.report.wording.findings import NextStep, finding_text
from tracekit.text import clip, format_duration, plural, printable

SIGN: dict[FindingTrend, str] = {
    "appeared": "+",
    "vanished": "-",
    "grew": "▲",
    "shrank": "▼",
    "on one side": "?",
    "on both sides": "=",
    "not comparable": "?",
}
WORD: dict[FindingTrend, str] = {
    "appeared": "new",
    "vanished": "gone",
    "grew": "costs more",
    "shrank": "costs less",
    "on one side": "not shown to differ",
    "on both sides": "on both sides",
    "not comparable": "not comparable",
}
FINDINGS = "Findings: gone, new and remaining"
_MOST_IN_SENTENCE = 2
_MOST_LISTED = 20
_MOST_ABSENT = 3
"""Maximum number of models of one side whose findings are named."""
_NAME_WIDTH = 40


@frozen
class FindingChangeText:
    """One change in words; ``counts`` gives its kind and the runs of each side that have it."""

    sign: str
    change: FindingTrend
    severity: Severity
    title: str
    cost: str
    counts: str
    next_steps: tuple[NextStep, ...]


def finding_changes(comparison: Comparison) -> tuple[list[FindingChangeText], int]:
    """Return the changes of findings in words, and the number of those that are left out.

    Those of models that one side alone runs are one entry: no change of them follows from the recordings.
    """
    one_sided = {group.name for group in comparison.one_sided if group.kind == "model"}
    absent: list[FindingChange] = []
    others: list[FindingChange] = []
    for change in comparison.findings:
        is_absent = change.change == "not comparable" and change.model in one_sided
        (absent if is_absent else others).append(change)
    texts = [_text(change) for change in others[:_MOST_LISTED]]
    return [*texts, *([_join_absent(absent)] if absent else [])], len(others) - len(texts)


def _join_absent(changes: Sequence[FindingChange]) -> FindingChangeText:
    """Return one entry for findings of models that one side alone runs, by model and side."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        side = "NEW" if change.new.found else "BASE"
        kinds.setdefault((change.model, side), []).append(str(change.kind))
    entries = [
        f"{clip(printable(model), _NAME_WIDTH)} in {side} ({', '.join(dict.fromkeys(of_model))})"
        for (model, side), of_model in kinds.items()
    ]
    more = len(entries) - _MOST_ABSENT
    text = "; ".join([*entries[:_MOST_ABSENT], *([f"{more:,} more"] if more > 0 else [])])
    title = f"Findings of models that one side alone runs: {text}."
    return FindingChangeText(SIGN["not comparable"], "not comparable", "info", title, "", "", ())


def findings_sentence(comparison: Comparison) -> str:
    """Return what appeared, vanished, or was seen on one side, for the first sentences; "" without any."""
    grave = [change for change in comparison.findings if is_grave(change) or is_one_sided(change)]
    parts = [_sentence(change, is_better(comparison)) for change in grave[:_MOST_IN_SENTENCE]]
    if left_out := len(grave) - len(parts):
        parts.append(f"{plural(left_out, 'more finding')} not on both sides.")
    has_sessions = any(caution.code == SESSION_NOISE for caution in comparison.cautions)
    if has_sessions and any(map(is_grave, grave)):
        parts.append("Findings are tested without the spread between sessions, which may explain this.")
    return " ".join(parts)


def _sentence(change: FindingChange, is_good: bool) -> str:
    """Return ``New finding (fell-back in 3 of 3 runs of NEW, in 0 of 3 runs of BASE): Net left …``.

    What the runs do not show to differ begins with ``Seen on one side, as chance can do``.
    """
    title = finding_text(change.finding, change.recording).title
    begin, names, sides = "New finding", ("NEW", "BASE"), (change.new, change.base)
    if change.change == "on one side":
        begin = "Seen on one side, as chance can do"
        if not change.new.found:
            names, sides = ("BASE", "NEW"), (change.base, change.new)
    if change.change == "vanished":
        begin, names, sides = (
            "Gone, which is better" if is_good else "Gone",
            ("BASE", "NEW"),
            (change.base, change.new),
        )
    where = f"in {names[0]}, not in {names[1]}"
    if max(side.runs for side in sides) > 1:
        where = ", ".join(
            f"in {side.found} of {plural(side.runs, 'run')} of {name}"
            for side, name in zip(sides, names, strict=True)
        )
    return f"{begin} ({change.kind} {where}): {title}"


def _text(change: FindingChange) -> FindingChangeText:
    text = finding_text(change.finding, change.recording)
    return FindingChangeText(
        SIGN[change.change],
        change.change,
        change.finding.severity,
        text.title,
        text.cost if change.new.found else "",
        _counts(change),
        text.next_steps[:1] if change.new.found else (),
    )


def _counts(change: FindingChange) -> str:
    """Return ``fell-back: in 3 of 3 runs of NEW, in 0 of 3 runs of BASE``; on both sides, with the cost."""
    is_on_both = bool(change.base.lost_ns and change.new.lost_ns)
    has_cost = is_on_both and not change.kind.is_per_run
    if change.new.runs == 1 and _side("NEW", change.base, has_cost) == _side("NEW", change.new, has_cost):
        return f"{change.kind}: {_side('BASE and NEW', change.new, has_cost)}"
    sides = sorted((("BASE", change.base), ("NEW", change.new)), key=lambda pair: not pair[1].found)
    return f"{change.kind}: {', '.join(_side(name, side, has_cost) for name, side in sides)}"


def _side(name: str, side: FindingSide, has_cost: bool) -> str:
    if not side.found and side.unseen:
        return f"not shown in {name}, because {side.reason}"
    if side.runs > 1:
        found = f"in {side.found} of {plural(side.runs, 'run')} of {name}"
    else:
        found = f"{'in' if side.found else 'not in'} {name}"
    lost = sum(side.lost_ns) / len(side.lost_ns) if has_cost else 0
    return f"{found} ({format_duration(round(lost))} lost per call)" if lost else found
