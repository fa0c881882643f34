"""The fields that a recording has of its first analysis, and a variant of its own."""

from __future__ import annotations

from dataclasses import dataclass

STATES = ("waiting", "reading", "ready", "failed", "cancelled", "dropped")


@dataclass(frozen=True, kw_only=True)
class AnalysisState:
    """The progress of an analysis, and what lists show of it. ``message`` and ``verdict`` hold other people's
    text.
    """

    state: str
    """ "waiting", "reading", "ready", "failed" or "cancelled"; of a variant, also "dropped": it is made again
    when it is opened."""
    stage: str = ""
    progress: float | None = None
    """0 to 1 of this stage; None where it is not known."""
    message: str = ""
    """Why it failed; of a ready recording, a note about its file."""
    verdict: str = ""
    duration_ns: int = 0
    samples: int = 0
    windows: int = 0
    engines: str = ""
    """The number of calls by verdict, as a JSON object; "" without calls."""
    p50_ns: int = 0
