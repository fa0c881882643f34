"""Compiled Core AI models (``.aimodelx``, ``.aimodelc``): what the folder shows → ``MLModel``.

The compiled program (``.odix``) has no published form. Read are names and sizes of files, the lists of
packages (``manifest.plist``), regions by their names, and the symbols of operations that a program names.
Seen were programs that coreai-core 1.0.0b3 compiled on Linux, and public descriptions of the cache of a Mac.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.mlmodels.bundle_manifest import MANIFEST, BundleManifest, read_manifest
from tracekit.mlmodels.protobuf_wire import DamagedModelError
from tracekit.mlmodels.regions import Region, list_regions

PROGRAM_MAGIC = b"odix"
DELEGATES_SUFFIX = "-delegates"

_SYMBOL = re.compile(rb"coreai\.[a-z0-9_.]{1,80}(?=\0)")
_TARGET = re.compile(r"main-(\w+)(?:\.odix|\.mlirb|-delegates)")
_MAX_PROGRAM_BYTES = 64 << 20
_MAX_SYMBOLS = 10_000
_MAX_PACKAGES = 100


@dataclass(frozen=True, slots=True)
class Delegate:
    """A part of a compiled model that another framework runs: ``MPSGraph``, ``BNNS``, with its files."""

    name: str
    files: int
    size_bytes: int
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class CompiledAsset:
    """A compiled model as its folder shows it.

    ``targets`` are the words for chips in names of files and lists (``h17c``; ``this`` and ``universal``
    name none). ``packages`` are pairs of a path within the folder and its list. ``symbols`` are names of
    operations that compiled programs name, each once.
    """

    targets: tuple[str, ...]
    delegates: tuple[Delegate, ...]
    packages: tuple[tuple[str, BundleManifest], ...]
    symbols: tuple[str, ...]
    limits: tuple[str, ...]


def is_compiled_asset(folder: Path) -> bool:
    """Return True for a folder with a compiled program, delegates, or the list of a package."""
    return any(
        path.suffix == ".odix"
        or path.name.endswith((DELEGATES_SUFFIX, ".mpsgraphpackage"))
        or (path.name == MANIFEST and folder.suffix == ".mpsgraphpackage")
        for path in folder.iterdir()
    )


def read_compiled_asset(folder: Path, files: Sequence[tuple[Path, int]]) -> CompiledAsset:
    """Read what a folder with these files and sizes shows. Raises ``DamagedModelError``."""
    limits: list[str] = []
    packages: list[tuple[str, BundleManifest]] = []
    for path, _ in files:
        if path.name == MANIFEST and not path.is_symlink() and len(packages) < _MAX_PACKAGES:
            try:
                packages.append((str(path.parent.relative_to(folder)), read_manifest(path)))
            except DamagedModelError as error:
                limits.append(f"It holds {path.name}, which {error}.")
    programs = [(path, size) for path, size in files if path.suffix == ".odix" and not path.is_symlink()]
    for path, size in programs:
        if size > _MAX_PROGRAM_BYTES:
            limits.append(
                f"Of {path.name}, the first {_MAX_PROGRAM_BYTES >> 20} MiB were searched for symbols."
            )
    symbols = {symbol for path, size in programs if size for symbol in _iter_symbols(path)}
    targets = [match[1] for path, _ in files for match in _TARGET.finditer(str(path.relative_to(folder)))]
    targets += [name for _, manifest in packages for name in manifest.architectures]
    return CompiledAsset(
        tuple(dict.fromkeys(targets)),
        tuple(_iter_delegates(folder, files)),
        tuple(packages),
        tuple(sorted(symbols)[:_MAX_SYMBOLS]),
        tuple(limits),
    )


def _iter_symbols(path: Path) -> Iterator[str]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[: len(PROGRAM_MAGIC)] != PROGRAM_MAGIC:
            raise DamagedModelError(f"holds {path.name}, which is no compiled program: it begins otherwise")
        for match in _SYMBOL.finditer(data, 0, min(len(data), _MAX_PROGRAM_BYTES)):
            yield match[0].decode("ascii")


def _iter_delegates(folder: Path, files: Iterable[tuple[Path, int]]) -> Iterator[Delegate]:
    """Yield the folders within ``…-delegates``; a package outside of them is MPSGraph's."""
    parts: dict[str, list[tuple[Path, int]]] = {}
    for path, size in files:
        steps = path.relative_to(folder).parts
        place = next((i + 1 for i, step in enumerate(steps) if step.endswith(DELEGATES_SUFFIX)), -1)
        if 0 < place < len(steps) - 1:
            parts.setdefault(steps[place], []).append((path, size))
        elif place < 0 and _is_in_package(folder, steps):
            parts.setdefault("MPSGraph", []).append((path, size))
    for name, members in parts.items():
        size_bytes = sum(size for _, size in members)
        yield Delegate(name, len(members), size_bytes, list_regions(folder, members))


def _is_in_package(folder: Path, steps: Sequence[str]) -> bool:
    return any(step.endswith(".mpsgraphpackage") for step in (folder.name, *steps[:-1]))
