"""``Namer``: stacks with addresses → stacks with names, wherever a given file is of the same build.

    frame ──(binary)──► UUID ──► build ──► function, and with debug information its line and inlined functions

    address in memory − load address of the binary + address of the build's text segment = address in it

Only frames without a symbol get one; each distinct frame is looked up once. Where functions were inlined, a
frame becomes several: the innermost one takes its place, and its callers follow in every stack.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tracekit.model.columns import FRAMES, IntArray, take_texts
from tracekit.model.tables import StackTable
from tracekit.parsers.bundle.demangle import Demangler
from tracekit.symbols.debug_info import CodePlace, DebugInfo
from tracekit.symbols.macho import Build
from tracekit.symbols.search import AnyBuild, SymbolFiles, get_binary_name, get_display_name
from tracekit.symbols.symbol_map import MappedBuild
from tracekit.symbols.symbol_table import Addresses, FunctionTable, read_function_table
from tracekit.symbols.work_budget import SymbolFileError

UNNAMED = re.compile(r"|\?+|(?:\+ ?)?0x[0-9a-fA-F]+|<redacted>|<unknown>")
"""Placeholders for a symbol in recordings."""
_USER_ADDRESS = np.uint64(0x7FFF_FFFF_FFFF)
"""The bits of the address itself; arm64e keeps the pointer's signature above them."""
_HIDDEN = "__hidden#"
"""Names that the App Store's bitcode builds hide; a dSYM of such a build has no others."""
_MAX_FILES_PER_BUILD = 16
"""Copies of one dSYM in several archives have the same names."""
_MAX_STACK_GROWTH = 8
_GROWTH_SLACK = 1_000_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass
class NamedBinary:
    """One binary of the recording, with its addresses that files of symbols name."""

    name: str
    uuid: str
    unnamed_addresses: set[int] = field(default_factory=set)
    """Addresses without a symbol in the recording."""
    addresses_with_name: set[int] = field(default_factory=set)
    addresses_with_line: set[int] = field(default_factory=set)
    files: dict[str, None] = field(default_factory=dict)


