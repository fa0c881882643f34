"""Running ``xctrace export``, whose output is read while it is written."""

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
from tracekit.xctrace.tool import Xctrace

_PIECE_BYTES = 1 << 16
"""As much as a pipe holds."""
_WAITING_PIECES = 512
"""How far xctrace may be ahead of the parser: 32 MB, so that a burst of rows holds nothing up."""
_SAID_BYTES = 1 << 13
_LAST_LINES = 3
_STOP_SECONDS = 10.0
_SOON_SECONDS = 1.0
"""For what should happen at once: an end after SIGKILL, or after xctrace wrote what is no export."""
_POLL_SECONDS = 0.05


@contextmanager
def exported_chunks(
    tool: Xctrace, bundle: str, query: Sequence[str], progress: Progress | None = None
) -> Iterator[Iterator[bytes]]:
    """Run ``xctrace export`` on a bundle and yield what it writes, piece by piece, while it goes on writing.

    ``query`` is ``--toc`` or ``--xpath …``. Raises ``XctraceError``, with what xctrace said, when it fails,
    writes nothing (the exit code is 0 even when nothing matched) or stops in the middle of a document; an
    ``InputError`` of the caller's parser is passed on only where xctrace itself did not fail. It has no time
    limit (a large table takes 20 minutes), and has ended when this context ends, however that comes about.
    """
    command = [tool.path, "export", "--input", bundle, *query]
    with _start(command) as child:
        pipes = _Pipes(child)
        try:
            yield pipes.pieces(progress)
        except InputError as error:
            code = _wait(child, None if pipes.at_end else _SOON_SECONDS)
            cut_off = isinstance(error, CutOffError) or not pipes.taken_bytes
            if code or (code == 0 and cut_off):
                raise _failure(bundle, command, pipes, code) from error
            raise
        else:
            for _ in pipes.pieces(progress):
                pass  # what the caller left
            code = child.wait()
            if code or not pipes.taken_bytes:
                raise _failure(bundle, command, pipes, code)
        finally:
            _stop(child, pipes)


class _Pipes:
    """Empties both pipes of a child in a thread of its own, so that the child never waits for the parser."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._waiting: queue.Queue[bytes] = queue.Queue(_WAITING_PIECES)
        self._said = b""
        self._head = b""
        self.taken_bytes = 0
        self.at_end = False
        """True when the child's last byte was taken."""
        self._thread = threading.Thread(target=self._empty, name="xctrace export", daemon=True)
        self._thread.start()

    def _empty(self) -> None:
        output, errors = self._child.stdout, self._child.stderr
        assert output is not None
        assert errors is not None
        with selectors.DefaultSelector() as ready:
            ready.register(output, selectors.EVENT_READ)
            ready.register(errors, selectors.EVENT_READ)
            while ready.get_map():
                ended = self._child.poll() is not None
                filled = ready.select(_POLL_SECONDS)
                if ended and not filled:
                    break  # a process that the child left behind holds the pipe, and is not waited for
                for key, _ in filled:
                    piece = os.read(key.fd, _PIECE_BYTES)
                    if not piece:
                        ready.unregister(key.fileobj)
                    elif key.fileobj is output:
                        self._waiting.put(piece)
                    else:
                        self._said = (self._said + piece)[-_SAID_BYTES:]
        self._waiting.put(b"")

    def pieces(self, progress: Progress | None) -> Iterator[bytes]:
        """Yield what the child writes to its standard output, to the end."""
        while not self.at_end:
            piece = self._waiting.get()
            self.at_end = not piece
            if piece:
                self._head = self._head or piece[:_SAID_BYTES]
                self.taken_bytes += len(piece)
                yield piece
                if progress is not None:
                    progress(self.taken_bytes, None)

    def discard(self) -> None:
        """Forget what waits, so that a child that is to end is not held up by a full pipe."""
        with suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()

    def close(self) -> None:
        """Wait for the thread, once the child has ended."""
        until = time.monotonic() + _SOON_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            self.discard()
            self._thread.join(_POLL_SECONDS)

    def gist(self) -> str:
        """Return the last lines that the child said; where it failed, it may say so in its output's place."""
        self._thread.join(_SOON_SECONDS)
        said = self._said if self._said.strip() or self._head.lstrip().startswith(b"<") else self._head
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        return " ".join(lines[-_LAST_LINES:]).rstrip(".")


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - the command is ours, no shell reads it
            command,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise XctraceError(f"xctrace could not be started: {error}. It was: {shlex.join(command)}") from error


def _wait(child: subprocess.Popen[bytes], seconds: float | None) -> int | None:
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.returncode


def _stop(child: subprocess.Popen[bytes], pipes: _Pipes) -> None:
    """End a child that still runs: as Ctrl-C does, then by force, at once when we are interrupted again."""
    try:
        _signal(child, signal.SIGINT)
        until = time.monotonic() + _STOP_SECONDS
        while child.poll() is None and time.monotonic() < until:
            pipes.discard()
            _wait(child, _POLL_SECONDS)
    finally:
        _signal(child, signal.SIGKILL)
        _wait(child, _SOON_SECONDS)
        pipes.close()


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the process group of a child that still runs: Ctrl-C does not reach it there."""
    if child.poll() is None:
        with suppress(OSError):  # it ended in this moment
            os.killpg(child.pid, number)


def _failure(bundle: str, command: Sequence[str], pipes: _Pipes, code: int) -> XctraceError:
    if code:
        why = f"exit code {code}" if code > 0 else f"ended by {_name_of_signal(-code)}"
    else:
        why = "it stopped in the middle of a document" if pipes.taken_bytes else "it wrote nothing"
        why += ", with exit code 0"
    said = pipes.gist()
    if said:
        why = said if code > 0 else f"{said} ({why})"
    return XctraceError(f"xctrace could not export {bundle}: {why}. It was: {shlex.join(command)}")


def _name_of_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
