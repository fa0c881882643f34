"""Redaction of a recording: no people, no other processes, and the same analysis of its own process.

Rows of other processes are dropped, and so are threads, processes, stacks, frames and binaries that only
they use; rows that name no process stay. In every text a home folder becomes ``~``, its user ``user``, a
volume ``volume``, the device's name ``device``, another process's name ``other-process`` (``redact.words``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import UsageError
from tracekit.model.columns import BoolArray, IntArray, take_texts
from tracekit.model.composite_cells import format_parts
from tracekit.model.tables import StackTable, Table
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.redact.folder_names import users_and_volumes_in
from tracekit.redact.rewriting import TextRewriter, rewrite_cells, rewrite_parts, texts_of_parts
from tracekit.redact.statement import ISSUE
from tracekit.redact.words import Names

_LABEL = "event-label"
_BUFFER = "cmdbuffer-id"
_LISTED = 12
_TEXTS = ("name", "template", "end_reason", "recording_mode", "time_limit")
_PRODUCTS = ("model", "platform", "os", "instruments", "start", "end")
"""Facts of a run in words of products, of which a device's or a process's name may be one."""


@dataclass(frozen=True)
class Redaction:
    """Plan of what to drop, for all runs of a recording; see ``plan_redaction``.

    ``own_pids`` are each run's pids that stay; ``buffers`` each run's command buffers of other processes,
    which identify GPU rows that name no process.
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
    """Return the plan for a recording, given each run's tables, and for texts that go with it.

    The own process is ``process`` (a name or a pid), else the run's target, else the only process. Raises
    ``UsageError`` when there is none.
    """
    processes = {run.info.run: _known_processes(tables.get(run.info.run, ())) for run in runs}
    own_pids = {run.info.run: _own_pids(run, processes[run.info.run], process) for run in runs}
    if process is not None and not any(own_pids.values()):
        raise UsageError(f"No process is called '{process}'; the recording has {_listed(processes)}.")
    own = {name for run, pairs in processes.items() for pid, name in pairs if pid in own_pids[run]}
    own |= {run.info.process for run in runs if run.info.pid in own_pids[run.info.run]}
    others = {name for run in processes.values() for _, name in run}
    others = others.union(*({run.info.process, *run.process_names} for run in runs)) - own
    devices = {run.info.device for run in runs if not _is_part(run.info.device, run.info.model)}
    of_tables = (texts for listed in tables.values() for texts in _texts_of(listed))
    texts = dict.fromkeys(chain(more_texts, *map(_texts_of_run, runs), *of_tables))
    users, volumes = users_and_volumes_in(list(texts))
    names = Names(
        own=frozenset(own - {""}),
        others=frozenset(others - {""}),
        devices=frozenset(devices - {""}),
        users=frozenset(users - {""}),
        volumes=frozenset(volumes - {""}),
    )
    rewriter = TextRewriter(names)
    buffers = {number: _buffers_of_others(tables.get(number, ()), pids) for number, pids in own_pids.items()}
    return Redaction(own_pids, rewriter, buffers)


def redact_run(run: RunInfo, plan: Redaction) -> RunInfo:
    """Return a run's information redacted; the rows of its tables must be counted again."""
    info, number, text = run.info, run.info.run, plan.rewriter.text
    pids, own = sorted(plan.own_pids[number]), plan.rewriter.names.own
    only_name = next(iter(own)) if len(own) == 1 else ""
    is_own = _is_own(info, plan.own_pids[number], own)
    rewritten: dict[str, Any] = {name: text(getattr(info, name)) for name in _TEXTS}
    rewritten |= {name: plan.rewriter.in_code([getattr(info, name)])[0] for name in _PRODUCTS}
    redacted_info = replace(
        info,
        **rewritten,
        device="",
        process=plan.rewriter.of_own([info.process if is_own else only_name])[0],
        pid=info.pid if is_own or len(pids) != 1 else pids[0],
    )
    listed = [text for table in run.tables for text in (table.location, *table.attributes.values())]
    words = iter(plan.rewriter.everywhere(listed))
    tables = [
        replace(table, location=next(words), attributes={name: next(words) for name in table.attributes})
        for table in run.tables
    ]
    names = plan.rewriter.of_own(sorted(run.process_names & own))
    return RunInfo(redacted_info, tuple(tables), run.pids & plan.own_pids[number], frozenset(names))


