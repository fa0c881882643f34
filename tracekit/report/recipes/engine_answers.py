"""Replies about engines and the machine: other users of the Neural Engine, energy, and another recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.availability import Use, find_ane_use
from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.ownership.owners import Owner
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import Engine
from tracekit.report.document.blocks import Item, Items, Table
from tracekit.report.recipes.query import Query, RecipeAnswer, Reply, Shortfall
from tracekit.report.recipes.shortfalls import (
    require_base,
    require_calls,
    require_lengths,
    require_neural_engine,
    require_power,
)
from tracekit.report.wording.names import shorten_model_name
from tracekit.report.wording.power import power_lines
from tracekit.text import clip, format_duration, format_rounded, plural, printable

_NAME_WIDTH = 60

_UNCERTAIN = {
    Use.ANE_NOT_COUNTED: "No stack of this app shows the Neural Engine: its work ({rows}) is another"
    " process's, or of the app and not seen in its calls.",
    Use.ANE_UNCHECKED: "Whether another process used the Neural Engine cannot be checked: its table ({rows})"
    " names no process, and no model that the app's calls name.",
}
"""The answer where the rows of the Neural Engine cannot be assigned to processes."""


@dataclass(frozen=True)
class _Use:
    """The work of the Neural Engine for one owner: ``is_app`` where that is a process of the calls."""

    name: str
    rows: int
    time_ns: int
    is_app: bool


def find_no_ane_rows(query: Query) -> Shortfall | None:
    """Return a shortfall where no row of the Neural Engine reports work."""
    return None if _list_uses(query) else Shortfall("no row of the Neural Engine's table reports work")


def answer_neighbours(query: Query) -> Reply:
    """Return whose work the Neural Engine did."""
    uses = _list_uses(query)
    count = sum(use.rows for use in uses)
    rows = plural(count, "row")
    body = [(use.name, f"{use.rows:,}", format_rounded(use.time_ns)) for use in uses]
    table = Table.from_rows(("owner", "rows", "time"), body, numbers={"rows", "time"}, caption="Owners")
    ane_use = find_ane_use(query.analysis.evidence)
    if ane_use in _UNCERTAIN:
        return Reply(_UNCERTAIN[ane_use].format(rows=rows), (table,))
    if all(use.name == _OTHER_OWNERS[Owner.CONTESTED] for use in uses):
        return Reply(f"The recording leaves open for whom the Neural Engine worked ({rows}).", (table,))
    apps = [use for use in uses if use.is_app]
    others = [use for use in uses if not use.is_app]
    if others or len(apps) > 1:
        named = ", ".join(f"{use.name} {format_duration(use.time_ns)}" for use in (*apps, *others))
        return Reply(f"The Neural Engine's {rows} by owner: {named}.", (table,))
    whole = "its only row is" if count == 1 else f"all of its {rows} are"
    owner = f"{apps[0].name} ({format_duration(apps[0].time_ns)})"
    return Reply(f"No other process is seen on the Neural Engine: {whole} of {owner}.", (table,))


def _list_uses(query: Query) -> list[_Use]:
    """Return the owners of the Neural Engine's work, those of calls first, each with its rows."""
    analysis = query.analysis
    assignment = analysis.measured.assignment
    intervals = analysis.trace.intervals.iloc[analysis.measured.rows]
    is_ane = is_among(intervals["source"], *ANE_TABLES) & is_among(intervals["engine"], Engine.ANE)
    lengths = (intervals["end_ns"] - intervals["start_ns"]).to_numpy(np.int64)
    pids = np.full(len(intervals), _NO_PROCESS, np.int64)
    pids[assignment.owned_row] = analysis.window_rows["pid"].to_numpy(np.int64)[assignment.owned_call]
    uses = []
    is_of_call = is_ane & assignment.is_owner(Owner.CALL)
    for pid in np.unique(pids[is_of_call]).tolist():
        mask = is_of_call & (pids == pid)
        uses.append(_Use(_name_process(query, pid), int(mask.sum()), int(lengths[mask].sum()), True))
    for owner, name in _OTHER_OWNERS.items():
        mask = is_ane & assignment.is_owner(owner)
        if mask.any():
            is_app = owner is Owner.PROCESS
            # Ranges that are given own no work: what lies in them is the app's.
            owner_name = "the app" if is_app and not query.calls.is_timed else name
            uses.append(_Use(owner_name, int(mask.sum()), int(lengths[mask].sum()), is_app))
    return uses


_NO_PROCESS = -1
_OTHER_OWNERS = {
    Owner.PROCESS: "the app outside calls",
    Owner.OTHER: "other processes",
    Owner.CONTESTED: "an owner that the recording leaves open",
}


def _name_process(query: Query, pid: int) -> str:
    """Return the name of a process of calls; "calls" where a table names none."""
    threads = query.analysis.trace.threads
    is_process = (threads["pid"] == pid).to_numpy(bool) & (pid != _NO_PROCESS)
    name = next((name for name in threads["process"][is_process].tolist() if name), "")
    if not name:
        return "calls"
    is_twin = ((threads["process"] == name) & (threads["pid"] != pid)).to_numpy(bool).any()
    number = f" (process {pid})" if is_twin else ""
    return f"calls of {clip(printable(name), _NAME_WIDTH)}{number}"


def find_no_energy(query: Query) -> Shortfall | None:
    """Return a shortfall where power is measured, and no call can be priced."""
    power = query.analysis.power
    priced = power is not None and any(entry.energy_mj is not None for entry in power.calls)
    return None if priced else Shortfall("its samples of power lie wholly inside of no run of calls")


def answer_energy(query: Query) -> Reply:
    """Return the energy of a call on each rail that measures it."""
    power = query.analysis.power
    lines = power_lines(power)
    priced = [entry for entry in power.calls if entry.energy_mj is not None] if power else []
    model = f"A call of {shorten_model_name(priced[0].model)}" if priced and priced[0].model else "A call"
    amounts = ", ".join(
        f"{entry.energy_mj:.3g} mJ ({entry.rail})"
        for entry in priced
        if (entry.model, entry.pid) == (priced[0].model, priced[0].pid)
    )
    text = f"{model} took {amounts}: inferred from the power of the whole device while calls ran."
    return Reply(text, (Items(tuple(map(Item, lines))),))


def answer_change(query: Query) -> Reply:
    """Return what differs from another recording."""
    assert query.base is not None  # by require_base
    from tracekit.comparison.compare import compare
    from tracekit.report.comparison.document import build_document
    from tracekit.report.comparison.headline import sentence

    comparison = compare(query.base, query.analysis)
    return Reply(sentence(comparison), build_document(comparison)[1:4])


ENGINE_ANSWERS = {
    "engine-users": RecipeAnswer(answer_neighbours, (require_neural_engine, find_no_ane_rows)),
    "energy": RecipeAnswer(answer_energy, (require_power, require_calls, find_no_energy)),
    "slower": RecipeAnswer(answer_change, (require_calls, require_lengths, require_base)),
}
