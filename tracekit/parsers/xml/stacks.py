"""Backtraces of an export, in every shape, to one ``StackTable``, leaf first.

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
for D; bamlab/flashlight for A. The version at which A ended is not known exactly.

Addresses are kept as recorded. On arm64 the leaf's is the program counter plus 1 (in every stack of the
collected exports), and from Xcode 27 callers' are the return address minus 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model import BINARIES, FRAMES, IntArray, StackTable
from tracekit.parsers.combine import unique_stacks
from tracekit.parsers.xml.store import DamagedCellError, ValueStore

_LEAF_ARROW = " ← ("


def build_stacks(store: ValueStore, slots: IntArray) -> tuple[StackTable, npt.NDArray[np.int32]]:
    """Return the unique stacks of these backtrace slots, and each slot's row in them.

    Raises ``DamagedCellError`` for a backtrace that holds something else than frames or addresses.
    """
    inner = _inner_backtraces(store, slots)
    owner, child = store.children_of(inner)
    tags = store.tag[child]
    is_frame = tags == store.tag_code("frame")
    is_fragment = tags == store.tag_code("text-addresses")
    framed = np.bincount(owner[is_frame], minlength=len(slots)) > 0
    addressed = np.bincount(owner[is_fragment], minlength=len(slots)) > 0
    _refuse_unknown(store, slots, inner, framed | addressed)

    frames, row_of_frame = _frame_rows(store, child[is_frame])
    by_address, address_owner, address_row = _address_rows(store, inner, owner, child, is_fragment)
    address_row = address_row + len(frames)
    owners = np.concatenate([owner[is_frame], address_owner])
    rows = np.concatenate([row_of_frame, address_row])
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=len(slots))
    every_frame = pd.concat([frames, by_address], ignore_index=True)
    binaries, binary_rows = _binary_rows(store)
    frame_table = _frame_table(store, every_frame, binary_rows)
    return unique_stacks(counts, rows[order].astype(np.int32), frame_table, binaries)


def _inner_backtraces(store: ValueStore, slots: IntArray) -> IntArray:
    """Replace each tagged-backtrace of shape C by the backtrace inside it."""
    inner = slots.copy()
    owner, child = store.children_of(slots)
    nested = (store.tag[child] == store.tag_code("backtrace")) & (
        store.tag[slots[owner]] == store.tag_code("tagged-backtrace")
    )
    inner[owner[nested]] = child[nested]
    return inner


def _refuse_unknown(
    store: ValueStore, slots: IntArray, inner: IntArray, known: npt.NDArray[np.bool_]
) -> None:
    strange = ~known & (store.child_count[inner] > 0)
    if strange.any():
        at = int(np.flatnonzero(strange)[0])
        first = store.children[store.child_start[inner[at]]]
        raise DamagedCellError(
            int(slots[at]),
            f"a <{store.tags[store.tag[slots[at]]]}> holds <{store.tags[store.tag[first]]}>"
            " and neither frames nor addresses, a shape that is not known",
        )


def _frame_rows(store: ValueStore, frame_slots: IntArray) -> tuple[pd.DataFrame, IntArray]:
    """Return the distinct frames by value, and for each of ``frame_slots`` its row among them."""
    used, position = np.unique(frame_slots, return_inverse=True)
    at = np.searchsorted(store.frames.slot, used)
    attributes = store.frames
    frames = pd.DataFrame(
        {
            "name": attributes.name[at],
            "text": "",
            "address": attributes.address[at],
            "inlined": attributes.inlined[at],
            "source_line": attributes.source_line[at],
            "source_path": attributes.source_path[at],
            "binary": attributes.binary[at],
        }
    )
    group = frames.groupby(list(frames.columns), sort=False).ngroup().to_numpy().astype(np.int64)
    return frames.drop_duplicates(ignore_index=True), group[position]


def _address_rows(
    store: ValueStore, inner: IntArray, owner: IntArray, child: IntArray, is_fragment: npt.NDArray[np.bool_]
) -> tuple[pd.DataFrame, IntArray, IntArray]:
    """Return (frames, owner per address, frame row per address) for the stacks that are mere addresses."""
    fragments: dict[int, list[int]] = {}
    for at, slot in zip(owner[is_fragment].tolist(), child[is_fragment].tolist(), strict=True):
        fragments.setdefault(at, []).extend(_addresses(store, slot, int(inner[at])))
    rows: dict[tuple[str, int], int] = {}
    owners: list[int] = []
    frame_rows: list[int] = []
    for at, addresses in fragments.items():
        slot = int(inner[at])
        is_kperf = store.tags[store.tag[slot]] == "kperf-bt"
        stack = _kperf_stack(store, slot, addresses) if is_kperf else addresses
        leaf_name = "" if is_kperf else _leaf_name(store.fmt_of(slot))
        for depth, address in enumerate(stack):
            name = leaf_name if depth == 0 and leaf_name else f"{address:#x}"
            owners.append(at)
            frame_rows.append(rows.setdefault((name, address), len(rows)))
    frames = pd.DataFrame(
        {
            "name": -1,
            "text": [name for name, _ in rows],
            "address": np.array([address for _, address in rows], dtype=np.uint64),
            "inlined": False,
            "source_line": -1,
            "source_path": 0,
            "binary": 0,
        }
    )
    return frames, np.array(owners, np.int64), np.array(frame_rows, np.int64)


def _addresses(store: ValueStore, slot: int, cell: int) -> list[int]:
    """Return a fragment's addresses; raise ``DamagedCellError`` for anything that is no 64-bit number."""
    words = store.text(slot).split()
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) <= 20 and int(word) < 2**64):
            raise DamagedCellError(cell, f"the address '{word[:40]}' is no 64-bit number")
    return [int(word) for word in words]