def redact_issues(issues: Iterable[Issue], plan: Redaction) -> tuple[Issue, ...]:
    """Return issues rewritten, and the issue that states what was redacted and what was not."""
    others = (issue for issue in issues if issue.code != ISSUE.code)
    reworded = [replace(issue, message=plan.rewriter.text(issue.message)) for issue in others]
    return (*dict.fromkeys(reworded), ISSUE)


def redact_table(table: Table, plan: Redaction) -> Table:
    """Return a table without the rows of other processes and the entities that only those use."""
    own_pids = plan.own_pids[table.run]
    keep_rows = ~(
        _of_other_process(_row_pids(table), own_pids) | _uses_buffer_of_others(table, plan.buffers[table.run])
    )
    rows = table.rows[keep_rows].reset_index(drop=True)
    keep_threads = ~_of_other_process(table.threads["pid"].to_numpy(np.int64), own_pids)
    keep_processes = ~_of_other_process(table.processes["pid"].to_numpy(np.int64), own_pids)
    thread_rows = _used(table, rows, "thread", keep_threads)
    process_rows = _used(table, rows, "process", keep_processes)
    stack_rows = _used(table, rows, "stack", np.ones(len(table.stacks), np.bool_))
    moved = {"thread": thread_rows, "process": process_rows, "stack": stack_rows}
    for column in table.columns:
        cells = rows[column.mnemonic]
        if column.kind in moved:
            rows[column.mnemonic] = _moved(cells, moved[column.kind])
        elif column.kind == "parts":
            rows[column.mnemonic] = rewrite_cells(
                cells, lambda distinct: rewrite_parts(plan.rewriter, own_pids, distinct)
            )
        elif column.kind == "text":
            rows[column.mnemonic] = rewrite_cells(cells, plan.rewriter.everywhere)
    return replace(
        table,
        rows=rows,
        threads=_threads(table.threads, thread_rows, plan.rewriter),
        processes=_processes(table.processes, process_rows, plan.rewriter),
        stacks=_stacks(table.stacks, stack_rows, plan.rewriter),
        attributes=_attributes(table.attributes, plan),
    )


def relabelled(table: Table, labels: Mapping[str, str]) -> Table:
    """Return a table of the Neural Engine with labels replaced, each in the form of its cell."""
    if _LABEL not in table.rows.columns:
        return table
    cells = rewrite_cells(table.rows[_LABEL], lambda distinct: [_label(cell, labels) for cell in distinct])
    return replace(table, rows=table.rows.assign(**{_LABEL: cells}))


# Texts ----------------------------------------------------------------------------------------------------


def _is_part(device: str, model: str) -> bool:
    """Return True for the name of a product, such as ``iPhone`` of ``iPhone 15``: it names nobody."""
    return device.casefold() in model.casefold()


def _texts_of_run(run: RunInfo) -> list[str]:
    texts = [str(getattr(run.info, name)) for name in (*_TEXTS, *_PRODUCTS, "device", "process")]
    listed = (text for table in run.tables for text in (*table.attributes.values(), table.location))
    return [*texts, *run.process_names, *listed]


def _texts_of(tables: Iterable[Table]) -> Iterator[list[str]]:
    """Yield the distinct texts of tables, column by column; tables of a run share threads and stacks."""
    seen: set[int] = set()
    for table in tables:
        yield list(table.attributes.values())
        for column in table.columns:
            cells = table.rows[column.mnemonic]
            if column.kind == "text":
                yield cells.cat.categories.tolist()
            elif column.kind == "parts":
                yield [text for cell in pd.unique(cells.dropna()) for text in texts_of_parts(cell)]
        stacks = table.stacks
        for frame in (table.threads, table.processes, stacks.frames, stacks.binaries):
            if id(frame) not in seen:
                seen.add(id(frame))
                for name in frame.select_dtypes(["str", "category"]).columns:
                    yield pd.Categorical(frame[name]).categories.tolist()


