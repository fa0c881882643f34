"""The part of a document about a compiled Core AI model: delegates, regions, packages, symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracekit.mlmodels.bundle_manifest import BundleManifest, CompiledModule, Option
from tracekit.mlmodels.compiled_asset import CompiledAsset
from tracekit.mlmodels.regions import Region
from tracekit.model.vocabulary import Engine
from tracekit.report.document.blocks import Fact, Facts, Item, Items, Section, Table
from tracekit.text import format_size, join_words, plural

_MOST_REGIONS = 100
_MOST_SYMBOLS = 100
_MOST_MODULES = 20
_NAMES = {Engine.ANE: "Neural Engine", Engine.GPU: "GPU"}


def describe_asset(asset: CompiledAsset) -> str:
    """Return what a compiled model consists of, as a clause."""
    if not asset.delegates:
        return "no delegates"
    parts = [plural(len(asset.delegates), "delegate")]
    counts = Counter(region.engine for region in _list_regions(asset))
    parts += [f"{plural(counts[engine], 'region')} for the {_NAMES[engine]}" for engine in sorted(counts)]
    return join_words(parts)


def build_asset_sections(asset: CompiledAsset) -> Iterator[Section]:
    """Yield the sections of a compiled model."""
    regions = _list_regions(asset)
    if asset.delegates:
        yield Section("delegates", "Delegates", (_list_delegates(asset),))
    if regions:
        yield Section("regions", "Regions", tuple(_list_region_rows(regions)))
    for number, (path, manifest) in enumerate(asset.packages, 1):
        heading = f"Package {path}" if path != "." else "Package"
        yield Section(f"package-{number}", heading, tuple(_list_package(manifest)))
    if asset.symbols:
        names = Items(tuple(Item(name) for name in asset.symbols[:_MOST_SYMBOLS]))
        more = len(asset.symbols) - _MOST_SYMBOLS
        others = (_count_others(more, "name"),) if more > 0 else ()
        yield Section("symbols", "Operations named in the compiled program", (names, *others))


def _list_regions(asset: CompiledAsset) -> list[Region]:
    return [region for delegate in asset.delegates for region in delegate.regions]


def _list_delegates(asset: CompiledAsset) -> Table:
    rows = [
        (
            delegate.name,
            f"{delegate.files:,}",
            format_size(delegate.size_bytes),
            f"{len(delegate.regions):,}",
        )
        for delegate in asset.delegates
    ]
    return Table.from_rows(
        ("delegate", "files", "size", "regions"), rows, numbers={"files", "size", "regions"}
    )


def _list_region_rows(regions: Sequence[Region]) -> Iterator[Table | Items]:
    rows = [
        (region.name, _NAMES[region.engine], format_size(region.size_bytes) if region.size_bytes else "")
        for region in regions[:_MOST_REGIONS]
    ]
    yield Table.from_rows(
        ("region", "compiled for", "files of this name"), rows, numbers={"files of this name"}
    )
    if len(regions) > _MOST_REGIONS:
        yield _count_others(len(regions) - _MOST_REGIONS, "region")


def _list_package(manifest: BundleManifest) -> Iterator[Facts | Items]:
    facts = [Fact("Version of the package", manifest.version)]
    if manifest.architectures:
        facts.append(Fact("Compiled for", ", ".join(manifest.architectures)))
    if manifest.gpu_adapter:
        facts.append(Fact("GPU adapter present", manifest.gpu_adapter))
    if manifest.binary_files:
        facts.append(Fact("Binary files", ", ".join(manifest.binary_files)))
    for module in manifest.modules[:_MOST_MODULES]:
        facts += _list_module(module)
    yield Facts(tuple(facts))
    if len(manifest.modules) > _MOST_MODULES:
        yield _count_others(len(manifest.modules) - _MOST_MODULES, "module")


def _list_module(module: CompiledModule) -> Iterator[Fact]:
    yield Fact("Module", module.file_name or "without a file name")
    if module.entry_function:
        yield Fact("Entry function", module.entry_function)
    if module.attributes:
        yield Fact("Its attributes", ", ".join(module.attributes))
    options = [f"{name} {_spell(value)}" for name, value in module.options.items() if value not in (None, "")]
    if options:
        yield Fact("Options of the compiler", ", ".join(options))


def _spell(value: Option) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _count_others(count: int, noun: str) -> Items:
    return Items(
        (Item(f"{plural(count, f'more {noun}')} {'is' if count == 1 else 'are'} in the JSON output."),)
    )
