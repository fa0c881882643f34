"""Sources of a stream: a file, one that grows, standard input, or a program. All yield blocks of bytes.

A block of no bytes stands for a moment without any, so that a reader of blocks can do what time asks for.
Programs and pipes are read by a thread into a queue of a few blocks: while nobody takes them, the program
waits in its pipe.
"""

from __future__ import annotations

import os
import queue
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from tracekit.errors import InputError, UsageError
from tracekit.text import printable

Blocks = Iterator[bytes]
_BLOCK_BYTES = 1 << 16
_MAX_BLOCKS = 16
SILENCE_SECONDS = 0.25
"""How long a stream is silent before what waits for its next entry is shown."""
_END_SECONDS = 3.0
_MAX_ERROR_BYTES = 4_096
_MAX_ERROR_CHARACTERS = 300
_END: Final = None


class FileStream:
    """The blocks of a file; with ``follows`` it goes on as the file grows, is emptied or is replaced.

    ``note`` gets a sentence where the file began again.
    """

    def __init__(self, path: Path, *, follows: bool, note: Callable[[str], None]) -> None:
        self._path, self._follows, self._note = path, follows, note
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            raise _refuse(path, error) from error
        if is_folder:
            raise InputError(str(path), "is a folder. Name a file of lines of JSON, or - for standard input.")

    def __iter__(self) -> Blocks:
        file = self._open()
        try:
            while True:
                block = file.read(_BLOCK_BYTES)
                if block:
                    yield block
                    continue
                if not self._follows:
                    return
                if self._is_replaced(file):
                    file.close()
                    self._note(f"{printable(self._path.name)} began again.")
                    file = self._open()
                    # The line that was being written will not be finished.
                    yield b"\n"
                    continue
                time.sleep(SILENCE_SECONDS)
                yield b""
        except OSError as error:
            raise _refuse(self._path, error) from error
        finally:
            file.close()

    def close(self) -> None:
        """Nothing outlives the reading."""

    def _open(self) -> IO[bytes]:
        try:
            return self._path.open("rb", buffering=0)
        except OSError as error:
            raise _refuse(self._path, error) from error

    def _is_replaced(self, file: IO[bytes]) -> bool:
        try:
            now, opened = self._path.stat(), os.fstat(file.fileno())
        except OSError:  # removed for now: another may come
            return False
        return (now.st_ino, now.st_dev) != (opened.st_ino, opened.st_dev) or now.st_size < file.tell()


def _refuse(path: Path, error: OSError) -> InputError:
    return InputError(str(path), f"cannot be read: {error.strerror or error}.")


class PipeStream:
    """The blocks of a pipe, such as standard input, until its other end is closed."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._blocks: queue.Queue[bytes | None] = queue.Queue(_MAX_BLOCKS)
        self._is_closed = threading.Event()
        self._reader = threading.Thread(target=self._read, name="tracekit-stream", daemon=True)

    def __iter__(self) -> Blocks:
        self._reader.start()
        while True:
            try:
                block = self._blocks.get(timeout=SILENCE_SECONDS)
            except queue.Empty:
                yield b""
                continue
            if block is _END:
                return
            yield block

    def close(self) -> None:
        """Stop reading."""
        self._is_closed.set()
        with suppress(queue.Empty):  # the thread may wait for room
            self._blocks.get_nowait()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread, which comes with the end of the pipe."""
        if self._reader.is_alive():
            self._reader.join(seconds)

    def _read(self) -> None:
        with suppress(OSError, ValueError):  # ValueError: closed by its owner
            while not self._is_closed.is_set() and (block := os.read(self._pipe.fileno(), _BLOCK_BYTES)):
                self._blocks.put(block)
        if not self._is_closed.is_set():
            self._blocks.put(_END)


class ProgramStream:
    """The blocks of a program's output; the program ends with the stream.

    Raises ``UsageError`` where it cannot be started, and ``InputError`` where it ends with an error.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``close``
        try:
            # A session of its own: the terminal's Ctrl-C ends the watch, which ends the program.
            self._process = subprocess.Popen(  # noqa: S603 - a list of words; no shell reads them
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise UsageError(
                f"{printable(command[0])} cannot be started: {error.strerror or error}."
                " Check its name and that it is installed."
            ) from error
        assert self._process.stdout is not None  # a pipe
        self._pipe = PipeStream(self._process.stdout)

    def __iter__(self) -> Blocks:
        yield from self._pipe
        code = self._process.wait()
        if code:
            name = printable(Path(self._command[0]).name)
            raise InputError(name, f"ended with exit code {code}{self._read_error()}.")

    def close(self) -> None:
        """End the program."""
        with suppress(OSError):
            self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                self._process.kill()
        self._pipe.close()
        self._pipe.join(_END_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _read_error(self) -> str:
        """Return the last line that the program wrote as an error, for the end of a sentence."""
        size_bytes = self._errors.seek(0, 2)
        self._errors.seek(max(size_bytes - _MAX_ERROR_BYTES, 0))
        lines = self._errors.read(_MAX_ERROR_BYTES).decode(errors="replace").strip().splitlines()
        return f": {printable(lines[-1][:_MAX_ERROR_CHARACTERS]).rstrip('.')}" if lines else ""


StreamInput = FileStream | PipeStream | ProgramStream
