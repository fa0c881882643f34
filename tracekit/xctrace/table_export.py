"""A running ``xctrace export``, whose output is parsed while it is written.

A thread empties both pipes, so that neither fills up while the parser is busy::

    xctrace ──stdout──► thread ──queue of pieces, at most 32 MB──► read_pieces() ──► parser
            ──stderr──►        ──its last 8 KB──► read_error_text()
"""

from __future__ import annotations

import os
import queue
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from tracekit.errors import InputError, XctraceError
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.reader import CutOffError
from tracekit.xctrace.tool import Xctrace, read_cpu_time

_PIECE_BYTES = 1 << 16
"""The capacity of a pipe."""
_MAX_QUEUED_PIECES = 512
"""xctrace may be this far ahead of the parser: 32 MB, so that a burst of rows does not make it wait."""
_ERROR_BYTES = 1 << 13
_LAST_LINES = 3
_STOP_SECONDS = 10.0
_SOON_SECONDS = 1.0
"""The wait for an end that should be immediate: after SIGKILL, or output that is not an export."""
_POLL_SECONDS = 0.05
_LOOK_SECONDS = 5.0
SILENCE_SECONDS = 600.0
"""An export without a byte and without use of the CPU for so long has hung."""


@contextmanager
def stream_export(
    tool: Xctrace, bundle: str, query: Sequence[str], progress: Progress | None = None
) -> Iterator[Iterator[bytes]]:
    """Run ``xctrace export`` on a bundle and yield its output, piece by piece, while it is written.

    ``query`` is ``--toc`` or ``--xpath …``. Raises ``XctraceError``, with xctrace's message, if it fails,
    writes nothing (the exit code is 0 even when nothing matched) or stops in the middle of a document; an
    ``InputError`` of the caller's parser is passed on only if xctrace itself did not fail. It has no time
    limit (a large table takes 20 minutes) unless it shows no activity, and has ended when this context ends,
    in whatever way.
    """
    command = [tool.path, "export", "--input", bundle, *query]
    with _start_export(command) as child:
        pipes = _Pipes(child)
        try:
            yield pipes.read_pieces(progress)
        except InputError as error:
            # xctrace's own failure explains a document that does not parse. After the last byte the exit
            # code is certain to come; before it, xctrace may continue to write other output.
            code = _wait_for_exit(child, None if pipes.at_end else _SOON_SECONDS)
            cut_off = isinstance(error, CutOffError) or not pipes.read_bytes
            if code or (code == 0 and cut_off):
                raise _make_failure(bundle, command, pipes, code) from error
            raise
        else:
            for _ in pipes.read_pieces(progress):
                pass  # the caller stopped early; the end of the output decides, not the caller
            code = child.wait()
            if code or not pipes.read_bytes:
                raise _make_failure(bundle, command, pipes, code)
        finally:
            _stop_export(child, pipes)


