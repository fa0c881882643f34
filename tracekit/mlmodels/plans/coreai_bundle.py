"""Specialized models of Core AI: a ``.aimodelx`` or ``.aimodelc`` folder, also in ``coreai-cache``.

Regions of the Neural Engine and of the GPU are named in file names (``main_x_ANE_region_0_0.bc``) and in
the bytecode of ``specialized_model_<n>.mpsgraph``, where their names are searched for; nothing else of it
is decoded. Regions of both engines in one model are the normal case. ``GPU adapter present`` of the
manifest says nothing about that. Source: github.com/4rg0naut/silicon-ledger-public, EXP-026.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.mlmodels.mlir_bytecode import MAGIC
from tracekit.mlmodels.plans.placement_manifest import PlacementManifest, read_manifest
from tracekit.mlmodels.plans.places import find_core_ai_place
from tracekit.mlmodels.plans.plan import Plan, PlannedFunction, PlannedRegion
from tracekit.mlmodels.protobuf_wire import DamagedModelError
from tracekit.mlmodels.regions import MAX_NAMES, iter_region_names
from tracekit.model.vocabulary import Engine

FORM = "Core AI specialized model"

_SUFFIXES = (".aimodelx", ".aimodelc", ".aimodel")
_PACKAGE, _BYTECODE, _BNNS = ".mpsgraphpackage", ".mpsgraph", "BNNS"
_NAME = re.compile(r"(?P<function>.*)_(?P<engine>ANE|GPU)_region_(?P<numbers>[\d_]+)", re.DOTALL)
_PLACED = re.compile(rb"placement\.region_type<(ANE|GPU)>")
_ENGINES = {"ANE": Engine.ANE, "GPU": Engine.GPU}


@dataclass(frozen=True, order=True)
class _Region:
    """A region by the function that it is a part of, its engine, and its numbers."""

    function: str
    engine: str
    numbers: tuple[int, ...]

    @property
    def name(self) -> str:
        return "_".join([f"{self.function}_{self.engine}_region", *map(str, self.numbers)])


@dataclass
class _Bundle:
    """The facts in the files of a specialized model."""

    regions: set[_Region] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
    manifests: list[PlacementManifest] = field(default_factory=list)
    has_bytecode: bool = False
    has_bnns: bool = False


def find_root(folder: Path, file: Path) -> Path | None:
    """Return the specialized model, in a folder, that a file is a part of; None for any other file."""
    parts = file.relative_to(folder).parts[:-1]
    is_part = (
        any(part.endswith(_PACKAGE) for part in (folder.name, *parts))
        or any(_iter_regions(file.name.encode("utf-8", "replace")))
        or _is_bnns(file)
    )
    if not is_part:
        return None
    roots = [index for index, part in enumerate(parts) if part.endswith(_SUFFIXES)]
    roots += [index for index, part in enumerate(parts) if part.endswith(_PACKAGE)]
    return (
        folder.joinpath(*parts[: roots[0] + 1]) if roots and not folder.name.endswith(_SUFFIXES) else folder
    )


def read(root: Path, files: Iterable[Path]) -> Plan:
    """Read the files of a specialized model. Raises ``DamagedModelError``."""
    bundle = _Bundle()
    for file in files:
        _add_file(bundle, root, file)
        if len(bundle.regions) > MAX_NAMES:
            raise DamagedModelError(f"names more than {MAX_NAMES:,} regions")
    functions: dict[str, list[PlannedRegion]] = {
        name: [] for manifest in bundle.manifests for name in manifest.functions
    }
    for region in sorted(bundle.regions):
        functions.setdefault(_find_function(region, functions), []).append(
            PlannedRegion(region.name, _ENGINES[region.engine])
        )
    named = {region.engine for region in bundle.regions}
    # An engine that is placed without a name for its regions, and a delegate that is one region by itself.
    others = [
        PlannedRegion(f"placement.region_type<{word}>", _ENGINES[word])
        for word in sorted(bundle.placed - named)
    ]
    others += [PlannedRegion(_BNNS, Engine.CPU)] if bundle.has_bnns else []
    if others:
        functions.setdefault("", []).extend(others)
    os_build, model = find_core_ai_place(root.absolute())
    return Plan(
        root,
        FORM,
        "Core AI",
        tuple(PlannedFunction(name, regions=tuple(regions)) for name, regions in functions.items()),
        chip=_find_first(manifest.chip for manifest in bundle.manifests),
        os_build=os_build,
        compute_units=_find_first(manifest.compute_units for manifest in bundle.manifests),
        model=model,
        ane_regions=_count_ane(bundle),
        limits=tuple(_list_limits(bundle)),
    )


def _count_ane(bundle: _Bundle) -> int | None:
    """Return the number of regions for the Neural Engine; 0 only where the files show that there is none."""
    count = sum(region.engine == "ANE" for region in bundle.regions)
    if count or "ANE" in bundle.placed:
        return count or None  # placed without names: one at least
    is_of_cpu = bundle.has_bnns and not bundle.manifests
    shows_none = bundle.has_bytecode or is_of_cpu or _have_none(bundle.manifests)
    return 0 if shows_none else None


def _have_none(manifests: list[PlacementManifest]) -> bool:
    return bool(manifests) and all(manifest.has_no_ane_region for manifest in manifests)


def _list_limits(bundle: _Bundle) -> Iterator[str]:
    if bundle.regions:
        yield "Regions are named in no order: which follows which is not shown, nor the operations in them."
    elif not bundle.placed and not bundle.has_bnns:
        yield "The files name no region of any engine."


def _add_file(bundle: _Bundle, root: Path, file: Path) -> None:
    # Of a region's files, the outermost with its name counts: "main_ANE_region_0_0.bc/h17c/….mlir.bc".
    for part in file.relative_to(root).parts:
        bundle.regions.update(_iter_regions(part.encode("utf-8", "replace")))
    if file.name == "manifest.plist" and file.parent.name.endswith(_PACKAGE):
        try:
            bundle.manifests.append(read_manifest(file))
        except DamagedModelError as error:
            raise DamagedModelError(f"holds {file.name}, which {error}") from error
    elif file.name.startswith("specialized_model_") and file.name.endswith(_BYTECODE):
        _search_bytecode(bundle, file)
    bundle.has_bnns |= _is_bnns(file)


def _search_bytecode(bundle: _Bundle, file: Path) -> None:
    with file.open("rb") as opened:
        if file.stat().st_size == 0:
            return
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            bundle.has_bytecode |= data[: len(MAGIC)] == MAGIC
            bundle.regions.update(_iter_regions(data))
            bundle.placed.update(match[1].decode() for match in _PLACED.finditer(data))


def _iter_regions(data: bytes | mmap.mmap) -> Iterator[_Region]:
    """Yield the regions whose names stand in bytes."""
    for match in filter(None, map(_NAME.fullmatch, iter_region_names(data))):
        yield _Region(match["function"], match["engine"], tuple(map(int, match["numbers"].split("_"))))


def _find_function(region: _Region, functions: Iterable[str]) -> str:
    """Return the entry function that a region is of (``main_x`` of ``main_x_0``), or its own name."""
    names = [name for name in functions if name and region.function.startswith(name)]
    return max(names, key=len, default=region.function)


def _is_bnns(file: Path) -> bool:
    return file.parent.name == _BNNS and file.parent.parent.name.endswith("-delegates")


def _find_first(texts: Iterable[str]) -> str:
    return next(filter(None, texts), "")
