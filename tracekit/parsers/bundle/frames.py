"""Addresses → frames with symbols and binaries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import BINARIES, FRAMES, IntArray, texts_at
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.images import KERNEL_PID, Image, ImageMap, RunImages, lookup_addresses
from tracekit.parsers.bundle.symbols import SymbolsArchive
from tracekit.parsers.bundle.uniquer import Words

Bools = npt.NDArray[np.bool_]
_SYMBOL, _BINARY, _PATH, _LINE, _INLINED = range(5)
"""What is known of a frame, as numbers; -1 for nothing. A symbol and a path are rows of one list of texts."""
_PARTS = 5

_UPPER_HALF = np.uint64(1 << 63)

OpenArchive = Callable[[str], "SymbolsArchive | None"]


class FrameTable:
    """Collects frames; equal ones (same name, binary and address) become one row.

    ``open_archive`` returns the symbols of a binary by its UUID, None when the bundle has none.
    """

    def __init__(
        self, images: RunImages, open_archive: OpenArchive, report: Callable[[DamagedFileError], None]
    ) -> None:
        self._images = images
        self._open_archive = open_archive
        self._report = report
        self._binaries: dict[tuple[str, str, str, str, int], int] = {}
        self._symbols: dict[str, int] = {}
        self._archived: dict[tuple[str, str, int], int] = {}
        self._parts: list[npt.NDArray[np.int64]] = []
        self._addresses: list[Words] = []
        self._count = 0
        self.ambiguous = 0

    def add(self, pids: IntArray, addresses: Words, leaf: Bools) -> npt.NDArray[np.int32]:
        """Return a provisional row for each frame of a backtrace, to be given to ``table``.

        All frames are looked up one byte below their address. A frame without a symbol is named by its
        address, a caller by the one below it, as the exports do.
        """
        return self._add(pids, addresses, np.ones(len(addresses), bool), ~leaf)

    def add_exact(self, pids: IntArray, addresses: Words, exact: Bools) -> npt.NDArray[np.int32]:
        """As ``add`` for kperf stacks: ``exact`` marks addresses that are program counters themselves."""
        return self._add(pids, addresses, ~exact, np.zeros(len(addresses), bool))

    def table(self, rows: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], pd.DataFrame, pd.DataFrame]:
        """Return (final row of each provisional row, frames, binaries)."""
        parts = np.concatenate([np.zeros((0, _PARTS), np.int64), *self._parts])
        addresses = np.concatenate([np.zeros(0, np.uint64), *self._addresses])
        order, number = _distinct((addresses, *parts.T))
        symbols = [*self._symbols, ""]
        parts = parts[order]
        frames = FRAMES.check(
            pd.DataFrame(
                {
                    "symbol": texts_at(parts[:, _SYMBOL], symbols),
                    "binary_id": parts[:, _BINARY].astype(np.int32),
                    "address": addresses[order],
                    "source_file": texts_at(parts[:, _PATH], symbols),
                    "source_line": parts[:, _LINE].astype(np.int32),
                    "inlined": parts[:, _INLINED] == 1,
                }
            ),
            "frames",
        )
        binaries = pd.DataFrame(list(self._binaries), columns=list(BINARIES.required))
        return number[rows].astype(np.int32), frames, binaries.astype(dict(BINARIES.required))

    def _add(
        self, pids: IntArray, addresses: Words, below: Bools, named_below: Bools
    ) -> npt.NDArray[np.int32]:
        order, number = _distinct((addresses, pids, below, named_below))
        distinct_pids, distinct = pids[order], addresses[order]
        parts = np.full((len(order), _PARTS), -1, np.int64)
        step = below[order].astype(np.uint64)
        for pid in np.unique(distinct_pids).tolist():
            of_pid = np.flatnonzero(distinct_pids == pid)
            self._symbolicate(pid, distinct[of_pid], step[of_pid], of_pid, parts)
        # A user process's backtrace may begin in the kernel, which lies in the upper half of all addresses.
        upper = np.flatnonzero(
            (parts[:, _BINARY] < 0) & (distinct >= _UPPER_HALF) & (distinct_pids != KERNEL_PID)
        )
        if len(upper):
            self._symbolicate(KERNEL_PID, distinct[upper], step[upper], upper, parts)
        bare = np.flatnonzero(parts[:, _SYMBOL] < 0)
        shown = distinct[bare] - (named_below[order][bare] & (distinct[bare] > 0)).astype(np.uint64)
        parts[bare, _SYMBOL] = [self._symbol(f"{address:#x}") for address in shown.tolist()]
        self._parts.append(parts)
        self._addresses.append(distinct)
        rows = (number + self._count).astype(np.int32)
        self._count += len(order)
        return rows

    def _symbolicate(
        self, pid: int, addresses: Words, step: Words, at: IntArray, parts: npt.NDArray[np.int64]
    ) -> None:
        """Fill ``parts[at]`` where something is known; each address is looked up ``step`` bytes lower."""
        try:
            images = self._images.of(pid)
        except DamagedFileError as error:
            self._report(error)
            return
        lookup = lookup_addresses(addresses, pid)
        lookup = lookup - step * (lookup > 0)
        part, ambiguous = images.find(lookup)
        self.ambiguous += int(ambiguous.sum())
        found = np.flatnonzero(part >= 0)
        by_part = found[np.argsort(part[found], kind="stable")]
        edges = np.flatnonzero(np.diff(part[by_part])) + 1
        for group in np.split(by_part, edges) if len(by_part) else ():
            self._name(images, int(part[group[0]]), lookup[group], at[group], parts)

    def _name(
        self, images: ImageMap, part: int, lookup: Words, at: IntArray, parts: npt.NDArray[np.int64]
    ) -> None:
        image = images.images[int(images.image_of_part[part])]
        parts[at, _BINARY] = self._binary(image)
        archive = self._open_archive(image.uuid)
        segment, start, _ = image.segments[int(images.segment_of_part[part])]
        base = archive.segment_address(segment) if archive else None
        if archive is None or base is None:
            return
        found = archive.find(lookup - np.uint64(start) + np.uint64(base))
        try:
            parts[at, _SYMBOL] = self._texts(image, archive.name, found.name)
            parts[at, _PATH] = self._texts(
                image, archive.string, np.where(found.path > 0, found.path, -1), "path"
            )
        except DamagedFileError as error:
            self._report(error)
            parts[at, _SYMBOL] = -1
            return
        parts[at, _LINE] = found.line
        parts[at, _INLINED] = found.inlined

    def _texts(
        self, image: Image, read: Callable[[int], str], rows: IntArray, kind: str = "name"
    ) -> list[int]:
        """Return the number of each row's text in ``_symbols``; -1 stays -1."""
        for row in np.unique(rows[rows >= 0]).tolist():
            key = (image.uuid, kind, row)
            if key not in self._archived:
                text = read(row)
                self._archived[key] = self._symbol(text) if text else -1
        return [self._archived[image.uuid, kind, row] if row >= 0 else -1 for row in rows.tolist()]

    def _binary(self, image: Image) -> int:
        key = (image.name, image.path, image.uuid, image.arch, image.load_address)
        return self._binaries.setdefault(key, len(self._binaries))

    def _symbol(self, name: str) -> int:
        return self._symbols.setdefault(name, len(self._symbols))


def _distinct(keys: tuple[npt.NDArray[np.generic], ...]) -> tuple[IntArray, IntArray]:
    """Return where each distinct combination of ``keys`` first stands, and the number of each row's."""
    order = np.lexsort(keys)
    fresh = np.ones(len(order), bool)
    if len(order):
        fresh[1:] = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return order[fresh], number
