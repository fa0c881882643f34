"""Notes that qualify a checked number: calls of unknown engine, the worst call, names that a scope has."""

from __future__ import annotations

from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.checks.results import WorstWindow
from tracekit.comparison.observations import Observations
from tracekit.text import plural

MOST_LISTED_NAMES = 8


def join_notes(*notes: str) -> str:
    """Return the notes that are not empty, as one."""
    return "; ".join(filter(None, notes))


def note_unknown_engines(count: int) -> str:
    """Return the note about calls whose engine is not known."""
    return f"the engine of {plural(count, 'call')} is unknown" if count else ""


def note_contested_calls(count: int) -> str:
    """Return the note about calls during which an engine worked for an unknown owner."""
    return (
        f"in {plural(count, 'call')} the engine worked, for this call or for another owner" if count else ""
    )


def explain_empty_scope(observations: Observations, scope: str) -> str:
    """Return the reason why a scope has no window, with the valid names."""
    if not scope or not observations.count:
        return "there is no call"
    names = observations.names()
    listed_names = ", ".join(names[:MOST_LISTED_NAMES])
    more = f" and {len(names) - MOST_LISTED_NAMES} more" if len(names) > MOST_LISTED_NAMES else ""
    return f"no call has the model or label '{scope}'; the calls have {listed_names}{more}"


def describe_worst(observations: Observations, row: int, value: float | None = None) -> WorstWindow:
    """Return a window as the one that is furthest from a requirement."""
    name = str(observations.model[row] or observations.label[row])
    window = int(observations.windows["window_id"].iloc[row])
    is_call = str(observations.source[row]) not in GIVEN_SOURCES
    call = int(observations.analysis.call_numbers[row]) if is_call else None
    return WorstWindow(window, call, int(observations.starts[row]), name, value)
