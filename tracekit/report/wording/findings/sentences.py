"""``Sentences``: what a finding's kind contributes to its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.kind import Kind, Numbers
from tracekit.frozen import frozen


@frozen
class Sentences:
    """What happened, in one sentence; what it costs; and what else is known. Each may be "" but the first."""

    title: str
    cost: str = ""
    detail: str = ""


def pair_sentences(
    kind: Kind[Numbers], write: Callable[[Finding[Numbers]], Sentences]
) -> tuple[Kind[Any], Callable[[Finding[Any]], Sentences]]:
    """Return a kind with the function that writes its sentences, whose findings have the kind's numbers."""
    return kind, write
