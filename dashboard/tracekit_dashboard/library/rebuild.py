"""The catalog made equal to the folders of a library when a server starts.

The folders are the truth. A recording that the catalog lacks is entered, one whose description has changed is
entered again, and one whose folder is gone gets its description back, as deleted: so it stays in the list of
deleted recordings for their time. Nothing is removed here, and foreign files are only reported.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.cli.analysis_options import AnalysisOptions, hash_values
from tracekit.errors import TracekitError
from tracekit.text import plural, printable
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.library.catalog import Catalog, CatalogEntry, KnownRow, get_utc_now, to_microseconds
from tracekit_dashboard.library.descriptions import (
    ABOUT,
    ANALYSIS,
    Descriptions,
    Newer,
    UnreadableDescription,
    check_moment,
    read_document,
    write_document,
)
from tracekit_dashboard.library.reading_results import VARIANT_FACTS, read_facts
from tracekit_dashboard.library.store import Store, is_variant_id
from tracekit_dashboard.library.uploaded_inputs import measure_size
from tracekit_dashboard.library.variants import Variant

_MAX_NAMES_IN_NOTICE = 5
"""The number of entries that a notice names."""


@dataclass
class RebuildReport:
    """Results of a rebuilding; names hold other people's text."""

    catalog: str = ""
    """What happened to the catalog, as a sentence; "" if it was there and whole."""
    recordings: list[str] = field(default_factory=list)
    """The names of recordings that the catalog lacked."""
    lost: list[str] = field(default_factory=list)
    """The names of recordings whose folders are gone, and which are deleted now."""
    rewritten: list[str] = field(default_factory=list)
    """The names of recordings whose damaged descriptions were written anew from the catalog."""
    unreachable: list[str] = field(default_factory=list)
    """The names of recordings in whose folder's place is something else, such as a broken link."""
    unreadable: list[str] = field(default_factory=list)
    """The folders of recordings whose descriptions cannot be read."""
    foreign: list[str] = field(default_factory=list)
    """Entries that are not tracekit's, by their paths in the library."""

    def build_notices(self) -> list[str]:
        """Return sentences for the page and the terminal."""
        count = f"{plural(len(self.recordings), 'recording')}"
        were = "was" if len(self.recordings) == 1 else "were"
        sentences = {
            f"{self.catalog} {count} {were} found": self.recordings if self.catalog else [],
            f"{count} that {were} not in the catalog {were} found": [] if self.catalog else self.recordings,
            "The folders of recordings are gone. What the catalog held of them is now among the deleted"
            " recordings": self.lost,
            f"Damaged descriptions ({ABOUT}) were set aside and written anew from the catalog, whose notes"
            " and tags may be older": self.rewritten,
            "The folders of recordings cannot be reached": self.unreachable,
            f"Not listed, because the description ({ABOUT}) is missing, damaged or of a newer tracekit, but"
            " left as they are, are the recordings": self.unreadable,
            "The library's folder holds what tracekit did not make, does not read and leaves"
            " alone": self.foreign,
        }
        notices = [f"{sentence}: {_list_names(names)}." for sentence, names in sentences.items() if names]
        return [self.catalog, *notices] if self.catalog and not self.recordings else notices


def _list_names(names: list[str]) -> str:
    name_list = ", ".join(printable(name) for name in names[:_MAX_NAMES_IN_NOTICE])
    return (
        f"{name_list} and {len(names) - _MAX_NAMES_IN_NOTICE:,} more"
        if len(names) > _MAX_NAMES_IN_NOTICE
        else name_list
    )


def rebuild(store: Store, catalog: Catalog) -> RebuildReport:
    """Make a catalog equal to the folders of its library, and return the report."""
    descriptions = Descriptions(store)
    known = catalog.list_known()
    ids = set(store.list_recording_ids())
    report = RebuildReport(_describe_catalog(catalog, bool(ids)), foreign=list(store.iter_foreign_entries()))
    # An upload that was being finished has its name in its own folder, and is entered by ``Uploads.resume``.
    pending = set(store.upload_ids())
    entries, undescribed = [], []
    for recording_id in sorted(ids):
        stamp = descriptions.read_stamp(recording_id)
        if stamp and recording_id in known and stamp == known[recording_id].stamp:
            continue
        try:
            described = descriptions.read(recording_id)
        except UnreadableDescription as error:
            if isinstance(error, Newer) or recording_id not in known:
                report.unreadable.append(recording_id)
                continue
            described = None
            _set_damaged_aside(store.recording_folder(recording_id))
            report.rewritten.append(known[recording_id].name)
        if described is not None:
            entries.append(_make_entry(store, recording_id, *described, stamp))
        elif recording_id in known:
            undescribed.append(recording_id)
        elif recording_id not in pending and store.input(recording_id).is_dir():
            entries.append(_make_upload_entry(store, recording_id))
            undescribed.append(recording_id)
        elif recording_id not in pending:
            report.unreadable.append(recording_id)
    report.recordings = [str(entry.values["name"]) for entry in entries if entry.id not in known]
    catalog.enter_entries(entries)
    catalog.write_descriptions(undescribed)
    for recording_id in sorted(known.keys() - ids):
        if os.path.lexists(store.recording_folder(recording_id)):
            report.unreachable.append(known.pop(recording_id).name)
    report.lost = _describe_lost(store, catalog, {key: row for key, row in known.items() if key not in ids})
    _enter_variants(store, catalog)
    catalog.file.note_version()
    return report