def _kperf_stack(store: ValueStore, slot: int, callers: list[int]) -> list[int]:
    """Shape E: the program counter, then the callers without the closing 0.

    A stackshot has no register, and its first caller repeats the program counter.
    """
    if callers and callers[-1] == 0:
        callers = callers[:-1]
    start, count = int(store.child_start[slot]), int(store.child_count[slot])
    pc: int | None = None
    has_register = False
    for child in store.children[start : start + count].tolist():
        tag = store.tags[store.tag[child]]
        if tag == "text-address":
            pc = _addresses(store, child, slot)[0] if store.text(child).strip() else None
        elif tag == "register-content":
            has_register = True
    if pc is None:
        return callers
    repeated = not has_register and callers[:1] == [pc]
    return callers if repeated else [pc, *callers]


def _leaf_name(fmt: str) -> str:
    """Shape A: ``objc_msgSend ← (15 other frames)`` names the leaf, and only the leaf."""
    return fmt.partition(_LEAF_ARROW)[0].strip()


def _binary_rows(store: ValueStore) -> tuple[pd.DataFrame, npt.NDArray[np.int32]]:
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


def _frame_table(store: ValueStore, frames: pd.DataFrame, binary_rows: npt.NDArray[np.int32]) -> pd.DataFrame:
    strings = np.array([*store.strings, ""], dtype=object)
    name = frames["name"].to_numpy(np.int64)
    symbols = np.where(name >= 0, strings[name], frames["text"].to_numpy(object))
    binary = frames["binary"].to_numpy(np.int64)
    binary_ids = np.full(len(frames), -1, np.int32)
    has_binary = binary > 0
    binary_ids[has_binary] = binary_rows[np.searchsorted(store.binaries.slot, binary[has_binary])]
    paths = {slot: store.text(slot) for slot in np.unique(frames["source_path"].to_numpy(np.int64)).tolist()}
    return FRAMES.check(
        pd.DataFrame(
            {
                "symbol": symbols,
                "binary_id": binary_ids,
                "address": frames["address"].to_numpy(np.uint64),
                "source_file": frames["source_path"].map(paths),
                "source_line": frames["source_line"].to_numpy(np.int32),
                "inlined": frames["inlined"].to_numpy(bool),
            }
        ).astype(dict(FRAMES.required)),
        "frames",
    )
