"""Regions of a compiled Core AI model: the parts for one engine, by their names.

``main_1_ANE_region_0_0`` is the name of a folder, of files in it and of a symbol in a module's bytecode; a
region is one name, however often it appears.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tracekit.model.vocabulary import Engine

_NUMBERS = re.compile(rb"_(ANE|GPU)_region_(\d{1,6}(?:_\d{1,6})?)(?!\d)")
_WORD = re.compile(rb"[A-Za-z0-9_\-]*")
_MOST_BEFORE = 128
_MAX_REGIONS = 10_000
_MAX_MENTIONS = 200_000
_MAX_BYTES = 256 << 20
"""Of a module's bytecode that is searched; weights are in other files."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region: its engine by its name, and the bytes of files with this name (0: only a symbol)."""

    name: str
    engine: Engine
    size_bytes: int = 0


def list_regions(folder: Path, files: Iterable[tuple[Path, int]]) -> tuple[Region, ...]:
    """Return the regions that paths within ``folder`` and symbols of ``.mpsgraph`` files name, by name."""
    sizes: dict[str, int] = {}
    for path, size in files:
        for name in set(_iter_names(str(path.relative_to(folder)).encode("utf-8", "replace"))):
            if len(sizes) < _MAX_REGIONS or name in sizes:
                sizes[name] = sizes.get(name, 0) + size
        if path.suffix == ".mpsgraph" and size and not path.is_symlink():
            for name in _iter_symbols(path):
                if len(sizes) < _MAX_REGIONS:
                    sizes.setdefault(name, 0)
    return tuple(Region(name, _find_engine(name), sizes[name]) for name in sorted(sizes, key=_order))


def _iter_symbols(path: Path) -> Iterator[str]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield from _iter_names(data)


def _iter_names(data: bytes | mmap.mmap) -> Iterator[str]:
    """Yield the names in some bytes. What stands before the engine is read backward, so time is linear."""
    matches = _NUMBERS.finditer(data, 0, min(len(data), _MAX_BYTES))
    for match in islice(matches, _MAX_MENTIONS):
        start = match.start()
        before = _WORD.match(data[max(start - _MOST_BEFORE, 0) : start][::-1])
        yield ((before[0][::-1] if before else b"") + match[0]).decode("ascii")


def _find_engine(name: str) -> Engine:
    return Engine.ANE if "_ANE_region_" in name else Engine.GPU


def _order(name: str) -> list[tuple[int, str]]:
    """Return a key by which region 2 comes before region 10."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]
