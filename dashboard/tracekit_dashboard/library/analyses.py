"""``Analyses``: the operations of pages and routes on the variants of recordings."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tracekit.cli.analysis_options import AnalysisOptions, Values, hash_values
from tracekit.errors import TracekitError, UsageError
from tracekit_dashboard.errors import Busy, Conflict, NotFound, TooLarge
from tracekit_dashboard.jobs.variant_jobs import VariantJobs
from tracekit_dashboard.library import packed_files
from tracekit_dashboard.library.catalog import UNFINISHED, Catalog
from tracekit_dashboard.library.fitting_symbols import require_fitting_symbols
from tracekit_dashboard.library.outside_names import make_display_name
from tracekit_dashboard.library.reading_results import VARIANT_FACTS, read_facts
from tracekit_dashboard.library.rebuild import describe_variant, make_folder_of_variant
from tracekit_dashboard.library.run_inventory import INVENTORY, read_inventory
from tracekit_dashboard.library.store import Store, split
from tracekit_dashboard.library.variants import FILES, PACKED, Variant, make_variant

_MAX_VARIANTS = 50
_MAX_FILE_BYTES = 2_000_000
_PIECE_BYTES = 1 << 20
_AGAIN = ("failed", "cancelled", "dropped")
_IDLE: dict[str, Any] = {"stage": "", "progress": None, "message": "", "starts": 0}


@dataclass(frozen=True)
class GivenFile:
    """A file for an option: its name, for display, and its content from the present position on."""

    name: str
    content: IO[bytes]


class Analyses:
    """Requests, lists and removes variants; safe to use from several threads."""

    def __init__(self, store: Store, catalog: Catalog, jobs: VariantJobs) -> None:
        self._store, self._catalog, self._variants = store, catalog, catalog.variants
        self._jobs = jobs
        self._lock = threading.Lock()

    def list_variants(self, recording: str) -> list[Variant]:
        """Return the variants of a recording, the oldest first."""
        return self._variants.list_of_recording(recording)

    def find(self, recording: str, variant: str) -> Variant:
        """Return a variant; raise ``NotFound``, also for one of another recording."""
        return self._variants.find(recording, variant)

    def prepare(self, analysis: str) -> None:
        """Open the recording for another analysis, which a visitor may request; return at once."""
        recording = self._catalog.find(split(analysis)[0])
        if recording.state == "ready" and recording.deleted is None:
            self._jobs.prepare(recording, split(analysis)[1])

    def request(
        self, recording: str, values: Mapping[str, Any], files: Mapping[str, GivenFile] | None = None
    ) -> Variant | None:
        """Return the variant with these options, which is made unless it is there; None without options.

        Raises ``UsageError`` for options that are unknown or contradict each other, ``InputError`` for a
        malformed file, ``TooLarge``, and ``Conflict`` for a deleted recording.
        """
        found = self._catalog.find(recording)
        if found.deleted is not None:
            raise Conflict(f"{found.name} was deleted. Restore it first.")
        given = files or {}
        files = {**self._read_stored_files(recording, values), **given}
        values = {name: value for name, value in values.items() if name not in FILES}
        drafts = self._store.make_scratch_folder()
        try:
            options = _check_options(values, files, drafts)
            if "symbols" in given:
                require_fitting_symbols(
                    drafts / FILES["symbols"],
                    make_display_name(given["symbols"].name),
                    read_inventory(self._store.results(recording) / INVENTORY),
                )
            return self._find_or_add(recording, options, drafts) if options else None
        finally:
            shutil.rmtree(drafts, ignore_errors=True)

    def _read_stored_files(self, recording: str, values: Mapping[str, Any]) -> dict[str, GivenFile]:
        """Return the files that the options name as the recording's other variants do."""
        files = {}
        for name in FILES.keys() & values.keys():
            if not values[name]:
                continue
            owner = next(
                (
                    v
                    for v in self._variants.list_of_recording(recording)
                    if v.options.get(name) == values[name]
                ),
                None,
            )
            if owner is None:
                raise UsageError(f"{name} is a file: choose it on the recording's page.")
            path = self._store.variant(recording, owner.id) / FILES[name]
            files[name] = GivenFile(values[name]["name"], path.open("rb"))
        return files

    def _find_or_add(self, recording: str, options: Values, drafts: Path) -> Variant:
        variant = hash_values(options)
        with self._lock:
            try:
                existing = self._variants.find(recording, variant)
            except NotFound:
                if self._variants.count(recording) >= _MAX_VARIANTS:
                    raise UsageError(
                        f"This recording has {_MAX_VARIANTS} analyses already. Remove some of them."
                    ) from None
                added = make_variant(recording, variant, options)
                self._keep_files(self._store.variant(recording, variant), drafts)
                describe_variant(self._store, added)
                self._variants.add(added)
            else:
                if existing.state in _AGAIN:
                    self._variants.change(recording, variant, states=_AGAIN, state="waiting", **_IDLE)
        self._jobs.claim_again()
        return self._variants.find(recording, variant)

    def _keep_files(self, folder: Path, drafts: Path) -> None:
        self._store.discard(folder)  # of a variant whose request ended before its entry
        make_folder_of_variant(folder)
        for draft in drafts.iterdir():
            shutil.copyfile(draft, folder / draft.name)

    def open_variant(self, recording: str, variant: str) -> Variant:
        """Return a variant for its page; if its results were dropped, make them again."""
        if self._variants.change(recording, variant, states=("dropped",), state="waiting", **_IDLE):
            self._jobs.claim_again()
        return self._variants.find(recording, variant)

    def retry(self, recording: str, variant: str) -> Variant:
        """Make a variant again that failed or was cancelled."""
        if self._variants.change(recording, variant, states=_AGAIN, state="waiting", **_IDLE):
            self._jobs.claim_again()
        return self._variants.find(recording, variant)

    def cancel(self, recording: str, variant: str) -> None:
        """Stop making a variant; does nothing unless it waits or is being made."""
        self._variants.find(recording, variant)
        if self._variants.change(recording, variant, states=UNFINISHED, **{**_IDLE, "state": "cancelled"}):
            self._jobs.stop(recording, variant)

    def remove(self, recording: str, variant: str) -> None:
        """Remove a variant with its results and files; if it was the default, the first analysis is again."""
        self._variants.find(recording, variant)
        if self._catalog.find(recording).default_variant == variant:
            self.set_default(recording, "")
        self._variants.remove(recording, variant)
        self._jobs.stop(recording, variant)
        self._store.discard(self._store.variant(recording, variant))
        self.note_size(recording)

    def set_default(self, recording: str, variant: str) -> None:
        """Make a variant, or with "" the first analysis, the one of the page and of the library's row."""
        if variant and self._variants.find(recording, variant).state != "ready":
            raise Conflict("Only an analysis that is ready can be the default.")
        facts = read_facts(self._store.results(f"{recording}.{variant}" if variant else recording))
        variant_facts = {name: facts[name] for name in VARIANT_FACTS} if facts else {}
        self._catalog.change(recording, default_variant=variant, **variant_facts)

    def drop(self, recording: str) -> None:
        """Remove the results of all variants of a recording; they are made again when they are opened."""
        for variant in self._variants.list_of_recording(recording):
            if variant.state in ("ready", *UNFINISHED):
                self._variants.change(recording, variant.id, **{**_IDLE, "state": "dropped"})
                self._jobs.stop(recording, variant.id)
            self._store.discard(self._store.results(variant.analysis))

    def note_size(self, recording: str) -> None:
        """Enter the size of a recording's results, of which some were added or removed."""
        if self._catalog.find(recording).is_dropped:  # a size would claim results
            return
        with suppress(Busy):  # counted with the next change
            size_bytes = self._store.measure_results(recording)
            self._catalog.change(recording, states=("ready",), results_bytes=size_bytes)


