"""The tables of a run: ``tables.plist`` lists all, and each store's ``spec.plist`` repeats its own entry.

``tables.plist`` names every store at least twice, for its two sides; in the bundles seen, all its entries and
its ``spec.plist`` agree. A store's number is the end of its path:
``run1/core/stores/indexed-store-7`` is store 7 of run 1. Attributes are returned as an export's table of
contents writes them: ``codes='"0x1,0x25"' target="ALL"``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tracekit.frozen import frozen
from tracekit.parsers.bundle.archive_columns import ArchiveColumns, Numbers
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError, read_file
from tracekit.parsers.bundle.keyed_archive import Archived, KeyedArchive, ValueBudget

_STORE = re.compile(r"corespace/run([1-9]\d{0,5})/core/stores/indexed-store-(0|[1-9]\d{0,5})/")
_LISTED = re.compile(r"run\d{1,6}/core/stores/indexed-store-(0|[1-9]\d{0,5})\Z")
_MAX_ENTRIES = 200_000
_MAX_ATTRIBUTE_VALUES = 500_000
"""Of a list: 20,000 tables have some 45,000 entries, and five values in the attributes of each."""

# In a bundle both are strings; an export puts quotes around strings and none around keywords, except those
# with a space in a list. The keys are from the tables of contents of exports.
_QUOTED = frozenset({"codes", "dynamic-tracing-enabled-subsystems", "pmc-events", "pmi-event", "subsystem"})


@frozen
class TableSpec:
    """A table's schema and attributes; "" and {} where they are unknown."""

    schema: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


def list_stores(files: BundleFiles) -> dict[int, list[int]]:
    """Return the numbers of the existing stores by the number of their run, both ascending."""
    pairs = {(int(m[1]), int(m[2])) for name in files.names() if (m := _STORE.match(name))}
    runs = sorted({run for run, _ in pairs})
    return {run: sorted(store for store_run, store in pairs if store_run == run) for run in runs}


def read_spec(files: BundleFiles, store_folder: str) -> TableSpec:
    """Return a store's own description. Raises ``DamagedFileError``."""
    file = f"{store_folder}/spec.plist"
    archive = KeyedArchive(file, read_file(files, file))
    described = archive.items(archive.top())
    schema = archive.follow(described.get("schemaName"))
    return _build_spec(schema, archive.plain(archive.follow(described.get("attributes"))))


def read_table_list(files: BundleFiles, run_folder: str) -> dict[int, TableSpec]:
    """Return the description of each store in the run's list, by its number. Raises ``DamagedFileError``."""
    file = f"{run_folder}/table-manager/tables.plist"
    archive = KeyedArchive(file, read_file(files, file))
    details = archive.get(archive.top(), "tableDetails")
    if not isinstance(details, Archived):
        raise DamagedFileError(file, "lists no tables")
    entries = list(archive.values(details))
    if len(entries) > _MAX_ENTRIES:
        raise DamagedFileError(file, "lists more tables than any recording has")
    columns = ArchiveColumns(archive)
    paths, descriptions = columns.items(entries, ("storeSubpath", "spec"))
    positions: dict[int, int] = {}  # the first entry of each store
    for position, path in enumerate(columns.values(paths)):
        match = _LISTED.match(path) if isinstance(path, str) else None
        if match:
            positions.setdefault(int(match[1]), position)
    specs = _build_specs(columns, descriptions[list(positions.values())])
    return dict(zip(positions, specs, strict=True))


def _build_specs(columns: ArchiveColumns, descriptions: Numbers) -> list[TableSpec]:
    schemas, attributes = columns.items(descriptions, ("schemaName", "attributes"))
    plain = columns.plain(attributes, ValueBudget(_MAX_ATTRIBUTE_VALUES))
    return [
        _build_spec(*schema_and_attributes)
        for schema_and_attributes in zip(columns.values(schemas), plain, strict=True)
    ]


def _build_spec(schema: object, attributes: object) -> TableSpec:
    return TableSpec(
        schema if isinstance(schema, str) else "",
        format_attributes(attributes) if isinstance(attributes, dict) else {},
    )


def format_attributes(attributes: Mapping[Any, Any]) -> dict[str, str]:
    """Return attributes as text; those without a value are left out."""
    return {
        str(key): _format_attribute(str(key), value) for key, value in attributes.items() if value is not None
    }


def _format_attribute(key: str, value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_format_scalar(item, key in _QUOTED or " " in str(item)) for item in value)
    return _format_scalar(value, key in _QUOTED)


def _format_scalar(value: Any, quoted: bool) -> str:
    if isinstance(value, str):
        return f'"{value}"' if quoted else value
    return str(int(value)) if isinstance(value, bool) else str(value)
