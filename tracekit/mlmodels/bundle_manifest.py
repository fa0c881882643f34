"""``manifest.plist`` of a ``.mpsgraphpackage``, in which Core AI keeps what it compiled.

The form is not published. Keys and their places are those of a public dump of one such list (silicon-ledger,
MIT: results/EXP-028-apple-tracer and its note on the format of the cache). The list is of other people:
its size, depth and count of objects are bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.mlmodels.wire import DamagedModelError

if TYPE_CHECKING:
    from tracekit.parsers.bundle.plist import BinaryPlist

MANIFEST = "manifest.plist"

_MAX_BYTES = 8 << 20
"""A thousand times the list at hand."""
_MAX_DEPTH = 16
_MAX_ITEMS = 10_000
"""Modules of a package, and entries of a list that are kept."""

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
class Manifest:
    """A package as its list states it. ``architectures`` are the compiler's words for chips: ``h17c``.

    ``gpu_adapter`` is the list's own word, or empty: NO does not state that all runs on the Neural Engine.
    """

    version: str
    architectures: tuple[str, ...]
    modules: tuple[CompiledModule, ...]
    gpu_adapter: str = ""
    binary_files: tuple[str, ...] = ()


def read_manifest(path: Path) -> Manifest:
    """Read a list. Raises ``DamagedModelError``."""
    from tracekit.parsers.bundle.plist import PlistError

    size = path.stat().st_size
    if size > _MAX_BYTES:
        raise DamagedModelError(f"holds {path.name} of {size:,} bytes; at most {_MAX_BYTES:,} are read")
    try:
        loaded = _load(path.read_bytes())
    except PlistError as error:
        raise DamagedModelError(f"holds {path.name}, which {error}") from error
    packages = _get(loaded, "Package Version")
    version, package = next(iter(packages.items() if isinstance(packages, dict) else ()), ("", None))
    if not isinstance(package, dict):
        raise DamagedModelError(f"holds {path.name}, which describes no package")
    modules = tuple(_iter_modules(package.get("Optimized Modules")))
    named = package.get("ANERegionsHash")
    architectures = [str(key) for key in named] if isinstance(named, dict) else []
    architectures += [module.architecture for module in modules if module.architecture]
    resources = package.get("Binary File Resources")
    files = [_get(item, "File Name") for item in resources.values()] if isinstance(resources, dict) else []
    return Manifest(
        str(version),
        tuple(dict.fromkeys(architectures)),
        modules,
        _get_text(package, "GPU adapter present"),
        tuple(name for name in files[:_MAX_ITEMS] if isinstance(name, str)),
    )


def _load(data: bytes) -> Any:
    from tracekit.parsers.bundle.plist import BinaryPlist, read_plist

    if not data.startswith(b"bplist0"):
        return read_plist(data)
    objects = BinaryPlist(data)
    return _resolve(objects, objects.top, 0)


def _resolve(objects: BinaryPlist, number: int, depth: int) -> Any:
    """Return an object of a binary list with what it holds; the reader bounds the elements in all."""
    from tracekit.parsers.bundle.plist import PlistError

    if depth > _MAX_DEPTH:
        raise PlistError("is nested too deep to be read")
    value = objects.read(number)
    if isinstance(value, dict):
        return {key: _resolve(objects, item, depth + 1) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_resolve(objects, item, depth + 1) for item in value]
    return value


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