def _describe_catalog(catalog: Catalog, has_recordings: bool) -> str:
    """Return what happened to the catalog, as a sentence; "" if it was whole, or nothing can be missing."""
    if catalog.set_aside is not None:
        return f"The catalog was damaged. It was set aside as {catalog.set_aside.name} and made anew."
    if catalog.file.is_new and has_recordings:
        return "The catalog was missing. It was made anew from the recordings' folders."
    return ""


def _make_entry(
    store: Store, recording_id: str, values: dict[str, Any], tags: tuple[str, ...], stamp: str
) -> CatalogEntry:
    return CatalogEntry(recording_id, {**values, **_derive_state(store, recording_id, values)}, tags, stamp)


def _derive_state(store: Store, recording_id: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a new row has of the recording's results."""
    facts = read_facts(store.results(recording_id))
    if facts is not None:  # those of a default among the further analyses stand in the description
        return {"state": "ready", **({} if values.get("default_variant") else facts)}
    if values.get("verdict"):  # it was read; its results were dropped, or left out of a backup
        return {"state": "ready", "results_bytes": 0}
    return {"state": "waiting"}


def _make_upload_entry(store: Store, recording_id: str) -> CatalogEntry:
    """Return a row for an upload of an earlier version, whose name stood in the catalog alone."""
    values = {
        "name": f"recording {recording_id[:8]}",
        "origin": "upload",
        "path": b"",
        "size_bytes": measure_size(store.input(recording_id)),
        "added_us": round(store.input(recording_id).stat().st_mtime * 1e6),
    }
    return _make_entry(store, recording_id, values, (), "")


def _set_damaged_aside(folder: Path) -> None:
    """Rename a damaged description, which is written anew from the catalog."""
    place = folder / ABOUT
    place.rename(folder / f"{ABOUT}.damaged-{to_microseconds(get_utc_now())}")


def _describe_lost(store: Store, catalog: Catalog, lost: dict[str, KnownRow]) -> list[str]:
    """Describe recordings without a folder: uploads as deleted; return the names of those that were not.

    A local recording lies elsewhere, so nothing of it is gone but what the catalog has: as deleted, one that
    was made on the page would be removed after its time. An earlier version made folders when it read.
    """
    missing_uploads = [key for key, row in lost.items() if row.origin == "upload" and row.deleted_us is None]
    if store.is_earlier:
        missing_uploads = []
    catalog.write_descriptions(missing_uploads, deleted_us=to_microseconds(get_utc_now()))
    catalog.write_descriptions(lost.keys() - set(missing_uploads))
    return [lost[recording_id].name for recording_id in missing_uploads]


# Further analyses ------------------------------------------------------------------------------------------


def make_folder_of_variant(folder: Path) -> None:
    """Make the folder of a further analysis; raise ``NotFound`` if its recording was removed."""
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        raise NotFound("There is no such recording: it was removed.") from None
    folder.mkdir(mode=0o700, exist_ok=True)


def describe_variant(store: Store, variant: Variant) -> None:
    """Write the description of a further analysis into its folder, which is there. Raises ``OSError``."""
    document = {"options": variant.options, "added_us": variant.added_us}
    write_document(store.variant(variant.recording, variant.id), ANALYSIS, document)


def _enter_variants(store: Store, catalog: Catalog) -> None:
    known = {(variant.recording, variant.id): variant for variant in catalog.variants.list_all()}
    for recording, folder in _iterate_variant_folders(store, catalog.list_known()):
        variant = known.pop((recording, folder.name), None)
        if variant is None:
            if (described := _read_variant(recording, folder)) is not None:
                catalog.variants.add(described)
        elif not os.path.lexists(folder / ABOUT):
            describe_variant(store, variant)
    for variant in known.values():
        with suppress(OSError, NotFound):  # the catalog has it, until it is lost
            make_folder_of_variant(store.variant(variant.recording, variant.id))
            describe_variant(store, variant)


def _iterate_variant_folders(store: Store, recordings: Collection[str]) -> Iterator[tuple[str, Path]]:
    for recording in sorted(recordings):
        folder = store.variants(recording)
        if folder.is_dir():
            for entry in sorted(folder.iterdir()):
                if is_variant_id(entry.name) and entry.is_dir():
                    yield recording, entry


def _read_variant(recording: str, folder: Path) -> Variant | None:
    """Return the further analysis that a folder describes; None without a readable description."""
    try:
        document = read_document(folder, ANALYSIS)
        if document is None:
            return None
        options, added_us = dict(document["options"]), check_moment(document["added_us"])
        AnalysisOptions.from_values({name: value for name, value in options.items() if not _is_file(value)})
    except (UnreadableDescription, TracekitError, KeyError, TypeError, ValueError):
        return None
    if hash_values(options) != folder.name:
        return None
    facts = read_facts(folder / "results")
    if facts is None:
        return Variant(recording, folder.name, options, added_us, state="dropped")
    return Variant(
        recording,
        folder.name,
        options,
        added_us,
        state="ready",
        **{name: facts[name] for name in VARIANT_FACTS},
    )


def _is_file(value: object) -> bool:
    return isinstance(value, dict)
