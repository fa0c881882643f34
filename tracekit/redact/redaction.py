"""Redaction of a recording: removes people and other processes, keeps the analysis of its own process.

Rows of other processes are dropped, and so are threads, processes, stacks, frames and binaries that only
they use; rows without a process stay. In every text a home folder becomes ``~``, its user ``user``, a
volume ``volume``, the device's name ``device``, another process's name ``other-process`` (``redact.words``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray, take_texts
from tracekit.model.composite_cells import format_parts
from tracekit.model.tables import StackTable, Table
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.redact.folder_names import find_users_and_volumes
from tracekit.redact.rewriting import TextRewriter, collect_part_texts, rewrite_cells, rewrite_parts
from tracekit.redact.statement import ISSUE
from tracekit.redact.words import PrivateNames

_LABEL = "event-label"
_BUFFER = "cmdbuffer-id"
_MAX_LISTED_PROCESSES = 12
_TEXTS = ("name", "template", "end_reason", "recording_mode", "time_limit")
_PRODUCTS = ("model", "platform", "os", "instruments", "start", "end")
"""Facts of a run that consist of product names; a device's or process's name may be one of these."""


@frozen
class Redaction:
    """Plan of what to drop, for all runs of a recording; see ``plan_redaction``.

    ``own_pids`` are each run's pids that stay; ``buffers`` each run's command buffers of other processes,
    which identify GPU rows without a process.
    """

    own_pids: Mapping[int, frozenset[int]]
    rewriter: TextRewriter
    buffers: Mapping[int, frozenset[int]]


def plan_redaction(
    runs: Sequence[RunInfo],
    tables: Mapping[int, Sequence[Table]],
    process: str | None = None,
    more_texts: Sequence[str] = (),
) -> Redaction:
    """Return the plan for a recording, from each run's tables and further texts.

    The own process is ``process`` (a name or a pid), else the run's target, else the only process. Raises
    ``UsageError`` if there is none.
    """
    processes = {run.info.run: _collect_processes(tables.get(run.info.run, ())) for run in runs}
    own_pids = {run.info.run: _find_own_pids(run, processes[run.info.run], process) for run in runs}
    if process is not None and not any(own_pids.values()):
        raise UsageError(f"No process is called '{process}'; the recording has {_list_processes(processes)}.")
    own_names = {name for run, pairs in processes.items() for pid, name in pairs if pid in own_pids[run]}
    own_names |= {run.info.process for run in runs if run.info.pid in own_pids[run.info.run]}
    other_names = {name for run in processes.values() for _, name in run}
    other_names = other_names.union(*({run.info.process, *run.process_names} for run in runs)) - own_names
    devices = {run.info.device for run in runs if not _is_part(run.info.device, run.info.model)}
    table_texts = (texts for run_tables in tables.values() for texts in _iter_table_texts(run_tables))
    texts = dict.fromkeys(chain(more_texts, *map(_collect_run_texts, runs), *table_texts))
    users, volumes = find_users_and_volumes(list(texts))
    names = PrivateNames(
        own=frozenset(own_names - {""}),
        others=frozenset(other_names - {""}),
        devices=frozenset(devices - {""}),
        users=frozenset(users - {""}),
        volumes=frozenset(volumes - {""}),
    )
    rewriter = TextRewriter(names)
    buffers = {
        number: _find_foreign_buffers(tables.get(number, ()), pids) for number, pids in own_pids.items()
    }
    return Redaction(own_pids, rewriter, buffers)


def redact_run(run: RunInfo, plan: Redaction) -> RunInfo:
    """Return a run's redacted information. The caller must recount the rows of its tables."""
    info, number, text = run.info, run.info.run, plan.rewriter.rewrite_text
    pids, own = sorted(plan.own_pids[number]), plan.rewriter.names.own
    only_name = next(iter(own)) if len(own) == 1 else ""
    is_own = _is_own(info, plan.own_pids[number], own)
    rewritten: dict[str, Any] = {name: text(getattr(info, name)) for name in _TEXTS}
    rewritten |= {name: plan.rewriter.rewrite_code([getattr(info, name)])[0] for name in _PRODUCTS}
    redacted_info = replace(
        info,
        **rewritten,
        device="",
        process=plan.rewriter.rewrite_own_names([info.process if is_own else only_name])[0],
        pid=info.pid if is_own or len(pids) != 1 else pids[0],
    )
    table_texts = [text for table in run.tables for text in (table.location, *table.attributes.values())]
    words = iter(plan.rewriter.rewrite_texts(table_texts))
    tables = [
        replace(table, location=next(words), attributes={name: next(words) for name in table.attributes})
        for table in run.tables
    ]
    names = plan.rewriter.rewrite_own_names(sorted(run.process_names & own))
    return RunInfo(redacted_info, tuple(tables), run.pids & plan.own_pids[number], frozenset(names))


