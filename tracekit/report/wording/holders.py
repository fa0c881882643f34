"""Processes that held memory on the Neural Engine, as rows and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.text import format_duration, plural, printable

if TYPE_CHECKING:
    from tracekit.analysis.engine_holders import EngineHolder, EngineHolders

HOLDERS_HEADER = ("process", "most", "from", "to", "calls at that time")


_SHOWS_NO_WORK = "That shows neither that they ran nor which call they served."


def describe_holders(found: EngineHolders) -> str:
    """Return the sentence about samples of held memory that lie over no recording."""
    if not found.holders:
        return "No process that could be read held memory on the Neural Engine."
    holder, *others = found.holders
    also = f", as did {len(others):,} other process{'es' if len(others) > 1 else ''}" if others else ""
    held = f"{printable(holder.process)} held up to {holder.most_mb:,.1f} MB on the Neural Engine{also}"
    return f"{held}: programs that were loaded, of which nothing here shows that they ran."


def holder_rows(found: EngineHolders) -> list[tuple[str, ...]]:
    """Return a row for each process, those with most memory first; calls are "" where there are none."""
    return [_describe_holder(holder, found) for holder in found.holders]


def _describe_holder(holder: EngineHolder, found: EngineHolders) -> tuple[str, ...]:
    return (
        printable(holder.process),
        f"{holder.most_mb:,.1f} MB",
        format_duration(holder.start_ns) if holder.start_ns > 0 else "the start",
        format_duration(holder.end_ns),
        f"{holder.calls:,} of {found.calls:,}" if found.calls else "",
    )


def holder_notes(found: EngineHolders) -> list[str]:
    """Return what the table means, and which processes it cannot have."""
    notes = []
    if found.holders:
        notes.append(
            f"A process that holds memory on the Neural Engine has programs loaded there. {_SHOWS_NO_WORK}"
        )
    else:
        notes.append("No process that could be read held memory on the Neural Engine.")
    if found.unreadable:
        text = f"Of other users, {plural(found.unreadable, 'running program')} could not be read."
        notes.append(text)
    return notes
