"""``manifest.plist`` of a package that Core AI specialized: what was asked for, and the chip.

The form is not published; github.com/4rg0naut/silicon-ledger-public describes it (EXP-026,
``coreai_cache_format.md``): the descriptor of the compilation is JSON within keys and values, its
``deviceDescriptor`` ends with the chip, and ``Binary File Resources`` names what the Neural Engine's
compiler made. In the one real manifest of a model that is on the GPU alone, these are empty, and
``ANERegionsHash`` ends with the hash of nothing: a manifest with both has no region of the Neural Engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.mlmodels.bundle_manifest import load_manifest
from tracekit.mlmodels.plans.plan import Plan, PlannedFunction
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.plans.values import read_object, read_text
from tracekit.mlmodels.protobuf_wire import DamagedModelError

FORM = "manifest.plist"

_MAX_VALUES = 100_000
_MAX_DEPTH = 32
_VERSIONS, _BINARIES, _HASHES = "Package Version", "Binary File Resources", "ANERegionsHash"
_HASH_OF_NOTHING = hashlib.sha256().hexdigest()
_PREFERRED = {2: "the Neural Engine"}
"""``preferredDevice`` of packages whose app asked for it, by EXP-026; other numbers are not established."""


@dataclass(frozen=True, slots=True)
class PlacementManifest:
    """The chip, the entry functions, the setting in words, and whether the Neural Engine has no region."""

    chip: str = ""
    functions: tuple[str, ...] = ()
    compute_units: str = ""
    has_no_ane_region: bool = False


def recognises(file: PlanFile) -> bool:
    """Return True for a property list with versions of a package."""
    head = file.head.lstrip()
    return head.startswith((b"bplist00", b"<?xml", b"<plist")) and _VERSIONS.encode() in file.head


def read(file: PlanFile) -> Plan:
    """Read a manifest that is on its own. Raises ``DamagedModelError``."""
    manifest = read_manifest(file.path)
    return Plan(
        file.path,
        FORM,
        "Core AI",
        tuple(PlannedFunction(name) for name in manifest.functions),
        chip=manifest.chip,
        compute_units=manifest.compute_units,
        ane_regions=0 if manifest.has_no_ane_region else None,
        limits=tuple(list_limits(manifest)),
    )


def list_limits(manifest: PlacementManifest) -> Iterator[str]:
    """Yield what a manifest on its own does not show."""
    if manifest.has_no_ane_region:
        yield (
            "The manifest lists no binary, and its hash of the Neural Engine's regions is that of nothing;"
            " what runs on the GPU and on the CPU is in the other files of the package."
        )
    else:
        yield "A manifest names no regions: name the folder that it is in, whose other files do."


def read_manifest(path: Path) -> PlacementManifest:
    """Read a manifest. Raises ``DamagedModelError``."""
    versions = read_object(load_manifest(path).get(_VERSIONS))
    package = read_object(next(iter(versions.values()), None))
    descriptors = list(_iter_descriptors(package))
    names = dict.fromkeys(read_text(descriptor.get("entryFunctionName")) for descriptor in descriptors)
    return PlacementManifest(
        chip=next((chip for descriptor in descriptors if (chip := _find_chip(descriptor))), ""),
        functions=tuple(filter(None, names)),
        compute_units=next(
            (text for descriptor in descriptors if (text := _describe_setting(descriptor))), ""
        ),
        has_no_ane_region=package.get(_BINARIES) == {} and _has_no_hash(package.get(_HASHES)),
    )


def _iter_descriptors(package: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the descriptors in the texts of a package, its keys among them, each different text once."""
    seen = set()
    for text in _iter_texts(package):
        if "deviceDescriptor" in text and text not in seen:
            seen.add(text)
            yield from _parse_descriptors(text, 0)


def _parse_descriptors(text: str, depth: int) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list) and depth == 0:
        for item in value[:100]:
            if isinstance(item, str):
                yield from _parse_descriptors(item, depth + 1)


def _iter_texts(value: object) -> Iterator[str]:
    """Yield the texts of a property list. Parts of a binary one can be shared, so values are counted."""
    stack: list[tuple[object, int]] = [(value, 0)]
    count = 0
    while stack:
        item, depth = stack.pop()
        count += 1
        if count > _MAX_VALUES or depth > _MAX_DEPTH:
            raise DamagedModelError("has more values than any manifest")
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack += ((part, depth + 1) for pair in item.items() for part in pair)
        elif isinstance(item, list):
            stack += ((part, depth + 1) for part in item)


def _has_no_hash(hashes: object) -> bool:
    """Return True for hashes by chip that all end with the hash of nothing."""
    texts = [read_text(text).lower() for text in read_object(hashes).values()]
    return bool(texts) and all(text.endswith(_HASH_OF_NOTHING) for text in texts)


def _find_chip(descriptor: dict[str, Any]) -> str:
    device = descriptor.get("deviceDescriptor")
    return read_text(device[-1]) if isinstance(device, list) and device else ""


def _describe_setting(descriptor: dict[str, Any]) -> str:
    """Return the setting in the manifest's words, with their meaning where that is established."""
    compilation = read_object(descriptor.get("compilationDescriptor"))
    preferred, allowed = compilation.get("preferredDevice"), compilation.get("allowedComputeDevices")
    if type(preferred) is not int:
        return ""
    meaning = f" ({_PREFERRED[preferred]})" if preferred in _PREFERRED else ""
    also = f", allowedComputeDevices {allowed}" if type(allowed) is int else ""
    return f"preferredDevice {preferred}{meaning}{also}"
