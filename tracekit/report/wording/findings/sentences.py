"""``Sentences``: what a finding's kind contributes to its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentences:
    """What happened, in one sentence; what it costs; and what else is known. Each may be "" but the first."""

    title: str
    cost: str = ""
    detail: str = ""
