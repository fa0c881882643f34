"""Backtraces of a bundle → one ``StackTable``, leaf first.

A backtrace is a list of chunks, leaf first; each chunk names a process and a list of addresses:

    row → list [chunk, chunk, …]        chunk = process ref << 32 | list ref
                  │      └→ list [address, address, …]    a caller's addresses, shared with other stacks
                  └→ list [leaf address, address, …]

Stacks share chunks, so addresses are looked up once per distinct chunk. Addresses stay as recorded
(docs/formats.md): the leaf's is the program counter plus 1, a caller's the return address; both are looked
up one byte lower. Source: every address compared with exports; kernel and tagged backtraces are less
certain, see the functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.interned import NO_VALUE_32, InternedLists, Words
from tracekit.parsers.bundle.symbolication import Symbolicator
from tracekit.parsers.bundle.types import Encoding
from tracekit.parsers.combine import merge_stacks

_KPERF_LENGTHS = (3, 4, 5, 8)
_MAX_FRAMES = 64_000_000
"""For all distinct stacks of a table: a million of sixty-four frames fit. Lists are shared, so few bytes
could expand to many more."""


@frozen
class BacktraceColumn:
    """The distinct numbers of one column's backtraces, and the encoding of the column."""

    encoding: Encoding
    refs: IntArray


@frozen
class _FlatStacks:
    """Frames of several stacks: ``counts`` per stack, and the rows of their frames, stack after stack."""

    counts: IntArray
    rows: npt.NDArray[np.int32]


def read_stacks(
    columns: Sequence[BacktraceColumn], lists: InternedLists, entities: Entities, symbolicator: Symbolicator
) -> tuple[StackTable, list[npt.NDArray[np.int32]]]:
    """Return the unique stacks of all columns, and for each column the stack of each of its refs.

    Raises ``DamagedFileError`` for backtraces of an unknown layout.
    """
    readers = {
        Encoding.BACKTRACE: _read_backtraces,
        Encoding.TAGGED: _read_tagged,
        Encoding.KPERF: _read_kperf,
    }
    # Columns of different encodings share frames and binaries, so their stacks are joined before equal ones
    # are merged.
    parts = [readers[column.encoding](column.refs, lists, entities, symbolicator) for column in columns]
    counts = np.concatenate([part.counts for part in parts])
    rows, frames, binaries = symbolicator.table(np.concatenate([part.rows for part in parts]))
    stacks, ids = merge_stacks(counts, rows, frames, binaries)
    ends = np.cumsum([len(part.counts) for part in parts])[:-1]
    return stacks, list(np.split(ids, ends))


def _read_backtraces(
    refs: IntArray, lists: InternedLists, entities: Entities, symbolicator: Symbolicator
) -> _FlatStacks:
    offsets, chunks = lists.lists(refs)
    # One row per chunk, each with its stack. A chunk is one word: the process in the upper half, a list of
    # addresses in the lower:
    #   refs      r0          r1
    #   chunks    c0 c1 c2 │ c3 c1         stack_of_chunk  0 0 0 1 1
    stack_of_chunk = np.repeat(np.arange(len(refs)), np.diff(offsets))
    has_frames = (chunks & np.uint64(NO_VALUE_32)) != NO_VALUE_32
    stack_of_chunk, chunks = stack_of_chunk[has_frames], chunks[has_frames]
    # The same chunk is looked up twice when it begins one stack and continues another: its first address is
    # a program counter in the former and a return address in the latter.
    leaf = np.ones(len(stack_of_chunk), bool)
    leaf[1:] = stack_of_chunk[1:] != stack_of_chunk[:-1]
    distinct, distinct_of_chunk = _find_distinct_chunks(chunks, leaf)
    chunk_offsets, chunk_rows = _read_chunk_frames(
        chunks[distinct], leaf[distinct], lists, entities, symbolicator
    )
    lengths = np.diff(chunk_offsets)[distinct_of_chunk]
    _require_plausible(int(lengths.sum()), lists)
    counts = np.bincount(stack_of_chunk, weights=lengths, minlength=len(refs)).astype(np.int64)
    return _FlatStacks(counts, chunk_rows[_expand_ranges(chunk_offsets[:-1][distinct_of_chunk], lengths)])


def _expand_ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the indices of consecutive ranges: starts [7, 2] and lengths [3, 2] give [7, 8, 9, 2, 3]."""
    #   first       7 7 7 -1 -1      starts less the sum of the lengths before: 7 − 0, 2 − 3
    #   + arange    0 1 2  3  4
    # Each range's start less the sum of the lengths before it, plus 0, 1, 2, … over all ranges.
    first_indices = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return first_indices + np.arange(int(lengths.sum()))


def _require_plausible(frames: int, lists: InternedLists) -> None:
    if frames > _MAX_FRAMES:
        problem = f"has stacks with {frames} frames in total, more than any recording has"
        raise DamagedFileError(lists.file, problem)


def _find_distinct_chunks(chunks: Words, leaf: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Return the position of each distinct (chunk, begins a stack), and the distinct number of each chunk."""
    # Equal pairs are neighbours after sorting; a new number begins where a pair differs from the one before.
    order = np.lexsort((leaf, chunks))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (chunks[order[1:]] != chunks[order[:-1]]) | (leaf[order[1:]] != leaf[order[:-1]])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return order[is_new], number


