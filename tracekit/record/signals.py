"""Requests to stop a recording: from signals, the Enter key or another thread."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# SIGHUP is the end of the terminal; Windows has neither it nor anything to record.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class StopRequests:
    """A count of requests to stop; any thread or signal handler may add one."""

    def __init__(self) -> None:
        # Reentrant: a signal handler runs in the main thread, perhaps in the middle of a request there.
        self._lock = threading.RLock()
        self._count = 0
        self.signal = 0
        """The last signal that requested it; 0 if none did."""

    @property
    def count(self) -> int:
        """The number of requests so far."""
        return self._count

    def request(self, signal_number: int = 0) -> None:
        """Request to stop, because of ``signal_number`` if it is not 0."""
        with self._lock:
            self._count += 1
            self.signal = signal_number or self.signal


@contextmanager
def turn_signals_into_requests(requests: StopRequests) -> Iterator[None]:
    """Turn an interrupt, a kill or a closed terminal into a request while the block runs.

    None of them ends the process. Python handles signals in the main thread only; in another thread this
    changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def request_stop(number: int, _frame: FrameType | None) -> None:
        requests.request(number)

    previous = {number: signal.signal(number, request_stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def call_on_each_line(callback: Callable[[], None]) -> None:
    """Call ``callback`` for every line on standard input, from a thread of its own."""

    def read_lines() -> None:
        while sys.stdin is not None and sys.stdin.readline():
            callback()

    threading.Thread(target=read_lines, name="tracekit-enter", daemon=True).start()
