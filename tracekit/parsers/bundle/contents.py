"""Which tables a run holds: the list of all, ``tables.plist``, and each store's own ``spec.plist``.

The list names every store at least twice, for its two sides; a store's number stands at the end of its path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tracekit.parsers.bundle.attributes import written_attributes
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.inflate import read_file
from tracekit.parsers.bundle.keyed_archive import KeyedArchive

_STORE = re.compile(r"corespace/run([1-9]\d{0,5})/core/stores/indexed-store-(0|[1-9]\d{0,5})/")
_LISTED = re.compile(r"run\d{1,6}/core/stores/indexed-store-(0|[1-9]\d{0,5})\Z")
_MOST_DETAILS = 200_000


@dataclass(frozen=True)
class Spec:
    """A table's schema and attributes; "" and none where they are not known."""

    schema: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


def stores_by_run(files: BundleFiles) -> dict[int, list[int]]:
    """Return the numbers of the stores that are there, by the number of their run, both ascending."""
    found = {(int(m[1]), int(m[2])) for name in files.names() if (m := _STORE.match(name))}
    runs = sorted({run for run, _ in found})
    return {run: sorted(store for at, store in found if at == run) for run in runs}


def read_spec(files: BundleFiles, store_folder: str) -> Spec:
    """Return what a store says of itself. Raises ``DamagedFileError``."""
    file = f"{store_folder}/spec.plist"
    archive = KeyedArchive(file, read_file(files, file))
    return _spec(archive.plain(archive.top()))


def read_list(files: BundleFiles, run_folder: str) -> dict[int, Spec]:
    """Return what the list of tables says of each store, by its number. Raises ``DamagedFileError``."""
    file = f"{run_folder}/table-manager/tables.plist"
    archive = KeyedArchive(file, read_file(files, file))
    details = archive.plain(archive.get(archive.top(), "tableDetails"), _MOST_DETAILS)
    if not isinstance(details, dict):
        raise DamagedFileError(file, "lists no tables")
    listed = {}
    for detail in details.values():
        path = detail.get("storeSubpath") if isinstance(detail, dict) else None
        match = _LISTED.match(path) if isinstance(path, str) else None
        if match:
            listed[int(match[1])] = _spec(detail.get("spec"))
    return listed


def _spec(value: object) -> Spec:
    if not isinstance(value, dict):
        return Spec()
    schema, attributes = value.get("schemaName"), value.get("attributes")
    return Spec(
        schema if isinstance(schema, str) else "",
        written_attributes(attributes) if isinstance(attributes, dict) else {},
    )
