"""Backtraces of an export, in every shape, as one ``StackTable``, leaf first.

The letters are by Xcode version; the leaf comes first in all of them:

====== ================= =======================================================================
shape  Xcode             form
====== ================= =======================================================================
A      to 14.x           ``<backtrace><process/><text-addresses>1 2</text-addresses>…``: no symbols;
                         the fragments in order are the stack, ``fmt`` names the leaf
B      14.3.1 – 26.3     ``<backtrace><frame name addr><binary/><source line><path/></source></frame>…``
C      26.4 – 26.6       ``<tagged-backtrace><backtrace>frames</backtrace><uint64/></tagged-backtrace>``
D      27                ``<tagged-backtrace>frames as B</tagged-backtrace>``
E      all               ``<kperf-bt><text-addresses>callers 0</text-addresses><text-address>PC…``
F      all               ``<text-backtrace>frames as B</text-backtrace>``
====== ================= =======================================================================

Sources: the exports collected for shapes B, C and E; LadybirdBrowser/ladybird#11551 and google/perfetto#6936
for D; bamlab/flashlight for A. In which version A ended is not certain.

Addresses are kept as recorded. On arm64 the leaf's is the program counter plus 1 (in every stack of the
collected exports), and from Xcode 27 callers' are the return address minus 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import BINARIES, FRAMES, IntArray, make_categorical, take_texts
from tracekit.model.tables import StackTable
from tracekit.parsers.combine import merge_stacks
from tracekit.parsers.compiled import find_distinct_rows, take_runs
from tracekit.parsers.xml.value_store import DamagedCellError, Rows, ValueStore

_LEAF_ARROW = " ← ("
_FRAME_COLUMNS = ("address", "name", "source_line", "source_path", "binary", "inlined")


def build_stacks(store: ValueStore, slots: IntArray) -> tuple[StackTable, npt.NDArray[np.int32]]:
    """Return the unique stacks of these backtrace slots, and each slot's row in them.

    Raises ``DamagedCellError`` for a backtrace of other elements than frames or addresses.
    """
    inner = _find_inner_backtraces(store, slots)
    counts = store.count_children(inner)
    frame_of = store.map_rows(store.frames.slot)
    # child_frames has one entry per child of each backtrace, one backtrace after another; -1 for other
    # elements.
    starts, frame_count = store.find_child_starts(inner), len(store.frames.slot)
    child_frames, is_used = take_runs(store.children, starts, counts, frame_of, frame_count)
    texts: list[str] = []
    if not len(child_frames) or child_frames.min() >= 0:  # mostly: all children are frames
        frames, rows = _collect_frames(store, child_frames, is_used)
    else:
        # Shapes A and E: per child, `owner` is the position of its backtrace in `slots`. Rows of frames and
        # of addresses are computed apart, then brought back into the order of their backtraces.
        owner = np.repeat(np.arange(len(slots)), counts)
        child = store.join_children(inner)
        tags = store.tag[child]
        is_frame = child_frames >= 0
        is_fragment = tags == store.get_tag_code("text-addresses")
        has_frames = np.bincount(owner[is_frame], minlength=len(slots)) > 0
        addressed = np.bincount(owner[is_fragment], minlength=len(slots)) > 0
        _refuse_unsupported(store, slots, inner, has_frames | addressed)
        frames, rows = _collect_frames(store, child_frames[is_frame], is_used)
        by_address, texts, address_owner, address_row = _collect_addresses(
            store, inner, owner, child, is_fragment
        )
        owners = np.concatenate([owner[is_frame], address_owner])
        rows = np.concatenate([rows, address_row + np.int32(len(frames["name"]))])
        # A stable sort by owner interleaves both kinds again, and keeps the order of frames within a
        # backtrace:
        #   owners  0 0 2 | 1 3      rows  a b c | d e      →   a b d c e
        rows = rows[np.argsort(owners, kind="stable")].astype(np.int32)
        counts = np.bincount(owners, minlength=len(slots))
        frames = {name: np.concatenate([frames[name], by_address[name]]) for name in frames}
    binaries, binary_rows = _collect_binaries(store)
    frame_table = _build_frames(store, frames, texts, binary_rows)
    return merge_stacks(counts.astype(np.int64), rows, frame_table, binaries)


def _find_inner_backtraces(store: ValueStore, slots: IntArray) -> IntArray:
    """Replace each tagged-backtrace of shape C by the backtrace inside it."""
    if min(store.get_tag_code("backtrace"), store.get_tag_code("tagged-backtrace")) < 0:
        return slots
    #   <tagged-backtrace><backtrace>…</backtrace></tagged-backtrace>     outer slot → inner slot
    inner = slots.copy()
    owner, child = store.find_children(slots)
    nested = (store.tag[child] == store.get_tag_code("backtrace")) & (
        store.tag[slots[owner]] == store.get_tag_code("tagged-backtrace")
    )
    inner[owner[nested]] = child[nested]
    return inner


def _refuse_unsupported(
    store: ValueStore, slots: IntArray, inner: IntArray, is_supported: npt.NDArray[np.bool_]
) -> None:
    unsupported = ~is_supported & (store.count_children(inner) > 0)
    if unsupported.any():
        index = int(np.flatnonzero(unsupported)[0])
        first_child = store.list_child_slots(int(inner[index]))[0]
        raise DamagedCellError(
            int(slots[index]),
            f"a <{store.tags[store.tag[slots[index]]]}> holds <{store.tags[store.tag[first_child]]}>"
            " and neither frames nor addresses, a shape that is not supported",
        )


def _collect_frames(
    store: ValueStore, child_frames: Rows, is_used: npt.NDArray[np.bool_]
) -> tuple[dict[str, Any], Rows]:
    """Return the distinct frames by value, in columns, and for each of ``child_frames`` its row among them.

    ``is_used`` marks the frames of the store that are in ``child_frames``.
    """
    frame_columns = {name: getattr(store.frames, name) for name in _FRAME_COLUMNS}
    # Frames outside of these backtraces (of other columns, or of text symbols) must not become rows.
    used = None if is_used.all() else np.flatnonzero(is_used)
    if used is not None:
        frame_columns = {name: column[used] for name, column in frame_columns.items()}
    first_equal = find_distinct_rows(list(frame_columns.values()))
    is_first = first_equal == np.arange(len(first_equal), dtype=np.int32)
    if used is None and is_first.all():
        return frame_columns, child_frames
    # first[i] is the first frame that equals frame i; counting first ones gives each its row:
    #   first 0 1 0 3 → is_first 1 1 0 1 → rows 0 1 0 2
    number = np.zeros(len(is_used), np.int32)
    number[is_used] = (np.cumsum(is_first, dtype=np.int32) - 1)[first_equal]
    return {name: column[is_first] for name, column in frame_columns.items()}, number[child_frames]


def _collect_addresses(
    store: ValueStore, inner: IntArray, owner: IntArray, child: Rows, is_fragment: npt.NDArray[np.bool_]
) -> tuple[dict[str, Rows], list[str], IntArray, Rows]:
    """Return (frames, their names, owner per address, frame row per address) for stacks of mere addresses.

    Their ``name`` counts on from the store's strings.
    """
    fragments: dict[int, list[int]] = {}
    for index, slot in zip(owner[is_fragment].tolist(), child[is_fragment].tolist(), strict=True):
        fragments.setdefault(index, []).extend(_parse_addresses(store, slot, int(inner[index])))
    rows: dict[tuple[str, int], int] = {}
    owners: list[int] = []
    frame_rows: list[int] = []
    for index, addresses in fragments.items():
        slot = int(inner[index])
        is_kperf = store.tags[store.tag[slot]] == "kperf-bt"
        stack = _join_kperf_stack(store, slot, addresses) if is_kperf else addresses
        leaf_name = "" if is_kperf else _cut_leaf_name(store.get_fmt(slot))
        for depth, address in enumerate(stack):
            name = leaf_name if depth == 0 and leaf_name else f"{address:#x}"
            owners.append(index)
            frame_rows.append(rows.setdefault((name, address), len(rows)))
    nothing = np.zeros(len(rows), np.int32)
    frames: dict[str, Any] = {
        "address": np.array([address for _, address in rows], np.uint64),
        "name": np.arange(len(rows), dtype=np.int32) + len(store.strings),
        "source_line": nothing - 1,
        "source_path": nothing,
        "binary": nothing,
        "inlined": nothing.astype(bool),
    }
    return frames, [name for name, _ in rows], np.array(owners, np.int64), np.array(frame_rows, np.int32)


def _parse_addresses(store: ValueStore, slot: int, cell: int) -> list[int]:
    """Return a fragment's addresses; raise ``DamagedCellError`` for text that is not a 64-bit number."""
    words = store.get_text(slot).split()
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) <= 20 and int(word) < 2**64):
            raise DamagedCellError(cell, f"the address '{word[:40]}' is not a 64-bit number")
    return [int(word) for word in words]


