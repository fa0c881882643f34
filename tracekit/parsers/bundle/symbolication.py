"""Addresses → frames: for each address its binary, symbol, source line and whether it was inlined.

    address ──(process)──► image and segment ──(UUID)──► symbols archive ──► function, line
            loaded_images.py                   symbols_archive.py

An address that is in no image, or in an image without symbols, keeps its hexadecimal address as its name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import BINARIES, FRAMES, IntArray, take_texts
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.interned import Words
from tracekit.parsers.bundle.loaded_images import (
    KERNEL_PID,
    ImageMap,
    LoadedImage,
    RunImages,
    lookup_addresses,
)
from tracekit.parsers.bundle.symbols_archive import SymbolsArchive

Bools = npt.NDArray[np.bool_]
Facts = npt.NDArray[np.int64]
"""One row per frame with the columns below; -1 for an unknown fact. A symbol and a path are numbers of one
list of texts."""
_SYMBOL, _BINARY, _PATH, _LINE, _INLINED = range(5)
_FACT_COUNT = 5

_UPPER_HALF = np.uint64(1 << 63)

OpenArchive = Callable[[str], "SymbolsArchive | None"]


class Symbolicator:
    """Collects frames; equal ones (same name, binary and address) become one row.

    ``open_archive`` returns the symbols of a binary by its UUID; None when the bundle has none.
    """

    def __init__(
        self, images: RunImages, open_archive: OpenArchive, report: Callable[[DamagedFileError], None]
    ) -> None:
        self._images = images
        self._open_archive = open_archive
        self._report = report
        self._binaries: dict[tuple[str, str, str, str, int], int] = {}
        self._texts: dict[str, int] = {}
        self._archive_texts: dict[tuple[str, str, int], int] = {}
        self._facts: list[Facts] = []
        self._addresses: list[Words] = []
        self._count = 0
        self.ambiguous = 0

    def add(self, pids: IntArray, addresses: Words, leaf: Bools) -> npt.NDArray[np.int32]:
        """Return a provisional row for each frame of a backtrace, to be passed to ``table``.

        All frames are looked up one byte below their address. A frame without a symbol is named by its
        address, a caller by the address one byte lower, as in the exports.
        """
        return self._add_frames(pids, addresses, np.ones(len(addresses), bool), ~leaf)

    def add_exact(self, pids: IntArray, addresses: Words, exact: Bools) -> npt.NDArray[np.int32]:
        """As ``add``, for kperf stacks: ``exact`` marks addresses that are program counters themselves."""
        return self._add_frames(pids, addresses, ~exact, np.zeros(len(addresses), bool))

    def table(self, rows: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], pd.DataFrame, pd.DataFrame]:
        """Return (final row of each provisional row, frames, binaries)."""
        facts = np.concatenate([np.zeros((0, _FACT_COUNT), np.int64), *self._facts])
        addresses = np.concatenate([np.zeros(0, np.uint64), *self._addresses])
        firsts, number = _find_distinct((addresses, *facts.T))
        texts = [*self._texts, ""]  # the last, for -1
        facts = facts[firsts]
        frames = FRAMES.check(
            pd.DataFrame(
                {
                    "symbol": take_texts(facts[:, _SYMBOL], texts),
                    "binary_id": facts[:, _BINARY].astype(np.int32),
                    "address": addresses[firsts],
                    "source_file": take_texts(facts[:, _PATH], texts),
                    "source_line": facts[:, _LINE].astype(np.int32),
                    "inlined": facts[:, _INLINED] == 1,
                }
            ),
            "frames",
        )
        binaries = pd.DataFrame(list(self._binaries), columns=list(BINARIES.required))
        return number[rows].astype(np.int32), frames, binaries.astype(dict(BINARIES.required))

    def _add_frames(
        self, pids: IntArray, addresses: Words, is_below: Bools, is_named_below: Bools
    ) -> npt.NDArray[np.int32]:
        """Add frames: ``is_below`` marks those looked up, ``is_named_below`` those named, one byte lower."""
        # Symbolicate each distinct frame once, process by process; ``number`` spreads the rows again.
        firsts, number = _find_distinct((addresses, pids, is_below, is_named_below))
        distinct_pids, distinct = pids[firsts], addresses[firsts]
        # Facts are numbers of texts and binaries, one row per distinct frame and one column per fact; -1 is
        # "not known":
        #   columns   binary  symbol  path  line  inlined
        facts = np.full((len(firsts), _FACT_COUNT), -1, np.int64)
        step = is_below[firsts].astype(np.uint64)
        for pid in np.unique(distinct_pids).tolist():
            of_pid = np.flatnonzero(distinct_pids == pid)
            self._symbolicate_process(pid, distinct[of_pid], step[of_pid], of_pid, facts)
        # A user process's backtrace may begin in the kernel, which has the upper half of all addresses.
        upper = np.flatnonzero(
            (facts[:, _BINARY] < 0) & (distinct >= _UPPER_HALF) & (distinct_pids != KERNEL_PID)
        )
        if len(upper):
            self._symbolicate_process(KERNEL_PID, distinct[upper], step[upper], upper, facts)
        unnamed = np.flatnonzero(facts[:, _SYMBOL] < 0)
        lower = (is_named_below[firsts][unnamed] & (distinct[unnamed] > 0)).astype(np.uint64)
        named_addresses = distinct[unnamed] - lower
        facts[unnamed, _SYMBOL] = [self._add_text(f"{address:#x}") for address in named_addresses.tolist()]
        self._facts.append(facts)
        self._addresses.append(distinct)
        rows = (number + self._count).astype(np.int32)
        self._count += len(firsts)
        return rows

    def _symbolicate_process(
        self, pid: int, addresses: Words, step: Words, rows: IntArray, facts: Facts
    ) -> None:
        """Fill in the known ``facts[rows]``; each address is looked up ``step`` bytes lower."""
        try:
            images = self._images.get_map(pid)
        except DamagedFileError as error:
            self._report(error)
            return
        lookup = lookup_addresses(addresses, pid)
        lookup = lookup - step * (lookup > 0)
        segment, ambiguous = images.find(lookup)
        self.ambiguous += int(ambiguous.sum())
        # Group the addresses by segment: sorted by it, a group ends where the next segment differs.
        inner_rows = np.flatnonzero(segment >= 0)
        by_segment = inner_rows[np.argsort(segment[inner_rows], kind="stable")]
        edges = np.flatnonzero(np.diff(segment[by_segment])) + 1
        for group in np.split(by_segment, edges) if len(by_segment) else ():
            self._fill_facts(images, int(segment[group[0]]), lookup[group], rows[group], facts)

    def _fill_facts(
        self, images: ImageMap, segment: int, lookup: Words, rows: IntArray, facts: Facts
    ) -> None:
        """Fill in ``facts[rows]`` for addresses of one segment of one image."""
        image = images.images[int(images.image_of_segment[segment])]
        facts[rows, _BINARY] = self._add_binary(image)
        archive = self._open_archive(image.uuid)
        name, start, _ = image.segments[int(images.index_in_image[segment])]
        base = archive.get_segment_address(name) if archive else None
        if archive is None or base is None:
            return
        functions = archive.find(lookup - np.uint64(start) + np.uint64(base))
        paths = np.where(functions.path > 0, functions.path, -1)
        try:
            facts[rows, _SYMBOL] = self._add_archived_texts(image, archive.name, functions.name)
            facts[rows, _PATH] = self._add_archived_texts(image, archive.string, paths, "path")
        except DamagedFileError as error:
            self._report(error)
            facts[rows, _SYMBOL] = -1
            return
        facts[rows, _LINE] = functions.line
        facts[rows, _INLINED] = functions.inlined

    def _add_archived_texts(
        self, image: LoadedImage, read: Callable[[int], str], rows: IntArray, kind: str = "name"
    ) -> list[int]:
        """Return the number in ``_texts`` of each row's text in the archive; -1 stays -1."""
        for row in np.unique(rows[rows >= 0]).tolist():
            key = (image.uuid, kind, row)
            if key not in self._archive_texts:
                text = read(row)
                self._archive_texts[key] = self._add_text(text) if text else -1
        return [self._archive_texts[image.uuid, kind, row] if row >= 0 else -1 for row in rows.tolist()]

    def _add_binary(self, image: LoadedImage) -> int:
        key = (image.name, image.path, image.uuid, image.arch, image.load_address)
        return self._binaries.setdefault(key, len(self._binaries))

    def _add_text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


def _find_distinct(keys: tuple[npt.NDArray[np.generic], ...]) -> tuple[IntArray, IntArray]:
    """Return the position of each distinct combination of ``keys``, and the number of each row's combination.

    keys [b a b], [0 0 0]: positions [1 0] in sorted order, numbers [1 0 1].
    """
    order = np.lexsort(keys)
    is_new = np.ones(len(order), bool)
    if len(order):
        is_new[1:] = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return order[is_new], number