def redact_issues(issues: Iterable[Issue], plan: Redaction) -> tuple[Issue, ...]:
    """Return redacted issues, and the issue that states what was redacted and what was not."""
    recorded_issues = (issue for issue in issues if issue.code != ISSUE.code)
    reworded = [
        replace(issue, message=plan.rewriter.rewrite_text(issue.message)) for issue in recorded_issues
    ]
    return (*dict.fromkeys(reworded), ISSUE)


def redact_table(table: Table, plan: Redaction) -> Table:
    """Return a table without rows of other processes and without entities that only such rows use."""
    own_pids = plan.own_pids[table.run]
    keep_rows = ~(
        _is_of_other_process(_find_row_pids(table), own_pids)
        | _has_foreign_buffer(table, plan.buffers[table.run])
    )
    rows = table.rows[keep_rows].reset_index(drop=True)
    keep_threads = ~_is_of_other_process(table.threads["pid"].to_numpy(np.int64), own_pids)
    keep_processes = ~_is_of_other_process(table.processes["pid"].to_numpy(np.int64), own_pids)
    thread_rows = _find_used_ids(table, rows, "thread", keep_threads)
    process_rows = _find_used_ids(table, rows, "process", keep_processes)
    stack_rows = _find_used_ids(table, rows, "stack", np.ones(len(table.stacks), np.bool_))
    moved = {"thread": thread_rows, "process": process_rows, "stack": stack_rows}
    for column in table.columns:
        cells = rows[column.mnemonic]
        if column.kind in moved:
            rows[column.mnemonic] = _renumber_ids(cells, moved[column.kind])
        elif column.kind == "parts":
            rows[column.mnemonic] = rewrite_cells(
                cells, lambda distinct: rewrite_parts(plan.rewriter, own_pids, distinct)
            )
        elif column.kind == "text":
            rows[column.mnemonic] = rewrite_cells(cells, plan.rewriter.rewrite_texts)
    return replace(
        table,
        rows=rows,
        threads=_redact_threads(table.threads, thread_rows, plan.rewriter),
        processes=_redact_processes(table.processes, process_rows, plan.rewriter),
        stacks=_redact_stacks(table.stacks, stack_rows, plan.rewriter),
        attributes=_redact_attributes(table.attributes, plan),
    )


def replace_labels(table: Table, labels: Mapping[str, str]) -> Table:
    """Return a Neural Engine table with labels replaced, in the type of each cell."""
    if _LABEL not in table.rows.columns:
        return table
    cells = rewrite_cells(
        table.rows[_LABEL], lambda distinct: [_replace_label(cell, labels) for cell in distinct]
    )
    return replace(table, rows=table.rows.assign(**{_LABEL: cells}))


# Texts ----------------------------------------------------------------------------------------------------


def _is_part(device: str, model: str) -> bool:
    """Return True for a part of a product name, such as ``iPhone`` of ``iPhone 15``: it is not private."""
    return device.casefold() in model.casefold()


def _collect_run_texts(run: RunInfo) -> list[str]:
    texts = [str(getattr(run.info, name)) for name in (*_TEXTS, *_PRODUCTS, "device", "process")]
    table_texts = (text for table in run.tables for text in (*table.attributes.values(), table.location))
    return [*texts, *run.process_names, *table_texts]


def _iter_table_texts(tables: Iterable[Table]) -> Iterator[list[str]]:
    """Yield the distinct texts of each column; threads and stacks shared by several tables occur once."""
    visited_frame_ids: set[int] = set()
    for table in tables:
        yield list(table.attributes.values())
        for column in table.columns:
            cells = table.rows[column.mnemonic]
            if column.kind == "text":
                yield cells.cat.categories.tolist()
            elif column.kind == "parts":
                yield [text for cell in pd.unique(cells.dropna()) for text in collect_part_texts(cell)]
        stacks = table.stacks
        for frame in (table.threads, table.processes, stacks.frames, stacks.binaries):
            if id(frame) not in visited_frame_ids:
                visited_frame_ids.add(id(frame))
                for name in frame.select_dtypes(["str", "category"]).columns:
                    yield pd.Categorical(frame[name]).categories.tolist()