class Namer:
    """Names the frames of stack tables, and counts the named addresses of each binary."""

    def __init__(self, files: SymbolFiles) -> None:
        self._files = files
        self._demangler = Demangler()
        self._tables: dict[tuple[str, int], FunctionTable | None] = {}
        self._done: dict[int, tuple[weakref.ref[StackTable], StackTable]] = {}
        self.binaries: dict[tuple[str, str], NamedBinary] = {}
        self._debug_infos: dict[tuple[str, int], DebugInfo] = {}

    def add_names(self, stacks: StackTable) -> StackTable:
        """Return the stacks with names; the same object if no name can be added."""
        done = self._done.get(id(stacks))
        if done is not None and done[0]() is stacks:
            return done[1]
        chains = dict(sorted(self._iter_chains(stacks), key=lambda chain: chain[0]))
        result = self._name_binaries(_with_chains(stacks, chains) if chains else stacks)
        self._done[id(stacks)] = (weakref.ref(stacks), result)
        return result

    def _name_binaries(self, stacks: StackTable) -> StackTable:
        """Name binaries, of which the recording has the UUID only, after the file of their build."""
        names = stacks.binaries["name"].tolist()
        by_uuid = {
            uuid: get_binary_name(self._files.by_uuid[uuid.upper()][0])
            for uuid in stacks.binaries["uuid"].tolist()
            if uuid in names and self._files.by_uuid.get(uuid.upper())
        }
        if not by_uuid:
            return stacks
        new_names = [by_uuid.get(name, name) for name in names]
        return replace(stacks, binaries=stacks.binaries.assign(name=pd.Series(new_names, dtype="str")))

    def _iter_chains(self, stacks: StackTable) -> Iterator[tuple[int, list[CodePlace]]]:
        """Yield each frame that gets a name, and its functions, innermost first."""
        frames, binaries = stacks.frames, stacks.binaries
        names = stacks.symbol_names
        bare_name = np.array([UNNAMED.fullmatch(str(name)) is not None for name in names], bool)
        is_bare = np.append(bare_name, True)[stacks.symbol_codes]  # the last for -1, no symbol
        binary_ids = frames["binary_id"].to_numpy()
        rows = np.flatnonzero(is_bare & (binary_ids >= 0))
        if not len(rows):
            return
        lookups = _lookup_addresses(stacks, rows)
        for number in np.unique(binary_ids[rows]).tolist():
            of_binary = np.flatnonzero(binary_ids[rows] == number)
            binary = binaries.iloc[number]
            uuid = str(binary["uuid"]).upper()
            account = self.binaries.setdefault(
                (uuid, str(binary["name"])), NamedBinary(str(binary["name"]), uuid)
            )
            account.unnamed_addresses.update(lookups[of_binary].tolist())
            load_address = int(binary["load_address"])
            if not load_address:
                continue
            addresses = lookups[of_binary]
            if load_address <= int(_USER_ADDRESS):
                addresses = addresses & _USER_ADDRESS
            yield from self._iter_chains_of_binary(account, rows[of_binary], addresses, load_address)

    def _iter_chains_of_binary(
        self, account: NamedBinary, rows: IntArray, addresses: Addresses, load_address: int
    ) -> Iterator[tuple[int, list[CodePlace]]]:
        """Yield frames of one binary with their functions, from the files of its build."""
        # A file with debug information comes first; the next file may name what it does not.
        candidates = sorted(
            self._files.by_uuid.get(account.uuid, ()),
            key=lambda build: not (isinstance(build, Build) and build.has_debug_info),
        )[:_MAX_FILES_PER_BUILD]
        is_unnamed = np.ones(len(rows), bool)
        for build in candidates:
            is_candidate = is_unnamed & (addresses >= np.uint64(load_address))
            offsets = addresses - np.uint64(load_address)
            if isinstance(build, Build):
                is_candidate &= offsets < np.uint64(build.text_size)
            candidate_positions = np.flatnonzero(is_candidate)
            in_build = offsets[candidate_positions] + np.uint64(build.text_address)
            for position, places in zip(
                candidate_positions.tolist(), self._find_places(build, in_build), strict=True
            ):
                if not places:
                    continue
                is_unnamed[position] = False
                account.addresses_with_name.add(int(addresses[position]))
                if places[0].line > 0:
                    account.addresses_with_line.add(int(addresses[position]))
                account.files[get_display_name(build.path)] = None
                yield int(rows[position]), places

    def _find_places(self, build: AnyBuild, addresses: Addresses) -> list[list[CodePlace]]:
        """Return the functions at each of the build's addresses, innermost first."""
        table = self._get_table(build)
        found = table.find(addresses).tolist() if table else [-1] * len(addresses)
        linked = [self._format_name(table.name_of(row)) if table and row >= 0 else "" for row in found]
        described = self._find_described_places(build, addresses)
        return [
            self._merge_places(name, described.get(address, []))
            for name, address in zip(linked, addresses.tolist(), strict=True)
        ]

    def _merge_places(self, linked: str, described: list[CodePlace]) -> list[CodePlace]:
        """Return the functions at one address: the outermost one has the linker's name, if there is one."""
        if not described:
            return [CodePlace(linked, "", -1)] if linked else []
        *inlined, function = described
        places = [CodePlace(self._format_name(p.name), _clean_text(p.file), p.line) for p in inlined]
        name = linked or self._format_name(function.name)
        if not name or not all(place.name for place in places):
            # A chain with a nameless link would claim a caller that it does not have.
            return [CodePlace(name, "", -1)] if name else []
        return [*places, CodePlace(name, _clean_text(function.file), function.line)]

    def _find_described_places(self, build: AnyBuild, addresses: Addresses) -> dict[int, list[CodePlace]]:
        """Return the functions from debug information; nothing without it."""
        if not isinstance(build, Build) or not build.has_debug_info:
            return {}
        info = self._debug_infos.setdefault(_get_key(build), DebugInfo(build, self._files.budget))
        try:
            places = info.find_places(addresses.tolist())
        except (SymbolFileError, OSError) as error:
            self._files.unreadable[get_display_name(build.path)] = _describe_error(error)
            return {}
        if info.is_damaged:
            self._files.unreadable[get_display_name(build.path)] = (
                "has debug information that is damaged in part"
            )
        return places

    @property
    def without_lines(self) -> dict[str, int]:
        """Files whose debug information was not read to its end → the addresses without lines for that."""
        skipped: dict[str, int] = {}
        for info in self._debug_infos.values():
            if info.skipped:
                name = get_display_name(info.path)
                skipped[name] = skipped.get(name, 0) + info.skipped
        return skipped

    def _get_table(self, build: AnyBuild) -> FunctionTable | None:
        """Return the functions of a build by address; each build is read once."""
        key = _get_key(build)
        if key not in self._tables:
            try:
                self._tables[key] = (
                    build.build_function_table()
                    if isinstance(build, MappedBuild)
                    else read_function_table(build, self._files.budget)
                )
            except (SymbolFileError, OSError) as error:
                self._files.unreadable[get_display_name(build.path)] = _describe_error(error)
                self._tables[key] = None
        return self._tables[key]

    def _format_name(self, name: str) -> str:
        """Return a name as Instruments shows it; "" for one that is hidden."""
        if name.startswith(_HIDDEN):
            return ""
        return _clean_text(self._demangler.demangle(name))


