"""A Dask cluster by the address of its scheduler: the tasks of the local pool, run by workers elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tracekit import __version__
from tracekit.errors import UsageError
from tracekit.fleet.schema import KILLED
from tracekit.fleet.task import FleetTask, TaskOutcome, make_failure, run_task
from tracekit.installation import format_install_command
from tracekit.text import printable

_CONNECT_SECONDS = 10
_RETRIES = 1
"""Of an error that is not the recording's. Tasks whose worker is gone start again elsewhere anyway, until
Dask gives up after some workers (``allowed-failures``)."""


class DaskPool:
    """Runs tasks on the workers of a cluster. Files are read by the workers, under the same paths."""

    def __init__(self, address: str, resources: Mapping[str, float] | None = None) -> None:
        self._address, self._resources = address, dict(resources or {})

    def run(self, tasks: Sequence[FleetTask]) -> Iterator[TaskOutcome]:
        """Yield the outcome of each task. Raises ``UsageError`` where the scheduler is not there, or ends."""
        if not tasks:
            return
        client = self._connect()
        try:
            self._require_same_version(client)
            yield from self._iter_outcomes(client, tasks)
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=_CONNECT_SECONDS)

    def _connect(self) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                f"--scheduler needs Dask. Install it with: {format_install_command('fleet')}"
            ) from error
        # What happens to the connection is stated below, in a sentence.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            return Client(self._address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(
                f"No scheduler of Dask answers at {printable(self._address)}. Start one with dask scheduler,"
                " and workers with dask worker ADDRESS --nthreads 1."
            ) from error

    def _require_same_version(self, client: Any) -> None:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise UsageError(
                f"The scheduler at {printable(self._address)} has no workers."
                f" Start some: dask worker {printable(self._address)} --nthreads 1."
            ) from error
        versions = client.run(get_tracekit_version, on_error="return")
        other_versions = {str(version) for version in versions.values() if version != __version__}
        if other_versions:
            version_list = ", ".join(sorted(printable(version) for version in other_versions))
            raise UsageError(
                f"Workers of the cluster have another tracekit ({version_list}) than this machine"
                f" ({__version__}): their results would differ. Install the same version everywhere."
            )

    def _iter_outcomes(self, client: Any, tasks: Sequence[FleetTask]) -> Iterator[TaskOutcome]:
        from distributed import as_completed

        options = {"resources": self._resources} if self._resources else {}
        futures = client.map(run_task, tasks, pure=False, retries=_RETRIES, **options)
        task_of = {future.key: task for future, task in zip(futures, tasks, strict=True)}
        remaining = as_completed(futures, loop=client.loop)
        del futures  # each result is released when it was taken
        for future in remaining:
            yield self._take_outcome(future, task_of.pop(future.key))

    def _take_outcome(self, future: Any, task: FleetTask) -> TaskOutcome:
        from distributed.scheduler import KilledWorker

        if future.status == "finished":
            with suppress(Exception):  # its worker may be gone before the result was fetched
                outcome: TaskOutcome = future.result(timeout=_CONNECT_SECONDS * 6)
                return outcome
        error = future.exception(timeout=_CONNECT_SECONDS) if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return make_failure(
                task, "It ended several workers of the cluster, perhaps for want of memory.", state=KILLED
            )
        if error is not None:
            return make_failure(task, f"The cluster failed: {printable(str(error))}.")
        raise UsageError(
            f"The scheduler at {printable(self._address)} is gone. The results so far are in the dataset: run"
            " the same command again when it is back, and the others are analyzed."
        )


def get_tracekit_version() -> str:
    """Return the version of tracekit that a worker has."""
    return __version__
