"""The sentences of checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracekit.checks.issue_codes import is_damage
from tracekit.checks.plans.plan_requirements import PlanRequirement
from tracekit.checks.requirements import Absence, EnginePresence, Kind
from tracekit.checks.results import CheckResult, MetricValue, WorstWindow
from tracekit.model.trace import Issue
from tracekit.report.checks.plan_wording import describe_plan_value
from tracekit.report.checks.values import describe_range, value_text
from tracekit.report.wording.findings import finding_text
from tracekit.text import join_words, plural


def requirement_text(result: CheckResult) -> str:
    """Return ``require p90 <= 8ms`` or ``forbid CPU execute``."""
    return f"{'forbid' if result.requirement.forbids else 'require'} {result.requirement.text}"


def sentence(results: Sequence[CheckResult]) -> str:
    """Return the counts of requirements that passed, failed, and not measurable."""
    counts = Counter(result.outcome for result in results)
    if set(counts) == {"passed"}:
        return f"{plural(len(results), 'requirement')} passed."
    parts = [f"{counts['failed']:,} failed"] if counts["failed"] else []
    parts += [f"{counts['open']:,} open"] if counts["open"] else []
    parts += [f"{counts['not measurable']:,} not measurable"] if counts["not measurable"] else []
    return f"Of {plural(len(results), 'requirement')}, {join_words(parts)}; {counts['passed']:,} passed."


MOST_WARNINGS = 10
MOST_TITLES = 5


def warnings(issues: Sequence[Issue]) -> list[Issue]:
    """Return the warnings about the recording and its analysis, damage first."""
    listed = [issue for issue in issues if issue.severity != "info"]
    return sorted(listed, key=lambda issue: not is_damage(issue))


def more_warnings(issues: Sequence[Issue]) -> str:
    """Return a line on the warnings beyond those that are listed; "" where there are none."""
    more = len(issues) - MOST_WARNINGS
    return f"… and {plural(more, 'more warning')}: tracekit analyze lists them" if more > 0 else ""


def reason(result: CheckResult) -> str:
    """Return the actual value, its basis, the number of calls and the worst of them, or why there is none."""
    actual = result.actual
    if isinstance(result.requirement, PlanRequirement):
        return describe_plan_value(result.requirement, result.outcome, actual)
    if actual.missing:
        return actual.missing
    rule = result.requirement.rule
    if isinstance(rule, Absence):
        return _findings(rule, actual)
    value = (
        _window_count(actual)
        if isinstance(rule, EnginePresence)
        else f"{rule.metric.judged_name} is {describe_range(actual)}"
    )
    facts = [actual.basis] if actual.basis else []
    facts += (
        [plural(actual.windows, actual.noun)]
        if actual.windows and not isinstance(rule, EnginePresence)
        else []
    )
    facts += [plural(actual.runs, "run")] if actual.runs > 1 else []
    text = f"{value} ({', '.join(facts)})" if facts else value
    if actual.note:
        text += f"; {actual.note}"
    if actual.worst is not None and result.outcome != "passed":
        text += f"; {_worst(actual.worst, actual.kind, isinstance(rule, EnginePresence))}"
    return text


def _findings(rule: Absence, actual: MetricValue) -> str:
    """Return the titles of the findings that a requirement excludes, or that there is none."""
    runs = f", {plural(actual.runs, 'run')}" if actual.runs > 1 else ""
    note = f"; {actual.note}" if actual.note else ""
    if not actual.findings or actual.recording is None:
        where = f" in {plural(actual.windows, 'call')}" if actual.windows else ""
        return f"no {rule.name}{where}{runs}{note}"
    titles = [finding_text(finding, actual.recording).title for finding in actual.findings[:MOST_TITLES]]
    left_out = len(actual.findings) - len(titles)
    more = f" … and {left_out:,} more" if left_out else ""
    text = f"{' '.join(titles)}{more}"
    return f"{text.removesuffix('.')}{note}" if note else text


def _window_count(actual: MetricValue) -> str:
    low = int(actual.low or 0)
    return f"seen in {low:,} of {plural(actual.windows, 'call')}"


def _worst(worst: WorstWindow, kind: Kind, first: bool) -> str:
    value = "" if worst.value is None else f" with {value_text(worst.value, kind)}"
    # Calls that either have an engine or not have no worst: the first of them is named.
    which = "first" if first or worst.value is None else "worst"
    where = "the range" if worst.call is None else f"call {worst.call:,} of"
    return f"{which} in {where} {worst.label} at {worst.start_ns / 1e6:,.3f} ms{value}"
