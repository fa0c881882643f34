"""Findings in markup: what happened, what it costs, how that is known, and the next step with its command."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.recording import LIMIT_KINDS
from tracekit.model.trace import Severity, TraceInfo
from tracekit.report.html.elements import Html, join, tag
from tracekit.report.viewmodel.findings import MOST_FINDINGS
from tracekit.report.wording.findings import NextStep, finding_text
from tracekit.text import plural

SIGN: dict[Severity, tuple[str, str]] = {
    "error": ("✕", "Error"),
    "warning": ("!", "Warning"),
    "info": ("i", "Note"),
}
"""The sign and the word of a severity: colour is never the only mark."""
MOST_UNFOLDED = 5
NOTHING_FOUND = "Nothing stands out: none of the findings of docs/findings.md applies to this recording."


def findings_html(findings: Sequence[Finding], info: TraceInfo) -> Html:
    """Return findings as a list in their order; those after the first few are folded.

    The page's script adds a link into the timeline to each: ``data-finding`` is its position in the view's
    ``findings``. Limits of the recording stand elsewhere (``limits_html``).
    """
    numbered = [entry for entry in enumerate(findings) if entry[1].kind not in LIMIT_KINDS]
    if not numbered:
        return tag("p", NOTHING_FOUND)
    items = [_item(number, finding, info) for number, finding in numbered[:MOST_FINDINGS]]
    shown, folded = items[:MOST_UNFOLDED], items[MOST_UNFOLDED:]
    left_out = len(numbered) - len(items)
    more = f"{plural(len(folded), 'more finding')}, of less weight"
    return join(
        [
            tag("ol", *shown, class_="findings"),
            tag("details", tag("summary", more), tag("ol", *folded, class_="findings")) if folded else None,
            tag("p", f"… and {left_out:,} more: see the JSON output", class_="note") if left_out else None,
        ]
    )


def limits_html(findings: Sequence[Finding], info: TraceInfo) -> Html | None:
    """Return the findings that are limits of the recording, with what would lift them."""
    items = [
        _item(number, finding, info) for number, finding in enumerate(findings) if finding.kind in LIMIT_KINDS
    ]
    return tag("ol", *items, class_="findings") if items else None


def severity_mark(severity: Severity) -> Html:
    """Return the mark of a severity: a sign in its colour, and its word for those who do not see it."""
    sign, word = SIGN[severity]
    return join(
        [
            tag("span", sign, class_=f"severity severity-{severity}", aria_hidden="true"),
            tag("span", f"{word}: ", class_="unseen"),
        ]
    )


def _item(number: int, finding: Finding, info: TraceInfo) -> Html:
    """Return a finding; of a note only the title, the remainder is folded, so that it hides no warning."""
    text = finding_text(finding, info)
    shown = [
        tag("p", text.cost, class_="cost") if text.cost else None,
        tag("p", text.basis, class_="note") if text.basis else None,
        *(step_html(step) for step in text.next_steps[:1]),
    ]
    folded = [
        tag("p", text.detail) if text.detail else None,
        *(step_html(step) for step in text.next_steps[1:]),
        tag("p", tag("code", finding.kind), f": what it means and what it does not prove is in {text.link}."),
    ]
    if finding.severity == "info":
        shown, folded = [], [*shown, *folded]
    return tag(
        "li",
        tag("h3", severity_mark(finding.severity), text.title),
        *shown,
        tag("details", tag("summary", "More and the next step" if not shown else "More"), *folded),
        class_="finding",
        data_finding=number,
    )


def step_html(step: NextStep) -> Html:
    """Return a next step; a click on the command selects all of it."""
    sentence = tag("p", step.text, class_="next")
    if not step.command:
        return sentence
    return join([sentence, tag("pre", tag("code", step.command), class_="command", tabindex="0")])
