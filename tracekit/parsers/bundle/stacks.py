"""Backtraces of a bundle → one ``StackTable``, leaf first.

A backtrace is a list of chunks, each the number of a process and of a list of addresses; stacks share
chunks, so addresses are looked up once per distinct chunk. Addresses are kept as recorded (docs/formats.md):
the leaf's is the program counter plus 1, a caller's the return address; both are looked up one byte lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.frames import FrameTable
from tracekit.parsers.bundle.types import Form
from tracekit.parsers.bundle.uniquer import NO_VALUE_32, IntegerUniquer, Words
from tracekit.parsers.combine import unique_stacks

_KPERF_LENGTHS = (3, 4, 5, 8)
_MOST_FRAMES = 64_000_000
"""Of all distinct stacks of a table: a million of sixty-four frames fit. Lists are shared, so few bytes could
spell many more."""


@dataclass(frozen=True)
class Request:
    """The distinct numbers of one column's backtraces, in the form in which it stores them."""

    form: Form
    refs: IntArray


@dataclass(frozen=True)
class _Flat:
    """Frames of several stacks: ``counts`` per stack, then one row of frames after another."""

    counts: IntArray
    rows: npt.NDArray[np.int32]


def read_stacks(
    requests: Sequence[Request], lists: IntegerUniquer, entities: Entities, frames: FrameTable
) -> tuple[StackTable, list[npt.NDArray[np.int32]]]:
    """Return the unique stacks of all requests, and for each request the row of each of its refs.

    Raises ``DamagedFileError`` for backtraces that are laid out in no known way.
    """
    readers = {Form.BACKTRACE: _backtraces, Form.TAGGED: _tagged, Form.KPERF: _kperf}
    parts = [readers[request.form](request.refs, lists, entities, frames) for request in requests]
    counts = np.concatenate([part.counts for part in parts])
    rows, table, binaries = frames.table(np.concatenate([part.rows for part in parts]))
    stacks, ids = unique_stacks(counts, rows, table, binaries)
    ends = np.cumsum([len(part.counts) for part in parts])[:-1]
    return stacks, list(np.split(ids, ends))


def _backtraces(refs: IntArray, lists: IntegerUniquer, entities: Entities, frames: FrameTable) -> _Flat:
    offsets, chunks = lists.lists(refs)
    owner = np.repeat(np.arange(len(refs)), np.diff(offsets))
    used = (chunks & np.uint64(NO_VALUE_32)) != NO_VALUE_32
    owner, chunks = owner[used], chunks[used]
    leaf = np.ones(len(owner), bool)
    leaf[1:] = owner[1:] != owner[:-1]
    distinct, chunk_of = _distinct_chunks(chunks, leaf)
    chunk_offsets, chunk_rows = _chunk_frames(chunks[distinct], leaf[distinct], lists, entities, frames)
    lengths = np.diff(chunk_offsets)[chunk_of]
    total = int(lengths.sum())
    _refuse_endless(total, lists)
    first = np.repeat(chunk_offsets[:-1][chunk_of] - np.cumsum(lengths) + lengths, lengths)
    counts = np.bincount(owner, weights=lengths, minlength=len(refs)).astype(np.int64)
    return _Flat(counts, chunk_rows[first + np.arange(total)])


def _refuse_endless(frames: int, lists: IntegerUniquer) -> None:
    if frames > _MOST_FRAMES:
        raise DamagedFileError(
            lists.file, f"has stacks of {frames} frames together: no recording is like that"
        )