class _Pipes:
    """Both pipes of a child, emptied by a thread, so that the child never waits for the parser."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        # Bounded, so that memory does not grow with the table: a full queue stops the reading, and the full
        # pipe stops xctrace.
        self._queue: queue.Queue[bytes] = queue.Queue(_MAX_QUEUED_PIECES)
        self._errors = b""
        self._head = b""
        self.read_bytes = 0
        self.at_end = False
        """True when the child's last byte was read."""
        self._thread = threading.Thread(target=self._read_pipes, name="xctrace export", daemon=True)
        self._thread.start()

    def _read_pipes(self) -> None:
        output, errors = self._child.stdout, self._child.stderr
        assert output is not None
        assert errors is not None
        with selectors.DefaultSelector() as ready:
            ready.register(output, selectors.EVENT_READ)
            ready.register(errors, selectors.EVENT_READ)
            while ready.get_map():
                # Before select: bytes written before the end are then certain to be seen.
                has_ended = self._child.poll() is not None
                readable = ready.select(_POLL_SECONDS)
                if has_ended and not readable:
                    break  # a process that the child left behind holds the pipe; it is not waited for
                for key, _ in readable:
                    piece = os.read(key.fd, _PIECE_BYTES)
                    if not piece:
                        ready.unregister(key.fileobj)
                    elif key.fileobj is output:
                        self._queue.put(piece)
                    else:
                        # Only the last messages count, and a child may write them without end.
                        self._errors = (self._errors + piece)[-_ERROR_BYTES:]
        self._queue.put(b"")

    def read_pieces(self, progress: Progress | None) -> Iterator[bytes]:
        """Yield the child's standard output, to the end."""
        while not self.at_end:
            piece = self._wait_for_piece()
            self.at_end = not piece
            if piece:
                self._head = self._head or piece[:_ERROR_BYTES]
                self.read_bytes += len(piece)
                yield piece
                if progress is not None:
                    progress(self.read_bytes, None)

    def _wait_for_piece(self) -> bytes:
        """Return the next piece; raise ``XctraceError`` where the child neither writes nor uses the CPU."""
        cpu_time, silent_from = "", time.monotonic()
        while True:
            try:
                return self._queue.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                previous, cpu_time = cpu_time, read_cpu_time(self._child.pid)
                if cpu_time != previous and cpu_time:
                    silent_from = time.monotonic()
                elif time.monotonic() - silent_from > SILENCE_SECONDS:
                    raise XctraceError(
                        f"xctrace export showed no activity for {SILENCE_SECONDS / 60:g} minutes, and was"
                        " ended. Try it again."
                    ) from None

    def discard(self) -> None:
        """Drop the queued pieces, so that a full pipe does not keep a child from ending."""
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()

    def close(self) -> None:
        """Wait for the thread, once the child has ended."""
        deadline = time.monotonic() + _SOON_SECONDS
        while self._thread.is_alive() and time.monotonic() < deadline:
            self.discard()
            self._thread.join(_POLL_SECONDS)

    def read_error_text(self) -> str:
        """Return the child's last messages; without any, an output that is not XML may be the message."""
        self._thread.join(_SOON_SECONDS)
        is_xml = self._head.lstrip().startswith(b"<")
        text = self._errors if self._errors.strip() or is_xml else self._head
        lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
        return " ".join(lines[-_LAST_LINES:]).rstrip(".")


def _start_export(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - a list of words; no shell reads them
            command,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise XctraceError(
            f"xctrace could not be started: {error}. The command was: {shlex.join(command)}"
        ) from error


def _wait_for_exit(child: subprocess.Popen[bytes], seconds: float | None) -> int | None:
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.returncode


def _stop_export(child: subprocess.Popen[bytes], pipes: _Pipes) -> None:
    """End a child that still runs: as Ctrl-C does, then by force; at once at a second interrupt."""
    try:
        # The queue is emptied meanwhile: a child that is blocked on a full pipe cannot end.
        _send_signal(child, signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS
        while child.poll() is None and time.monotonic() < deadline:
            pipes.discard()
            _wait_for_exit(child, _POLL_SECONDS)
    finally:
        _send_signal(child, signal.SIGKILL)
        _wait_for_exit(child, _SOON_SECONDS)
        pipes.close()


def _send_signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the process group of a child that still runs: Ctrl-C does not reach it there."""
    if child.poll() is None:
        with suppress(OSError):  # it has just ended
            os.killpg(child.pid, number)


def _make_failure(bundle: str, command: Sequence[str], pipes: _Pipes, code: int) -> XctraceError:
    if code:
        cause = f"exit code {code}" if code > 0 else f"ended by {_get_signal_name(-code)}"
    else:
        cause = "it stopped in the middle of a document" if pipes.read_bytes else "it wrote nothing"
        cause += ", with exit code 0"
    message = pipes.read_error_text()
    if message:
        cause = message if code > 0 else f"{message} ({cause})"
    return XctraceError(f"xctrace could not export {bundle}: {cause}. The command was: {shlex.join(command)}")


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
