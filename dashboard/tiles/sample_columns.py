"""The samples of a recording as columns on the disk: ``SampleColumns``, and how they are opened.

::

    samples/  samples.json.gz   all but the arrays: see ``writing``
              call.npy …        one file per array, mapped into memory, so that only the used parts are read

Rows are sorted by lane, engine and time; the rows of one lane and engine are a group.
"""

from __future__ import annotations

import gzip
import json
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dashboard.errors import NotFound
from dashboard.tiles.sorted_times import PARTS, SortedTimes

FORMAT = "tracekit-samples/5"
FOLDER, HEADER = "samples", "samples.json.gz"
Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
READ_AGAIN = "was read by another version of tracekit, or its data is damaged. Read it again."


@dataclass(frozen=True)
class SampleGroup:
    """The rows [first, end) of one engine of one lane; ``longest_ns`` is the length of its longest sample.

    [odd_first, odd_end) are its entries among the samples of unusual length.
    """

    lane: int
    engine: int
    first: int
    end: int
    longest_ns: int
    odd_first: int
    odd_end: int


@dataclass(frozen=True)
class Lane:
    """A thread, as filters match it."""

    label: str
    process: str
    tid: str | None


@dataclass(frozen=True)
class RuleMeaning:
    """A rule of classification: its id and what it means."""

    id: str
    means: str


@dataclass(frozen=True)
class Coded:
    """A column of few distinct values, each row by the number of its value."""

    values: Ints
    codes: Array

    def __getitem__(self, rows: Any) -> Ints:
        values: Ints = self.values[self.codes[rows]]
        return values