# Ownership ------------------------------------------------------------------------------------------------


def _collect_processes(tables: Iterable[Table]) -> set[tuple[int, str]]:
    pairs: set[tuple[int, str]] = set()
    for table in tables:
        threads = table.threads[["pid", "process"]].itertuples(index=False, name=None)
        pairs.update(threads, table.processes[["pid", "name"]].itertuples(index=False, name=None))
    return {(int(pid), str(name)) for pid, name in pairs if pid >= 0}


def _find_own_pids(run: RunInfo, processes: set[tuple[int, str]], process: str | None) -> frozenset[int]:
    if process is not None:
        return frozenset(pid for pid, name in processes if process in (name, str(pid)))
    if run.info.pid is not None:
        return frozenset([run.info.pid])
    matching_pids = frozenset(pid for pid, name in processes if name and name == run.info.process)
    pids = frozenset(pid for pid, _ in processes)
    if matching_pids or len(pids) <= 1:
        return matching_pids or pids
    raise UsageError(
        f"Run {run.info.run} has no target process: name the process to keep with --process."
        f" It has {_list_processes({run.info.run: processes})}."
    )


def _is_own(info: TraceInfo, pids: frozenset[int], names: frozenset[str]) -> bool:
    return info.process in names if info.pid is None else info.pid in pids


def _list_processes(processes: Mapping[int, set[tuple[int, str]]]) -> str:
    process_labels = sorted({f"{name} ({pid})" for run in processes.values() for pid, name in run})
    more = (
        f" and {len(process_labels) - _MAX_LISTED_PROCESSES} more"
        if len(process_labels) > _MAX_LISTED_PROCESSES
        else ""
    )
    return (", ".join(process_labels[:_MAX_LISTED_PROCESSES]) or "none") + more


def _find_row_pids(table: Table) -> IntArray:
    """Return each row's process, else that of its thread, else the number in a column of pids; or -1."""
    pids = np.full(len(table), -1, np.int64)
    for kind, frame in (("process", table.processes), ("thread", table.threads)):
        entity_pids = np.append(frame["pid"].to_numpy(np.int64), -1)
        for column in table.columns:
            if column.kind == kind:
                pids = np.where(pids < 0, entity_pids[table.rows[column.mnemonic].to_numpy()], pids)
    return np.where(pids < 0, _read_integers(table, "pid"), pids)


def _read_integers(table: Table, name: str) -> IntArray:
    """Return a column of integers as int64, -1 for null cells and for a missing column."""
    column = next(
        (candidate for candidate in table.columns if candidate.mnemonic == name and candidate.kind == "int"),
        None,
    )
    if column is None or str(table.rows[name].dtype) not in ("Int64", "UInt64"):
        return np.full(len(table), -1, np.int64)
    cells = table.rows[name]
    words = cells.fillna(0).to_numpy(str(cells.dtype).lower()).astype(np.int64)
    return np.where(cells.isna().to_numpy(np.bool_), np.int64(-1), words)


def _is_of_other_process(pids: IntArray, own_pids: frozenset[int]) -> BoolArray:
    of_other: BoolArray = (pids >= 0) & ~np.isin(pids, sorted(own_pids))
    return of_other


def _find_foreign_buffers(tables: Iterable[Table], own_pids: frozenset[int]) -> frozenset[int]:
    """Return the command buffers that belong to exactly one process, and to a process that is removed."""
    owners: dict[int, set[int]] = {}
    for table in tables:
        buffers, pids = _read_integers(table, _BUFFER), _find_row_pids(table)
        has_owner = (buffers != -1) & (pids >= 0)
        for buffer, pid in np.unique(
            np.stack([buffers[has_owner], pids[has_owner]], axis=1), axis=0
        ).tolist():
            owners.setdefault(buffer, set()).add(pid)
    return frozenset(buffer for buffer, pids in owners.items() if len(pids) == 1 and not pids & own_pids)


def _has_foreign_buffer(table: Table, buffers: frozenset[int]) -> BoolArray:
    uses_buffer: BoolArray = np.isin(_read_integers(table, _BUFFER), sorted(buffers)) & (
        _find_row_pids(table) < 0
    )
    return uses_buffer


# Remaining rows and entities ------------------------------------------------------------------------------


