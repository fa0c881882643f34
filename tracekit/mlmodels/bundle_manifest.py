"""``manifest.plist`` of a ``.mpsgraphpackage``, in which Core AI keeps what it compiled.

The form is not published. Keys and their places are those of a public dump of one such list (silicon-ledger,
MIT: results/EXP-028-apple-tracer and its note on the format of the cache). The list is of other people:
its size is bounded, and a binary one is refused whose parts overlap.
"""

from __future__ import annotations

import json
import plistlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.mlmodels.protobuf_wire import DamagedModelError

MANIFEST = "manifest.plist"

_MAX_BYTES = 8 << 20
"""A thousand times the list at hand."""
_MAX_ITEMS = 10_000
"""Modules of a package, and entries of a list that are kept."""

_TRAILER = struct.Struct(">6xBBQQQ")
"""Of a binary list: bytes of an offset and of a reference, parts, the first part, the table of offsets."""
_LONG_PARTS = frozenset((4, 5, 6, 8, 0xA, 0xC, 0xD))
_LENGTH_FOLLOWS = 0x0F
_PROPERTY_LIST_ERRORS = (
    ValueError,
    OverflowError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    MemoryError,
    struct.error,
    ExpatError,
)
"""The errors that ``plistlib`` raises for damaged lists, found by trying."""

Option = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class CompiledModule:
    """One module of a package. ``attributes`` are those of its entry function, such as ``mps.aneAlignedIO``.

    ``options`` are the compiler's, as stated: ``preferredDevice``, ``allowedComputeDevices``, ….
    """

    file_name: str = ""
    entry_function: str = ""
    architecture: str = ""
    attributes: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """A package as its list states it. ``architectures`` are the compiler's words for chips: ``h17c``.

    ``gpu_adapter`` is the list's own word, or empty: NO does not state that all runs on the Neural Engine.
    """

    version: str
    architectures: tuple[str, ...]
    modules: tuple[CompiledModule, ...]
    gpu_adapter: str = ""
    binary_files: tuple[str, ...] = ()


def read_manifest(path: Path) -> BundleManifest:
    """Read a list. Raises ``DamagedModelError``."""
    loaded = load_manifest(path)
    packages = _get(loaded, "Package Version")
    version, package = next(iter(packages.items() if isinstance(packages, dict) else ()), ("", None))
    if not isinstance(package, dict):
        raise DamagedModelError("describes no package")
    modules = tuple(_iter_modules(package.get("Optimized Modules")))
    named = package.get("ANERegionsHash")
    architectures = [str(key) for key in named] if isinstance(named, dict) else []
    architectures += [module.architecture for module in modules if module.architecture]
    resources = package.get("Binary File Resources")
    files = [_get(item, "File Name") for item in resources.values()] if isinstance(resources, dict) else []
    return BundleManifest(
        str(version),
        tuple(dict.fromkeys(architectures)),
        modules,
        _get_text(package, "GPU adapter present"),
        tuple(name for name in files[:_MAX_ITEMS] if isinstance(name, str)),
    )


def load_manifest(path: Path) -> dict[str, Any]:
    """Return a list as plain values; empty for one that is no dictionary. Raises ``DamagedModelError``."""
    size = path.stat().st_size
    if size > _MAX_BYTES:
        raise DamagedModelError(f"has {size:,} bytes; at most {_MAX_BYTES:,} are read")
    try:
        # From memory: a length in a binary list is then compared with the bytes that are there.
        data = path.read_bytes()
        _require_parts_apart(data)
        loaded = plistlib.loads(data)
    except _PROPERTY_LIST_ERRORS as error:
        raise DamagedModelError("is no property list that can be read") from error
    return loaded if isinstance(loaded, dict) else {}


def _require_parts_apart(data: bytes) -> None:
    """Raise ``ValueError`` for a binary list with parts that overlap: each would be read as a copy."""
    if not data.startswith(b"bplist00") or len(data) < _TRAILER.size:
        return
    offset_bytes, _, count, _, table = _TRAILER.unpack(data[-_TRAILER.size :])
    if count * offset_bytes > len(data):
        raise ValueError("more parts than bytes")
    total = 0
    for number in range(count):
        start = table + number * offset_bytes
        place = int.from_bytes(data[start : start + offset_bytes], "big")
        total += _measure_part(data, place)
        if total > 2 * len(data):
            raise ValueError("parts that overlap")


def _measure_part(data: bytes, place: int) -> int:
    """Return the length that a part of a binary list states; the widest have two bytes for each of it."""
    token = data[place]
    length = token & 0x0F
    if token >> 4 not in _LONG_PARTS:
        return 1
    if length == _LENGTH_FOLLOWS:
        size = 1 << (data[place + 1] & 0x0F)
        length = int.from_bytes(data[place + 2 : place + 2 + size], "big")
    return length


# Modules ----------------------------------------------------------------------------------------------------


def _iter_modules(modules: object) -> Iterator[CompiledModule]:
    """Yield the modules: a dictionary by their description, or a list of descriptions."""
    if isinstance(modules, dict):
        for key, module in list(modules.items())[:_MAX_ITEMS]:
            yield _read_module([str(key)], module if isinstance(module, dict) else {})
    elif isinstance(modules, list):
        for text in modules[:_MAX_ITEMS]:
            yield _read_module([text] if isinstance(text, str) else [], {})


def _read_module(texts: list[str], module: Mapping[Any, Any]) -> CompiledModule:
    symbols, used = module.get("Key to Symbol Name"), module.get("Used In Cache")
    texts = [*texts, *(map(str, symbols) if isinstance(symbols, dict) else ())]
    texts += [text for text in used if isinstance(text, str)] if isinstance(used, list) else []
    description = next(filter(None, map(_read_description, texts[:_MAX_ITEMS])), {})
    device = description.get("deviceDescriptor")
    last = device[-1] if isinstance(device, list) and device else ""
    options = description.get("compilationDescriptor")
    entries = module.get("Entry Function Attributes")
    return CompiledModule(
        file_name=_get_text(module, "File Name"),
        entry_function=_get_text(description, "entryFunctionName"),
        architecture=last if isinstance(last, str) else "",
        attributes=tuple(_iter_attributes(entries)),
        options={
            str(name): value
            for name, value in (options.items() if isinstance(options, dict) else ())
            if value is None
            or isinstance(value, bool | int | str)
            or (type(value) is float and isfinite(value))
        },
    )


def _read_description(text: str) -> Mapping[str, Any]:
    """Return the compiler's description of a module: JSON, also within a JSON list of one text."""
    try:
        loaded = json.loads(text)
        if isinstance(loaded, list) and loaded and isinstance(loaded[0], str):
            loaded = json.loads(loaded[0])
    except (ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _iter_attributes(entries: object) -> Iterator[str]:
    for names in entries.values() if isinstance(entries, dict) else ():
        if isinstance(names, list):
            yield from (name for name in names[:_MAX_ITEMS] if isinstance(name, str))


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _get_text(value: Mapping[Any, Any], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""
