"""Regions of a compiled Core AI model: the parts for one engine, by their names.

``main_1_ANE_region_0_0`` is the name of a folder, of files in it and of a symbol in a module's bytecode; a
region is one name, however often it appears.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.mlmodels.protobuf_wire import DamagedModelError
from tracekit.model.vocabulary import Engine

_NUMBERS = re.compile(rb"_(ANE|GPU)_region_(\d{1,6}(?:_\d{1,6})?)(?!\d)")
_WORD = re.compile(rb"[\w.$-]*")
_MOST_BEFORE = 300
_MAX_REGIONS = 10_000
MAX_NAMES = 100_000
"""The most names of regions that are taken from some bytes."""
_MAX_MENTIONS = 1_000_000


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
        for name in iter_region_names(str(path.relative_to(folder)).encode("utf-8", "replace")):
            if len(sizes) < _MAX_REGIONS or name in sizes:
                sizes[name] = sizes.get(name, 0) + size
        if path.suffix == ".mpsgraph" and size and not path.is_symlink():
            for name in _iter_symbols(path):
                if len(sizes) < _MAX_REGIONS:
                    sizes.setdefault(name, 0)
    return tuple(Region(name, _find_engine(name), sizes[name]) for name in sorted(sizes, key=_order))


def _iter_symbols(path: Path) -> Iterator[str]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield from iter_region_names(data)


def iter_region_names(data: bytes | mmap.mmap) -> Iterator[str]:
    """Yield the names in some bytes, each once: at most ``MAX_NAMES`` and one.

    What stands before the engine is read backward, so time is linear. Raises ``DamagedModelError`` for more
    mentions than any module has: a count of those before them may be wrong.
    """
    names: set[bytes] = set()
    for number, match in enumerate(_NUMBERS.finditer(data)):
        if number == _MAX_MENTIONS:
            raise DamagedModelError(f"mentions regions more than {_MAX_MENTIONS:,} times")
        start = match.start()
        before = _WORD.match(data[max(start - _MOST_BEFORE, 0) : start][::-1])
        name = (before[0][::-1] if before else b"") + match[0]
        if name not in names:
            names.add(name)
            yield name.decode("ascii")
        if len(names) > MAX_NAMES:
            return


def _find_engine(name: str) -> Engine:
    return Engine.ANE if "_ANE_region_" in name else Engine.GPU


def _order(name: str) -> list[tuple[int, str]]:
    """Return a key by which region 2 comes before region 10."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]