# Ownership ------------------------------------------------------------------------------------------------


def _known_processes(tables: Iterable[Table]) -> set[tuple[int, str]]:
    pairs: set[tuple[int, str]] = set()
    for table in tables:
        threads = table.threads[["pid", "process"]].itertuples(index=False, name=None)
        pairs.update(threads, table.processes[["pid", "name"]].itertuples(index=False, name=None))
    return {(int(pid), str(name)) for pid, name in pairs if pid >= 0}


def _own_pids(run: RunInfo, processes: set[tuple[int, str]], process: str | None) -> frozenset[int]:
    if process is not None:
        return frozenset(pid for pid, name in processes if process in (name, str(pid)))
    if run.info.pid is not None:
        return frozenset([run.info.pid])
    named = frozenset(pid for pid, name in processes if name and name == run.info.process)
    pids = frozenset(pid for pid, _ in processes)
    if named or len(pids) <= 1:
        return named or pids
    raise UsageError(
        f"Run {run.info.run} has no target process: name the process to keep with --process."
        f" It has {_listed({run.info.run: processes})}."
    )


def _is_own(info: TraceInfo, pids: frozenset[int], names: frozenset[str]) -> bool:
    return info.process in names if info.pid is None else info.pid in pids


def _listed(processes: Mapping[int, set[tuple[int, str]]]) -> str:
    named = sorted({f"{name} ({pid})" for run in processes.values() for pid, name in run})
    more = f" and {len(named) - _LISTED} more" if len(named) > _LISTED else ""
    return (", ".join(named[:_LISTED]) or "none") + more


def _row_pids(table: Table) -> IntArray:
    """Return each row's process, else that of its thread, else the number in a column of pids; or -1."""
    pids = np.full(len(table), -1, np.int64)
    for kind, frame in (("process", table.processes), ("thread", table.threads)):
        entity_pids = np.append(frame["pid"].to_numpy(np.int64), -1)
        for column in table.columns:
            if column.kind == kind:
                pids = np.where(pids < 0, entity_pids[table.rows[column.mnemonic].to_numpy()], pids)
    return np.where(pids < 0, _numbers(table, "pid"), pids)


def _numbers(table: Table, name: str) -> IntArray:
    """Return a column of integers as 64-bit words, -1 for null and where there is none."""
    column = next(
        (candidate for candidate in table.columns if candidate.mnemonic == name and candidate.kind == "int"),
        None,
    )
    if column is None or str(table.rows[name].dtype) not in ("Int64", "UInt64"):
        return np.full(len(table), -1, np.int64)
    cells = table.rows[name]
    words = cells.fillna(0).to_numpy(str(cells.dtype).lower()).astype(np.int64)
    return np.where(cells.isna().to_numpy(np.bool_), np.int64(-1), words)


def _of_other_process(pids: IntArray, own_pids: frozenset[int]) -> BoolArray:
    of_other: BoolArray = (pids >= 0) & ~np.isin(pids, sorted(own_pids))
    return of_other


def _buffers_of_others(tables: Iterable[Table], own_pids: frozenset[int]) -> frozenset[int]:
    """Return the command buffers for which tables name one process, and that is another process."""
    owners: dict[int, set[int]] = {}
    for table in tables:
        buffers, pids = _numbers(table, _BUFFER), _row_pids(table)
        named = (buffers != -1) & (pids >= 0)
        for buffer, pid in np.unique(np.stack([buffers[named], pids[named]], axis=1), axis=0).tolist():
            owners.setdefault(buffer, set()).add(pid)
    return frozenset(buffer for buffer, pids in owners.items() if len(pids) == 1 and not pids & own_pids)


def _uses_buffer_of_others(table: Table, buffers: frozenset[int]) -> BoolArray:
    uses_buffer: BoolArray = np.isin(_numbers(table, _BUFFER), sorted(buffers)) & (_row_pids(table) < 0)
    return uses_buffer


# Remaining rows and entities ------------------------------------------------------------------------------


