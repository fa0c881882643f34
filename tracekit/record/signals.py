"""Requests to stop a recording: signals, the Enter key, another thread's word."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class StopRequests:
    """Counts how often somebody asked to stop; may be asked from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal may interrupt a request
        self._count = 0
        self.signal = 0
        """The last signal that asked; 0 where none did."""

    @property
    def count(self) -> int:
        """The number of requests so far."""
        return self._count

    def request(self, signal_number: int = 0) -> None:
        """Ask to stop."""
        with self._lock:
            self._count += 1
            self.signal = signal_number or self.signal


@contextmanager
def signals_request_stop(requests: StopRequests) -> Iterator[None]:
    """While the block runs, an interrupt, a kill or a closed terminal is a request, and ends nothing else.

    Signals can be taken in the main thread only; elsewhere they keep their meaning.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, _frame: FrameType | None) -> None:
        requests.request(number)

    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def call_on_each_line(ask: Callable[[], None]) -> None:
    """Call ``ask`` at every line on standard input, from a thread of its own; its end asks for nothing."""

    def wait() -> None:
        while sys.stdin is not None and sys.stdin.readline():
            ask()

    threading.Thread(target=wait, name="tracekit-enter", daemon=True).start()