def _distinct_chunks(chunks: Words, leaf: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Return where each distinct (chunk, holds the leaf) first stands, and the distinct one of each."""
    order = np.lexsort((leaf, chunks))
    fresh = np.ones(len(order), bool)
    fresh[1:] = (chunks[order[1:]] != chunks[order[:-1]]) | (leaf[order[1:]] != leaf[order[:-1]])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return order[fresh], number


def _chunk_frames(
    chunks: Words, leaf: npt.NDArray[np.bool_], lists: IntegerUniquer, entities: Entities, frames: FrameTable
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Return (offsets, frame rows) of chunks; ``leaf`` marks those that begin a stack."""
    frame_refs, list_of = np.unique((chunks & np.uint64(NO_VALUE_32)).astype(np.int64), return_inverse=True)
    list_offsets, addresses = lists.lists(frame_refs)
    lengths = np.diff(list_offsets)[list_of]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.repeat(list_offsets[:-1][list_of] - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    process_refs, process_of = np.unique((chunks >> np.uint64(32)).astype(np.int64), return_inverse=True)
    pids = np.array([entities.process(ref)[0] for ref in process_refs.tolist()], np.int64)
    is_leaf = np.zeros(len(at), bool)
    is_leaf[offsets[:-1][leaf & (lengths > 0)]] = True
    return offsets, frames.add(np.repeat(pids[process_of], lengths), addresses[at], is_leaf)


def _tagged(refs: IntArray, lists: IntegerUniquer, entities: Entities, frames: FrameTable) -> _Flat:
    """Xcode 26.4 and later: a list [chunks, tag]. By another reader alone; no bundle has confirmed it."""
    offsets, values = lists.lists(refs)
    if (np.diff(offsets) != 2).any():
        raise DamagedFileError(lists.file, "has tagged backtraces of an unknown layout")
    chunk_refs, backtrace_of = np.unique(values[0::2].astype(np.int64), return_inverse=True)
    shared = _backtraces(chunk_refs, lists, entities, frames)
    starts = np.cumsum(shared.counts) - shared.counts
    counts = shared.counts[backtrace_of]
    first = np.repeat(starts[backtrace_of] - np.cumsum(counts) + counts, counts)
    return _Flat(counts, shared.rows[first + np.arange(int(counts.sum()))])


def _kperf(refs: IntArray, lists: IntegerUniquer, entities: Entities, frames: FrameTable) -> _Flat:
    """A list [callers, program counter, process, …]: the callers end in 0.

    With three values there is no link register, and the first caller repeats the program counter; as in the
    exports, that one is left out, and so is the register itself.
    """
    offsets, values = lists.lists(refs)
    lengths = np.diff(offsets)
    if not np.isin(lengths, _KPERF_LENGTHS).all():
        raise DamagedFileError(lists.file, "has kernel backtraces of an unknown layout")
    callers_ref, counter, process_ref = (values[offsets[:-1] + at] for at in range(3))
    has_callers = callers_ref != NO_VALUE_32
    known, list_of = np.unique(callers_ref[has_callers].astype(np.int64), return_inverse=True)
    list_offsets, addresses = lists.lists(known)
    starts, counts = np.zeros(len(refs), np.int64), np.zeros(len(refs), np.int64)
    starts[has_callers] = list_offsets[:-1][list_of]
    counts[has_callers] = np.diff(list_offsets)[list_of]
    safe = addresses if len(addresses) else np.zeros(1, np.uint64)
    closed = (counts > 0) & (safe[np.maximum(starts + counts - 1, 0)] == 0)
    counts = counts - closed
    repeated = (lengths == 3) & (counts > 0) & (safe[np.minimum(starts, len(safe) - 1)] == counter)
    starts, counts = starts + repeated, counts - repeated

    total = int(counts.sum())
    _refuse_endless(total, lists)
    at = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(total)
    owner = np.concatenate([np.arange(len(refs)), np.repeat(np.arange(len(refs)), counts)])
    order = np.argsort(owner, kind="stable")
    pid_of = {ref: entities.process(ref)[0] for ref in np.unique(process_ref).tolist()}
    pids = np.array([pid_of[ref] for ref in process_ref.tolist()], np.int64)[owner]
    exact = np.concatenate([np.ones(len(refs), bool), np.zeros(total, bool)])
    rows = frames.add_exact(pids, np.concatenate([counter, addresses[at]]), exact)
    return _Flat(counts + 1, rows[order])