@dataclass(frozen=True)
class SampleColumns:
    """An opened recording. ``arrays`` are those that ``writing`` names.

    ``length_ns`` is the time that each sample represents, 0 if that is its weight. Most samples last
    ``usual_ns``; of the others, ``odd_usual`` are the times at which they would have ended then, and
    ``odd_end`` those at which they did. Without a usual length, that is all of them. ``spans`` names, for
    each lane with too many intervals for the page, the arrays of the target's and of other processes'.
    The page has the first ``page_nodes`` of the call tree; ``levels`` are the borders between the depths of
    the others.
    """

    duration_ns: int
    length_ns: int
    total: int
    groups: tuple[SampleGroup, ...]
    lanes: tuple[Lane, ...]
    rules: tuple[RuleMeaning, ...]
    symbols: tuple[str, ...]
    binaries: tuple[str, ...]
    window_names: tuple[str, ...]
    spans: tuple[tuple[str, ...], ...]
    page_nodes: int
    levels: tuple[int, ...]
    arrays: dict[str, Array]
    time: SortedTimes
    weight: Array | Coded
    usual_ns: int | None
    odd_usual: SortedTimes
    odd_end: SortedTimes

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    @cached_property
    def groups_of_lanes(self) -> tuple[tuple[SampleGroup, ...], ...]:
        """The groups of each lane."""
        groups: list[list[SampleGroup]] = [[] for _ in self.lanes]
        for group in self.groups:
            groups[group.lane].append(group)
        return tuple(tuple(groups_of_lane) for groups_of_lane in groups)

    @property
    def same_weight(self) -> int | None:
        """The weight of every sample; None if they differ."""
        is_same = isinstance(self.weight, Coded) and len(self.weight.values) == 1
        return int(self.weight[0]) if is_same and self.total else None

    def group_of(self, row: int) -> SampleGroup:
        """Return the group of a row."""
        return self.groups[bisect_right(self.groups, row, key=lambda group: group.first) - 1]

    def rows(self, group: SampleGroup, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the first and the end of the group's rows whose time lies in [start, end)."""
        # Within a group, rows are sorted by time: two binary searches, whatever the size.
        first, end = (self.time.rows_before(group.first, group.end, edge) for edge in (start_ns, end_ns))
        return group.first + first, group.first + max(first, end)

    def covered_before(self, group: SampleGroup, edges: Ints) -> Ints:
        """Return the time that the group's samples cover before each edge, and a constant."""
        # Until an edge, each sample that began covers (edge - start), minus (edge - end) if it has ended.
        # Where all ends are the starts, moved, one search finds both.
        if self.usual_ns is None:
            begun = self.time.distance_before(group.first, group.end, edges)
            return begun - self.odd_end.distance_before(group.odd_first, group.odd_end, edges)
        both = np.concatenate([edges, edges - self.usual_ns])
        begun, ended = np.split(self.time.distance_before(group.first, group.end, both), 2)
        odd = (group.odd_first, group.odd_end, edges)
        if group.odd_first < group.odd_end:
            ended += self.odd_end.distance_before(*odd) - self.odd_usual.distance_before(*odd)
        return begun - ended

    @cached_property
    def call_node(self) -> Ints:
        """The call-tree node of each call; -1 for none."""
        return np.append(self["stack_node"].astype(np.int64), -1)[self["call_stack"]]

    @cached_property
    def call_joined_node(self) -> Ints:
        """The call-tree node of each call's joined stack; that of its stack where there is none."""
        return np.append(self["stack_node"].astype(np.int64), -1)[self["call_joined"]]

    @cached_property
    def has_joined(self) -> bool:
        """True if the joined stack of any call is not its own."""
        return bool((self["call_joined"] != self["call_stack"]).any())

    def function_of(self, node: int) -> tuple[str, str]:
        """Return symbol and binary of a node of the call tree."""
        row = int(self["text_of"][self["tree_function"][node]])
        return self.symbols[row], self.binaries[int(self["function_binary"][row])]

    def lengths(self, rows: slice) -> Ints:
        """Return the times that samples represent."""
        weight = self.weight[rows]
        return weight.astype(np.int64) if not self.length_ns else np.full(len(weight), self.length_ns)


def open_samples(folder: Path, name: str) -> SampleColumns:
    """Open the files of ``writing``; raise ``NotFound``, naming the recording, if they are unusable."""
    try:
        header = json.loads(gzip.decompress((folder / HEADER).read_bytes()))
        names = header["arrays"] if header["format"] == FORMAT else ["of another format"]
        arrays = dict(_arrays(folder, names))
        time, odd_usual, odd_end = (
            SortedTimes(*(arrays[f"{times}_{part}"] for part in PARTS))
            for times in ("time", "odd_usual", "odd_end")
        )
        return SampleColumns(
            header["duration_ns"],
            header["length_ns"],
            len(time),
            tuple(SampleGroup(*group) for group in header["groups"]),
            tuple(Lane(*lane) for lane in header["lanes"]),
            tuple(RuleMeaning(*rule) for rule in header["rules"]),
            tuple(header["symbols"]),
            tuple(header["binaries"]),
            tuple(header["window_names"]),
            tuple(tuple(names_of_lane) for names_of_lane in header["spans"]),
            header["page_nodes"],
            tuple(header["levels"]),
            arrays,
            time,
            _weight(arrays, len(time)),
            header["usual_ns"],
            odd_usual,
            odd_end,
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise NotFound(f"{name} {READ_AGAIN}") from error


def _weight(arrays: dict[str, Array], total: int) -> Array | Coded:
    if "weight_values" not in arrays:
        return arrays["weight"]
    # Without a file, all rows have the first value: one zero in memory serves as the codes of all.
    codes = arrays["weight"] if "weight" in arrays else np.broadcast_to(np.uint8(0), total)
    return Coded(arrays["weight_values"], codes)


def _arrays(folder: Path, names: list[str]) -> Iterator[tuple[str, Array]]:
    for name in names:
        mapped = np.lib.format.open_memmap(folder / f"{name}.npy", mode="r")  # loads no pickle
        yield name, np.asarray(mapped)  # a plain array is far quicker to slice than a memmap