def _check_options(values: Mapping[str, Any], files: Mapping[str, GivenFile], drafts: Path) -> Values:
    """Return the options as they are stored; the files are written to ``drafts`` and checked."""
    paths = {}
    for name, file in files.items():
        if name not in FILES:
            raise UsageError(f"No file belongs to '{make_display_name(name)}'.")
        paths[name] = str(_write_draft(name, file, drafts))
    options = AnalysisOptions.from_values({**values, **paths})
    try:
        _read_files(options)
    except TracekitError as error:
        raise UsageError(_replace_paths(str(error), files, drafts)) from None
    stored = options.values()
    for name, file in files.items():
        with Path(paths[name]).open("rb") as draft:
            digest = hashlib.file_digest(draft, "sha256").hexdigest()
        stored[name] = {"name": make_display_name(file.name), "sha256": digest}
    return stored


def _write_draft(name: str, file: GivenFile, drafts: Path) -> Path:
    most_bytes = packed_files.MAX_BYTES if name in PACKED else _MAX_FILE_BYTES
    path = drafts / FILES[name]
    with file.content as content, path.open("wb") as draft:
        while piece := content.read(_PIECE_BYTES):
            draft.write(piece)
            if draft.tell() > most_bytes:
                raise TooLarge(
                    f"{make_display_name(file.name)} is larger than {most_bytes // 1_000_000:,} MB."
                )
    return path


def _read_files(options: AnalysisOptions) -> None:
    """Raise the error of a file that the analysis could not read."""
    from tracekit.analysis.classification.rule_set import load_rules
    from tracekit.cli.analysing import parse_given_windows

    parse_given_windows(options)
    if options.markers:
        load_rules(Path(options.markers))
    if options.request_spans:
        from tracekit.analysis.generation.span_rules import read_span_rules

        read_span_rules(Path(options.request_spans))


def _replace_paths(text: str, files: Mapping[str, GivenFile], drafts: Path) -> str:
    for name, file in files.items():
        text = text.replace(str(drafts / FILES[name]), make_display_name(file.name))
    return text.replace(f"{drafts}{os.sep}", "")