def _used(table: Table, rows: pd.DataFrame, kind: str, keep: BoolArray) -> IntArray:
    """Return, ascending, the ids of entities of a kind that rows refer to and that may stay."""
    references = [rows[column.mnemonic].to_numpy(np.int64) for column in table.columns if column.kind == kind]
    ids = np.unique(np.concatenate([np.zeros(0, np.int64), *references]))
    ids = ids[ids >= 0]
    used: IntArray = ids[keep[ids]]
    return used


def _moved(ids: Any, kept_ids: IntArray) -> npt.NDArray[np.int32]:
    """Return the new ids after all but ``kept_ids`` were dropped; -1 for dropped ones."""
    # kept_ids is ascending, so the new id is the position of the old one:
    #   kept_ids 2 5 9    ids 5 2 7 -1    new ids 1 0 -1 -1
    numbers = np.asarray(ids, np.int64)
    if not len(kept_ids):
        return np.full(len(numbers), -1, np.int32)
    positions = np.minimum(np.searchsorted(kept_ids, numbers), len(kept_ids) - 1)
    return np.where(kept_ids[positions] == numbers, positions, -1).astype(np.int32)


def _threads(threads: pd.DataFrame, kept_ids: IntArray, rewriter: TextRewriter) -> pd.DataFrame:
    frame = threads.take(kept_ids).reset_index(drop=True)
    names, processes = rewriter.everywhere(frame["name"].tolist()), rewriter.of_own(frame["process"].tolist())
    return frame.assign(name=pd.array(names, dtype="str"), process=pd.array(processes, dtype="str"))


def _processes(processes: pd.DataFrame, kept_ids: IntArray, rewriter: TextRewriter) -> pd.DataFrame:
    frame = processes.take(kept_ids).reset_index(drop=True)
    return frame.assign(name=pd.array(rewriter.of_own(frame["name"].tolist()), dtype="str"))


def _stacks(stacks: StackTable, kept_ids: IntArray, rewriter: TextRewriter) -> StackTable:
    # Stacks, then the frames that remaining stacks use, then the binaries that remaining frames use: each
    # level is renumbered in ascending order of its old ids.
    lengths = np.diff(stacks.offsets)
    chosen = np.zeros(len(stacks), np.bool_)
    chosen[kept_ids] = True
    old_ids = stacks.frame_ids[np.repeat(chosen, lengths)]
    frame_rows = np.unique(old_ids).astype(np.int64)
    frames = stacks.frames.take(frame_rows).reset_index(drop=True)
    old_binaries = frames["binary_id"].to_numpy(np.int64)
    binary_rows = np.unique(old_binaries[old_binaries >= 0])
    binaries = stacks.binaries.take(binary_rows).reset_index(drop=True)
    offsets = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)

    def as_strings(texts: Sequence[str]) -> Any:
        return pd.array(list(texts), dtype="str")

    def renamed(column: pd.Series[Any], rename: Callable[[Sequence[str]], Sequence[str]]) -> Any:
        """Rewrite each text once: frames share texts."""
        category = pd.Categorical(column)
        return take_texts(category.codes, rename(category.categories.tolist()))

    return StackTable(
        offsets,
        _moved(old_ids, frame_rows),
        frames.assign(
            binary_id=_moved(old_binaries, binary_rows),
            symbol=renamed(frames["symbol"], rewriter.in_code),
            source_file=renamed(frames["source_file"], rewriter.everywhere),
        ),
        binaries.assign(
            name=as_strings(rewriter.of_binaries(binaries["name"].tolist(), binaries["path"].tolist())),
            path=as_strings(rewriter.everywhere(binaries["path"].tolist())),
            uuid=as_strings(rewriter.in_code(binaries["uuid"].tolist())),
            arch=as_strings(rewriter.in_code(binaries["arch"].tolist())),
        ),
    )


def _attributes(attributes: Mapping[str, str], plan: Redaction) -> dict[str, str]:
    return dict(zip(attributes, plan.rewriter.everywhere(list(attributes.values())), strict=True))


def _label(cell: Any, labels: Mapping[str, str]) -> Any:
    """Return the replacement for a label of another process's model, in the form of the cell."""
    if isinstance(cell, tuple):
        label = format_parts(cell)
        return (("string", labels[label]),) if label in labels else cell
    return labels.get(cell, cell)