def _read_chunk_frames(
    chunks: Words,
    leaf: npt.NDArray[np.bool_],
    lists: InternedLists,
    entities: Entities,
    symbolicator: Symbolicator,
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Return (offsets, frame rows) of chunks; ``leaf`` marks those that begin a stack."""
    refs, list_of_chunk = np.unique((chunks & np.uint64(NO_VALUE_32)).astype(np.int64), return_inverse=True)
    list_offsets, addresses = lists.lists(refs)
    lengths = np.diff(list_offsets)[list_of_chunk]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    position = _expand_ranges(list_offsets[:-1][list_of_chunk], lengths)
    process_refs, process_of_chunk = np.unique(
        (chunks >> np.uint64(32)).astype(np.int64), return_inverse=True
    )
    pids = np.array([entities.process(ref)[0] for ref in process_refs.tolist()], np.int64)
    # The first address of a chunk that begins a stack is the program counter; all others are return
    # addresses, which exports name one byte lower where they have no symbol.
    is_leaf = np.zeros(len(position), bool)
    is_leaf[offsets[:-1][leaf & (lengths > 0)]] = True
    pid_of_frame = np.repeat(pids[process_of_chunk], lengths)
    return offsets, symbolicator.add(pid_of_frame, addresses[position], is_leaf)


def _read_tagged(
    refs: IntArray, lists: InternedLists, entities: Entities, symbolicator: Symbolicator
) -> _FlatStacks:
    """Read tagged backtraces of Xcode 26.4 and later: a list [chunks, tag].

    The layout is known only from another reader (docs/formats.md); no bundle has confirmed it.
    """
    offsets, values = lists.lists(refs)
    if (np.diff(offsets) != 2).any():
        raise DamagedFileError(lists.file, "has tagged backtraces of an unknown layout")
    # Many tags share one backtrace: each distinct one is read once, and its frames are repeated.
    chunk_refs, backtrace_of_ref = np.unique(values[0::2].astype(np.int64), return_inverse=True)
    shared = _read_backtraces(chunk_refs, lists, entities, symbolicator)
    starts = np.cumsum(shared.counts) - shared.counts
    counts = shared.counts[backtrace_of_ref]
    return _FlatStacks(counts, shared.rows[_expand_ranges(starts[backtrace_of_ref], counts)])


def _read_kperf(
    refs: IntArray, lists: InternedLists, entities: Entities, symbolicator: Symbolicator
) -> _FlatStacks:
    """Read kperf backtraces: a list [callers, program counter, process, …]; the list of callers ends in 0."""
    #   list      callers │ program counter │ process │ link register … (with 4, 5 or 8 values)
    #                └→ list [address, address, …, 0]
    # With three values there is no link register, and the first caller repeats the program counter; as in the
    # exports, that one is left out, and so is the register itself.
    offsets, values = lists.lists(refs)
    lengths = np.diff(offsets)
    if not np.isin(lengths, _KPERF_LENGTHS).all():
        raise DamagedFileError(lists.file, "has kernel backtraces of an unknown layout")
    callers_ref, counter, process_ref = (values[offsets[:-1] + field] for field in range(3))
    has_callers = callers_ref != NO_VALUE_32
    list_refs, list_of_ref = np.unique(callers_ref[has_callers].astype(np.int64), return_inverse=True)
    list_offsets, addresses = lists.lists(list_refs)
    starts, counts = np.zeros(len(refs), np.int64), np.zeros(len(refs), np.int64)
    starts[has_callers] = list_offsets[:-1][list_of_ref]
    counts[has_callers] = np.diff(list_offsets)[list_of_ref]
    # Without any address, indexing still needs one element to point at; ``counts > 0`` masks it out.
    safe = addresses if len(addresses) else np.zeros(1, np.uint64)
    ends_in_zero = (counts > 0) & (safe[np.maximum(starts + counts - 1, 0)] == 0)
    counts = counts - ends_in_zero
    repeated = (lengths == 3) & (counts > 0) & (safe[np.minimum(starts, len(safe) - 1)] == counter)
    starts, counts = starts + repeated, counts - repeated

    total = int(counts.sum())
    _require_plausible(total, lists)
    # All program counters first, then all callers; a stable sort by stack puts each counter before its
    # callers.
    stack_of_frame = np.concatenate([np.arange(len(refs)), np.repeat(np.arange(len(refs)), counts)])
    order = np.argsort(stack_of_frame, kind="stable")
    pid_of = {ref: entities.process(ref)[0] for ref in np.unique(process_ref).tolist()}
    pids = np.array([pid_of[ref] for ref in process_ref.tolist()], np.int64)[stack_of_frame]
    exact = np.concatenate([np.ones(len(refs), bool), np.zeros(total, bool)])
    caller_addresses = addresses[_expand_ranges(starts, counts)]
    rows = symbolicator.add_exact(pids, np.concatenate([counter, caller_addresses]), exact)
    return _FlatStacks(counts + 1, rows[order])