def _get_key(build: AnyBuild) -> tuple[str, int]:
    return str(build.path), build.offset if isinstance(build, Build) else id(build)


def _describe_error(error: SymbolFileError | OSError) -> str:
    return f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)


def _clean_text(text: str) -> str:
    """Return a text without control characters, which no name has."""
    return _CONTROL.sub("\ufffd", text)


def _lookup_addresses(stacks: StackTable, rows: IntArray) -> Addresses:
    """Return the address at which each frame is looked up: one byte lower, as Instruments does.

    A caller's address is where its call returns to, which may already be the next function; a leaf's is its
    program counter + 1. On Apple silicon instructions begin at multiples of 4: a leaf at one is a program
    counter itself.
    """
    frames = stacks.frames
    addresses = frames["address"].to_numpy(np.uint64)[rows]
    is_leaf_place = np.zeros(len(stacks.frame_ids), bool)
    depths = np.diff(stacks.offsets)
    is_leaf_place[stacks.offsets[:-1][depths > 0]] = True
    is_caller = np.zeros(len(frames), bool)
    is_caller[stacks.frame_ids[~is_leaf_place]] = True
    is_arm = np.append(stacks.binaries["arch"].astype("str").str.startswith("arm").to_numpy(bool), False)
    is_counter = ~is_caller[rows] & is_arm[frames["binary_id"].to_numpy()[rows]] & (addresses % 4 == 0)
    lookups: Addresses = addresses - (~is_counter & (addresses > 0)).astype(np.uint64)
    return lookups


def _with_chains(stacks: StackTable, chains: dict[int, list[CodePlace]]) -> StackTable:
    """Return the stacks with each frame of ``chains``, which is in their order, replaced by its functions."""
    frames = stacks.frames
    rows = np.array(list(chains), np.int64)
    extra = np.zeros(len(frames), np.int64)  # functions around the innermost one
    extra[rows] = [len(places) - 1 for places in chains.values()]
    lengths = 1 + extra[stacks.frame_ids]
    if lengths.sum() > _MAX_STACK_GROWTH * len(lengths) + _GROWTH_SLACK:
        # No code is inlined so deep: the file is hostile. The functions themselves keep their names.
        return _with_chains(stacks, {row: places[-1:] for row, places in chains.items()})
    # The innermost function takes the frame's row, its callers get new rows at the end. In every stack
    # they follow it:
    #   frame ids [5 7]   two callers of 5 in rows 9 and 10   →   [5 9 10 7]
    kept = np.concatenate([np.arange(len(frames)), np.repeat(rows, extra[rows])])
    changed = np.concatenate([rows, np.arange(len(frames), len(kept))])
    places = [places[0] for places in chains.values()]
    places += [place for places in chains.values() for place in places[1:]]
    inlined = [len(places) > 1 for places in chains.values()]
    inlined += [number < len(chain) - 1 for chain in chains.values() for number in range(1, len(chain))]
    frames_with_names = _with_places(frames.iloc[kept].reset_index(drop=True), changed, places, inlined)
    first_new = len(frames) + np.cumsum(extra) - extra
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.repeat(stacks.frame_ids.astype(np.int64), lengths)
    caller_depth = np.arange(len(ids)) - np.repeat(starts[:-1], lengths)
    ids = np.where(caller_depth > 0, first_new[ids] + caller_depth - 1, ids)
    return StackTable(starts[stacks.offsets], ids.astype(np.int32), frames_with_names, stacks.binaries)


def _with_places(
    frames: pd.DataFrame, rows: IntArray, places: Sequence[CodePlace], inlined: Sequence[bool]
) -> pd.DataFrame:
    """Return the frames with the functions in these rows."""
    lines, is_inlined = frames["source_line"].to_numpy().copy(), frames["inlined"].to_numpy().copy()
    lines[rows] = [place.line for place in places]
    is_inlined[rows] = inlined
    columns: dict[str, Any] = {
        "symbol": _with_texts(frames["symbol"], rows, [place.name for place in places]),
        "source_file": _with_texts(frames["source_file"], rows, [place.file for place in places]),
        "source_line": lines,
        "inlined": is_inlined,
    }
    return FRAMES.check(frames.assign(**columns), "frames")


def _with_texts(column: pd.Series[Any], rows: IntArray, texts: Sequence[str]) -> pd.Categorical:
    """Return a category column with other texts in some rows; a missing one becomes ""."""
    column_as_category = pd.Categorical(column)
    codes = column_as_category.codes.astype(np.int64)
    names = column_as_category.categories.tolist()
    codes[codes < 0] = len(names)
    codes[rows] = len(names) + 1 + np.arange(len(rows))
    return take_texts(codes, [*names, "", *texts])
