"""``finding_text``: one finding as sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracekit.analysis.classification.leading_frames import shorten
from tracekit.analysis.findings.find import MORE_FINDINGS, MoreNumbers
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.kind import Kind
from tracekit.frozen import frozen
from tracekit.model.schemas import STACK_COUNTS
from tracekit.model.trace import TraceInfo
from tracekit.report.wording.findings import (
    beside,
    cold_start,
    contention,
    copies,
    cores,
    generation,
    latency,
    operators,
    partial,
    placement,
    recording,
    refusals,
    requested,
    waiting,
)
from tracekit.report.wording.findings.actions import NextStep, next_steps
from tracekit.report.wording.findings.cost import write_cost
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.text import clip, plural, printable

_SYMBOL_WIDTH = 60
_MOST_SUPPORT = 4


@frozen
class FindingText:
    """A finding in words: ``title`` is one sentence, ``cost`` the numbers, ``detail`` what else is known.

    ``lost`` is the time lost in the same phrase for all kinds, or why it is not known.
    ``basis`` says how it is known; ``next_steps`` have a command each where there is one. ``explanation``
    is the command that explains its kind.
    """

    title: str
    lost: str
    cost: str
    detail: str
    basis: str
    next_steps: tuple[NextStep, ...]
    explanation: str

    @property
    def whole_cost(self) -> str:
        """The time lost with the numbers."""
        return " ".join(filter(None, (self.lost, self.cost)))


def _write_more_findings(finding: Finding[MoreNumbers]) -> Sentences:
    """Write the numbers of findings that are not listed."""
    listed = ", ".join(f"{count:,} × {kind}" for kind, count in finding.numbers["kinds"].items())
    return Sentences(f"More findings of the same kinds are not listed: {listed}.")


SENTENCES: Mapping[Kind[Any], Callable[[Finding[Any]], Sentences]] = {
    **beside.SENTENCES,
    **cold_start.SENTENCES,
    **contention.SENTENCES,
    **copies.SENTENCES,
    **cores.SENTENCES,
    **generation.SENTENCES,
    **latency.SENTENCES,
    **operators.SENTENCES,
    **partial.SENTENCES,
    **placement.SENTENCES,
    **recording.SENTENCES,
    **refusals.SENTENCES,
    **requested.SENTENCES,
    **waiting.SENTENCES,
    **dict((pair_sentences(MORE_FINDINGS, _write_more_findings),)),
}
"""For each kind, what happened in words."""


def finding_texts(findings: Sequence[Finding[Any]], info: TraceInfo) -> list[FindingText]:
    """Return findings of the recording ``info`` in words."""
    return [finding_text(finding, info) for finding in findings]


def finding_text(finding: Finding[Any], info: TraceInfo) -> FindingText:
    """Return one finding in words; names of the recording are shortened and printable."""
    sentences = SENTENCES[finding.kind](finding)
    return FindingText(
        sentences.title,
        write_cost(finding, info),
        sentences.cost,
        sentences.detail,
        _write_basis(finding),
        tuple(next_steps(finding.actions, info)),
        f"tracekit explain {finding.kind}",
    )


def _write_basis(finding: Finding[Any]) -> str:
    """Return ``Measured: 6 rows of ane-hw-intervals; …``, ``Likely (sampled): …``; "" for a plain count."""
    is_certain = finding.confidence == "certain"
    known = str(finding.basis).capitalize()
    known = known if is_certain else f"{finding.confidence.capitalize()} ({finding.basis})"
    parts = [_write_support(entry) for entry in finding.support[:_MOST_SUPPORT]]
    if is_certain and not parts:
        return ""
    return f"{known}: {'; '.join(parts)}." if parts else f"{known}."


def _write_support(support: Support) -> str:
    source = clip(printable(support.source), _SYMBOL_WIDTH)
    if support.kind == "frame":
        where = f"{printable(shorten(support.detail, _SYMBOL_WIDTH))} in {source or 'an unknown binary'}"
        return f"{where} ({plural(support.count, 'sample')} of one call)" if support.count else where
    detail = clip(printable(support.detail), _SYMBOL_WIDTH)
    if support.source == STACK_COUNTS:
        return plural(support.count, "sample")
    noun = "row" if support.kind == "table" else "line"
    text = f"{plural(support.count, noun)} of {source}" if support.count else source
    return f"{text} ({detail})" if detail else text
