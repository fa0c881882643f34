"""Several recordings, one after the other, each with its journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO

from tracekit.errors import UsageError
from tracekit.record.interleaving import SeriesPlace
from tracekit.record.journal import write_journal
from tracekit.record.leftover import Leftover
from tracekit.record.record_request import PlannedRecording
from tracekit.record.recorder import RecordingListener
from tracekit.record.session import RecordingAttempt, record
from tracekit.record.signals import StopRequests, turn_signals_into_requests
from tracekit.xctrace.mac_host import Host
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version


class RecordingSeries:
    """The recordings of one request.

    Iterate over them and call ``record`` for each. A stop request ends the current recording; a signal ends
    the series as well, after the current recording is saved.
    """

    def __init__(
        self,
        planned: Sequence[PlannedRecording],
        tool: Xctrace,
        version: Version,
        tracekit_version: str,
        host: Host,
        *,
        force: bool = False,
        may_end: Callable[[Leftover], bool] = lambda _leftover: False,
    ) -> None:
        self._planned = planned
        self._tool, self._version, self._tracekit_version = tool, version, tracekit_version
        self._host, self._force, self._may_end = host, force, may_end
        self._requests = StopRequests()

    def __iter__(self) -> Iterator[PlannedRecording]:
        for number, planned in enumerate(self._planned, 1):
            if number > 1:
                self._requests = StopRequests()
            yield planned
            if self.signal:
                return

    @property
    def signal(self) -> int:
        """The signal that stopped the current recording; 0 if none did."""
        return self._requests.signal

    def request_stop(self) -> None:
        """Request to stop the current recording; may be called from any thread."""
        self._requests.request()

    def record(
        self,
        planned: PlannedRecording,
        listener: RecordingListener,
        *,
        stdin: IO[bytes] | None = None,
        forward_output: Callable[[bytes], None] | None = None,
    ) -> RecordingAttempt:
        """Record and write the journal; raise what ``session.record`` raises."""
        with turn_signals_into_requests(self._requests):
            attempt = record(
                self._tool,
                planned.settings,
                planned.final,
                self._requests,
                listener,
                force=self._force,
                host=self._host,
                stdin=stdin,
                forward_output=forward_output,
                may_end=self._may_end,
            )
            return with_journal(attempt, self._tool, self._version, self._tracekit_version, planned.place)


def with_journal(
    attempt: RecordingAttempt,
    tool: Xctrace,
    version: Version,
    tracekit_version: str,
    place: SeriesPlace | None = None,
) -> RecordingAttempt:
    """Write the journal beside the bundle, if there is one, and return the attempt with its problem, if any.

    A journal that cannot be written does not fail the recording.
    """
    if attempt.bundle.exists():
        try:
            write_journal(attempt, tool, version, tracekit_version, place)
        except UsageError as error:
            return replace(attempt, journal_problem=str(error))
    return attempt