def _find_used_ids(table: Table, rows: pd.DataFrame, kind: str, keep: BoolArray) -> IntArray:
    """Return the sorted ids of a kind of entities that rows refer to and ``keep`` allows."""
    references = [rows[column.mnemonic].to_numpy(np.int64) for column in table.columns if column.kind == kind]
    ids = np.unique(np.concatenate([np.zeros(0, np.int64), *references]))
    ids = ids[ids >= 0]
    used: IntArray = ids[keep[ids]]
    return used


def _renumber_ids(ids: Any, kept_ids: IntArray) -> npt.NDArray[np.int32]:
    """Return the ids after all but ``kept_ids`` are dropped and renumbered; -1 for dropped ones."""
    # kept_ids is ascending, so the new id is the position of the old one:
    #   kept_ids 2 5 9    ids 5 2 7 -1    new ids 1 0 -1 -1
    numbers = np.asarray(ids, np.int64)
    if not len(kept_ids):
        return np.full(len(numbers), -1, np.int32)
    positions = np.minimum(np.searchsorted(kept_ids, numbers), len(kept_ids) - 1)
    return np.where(kept_ids[positions] == numbers, positions, -1).astype(np.int32)


def _redact_threads(threads: pd.DataFrame, kept_ids: IntArray, rewriter: TextRewriter) -> pd.DataFrame:
    frame = threads.take(kept_ids).reset_index(drop=True)
    names, processes = (
        rewriter.rewrite_texts(frame["name"].tolist()),
        rewriter.rewrite_own_names(frame["process"].tolist()),
    )
    return frame.assign(name=pd.array(names, dtype="str"), process=pd.array(processes, dtype="str"))


def _redact_processes(processes: pd.DataFrame, kept_ids: IntArray, rewriter: TextRewriter) -> pd.DataFrame:
    frame = processes.take(kept_ids).reset_index(drop=True)
    return frame.assign(name=pd.array(rewriter.rewrite_own_names(frame["name"].tolist()), dtype="str"))


def _redact_stacks(stacks: StackTable, kept_ids: IntArray, rewriter: TextRewriter) -> StackTable:
    # Stacks, then the frames that remaining stacks use, then the binaries that remaining frames use: each
    # level is renumbered in ascending order of its old ids.
    lengths = np.diff(stacks.offsets)
    is_kept = np.zeros(len(stacks), np.bool_)
    is_kept[kept_ids] = True
    old_ids = stacks.frame_ids[np.repeat(is_kept, lengths)]
    frame_rows = np.unique(old_ids).astype(np.int64)
    frames = stacks.frames.take(frame_rows).reset_index(drop=True)
    old_binaries = frames["binary_id"].to_numpy(np.int64)
    binary_rows = np.unique(old_binaries[old_binaries >= 0])
    binaries = stacks.binaries.take(binary_rows).reset_index(drop=True)
    offsets = np.concatenate([[0], np.cumsum(lengths[is_kept])]).astype(np.int64)

    def as_strings(texts: Sequence[str]) -> Any:
        return pd.array(list(texts), dtype="str")

    def renamed(column: pd.Series[Any], rename: Callable[[Sequence[str]], Sequence[str]]) -> Any:
        """Rewrite each text once: frames share texts."""
        category = pd.Categorical(column)
        return take_texts(category.codes, rename(category.categories.tolist()))

    return StackTable(
        offsets,
        _renumber_ids(old_ids, frame_rows),
        frames.assign(
            binary_id=_renumber_ids(old_binaries, binary_rows),
            symbol=renamed(frames["symbol"], rewriter.rewrite_code),
            source_file=renamed(frames["source_file"], rewriter.rewrite_texts),
        ),
        binaries.assign(
            name=as_strings(rewriter.rewrite_binaries(binaries["name"].tolist(), binaries["path"].tolist())),
            path=as_strings(rewriter.rewrite_texts(binaries["path"].tolist())),
            uuid=as_strings(rewriter.rewrite_code(binaries["uuid"].tolist())),
            arch=as_strings(rewriter.rewrite_code(binaries["arch"].tolist())),
        ),
    )


def _redact_attributes(attributes: Mapping[str, str], plan: Redaction) -> dict[str, str]:
    return dict(zip(attributes, plan.rewriter.rewrite_texts(list(attributes.values())), strict=True))


def _replace_label(cell: Any, labels: Mapping[str, str]) -> Any:
    """Return the replacement for a label of another process's model, in the form of the cell."""
    if isinstance(cell, tuple):
        label = format_parts(cell)
        return (("string", labels[label]),) if label in labels else cell
    return labels.get(cell, cell)
