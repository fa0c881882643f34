"""Symbol maps: a text with the UUID of each build and its functions, as ``dwarfdump`` and ``nm`` print them.

    UUID: FA32EC0E-3304-35C1-BC5B-05F8345C58FE (arm64) App
    0000000100000000 T __mh_execute_header
    0000000100003f50 T _main
    0000000100003fa8 t _helper

An address is the binary's own, not the one in memory. The binary starts at its ``__mh_…_header``, at an
address that a line ``base 0x…`` names, or at 0. Other lines are left out; a file without a UUID is not a map.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tracekit.symbols.symbol_table import MAX_NAME, FunctionTable
from tracekit.symbols.work_budget import SymbolFileError, WorkBudget

_BYTES_PER_BYTE = 4
"""Memory for each byte of a map: names, addresses, and what sorting them takes."""
_STEPS_PER_LINE, _STEPS_PER_BUILD = 4, 1_000
_UUID = re.compile(
    rb"\s*(?:UUID:?|uuid)\s+([0-9A-Fa-f]{8}-?(?:[0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12})(.{0,300})"
)
_BASE = re.compile(rb"\s*base\s+(?:0x)?([0-9A-Fa-f]{1,16})\s*$")
_SYMBOL = re.compile(rb"(?:0x)?([0-9A-Fa-f]{1,16})\s+(?:[0-9A-Fa-f]{1,16}\s+)?([A-Za-z])\s+(\S.*)")
_HEADER = re.compile(rb"__mh_\w+_header$")
_LINES_BEFORE_UUID = 1_000
_MAX_LINE_BYTES = MAX_NAME + 400
_TEXT_TYPES = b"Tt"


@dataclass
class MappedBuild:
    """The functions of one build, as a map lists them."""

    path: Path
    uuid: str
    label: str
    """The text after the UUID: architecture and name."""
    base: int | None = None
    header: int = 0
    addresses: array[int] = field(default_factory=lambda: array("Q"))
    names: bytearray = field(default_factory=bytearray)
    """One after another; ``name_starts`` has the place of each."""
    name_starts: array[int] = field(default_factory=lambda: array("Q"))

    @property
    def text_address(self) -> int:
        """The address at which the binary starts."""
        return self.header if self.base is None else self.base

    def build_function_table(self) -> FunctionTable:
        """Return the functions by address; of several at one address the first."""
        starts, first_rows = np.unique(np.frombuffer(self.addresses, np.uint64), return_index=True)
        ends = np.append(starts[1:], np.uint64(2**64 - 1))[: len(starts)]

        def name_of(position: int) -> str:
            row = int(first_rows[position])
            end = self.name_starts[row + 1] if row + 1 < len(self.name_starts) else len(self.names)
            return self.names[self.name_starts[row] : end].decode("utf-8", "replace")

        return FunctionTable(starts, ends, name_of)


def read_map(path: Path, budget: WorkBudget) -> tuple[MappedBuild, ...]:
    """Return the builds in a map. Raises ``SymbolFileError`` for any other text, and ``OSError``."""
    builds: list[MappedBuild] = []
    budget.take(_BYTES_PER_BYTE * path.stat().st_size)
    lines = 0
    with path.open("rb") as file:
        # A line of any length is read in parts; only the first part can be a line of a map.
        while line := file.readline(_MAX_LINE_BYTES):
            lines += 1
            budget.spend(_STEPS_PER_LINE)
            _add_line(builds, path, line, budget)
            if lines == _LINES_BEFORE_UUID and not builds:
                break
    if not builds:
        raise SymbolFileError(
            "is neither a Mach-O file nor a symbol map, which names the build first: UUID: … (arm64) App"
        )
    return tuple(builds)


def _add_line(builds: list[MappedBuild], path: Path, line: bytes, budget: WorkBudget) -> None:
    """Add one line to the last build, or a build."""
    if builds and (symbol := _SYMBOL.match(line)):
        address, kind, name = int(symbol[1], 16), symbol[2], symbol[3].rstrip()[:MAX_NAME]
        if _HEADER.match(name):
            builds[-1].header = address
        elif kind in _TEXT_TYPES:
            builds[-1].addresses.append(address)
            builds[-1].name_starts.append(len(builds[-1].names))
            builds[-1].names += name
    elif build := _UUID.match(line):
        budget.spend(_STEPS_PER_BUILD)
        digits = build[1].decode().replace("-", "").upper()
        uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        builds.append(MappedBuild(path, uuid, build[2].decode("utf-8", "replace").strip()))
    elif builds and (base := _BASE.match(line)):
        builds[-1].base = int(base[1], 16)
