"""Binaries whose code has no names in the samples: which symbols are missing, and for how many samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.analysis.classification.frame_names import SYSTEM_FOLDER, has_symbol
from tracekit.analysis.engines.codes import sum_by_code
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, INCOMPLETE, Engine

_FOLDED = "<deduplicated_symbol>"
"""A function that the linker merged with others: its symbols were read, and leave its name open."""


@frozen
class BinaryWithoutSymbols:
    """One build with addresses instead of names; ``name`` is "" for code that belongs to no binary.

    ``addresses`` are its different ones in the samples, ``samples`` those with one of them in the stack.
    """

    name: str
    uuid: str
    arch: str
    path: str
    addresses: int
    samples: int

    @property
    def is_system(self) -> bool:
        """True for a library of the operating system, whose symbols come with the system."""
        return SYSTEM_FOLDER.match(self.path) is not None


def without_symbols(trace: Trace, engine: npt.NDArray[np.int8]) -> BoolArray:
    """Mark the samples of no known engine whose stack has addresses in the place of names.

    Of a text whose lines were cut out, a stack may have no name at all and lack no symbol either.
    """
    unknown = engine == ENGINE_CODE[Engine.UNKNOWN]
    stack_ids = trace.samples["stack_id"].to_numpy()
    if trace.has_timeline or not unknown.any():
        mask: BoolArray = unknown & (stack_ids >= 0)
        return mask
    stacks = trace.stacks
    names = map(str, stacks.symbol_names)
    is_bare_name = [not has_symbol(name) and name not in INCOMPLETE for name in names]
    is_bare = np.append(np.array(is_bare_name, bool), True)[stacks.symbol_codes]
    stack_of_place = np.repeat(np.arange(len(stacks)), np.diff(stacks.offsets))
    bare = np.bincount(stack_of_place[is_bare[stacks.frame_ids]], minlength=len(stacks) + 1) > 0
    of_text: BoolArray = unknown & bare[stack_ids]  # the last entry is for samples without a stack
    return of_text


def find_binaries_without_symbols(trace: Trace) -> tuple[BinaryWithoutSymbols, ...]:
    """Return the binaries, those in most samples first."""
    stacks = trace.stacks
    is_bare_name = [not has_symbol(name) and name != _FOLDED for name in map(str, stacks.symbol_names)]
    if not any(is_bare_name):
        return ()
    is_bare = np.append(np.array(is_bare_name, bool), True)[stacks.symbol_codes]
    stack_ids = trace.samples["stack_id"].to_numpy()
    samples_of_stack = sum_by_code(stack_ids + 1, trace.sample_counts, len(stacks) + 1)[1:]
    # One build may be loaded by several processes, at an address of its own in each.
    binaries = stacks.binaries
    columns = (binaries[name].astype("str") for name in ("name", "uuid", "arch", "path"))
    keys: list[tuple[str, str, str, str]] = list(zip(*columns, strict=True))
    builds = list(dict.fromkeys([*keys, ("", "", "", "")]))
    number = {build: position for position, build in enumerate(builds)}
    build_of_binary = np.array([*(number[key] for key in keys), number["", "", "", ""]])  # the last for -1
    stack_of_place = np.repeat(np.arange(len(stacks)), np.diff(stacks.offsets))
    places = np.flatnonzero(is_bare[stacks.frame_ids] & (samples_of_stack[stack_of_place] > 0))
    frames = stacks.frame_ids[places]
    build = build_of_binary[stacks.frames["binary_id"].to_numpy()[frames]]
    pairs = np.unique(np.stack([build, stack_of_place[places]]), axis=1)
    samples = np.bincount(pairs[0], samples_of_stack[pairs[1]], len(builds)).astype(np.int64)
    addresses = stacks.frames["address"].to_numpy(np.uint64)[frames]
    distinct = np.unique(np.stack([build.astype(np.uint64), addresses]), axis=1)
    address_counts = np.bincount(distinct[0].astype(np.int64), minlength=len(builds))
    entries = [
        BinaryWithoutSymbols(*builds[row], int(address_counts[row]), int(samples[row]))
        for row in np.flatnonzero(samples).tolist()
    ]
    return tuple(sorted(entries, key=lambda entry: (-entry.samples, entry.name, entry.uuid)))