def _join_kperf_stack(store: ValueStore, slot: int, callers: list[int]) -> list[int]:
    """Return the stack of shape E: the program counter, then the callers without the closing 0.

    A stackshot has no register, and its first caller repeats the program counter.
    """
    if callers and callers[-1] == 0:
        callers = callers[:-1]
    pc: int | None = None
    has_register = False
    for child in store.list_child_slots(slot):
        tag = store.tags[store.tag[child]]
        if tag == "text-address":
            pc = _parse_addresses(store, child, slot)[0] if store.get_text(child).strip() else None
        elif tag == "register-content":
            has_register = True
    if pc is None:
        return callers
    repeated = not has_register and callers[:1] == [pc]
    return callers if repeated else [pc, *callers]


def _cut_leaf_name(fmt: str) -> str:
    """Return the leaf's name of shape A, where ``fmt`` is ``objc_msgSend ← (15 other frames)``."""
    return fmt.partition(_LEAF_ARROW)[0].strip()


def _collect_binaries(store: ValueStore) -> tuple[pd.DataFrame, npt.NDArray[np.int32]]:
    """Return the distinct binaries, and the row of each entry of ``store.binaries``."""
    attributes = store.binaries
    strings = np.array([*store.strings, ""], dtype=object)
    binaries = pd.DataFrame(
        {
            "name": strings[attributes.name],
            "path": strings[attributes.path],
            "uuid": strings[attributes.uuid],
            "arch": strings[attributes.arch],
            "load_address": attributes.load_address,
        }
    ).astype(dict(BINARIES.required))
    group = binaries.groupby(list(binaries.columns), sort=False).ngroup().to_numpy().astype(np.int32)
    return binaries.drop_duplicates(ignore_index=True), group


def _build_frames(
    store: ValueStore, frames: dict[str, Any], texts: list[str], binary_rows: Rows
) -> pd.DataFrame:
    binary_of = store.map_rows(store.binaries.slot, binary_rows)
    # Slot 0 is the sentinel: a frame without a binary refers to it.
    binary_of[0] = -1
    return FRAMES.check(
        pd.DataFrame(
            {
                "symbol": take_texts(frames["name"], [*store.strings, *texts]),
                "binary_id": binary_of[frames["binary"]],
                "address": frames["address"],
                "source_file": _read_source_files(store, frames["source_path"]),
                "source_line": frames["source_line"],
                "inlined": frames["inlined"],
            },
            copy=False,
        ),
        "frames",
    )


def _read_source_files(store: ValueStore, paths: Rows) -> Any:
    """Return the text of each path by its slot; most recordings have no paths."""
    if not paths.any():
        return make_categorical(np.zeros(len(paths), np.int8), [""])
    rows, distinct = pd.factorize(paths)
    return take_texts(rows, [store.get_text(slot) for slot in distinct.tolist()])
