"""The samples of a recording as columns on the disk: ``SampleColumns``, and how they are opened.

::

    samples/  samples.json   all but the arrays: see ``writing``
              time.npy …     one file per array, mapped into memory, so that only the used parts are read

Rows are sorted by lane, engine and time; the rows of one lane and engine are a group.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dashboard.errors import NotFound

FORMAT = "tracekit-samples/2"
FOLDER, HEADER = "samples", "samples.json"
Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
READ_AGAIN = "was read by another version of tracekit, or its data is damaged. Read it again."


@dataclass(frozen=True)
class SampleGroup:
    """The rows [first, end) of one engine of one lane; ``longest_ns`` is the length of its longest sample."""

    lane: int
    engine: int
    first: int
    end: int
    longest_ns: int


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
class SampleColumns:
    """An opened recording. ``arrays`` are those that ``writing`` names.

    ``length_ns`` is the time that each sample represents, 0 if that is its weight. ``spans`` names, for each
    lane with too many intervals for the page, the arrays of the target's and of other processes' intervals.
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

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    @cached_property
    def groups_of_lanes(self) -> tuple[tuple[SampleGroup, ...], ...]:
        """The groups of each lane."""
        groups: list[list[SampleGroup]] = [[] for _ in self.lanes]
        for group in self.groups:
            groups[group.lane].append(group)
        return tuple(tuple(groups_of_lane) for groups_of_lane in groups)

    def group_of(self, row: int) -> SampleGroup:
        """Return the group of a row."""
        return self.groups[bisect_right(self.groups, row, key=lambda group: group.first) - 1]

    def rows(self, group: SampleGroup, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the first and the end of the group's rows whose time lies in [start, end)."""
        # Within a group, rows are sorted by time: two binary searches, whatever the size.
        first, end = np.searchsorted(self["time"][group.first : group.end], [start_ns, end_ns])
        return group.first + int(first), group.first + max(int(first), int(end))

    def lengths(self, rows: slice) -> Ints:
        """Return the times that samples represent."""
        weight = self["weight"][rows]
        return weight.astype(np.int64) if not self.length_ns else np.full(len(weight), self.length_ns)


def open_samples(folder: Path, name: str) -> SampleColumns:
    """Open the files of ``writing``; raise ``NotFound``, naming the recording, if they are unusable."""
    try:
        header = json.loads((folder / HEADER).read_text("utf-8"))
        names = header["arrays"] if header["format"] == FORMAT else ["of another format"]
        arrays = dict(_arrays(folder, names))
        return SampleColumns(
            header["duration_ns"],
            header["length_ns"],
            len(arrays["time"]),
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
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotFound(f"{name} {READ_AGAIN}") from error


def _arrays(folder: Path, names: list[str]) -> Iterator[tuple[str, Array]]:
    for name in names:
        mapped = np.lib.format.open_memmap(folder / f"{name}.npy", mode="r")  # loads no pickle
        yield name, np.asarray(mapped)  # a plain array is far quicker to slice than a memmap
