"""Further analyses of recordings: those that wait in the catalog are made, one after another."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tracekit.cli.analysis_options import Values
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs.process import WorkerProcess
from tracekit_dashboard.jobs.queue import JobKind, JobQueue, Key
from tracekit_dashboard.jobs.reading import ReadingJobs
from tracekit_dashboard.jobs.spare_worker import SpareWorker
from tracekit_dashboard.library.catalog import UNFINISHED, Catalog, Recording
from tracekit_dashboard.library.reading_results import VARIANT_FACTS, read_facts
from tracekit_dashboard.library.store import Store
from tracekit_dashboard.settings import ServerLimits


class VariantJobs(ReadingJobs):
    """Makes the variants that wait in the catalog. Their states are those of a recording, and "dropped"."""

    def __init__(
        self, store: Store, catalog: Catalog, queue: JobQueue, spare: SpareWorker, limits: ServerLimits
    ) -> None:
        super().__init__(store, catalog, queue, spare, limits)
        self._variants = catalog.variants
        # Before the readings: a visitor waits for it at the page.
        self.kind = JobKind("variant", "Analyzing", limits.workers, priority=1)

    def start(self) -> None:
        """Continue with the variants that a previous server was making, and make others from now on."""
        for variant in self._variants.list_in_state("reading"):
            name = self._catalog.find(variant.recording).name
            self._resume_analysis((variant.recording, variant.id), self._variants.count_starts(variant), name)
        for variant in self._variants.list_in_state("ready"):
            if read_facts(self._store.results(variant.analysis)) is None:  # of an earlier version
                self._variants.change(variant.recording, variant.id, state="dropped")
        self._queue.claim_from(self.kind, self._claim_analysis, self._read_recording)

    def stop(self, recording: str, variant: str) -> None:
        """End the job of a variant, and wait until nothing of it runs."""
        self._queue.cancel(lambda job: job.kind == self.kind and job.key == (recording, variant))

    def prepare(self, recording: Recording, variant: str) -> None:
        """Open a recording as its variant does, for a request that may come; return at once."""
        if any(job.key[0] == recording.id for job in self._queue.list_unfinished(self.kind)):
            return  # it has a worker already
        key = (recording.id, variant)
        task = self._build_task(key, recording, self._find_options(key) if variant else {})
        self._spare.prepare(recording.id, lambda: self._start_worker(task))

    def _take_waiting_worker(self, key: Key) -> WorkerProcess | None:
        return self._spare.take(key[0])

    def _claim_analysis(self, running: Collection[Key]) -> Key | None:
        return self._variants.claim(running)

    def _change_row(self, key: Key, states: Collection[str] = (), **values: Any) -> bool:
        return self._variants.change(*key, states=states, **values)

    def _find_options(self, key: Key) -> Values:
        return self._variants.find(*key).options

    def _adopt_results(self, key: Key) -> bool:
        """Mark a variant as ready if its results are complete; enter a default's facts in the row, too."""
        facts = read_facts(self._store.results(".".join(key)))
        if facts is None:
            return False
        variant_facts = {name: facts[name] for name in VARIANT_FACTS}
        done = {"state": "ready", "stage": "", "progress": None, "message": "", "starts": 0}
        if not self._change_row(key, UNFINISHED, **done, **variant_facts):
            return False
        try:
            recording = self._catalog.find(key[0])
        except NotFound:
            return True
        if recording.default_variant == key[1]:
            self._catalog.change(key[0], **variant_facts)
        if not recording.is_dropped:  # a size would claim results
            self._catalog.change(key[0], states=("ready",), results_bytes=self._store.measure_results(key[0]))
        return True
